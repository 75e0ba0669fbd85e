//! Purpose: who may do what: every permission, kind of account and command, against the table that users read.

use planwright::domain::{
    Account, AccountId, AccountKind, Command, Comment, CommentId, Event, EventKind, Millis, Permission,
    Right, Thread, Verdict,
};
use planwright::plan::{ActionId, Decided};
use planwright::planning::{
    Actor, Counts, Entry, Fact, Key, Observation, PreviewSeen, Record, Rules, RunId, Trigger, Wanted,
    interpret,
};
use planwright::prompts::Usage;

const LEVELS: [Permission; 6] = [
    Permission::None,
    Permission::Read,
    Permission::Triage,
    Permission::Write,
    Permission::Maintain,
    Permission::Admin,
];
const KINDS: [AccountKind; 3] = [AccountKind::Person, AccountKind::Bot, AccountKind::Ghost];

/// The words of a comment, the level that it needs, and whether having asked for the run is enough.
const TABLE: [(&str, Permission, bool); 16] = [
    ("help", Permission::Read, false),
    ("status", Permission::Read, false),
    ("make coffee", Permission::Read, false),
    ("plan", Permission::Triage, false),
    ("skip q-2", Permission::Triage, true),
    ("choose d-1 opt-b because", Permission::Triage, true),
    ("skip task_4", Permission::Write, false),
    ("approve", Permission::Write, false),
    ("reject why", Permission::Write, false),
    ("pause", Permission::Write, true),
    ("resume", Permission::Write, true),
    ("cancel", Permission::Write, true),
    ("replan why", Permission::Write, false),
    ("retry", Permission::Write, false),
    ("budget +2", Permission::Write, false),
    ("resolve 1 yes", Permission::Write, false),
];

fn bot() -> Account {
    Account::person(1, "planwright")
}

/// A run that account 7 asked for.
fn running() -> Record {
    let fact = Fact::Triggered {
        by: Account::person(7, "ruth"),
        permission: Permission::Write,
        how: Trigger::Mentioned,
        event_at: Some(Millis(1)),
        comment: None,
        budget: planwright::planning::Limits::default(),
        why: None,
        lang: planwright::domain::Lang::English,
    };
    Record::fold(&[Entry { seq: 1, at: Millis(1), run: Some(RunId("r".to_owned())), fact }])
}

fn thread() -> Thread {
    Thread {
        title: String::new(),
        body: String::new(),
        author: Account::person(7, "ruth"),
        open: true,
        is_change_request: false,
        confidential: false,
        assignees: vec![bot()],
        labels: vec!["planwright".to_owned()],
        web_url: None,
        branch: None,
    }
}

fn facts(record: &Record, actor: &Account, permission: Option<Permission>, kind: EventKind) -> Vec<Fact> {
    facts_of(record, actor, kind, &Sight { permission, thread: thread(), preview: None })
}

/// What is looked up before an event is read.
struct Sight {
    permission: Option<Permission>,
    thread: Thread,
    preview: Option<PreviewSeen>,
}

fn facts_of(record: &Record, actor: &Account, kind: EventKind, sight: &Sight) -> Vec<Fact> {
    let bot = bot();
    let rules = Rules {
        budget: planwright::planning::Limits::default(),
        enabled: true,
        on_assign: true,
        on_label: Some("planwright".to_owned()),
        on_mention: true,
        lang: None,
        broken_file: None,
    };
    let seen = Observation {
        bot: &bot,
        rules: &rules,
        permission: sight.permission,
        thread: Some(&sight.thread),
        preview: sight.preview.clone(),
        ticks: None,
        now: Millis(0),
    };
    let event =
        Event { thread: "local:sample#1".parse().unwrap(), actor: actor.clone(), at: Some(Millis(2)), kind };
    interpret(record, &event, &seen)
}

fn says(actor: &Account, words: &str) -> EventKind {
    let comment = Comment {
        id: CommentId(9),
        author: actor.clone(),
        body: format!("@planwright {words}"),
        created_at: None,
        edited: false,
        on: None,
    };
    EventKind::CommentCreated { comment }
}

fn is_refusal(facts: &[Fact]) -> bool {
    matches!(facts, [Fact::Refused { .. }])
}

