//! Purpose: what the clients do when a forge fails: what is asked again, what never is, and how long they wait.

use std::time::{Duration, Instant};

use http::Method;
use planwright::forge::local::NewThread;
use planwright::forge::{
    Forge, ForgeError, Github, GithubAuth, GithubSettings, Gitlab, GitlabSettings, Patience,
};

use crate::fake_forge::{Fault, Stage, github};
use crate::forge_contract::{APP_KEY, BOT, Face, MARIA, NOW, Rig, quick, rig};

pub(crate) const SERVED: [Face; 3] = [Face::GithubToken, Face::GithubApp, Face::Gitlab];
const MARKER: &str = "<!-- planwright:card -->";

pub(crate) fn stage(rig: &Rig) -> &Stage {
    rig.stage.as_ref().unwrap()
}

/// A part of the path that only reads and writes of the issue's comments have.
fn comments_of(rig: &Rig) -> &'static str {
    if rig.face == Face::Gitlab { "/issues/1/notes" } else { "/issues/1/comments" }
}

/// The forge must have seen exactly so many of them.
pub(crate) fn assert_asked(rig: &Rig, method: &Method, path: &str, times: usize) {
    assert_eq!(stage(rig).count(method, path), times, "{:?}: {method} {path}", rig.face);
}

#[tokio::test]
async fn reads_are_asked_again() {
    let faults = [
        Fault::Status(500),
        Fault::Status(502),
        Fault::Status(503),
        Fault::ResetAfterBody,
        Fault::Timeout,
        Fault::Garbage,
        Fault::RateLimit { retry_after: Some(0) },
    ];
    for face in SERVED {
        for fault in &faults {
            let rig = rig(face).await;
            stage(&rig).fault(Method::GET, "/issues/1", fault.clone(), 2);
            let thread = rig.forge.thread(&rig.issue).await;
            assert_eq!(thread.map(|t| t.title), Ok("Make it fast".to_owned()), "{face:?} {fault:?}");
            assert_asked(&rig, &Method::GET, "/issues/1", 3);
        }
    }
}

#[tokio::test]
async fn a_page_in_the_middle_is_asked_again() {
    for face in SERVED {
        let rig = rig(face).await;
        let written = rig.world.with(|world| {
            for number in 0..150 {
                world.comment(&rig.issue, BOT, &format!("{number}"), planwright::domain::Millis(number))?;
            }
            world.comments(&rig.issue)
        });
        stage(&rig).fault(Method::GET, "page=2", Fault::Status(502), 1);
        assert_eq!(rig.forge.comments(&rig.issue).await, Ok(written.unwrap().unwrap()), "{face:?}");
    }
}

#[tokio::test]
async fn patience_ends() {
    for face in SERVED {
        let rig = rig(face).await;
        stage(&rig).fault(Method::GET, "/issues/1", Fault::Status(502), 99);
        let error = rig.forge.thread(&rig.issue).await.unwrap_err();
        let expected = format!("cannot read {}: the answer is 502 (injected)", rig.issue);
        assert_eq!(error, ForgeError::Unclear(expected), "{face:?}");
        assert_asked(&rig, &Method::GET, "/issues/1", 3);
    }
}

#[tokio::test]
async fn a_plain_no_is_taken_at_once() {
    for face in SERVED {
        for status in [401, 403, 404, 410, 422, 400] {
            let rig = rig(face).await;
            stage(&rig).fault(Method::GET, "/issues/1", Fault::Status(status), 99);
            let error = rig.forge.thread(&rig.issue).await.unwrap_err();
            let as_expected = match status {
                401 => matches!(error, ForgeError::Unauthorized(_)),
                403 => matches!(error, ForgeError::Forbidden(_)),
                404 | 410 => matches!(error, ForgeError::NotFound(_)),
                _ => matches!(error, ForgeError::Invalid(_)),
            };
            assert!(as_expected, "{face:?} {status}: {error:?}");
            // An App's token may have been revoked early; with a fresh one it is asked once more.
            let asked = if status == 401 && face == Face::GithubApp { 2 } else { 1 };
            assert_asked(&rig, &Method::GET, "/issues/1", asked);
        }
    }
}

#[tokio::test]
async fn a_revoked_installation_token_is_replaced() {
    let rig = rig(Face::GithubApp).await;
    rig.forge.thread(&rig.issue).await.unwrap();
    stage(&rig).fault(Method::GET, "/issues/1", Fault::Status(401), 1);
    rig.forge.thread(&rig.issue).await.unwrap();
    assert_asked(&rig, &Method::POST, "/access_tokens", 2);
    assert_asked(&rig, &Method::GET, "/installation", 1);
}

