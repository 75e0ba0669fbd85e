//! Purpose: one list of checks that every forge must pass: GitHub with a token, GitHub as an App, GitLab, Local.

use planwright::domain::{
    Account, AccountId, AccountKind, CommentId, EventKind, ForgeKind, Millis, Permission, Project, ThreadRef,
};
use planwright::forge::local::{NewThread, Visibility};
use planwright::forge::{
    Forge, ForgeError, Github, GithubAuth, GithubSettings, Gitlab, GitlabSettings, Local, LocalSettings,
    Patience, Reaction,
};
use std::time::Duration;

use crate::fake_forge::{FakeGithub, FakeGitlab, Stage, github, gitlab};

pub(crate) const BOT: AccountId = AccountId(1);
pub(crate) const MARIA: AccountId = AccountId(2);
pub(crate) const TOM: AccountId = AccountId(3);
pub(crate) const NOW: Millis = Millis(1_794_794_400_000);
/// A throw-away key, made for this file and used nowhere else.
pub(crate) const APP_KEY: &str = include_str!("fixtures/throwaway-app-key.pem");

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Face {
    GithubToken,
    GithubApp,
    Gitlab,
    Local,
}

/// A forge, the world behind it, and a project with one open issue by Maria.
pub(crate) struct Rig {
    pub(crate) face: Face,
    pub(crate) forge: Forge,
    pub(crate) world: Local,
    pub(crate) project: Project,
    pub(crate) issue: ThreadRef,
    /// Where the forge is served; the local one is not.
    pub(crate) stage: Option<Stage>,
}

pub(crate) fn quick() -> Patience {
    Patience {
        connect: Duration::from_secs(2),
        request: Duration::from_millis(1500),
        attempts: 3,
        first_wait: Duration::from_millis(10),
        longest_wait: Duration::from_secs(3),
    }
}

pub(crate) async fn rig(face: Face) -> Rig {
    let bot = match face {
        Face::GithubApp => Account { id: BOT, login: "planwright[bot]".into(), kind: AccountKind::Bot },
        Face::GithubToken | Face::Gitlab | Face::Local => Account::person(BOT.0, "planwright"),
    };
    let world = Local::open(LocalSettings { path: None, bot, clock: || NOW }).unwrap();
    let (kind, path) = match face {
        Face::GithubToken | Face::GithubApp => (ForgeKind::Github, "acme/web"),
        Face::Gitlab => (ForgeKind::Gitlab, "acme/tools/web"),
        Face::Local => (ForgeKind::Local, "web"),
    };
    let project = Project::new(kind, path).unwrap();
    let issue = furnish(&world, &project);
    let (forge, stage) = connect(face, &world).await;
    Rig { face, forge, world, project, issue, stage }
}

fn furnish(local: &Local, project: &Project) -> ThreadRef {
    let open = local.with(|world| {
        world.add_account(Account::person(MARIA.0, "maria"));
        world.add_account(Account::person(TOM.0, "tom"));
        world.add_project(project, Visibility::Public);
        world.set_member(project, BOT, Permission::Write)?;
        world.set_member(project, MARIA, Permission::Admin)?;
        let issue = NewThread { body: "It is slow".into(), ..NewThread::titled("Make it fast", MARIA) };
        world.open(project, issue, NOW)
    });
    open.unwrap().unwrap().thread
}

async fn connect(face: Face, world: &Local) -> (Forge, Option<Stage>) {
    match face {
        Face::Local => (Forge::Local(world.clone()), None),
        Face::Gitlab => {
            let fake = FakeGitlab::start(world.clone()).await;
            let settings = GitlabSettings {
                url: fake.url(),
                git_url: fake.url(),
                token: gitlab::TOKEN.into(),
                bot_login: None,
                patience: quick(),
            };
            (Forge::Gitlab(Gitlab::new(&settings).unwrap()), Some(fake.stage))
        }
        Face::GithubToken | Face::GithubApp => {
            let fake = FakeGithub::start(world.clone()).await;
            let auth = if face == Face::GithubToken {
                GithubAuth::Token(github::TOKEN.into())
            } else {
                GithubAuth::App { id: github::APP_ID, private_key_pem: APP_KEY.into() }
            };
            let settings = GithubSettings {
                api_url: fake.api_url(),
                git_url: fake.stage.url().parse().unwrap(),
                auth,
                bot_login: None,
                patience: quick(),
            };
            (Forge::Github(Github::new(&settings).unwrap()), Some(fake.stage))
        }
    }
}

