//! Purpose: rules of the house that a compiler does not hold.
//!
//! Each rule is a function on the path and the text of a file that returns what is wrong; each has a test that it
//! bites on a bad sample, and one test that the house keeps it.

#![expect(clippy::unwrap_used, reason = "a test that cannot read the sources fails")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use planwright::domain::VERBS;

const PURE: [&str; 7] = ["domain", "plan", "actions", "crew", "planning", "prompts", "render"];
/// The crew decides over small inputs and knows no run: those who have one come to it.
const KNOWN_TO_CREW: [&str; 3] = ["domain", "plan", "actions"];
/// The files of the intake that only translate and compare bytes.
const PURE_INTAKE: [&str; 5] = ["translate.rs", "github.rs", "gitlab.rs", "gitlab_payload.rs", "verify.rs"];
const IO_CRATES: [&str; 11] = [
    "tokio",
    "tokio_util",
    "reqwest",
    "sqlx",
    "rusqlite",
    "octocrab",
    "gitlab",
    "axum",
    "rmcp",
    "rustix",
    "landlock",
];
const IO_STD: [&str; 5] = ["fs", "net", "env", "process", "thread"];

const TOP_LEVEL: [&str; 7] =
    ["Cargo.lock", "Cargo.toml", "README.md", "config.yaml.example", "deploy", "src", "tests"];
const PERMISSIVE: [&str; 8] =
    ["MIT", "Apache-2.0", "BSD-3-Clause", "ISC", "Zlib", "Unicode-3.0", "CDLA-Permissive-2.0", "MIT-0"];
/// Where files are opened. Everywhere else many threads share few workers, and none of them may wait for a disk; what
/// they need of one they ask of these.
const OPEN_FILES: [&str; 5] = ["src/cli/", "src/config/", "src/forge/local/", "src/store/", "src/tools/"];
/// Lines before the tests.
const LONGEST_FILE: usize = 500;

// ---------------------------------------------------------------------------------------------------- the rules

/// A room uses only the rooms it may know.
fn uses_allowed_rooms(path: &str, text: &str) -> Vec<String> {
    let Some(room) = room_of(path) else { return vec![] };
    let mut wrong = vec![];
    for used in internal_paths(path, &code(text)) {
        if !may_use(path, room, &used) {
            wrong.push(format!("{path}: `{room}` may not use `{}`", used.join("::")));
        }
    }
    wrong
}

fn may_use(path: &str, room: &str, used: &[String]) -> bool {
    let other = used[0].as_str();
    let is_pure = PURE.contains(&other);
    if other == room {
        return !is_pure_file(path) || PURE.contains(&room) || is_pure_intake(used);
    }
    match room {
        "crew" => KNOWN_TO_CREW.contains(&other),
        _ if is_pure_file(path) => is_pure,
        "forge" | "llm" | "store" | "tools" | "config" => is_pure,
        "intake" | "web" => is_pure || matches!(other, "store" | "config"),
        "telemetry" => is_pure || other == "config",
        "engine" => other != "cli" && other != "web" && (other != "intake" || is_pure_intake(used)),
        "cli" | "main" => true,
        unknown => panic!("tidy knows no rules for the room `{unknown}`"),
    }
}

fn is_pure_intake(used: &[String]) -> bool {
    used.get(1).is_some_and(|file| PURE_INTAKE.contains(&format!("{file}.rs").as_str()))
}

/// Pure files know no IO crate, no part of `std` that reaches outside, and no async.
fn pure_files_are_pure(path: &str, text: &str) -> Vec<String> {
    if !is_pure_file(path) {
        return vec![];
    }
    let code = code(text);
    let mut wrong = vec![];
    for name in IO_CRATES {
        // The intake has a module `gitlab` of its own; with that in scope the crate cannot be meant.
        let own_module = name == "gitlab" && path.starts_with("src/intake/");
        if !own_module && begins_a_path(&code, name) {
            wrong.push(format!("{path}: a pure file uses the crate `{name}`"));
        }
    }
    for used in paths_after(&code, "std::") {
        if IO_STD.contains(&used[0].as_str()) {
            wrong.push(format!("{path}: a pure file uses `std::{}`", used[0]));
        }
    }
    for word in ["async", "await"] {
        if has_word(&code, word) {
            wrong.push(format!("{path}: a pure file has `{word}` in it"));
        }
    }
    wrong
}