#[tokio::test]
async fn a_token_that_does_not_come_is_asked_for_again() {
    for fault in [Fault::Status(502), Fault::Garbage, Fault::ResetAfterBody, Fault::Timeout] {
        let rig = rig(Face::GithubApp).await;
        stage(&rig).fault(Method::POST, "/access_tokens", fault.clone(), 1);
        rig.forge.thread(&rig.issue).await.unwrap();
        stage(&rig).fault(Method::POST, "/access_tokens", fault, 1);
        rig.forge.create_comment(&rig.issue, "once").await.unwrap();
        assert_asked(&rig, &Method::POST, "/access_tokens", 2);
    }
}

#[tokio::test]
async fn a_removed_installation_is_said_and_looked_up_anew() {
    let rig = rig(Face::GithubApp).await;
    stage(&rig).fault(Method::POST, "/access_tokens", Fault::Status(404), 1);
    let error = rig.forge.thread(&rig.issue).await.unwrap_err();
    assert!(matches!(&error, ForgeError::Unauthorized(why) if why.contains("installed")), "{error:?}");
    rig.forge.thread(&rig.issue).await.unwrap();
    assert_asked(&rig, &Method::GET, "/installation", 2);
}

#[tokio::test]
async fn a_comment_is_posted_once_whatever_happens() {
    // The fault, and whether the comment was written all the same.
    let faults = [
        (Fault::Status(500), 0),
        (Fault::Status(502), 0),
        (Fault::ResetAfterBody, 1),
        (Fault::Timeout, 1),
        (Fault::Garbage, 1),
        (Fault::Slow(Duration::from_secs(2)), 1),
    ];
    for face in SERVED {
        for (fault, written) in &faults {
            let rig = rig(face).await;
            stage(&rig).fault(Method::POST, comments_of(&rig), fault.clone(), 1);
            let error = rig.forge.create_comment(&rig.issue, MARKER).await.unwrap_err();
            assert!(matches!(error, ForgeError::Unclear(_)), "{face:?} {fault:?}: {error:?}");
            assert_asked(&rig, &Method::POST, comments_of(&rig), 1);
            let found = rig.forge.find_comments(&rig.issue, MARKER, BOT).await.unwrap();
            assert_eq!(found.len(), *written, "{face:?} {fault:?}");
        }
    }
}

#[tokio::test]
async fn a_refused_comment_is_posted_once_and_says_why() {
    for face in SERVED {
        for status in [403, 404, 422, 429] {
            let rig = rig(face).await;
            stage(&rig).fault(Method::POST, comments_of(&rig), Fault::Status(status), 9);
            let error = rig.forge.create_comment(&rig.issue, MARKER).await.unwrap_err();
            let as_expected = match status {
                403 => matches!(error, ForgeError::Forbidden(_)),
                404 => matches!(error, ForgeError::NotFound(_)),
                429 => matches!(error, ForgeError::RateLimited { .. }),
                _ => matches!(error, ForgeError::Invalid(_)),
            };
            assert!(as_expected, "{face:?} {status}: {error:?}");
            assert_asked(&rig, &Method::POST, comments_of(&rig), 1);
        }
    }
}

#[tokio::test]
async fn edits_and_deletions_are_repeated() {
    for face in SERVED {
        for fault in [Fault::Status(502), Fault::ResetAfterBody, Fault::Timeout] {
            let rig = rig(face).await;
            let edit = if face == Face::Gitlab { Method::PUT } else { Method::PATCH };
            let id = rig.forge.create_comment(&rig.issue, "before").await.unwrap();
            let path = format!("/{}", id.0);
            stage(&rig).fault(edit.clone(), &path, fault.clone(), 1);
            rig.forge.edit_comment(&rig.issue, id, "after").await.unwrap();
            assert_asked(&rig, &edit, &path, 2);
            let comments = rig.forge.comments(&rig.issue).await.unwrap();
            assert_eq!(comments.iter().map(|c| c.body.as_str()).collect::<Vec<_>>(), ["after"]);

            stage(&rig).fault(Method::DELETE, &path, fault.clone(), 1);
            rig.forge.delete_comment(&rig.issue, id).await.unwrap();
            assert_asked(&rig, &Method::DELETE, &path, 2);
            assert_eq!(rig.forge.comments(&rig.issue).await.unwrap(), []);
        }
    }
}

