//! Purpose: what becomes of change requests, tokens for git and reading again when a forge fails.

use std::time::Duration;

use http::Method;
use planwright::domain::{ForgeKind, NewChangeRequest, Permission, Project, Readiness};
use planwright::forge::local::Visibility;
use planwright::forge::{Forge, ForgeError, Github, GithubAuth, GithubSettings, Gitlab, GitlabSettings};
use secrecy::ExposeSecret as _;

use crate::fake_forge::{Fault, github};
use crate::forge_contract::{APP_KEY, BOT, Face, MARIA, Rig, quick, rig};
use crate::forge_faults::{SERVED, assert_asked, stage};

fn changes_of(rig: &Rig) -> &'static str {
    if rig.face == Face::Gitlab { "/merge_requests" } else { "/pulls" }
}

const CHANGE: NewChangeRequest<'static> = NewChangeRequest {
    head: "planwright/1-fast",
    base: "main",
    title: "Fast",
    body: "",
    readiness: Readiness::Draft,
};

/// As the engine does it: look before opening, and look again when it is not clear what happened.
#[tokio::test]
async fn a_change_request_is_opened_once_whatever_happens() {
    // The fault, and whether the change request was opened all the same.
    let faults = [
        (Fault::Status(500), 0),
        (Fault::Status(502), 0),
        (Fault::ResetAfterBody, 1),
        (Fault::Timeout, 1),
        (Fault::Garbage, 1),
        (Fault::Slow(Duration::from_secs(2)), 1),
    ];
    for face in SERVED {
        for (fault, opened) in &faults {
            let rig = rig(face).await;
            let count =
                || rig.world.look(|world| world.change_requests_from(&rig.project, CHANGE.head).len());
            stage(&rig).fault(Method::POST, changes_of(&rig), fault.clone(), 1);
            let error = rig.forge.create_change_request(&rig.project, &CHANGE).await.unwrap_err();
            assert!(matches!(error, ForgeError::Unclear(_)), "{face:?} {fault:?}: {error:?}");
            assert_asked(&rig, &Method::POST, changes_of(&rig), 1);
            assert_eq!(count(), *opened, "{face:?} {fault:?}");

            let found = rig.forge.find_change_request(&rig.project, CHANGE.head).await.unwrap();
            assert_eq!(found.is_some(), *opened == 1, "{face:?} {fault:?}");
            if found.is_none() {
                rig.forge.create_change_request(&rig.project, &CHANGE).await.unwrap();
            }
            assert_eq!(count(), 1, "{face:?} {fault:?}");
        }
    }
}

#[tokio::test]
async fn edits_and_reviewers_are_repeated() {
    for face in SERVED {
        for fault in [Fault::Status(502), Fault::ResetAfterBody, Fault::Garbage] {
            let rig = rig(face).await;
            let t = rig.forge.create_change_request(&rig.project, &CHANGE).await.unwrap().thread;
            let (edit, ask) =
                if face == Face::Gitlab { (Method::PUT, Method::PUT) } else { (Method::PATCH, Method::POST) };
            stage(&rig).fault(edit, changes_of(&rig), fault.clone(), 1);
            rig.forge.edit_change_request(&t, "Faster", "why").await.unwrap();
            stage(&rig).fault(ask, changes_of(&rig), fault.clone(), 1);
            let maria = rig.world.look(|world| world.account(MARIA).cloned()).unwrap();
            rig.forge.request_review(&t, &maria).await.unwrap();
            let thread = rig.world.look(|world| world.thread(&t).cloned()).unwrap();
            let change = thread.change.unwrap();
            assert_eq!(
                (thread.title.as_str(), thread.body.as_str()),
                ("Faster", "why"),
                "{face:?} {fault:?}"
            );
            assert_eq!((change.draft, change.reviewers), (true, vec![MARIA]), "{face:?} {fault:?}");
        }
    }
}