/// Files are opened where [`OPEN_FILES`] says, and the database in the store.
fn opens_only_its_own(path: &str, text: &str) -> Vec<String> {
    let code = code(text);
    let mut wrong = vec![];
    let may_open = OPEN_FILES.iter().any(|place| path.starts_with(place));
    if !may_open && paths_after(&code, "std::").iter().any(|used| used[0] == "fs") {
        wrong.push(format!("{path}: `std::fs` makes others wait here"));
    }
    let speaks = ["sqlx", "rusqlite"].iter().any(|library| begins_a_path(&code, library));
    if !path.starts_with("src/store/") && speaks {
        wrong.push(format!("{path}: only the store speaks to the database"));
    }
    wrong
}

/// Each name in these sections of a `Cargo.toml`.
fn dependencies(manifest: &str, section: &str) -> Vec<String> {
    let (_, rest) = manifest.split_once(&format!("\n[{section}]\n")).unwrap_or_default();
    let lines = rest.lines().take_while(|line| !line.starts_with('['));
    let names = lines.filter_map(|line| line.split_once('=')).map(|(name, _)| name.trim());
    names.filter(|name| !name.starts_with('#')).map(|name| name.replace('-', "_")).collect()
}

/// What is built for nothing costs everybody time, and its faults are ours.
fn dependencies_are_used(manifest: &str, section: &str, code: &str) -> Vec<String> {
    let names = dependencies(manifest, section);
    if names.is_empty() {
        return vec![format!("no [{section}] was found")];
    }
    let is_used = |name: &String| begins_a_path(code, name) || code.contains(&format!("use {name};"));
    let unused = names.into_iter().filter(|name| !is_used(name));
    unused.map(|name| format!("`{name}` of [{section}] is used nowhere")).collect()
}

/// Whoever ships the binary ships all of it: of each licence that a package comes under there is one here that asks for
/// no more than to be named.
fn licences_are_permissive(packages: &[(String, String)]) -> Vec<String> {
    let is_free =
        |part: &str| part.split(" OR ").any(|one| PERMISSIVE.contains(&one.trim_matches(['(', ')', ' '])));
    let is_fine = |licence: &str| licence.replace('/', " OR ").split(" AND ").all(is_free);
    let strict = packages.iter().filter(|(_, licence)| !is_fine(licence));
    strict.map(|(name, licence)| format!("`{name}` comes under `{licence}`")).collect()
}

/// Whoever builds it is told the version of Rust that the compiler is told, and gets it in the image.
fn minimum_rust_is_said(manifest: &str, readme: &str, image: &str) -> Vec<String> {
    let line = manifest.lines().find_map(|line| line.strip_prefix("rust-version = "));
    let Some(version) = line.map(|version| version.trim_matches('"')) else {
        return vec!["Cargo.toml has no `rust-version`".to_owned()];
    };
    let says = [
        ("README.md", readme, format!("[Rust](https://rustup.rs) {version} or later")),
        ("deploy/Dockerfile", image, format!("FROM rust:{version}-")),
    ];
    let silent = says.into_iter().filter(|(_, text, words)| !text.contains(words));
    silent.map(|(file, _, words)| format!("{file} does not say `{words}`")).collect()
}

fn is_short_enough(path: &str, text: &str) -> Vec<String> {
    let lines = before_tests(text).lines().count();
    if path.starts_with("src/") && lines > LONGEST_FILE {
        return vec![format!("{path}: {lines} lines without tests; {LONGEST_FILE} is the end")];
    }
    vec![]
}

