//! Purpose: one tool as its server describes it, made fit for a prompt, with a hash of all that was said about it.
//!
//! What a server writes about its tools goes into the prompt, so it is the first place where it could give orders
//! to a model. Nothing invisible gets through, everything is short, and the hash is over the words as they came:
//! whoever approves a tool approves these words.

use rmcp::model::Tool;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::actions::DestructiveHint;
use crate::prompts::{is_invisible, plain_text};

const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 2_000;
/// As JSON. A longer schema costs more than its tool is worth.
const LARGEST_SCHEMA: usize = 16 << 10;

#[derive(Debug, Clone, PartialEq)]
pub struct ToolInfo {
    /// The server's name, `/`, and the tool's.
    pub name: String,
    /// Plain text, shortened where it is long. The server's words: not to be trusted.
    pub description: String,
    /// Of the arguments, as JSON Schema.
    pub schema: Value,
    /// SHA-256 in hex over name, description, schema and annotations as they came.
    pub hash: String,
    /// What the server says about its own tool; nobody has checked it. That a tool only looks is not asked for: nothing
    /// could rest on it.
    pub destructive: DestructiveHint,
}

impl ToolInfo {
    /// # Errors
    /// What is wrong with the tool, so that it cannot be offered.
    pub(super) fn read(server: &str, tool: &Tool) -> Result<Self, String> {
        let schema = Value::Object(tool.input_schema.as_ref().clone());
        let length = schema.to_string().len();
        if length > LARGEST_SCHEMA {
            return Err(format!("its schema has {length} bytes, {LARGEST_SCHEMA} is the most"));
        }
        let destructive = match tool.annotations.as_ref().and_then(|hints| hints.destructive_hint) {
            Some(true) => DestructiveHint::Yes,
            Some(false) => DestructiveHint::No,
            None => DestructiveHint::Missing,
        };
        Ok(Self {
            name: format!("{server}/{}", tool.name),
            description: shortened(&plain_text(tool.description.as_deref().unwrap_or_default()).text),
            schema: visible(without_dialect(schema))?,
            hash: hash(tool),
            destructive,
        })
    }
}

/// Other names could hide in a comment, be mistaken for another's, or be refused by a model's API.
pub(super) fn is_plain_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

pub(super) fn hash(tool: &Tool) -> String {
    let mut said = Map::new();
    said.insert("name".to_owned(), tool.name.as_ref().into());
    said.insert("description".to_owned(), tool.description.as_deref().into());
    said.insert("schema".to_owned(), Value::Object(tool.input_schema.as_ref().clone()));
    said.insert("annotations".to_owned(), serde_json::to_value(&tool.annotations).unwrap_or_default());
    let mut canonical = String::new();
    write_canonical(&Value::Object(said), &mut canonical);
    hex::encode(Sha256::digest(canonical))
}

/// JSON without spaces and with sorted keys, whatever order the map keeps.
fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string());
        }
    }
}

/// The dialect says nothing to a model, and some of their servers stumble over it.
fn without_dialect(mut schema: Value) -> Value {
    if let Some(map) = schema.as_object_mut() {
        map.remove("$schema");
    }
    schema
}

/// The texts lose what nobody sees. A key must be as it is, since arguments are named by it.
fn visible(value: Value) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => plain_text(&text).text.into(),
        Value::Array(items) => items.into_iter().map(visible).collect::<Result<Vec<_>, _>>()?.into(),
        Value::Object(map) => {
            if map.keys().any(|key| key.chars().any(|c| is_invisible(c) || c == '\n')) {
                return Err("its schema has a key with characters that nobody can see".to_owned());
            }
            let entries = map.into_iter().map(|(key, value)| Ok((key, visible(value)?)));
            Value::Object(entries.collect::<Result<Map<_, _>, String>>()?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    })
}

