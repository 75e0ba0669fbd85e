//! Purpose: tables of what is genuine and what is not.

use http::{HeaderName, HeaderValue};
use proptest::prelude::*;

use super::*;

fn secret(text: &str) -> SecretString {
    SecretString::from(text.to_owned())
}

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in pairs {
        let name: HeaderName = name.parse().unwrap();
        map.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    map
}

/// The vector that GitHub publishes.
const GITHUB_SECRET: &str = "It's a Secret to Everybody";
const GITHUB_BODY: &[u8] = b"Hello, World!";
const GITHUB_SIGNATURE: &str = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

#[test]
fn githubs_published_vector_is_genuine() {
    let signed = headers(&[("X-Hub-Signature-256", GITHUB_SIGNATURE)]);
    assert_eq!(github(&signed, GITHUB_BODY, &secret(GITHUB_SECRET)), Proof::Genuine);
    assert_eq!(github(&signed, b"Hello, World?", &secret(GITHUB_SECRET)), Proof::Refused);
    assert_eq!(github(&signed, GITHUB_BODY, &secret("it's a Secret to Everybody")), Proof::Refused);
}

#[test]
fn github_headers_that_are_not_exactly_right_are_refused() {
    let name = "x-hub-signature-256";
    let upper = GITHUB_SIGNATURE.to_uppercase();
    let upper_hex = format!("sha256={}", GITHUB_SIGNATURE[7..].to_uppercase());
    let longer = format!("{GITHUB_SIGNATURE}00");
    let spaced = format!("{GITHUB_SIGNATURE} ");
    let twice = format!("{GITHUB_SIGNATURE}, {GITHUB_SIGNATURE}");
    let rows: [&[(&str, &str)]; 14] = [
        &[],
        &[("x-hub-signature", GITHUB_SIGNATURE)],
        &[(name, "")],
        &[(name, "sha256=")],
        &[(name, "sha256")],
        &[(name, &GITHUB_SIGNATURE[7..])],
        &[(name, &GITHUB_SIGNATURE[..70])],
        &[(name, &longer)],
        &[(name, &spaced)],
        &[(name, &upper)],
        &[(name, &upper_hex)],
        &[(name, &twice)],
        &[(name, GITHUB_SIGNATURE), (name, GITHUB_SIGNATURE)],
        &[(name, "sha1=757107ea0eb2509fc211221cce984b8a37570b6d")],
    ];
    for row in rows {
        assert_eq!(github(&headers(row), GITHUB_BODY, &secret(GITHUB_SECRET)), Proof::Refused, "{row:?}");
    }
    assert_eq!(github(&headers(&[(name, "sha256=ü")]), GITHUB_BODY, &secret(GITHUB_SECRET)), Proof::Refused);
}

#[test]
fn an_empty_secret_proves_nothing() {
    let mac = Hmac::<Sha256>::new_from_slice(b"").unwrap().chain_update(b"x").finalize().into_bytes();
    let signed = headers(&[("x-hub-signature-256", &format!("sha256={}", hex::encode(mac)))]);
    assert_eq!(github(&signed, b"x", &secret("")), Proof::Refused);
    let sent = headers(&[("x-gitlab-token", "")]);
    let keys = GitlabKeys { token: Some(&secret("")), signing: None };
    assert_eq!(gitlab(&sent, b"x", keys, NOW), Proof::Refused);
}

#[test]
fn every_flipped_bit_of_a_signature_is_refused() {
    for at in 0..GITHUB_SIGNATURE.len() {
        for bit in 0..7 {
            let mut bytes = GITHUB_SIGNATURE.as_bytes().to_vec();
            bytes[at] ^= 1 << bit;
            let Ok(value) = HeaderValue::from_bytes(&bytes) else { continue };
            let mut map = HeaderMap::new();
            map.insert("x-hub-signature-256", value);
            assert_eq!(
                github(&map, GITHUB_BODY, &secret(GITHUB_SECRET)),
                Proof::Refused,
                "bit {bit} of {at}"
            );
        }
    }
}

const NOW: Millis = Millis(1_700_000_000_500);
const BODY: &[u8] = br#"{"object_kind":"issue"}"#;
/// 32 bytes `k`, and another key for the time of a change.
const KEY: &str = "whsec_a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=";
const OLD_KEY: &str = "whsec_b29vb29vb29vb29vb29vb29vb29vb29vb29vb29vb28=";