/// `lib.rs` is the map of the whole and begins otherwise.
fn says_its_purpose(path: &str, text: &str) -> Vec<String> {
    let purpose = text.lines().next().and_then(|line| line.strip_prefix("//! Purpose: "));
    let is_said = purpose.is_some_and(|purpose| purpose.split_whitespace().count() > 2);
    if is_said || path == "src/lib.rs" {
        vec![]
    } else {
        vec![format!("{path}: the first line says no purpose")]
    }
}

fn is_finished(path: &str, text: &str) -> Vec<String> {
    let code = code(text);
    let unfinished = ["todo", "unimplemented"].into_iter().filter(|word| code.contains(&format!("{word}!")));
    unfinished.map(|word| format!("{path}: has `{word}!` in it")).collect()
}

/// Paths of the machine on which something was written mean nothing to anybody else.
fn names_no_machine(path: &str, text: &str) -> Vec<String> {
    // Put together here, so that this file does not break its own rule.
    let places =
        [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("../sha", "red"), concat!("/ho", "me/")];
    let found = places.into_iter().filter(|place| {
        text.match_indices(place)
            .any(|(at, _)| !text[..at].ends_with(|c: char| c.is_alphanumeric() || "._-}>".contains(c)))
    });
    found.map(|place| format!("{path}: names the path `{place}`")).collect()
}

fn migrations_have_sample_data(migrations: &[String], samples: &[(String, String)]) -> Vec<String> {
    if migrations.is_empty() {
        return vec!["no migration was found".to_owned()];
    }
    let has_sample = |name: &String| {
        let sample = samples.iter().find(|(sample, _)| sample == name);
        sample.is_some_and(|(_, text)| text.to_ascii_uppercase().contains("INSERT INTO"))
    };
    let without = migrations.iter().filter(|name| !has_sample(name));
    without
        .map(|name| format!("the migration {name} has no rows in tests/fixtures/migrations/{name}"))
        .collect()
}

fn top_level_is_as_agreed(visible: &BTreeSet<String>) -> Vec<String> {
    let agreed: BTreeSet<String> = TOP_LEVEL.map(str::to_owned).into();
    let surplus = visible.difference(&agreed).map(|name| format!("`{name}` does not belong at the top"));
    let missing = agreed.difference(visible).map(|name| format!("`{name}` is missing at the top"));
    surplus.chain(missing).collect()
}

/// Every verb is in the help.
fn help_lists_every_verb(render: &str, verbs: &[&str]) -> Vec<String> {
    let Some((_, help)) = render.split_once("const HELP") else {
        return vec!["there is no help text".to_owned()];
    };
    let help = help.split_once("];").map_or(help, |(table, _)| table);
    // A long row stands over several lines.
    let help: String = help.lines().map(str::trim).collect();
    let is_listed = |verb: &str| ["\"", " "].iter().any(|end| help.contains(&format!("(\"{verb}{end}")));
    let wrong = verbs.iter().filter(|verb| !is_listed(verb));
    wrong.map(|verb| format!("`{verb}` must be in the help")).collect()
}

// ---------------------------------------------------------------------------------------- the house keeps them

fn check(files: Vec<(String, String)>, rule: fn(&str, &str) -> Vec<String>) {
    assert!(files.len() > 5, "only {} files were found", files.len());
    let wrong: Vec<_> = files.iter().flat_map(|(path, text)| rule(path, text)).collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn rooms_use_only_what_they_may() {
    check(files_in(&["src"], &["rs"]), uses_allowed_rooms);
}

#[test]
fn pure_rooms_are_pure() {
    check(files_in(&["src"], &["rs"]), pure_files_are_pure);
}

#[test]
fn rooms_open_only_what_is_theirs() {
    check(files_in(&["src"], &["rs"]), opens_only_its_own);
}

#[test]
fn every_dependency_is_used() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let of = |places: &[&str]| -> String {
        files_in(places, &["rs"]).iter().map(|(_, text)| code(text) + "\n").collect()
    };
    assert_eq!(dependencies_are_used(&manifest, "dependencies", &of(&["src"])), Vec::<String>::new());
    assert_eq!(dependencies_are_used(&manifest, "dev-dependencies", &of(&["tests"])), Vec::<String>::new());
}