#[tokio::test]
async fn nothing_is_sent_before_the_allowed_instant() {
    for face in SERVED {
        let rig = rig(face).await;
        stage(&rig).fault(Method::GET, "/issues/1", Fault::RateLimit { retry_after: Some(1) }, 1);
        rig.forge.thread(&rig.issue).await.unwrap();
        let seen: Vec<Instant> =
            stage(&rig).audit().iter().filter(|s| s.path.contains("/issues/1")).map(|s| s.at).collect();
        assert_eq!(seen.len(), 2);
        assert!(seen[1] - seen[0] >= Duration::from_secs(1), "{face:?}: {:?}", seen[1] - seen[0]);
    }
}

#[tokio::test]
async fn long_pauses_are_left_to_the_caller() {
    for face in SERVED {
        for (header, expected) in [(None, 60), (Some(4), 4), (Some(3600), 3600)] {
            let rig = rig(face).await;
            stage(&rig).fault(Method::GET, "/issues/1", Fault::RateLimit { retry_after: header }, 9);
            let error = rig.forge.thread(&rig.issue).await.unwrap_err();
            let ForgeError::RateLimited { retry_after, .. } = &error else { panic!("{face:?}: {error:?}") };
            assert_eq!(*retry_after, Duration::from_secs(expected), "{face:?}");
            assert_asked(&rig, &Method::GET, "/issues/1", 1);
        }
    }
}

/// Two threads and one limit: what the forge said about the one holds for the other.
#[tokio::test]
async fn a_limit_holds_for_all_that_a_client_asks() {
    for face in SERVED {
        let rig = rig(face).await;
        let other = NewThread::titled("Make it small", MARIA);
        let other = rig.world.with(|world| world.open(&rig.project, other, NOW)).unwrap().unwrap().thread;
        stage(&rig).fault(Method::GET, "/issues/1", Fault::RateLimit { retry_after: Some(3_600) }, 1);
        rig.forge.thread(&rig.issue).await.unwrap_err();
        let asked = stage(&rig).audit().len();
        for told in [
            rig.forge.thread(&rig.issue).await.map(|_| ()),
            rig.forge.thread(&other).await.map(|_| ()),
            rig.forge.comments(&other).await.map(|_| ()),
            rig.forge.create_comment(&other, MARKER).await.map(|_| ()),
            rig.forge.waiting_threads(Some("planwright")).await.map(|_| ()),
        ] {
            let Err(ForgeError::RateLimited { retry_after, .. }) = told else { panic!("{face:?}: {told:?}") };
            assert!((3_590..=3_600).contains(&retry_after.as_secs()), "{face:?}: {retry_after:?} are left");
        }
        assert_eq!(stage(&rig).audit().len(), asked, "{face:?}: asked before the allowed instant");
    }
}

#[tokio::test]
async fn neither_credentials_nor_texts_leave_the_host() {
    for face in SERVED {
        let (rig, foreign) = (rig(face).await, rig(Face::GithubToken).await);
        for (method, status) in
            [(Method::GET, 301), (Method::GET, 302), (Method::POST, 307), (Method::POST, 302)]
        {
            let to = format!("{}/elsewhere", stage(&foreign).url());
            stage(&rig).fault(method.clone(), "/issues/1", Fault::Redirect { status, to }, 1);
            let followed = if method == Method::GET {
                rig.forge.thread(&rig.issue).await.map(|_| ())
            } else {
                rig.forge.create_comment(&rig.issue, "private words").await.map(|_| ())
            };
            assert!(stage(&foreign).audit().is_empty(), "{face:?} {method} {status}: {followed:?}");
        }
    }
}

#[tokio::test]
async fn a_move_on_the_same_host_is_followed() {
    for face in SERVED {
        let rig = rig(face).await;
        let to = if face == Face::Gitlab {
            format!("{}/gitlab/api/v4/projects/acme%2Ftools%2Fweb/issues/1?moved", stage(&rig).url())
        } else {
            format!("{}/api/v3/repos/acme/web/issues/1?moved", stage(&rig).url())
        };
        stage(&rig).fault(Method::GET, "/issues/1", Fault::Redirect { status: 301, to }, 1);
        assert_eq!(rig.forge.thread(&rig.issue).await.unwrap().title, "Make it fast", "{face:?}");
    }
}

