//! Purpose: every key of the file as a dotted path, taken from the schema.

use std::collections::BTreeSet;

use serde_json::Value;

/// Paths like `planning.replanning.global.max_total_replans`. `*` stands for a name that people choose, and a list's
/// items have their list's path.
#[must_use]
pub fn all() -> BTreeSet<String> {
    let schema = Value::from(super::schema());
    let mut found = BTreeSet::new();
    walk(&schema, &schema, "", &mut found);
    // What a rule may change is named without the rule.
    found.retain(|path| path == "repos" || path == "repos.match" || !path.starts_with("repos."));
    found
}

fn walk(root: &Value, schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    if let Some(target) = schema["$ref"].as_str().and_then(|r| root.pointer(r.trim_start_matches('#'))) {
        walk(root, target, path, found);
    }
    for branch in schema["anyOf"].as_array().into_iter().flatten() {
        walk(root, branch, path, found);
    }
    for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        found.insert(path.clone());
        walk(root, inner, &path, found);
    }
    if schema["additionalProperties"].is_object() {
        walk(root, &schema["additionalProperties"], &format!("{path}.*"), found);
    }
    if schema["items"].is_object() {
        walk(root, &schema["items"], path, found);
    }
}
