//! Purpose: what acting needs of every forge: change requests, the repository, access for git, and cheap reading again.

use http::Method;
use planwright::domain::{
    Account, AccountId, ChangeBranch, ChangeDiff, ChangeRequest, DiffLine, FileDiff, NewChangeRequest,
    Permission, Project, Readiness, Repository, ThreadRef,
};
use planwright::forge::local::{NewReview, NewThread, Verdict};
use planwright::forge::{ForgeError, GitAccess};
use secrecy::ExposeSecret as _;

use crate::fake_forge::{Stage, github, gitlab};
use crate::forge_contract::{BOT, Face, MARIA, NOW, Rig, TOM, on_every_forge};

const HEAD: &str = "planwright/1-make-it-fast";
const NEW: NewChangeRequest<'static> = NewChangeRequest {
    head: HEAD,
    base: "main",
    title: "Make it fast",
    body: "Closes nothing.\n\n- [x] \"one\" & 日本語 a+b=c%20d\n",
    readiness: Readiness::Draft,
};

on_every_forge!(
    a_change_request_is_opened_once,
    a_change_request_is_found_by_its_branch,
    a_change_request_is_edited_and_stays_a_draft,
    titles_do_not_make_drafts,
    reviewers_are_added_to_those_there,
    a_change_request_shows_its_branches,
    what_reviews_say_is_read_with_the_comments,
    a_change_request_shows_its_diff,
    a_repository_is_described,
    git_gets_an_address_and_a_secret,
    a_thread_is_read_again_for_nothing,
    our_own_writes_are_read_back,
);

fn world<T>(rig: &Rig, act: impl FnOnce(&mut planwright::forge::World) -> Result<T, ForgeError>) -> T {
    rig.world.with(act).unwrap().unwrap()
}

/// The forges know an address to look at; the world has none.
fn without_url(change: ChangeRequest) -> ChangeRequest {
    ChangeRequest { web_url: None, ..change }
}

fn in_world(rig: &Rig, t: &ThreadRef) -> ChangeRequest {
    rig.world.look(|world| world.change_request(t)).unwrap()
}

fn elsewhere(rig: &Rig, ending: &str) -> Project {
    Project::new(rig.project.forge, &format!("{}-{ending}", rig.project.path())).unwrap()
}

mod checks {
    use super::*;

    pub(super) async fn a_change_request_is_opened_once(rig: &Rig) {
        let opened = rig.forge.create_change_request(&rig.project, &NEW).await.unwrap();
        assert_eq!(opened.web_url.is_some(), rig.face != Face::Local);
        let expected = ChangeRequest {
            thread: opened.thread.clone(),
            author: BOT,
            head: HEAD.into(),
            base: "main".into(),
            draft: true,
            open: true,
            title: NEW.title.into(),
            body: NEW.body.into(),
            web_url: None,
        };
        let opened = without_url(opened);
        assert_eq!((&opened, &in_world(rig, &opened.thread)), (&expected, &expected));

        let again = rig.forge.create_change_request(&rig.project, &NEW).await.unwrap_err();
        assert!(matches!(&again, ForgeError::Invalid(why) if why.contains("already exists")), "{again:?}");
        let nowhere = rig.forge.create_change_request(&elsewhere(rig, "nowhere"), &NEW).await;
        assert!(matches!(nowhere, Err(ForgeError::NotFound(_))), "{nowhere:?}");
        world(rig, |world| world.set_member(&rig.project, BOT, Permission::Read));
        let other = NewChangeRequest { head: "other", ..NEW };
        let refused = rig.forge.create_change_request(&rig.project, &other).await;
        assert!(matches!(refused, Err(ForgeError::Forbidden(_))), "{refused:?}");
    }

    pub(super) async fn a_change_request_is_found_by_its_branch(rig: &Rig) {
        let find = async |head: &str| {
            let found = rig.forge.find_change_request(&rig.project, head).await.unwrap();
            found.map(|change| (change.thread, change.open))
        };
        assert_eq!(find(HEAD).await, None);
        let opened = |readiness| NewChangeRequest { readiness, ..NEW };
        let first = world(rig, |world| {
            world.open_change_request(&rig.project, MARIA, &opened(Readiness::Ready), NOW)
        })
        .thread;
        assert_eq!(find(HEAD).await, Some((first.clone(), true)));
        world(rig, |world| world.close(&first, MARIA, NOW));
        assert_eq!(find(HEAD).await, Some((first.clone(), false)));
        let second =
            world(rig, |world| world.open_change_request(&rig.project, BOT, &opened(Readiness::Draft), NOW))
                .thread;
        world(rig, |world| world.merge(&second, MARIA, NOW));
        assert_eq!(find(HEAD).await, Some((second.clone(), false)), "the newest");
        world(rig, |world| world.reopen(&first, MARIA, NOW));
        assert_eq!(find(HEAD).await, Some((first, true)), "rather an open one than the newest");
        for other in ["planwright/1", "make-it-fast", &HEAD.to_uppercase(), "a b&c#d", ""] {
            assert_eq!(find(other).await, None, "{other}");
        }
        let branch = ChangeBranch { head: "patch-1".into(), base: "main".into(), same_repository: false };
        let fork = NewThread {
            is_change_request: true,
            branch: Some(branch),
            ..NewThread::titled("From my fork", TOM)
        };
        world(rig, |world| world.open(&rig.project, fork, NOW));
        assert_eq!(find("patch-1").await, None, "a fork's branch is not ours");
        let nowhere = rig.forge.find_change_request(&elsewhere(rig, "nowhere"), HEAD).await;
        assert!(matches!(nowhere, Err(ForgeError::NotFound(_))), "{nowhere:?}");
    }

