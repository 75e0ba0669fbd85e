//! Purpose: the store forgets a thread whole or not at all, and its chain goes on.

use planwright::store::{Appended, CommentState, History, NewFact, StoreError, verify};
use serde_json::json;

use super::{Fixture, LEASE_MS, NOW, put, thread, turn};

const NAME: &str = "github:acme/web#1";

fn forgotten() -> NewFact {
    NewFact { run: None, json: json!({"type": "forgotten", "entries": 2, "may_start": false}) }
}

#[tokio::test]
async fn one_line_stays_and_continues_the_chain() {
    let at = Fixture::new().await;
    let other = at.leased("github:acme/web#2").await;
    let Appended::Done(kept) = at.store.append(&other, turn(&["a"])).await.unwrap() else { panic!() };
    let lease = at.leased(NAME).await;
    let _ = at.store.append(&lease, turn(&["a", "b"])).await.unwrap();
    assert_eq!(at.store.comment_begin(&lease, "card", NOW).await.unwrap(), CommentState::Fresh);
    let history = History::new(at.dir.path());
    let path = history.path(&thread(NAME));
    let _ = history.catch_up(&at.store, &thread(NAME)).await.unwrap();
    let old = std::fs::read(&path).unwrap();

    // Whoever dies between the file and the journal leaves the file to be made again.
    history.clear(&thread(NAME)).await.unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"");
    assert_eq!(history.catch_up(&at.store, &thread(NAME)).await.unwrap().written, 2);
    history.clear(&thread(NAME)).await.unwrap();

    let Appended::Done(rows) = at.store.forget(&lease, NOW, forgotten()).await.unwrap() else { panic!() };
    assert_eq!(at.store.journal(&thread(NAME)).await.unwrap(), rows);
    assert_eq!((rows.len(), rows[0].seq, rows[0].kind.as_str()), (1, 3, "forgotten"));
    assert_eq!(at.store.comment_begin(&lease, "card", NOW).await.unwrap(), CommentState::Fresh);
    assert_eq!(at.store.journal(&thread("github:acme/web#2")).await.unwrap(), kept, "others keep theirs");

    // A file that came back as it was before is no damage.
    std::fs::write(&path, &old).unwrap();
    let caught = history.catch_up(&at.store, &thread(NAME)).await.unwrap();
    assert_eq!((caught.written, caught.damage), (1, None));
    assert_eq!(verify(&path).unwrap().lines, 1);
    // Another line in its place is.
    std::fs::write(&path, b"what nobody wrote\n").unwrap();
    assert!(history.catch_up(&at.store, &thread(NAME)).await.unwrap().damage.is_some());

    let Appended::Done(more) = at.store.append(&lease, turn(&["c"])).await.unwrap() else { panic!() };
    let caught = history.follow(&at.store, &thread(NAME), more).await.unwrap();
    assert_eq!((caught.written, caught.damage), (1, None));
    let verified = verify(&path).unwrap();
    assert_eq!((verified.lines, verified.first_problem), (2, None));
}

#[tokio::test]
async fn nothing_is_forgotten_while_something_waits_or_by_who_may_not() {
    let at = Fixture::new().await;
    let lease = at.leased(NAME).await;
    let Appended::Done(rows) = at.store.append(&lease, turn(&["a", "b"])).await.unwrap() else { panic!() };
    let timers = vec![("t".to_owned(), NOW)];
    let waits = planwright::store::Turn { timers: Some(timers.clone()), ..turn(&[]) };
    let _ = at.store.append(&lease, waits).await.unwrap();

    let other = at.store.forget(&lease, NOW, NewFact { run: None, json: json!({"type": "c"}) }).await;
    assert!(matches!(other, Err(StoreError::Broken(_))), "{other:?}");
    let _ = put(&at.store, "github:d1", NAME).await;
    let waiting = at.store.forget(&lease, NOW, forgotten()).await.unwrap();
    assert_eq!(waiting, Appended::NotWhilePending);
    let _ = at.store.claim("another", NOW.plus(LEASE_MS), LEASE_MS).await.unwrap().unwrap();
    assert_eq!(at.store.forget(&lease, NOW, forgotten()).await.unwrap(), Appended::LeaseLost);

    assert_eq!(at.store.journal(&thread(NAME)).await.unwrap(), rows);
    assert_eq!(at.store.timers(&thread(NAME)).await.unwrap(), timers);
}