/// 576 cells, each asked of the table itself and of a whole reading of the comment, with a run and without one.
#[test]
fn every_cell_of_the_table_holds() {
    for (words, needs, requester_suffices) in TABLE {
        for kind in KINDS {
            for has in LEVELS {
                for id in [7, 8] {
                    let actor = Account { id: AccountId(id), login: "p".to_owned(), kind };
                    let enough = has >= needs || (requester_suffices && id == 7 && has > Permission::None);
                    let allowed = kind == AccountKind::Person && enough;
                    let cell = format!("{words} by {kind:?} {id} with {has:?}");
                    let found = facts(&running(), &actor, Some(has), says(&actor, words));
                    match (allowed, kind) {
                        (true, _) => assert!(!found.is_empty() && !is_refusal(&found), "{cell}: {found:?}"),
                        (false, AccountKind::Person) => assert!(is_refusal(&found), "{cell}: {found:?}"),
                        (false, AccountKind::Bot | AccountKind::Ghost) => {
                            assert!(found.is_empty(), "{cell}: {found:?}");
                        }
                    }
                    // Without a run nobody is its requester.
                    let found = facts(&Record::default(), &actor, Some(has), says(&actor, words));
                    let allowed = kind == AccountKind::Person && has >= needs;
                    assert_eq!(
                        !found.is_empty() && !is_refusal(&found),
                        allowed,
                        "{cell}, no run: {found:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn starting_takes_triage_whatever_the_way() {
    let ways = [
        EventKind::Assigned { assignee: bot() },
        EventKind::Labelled { label: "planwright".to_owned() },
        EventKind::Opened { assignees: vec![bot()], labels: vec![] },
        EventKind::Opened { assignees: vec![], labels: vec!["planwright".to_owned()] },
    ];
    for way in ways {
        for kind in KINDS {
            for has in LEVELS {
                let actor = Account { id: AccountId(8), login: "p".to_owned(), kind };
                let found = facts(&Record::default(), &actor, Some(has), way.clone());
                let starts = matches!(found[..], [Fact::Triggered { .. }]);
                let allowed = kind == AccountKind::Person && has >= Permission::Triage;
                assert_eq!(starts, allowed, "{way:?} by {kind:?} with {has:?}: {found:?}");
            }
        }
    }
}

const PREVIEW: CommentId = CommentId(5);

/// The run of account 7 with a preview on the thread.
fn asking() -> Record {
    let usage = Usage {
        model: String::new(),
        calls: 1,
        input_tokens: 0,
        output_tokens: 0,
        cost_micro_usd: None,
        ms: 0,
    };
    let decomposed = Fact::Decomposed {
        key: Key("r/0/t0".to_owned()),
        reasoning: String::new(),
        steps: vec![],
        usage,
        replan: Decided::Nothing,
    };
    let id = ActionId("a1".to_owned());
    let requested = Fact::ApprovalRequested {
        actor: Actor::System,
        reason: String::new(),
        request: 1,
        wanted: vec![Wanted { id, digest: "d".to_owned(), approvals: 1 }],
        not_requester: false,
        digest: "d".to_owned(),
        changed: vec![],
        risk_score: 0.0,
        counts: Counts::default(),
    };
    let mut record = running();
    for fact in [
        decomposed,
        requested,
        Fact::PreviewPosted { request: 1, comments: vec![PREVIEW], unreadable: vec![] },
    ] {
        let seq = record.seq + 1;
        record.apply(&Entry { seq, at: Millis(seq), run: Some(RunId("r".to_owned())), fact });
    }
    record
}

/// Everybody who could do something, by kind, right, and whether they asked for the run.
fn everybody() -> impl Iterator<Item = (Account, Permission)> {
    KINDS.into_iter().flat_map(|kind| {
        LEVELS.into_iter().flat_map(move |has| {
            [7, 8].map(|id| (Account { id: AccountId(id), login: "p".to_owned(), kind }, has))
        })
    })
}

/// Ticks count by who sets them: to approve takes write, and having asked for the run is not enough.
#[test]
fn ticks_count_from_who_may_approve() {
    for (actor, has) in everybody() {
        let comment = Comment {
            id: PREVIEW,
            author: bot(),
            body: "- [x] **1** x".to_owned(),
            created_at: None,
            edited: false,
            on: None,
        };
        let preview =
            |intact| Some(PreviewSeen { request: 1, boxes: vec![ActionId("a1".to_owned())], intact });
        let edited = EventKind::CommentEdited { comment };
        let sight = |intact| Sight { permission: Some(has), thread: thread(), preview: preview(intact) };
        let found = facts_of(&asking(), &actor, edited.clone(), &sight(true));
        let allowed = actor.kind == AccountKind::Person && has >= Permission::Write;
        assert!(
            matches!(&found[..], [Fact::BoxesTicked { counted, .. }] if *counted == allowed),
            "{actor:?} with {has:?}: {found:?}"
        );
        // Whoever changes its words makes it void, and an approval of it can only be lost by that.
        let found = facts_of(&asking(), &actor, edited, &sight(false));
        assert!(matches!(found[..], [Fact::PreviewTampered { request: 1, .. }]), "{actor:?}: {found:?}");
        let deleted = EventKind::CommentDeleted { comment_id: PREVIEW };
        let found = facts(&asking(), &actor, Some(has), deleted);
        assert!(matches!(found[..], [Fact::PreviewTampered { request: 1, .. }]), "{actor:?}: {found:?}");
        let other = EventKind::CommentDeleted { comment_id: CommentId(99) };
        assert_eq!(facts(&asking(), &actor, Some(has), other), vec![]);
    }
}

/// Holding is for everybody whom the forge lets set labels; going on is for who may steer.
#[test]
fn the_pause_label_holds_for_all_and_frees_by_right() {
    let label = || "planwright:paused".to_owned();
    for (actor, has) in everybody() {
        let mut on = thread();
        on.labels.push(label());
        let sight = Sight { permission: Some(has), thread: on, preview: None };
        let found = facts_of(&running(), &actor, EventKind::Labelled { label: label() }, &sight);
        assert!(matches!(found[..], [Fact::Paused { .. }]), "{actor:?} with {has:?}: {found:?}");
        let mut held = running();
        let paused = found.into_iter().next().unwrap();
        held.apply(&Entry { seq: 2, at: Millis(2), run: Some(RunId("r".to_owned())), fact: paused });
        let found = facts(&held, &actor, Some(has), EventKind::Unlabelled { label: label() });
        let allowed = Right::STEER.judge(&actor, has, actor.id == AccountId(7)) == Verdict::Allowed;
        match (allowed, actor.kind) {
            (true, _) => assert!(matches!(found[..], [Fact::Resumed { .. }]), "{actor:?}: {found:?}"),
            (false, AccountKind::Person) => assert!(is_refusal(&found), "{actor:?} with {has:?}: {found:?}"),
            (false, AccountKind::Bot | AccountKind::Ghost) => assert_eq!(found, vec![]),
        }
    }
}

/// A formal wish for changes starts a run only on a change request of ours, and only by who may write.
#[test]
fn asking_for_changes_takes_write() {
    let ours = Thread { author: bot(), is_change_request: true, ..thread() };
    for (actor, has) in everybody() {
        let comment = Comment {
            id: CommentId(9),
            author: actor.clone(),
            body: "Better.".to_owned(),
            created_at: None,
            edited: false,
            on: None,
        };
        let review = EventKind::Reviewed { comment, asks_for_changes: true };
        let sight = |thread: &Thread| Sight { permission: Some(has), thread: thread.clone(), preview: None };
        let found = facts_of(&Record::default(), &actor, review.clone(), &sight(&ours));
        let allowed = actor.kind == AccountKind::Person && has >= Permission::Write;
        let starts = matches!(found[..], [Fact::Triggered { how: Trigger::ChangesRequested, .. }]);
        assert_eq!(starts, allowed, "{actor:?} with {has:?}: {found:?}");
        let elsewhere = Thread { is_change_request: true, ..thread() };
        assert_eq!(facts_of(&Record::default(), &actor, review, &sight(&elsewhere)), vec![], "{actor:?}");
    }
}

/// In doubt, no: a permission that is not known is none.
#[test]
fn what_could_not_be_looked_up_counts_as_nothing() {
    for (words, _, _) in TABLE {
        for id in [7, 8] {
            let actor = Account::person(id, "p");
            let found = facts(&running(), &actor, None, says(&actor, words));
            assert!(is_refusal(&found), "{words}: {found:?}");
        }
    }
}

/// Prose and edits of the description steer only with the right to; everything else is counted and not used.
#[test]
fn only_who_may_steer_is_read() {
    for kind in KINDS {
        for has in LEVELS {
            for id in [7, 8] {
                let actor = Account { id: AccountId(id), login: "p".to_owned(), kind };
                let allowed = Right::STEER.judge(&actor, has, id == 7) == Verdict::Allowed;
                let enough = has >= Permission::Write || (id == 7 && has > Permission::None);
                assert_eq!(allowed, kind == AccountKind::Person && enough);
                let comment = Comment {
                    id: CommentId(9),
                    author: actor.clone(),
                    body: "I think".to_owned(),
                    created_at: None,
                    edited: false,
                    on: None,
                };
                let found = facts(&running(), &actor, Some(has), EventKind::CommentCreated { comment });
                assert!(
                    matches!(found[..], [Fact::CommentArrived { used, .. }] if used == allowed),
                    "{found:?}"
                );
                let found = facts(&running(), &actor, Some(has), EventKind::DescriptionEdited);
                assert!(
                    matches!(found[..], [Fact::DescriptionEdited { used, .. }] if used == allowed),
                    "{found:?}"
                );
            }
        }
    }
}

/// The bot's own words never count, whatever its rights.
#[test]
fn the_bot_does_not_hear_itself() {
    for (words, _, _) in TABLE {
        let me = bot();
        assert_eq!(facts(&running(), &me, Some(Permission::Admin), says(&me, words)), vec![]);
        assert_eq!(facts(&Record::default(), &me, Some(Permission::Admin), says(&me, words)), vec![]);
    }
}

/// Each word of the table is the command that it is meant to be.
#[test]
fn the_table_names_every_command() {
    let commands: std::collections::BTreeSet<String> = TABLE
        .iter()
        .map(|(words, _, _)| match planwright::domain::parse_command(&format!("/{words}"), "planwright") {
            planwright::domain::Spoken::Command(command) => command_name(&command),
            planwright::domain::Spoken::Prose => "unknown".to_owned(),
        })
        .collect();
    assert_eq!(commands.len(), TABLE.len(), "{commands:?}");
}

fn command_name(command: &Command) -> String {
    let json = serde_json::to_value(command).unwrap();
    json["verb"].as_str().unwrap().to_owned()
}