macro_rules! on_every_forge {
    ($($check:ident),* $(,)?) => { $(
        mod $check {
            use crate::forge_contract::{Face, rig};

            #[tokio::test]
            async fn github_token() { super::checks::$check(&rig(Face::GithubToken).await).await; }
            #[tokio::test]
            async fn github_app() { super::checks::$check(&rig(Face::GithubApp).await).await; }
            #[tokio::test]
            async fn gitlab() { super::checks::$check(&rig(Face::Gitlab).await).await; }
            #[tokio::test]
            async fn local() { super::checks::$check(&rig(Face::Local).await).await; }
        }
    )* };
}
pub(crate) use on_every_forge;

on_every_forge!(
    we_know_who_we_are,
    a_thread_has_its_fields,
    a_change_request_is_one,
    comments_are_written_edited_and_deleted,
    an_edited_comment_is_told_from_others,
    one_comment_is_found_on_its_thread_alone,
    a_discussion_is_a_comment_that_can_be_edited,
    markers_are_found_over_all_pages,
    system_notes_are_no_comments,
    texts_survive_the_journey,
    reactions_are_idempotent,
    people_are_assigned,
    labels_have_odd_names,
    permission_is_looked_up_live,
    permission_follows_the_account_not_the_name,
    files_are_read_or_missing,
    waiting_threads_are_found,
    who_assigned_and_labelled,
    our_own_access_is_known,
    outsiders_are_refused,
    what_is_not_there_is_not_found,
);

mod checks {
    use super::*;

    fn person(rig: &Rig, id: AccountId) -> Account {
        rig.world.look(|world| world.account(id).cloned()).unwrap()
    }

    fn another(rig: &Rig, new: NewThread) -> ThreadRef {
        rig.world.with(|world| world.open(&rig.project, new, NOW)).unwrap().unwrap().thread
    }

    pub(super) async fn we_know_who_we_are(rig: &Rig) {
        assert_eq!(rig.forge.me().await.unwrap(), *rig.world.bot());
        let asked = rig.stage.as_ref().map(|stage| stage.audit().len());
        assert_eq!(rig.forge.me().await.unwrap().id, BOT);
        assert_eq!(rig.stage.as_ref().map(|stage| stage.audit().len()), asked, "asked a second time");
    }

    pub(super) async fn a_thread_has_its_fields(rig: &Rig) {
        rig.world
            .with(|world| {
                world.assign(&rig.issue, TOM, MARIA, NOW)?;
                world.label(&rig.issue, "a bug", MARIA, NOW)
            })
            .unwrap()
            .unwrap();
        let mut thread = rig.forge.thread(&rig.issue).await.unwrap();
        thread.web_url = None;
        let expected = rig.world.look(|world| world.picture(&rig.issue)).unwrap();
        assert_eq!(thread, expected);
        assert!(thread.open && !thread.is_change_request && thread.assignees[0].id == TOM);

        rig.world.with(|world| world.close(&rig.issue, MARIA, NOW)).unwrap().unwrap();
        assert!(!rig.forge.thread(&rig.issue).await.unwrap().open);
        if rig.face == Face::Gitlab || rig.face == Face::Local {
            let secret = NewThread { confidential: true, ..NewThread::titled("Quietly", MARIA) };
            assert!(rig.forge.thread(&another(rig, secret)).await.unwrap().confidential);
        }
    }

    pub(super) async fn a_change_request_is_one(rig: &Rig) {
        let new = NewThread { is_change_request: true, ..NewThread::titled("Fast now", TOM) };
        let t = another(rig, new);
        let thread = rig.forge.thread(&t).await.unwrap();
        assert!(thread.is_change_request);
        assert_eq!((thread.title.as_str(), thread.author.id), ("Fast now", TOM));
        let id = rig.forge.create_comment(&t, "nice").await.unwrap();
        rig.forge.edit_comment(&t, id, "very nice").await.unwrap();
        rig.forge.react(&t, Some(id), Reaction::Rocket).await.unwrap();
        rig.forge.add_label(&t, "ready").await.unwrap();
        assert_eq!(rig.forge.comments(&t).await.unwrap()[0].body, "very nice");
        assert_eq!(rig.forge.thread(&t).await.unwrap().labels, ["ready"]);
    }

