//! Hostile input ends in a diagnostic: never in a hang, a crash or endless memory.

mod support;

use std::io;

use preempt_promela::syntax::{ParseOptions, Parsed, parse};
use support::{parse_bytes, parse_text};

fn codes(parsed: &Parsed) -> Vec<&'static str> {
    parsed.diagnostics.iter().filter(|d| d.is_error()).map(|d| d.code).collect()
}

fn with_loader(text: &str, loader: &dyn Fn(&str, &str) -> io::Result<Vec<u8>>) -> Parsed {
    parse("model.pml", text.as_bytes().to_vec(), &ParseOptions { defines: Vec::new(), loader })
}

#[test]
fn nesting_is_limited() {
    for (open, close) in [("(", ")"), ("! ", ""), ("- ", ""), ("a[", "]")] {
        let text =
            format!("byte a[3]; init {{ {}1{} }}", open.repeat(50_000), close.repeat(50_000));
        assert_eq!(codes(&parse_text(&text))[0], "P0021", "{open}");
    }
    for (open, close) in [("{ ", " }"), ("if :: ", " fi "), ("atomic { ", "}")] {
        let text = format!("init {{ {} skip {} }}", open.repeat(50_000), close.repeat(50_000));
        assert_eq!(codes(&parse_text(&text))[0], "P0021", "{open}");
    }
    let sum = format!("int x; init {{ x = 1{} }}", " + 1".repeat(100_000));
    assert_eq!(codes(&parse_text(&sum)), ["P0021"]);
    let formula = format!("ltl p {{ {} true }}", "[] ".repeat(50_000));
    assert_eq!(codes(&parse_text(&formula))[0], "P0021");
    let arguments = format!(
        "chan c = [1] of {{ byte }}; init {{ c?{}1{} }}",
        "1(".repeat(50_000),
        ")".repeat(50_000)
    );
    assert_eq!(codes(&parse_text(&arguments))[0], "P0021");
}

#[test]
fn a_body_is_closed_to_what_follows() {
    let parsed = parse_text(
        "proctype P(byte x) { byte y; skip }\nint z = x;\nint w = y;\ninit { run P(1) }",
    );
    assert_eq!(codes(&parsed), ["P0040", "P0040"]);
}

#[test]
fn reasonable_depth_is_accepted() {
    let text = format!("init {{ int x; x = {}1{} }}", "(".repeat(80), ")".repeat(80));
    assert!(parse_text(&text).model.is_some());
    let text = format!("init {{ int x; x = 1{} }}", " + 1".repeat(490));
    assert!(parse_text(&text).model.is_some());
    let text = format!("init {{ {} skip {} }}", "{ ".repeat(30), " }".repeat(30));
    assert!(parse_text(&text).model.is_some());
}

#[test]
fn self_reference_stops() {
    let parsed = parse_text("int x;\n#define x x\ninit { x = x }");
    assert!(parsed.model.is_some(), "{:?}", parsed.diagnostics);
    let parsed = parse_text("int a, b;\n#define a b\n#define b a\ninit { a = b }");
    assert!(parsed.model.is_some(), "{:?}", parsed.diagnostics);
    assert!(codes(&parse_text("#define x x x\ninit { x }")).contains(&"P0022"));
}

#[test]
fn exponential_macros_stop() {
    let mut text = String::from("#define m0 skip;\n");
    for i in 1..60 {
        text.push_str(&format!("#define m{i} m{} m{}\n", i - 1, i - 1));
    }
    text.push_str("init { m59 skip }");
    assert_eq!(codes(&parse_text(&text))[0], "P0017");

    let mut text = String::from("#define f0(x) x x\n");
    for i in 1..60 {
        text.push_str(&format!("#define f{i}(x) f{}(x x)\n", i - 1));
    }
    text.push_str("init { f59(skip;) }");
    assert_eq!(codes(&parse_text(&text))[0], "P0017");
}