    pub(super) async fn a_change_request_is_edited_and_stays_a_draft(rig: &Rig) {
        for (head, readiness, draft) in [("a", Readiness::Draft, true), ("b", Readiness::Ready, false)] {
            let new = NewChangeRequest { head, readiness, ..NEW };
            let t = rig.forge.create_change_request(&rig.project, &new).await.unwrap().thread;
            rig.forge.edit_change_request(&t, "Faster", "new = words & more").await.unwrap();
            let edited = in_world(rig, &t);
            let text = (edited.title.as_str(), edited.body.as_str(), edited.draft);
            assert_eq!(text, ("Faster", "new = words & more", draft));
            let found = rig.forge.find_change_request(&rig.project, head).await.unwrap().unwrap();
            assert_eq!(without_url(found), edited);
        }
        let issue = rig.forge.edit_change_request(&rig.issue, "x", "y").await;
        assert!(matches!(issue, Err(ForgeError::NotFound(_))), "an issue is none: {issue:?}");
    }

    pub(super) async fn titles_do_not_make_drafts(rig: &Rig) {
        let new = NewChangeRequest { title: "Draft: of a letter", readiness: Readiness::Ready, ..NEW };
        let opened = rig.forge.create_change_request(&rig.project, &new).await.unwrap();
        assert!(!opened.draft && !in_world(rig, &opened.thread).draft);
        let expected = if rig.face == Face::Gitlab { "of a letter" } else { "Draft: of a letter" };
        assert_eq!(opened.title, expected);
        assert_eq!(rig.forge.thread(&opened.thread).await.unwrap().title, expected);
        rig.forge.edit_change_request(&opened.thread, "[draft] (Draft) again", "").await.unwrap();
        assert!(!in_world(rig, &opened.thread).draft);
    }

    pub(super) async fn reviewers_are_added_to_those_there(rig: &Rig) {
        let person = |id: AccountId| rig.world.look(|world| world.account(id).cloned()).unwrap();
        world(rig, |world| world.set_member(&rig.project, TOM, Permission::Read));
        let t = rig.forge.create_change_request(&rig.project, &NEW).await.unwrap().thread;
        let reviewers = || {
            let thread = rig.world.look(|world| world.thread(&t).cloned()).unwrap();
            thread.change.unwrap().reviewers
        };
        for who in [MARIA, TOM, TOM] {
            rig.forge.request_review(&t, &person(who)).await.unwrap();
        }
        assert_eq!(reviewers(), [MARIA, TOM]);
        // One is unknown, one only shares a login.
        let mut refused = vec![Account::person(404, "nobody"), Account::person(777, "maria")];
        if rig.face != Face::Gitlab {
            refused.push(person(BOT));
        }
        for who in refused {
            let answer = rig.forge.request_review(&t, &who).await;
            assert!(matches!(answer, Err(ForgeError::Invalid(_))), "{who:?}: {answer:?}");
        }
        assert_eq!(reviewers(), [MARIA, TOM]);
        let issue = rig.forge.request_review(&rig.issue, &person(MARIA)).await;
        assert!(matches!(issue, Err(ForgeError::NotFound(_))), "an issue has no reviewers: {issue:?}");
    }

    pub(super) async fn a_change_request_shows_its_branches(rig: &Rig) {
        assert_eq!(rig.forge.thread(&rig.issue).await.unwrap().branch, None);
        let ours = rig.forge.create_change_request(&rig.project, &NEW).await.unwrap().thread;
        let fork = ChangeBranch { head: "patch-1".into(), base: "stable".into(), same_repository: false };
        let new = NewThread {
            is_change_request: true,
            branch: Some(fork.clone()),
            ..NewThread::titled("From my fork", TOM)
        };
        let theirs = world(rig, |world| world.open(&rig.project, new, NOW)).thread;
        let expected = ChangeBranch { head: HEAD.into(), base: "main".into(), same_repository: true };
        for (t, branch) in [(ours, expected), (theirs, fork)] {
            for _ in ["asked", "and asked again"] {
                let mut thread = rig.forge.thread(&t).await.unwrap();
                thread.web_url = None;
                assert_eq!(thread.branch, Some(branch.clone()));
                assert_eq!(thread, rig.world.look(|world| world.picture(&t)).unwrap());
            }
        }
    }

