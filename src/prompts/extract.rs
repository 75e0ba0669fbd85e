//! Purpose: find the JSON object in what a model said: the whole text, a fenced block, or somewhere in the prose.

use serde_json::{Map, Value};

type Object = Map<String, Value>;

/// How many places in the prose are tried. Models that think aloud write braces before they answer.
const MAX_PLACES: usize = 64;

/// The key of a decision that comes along with an answer.
pub(super) const DECISION: &str = "replan_decision";

/// The object that answers the question `name`, which has the key `expected`; or, failing that, the first object.
pub(super) fn object(text: &str, name: &str, expected: &str) -> Option<Object> {
    let whole = std::iter::once(text.trim()).filter_map(parse);
    let mut others = Vec::new();
    for found in whole.chain(fenced(text)).chain(embedded(text)) {
        let found = unwrapped(found, name);
        if found.contains_key(expected) {
            return Some(found);
        }
        others.push(found);
    }
    others.into_iter().next()
}

fn parse(text: &str) -> Option<Object> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Some(object),
        Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) | Err(_) => {
            None
        }
    }
}

/// Blocks between lines of three backticks, as far as they hold an object.
fn fenced(text: &str) -> impl Iterator<Item = Object> {
    text.split("```").skip(1).step_by(2).take(MAX_PLACES).filter_map(|block| {
        let after_language = block.split_once('\n').map_or(block, |(_, rest)| rest);
        parse(after_language.trim()).or_else(|| parse(block.trim()))
    })
}

/// Objects that begin at some brace. The parser stops where an object ends, so what follows does not matter.
fn embedded(text: &str) -> impl Iterator<Item = Object> {
    let mut at = 0;
    let mut places = 0;
    std::iter::from_fn(move || {
        while places < MAX_PLACES {
            places += 1;
            at += text.get(at..)?.find('{')?;
            let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Object>();
            if let Some(Ok(object)) = values.next() {
                at += values.byte_offset();
                return Some(object);
            }
            at += 1;
        }
        None
    })
}

/// Some models wrap the answer into its own name, or into a call of a tool with that name. A decision about replanning
/// may then stand beside it, and belongs to it.
fn unwrapped(mut object: Object, name: &str) -> Object {
    let beside = object.keys().filter(|key| *key != name).all(|key| key == DECISION);
    if beside
        && let Some(Value::Object(_)) = object.get(name)
        && let Some(Value::Object(mut inner)) = object.remove(name)
    {
        if let Some(decision) = object.remove(DECISION) {
            inner.entry(DECISION).or_insert(decision);
        }
        return inner;
    }
    if object.get("name").and_then(Value::as_str) == Some(name) {
        for key in ["arguments", "parameters", "input"] {
            if let Some(Value::Object(inner)) = object.remove(key) {
                return inner;
            }
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, found: Option<&str>) {
        let object = object(text, "goal", "aim").map(|object| Value::Object(object).to_string());
        assert_eq!(object.as_deref(), found, "{text}");
    }

    #[test]
    fn the_answer_is_found() {
        let aim = Some(r#"{"aim":1}"#);
        check(r#"{"aim":1}"#, aim);
        check("\n {\"aim\":1} \n", aim);
        check("```json\n{\"aim\":1}\n```", aim);
        check("Sure!\n```\n{\"aim\":1}\n```\nAnything else?", aim);
        check("```{\"aim\":1}```", aim);
        check("Here it is: {\"aim\":1}. Good luck {you}!", aim);
        check("I start from {} and {x} and {\"b\":2}: {\"aim\":1}", aim);
        check(r#"{"goal":{"aim":1}}"#, aim);
        check(r#"{"name":"goal","arguments":{"aim":1}}"#, aim);
        let decided = Some(r#"{"aim":1,"replan_decision":{"x":2}}"#);
        check(r#"{"goal":{"aim":1},"replan_decision":{"x":2}}"#, decided);
        check(r#"{"goal":{"aim":1,"replan_decision":{"x":2}},"replan_decision":3}"#, decided);
        check("```json\n{\"name\":\"goal\",\"arguments\":{\"aim\":1}}\n```", aim);
        check(r#"{"other":2}"#, Some(r#"{"other":2}"#));
        check(r#"{"aim":"{\"}"} tail"#, Some(r#"{"aim":"{\"}"}"#));
        check("", None);
        check("no", None);
        check("[1,2]", None);
        check("{\"aim\":", None);
        check(&"{".repeat(100_000), None);
        check(&"{\"a\":".repeat(100_000), None);
    }
}
