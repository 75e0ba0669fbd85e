//! Purpose: the store remembers whether a comment was begun and posted, also over a restart.

use planwright::domain::CommentId;
use planwright::store::{CommentState, Held};

use super::{Fixture, LEASE_MS, NOW};

#[tokio::test]
async fn a_comment_goes_from_fresh_to_posted_and_is_looked_for_when_gone() {
    let at = Fixture::new().await;
    let lease = at.leased("github:acme/web#1").await;
    assert_eq!(at.store.comment_begin(&lease, "card", NOW).await.unwrap(), CommentState::Fresh);
    assert_eq!(at.store.comment_begin(&lease, "card", NOW).await.unwrap(), CommentState::Begun);
    assert_eq!(at.store.comment_begin(&lease, "help", NOW).await.unwrap(), CommentState::Fresh);
    assert_eq!(at.store.comment_posted(&lease, "card", CommentId(7), "h1").await.unwrap(), Held::Yes);
    let posted = |body_hash: &str| CommentState::Posted { id: CommentId(7), body_hash: body_hash.to_owned() };
    assert_eq!(at.store.comment_begin(&lease, "card", NOW).await.unwrap(), posted("h1"));
    assert_eq!(at.store.comment_posted(&lease, "card", CommentId(7), "h2").await.unwrap(), Held::Yes);
    let at = at.reopen().await;
    let lease = at.store.claim("b", NOW.plus(LEASE_MS), LEASE_MS).await.unwrap().unwrap();
    assert_eq!(at.store.comment_begin(&lease, "card", NOW).await.unwrap(), posted("h2"));
    assert_eq!(at.store.comment_forgotten(&lease, "card").await.unwrap(), Held::Yes);
    assert_eq!(at.store.comment_begin(&lease, "card", NOW).await.unwrap(), CommentState::Begun);
}

#[tokio::test]
async fn one_key_on_two_threads_is_two_comments() {
    let at = Fixture::new().await;
    let one = at.leased("github:acme/web#1").await;
    let two = at.leased("github:acme/web#2").await;
    assert_eq!(at.store.comment_begin(&one, "card", NOW).await.unwrap(), CommentState::Fresh);
    assert_eq!(at.store.comment_begin(&two, "card", NOW).await.unwrap(), CommentState::Fresh);
}