    pub(super) async fn comments_are_written_edited_and_deleted(rig: &Rig) {
        let id = rig.forge.create_comment(&rig.issue, "first").await.unwrap();
        rig.forge.edit_comment(&rig.issue, id, "second").await.unwrap();
        let comments = rig.forge.comments(&rig.issue).await.unwrap();
        assert_eq!(comments, rig.world.look(|world| world.comments(&rig.issue)).unwrap());
        assert_eq!((comments.len(), comments[0].body.as_str(), comments[0].author.id), (1, "second", BOT));

        rig.forge.delete_comment(&rig.issue, id).await.unwrap();
        rig.forge.delete_comment(&rig.issue, id).await.unwrap();
        assert_eq!(rig.forge.comments(&rig.issue).await.unwrap(), []);
        let edit = rig.forge.edit_comment(&rig.issue, id, "third").await;
        assert!(matches!(edit, Err(ForgeError::NotFound(_))), "{edit:?}");
    }

    pub(super) async fn one_comment_is_found_on_its_thread_alone(rig: &Rig) {
        let write = |thread: &ThreadRef, words: &str| {
            let said = rig.world.with(|world| world.comment(thread, TOM, words, NOW)).unwrap().unwrap();
            let EventKind::CommentCreated { comment } = said.kind else { unreachable!() };
            comment
        };
        let here = write(&rig.issue, "here");
        assert_eq!(rig.forge.comment(&rig.issue, here.id).await.unwrap().as_ref(), Some(&here));
        assert_eq!(rig.forge.comment(&rig.issue, CommentId(here.id.0 + 9)).await.unwrap(), None);
        let elsewhere = NewThread::titled("Elsewhere", TOM);
        let other = rig.world.with(|world| world.open(&rig.issue.project, elsewhere, NOW)).unwrap().unwrap();
        for _ in 0..3 {
            write(&other.thread, "there");
        }
        let there = write(&other.thread, "there");
        assert_eq!(rig.forge.comment(&rig.issue, there.id).await.unwrap(), None);
        rig.world.with(|world| world.delete_comment(&rig.issue, here.id, TOM, NOW)).unwrap().unwrap();
        assert_eq!(rig.forge.comment(&rig.issue, here.id).await.unwrap(), None);
    }

    pub(super) async fn an_edited_comment_is_told_from_others(rig: &Rig) {
        let write = |words: &str| {
            let said = rig.world.with(|world| world.comment(&rig.issue, TOM, words, NOW)).unwrap().unwrap();
            let EventKind::CommentCreated { comment } = said.kind else { unreachable!() };
            comment.id
        };
        let (_, changed) = (write("as it was"), write("harmless"));
        rig.world
            .with(|world| world.edit_comment((&rig.issue, changed), MARIA, "/approve", NOW.plus(1_000)))
            .unwrap()
            .unwrap();
        let comments = rig.forge.comments(&rig.issue).await.unwrap();
        assert_eq!(comments.iter().map(|comment| comment.edited).collect::<Vec<_>>(), [false, true]);
        assert_eq!(comments, rig.world.look(|world| world.comments(&rig.issue)).unwrap());
    }

    pub(super) async fn a_discussion_is_a_comment_that_can_be_edited(rig: &Rig) {
        let id = rig.forge.open_discussion(&rig.issue, "a question").await.unwrap();
        rig.forge.edit_comment(&rig.issue, id, "answered").await.unwrap();
        let comments = rig.forge.comments(&rig.issue).await.unwrap();
        assert_eq!((comments.len(), comments[0].id, comments[0].body.as_str()), (1, id, "answered"));
    }