#[test]
fn every_licence_is_permissive() {
    let cargo = ["metadata", "--format-version=1", "--locked", "--offline", "--filter-platform=host-tuple"];
    let out = Command::new(env!("CARGO")).args(cargo).current_dir(root()).output().unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let text = |package: &serde_json::Value, key: &str| package[key].as_str().unwrap_or("nothing").to_owned();
    let packages = metadata["packages"].as_array().unwrap();
    let packages: Vec<_> = packages.iter().map(|p| (text(p, "name"), text(p, "license"))).collect();
    assert!(packages.len() > 100, "{}", packages.len());
    assert_eq!(licences_are_permissive(&packages), Vec::<String>::new());
}

#[test]
fn the_minimum_version_of_rust_is_the_same_everywhere() {
    let text = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let wrong = minimum_rust_is_said(&text("Cargo.toml"), &text("README.md"), &text("deploy/Dockerfile"));
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn no_file_is_too_long() {
    check(files_in(&["src"], &["rs"]), is_short_enough);
}

#[test]
fn every_file_says_its_purpose() {
    check(files_in(&["src", "tests"], &["rs"]), says_its_purpose);
}

#[test]
fn nothing_is_left_unfinished() {
    check(files_in(&["src", "tests"], &["rs"]), is_finished);
}

#[test]
fn no_file_names_a_machine() {
    let kinds =
        ["rs", "sql", "json", "snap", "md", "yaml", "example", "service", "toml", "Dockerfile", "run"];
    check(
        files_in(&["src", "tests", "deploy", ".ci", "README.md", "config.yaml.example"], &kinds),
        names_no_machine,
    );
}

#[test]
fn every_migration_has_sample_data() {
    let migrations = files_in(&["src/store/migrations"], &["sql"]);
    let samples = files_in(&["tests/fixtures/migrations"], &["sql"]);
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let names: Vec<_> = migrations.iter().map(|(path, _)| name(path)).collect();
    let samples: Vec<_> = samples.into_iter().map(|(path, text)| (name(&path), text)).collect();
    assert_eq!(migrations_have_sample_data(&names, &samples), Vec::<String>::new());
}

#[test]
fn the_top_level_is_as_agreed() {
    let ignored = fs::read_to_string(root().join(".gitignore")).unwrap_or_default();
    let ignored: Vec<_> = ignored.lines().map(|line| line.trim_matches('/')).collect();
    let names =
        fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let visible = names.filter(|name| !name.starts_with('.') && !ignored.contains(&name.as_str())).collect();
    assert_eq!(top_level_is_as_agreed(&visible), Vec::<String>::new());
}

#[test]
fn the_help_is_complete() {
    let render: String = files_in(&["src/render"], &["rs"]).into_iter().map(|(_, text)| text).collect();
    let verbs: Vec<_> = VERBS.iter().map(|verb| verb.name).collect();
    assert!(verbs.len() > 10);
    assert_eq!(help_lists_every_verb(&render, &verbs), Vec::<String>::new());
}

// ------------------------------------------------------------------------------------------------ the rules bite

fn bites(rule: fn(&str, &str) -> Vec<String>, path: &str, text: &str) {
    assert!(!rule(path, text).is_empty(), "{path} passes with {text:?}");
}

fn passes(rule: fn(&str, &str) -> Vec<String>, path: &str, text: &str) {
    assert_eq!(rule(path, text), Vec::<String>::new(), "{text:?}");
}

#[test]
fn uses_allowed_rooms_bites() {
    for (path, text) in [
        ("src/render/card.rs", "use crate::store::Store;"),
        ("src/render/card.rs", "use crate::{domain::Event, engine};"),
        ("src/render/card.rs", "use crate::{\n    plan::Step,\n    forge::{Forge, ForgeError},\n};"),
        ("src/render/card.rs", "fn f() -> crate::llm::Model { x }"),
        ("src/render/card.rs", "use super::super::config::Config;"),
        ("src/render/mod.rs", "use super::config::Config;"),
        ("src/planning/run.rs", "use crate::config::Config;"),
        ("src/crew/leader.rs", "use crate::planning::Run;"),
        ("src/crew/judge.rs", "use crate::{plan::ActionId, prompts};"),
        ("src/forge/github/client.rs", "use crate::store::Store;"),
        ("src/forge/mod.rs", "use crate::config::Config;"),
        ("src/store/inbox.rs", "use crate::{llm};"),
        ("src/llm/openai.rs", "use crate::engine::now;"),
        ("src/intake/http.rs", "use crate::engine::Ctx;"),
        ("src/intake/http.rs", "use crate::forge::Forge;"),
        ("src/intake/translate.rs", "use crate::store::Store;"),
        ("src/intake/translate.rs", "use crate::intake::http::router;"),
        ("src/web/mod.rs", "use crate::llm::Model;"),
        ("src/engine/drive.rs", "use crate::cli::serve;"),
        ("src/engine/drive.rs", "use crate::intake::http;"),
        ("src/engine/drive.rs", "use crate::intake::{translate::translate, http::router};"),
        ("src/config/mod.rs", "use crate::cli::Args;"),
    ] {
        bites(uses_allowed_rooms, path, text);
    }
    for (path, text) in [
        ("src/render/card.rs", "use crate::{domain::Event, plan::{Step, StepId}};"),
        ("src/render/card.rs", "// use crate::store\nlet x = \"crate::store::Store\";"),
        ("src/render/card.rs", "#[cfg(test)]\nmod tests {\n    use crate::store::Store;\n}"),
        ("src/config/load.rs", "use super::planning::Limits;"),
        ("src/crew/leader.rs", "use crate::{actions::RepoPath, domain::ForgeKind, plan::StepId};"),
        ("src/planning/run.rs", "use crate::crew::Target;"),
        ("src/forge/github/client.rs", "use crate::forge::http::Answer; use super::super::http;"),
        ("src/intake/http.rs", "use crate::store::Store; use crate::config::Config; use super::verify;"),
        ("src/engine/route.rs", "use crate::intake::translate::{Confidential, translate};"),
        ("src/cli/serve.rs", "use crate::engine::Engine; use crate::intake::router;"),
        ("src/main.rs", "fn main() { planwright::cli::main() }"),
    ] {
        passes(uses_allowed_rooms, path, text);
    }
}

#[test]
fn pure_files_are_pure_bites() {
    for text in [
        "use tokio::sync::mpsc;",
        "use ::reqwest::Client;",
        "fn f(_: sqlx::Error) {}",
        "use gitlab::Gitlab;",
        "use std::fs;",
        "use std::{collections::HashMap, net::IpAddr};",
        "let x = std::env::var(\"X\");",
        "async fn f() {}",
        "f().await",
    ] {
        bites(pure_files_are_pure, "src/domain/x.rs", text);
    }
    bites(pure_files_are_pure, "src/intake/verify.rs", "use axum::http;");
    passes(
        pure_files_are_pure,
        "src/domain/x.rs",
        "/// An async word, std::fs.\nlet tokio = \"tokio::x\"; my_tokio::x();",
    );
    passes(pure_files_are_pure, "src/intake/translate.rs", "use super::{github, gitlab}; gitlab::read();");
    passes(pure_files_are_pure, "src/forge/mod.rs", "use tokio::sync::mpsc; async fn f() {}");
}

#[test]
fn opens_only_its_own_bites() {
    for (path, text) in [
        ("src/engine/drive.rs", "let text = std::fs::read(path);"),
        ("src/engine/drive.rs", "use std::{fs::File, io};"),
        ("src/intake/http.rs", "use std::fs;"),
        ("src/forge/github/mod.rs", "std::fs::write(path, token)"),
        ("src/cli/demo.rs", "use sqlx::AnyPool;"),
        ("src/engine/drive.rs", "use rusqlite::Connection;"),
    ] {
        bites(opens_only_its_own, path, text);
    }
    for (path, text) in [
        ("src/store/open.rs", "use sqlx::AnyPool; use std::fs::File;"),
        ("src/forge/local/disk.rs", "use std::fs::File;"),
        ("src/engine/drive.rs", "// std::fs\nlet x = \"sqlx::Any\"; use std::fmt;"),
        ("src/engine/drive.rs", "#[cfg(test)]\nmod tests {\n    use std::fs;\n}"),
    ] {
        passes(opens_only_its_own, path, text);
    }
}

#[test]
fn dependencies_are_used_bites() {
    let manifest = "[package]\nname = \"x\"\n\n[dependencies]\nhex = \"1\"\n# why = so\ntokio-util = { version = \"1\" }\n\n[lints]\na = 1\n";
    let wrong = |code: &str| dependencies_are_used(manifest, "dependencies", code).len();
    assert_eq!(wrong("use hex::encode; fn f(_: tokio_util::Token) {}"), 0);
    assert_eq!(wrong("use hex;"), 1);
    assert_eq!(wrong("my_hex::encode(tokio_util)"), 2, "parts of other names, and a name alone");
    assert_eq!(dependencies_are_used(manifest, "dev-dependencies", "hex::x").len(), 1, "no such section");
}

#[test]
fn licences_are_permissive_bites() {
    let wrong = |licence: &str| licences_are_permissive(&[("x".to_owned(), licence.to_owned())]).len();
    for free in ["MIT", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(MIT OR Apache-2.0) AND Unicode-3.0"] {
        assert_eq!(wrong(free), 0, "{free}");
    }
    for strict in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR ISC) AND (GPL-2.0 OR GPL-3.0)", "nothing", ""] {
        assert_eq!(wrong(strict), 1, "{strict}");
    }
}