#[tokio::test]
async fn comments_end_where_the_forge_says() {
    let rig = rig(Face::GithubToken).await;
    rig.forge.create_comment(&rig.issue, &"ü".repeat(65_536)).await.unwrap();
    let error = rig.forge.create_comment(&rig.issue, &"ü".repeat(65_537)).await.unwrap_err();
    assert!(matches!(error, ForgeError::Invalid(_)), "{error:?}");
    assert!(error.to_string().len() < 300, "an error quotes no bodies: {error}");
}

fn github(url: url::Url, auth: GithubAuth) -> Result<Forge, ForgeError> {
    let (git_url, patience) = (url.clone(), quick());
    Github::new(&GithubSettings { api_url: url, git_url, auth, bot_login: None, patience }).map(Forge::Github)
}

fn gitlab(url: url::Url, token: &str) -> Result<Forge, ForgeError> {
    let (git_url, patience) = (url.clone(), quick());
    let settings = GitlabSettings { url, git_url, token: token.into(), bot_login: None, patience };
    Gitlab::new(&settings).map(Forge::Gitlab)
}

#[tokio::test]
async fn wrong_credentials_are_told_without_showing_them() {
    let rig = rig(Face::GithubToken).await;
    let base: url::Url = stage(&rig).url().parse().unwrap();
    let secret = "hush-hush-123";
    let lone_app = GithubAuth::App { id: github::APP_ID + 1, private_key_pem: APP_KEY.into() };
    let wrong = [
        github(base.join("api/v3").unwrap(), GithubAuth::Token(secret.into())),
        github(base.join("api/v3").unwrap(), lone_app),
        gitlab(base.clone(), secret),
    ];
    for forge in wrong {
        let error = forge.unwrap().me().await.unwrap_err();
        // The GitLab client asks a host that is none: that is "not found", and no secret either.
        assert!(matches!(error, ForgeError::Unauthorized(_) | ForgeError::NotFound(_)), "{error:?}");
        assert!(!format!("{error:?} {error}").contains(secret));
    }
    for bad in ["", "two\nlines", "with space"] {
        let made = [github(base.clone(), GithubAuth::Token(bad.into())), gitlab(base.clone(), bad)];
        assert!(
            made.iter().all(|made| matches!(made, Err(ForgeError::Unauthorized(_)))),
            "{bad:?}: {made:?}"
        );
    }
    let no_key = GithubAuth::App { id: 1, private_key_pem: "-----BEGIN NOTHING-----".into() };
    assert!(matches!(github(base, no_key), Err(ForgeError::Unauthorized(_))));
}

#[tokio::test]
async fn another_account_than_expected_is_refused() {
    let rig = rig(Face::GithubToken).await;
    let settings = GithubSettings {
        api_url: format!("{}/api/v3", stage(&rig).url()).parse().unwrap(),
        git_url: stage(&rig).url().parse().unwrap(),
        auth: GithubAuth::Token(github::TOKEN.into()),
        bot_login: Some("somebody-else".into()),
        patience: quick(),
    };
    let error = Forge::Github(Github::new(&settings).unwrap()).me().await.unwrap_err();
    let expected =
        "cannot look up our own account: the credentials belong to `planwright`, not to `somebody-else`";
    assert_eq!(error, ForgeError::Unauthorized(expected.into()));
}

#[tokio::test]
async fn a_forge_that_is_down_is_unclear() {
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url: url::Url = format!("http://{}", nobody.local_addr().unwrap()).parse().unwrap();
    drop(nobody);
    for forge in [github(url.clone(), GithubAuth::Token("x".into())), gitlab(url, "x")] {
        let error = forge.unwrap().me().await.unwrap_err();
        let expected = "cannot look up our own account: no connection could be made";
        assert_eq!(error, ForgeError::Unclear(expected.into()));
    }
}

#[tokio::test]
async fn every_request_says_who_we_are() {
    for face in SERVED {
        let rig = rig(face).await;
        rig.forge.me().await.unwrap();
        rig.forge.create_comment(&rig.issue, "hello").await.unwrap();
        let expected = format!("planwright/{}", env!("CARGO_PKG_VERSION"));
        for seen in stage(&rig).audit() {
            let agents: Vec<_> = seen.headers.get_all("user-agent").iter().collect();
            assert_eq!(agents, [expected.as_str()], "{face:?} {}", seen.path);
        }
    }
}

#[test]
fn the_defaults_are_those_of_the_design() {
    let patience = Patience::default();
    assert_eq!((patience.connect, patience.request), (Duration::from_secs(10), Duration::from_secs(30)));
}