    pub(super) async fn markers_are_found_over_all_pages(rig: &Rig) {
        let marker = "<!-- planwright:run-7 -->";
        let written = rig.world.with(|world| {
            for number in 0..250 {
                // Others copy our marker, and we write comments without it.
                let (by, text) = match number {
                    5 | 120 | 249 => (BOT, format!("card {number} {marker}")),
                    _ if number % 2 == 0 => (TOM, format!("quoting {marker}")),
                    _ => (BOT, "something else".to_owned()),
                };
                world.comment(&rig.issue, by, &text, NOW.plus(number))?;
            }
            world.comments(&rig.issue)
        });
        let written = written.unwrap().unwrap();
        let found = rig.forge.find_comments(&rig.issue, marker, BOT).await.unwrap();
        assert_eq!(found, [written[5].id, written[120].id, written[249].id]);
        assert_eq!(rig.forge.comments(&rig.issue).await.unwrap(), written);
    }

    pub(super) async fn system_notes_are_no_comments(rig: &Rig) {
        rig.world.with(|world| world.assign(&rig.issue, BOT, MARIA, NOW)).unwrap().unwrap();
        assert_eq!(rig.forge.comments(&rig.issue).await.unwrap(), []);
    }

    pub(super) async fn texts_survive_the_journey(rig: &Rig) {
        let texts =
            ["a=b&c=d+e%20f", "line\n\n- [ ] box\r\nend", "日本語 👩‍👩‍👧 \u{202e}x", "\"quoted\" \\ </script>"];
        for text in texts {
            let id = rig.forge.create_comment(&rig.issue, text).await.unwrap();
            let comments = rig.forge.comments(&rig.issue).await.unwrap();
            assert_eq!(comments.iter().find(|c| c.id == id).map(|c| c.body.as_str()), Some(text));
        }
    }

    pub(super) async fn reactions_are_idempotent(rig: &Rig) {
        let id = rig.forge.create_comment(&rig.issue, "hello").await.unwrap();
        rig.world.with(|world| world.react(&rig.issue, None, Reaction::Eyes, TOM)).unwrap().unwrap();
        let given = || {
            let thread = rig.world.look(|world| world.thread(&rig.issue).cloned()).unwrap();
            let mut given: Vec<_> = thread.reactions.iter().map(|r| (r.on, r.by, r.reaction)).collect();
            given.sort_by_key(|(on, by, _)| (*on, *by));
            given
        };
        for on in [None, Some(id), None, Some(id)] {
            rig.forge.react(&rig.issue, on, Reaction::Eyes).await.unwrap();
        }
        let toms = (None, TOM, Reaction::Eyes);
        let expected = [(None, BOT, Reaction::Eyes), toms, (Some(id), BOT, Reaction::Eyes)];
        assert_eq!(given(), expected);

        rig.forge.unreact(&rig.issue, None, Reaction::Confused).await.unwrap();
        for on in [None, Some(id), None, Some(id)] {
            rig.forge.unreact(&rig.issue, on, Reaction::Eyes).await.unwrap();
        }
        assert_eq!(given(), [toms], "only ours may be taken away");

        let gone = planwright::domain::CommentId(987_654);
        let missing = rig.forge.react(&rig.issue, Some(gone), Reaction::Eyes).await;
        assert!(matches!(missing, Err(ForgeError::NotFound(_))), "{missing:?}");
    }

    pub(super) async fn people_are_assigned(rig: &Rig) {
        let (maria, tom) = (person(rig, MARIA), person(rig, TOM));
        rig.world.with(|world| world.set_member(&rig.project, TOM, Permission::Read)).unwrap().unwrap();
        for who in [&maria, &tom, &tom] {
            rig.forge.assign(&rig.issue, who).await.unwrap();
        }
        let assigned =
            || rig.world.look(|world| world.thread(&rig.issue).map(|s| s.assignees.clone())).unwrap();
        assert_eq!(assigned(), [MARIA, TOM]);
        for who in [&maria, &maria, &tom, &tom] {
            rig.forge.unassign(&rig.issue, who).await.unwrap();
        }
        assert_eq!(assigned(), []);
        let stranger = Account::person(404, "nobody");
        let refused = rig.forge.assign(&rig.issue, &stranger).await;
        assert!(matches!(refused, Err(ForgeError::Invalid(_))), "{refused:?}");
    }