#[test]
fn minimum_rust_is_said_bites() {
    let (readme, image) = ("You need [Rust](https://rustup.rs) 1.94 or later.", "FROM rust:1.94-bookworm");
    let wrong = |version: &str| minimum_rust_is_said(version, readme, image).len();
    assert_eq!(wrong("rust-version = \"1.94\""), 0);
    assert_eq!(wrong("rust-version = \"1.95\""), 2);
    assert_eq!(wrong("edition = \"2024\""), 1);
}

#[test]
fn is_short_enough_bites() {
    bites(is_short_enough, "src/domain/x.rs", &"x\n".repeat(501));
    passes(
        is_short_enough,
        "src/domain/x.rs",
        &format!("{}#[cfg(test)]\nmod tests {{\n{}", "x\n".repeat(500), "y\n".repeat(900)),
    );
}

#[test]
fn says_its_purpose_bites() {
    for text in ["", "use std::fmt;", "//! Purpose: …", "//! Purpose:", "\n//! Purpose: too late by a line."]
    {
        bites(says_its_purpose, "src/domain/x.rs", text);
    }
    passes(says_its_purpose, "src/domain/x.rs", "//! Purpose: shows how it is done.");
    passes(says_its_purpose, "src/lib.rs", "//! The map.");
}

#[test]
fn is_finished_bites() {
    bites(is_finished, "src/domain/x.rs", &format!("fn f() {{ {}!() }}", "todo"));
    bites(is_finished, "src/domain/x.rs", &format!("fn f() {{ {}!(\"later\") }}", "unimplemented"));
    passes(is_finished, "src/domain/x.rs", "let x = \"todo!\"; // todo!");
}

