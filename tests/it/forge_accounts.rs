//! Purpose: who has a login, on every forge, and what is said of it when a forge fails.

use http::Method;
use planwright::domain::{Account, AccountId, AccountKind};
use planwright::forge::ForgeError;

use crate::fake_forge::Fault;
use crate::forge_contract::{Face, MARIA, Rig, on_every_forge, rig};
use crate::forge_faults::{SERVED, assert_asked, stage};

/// A part of the path that only looking for an account has.
const USERS: &str = "/users";

on_every_forge!(
    an_account_is_found_by_its_login,
    the_case_of_a_login_does_not_matter,
    a_login_that_nobody_has_is_nobody,
    organizations_and_groups_are_nobody,
    what_cannot_be_a_login_is_not_asked_for,
);

fn maria() -> Account {
    Account::person(MARIA.0, "maria")
}

fn join(rig: &Rig, account: &Account) {
    rig.world.with(|world| world.add_account(account.clone())).unwrap();
}

mod checks {
    use super::*;

    pub(super) async fn an_account_is_found_by_its_login(rig: &Rig) {
        assert_eq!(rig.forge.account("maria").await, Ok(Some(maria())));
        let me = rig.world.bot();
        assert_eq!(rig.forge.account(&me.login).await.as_ref(), Ok(&Some(me.clone())));
        // GitLab tells other bots only by the names that it gives them.
        let login = if rig.face == Face::Gitlab { "project_7_bot_4ffca2" } else { "helper[bot]" };
        let helper = Account { id: AccountId(50), login: login.into(), kind: AccountKind::Bot };
        join(rig, &helper);
        assert_eq!(rig.forge.account(login).await, Ok(Some(helper)));
        let dotted = Account::person(51, "m.-_7");
        join(rig, &dotted);
        assert_eq!(rig.forge.account("m.-_7").await, Ok(Some(dotted)));
    }

    pub(super) async fn the_case_of_a_login_does_not_matter(rig: &Rig) {
        assert_eq!(rig.forge.account("mArIA").await, Ok(Some(maria())));
    }

    pub(super) async fn a_login_that_nobody_has_is_nobody(rig: &Rig) {
        for login in ["mari", "mariaa", "nobody"] {
            assert_eq!(rig.forge.account(login).await, Ok(None), "{login}");
        }
    }

    pub(super) async fn organizations_and_groups_are_nobody(rig: &Rig) {
        for login in ["acme", "Acme"] {
            assert_eq!(rig.forge.account(login).await, Ok(None), "{login}");
        }
    }

    pub(super) async fn what_cannot_be_a_login_is_not_asked_for(rig: &Rig) {
        let longest = "x".repeat(255);
        let longer = format!("{longest}x");
        let odd = [
            "",
            ".",
            "..",
            "../../x",
            "a b",
            "a/b",
            "maria?x",
            "maria#",
            "m%61ria",
            "maria\r\n",
            "ma\0",
            &longer,
        ];
        for (number, login) in (100..).zip(odd) {
            // Even the local forge, which could find such a name, knows that no account has it.
            join(rig, &Account::person(number, login));
            assert_eq!(rig.forge.account(login).await, Ok(None), "{login:?}");
        }
        let asked = rig.stage.as_ref().map_or(0, |stage| stage.audit().len());
        assert_eq!(asked, 0, "{:?}", rig.face);

        let long = Account::person(99, &longest);
        join(rig, &long);
        assert_eq!(rig.forge.account(&longest).await, Ok(Some(long)));
    }
}

#[tokio::test]
async fn an_account_is_asked_for_again() {
    for face in SERVED {
        for fault in [Fault::Status(502), Fault::ResetAfterBody, Fault::Garbage] {
            let rig = rig(face).await;
            stage(&rig).fault(Method::GET, USERS, fault.clone(), 2);
            assert_eq!(rig.forge.account("maria").await, Ok(Some(maria())), "{face:?} {fault:?}");
            assert_asked(&rig, &Method::GET, USERS, 3);
        }
    }
}

#[tokio::test]
async fn an_account_that_cannot_be_looked_up_is_not_nobody() {
    for face in SERVED {
        for status in [401, 403, 502] {
            let rig = rig(face).await;
            stage(&rig).fault(Method::GET, USERS, Fault::Status(status), 99);
            let why = format!("cannot look up the account `maria`: the answer is {status} (injected)");
            // An App's token may have been revoked early; with a fresh one it is asked once more.
            let (expected, asked) = match status {
                401 if face == Face::GithubApp => (ForgeError::Unauthorized(why), 2),
                401 => (ForgeError::Unauthorized(why), 1),
                403 => (ForgeError::Forbidden(why), 1),
                _ => (ForgeError::Unclear(why), 3),
            };
            assert_eq!(rig.forge.account("maria").await, Err(expected), "{face:?}");
            assert_asked(&rig, &Method::GET, USERS, asked);
        }
    }
}

#[tokio::test]
async fn only_the_page_of_an_account_may_be_missing() {
    for face in SERVED {
        let rig = rig(face).await;
        stage(&rig).fault(Method::GET, USERS, Fault::Status(404), 99);
        let found = rig.forge.account("maria").await;
        if face == Face::Gitlab {
            assert!(matches!(found, Err(ForgeError::NotFound(_))), "a list is never missing: {found:?}");
        } else {
            assert_eq!(found, Ok(None), "{face:?}");
        }
        assert_asked(&rig, &Method::GET, USERS, 1);
    }
}

#[tokio::test]
async fn an_app_that_cannot_ask_does_not_say_nobody() {
    for (method, path) in [(Method::GET, "/app/installations"), (Method::POST, "/access_tokens")] {
        let rig = rig(Face::GithubApp).await;
        stage(&rig).fault(method, path, Fault::Status(404), 99);
        let error = rig.forge.account("maria").await.unwrap_err();
        assert!(matches!(error, ForgeError::NotFound(_) | ForgeError::Unauthorized(_)), "{path}: {error:?}");
        assert_asked(&rig, &Method::GET, USERS, 0);
    }
}

#[tokio::test]
async fn an_answer_about_somebody_else_is_nobody() {
    for face in [Face::GithubToken, Face::GithubApp] {
        let rig = rig(face).await;
        let to = format!("{}/api/v3/users/tom", stage(&rig).url());
        stage(&rig).fault(Method::GET, "/users/maria", Fault::Redirect { status: 301, to }, 1);
        assert_eq!(rig.forge.account("maria").await, Ok(None), "{face:?}");
        assert_asked(&rig, &Method::GET, "/users/tom", 1);
    }
}