    pub(super) async fn what_reviews_say_is_read_with_the_comments(rig: &Rig) {
        let t = rig.forge.create_change_request(&rig.project, &NEW).await.unwrap().thread;
        let line = |n: Option<u64>| DiffLine { path: "src/a b.rs".into(), line: n };
        world(rig, |world| {
            world.comment(&t, MARIA, "first", NOW)?;
            let review = NewReview { verdict: Verdict::AsksForChanges, body: "Not yet." };
            world.review(&t, MARIA, review, NOW.plus(1))?;
            world.review_line(&t, TOM, (line(Some(7)), "this line"), NOW.plus(2))?;
            world.review(&t, TOM, NewReview { verdict: Verdict::Comments, body: "" }, NOW.plus(3))?;
            world.review_line(&t, MARIA, (line(None), "this file"), NOW.plus(4))?;
            for n in 0..40 {
                let review = NewReview { verdict: Verdict::Comments, body: &format!("more {n}") };
                world.review(&t, TOM, review, NOW.plus(5 + n))?;
            }
            world.comment(&t, MARIA, "last", NOW.plus(100))
        });
        let said = rig.forge.conversation(&t).await.unwrap();
        let told: Vec<_> =
            said.iter().map(|c| (c.author.id, c.body.as_str(), c.on.clone(), c.created_at)).collect();
        assert_eq!(told.len(), 45, "no page is missing, and no empty review is there");
        let expected = [
            (MARIA, "first", None, Some(NOW)),
            (MARIA, "Not yet.", None, Some(NOW.plus(1))),
            (TOM, "this line", Some(line(Some(7))), Some(NOW.plus(2))),
            (MARIA, "this file", Some(line(None)), Some(NOW.plus(4))),
        ];
        assert_eq!(told[..4], expected);
        assert_eq!((told[43].1, told[44].1), ("more 39", "last"));
        let issue = rig.forge.conversation(&rig.issue).await;
        assert!(matches!(issue, Err(ForgeError::NotFound(_))), "an issue has no reviews: {issue:?}");
    }

    pub(super) async fn a_change_request_shows_its_diff(rig: &Rig) {
        let t = rig.forge.create_change_request(&rig.project, &NEW).await.unwrap().thread;
        let file = |n: usize, patch: &str| FileDiff { path: format!("src/{n} b.rs"), patch: patch.into() };
        let few = vec![file(1, "@@ -1 +1 @@\n-a\n+b\n"), file(2, "")];
        world(rig, |world| world.set_diff(&t, few.clone()));
        assert_eq!(rig.forge.diff(&t).await.unwrap(), ChangeDiff { files: few, whole: true });
        let many: Vec<FileDiff> = (0..130).map(|n| file(n, "+x\n")).collect();
        world(rig, |world| world.set_diff(&t, many.clone()));
        let shown = rig.forge.diff(&t).await.unwrap();
        assert_eq!((shown.files.as_slice(), shown.whole), (&many[..100], false), "as much as fits one page");
        let issue = rig.forge.diff(&rig.issue).await;
        assert!(matches!(issue, Err(ForgeError::NotFound(_))), "an issue changes nothing: {issue:?}");
    }

    pub(super) async fn a_repository_is_described(rig: &Rig) {
        let look = async || {
            let found = rig.forge.repository(&rig.project).await.unwrap();
            assert_eq!(found.web_url.is_some(), rig.face != Face::Local);
            Repository { web_url: None, ..found }
        };
        let described = |branch: Option<&str>, archived| Repository {
            default_branch: branch.map(Into::into),
            archived,
            web_url: None,
        };
        assert_eq!(look().await, described(Some("main"), false));
        world(rig, |world| {
            world.project_mut(&rig.project)?.default_branch = Some("release/next".into());
            Ok(())
        });
        assert_eq!(look().await, described(Some("release/next"), false));
        world(rig, |world| {
            let project = world.project_mut(&rig.project)?;
            (project.default_branch, project.archived) = (None, true);
            Ok(())
        });
        assert_eq!(look().await, described(None, true));
        let refused = rig.forge.create_change_request(&rig.project, &NEW).await;
        assert!(matches!(refused, Err(ForgeError::Forbidden(_))), "archived: {refused:?}");
        let nowhere = rig.forge.repository(&elsewhere(rig, "nowhere")).await;
        assert!(matches!(nowhere, Err(ForgeError::NotFound(_))), "{nowhere:?}");
    }