#[test]
fn names_no_machine_bites() {
    let place = concat!("/wo", "rk/");
    bites(names_no_machine, "README.md", &format!("see {place}notes"));
    bites(names_no_machine, "src/x.rs", &format!("let p = \"{place}notes\";"));
    passes(
        names_no_machine,
        "src/x.rs",
        &format!("let p = format!(\"{{data}}{place}notes\"); // data{place}x"),
    );
}

#[test]
fn migrations_have_sample_data_bites() {
    let name = |text: &str| text.to_owned();
    let row = (name("0001_init.sql"), name("insert into threads values (1);"));
    assert_eq!(migrations_have_sample_data(&[], std::slice::from_ref(&row)).len(), 1);
    assert_eq!(migrations_have_sample_data(&[name("0001_init.sql")], &[]).len(), 1);
    assert_eq!(
        migrations_have_sample_data(&[name("0001_init.sql")], &[(name("0001_init.sql"), name("-- later"))])
            .len(),
        1
    );
    assert_eq!(migrations_have_sample_data(&[name("0002_more.sql")], std::slice::from_ref(&row)).len(), 1);
    assert_eq!(migrations_have_sample_data(&[name("0001_init.sql")], &[row]), Vec::<String>::new());
}

#[test]
fn top_level_is_as_agreed_bites() {
    let mut visible: BTreeSet<String> = TOP_LEVEL.map(str::to_owned).into();
    assert_eq!(top_level_is_as_agreed(&visible), Vec::<String>::new());
    visible.insert("justfile".to_owned());
    visible.remove("README.md");
    assert_eq!(top_level_is_as_agreed(&visible).len(), 2);
}

