//! The variables of a state, as far as its serialisation names them.

use preempt_core::Value;
use serde::Serialize;
use serde_json::Value as Json;
use std::fmt::Debug;

/// Structures and sequences are opened this deep; what lies deeper is shown as it is.
const DEPTH: usize = 3;
/// A state with more variables than this is shown with less detail.
const MOST: usize = 400;

/// The fields of a state by name: `leader`, `log[2]`, `votes[1].term`.
pub(crate) fn of<S: Serialize + Debug>(state: &S) -> Vec<(String, Value)> {
    let Ok(json) = serde_json::to_value(state) else {
        return vec![("state".into(), Value::Name(format!("{state:?}")))];
    };
    let mut variables = Vec::new();
    for depth in (1..=DEPTH).rev() {
        variables.clear();
        open("", &json, depth, &mut variables);
        if variables.len() <= MOST {
            break;
        }
    }
    variables
}

fn open(name: &str, json: &Json, depth: usize, variables: &mut Vec<(String, Value)>) {
    match json {
        Json::Object(fields) if depth > 0 => {
            for (field, value) in fields {
                let name = if name.is_empty() { field.clone() } else { format!("{name}.{field}") };
                open(&name, value, depth - 1, variables);
            }
        }
        Json::Array(items) if depth > 0 && !items.is_empty() => {
            for (at, value) in items.iter().enumerate() {
                open(&format!("{name}[{at}]"), value, depth - 1, variables);
            }
        }
        _ => {
            let name = if name.is_empty() { "state" } else { name };
            variables.push((name.to_owned(), leaf(json)));
        }
    }
}

fn leaf(json: &Json) -> Value {
    match json {
        Json::Number(number) => match number.as_i64() {
            Some(number) => Value::Int(number),
            None => Value::Name(number.to_string()),
        },
        Json::String(text) => Value::Name(text.clone()),
        other => Value::Name(other.to_string()),
    }
}