    pub(super) async fn git_gets_an_address_and_a_secret(rig: &Rig) {
        if rig.face == Face::Local {
            let none = rig.forge.git_access(&rig.project).await;
            assert!(matches!(none, Err(ForgeError::Invalid(_))), "{none:?}");
            let path = std::env::temp_dir().join("a b").join("web.git");
            world(rig, |world| {
                world.project_mut(&rig.project)?.git = Some(path.clone());
                Ok(())
            });
        }
        let GitAccess { url, user, secret } = rig.forge.git_access(&rig.project).await.unwrap();
        let base = rig.stage.as_ref().map(Stage::url).unwrap_or_default();
        let (expected, who, what) = match rig.face {
            Face::GithubToken => {
                (format!("{base}/acme/web.git"), "x-access-token", Some(github::TOKEN.to_owned()))
            }
            Face::GithubApp => (
                format!("{base}/acme/web.git"),
                "x-access-token",
                Some("ghs_fake_web_contents_write".to_owned()),
            ),
            Face::Gitlab => {
                (format!("{base}/gitlab/acme/tools/web.git"), "oauth2", Some(gitlab::TOKEN.to_owned()))
            }
            Face::Local => (url.clone(), "", None),
        };
        assert_eq!((url.as_str(), user.as_str()), (expected.as_str(), who));
        assert_eq!(secret.map(|secret| secret.expose_secret().to_owned()), what);
        if rig.face == Face::Local {
            assert!(url.starts_with("file:///") && url.ends_with("/a%20b/web.git"), "{url}");
        }
    }

    pub(super) async fn a_thread_is_read_again_for_nothing(rig: &Rig) {
        let first = rig.forge.thread(&rig.issue).await.unwrap();
        for _ in 0..3 {
            assert_eq!(rig.forge.thread(&rig.issue).await.unwrap(), first);
        }
        world(rig, |world| world.label(&rig.issue, "stop", MARIA, NOW));
        assert_eq!(rig.forge.thread(&rig.issue).await.unwrap().labels, ["stop"], "a change is never missed");
        assert_eq!(rig.forge.thread(&rig.issue).await.unwrap().labels, ["stop"]);
        world(rig, |world| world.unlabel(&rig.issue, "stop", MARIA, NOW));
        assert_eq!(rig.forge.thread(&rig.issue).await.unwrap(), first);
        let Some(stage) = &rig.stage else { return };
        let answers: Vec<u16> =
            stage.answers(&Method::GET, "/issues/1").into_iter().map(Option::unwrap).collect();
        assert_eq!(answers, [200, 304, 304, 304, 200, 304, 200]);

        let t = rig.forge.create_change_request(&rig.project, &NEW).await.unwrap().thread;
        let change = rig.forge.thread(&t).await.unwrap();
        let asked = stage.audit().len();
        assert_eq!(rig.forge.thread(&t).await.unwrap(), change);
        let again = stage.audit().split_off(asked);
        assert_eq!(again.iter().map(|seen| seen.answered).collect::<Vec<_>>(), [Some(304)], "one request");
        rig.forge.add_label(&t, "go").await.unwrap();
        let asked = stage.audit().len();
        assert_eq!(rig.forge.thread(&t).await.unwrap().labels, ["go"]);
        let again = stage.audit().split_off(asked);
        assert_eq!(again.iter().map(|seen| seen.answered).collect::<Vec<_>>(), [Some(200)], "one request");
        let other = NewThread::titled("Another", MARIA);
        let other = world(rig, |world| world.open(&rig.project, other, NOW)).thread;
        assert_eq!(rig.forge.thread(&other).await.unwrap().title, "Another", "threads are told apart");
    }

    pub(super) async fn our_own_writes_are_read_back(rig: &Rig) {
        rig.forge.thread(&rig.issue).await.unwrap();
        let writes = [
            rig.forge.create_comment(&rig.issue, "hello").await.map(|_| ()),
            rig.forge.add_label(&rig.issue, "go").await,
            rig.forge.edit_comment(&rig.issue, planwright::domain::CommentId(4040), "x").await,
        ];
        assert!(writes[0].is_ok() && writes[1].is_ok() && writes[2].is_err(), "{writes:?}");
        assert_eq!(rig.forge.thread(&rig.issue).await.unwrap().labels, ["go"]);
        let Some(stage) = &rig.stage else { return };
        let mut reads = stage.audit();
        reads.retain(|seen| seen.method == Method::GET && seen.path.ends_with("/issues/1"));
        assert!(reads.iter().all(|seen| !seen.headers.contains_key("if-none-match")), "read whole");
    }
}
