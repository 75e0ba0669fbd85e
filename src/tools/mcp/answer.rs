//! Purpose: what a tool answered, as plain text of bounded length.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use crate::prompts::plain_text;

/// Of the text that goes on. The beginning and the end say most.
const HEAD: usize = 48 << 10;
const TAIL: usize = 16 << 10;
/// The library may learn of more kinds than we know.
const UNKNOWN: &str = "[a part of a kind that is not known here, left out]";

/// Written by the tool: not to be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResult {
    pub text: String,
    /// The tool says that it failed.
    pub is_error: bool,
    /// There was more.
    pub truncated: bool,
}

impl CallResult {
    pub(super) fn read(answer: &CallToolResult) -> Self {
        let mut parts: Vec<_> = answer.content.iter().map(part).collect();
        // Servers that answer in structures should repeat them as text; some do not.
        if let (true, Some(structure)) = (parts.is_empty(), &answer.structured_content) {
            parts.push(structure.to_string());
        }
        let (text, truncated) = shortened(&plain_text(&parts.join("\n")).text);
        Self { text, is_error: answer.is_error.unwrap_or(false), truncated }
    }
}

/// Pictures and sounds are named, not included: no model of ours is given any.
fn part(part: &ContentBlock) -> String {
    match part {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => left_out("image", &image.mime_type, &image.data),
        ContentBlock::Audio(audio) => left_out("audio", &audio.mime_type, &audio.data),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("[{uri}]\n{text}"),
            ResourceContents::BlobResourceContents { uri, blob, .. } => left_out("resource", uri, blob),
            _ => UNKNOWN.to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("[link to {}: {}]", link.name, link.uri),
        _ => UNKNOWN.to_owned(),
    }
}

fn left_out(kind: &str, what: &str, data: &str) -> String {
    format!("[{kind} {what}, {} bytes in base64, left out]", data.len())
}

fn shortened(text: &str) -> (String, bool) {
    if text.len() <= HEAD + TAIL {
        return (text.to_owned(), false);
    }
    let head = &text[..text.floor_char_boundary(HEAD)];
    let tail = &text[text.ceil_char_boundary(text.len() - TAIL)..];
    let missing = text.len() - head.len() - tail.len();
    (format!("{head}\n[… {missing} bytes left out …]\n{tail}"), true)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(answer: Value, text: &str, is_error: bool) {
        let read = CallResult::read(&serde_json::from_value(answer.clone()).unwrap());
        assert_eq!(read, CallResult { text: text.to_owned(), is_error, truncated: false }, "{answer}");
    }

    #[test]
    fn every_kind_of_part_becomes_text() {
        check(
            json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
            "a\nb",
            false,
        );
        check(json!({"content": [{"type": "text", "text": "no"}], "isError": true}), "no", true);
        check(json!({"content": []}), "", false);
        check(json!({"content": [], "structuredContent": {"a": 1}}), r#"{"a":1}"#, false);
        check(
            json!({"content": [{"type": "text", "text": "one"}], "structuredContent": {"n": 1}}),
            "one",
            false,
        );
        check(
            json!({"content": [{"type": "image", "data": "QUJD", "mimeType": "image/png"}]}),
            "[image image/png, 4 bytes in base64, left out]",
            false,
        );
        check(
            json!({"content": [{"type": "audio", "data": "QUJD", "mimeType": "audio/wav"}]}),
            "[audio audio/wav, 4 bytes in base64, left out]",
            false,
        );
        check(
            json!({"content": [{"type": "resource", "resource": {"uri": "x://1", "text": "body"}}]}),
            "[x://1]\nbody",
            false,
        );
        check(
            json!({"content": [{"type": "resource", "resource": {"uri": "x://1", "blob": "QUJD"}}]}),
            "[resource x://1, 4 bytes in base64, left out]",
            false,
        );
        check(
            json!({"content": [{"type": "resource_link", "uri": "x://1", "name": "one"}]}),
            "[link to one: x://1]",
            false,
        );
    }

    #[test]
    fn nothing_invisible_gets_through() {
        check(
            json!({"content": [{"type": "text", "text": "\u{1b}[2Ja\u{200b}b\u{e0041}\r\nc"}]}),
            "ab\nc",
            false,
        );
    }

    #[test]
    fn long_answers_keep_beginning_and_end() {
        let long = format!("first{}last", "ä".repeat(HEAD));
        let answer = json!({"content": [{"type": "text", "text": long}]});
        let read = CallResult::read(&serde_json::from_value(answer).unwrap());
        assert!(read.truncated && read.text.len() < HEAD + TAIL + 100);
        assert!(read.text.starts_with("first") && read.text.ends_with("last"));
        assert!(read.text.contains("bytes left out"));
        let all = "x".repeat(HEAD + TAIL);
        assert_eq!(shortened(&all), (all.clone(), false));
    }
}
