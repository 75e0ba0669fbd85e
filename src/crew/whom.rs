//! Purpose: who exactly is mentioned when people are asked.

use super::escalation::Cause;

/// More mentions make nobody feel meant.
pub const MOST_MENTIONED: usize = 3;

/// Those who may be asked, by login, with or without the `@`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct People {
    pub requester: String,
    /// Owners of the paths concerned, and only those with access to the repository.
    pub owners: Vec<String>,
    pub operators: Vec<String>,
}

/// The names to mention, without the `@`; none at all when nobody is known.
#[must_use]
pub fn whom(cause: Cause, people: &People) -> Vec<String> {
    let requester = std::slice::from_ref(&people.requester);
    let groups: [&[String]; 3] = match cause {
        // What is wanted is known to whoever asked for it; where that is nobody, somebody has to hear of it still.
        Cause::Scope
        | Cause::Ambiguity
        | Cause::Contradiction
        | Cause::ThreeFailures
        | Cause::ThreeStepsInARow => [requester, &people.operators, &people.owners],
        // What nobody owns is infrastructure.
        Cause::Technical | Cause::Dependency => [&people.owners, &people.operators, requester],
    };
    groups.into_iter().map(distinct).find(|names| !names.is_empty()).unwrap_or_default()
}

fn distinct(logins: &[String]) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    for login in logins {
        let login = login.trim();
        let login = login.strip_prefix('@').unwrap_or(login);
        if is_name(login) && !names.iter().any(|name| name.eq_ignore_ascii_case(login)) {
            names.push(login.to_owned());
        }
        if names.len() == MOST_MENTIONED {
            break;
        }
    }
    names
}

/// A login, or a team as `group/team`: what stands behind an `@` in a comment and can be nothing but a mention.
pub(super) fn is_name(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    };
    name.len() <= 255 && name.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn people(requester: &str, owners: &[&str], operators: &[&str]) -> People {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        People { requester: requester.to_owned(), owners: list(owners), operators: list(operators) }
    }

    #[test]
    fn everything_goes_to_the_right_person() {
        let all = people("rita", &["owen"], &["olga"]);
        let unowned = people("rita", &[], &["olga"]);
        let alone = people("rita", &[], &[]);
        for (cause, expected) in [
            (Cause::Scope, ["rita", "rita", "rita"]),
            (Cause::Ambiguity, ["rita", "rita", "rita"]),
            (Cause::Contradiction, ["rita", "rita", "rita"]),
            (Cause::ThreeFailures, ["rita", "rita", "rita"]),
            (Cause::ThreeStepsInARow, ["rita", "rita", "rita"]),
            (Cause::Technical, ["owen", "olga", "rita"]),
            (Cause::Dependency, ["owen", "olga", "rita"]),
        ] {
            let found = [&all, &unowned, &alone].map(|people| whom(cause, people));
            assert_eq!(found, expected.map(|name| vec![name.to_owned()]), "{cause:?}");
        }
    }

    #[test]
    fn a_few_are_mentioned_each_once() {
        for (owners, expected) in [
            (&["Ann", "ann", "@ANN", "bob"][..], &["Ann", "bob"][..]),
            (&["a", "b", "c", "d"], &["a", "b", "c"]),
            (&["acme/core", " eve "], &["acme/core", "eve"]),
            (&["a b", "a\n@b", "x) [y", "", "@", "@@dev", "a//b", "ünal"], &["rita"]),
        ] {
            assert_eq!(whom(Cause::Technical, &people("rita", owners, &[])), expected, "{owners:?}");
        }
    }

    #[test]
    fn without_a_requester_somebody_else_hears_of_it() {
        assert_eq!(whom(Cause::Scope, &people("", &["owen"], &["olga"])), ["olga"]);
        assert_eq!(whom(Cause::Scope, &people(" ", &["owen"], &[])), ["owen"]);
        assert_eq!(whom(Cause::Scope, &people("", &[], &[])), Vec::<String>::new());
    }
}
