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

/// Whoever changes or deletes a comment while it is being edited may have done so before or after: both stay known.
#[tokio::test]
async fn what_happens_to_a_comment_during_an_edit_stays_known() {
    let at = Fixture::new().await;
    let lease = at.leased("github:acme/web#1").await;
    let edit = async |before: &str, after: &str| {
        assert_eq!(at.store.comment_edited(&lease, "card", before, after).await.unwrap(), Held::Yes);
        match at.store.comment_begin(&lease, "card", NOW).await.unwrap() {
            CommentState::Posted { body_hash, .. } => Some(body_hash),
            CommentState::Fresh | CommentState::Begun | CommentState::LeaseLost => None,
        }
    };
    assert_eq!(at.store.comment_begin(&lease, "card", NOW).await.unwrap(), CommentState::Fresh);
    assert_eq!(at.store.comment_posted(&lease, "card", CommentId(7), "h1").await.unwrap(), Held::Yes);
    assert_eq!(edit("h1", "h2").await.as_deref(), Some("h2"));
    assert_eq!(at.store.comment_altered(&lease, CommentId(7), NOW).await.unwrap(), Held::Yes);
    let first = edit("h2", "h3").await.unwrap();
    assert_ne!(first, "h3");
    assert_eq!(at.store.comment_altered(&lease, CommentId(7), NOW.plus(1)).await.unwrap(), Held::Yes);
    let second = edit(&first, "h3").await.unwrap();
    assert_ne!(second, "h3", "it was changed once more");
    assert_eq!(edit(&second, "h3").await.as_deref(), Some("h3"));
    assert_eq!(at.store.comment_deleted(&lease, CommentId(7)).await.unwrap(), Held::Yes);
    assert_eq!(edit("h3", "h4").await, None);
}