#[test]
fn help_lists_every_verb_bites() {
    let render = "const HELP: &[(&str, &str)] = &[(\"plan\", \"x\"), (\"help me\", \"y\")];\nvoice.command(\"pause\");";
    let wrong = |verbs: &[&str]| help_lists_every_verb(render, verbs).len();
    assert_eq!(wrong(&["plan", "help"]), 0);
    assert_eq!(wrong(&["pause"]), 1, "named elsewhere, but not in the help");
    assert_eq!(help_lists_every_verb("const HELP = [(\n  \"plan\", 1)];", &["plan"]).len(), 0);
    assert_eq!(help_lists_every_verb("", &["plan"]).len(), 1);
}

// ----------------------------------------------------------------------------------------------- reading sources

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Paths from the root, with `/` between the parts, and texts, of all files of these kinds.
fn files_in(places: &[&str], kinds: &[&str]) -> Vec<(String, String)> {
    let mut files = vec![];
    for place in places {
        collect(&root().join(place), kinds, &mut files);
    }
    files.sort();
    files
}

fn collect(at: &Path, kinds: &[&str], files: &mut Vec<(String, String)>) {
    if at.is_dir() {
        for entry in fs::read_dir(at).unwrap() {
            collect(&entry.unwrap().path(), kinds, files);
        }
    } else if at.is_file() && kinds.contains(&kind(at).as_str()) {
        let path = at.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
        files.push((path, fs::read_to_string(at).unwrap()));
    }
}

/// The extension, or the name of a file that has none.
fn kind(file: &Path) -> String {
    file.extension().or(file.file_name()).unwrap_or_default().to_string_lossy().into_owned()
}

/// `src/<room>/…` or `src/<room>.rs`; the library's root has no room.
fn room_of(path: &str) -> Option<&str> {
    let room = path.strip_prefix("src/")?.split('/').next()?;
    let room = room.strip_suffix(".rs").unwrap_or(room);
    (room != "lib").then_some(room)
}

fn is_pure_file(path: &str) -> bool {
    let in_pure_room = room_of(path).is_some_and(|room| PURE.contains(&room));
    let in_intake = path.strip_prefix("src/intake/").is_some_and(|file| PURE_INTAKE.contains(&file));
    in_pure_room || in_intake
}

fn before_tests(text: &str) -> &str {
    text.split_once("#[cfg(test)]\nmod tests {").map_or(text, |(before, _)| before)
}

/// The code without tests, comments and the contents of strings.
fn code(text: &str) -> String {
    let mut rest = before_tests(text);
    let mut code = String::with_capacity(rest.len());
    while let Some(at) = rest.find(['/', '"', '\'', 'r']) {
        code.push_str(&rest[..at]);
        rest = &rest[at..];
        let (kept, skipped) = next_token(rest, code.ends_with(|c: char| c.is_alphanumeric() || c == '_'));
        code.push_str(&rest[..kept]);
        rest = &rest[skipped..];
    }
    code + rest
}

