//! Purpose: read values that are checked while they are read.
//!
//! serde's own `try_from` checks after reading, when the YAML reader has already left the value, so its errors carry
//! the place of the whole section. What is refused inside a visitor is reported at the value itself.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// A text that becomes a `T`.
pub(super) fn text<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<String, Error = String>,
{
    deserializer.deserialize_str(Text(PhantomData))
}

/// A number that becomes a `T`.
pub(super) fn number<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<f64, Error = String>,
{
    deserializer.deserialize_f64(Number(PhantomData))
}

/// A mapping with the keys of `F` that becomes a `T`.
pub(super) fn section<'de, D, F, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    F: Deserialize<'de>,
    T: TryFrom<F, Error = String>,
{
    deserializer.deserialize_map(Section::<F, T>(PhantomData))
}

/// A value that was written, even if it is `null`: tells that from a key that is not there at all.
pub(super) fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

struct Text<T>(PhantomData<T>);

impl<T: TryFrom<String, Error = String>> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::try_from(text.to_owned()).map_err(E::custom)
    }
}

struct Number<T>(PhantomData<T>);

impl<T: TryFrom<f64, Error = String>> Visitor<'_> for Number<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        T::try_from(number).map_err(E::custom)
    }

    #[expect(clippy::cast_precision_loss, reason = "a number too large to be exact is out of bounds anyway")]
    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.visit_f64(number as f64)
    }

    #[expect(clippy::cast_precision_loss, reason = "a number too large to be exact is out of bounds anyway")]
    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit_f64(number as f64)
    }
}

struct Section<F, T>(PhantomData<(F, T)>);

impl<'de, F: Deserialize<'de>, T: TryFrom<F, Error = String>> Visitor<'de> for Section<F, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        let file = F::deserialize(MapAccessDeserializer::new(map))?;
        T::try_from(file).map_err(A::Error::custom)
    }
}

/// `Deserialize` for types that are read by one of the functions above.
macro_rules! deserialize_checked {
    ($($type:ty => $how:expr;)+) => {$(
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $how(deserializer)
            }
        }
    )+};
}
pub(super) use deserialize_checked;
