//! Purpose: a delivery as it is written: packed, because the number of bytes that are synced decides the speed.
//!
//! Much of a body from GitHub is names of fields and beginnings of addresses that stand in every other one, too. These are
//! in a dictionary that packing points into: for a usual body it takes no longer, and a third of what would be written is
//! not.

use std::sync::LazyLock;

use bytes::Bytes;
use lz4_flex::block::{self, DecompressError};

use super::StoreError;
use super::inbox::NewDelivery;
use crate::domain::ForgeKind;

/// The state of a delivery that waits for its thread.
pub(super) const PENDING: &str = "pending";
/// The state of one that is only kept to be looked at.
pub(super) const UNREADABLE: &str = "unreadable";

#[derive(Debug)]
pub(super) struct Parcel {
    pub(super) key: String,
    pub(super) thread: Option<String>,
    pub(super) forge: &'static str,
    pub(super) event: String,
    pub(super) state: &'static str,
    pub(super) reason: Option<String>,
    pub(super) body: Vec<u8>,
    pub(super) received_at: i64,
}

impl Parcel {
    pub(super) async fn of(delivery: NewDelivery) -> Result<Self, StoreError> {
        let readable = delivery.unreadable.is_none() && delivery.thread.is_some();
        Ok(Self {
            key: delivery.key,
            thread: delivery.thread.map(|thread| thread.to_string()),
            forge: delivery.forge.as_str(),
            event: delivery.event,
            state: if readable { PENDING } else { UNREADABLE },
            reason: delivery.unreadable,
            body: pack_aside(delivery.forge, delivery.body).await?,
            received_at: delivery.received_at.0,
        })
    }
}

/// Above this, packing takes long enough to hold up other requests.
const LARGE_BODY: usize = 256 * 1024;

async fn pack_aside(forge: ForgeKind, body: Bytes) -> Result<Vec<u8>, StoreError> {
    if body.len() <= LARGE_BODY {
        return Ok(pack(forge, &body));
    }
    tokio::task::spawn_blocking(move || pack(forge, &body))
        .await
        .map_err(|error| StoreError::Unavailable(format!("the body could not be packed: {error}")))
}

/// What stored bodies point into, so it must stay as it is, to the letter; a better one would need a mark of its own. It is
/// in lines only so that people can read it.
static GITHUB: LazyLock<String> = LazyLock::new(|| include_str!("dictionary.txt").lines().collect());

/// Set in the size that stands in front of a packed body, if it points into the dictionary. No body is so long. What was
/// packed without is read as before; a Planwright from before does not read what was packed with it.
const WITH_DICTIONARY: u32 = 1 << 31;

/// Keep in step with [`unpack`].
fn pack(forge: ForgeKind, body: &[u8]) -> Vec<u8> {
    match forge {
        ForgeKind::Github => {
            let mut packed = block::compress_prepend_size_with_dict(body, GITHUB.as_bytes());
            if let Some(size) = packed.first_chunk_mut::<4>() {
                *size = (u32::from_le_bytes(*size) | WITH_DICTIONARY).to_le_bytes();
            }
            packed
        }
        ForgeKind::Gitlab | ForgeKind::Local => block::compress_prepend_size(body),
    }
}

pub(super) fn unpack(packed: &[u8]) -> Result<Vec<u8>, DecompressError> {
    let (size, packed) = packed.split_first_chunk::<4>().ok_or(DecompressError::ExpectedAnotherByte)?;
    let size = u32::from_le_bytes(*size);
    let expected = (size & !WITH_DICTIONARY) as usize;
    let body = if size & WITH_DICTIONARY == 0 {
        block::decompress(packed, expected)?
    } else {
        block::decompress_with_dict(packed, expected, GITHUB.as_bytes())?
    };
    if body.len() == expected { Ok(body) } else { Err(DecompressError::ExpectedAnotherByte) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sha2::{Digest as _, Sha256};

    use super::*;

    /// As GitHub writes an account, of which a body has several.
    const ACCOUNT: &str = concat!(
        r#"{"login":"maria","id":21031067,"node_id":"MDQ6VXNlcjIxMDMxMDY3","#,
        r#""avatar_url":"https://avatars.githubusercontent.com/u/21031067?v=4","gravatar_id":"","#,
        r#""url":"https://api.github.com/users/maria","html_url":"https://github.com/maria","#,
        r#""followers_url":"https://api.github.com/users/maria/followers","#,
        r#""following_url":"https://api.github.com/users/maria/following{/other_user}"}"#,
    );

    #[test]
    fn the_dictionary_stays_as_it_is() {
        assert_eq!(
            hex::encode(Sha256::digest(GITHUB.as_bytes())),
            "d006a171eac3d9942fd51da0b26907760b78bbed798d0653e72c6886a56816b0",
            "bodies that wait in an inbox cannot be read with another one; add one instead"
        );
    }

    #[test]
    fn what_every_body_repeats_is_hardly_written() {
        let (with, without) =
            (pack(ForgeKind::Github, ACCOUNT.as_bytes()), pack(ForgeKind::Gitlab, ACCOUNT.as_bytes()));
        assert!(with.len() * 2 < without.len(), "{} and {} bytes", with.len(), without.len());
        assert_eq!(unpack(&with).unwrap(), ACCOUNT.as_bytes());
    }

    /// Written before there was a dictionary.
    #[test]
    fn a_body_without_a_dictionary_is_read() {
        assert_eq!(unpack(&[2, 0, 0, 0, 0x20, b'{', b'}']).unwrap(), b"{}");
    }

    /// Around the sizes at which lz4 works otherwise: too short to point anywhere, and beyond its window.
    #[test]
    fn a_body_of_any_size_comes_out_as_it_went_in() {
        for size in [0, 1, 12, 13, 58_807, 58_808, 65_535, 65_536, 300_000] {
            let body: String = ACCOUNT.chars().cycle().take(size).collect();
            assert_eq!(unpack(&pack(ForgeKind::Github, body.as_bytes())).unwrap(), body.as_bytes(), "{size}");
        }
    }

    #[test]
    fn a_body_that_is_cut_off_is_an_error() {
        let packed = pack(ForgeKind::Github, ACCOUNT.as_bytes());
        for length in 0..packed.len() {
            assert!(unpack(&packed[..length]).is_err(), "cut off after {length} bytes");
        }
    }

    proptest! {
        #[test]
        fn a_body_comes_out_as_it_went_in(
            body in proptest::collection::vec(any::<u8>(), 0..4_000),
            repeat in 0..4_usize,
            forge in prop_oneof![Just(ForgeKind::Github), Just(ForgeKind::Gitlab), Just(ForgeKind::Local)],
        ) {
            let body = [body.repeat(repeat), GITHUB.as_bytes().to_vec(), body].concat();
            prop_assert_eq!(unpack(&pack(forge, &body)).unwrap(), body);
        }
    }
}