    pub(super) async fn labels_have_odd_names(rig: &Rig) {
        let names = ["planwright:paused", "needs work", "a/b", "50% ü+?#"];
        for name in names {
            rig.forge.add_label(&rig.issue, name).await.unwrap();
            rig.forge.add_label(&rig.issue, name).await.unwrap();
        }
        assert_eq!(rig.forge.thread(&rig.issue).await.unwrap().labels, names);
        for name in names {
            rig.forge.remove_label(&rig.issue, name).await.unwrap();
            rig.forge.remove_label(&rig.issue, name).await.unwrap();
        }
        assert_eq!(rig.forge.thread(&rig.issue).await.unwrap().labels, [] as [&str; 0]);
    }

    pub(super) async fn permission_is_looked_up_live(rig: &Rig) {
        let tom = person(rig, TOM);
        assert_eq!(rig.forge.permission(&rig.project, &tom).await.unwrap(), Permission::Read, "public");
        for level in [Permission::Triage, Permission::Write, Permission::Maintain, Permission::Admin] {
            rig.world.with(|world| world.set_member(&rig.project, TOM, level)).unwrap().unwrap();
            assert_eq!(rig.forge.permission(&rig.project, &tom).await.unwrap(), level);
        }
        let hidden = Project::new(rig.project.forge, &format!("{}-secret", rig.project.path())).unwrap();
        rig.world
            .with(|world| {
                world.add_project(&hidden, Visibility::Private);
                world.set_member(&hidden, BOT, Permission::Write)
            })
            .unwrap()
            .unwrap();
        assert_eq!(rig.forge.permission(&hidden, &tom).await.unwrap(), Permission::None);
        rig.world.with(|world| world.set_member(&hidden, TOM, Permission::Read)).unwrap().unwrap();
        assert_eq!(rig.forge.permission(&hidden, &tom).await.unwrap(), Permission::Read);
    }

    pub(super) async fn permission_follows_the_account_not_the_name(rig: &Rig) {
        let impostor = Account::person(777, "maria");
        let has = rig.forge.permission(&rig.project, &impostor).await.unwrap();
        assert!(has <= Permission::Read, "{has:?} for an account that only shares a login");
        let ghost = Account { kind: AccountKind::Ghost, ..person(rig, MARIA) };
        assert_eq!(rig.forge.permission(&rig.project, &ghost).await.unwrap(), Permission::None);
    }

    pub(super) async fn files_are_read_or_missing(rig: &Rig) {
        let long = "x".repeat(256 * 1024 + 1);
        let text = "planning:\n  enabled: true # ü\n".repeat(40);
        rig.world
            .with(|world| {
                world.set_file(&rig.project, ".planwright.yaml", &text)?;
                world.set_file(&rig.project, "docs/a b.md", "spaced")?;
                world.set_file(&rig.project, "long.txt", &long)
            })
            .unwrap()
            .unwrap();
        let read = |path| rig.forge.read_file(&rig.project, path);
        assert_eq!(read(".planwright.yaml").await.unwrap(), Some(text));
        assert_eq!(read("docs/a b.md").await.unwrap().as_deref(), Some("spaced"));
        assert_eq!(read("missing.yaml").await.unwrap(), None);
        assert!(matches!(read("long.txt").await, Err(ForgeError::Invalid(_))));
        let nowhere = Project::new(rig.project.forge, &format!("{}-nowhere", rig.project.path())).unwrap();
        let lost = rig.forge.read_file(&nowhere, ".planwright.yaml").await;
        assert!(
            matches!(lost, Err(ForgeError::NotFound(_))),
            "an invisible project is not one without the file"
        );
    }

    pub(super) async fn waiting_threads_are_found(rig: &Rig) {
        let label = "planwright: go";
        let labelled = || NewThread { labels: vec![label.into()], ..NewThread::titled("labelled", MARIA) };
        let assigned = || NewThread { assignees: vec![BOT], ..NewThread::titled("assigned", MARIA) };
        let by_label = another(rig, labelled());
        let mine = another(rig, assigned());
        let request = another(rig, NewThread { is_change_request: true, ..assigned() });
        let closed = another(rig, assigned());
        let both = another(rig, NewThread { labels: vec![label.into()], ..assigned() });
        rig.world.with(|world| world.close(&closed, MARIA, NOW)).unwrap().unwrap();
        strangers_project_with(rig, labelled());

        let mut with_label = vec![by_label.clone(), mine.clone(), request.clone(), both.clone()];
        let mut without = vec![mine, request, both.clone()];
        if rig.face == Face::GithubApp {
            (with_label, without) = (vec![by_label, both], vec![]);
        }
        with_label.sort();
        without.sort();
        assert_eq!(rig.forge.waiting_threads(Some(label)).await.unwrap(), with_label);
        assert_eq!(rig.forge.waiting_threads(None).await.unwrap(), without);
    }