fn sign(key: &str, id: &str, timestamp: &str) -> String {
    let key = signing_key(&secret(key)).unwrap();
    let mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    let mac = mac.chain_update(format!("{id}.{timestamp}.")).chain_update(BODY);
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

fn judge_gitlab(pairs: &[(&str, &str)], token: Option<&str>, signing: Option<&str>) -> Proof {
    let (token, signing) = (token.map(secret), signing.map(secret));
    gitlab(&headers(pairs), BODY, GitlabKeys { token: token.as_ref(), signing: signing.as_ref() }, NOW)
}

#[test]
fn gitlab_tokens_are_compared_as_a_whole() {
    for (sent, proof) in [
        ("open sesame", Proof::Genuine),
        ("open sesam", Proof::Refused),
        ("open sesame ", Proof::Refused),
        ("Open sesame", Proof::Refused),
        ("", Proof::Refused),
    ] {
        assert_eq!(judge_gitlab(&[("X-Gitlab-Token", sent)], Some("open sesame"), None), proof, "{sent}");
    }
    let twice = [("x-gitlab-token", "t"), ("x-gitlab-token", "t")];
    assert_eq!(judge_gitlab(&twice, Some("t"), None), Proof::Refused);
    assert_eq!(judge_gitlab(&[], Some("t"), None), Proof::Refused);
    assert_eq!(judge_gitlab(&[("x-gitlab-token", "t")], None, Some(KEY)), Proof::Refused);
}

/// A signature made outside this program: `openssl dgst -sha256 -mac HMAC` with the key above.
#[test]
fn a_signature_by_another_program_is_genuine() {
    let signature = "v1,NvO/4CJwB+deYk4ys/ehfdfG7cQKDeCwgvgo4fzOnXY=";
    let signed =
        [("webhook-id", "msg_1"), ("webhook-timestamp", "1700000000"), ("webhook-signature", signature)];
    assert_eq!(judge_gitlab(&signed, None, Some(KEY)), Proof::Genuine);
}

#[test]
fn signed_gitlab_hooks_are_judged_by_their_signature() {
    let good = sign(KEY, "id-1", "1700000000");
    let old = sign(OLD_KEY, "id-1", "1700000000");
    let both = format!("{old} {good}");
    let odd = format!("v1a,xx v2,{} v1,%%% {good}", &good[3..]);
    let no_version = &good[3..];
    for (signature, proof) in [
        (good.as_str(), Proof::Genuine),
        (both.as_str(), Proof::Genuine),
        (odd.as_str(), Proof::Genuine),
        (old.as_str(), Proof::Refused),
        (no_version, Proof::Refused),
        ("v1,", Proof::Refused),
        ("", Proof::Refused),
    ] {
        let pairs =
            [("webhook-id", "id-1"), ("webhook-timestamp", "1700000000"), ("webhook-signature", signature)];
        assert_eq!(judge_gitlab(&pairs, None, Some(KEY)), proof, "{signature}");
    }
}

#[test]
fn a_signed_hook_never_falls_back_to_the_token() {
    let bad = [
        ("x-gitlab-token", "t"),
        ("webhook-id", "id-1"),
        ("webhook-timestamp", "1700000000"),
        ("webhook-signature", "v1,AAAA"),
    ];
    assert_eq!(judge_gitlab(&bad, Some("t"), Some(KEY)), Proof::Refused);
    assert_eq!(judge_gitlab(&bad, Some("t"), None), Proof::Refused);
    assert_eq!(judge_gitlab(&bad[..1], Some("t"), Some(KEY)), Proof::Genuine, "unsigned, while both are set");
}

#[test]
fn signed_hooks_with_a_missing_doubled_or_changed_part_are_refused() {
    let signature = sign(KEY, "id-1", "1700000000");
    let parts =
        [("webhook-id", "id-1"), ("webhook-timestamp", "1700000000"), ("webhook-signature", &*signature)];
    assert_eq!(judge_gitlab(&parts, None, Some(KEY)), Proof::Genuine);
    for at in 0..parts.len() {
        let mut missing = parts.to_vec();
        missing.remove(at);
        assert_eq!(judge_gitlab(&missing, None, Some(KEY)), Proof::Refused, "without {}", parts[at].0);
        let mut doubled = parts.to_vec();
        doubled.push(parts[at]);
        assert_eq!(judge_gitlab(&doubled, None, Some(KEY)), Proof::Refused, "{} twice", parts[at].0);
    }
    for changed in [("webhook-id", "id-2"), ("webhook-timestamp", "1700000001")] {
        let mut pairs = parts.to_vec();
        pairs.retain(|(name, _)| *name != changed.0);
        pairs.push(changed);
        assert_eq!(judge_gitlab(&pairs, None, Some(KEY)), Proof::Refused, "{changed:?}");
    }
}

#[test]
fn signed_hooks_must_be_fresh() {
    for (timestamp, proof) in [
        ("1699999700", Proof::Genuine),
        ("1699999699", Proof::Refused),
        ("1700000300", Proof::Genuine),
        ("1700000301", Proof::Refused),
        ("-1700000000", Proof::Refused),
        ("+1700000000", Proof::Refused),
        ("1700000000.0", Proof::Refused),
        ("99999999999999999999", Proof::Refused),
        ("", Proof::Refused),
    ] {
        let signature = sign(KEY, "id-1", timestamp);
        let pairs =
            [("webhook-id", "id-1"), ("webhook-timestamp", timestamp), ("webhook-signature", &*signature)];
        assert_eq!(judge_gitlab(&pairs, None, Some(KEY)), proof, "{timestamp}");
    }
}

#[test]
fn signing_tokens_are_recognised() {
    for (key, is) in [(KEY, true), ("whsec_", false), ("whsec_%", false), ("plain", false)] {
        assert_eq!(is_signing_token(&secret(key)), is, "{key}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

    /// Whoever does not know the secret gets in with nothing, and nothing makes the check panic.
    #[test]
    fn guesses_are_refused(
        names in proptest::collection::vec(0_usize..6, 0..6),
        values in proptest::collection::vec(
            prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..90),
                "sha256=[0-9a-f]{60,66}".prop_map(String::into_bytes),
                "v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)?".prop_map(String::into_bytes),
                "17000000[0-9]{2}".prop_map(String::into_bytes),
            ],
            6,
        ),
        body in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        const NAMES: [&str; 6] = [
            "x-hub-signature-256", "x-gitlab-token", "webhook-id", "webhook-timestamp", "webhook-signature", "other",
        ];
        let mut map = HeaderMap::new();
        for (name, value) in names.iter().zip(&values) {
            if let Ok(value) = HeaderValue::from_bytes(value) {
                map.append(NAMES[*name], value);
            }
        }
        prop_assert_eq!(github(&map, &body, &secret("unguessable")), Proof::Refused);
        let (token, signing) = (secret("unguessable"), secret(KEY));
        let keys = GitlabKeys { token: Some(&token), signing: Some(&signing) };
        prop_assert_eq!(gitlab(&map, &body, keys, NOW), Proof::Refused);
    }
}
