//! Purpose: find all forms of all secrets in one go over a text, however many there are.
//!
//! Every eighth place of a form is an anchor: the eight bytes from there on, as one number. A text's last eight bytes are
//! such a number too, so each step is one look into a table. Where an anchor stands, the form is followed to both sides.
//! Sixteen bytes in a row always hold an anchor, so that a secret of which a part was cut off is found as well.

use std::collections::HashMap;

use secrecy::{ExposeSecret, SecretString};

use super::forms::{Form, Kind, forms_of};
use super::squeeze::{Escapes, Squeezed, may_have_escapes};

const ANCHOR: usize = 8;
/// So much of a longer form is enough.
const PART: usize = 16;
/// A small table that says "certainly not" for most places.
const SIEVE_BITS: u32 = 14;

pub(super) struct Index {
    forms: Vec<Form>,
    /// The forms and places at which these eight bytes stand in them.
    anchors: HashMap<u64, Vec<(usize, usize)>>,
    sieve: Vec<bool>,
    /// Secrets of which something is lost when they are squeezed: too much, or a sign at an end. They are looked for as
    /// they are, and backwards.
    signs: Vec<SecretString>,
}

/// Begin and end in the text.
pub(super) type Span = (usize, usize);

impl Index {
    pub(super) fn of<'s>(secrets: impl Iterator<Item = &'s str>) -> Self {
        let (mut forms, mut signs) = (vec![], vec![]);
        for secret in secrets {
            forms.extend(forms_of(secret, ANCHOR));
            let has_edge = |edge: fn(char) -> bool| secret.starts_with(edge) || secret.ends_with(edge);
            let is_short = Squeezed::of(secret, Escapes::Kept).bytes.len() < ANCHOR;
            if is_short || has_edge(|c| !c.is_ascii_alphanumeric()) {
                signs.push(SecretString::from(secret));
                signs.push(SecretString::from(secret.chars().rev().collect::<String>()));
            }
        }
        let mut anchors: HashMap<u64, Vec<(usize, usize)>> = HashMap::new();
        let mut sieve = vec![false; 1 << SIEVE_BITS];
        for (number, form) in forms.iter().enumerate() {
            for (place, bytes) in form.bytes().chunks_exact(ANCHOR).enumerate() {
                let window = bytes.iter().fold(0, |window, byte| pushed(window, *byte));
                sieve[hole(window)] = true;
                let known = anchors.entry(window).or_default();
                // Where a form repeats itself its first place will do: it is followed from there.
                if !known.iter().any(|(form, _)| *form == number) {
                    known.push((number, place * ANCHOR));
                }
            }
        }
        Self { forms, anchors, sieve, signs }
    }

    /// Where secrets stand in the text, in order and without overlaps.
    pub(super) fn find(&self, text: &str) -> Vec<Span> {
        let mut found = vec![];
        if !self.forms.is_empty() {
            self.scan(text, Escapes::Kept, &mut found);
            if may_have_escapes(text) {
                self.scan(text, Escapes::Read, &mut found);
            }
        }
        for secret in &self.signs {
            let places = text.match_indices(secret.expose_secret());
            found.extend(places.map(|(at, secret)| (at, at + secret.len())));
        }
        merged(found)
    }

    fn scan(&self, text: &str, escapes: Escapes, found: &mut Vec<Span>) {
        let squeezed = Squeezed::of(text, escapes);
        let mut window = 0;
        // How far each form was found, so that a text that repeats itself is not followed again and again.
        let mut reached: HashMap<usize, usize> = HashMap::new();
        for (at, byte) in squeezed.bytes.iter().enumerate() {
            window = pushed(window, *byte);
            if at + 1 < ANCHOR || !self.sieve[hole(window)] {
                continue;
            }
            for (form, place) in self.anchors.get(&window).into_iter().flatten() {
                let hit = Match { form: *form, place: *place, from: at + 1 - ANCHOR, to: at + 1 };
                if reached.get(&hit.form).is_some_and(|reached| hit.to <= *reached) {
                    continue;
                }
                let Some(form) = self.forms.get(hit.form) else { continue };
                let hit = hit.followed(form.bytes(), &squeezed.bytes);
                if hit.is_enough(form) {
                    found.extend(
                        squeezed.span(hit.from, hit.to).and_then(|span| cut(text, span, form.kind())),
                    );
                    reached.insert(hit.form, hit.to);
                }
            }
        }
    }
}

fn pushed(window: u64, byte: u8) -> u64 {
    window << 8 | u64::from(byte)
}

fn hole(window: u64) -> usize {
    usize::try_from(window.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SIEVE_BITS)).unwrap_or_default()
}

/// A part of a form, from `place` on, that stands in the squeezed text.
#[derive(Debug, Clone, Copy)]
struct Match {
    form: usize,
    place: usize,
    from: usize,
    to: usize,
}

impl Match {
    fn followed(mut self, form: &[u8], text: &[u8]) -> Self {
        let (left, right) = (&form[..self.place], &form[self.place + ANCHOR..]);
        let before =
            text[..self.from].iter().rev().zip(left.iter().rev()).take_while(|(a, b)| a == b).count();
        let after = text[self.to..].iter().zip(right).take_while(|(a, b)| a == b).count();
        self.place -= before;
        self.from -= before;
        self.to += after;
        self
    }

    fn is_enough(&self, form: &Form) -> bool {
        self.to - self.from >= form.bytes().len().min(PART)
    }
}

/// What is cut out for a form that stands here, if anything is.
fn cut(text: &str, (from, to): Span, kind: Kind) -> Option<Span> {
    match kind {
        Kind::Whole => Some((from, to)),
        Kind::Words => {
            let is_one_word =
                text.get(from..to)?.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
            (!is_one_word).then_some((from, to))
        }
        Kind::Base64 => {
            let bytes = text.as_bytes();
            let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
            let before = bytes[..from].iter().rev().take(1).take_while(|byte| is_letter(byte)).count();
            let after = bytes[to..].iter().take(1).take_while(|byte| is_letter(byte)).count();
            let padding = bytes[to + after..].iter().take(2).take_while(|byte| **byte == b'=').count();
            Some((from - before, to + after + padding))
        }
    }
}

fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut out: Vec<Span> = vec![];
    for (from, to) in spans {
        match out.last_mut() {
            Some(last) if from < last.1 => last.1 = last.1.max(to),
            Some(_) | None => out.push((from, to)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_overlap_are_one() {
        assert_eq!(merged(vec![(5, 9), (0, 3), (3, 4), (1, 2), (8, 12)]), [(0, 3), (3, 4), (5, 12)]);
    }

    /// A form that repeats itself, in a text that does so too: what is followed must not be followed again and again.
    #[test]
    fn repetition_costs_no_more_than_length() {
        let index = Index::of(["a1".repeat(2_000)].iter().map(String::as_str));
        let text = "a1".repeat(200_000);
        assert_eq!(index.find(&text), [(0, text.len())]);
    }
}
