//! Purpose: who may do what: every permission, kind of account and command, against the table that users read.

use planwright::domain::{
    Account, AccountId, AccountKind, Command, Comment, CommentId, Event, EventKind, Millis, Permission,
    Right, Thread, Verdict,
};
use planwright::planning::{Entry, Fact, Observation, Record, Rules, RunId, Trigger, interpret};

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
    let (bot, thread) = (bot(), thread());
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
        permission,
        thread: Some(&thread),
        preview: None,
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