#[test]
fn exponential_inlines_stop() {
    let mut text = String::from("inline f0() { skip }\n");
    for i in 1..18 {
        text.push_str(&format!("inline f{i}() {{ f{0}(); f{0}(); f{0}() }}\n", i - 1));
    }
    text.push_str("init { f17() }");
    let found = codes(&parse_text(&text));
    assert!(found.contains(&"P0017"), "{found:?}");
    let found = codes(&parse_text("inline f() { g() }\ninline g() { f() }\ninit { f() }"));
    assert_eq!(found, ["P0025"]);
    assert_eq!(codes(&parse_text("inline f(a) { a = 1; f(a) }\ninit { byte x; f(x) }")), ["P0025"]);
}

#[test]
fn include_cycles_stop() {
    let itself =
        |_: &str, _: &str| Ok(b"#include \"model.pml\"\n#include \"model.pml\"\n".to_vec());
    let parsed = with_loader("#include \"model.pml\"\ninit { skip }", &itself);
    assert_eq!(codes(&parsed)[0], "P0013");
}

#[test]
fn guarded_includes_are_read_once() {
    let guarded = |_: &str, _: &str| {
        Ok(b"#ifndef SEEN\n#define SEEN\n#include \"a.h\"\nbyte x;\n#endif\n".to_vec())
    };
    let parsed = with_loader("#include \"a.h\"\n#include <a.h>\ninit { x = 1 }", &guarded);
    assert!(parsed.model.is_some(), "{:?}", parsed.diagnostics);
}

#[test]
fn missing_includes_and_open_ends_are_reported() {
    assert_eq!(codes(&parse_text("#include \"nowhere.h\"\ninit { skip }")), ["P0012"]);
    assert_eq!(codes(&parse_text("init { skip } /* never closed"))[0], "P0001");
    assert!(codes(&parse_text("init { printf(\"never closed) }\n")).contains(&"P0002"));
    assert_eq!(codes(&parse_text("init { skip ")), ["P0020"]);
    assert_eq!(codes(&parse_text("inline f() { skip ")), ["P0020"]);
    assert_eq!(codes(&parse_text("#define f(x) x\ninit { f(1 ")), ["P0016", "P0020"]);
}

#[test]
fn bytes_that_are_no_text_are_tolerated_in_comments_only() {
    let parsed = parse_bytes(b"/* \xff\xfe */ init { skip }".to_vec());
    assert!(parsed.model.is_some() && parsed.diagnostics.is_empty());
    let parsed = parse_bytes(b"init { \xff skip }".to_vec());
    assert_eq!(codes(&parsed), ["P0006"]);
    let parsed = parse_bytes(vec![0; 1000]);
    assert_eq!(codes(&parsed)[0], "P0004");
}

#[test]
fn huge_numbers_and_sizes_are_reported() {
    let parsed = parse_text("init { int x; x = 99999999999999999999999999 }");
    assert_eq!(parsed.diagnostics[0].code, "P0005");
    assert_eq!(codes(&parse_text("int a[99999999]; init { a[0] = 1 }")), ["P0054"]);
    assert_eq!(codes(&parse_text("chan c = [70000] of { byte }; init { c!1 }")), ["P0065"]);
    let mut nested = String::from("typedef T0 { int a[60000] };\n");
    for i in 1..20 {
        nested.push_str(&format!("typedef T{i} {{ T{} a[60000] }};\n", i - 1));
    }
    nested.push_str("T19 v; chan c = [1] of { T19 }; init { c!v; c?v }");
    assert!(codes(&parse_text(&nested)).contains(&"P0054"));
}

#[test]
fn several_errors_are_found_but_not_hundreds() {
    let text = "byte x;\ninit { x = ; y = 1; if :: x == -> skip :: else -> z = 2 fi; x = 1 }";
    // Of the grammar and of names: `y` and `z` are declared nowhere.
    assert_eq!(codes(&parse_text(text)), ["P0020", "P0040", "P0020", "P0040"]);
    let text =
        "byte x;\ninit { y = 1; x = u; if :: w == 0 -> skip :: else -> z = 2 fi; goto there }";
    assert_eq!(codes(&parse_text(text)), ["P0040", "P0040", "P0040", "P0040", "P0042"]);
    let text = format!("init {{ {} skip }}", "y = 1; ".repeat(500));
    assert_eq!(codes(&parse_text(&text)).len(), 20);
}