#[tokio::test]
async fn a_failed_read_leaves_nothing_to_rely_on() {
    for face in SERVED {
        let rig = rig(face).await;
        rig.forge.thread(&rig.issue).await.unwrap();
        stage(&rig).fault(Method::GET, "/issues/1", Fault::Status(403), 1);
        rig.forge.thread(&rig.issue).await.unwrap_err();
        rig.forge.thread(&rig.issue).await.unwrap();
        let asked: Vec<(bool, Option<u16>)> = stage(&rig)
            .audit()
            .iter()
            .filter(|seen| seen.path.ends_with("/issues/1"))
            .map(|seen| (seen.headers.contains_key("if-none-match"), seen.answered))
            .collect();
        assert_eq!(asked, [(false, Some(200)), (true, Some(403)), (false, Some(200))], "{face:?}");
    }
}

#[tokio::test]
async fn a_read_again_is_asked_again_when_it_fails() {
    for face in SERVED {
        for fault in [Fault::Status(502), Fault::ResetAfterBody, Fault::Garbage] {
            let rig = rig(face).await;
            let before = rig.forge.thread(&rig.issue).await.unwrap();
            stage(&rig).fault(Method::GET, "/issues/1", fault.clone(), 2);
            assert_eq!(rig.forge.thread(&rig.issue).await, Ok(before), "{face:?} {fault:?}");
            let answers = stage(&rig).answers(&Method::GET, "/issues/1");
            assert_eq!((answers.len(), answers[3]), (4, Some(304)), "{face:?} {fault:?}");
        }
    }
}

#[tokio::test]
async fn a_git_token_is_kept_until_it_nears_its_end() {
    let rig = rig(Face::GithubApp).await;
    let mint = async || {
        rig.forge.git_access(&rig.project).await.unwrap();
        stage(&rig).count(&Method::POST, "/access_tokens")
    };
    stage(&rig).set_token_life(9 * 60);
    assert_eq!([mint().await, mint().await], [1, 2], "too short to rely on");
    stage(&rig).set_token_life(3600);
    assert_eq!([mint().await, mint().await, mint().await], [3, 3, 3]);
    let other = Project::new(ForgeKind::Github, "acme/other").unwrap();
    let added = rig.world.with(|world| {
        world.add_project(&other, Visibility::Public);
        world.set_member(&other, BOT, Permission::Write)
    });
    added.unwrap().unwrap();
    let access = rig.forge.git_access(&other).await.unwrap();
    assert_eq!(access.secret.unwrap().expose_secret(), "ghs_fake_other_contents_write", "one for each");
}

#[tokio::test]
async fn a_git_token_that_does_not_come_is_asked_for_again() {
    for fault in [Fault::Status(502), Fault::Garbage, Fault::ResetAfterBody] {
        let rig = rig(Face::GithubApp).await;
        stage(&rig).fault(Method::POST, "/access_tokens", fault, 1);
        rig.forge.git_access(&rig.project).await.unwrap();
        assert_asked(&rig, &Method::POST, "/access_tokens", 2);
    }
    let rig = rig(Face::GithubApp).await;
    stage(&rig).fault(Method::POST, "/access_tokens", Fault::Status(404), 1);
    let error = rig.forge.git_access(&rig.project).await.unwrap_err();
    assert!(matches!(&error, ForgeError::Unauthorized(why) if why.contains("installed")), "{error:?}");
}

#[tokio::test]
async fn files_get_no_credential() {
    let rig = rig(Face::GithubApp).await;
    let root: url::Url = "file:///srv/git/".parse().unwrap();
    let api_url: url::Url = format!("{}/api/v3", stage(&rig).url()).parse().unwrap();
    let (patience, bot_login) = (quick(), None);
    let auth = GithubAuth::App { id: github::APP_ID, private_key_pem: APP_KEY.into() };
    let settings =
        GithubSettings { api_url: api_url.clone(), git_url: root.clone(), auth, bot_login, patience };
    let github = Forge::Github(Github::new(&settings).unwrap());
    let settings =
        GitlabSettings { url: api_url, git_url: root, token: "t".into(), bot_login: None, patience };
    let gitlab = Forge::Gitlab(Gitlab::new(&settings).unwrap());
    for forge in [github, gitlab] {
        let access = forge.git_access(&rig.project).await.unwrap();
        assert_eq!((access.url.as_str(), access.user.as_str()), ("file:///srv/git/acme/web.git", ""));
        assert!(access.secret.is_none());
    }
    assert!(stage(&rig).audit().is_empty(), "nobody was asked for a token");
}