/// How many bytes to keep and how many to go on, at a character that may begin a comment or a literal.
fn next_token(rest: &str, in_a_word: bool) -> (usize, usize) {
    let until =
        |end: &str, from: usize| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
    if rest.starts_with("//") {
        return (0, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (0, until("*/", 2));
    }
    let hashes = rest[1..].len() - rest[1..].trim_start_matches('#').len();
    if !in_a_word && rest.starts_with('r') && rest[1 + hashes..].starts_with('"') {
        return (0, until(&format!("\"{}", "#".repeat(hashes)), hashes + 2));
    }
    if rest.starts_with('"') {
        return (0, end_of_string(rest));
    }
    let is_char =
        rest.starts_with('\'') && (rest[1..].starts_with('\\') || rest.chars().nth(2) == Some('\''));
    if is_char {
        let escaped = if rest[1..].starts_with('\\') { 3 } else { 1 };
        return (0, until("'", escaped));
    }
    (1, 1)
}

fn end_of_string(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// All paths from the crate's root: `crate::…`, `planwright::…` in the binary, and enough `super::`s.
fn internal_paths(path: &str, code: &str) -> Vec<Vec<String>> {
    let levels = path.matches('/').count() - usize::from(path.ends_with("/mod.rs"));
    let supers = "super::".repeat(levels);
    let mut paths = paths_after(code, "crate::");
    if path == "src/main.rs" {
        paths.extend(paths_after(code, "planwright::"));
    }
    if levels > 0 {
        paths.extend(paths_after(code, &supers));
    }
    paths
}

/// What follows each `prefix` that begins a path, with `{…}` unfolded.
fn paths_after(code: &str, prefix: &str) -> Vec<Vec<String>> {
    let begins = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
    let starts = code.match_indices(prefix).filter(|(at, _)| begins(*at));
    starts.flat_map(|(at, _)| use_tree(&code[at + prefix.len()..]).0).collect()
}

/// The paths of one use tree, and what stands behind it.
fn use_tree(text: &str) -> (Vec<Vec<String>>, &str) {
    let text = text.trim_start();
    if let Some(group) = text.strip_prefix('{') {
        return use_group(group);
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let (tails, rest) = match rest.strip_prefix("::") {
        Some(tail) => use_tree(tail),
        None => (vec![vec![]], rest),
    };
    let name = name.to_owned();
    (tails.into_iter().map(|tail| [vec![name.clone()], tail].concat()).collect(), rest)
}

fn use_group(mut rest: &str) -> (Vec<Vec<String>>, &str) {
    let mut paths = vec![];
    loop {
        let (more, after) = use_tree(rest);
        paths.extend(more.into_iter().filter(|path| path.first().is_some_and(|name| !name.is_empty())));
        // Also past ` as name`, `*` and whatever else stands between two members.
        let Some(at) = after.find([',', '}']) else { return (paths, "") };
        let closes = after[at..].starts_with('}');
        rest = &after[at + 1..];
        if closes {
            return (paths, rest);
        }
    }
}

fn begins_a_path(code: &str, name: &str) -> bool {
    code.match_indices(&format!("{name}::")).any(|(at, _)| {
        let before = &code[..at];
        let rooted = before
            .strip_suffix("::")
            .is_some_and(|b| !b.ends_with(|c: char| c.is_alphanumeric() || c == '_'));
        rooted || !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
    })
}

fn has_word(code: &str, word: &str) -> bool {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word)
}

#[test]
fn code_leaves_out_comments_and_literals() {
    for (text, expected) in [
        ("a // b\nc", "a \nc"),
        ("a /* b\n */ c", "a  c"),
        ("f(\"x \\\" y\", 1)", "f(, 1)"),
        ("f(r#\"x \" y\"#, 1)", "f(, 1)"),
        ("f('\"', '\\'', 'b')", "f(, , )"),
        ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
        ("for x in y / z {}", "for x in y / z {}"),
    ] {
        assert_eq!(code(text), expected, "{text}");
    }
}
