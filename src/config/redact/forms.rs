//! Purpose: the forms in which a secret may be written: as it is, backwards, in base64, in hex.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use secrecy::{ExposeSecret, SecretSlice};

use super::squeeze::{Escapes, Squeezed};

/// One form, squeezed.
pub(super) struct Form {
    bytes: SecretSlice<u8>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Whole,
    /// Without its signs it reads like words, which people may well write without meaning the secret.
    Words,
    /// Its first and last letter may hold some bits of a neighbour, so they are not part of it.
    Base64,
}

impl Form {
    fn new(text: &str, kind: Kind) -> Self {
        Self { bytes: Squeezed::of(text, Escapes::Kept).bytes.into(), kind }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.expose_secret()
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }
}

/// All forms that are long enough to be told from ordinary text.
pub(super) fn forms_of(secret: &str, shortest: usize) -> Vec<Form> {
    let reads_like_words =
        secret.bytes().all(|byte| byte.is_ascii_lowercase() || !byte.is_ascii_alphanumeric());
    let kind = if reads_like_words { Kind::Words } else { Kind::Whole };
    let hex: Vec<String> = secret.bytes().map(|byte| hex::encode([byte])).collect();
    let mut forms = vec![
        Form::new(secret, kind),
        Form::new(&secret.chars().rev().collect::<String>(), kind),
        Form::new(&hex.concat(), Kind::Whole),
        // `0x67, 0x68`
        Form::new(&hex.join("0x"), Kind::Whole),
    ];
    forms.extend((0..3).map(|before| Form::new(&base64_after(before, secret), Kind::Base64)));
    forms.retain(|form| form.bytes().len() >= shortest);
    forms
}

/// The letters that stand for the secret alone when so many bytes come before it in the same three.
fn base64_after(before: usize, secret: &str) -> String {
    let mut bytes = vec![0; before];
    bytes.extend(secret.as_bytes());
    let letters = STANDARD_NO_PAD.encode(&bytes);
    let shared = (before * 8).div_ceil(6);
    let whole = bytes.len() * 8 / 6;
    letters.get(shared..whole).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_the_same_wherever_it_stands() {
        let secret = "ghp_Fake0Token1";
        for before in 0..7 {
            let text = format!("{}{secret}behind", "x".repeat(before));
            let letters = STANDARD_NO_PAD.encode(text);
            let form = base64_after(before % 3, secret);
            assert!(form.len() >= 18 && letters.contains(&form), "{before}: {form} in {letters}");
        }
    }

    #[test]
    fn what_is_too_short_is_no_form() {
        assert_eq!(forms_of("?!.;,:-_+", 8).len(), 5, "hex and base64 of it");
        assert_eq!(forms_of("ghp_Fake0Token1", 8).len(), 7);
    }
}