fn shortened(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(LONGEST_DESCRIPTION) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(json: Value) -> Tool {
        serde_json::from_value(json).unwrap()
    }

    fn plain() -> Value {
        json!({
            "name": "echo",
            "description": "Says it again",
            "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
            "annotations": {"readOnlyHint": true},
        })
    }

    #[test]
    fn a_tool_is_read_whole() {
        let mut said = plain();
        said["inputSchema"]["$schema"] = json!("http://json-schema.org/draft-07/schema#");
        let info = ToolInfo::read("srv", &tool(said)).unwrap();
        assert_eq!(
            info,
            ToolInfo {
                name: "srv/echo".to_owned(),
                description: "Says it again".to_owned(),
                schema: json!({"type": "object", "properties": {"text": {"type": "string"}}}),
                hash: info.hash.clone(),
                destructive: DestructiveHint::Missing,
            }
        );
    }

    #[test]
    fn that_a_tool_calls_itself_read_only_changes_nothing() {
        for (annotations, destructive) in [
            (json!(null), DestructiveHint::Missing),
            (json!({}), DestructiveHint::Missing),
            (json!({"readOnlyHint": true}), DestructiveHint::Missing),
            (json!({"readOnlyHint": true, "destructiveHint": true}), DestructiveHint::Yes),
            (json!({"destructiveHint": false}), DestructiveHint::No),
            (json!({"readOnlyHint": true, "destructiveHint": false}), DestructiveHint::No),
        ] {
            let mut said = plain();
            said["annotations"] = annotations.clone();
            let info = ToolInfo::read("srv", &tool(said)).unwrap();
            assert_eq!(info.destructive, destructive, "{annotations}");
        }
    }

    #[test]
    fn the_hash_is_the_same_for_the_same_words_only() {
        let known = hash(&tool(plain()));
        assert_eq!(known, "fe063c5ebbaa8b7eb3601c0e97942d0f65659fe38bd9c279b96b52fcdd62cf3f");
        let reordered = r#"{"annotations":{"readOnlyHint":true},"inputSchema":{"properties":{"text":{"type":"string"}},
            "type":"object"},"description":"Says it again","name":"echo"}"#;
        assert_eq!(hash(&serde_json::from_str(reordered).unwrap()), known);
        for (pointer, other) in [
            ("/name", json!("echo2")),
            ("/description", json!("Says it again\u{200b}")),
            ("/description", json!(null)),
            ("/inputSchema/type", json!("array")),
            ("/inputSchema/properties/text/type", json!("number")),
            ("/inputSchema/properties", json!({"text": {"type": "string"}, "more": {}})),
            ("/annotations/readOnlyHint", json!(false)),
            ("/annotations", json!(null)),
        ] {
            let mut said = plain();
            *said.pointer_mut(pointer).unwrap() = other;
            assert_ne!(hash(&tool(said)), known, "{pointer}");
        }
    }

    #[test]
    fn nothing_invisible_reaches_a_prompt() {
        let mut said = plain();
        said["description"] = json!("\u{1b}[31mred\u{1b}[0m \u{e0041}text\u{200b}");
        said["inputSchema"]["properties"]["text"]["description"] = json!("a\u{202e}b");
        let info = ToolInfo::read("srv", &tool(said.clone())).unwrap();
        assert_eq!(info.description, "red text");
        assert_eq!(info.schema["properties"]["text"]["description"], json!("ab"));
        said["inputSchema"]["properties"] = json!({"te\u{200b}xt": {}});
        assert!(ToolInfo::read("srv", &tool(said)).unwrap_err().contains("nobody can see"));
    }

    #[test]
    fn long_words_are_cut_and_long_schemas_refused() {
        let mut said = plain();
        said["description"] = json!("ä".repeat(5_000));
        let info = ToolInfo::read("srv", &tool(said.clone())).unwrap();
        assert_eq!(info.description.chars().count(), LONGEST_DESCRIPTION + 1);
        said["inputSchema"]["x"] = json!("x".repeat(LARGEST_SCHEMA));
        assert!(ToolInfo::read("srv", &tool(said)).unwrap_err().contains("bytes"));
    }

    #[test]
    fn names_are_plain() {
        for good in ["echo", "read_file", "a-b.c", &"x".repeat(64)] {
            assert!(is_plain_name(good), "{good}");
        }
        for bad in ["", "a b", "a/b", "é", "a\u{200b}", "a`", "@x", "a\nb", &"x".repeat(65)] {
            assert!(!is_plain_name(bad), "{bad:?}");
        }
    }
}