    /// A public project of somebody else uses our label too; a label there is no call for us.
    fn strangers_project_with(rig: &Rig, new: NewThread) {
        let theirs = Project::new(rig.project.forge, &format!("{}-theirs", rig.project.path())).unwrap();
        rig.world
            .with(|world| {
                world.add_project(&theirs, Visibility::Public);
                world.open(&theirs, new, NOW)
            })
            .unwrap()
            .unwrap();
    }

    pub(super) async fn who_assigned_and_labelled(rig: &Rig) {
        let t = &rig.issue;
        assert_eq!(rig.forge.who_assigned(t).await.unwrap(), None);
        assert_eq!(rig.forge.who_labelled(t, "go: now").await.unwrap(), None);
        rig.world
            .with(|world| {
                world.assign(t, BOT, MARIA, NOW)?;
                world.unassign(t, BOT, MARIA, NOW)?;
                world.comment(t, TOM, "assigned to @planwright", NOW)?;
                world.label(t, "go: now", MARIA, NOW)?;
                world.unlabel(t, "go: now", MARIA, NOW)?;
                world.label(t, "go: now", TOM, NOW)?;
                world.label(t, "other", MARIA, NOW)
            })
            .unwrap()
            .unwrap();
        assert_eq!(rig.forge.who_assigned(t).await.unwrap().map(|a| a.id), Some(MARIA));
        assert_eq!(rig.forge.who_labelled(t, "go: now").await.unwrap().map(|a| a.id), Some(TOM));
        rig.world
            .with(|world| {
                world.assign(t, BOT, TOM, NOW)?;
                world.assign(t, TOM, MARIA, NOW)
            })
            .unwrap()
            .unwrap();
        assert_eq!(rig.forge.who_assigned(t).await.unwrap(), Some(person(rig, TOM)));
    }

    pub(super) async fn our_own_access_is_known(rig: &Rig) {
        assert_eq!(rig.forge.check_access(&rig.project).await.unwrap(), Permission::Write);
        let hidden = Project::new(rig.project.forge, &format!("{}-hidden", rig.project.path())).unwrap();
        rig.world.with(|world| world.add_project(&hidden, Visibility::Private)).unwrap();
        let refused = rig.forge.check_access(&hidden).await;
        assert!(matches!(refused, Err(ForgeError::NotFound(_))), "{refused:?}");
    }

    pub(super) async fn outsiders_are_refused(rig: &Rig) {
        let comment = rig.world.with(|world| {
            world.set_member(&rig.project, BOT, Permission::Read)?;
            world.comment(&rig.issue, MARIA, "mine", NOW)?;
            world.comments(&rig.issue)
        });
        let marias = comment.unwrap().unwrap()[0].id;
        let label = rig.forge.add_label(&rig.issue, "x").await;
        assert!(matches!(label, Err(ForgeError::Forbidden(_))), "{label:?}");
        let assign = rig.forge.assign(&rig.issue, &person(rig, MARIA)).await;
        assert!(matches!(assign, Err(ForgeError::Forbidden(_))), "{assign:?}");
        let edit = rig.forge.edit_comment(&rig.issue, marias, "ours").await;
        assert!(matches!(edit, Err(ForgeError::Forbidden(_))), "{edit:?}");
        rig.forge.create_comment(&rig.issue, "anybody may comment").await.unwrap();
    }

    pub(super) async fn what_is_not_there_is_not_found(rig: &Rig) {
        let nothing = ThreadRef { number: 4040, ..rig.issue.clone() };
        let error = rig.forge.thread(&nothing).await.unwrap_err();
        assert!(matches!(error, ForgeError::NotFound(_)), "{error:?}");
        assert!(error.to_string().starts_with(&format!("cannot read {nothing}: ")), "{error}");
        let error = rig.forge.create_comment(&nothing, "hello?").await.unwrap_err();
        assert!(matches!(error, ForgeError::NotFound(_)), "{error:?}");
    }
}
