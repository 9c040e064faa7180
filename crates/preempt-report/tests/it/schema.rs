//! A validator for the part of JSON Schema that our document uses. A keyword it does not know is an
//! error, so that the document cannot demand more than is checked.

use serde_json::Value;

/// Every way in which `value` breaks `schema`; `strict` also reports keys the schema does not list.
pub(crate) fn problems(
    root: &Value,
    schema: &Value,
    value: &Value,
    path: &str,
    strict: bool,
) -> Vec<String> {
    let mut out = Vec::new();
    for (keyword, rule) in schema.as_object().unwrap() {
        let fails = match keyword.as_str() {
            "$schema" | "title" | "description" | "$defs" => None,
            "$ref" => {
                let name = rule.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                out.extend(problems(root, &root["$defs"][name], value, path, strict));
                None
            }
            "type" => (!has_type(rule, value)).then(|| format!("is not {rule}")),
            "const" => (rule != value).then(|| format!("is not {rule}")),
            "enum" => {
                (!rule.as_array().unwrap().contains(value)).then(|| format!("is not in {rule}"))
            }
            "minimum" => value
                .as_f64()
                .is_some_and(|n| n < rule.as_f64().unwrap())
                .then(|| format!("is less than {rule}")),
            "oneOf" => {
                let all: Vec<Vec<String>> = rule
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|s| problems(root, s, value, path, strict))
                    .collect();
                let fits = all.iter().filter(|p| p.is_empty()).count();
                (fits != 1).then(|| format!("fits {fits} of the alternatives: {all:?}"))
            }
            "required" => rule
                .as_array()
                .unwrap()
                .iter()
                .find(|key| value.get(key.as_str().unwrap()).is_none())
                .map(|key| format!("lacks {key}")),
            "properties" => {
                for (key, inner) in value.as_object().into_iter().flatten() {
                    match rule.get(key) {
                        Some(rule) => {
                            out.extend(problems(
                                root,
                                rule,
                                inner,
                                &format!("{path}.{key}"),
                                strict,
                            ));
                        }
                        None if strict => out.push(format!("{path}.{key} is not documented")),
                        None => {}
                    }
                }
                None
            }
            "items" => {
                for (index, inner) in value.as_array().into_iter().flatten().enumerate() {
                    out.extend(problems(root, rule, inner, &format!("{path}[{index}]"), strict));
                }
                None
            }
            other => panic!("the validator does not know `{other}`"),
        };
        out.extend(fails.map(|f| format!("{path} {f}")));
    }
    out
}

fn has_type(rule: &Value, value: &Value) -> bool {
    let fits = |name: &Value| match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no such type: {other}"),
    };
    match rule {
        Value::Array(names) => names.iter().any(fits),
        name => fits(name),
    }
}

#[test]
fn the_validator_can_fail() {
    let schema = serde_json::json!({
        "type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "minimum": 1}}
    });
    let check = |value: Value| problems(&schema, &schema, &value, "$", true);
    assert!(check(serde_json::json!({"n": 1})).is_empty());
    assert_eq!(check(serde_json::json!({"n": 0})), ["$.n is less than 1"]);
    assert_eq!(check(serde_json::json!({})), ["$ lacks \"n\""]);
    assert_eq!(check(serde_json::json!({"n": 1, "m": 2})), ["$.m is not documented"]);
    assert_eq!(check(serde_json::json!({"n": "1"})), ["$.n is not \"integer\""]);
}
