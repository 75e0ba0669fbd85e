//! Purpose: read lists and texts out of a reply without keeping more of them than an honest reply has.
//!
//! A megabyte of `{}` would otherwise become a hundred megabytes of empty structures.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

const FEW: usize = 16;

/// The first few of a list; the rest is read past. `null` is an empty list.
pub(super) fn few<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_any(Few(PhantomData))
}

struct Few<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Few<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(vec![])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut kept = Vec::new();
        while kept.len() < FEW {
            let Some(item) = items.next_element()? else { return Ok(kept) };
            kept.push(item);
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(kept)
    }
}

/// A text, or the texts of a list of parts, one after the other. `null` is no text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Said(pub(super) String);

#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
}

impl<'de> Deserialize<'de> for Said {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Saying;
        impl<'de> Visitor<'de> for Saying {
            type Value = Said;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of parts")
            }

            fn visit_unit<E>(self) -> Result<Said, E> {
                Ok(Said::default())
            }

            fn visit_str<E>(self, text: &str) -> Result<Said, E> {
                Ok(Said(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Said, A::Error> {
                let parts: Vec<Part> = Few(PhantomData).visit_seq(items)?;
                Ok(Said(parts.into_iter().map(|part| part.text).collect()))
            }
        }
        from.deserialize_any(Saying)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_in_several_forms() {
        let read = |json: &str| serde_json::from_str::<Said>(json).map(|said| said.0).ok();
        assert_eq!(read(r#""a\nb""#).as_deref(), Some("a\nb"));
        assert_eq!(
            read(r#"[{"type":"text","text":"a"},{"type":"thinking"},{"text":"b"}]"#).as_deref(),
            Some("ab")
        );
        assert_eq!(read("null").as_deref(), Some(""));
        assert_eq!(read("1"), None);
    }

    #[test]
    fn long_lists_are_not_kept() {
        #[derive(Deserialize)]
        struct Reply {
            #[serde(deserialize_with = "few")]
            list: Vec<u32>,
        }
        let read = |json: String| serde_json::from_str::<Reply>(&json).map(|reply| reply.list).unwrap();
        assert_eq!(read(r#"{"list":[1,2]}"#.to_owned()), [1, 2]);
        assert_eq!(read(r#"{"list":null}"#.to_owned()), [0_u32; 0]);
        assert_eq!(read(format!(r#"{{"list":[{}7]}}"#, "7,".repeat(100_000))).len(), FEW);
    }
}
