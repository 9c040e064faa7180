//! Texts that Spin accepts and others easily do not, texts from other languages, and files from
//! elsewhere.

mod support;

use preempt_core::{Enabled, Outcome, System};
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{LowerOptions, lower};
use preempt_promela::model::Model;
use preempt_promela::syntax::{ParseOptions, parse, render::render_all};
use support::{parse_bytes, parse_text};

fn accepted(text: &str) -> Model {
    let parsed = parse_text(text);
    let shown = render_all(&parsed.diagnostics, &parsed.sources, false);
    parsed.model.unwrap_or_else(|| panic!("{text}\n{shown}"))
}

/// Runs the only process to its end; no assertion may fail.
fn passes(text: &str) {
    let program = lower(&accepted(text), LowerOptions::default()).expect("it can be lowered");
    let system = Interpreter::new(program);
    let (mut state, mut enabled) = (Vec::new(), Enabled::new());
    system.initial(&mut state);
    for _ in 0..100 {
        enabled.clear();
        system.enabled(&mut state, &mut enabled);
        let Some(step) = enabled.steps().first() else { break };
        assert_eq!(system.apply(&mut state, *step), Outcome::Done, "{text}");
    }
    assert!(system.is_valid_end(&state), "{text}");
}

#[test]
fn a_byte_order_mark_and_foreign_line_ends_are_no_text() {
    let parsed =
        parse_bytes(b"\xef\xbb\xbfbyte x;\r\ninit {\r\n\tx = 1;\r\n\ty = 2\r\n}\r\n".to_vec());
    let shown = render_all(&parsed.diagnostics, &parsed.sources, false);
    assert_eq!(parsed.diagnostics.len(), 1, "{shown}");
    assert!(shown.contains("model.pml:4:"), "{shown}");
    assert!(
        !shown.contains('\r') && !shown.contains('␍') && !shown.contains('\u{feff}'),
        "{shown:?}"
    );
    passes("byte x;\r\ninit { printf(\"a \\\r\nb\"); x = 1 \\\r\n + 1; assert(x == 2)\r\n}\r\n");
}

#[test]
fn long_arrows_are_arrows() {
    passes("byte x; init { x == 0 --> x = 1; if :: x == 1-->x = 2 :: else --> assert(false) fi }");
    passes("byte x; init { x = (x == 0 --> 4 : 5); assert(x == 4); x--; x-- -> assert(x == 2) }");
}

#[test]
fn directives_may_stand_between_the_arguments_of_a_macro() {
    passes(
        "#define both(a, b) a; b\nbyte x, y;\ninit { both(\n#if 1\nx = 1\n#else\nx = 2\n#endif\n,\n#ifdef NOTHING\ny = 1\n#else\ny = 2\n#endif\n); assert(x == 1 && y == 2) }",
    );
    // Nested uses, and a definition behind an open one.
    passes(
        "#define id(a) a\n#define two(a, b) a + b\nbyte x;\ninit { x = id(two(1,\n#if 0\n7\n#else\n2\n#endif\n)); assert(x == 3) }",
    );
    let parsed = parse_text("#define f(a) a\ninit { f(\n#define g 1\nskip) }");
    assert!(parsed.model.is_none());
}

#[test]
fn no_active_instances_are_a_plain_process_type() {
    passes("active [0] proctype A(byte x) { assert(x == 3) } init { run A(3) }");
    assert_eq!(accepted("active [0] proctype A() { skip } init { skip }").proctypes[0].active, 0);
}

#[test]
fn initial_values_of_whole_structures_are_ignored_with_a_warning() {
    for text in [
        "typedef T { byte a = 2; byte b }; T t = 5; init { assert(t.a == 2 && t.b == 0) }",
        "typedef T { byte a[2] = 4 }; T t[2] = 5; init { assert(t[1].a[1] == 4) }",
        "typedef T { byte a }; T t[2] = { 1, 2 }; init { assert(t[1].a == 0) }",
        "typedef T { byte a = 1 }; typedef U { T t[2] = 3; byte c }; U u; init { assert(u.t[1].a == 1) }",
    ] {
        passes(text);
        let parsed = parse_text(text);
        assert!(parsed.diagnostics.iter().any(|d| d.code == "P0091"), "{text}");
    }
}

#[test]
fn long_files_without_macros_are_no_bombs() {
    let mut text = String::from("byte x;\n");
    for process in 0..10 {
        text.push_str(&format!("active proctype P{process}() {{\n"));
        text.push_str(&"\tx = x + 1;\n".repeat(30_000));
        text.push_str("}\n");
    }
    assert_eq!(accepted(&text).proctypes.len(), 10);
}

#[test]
fn a_file_that_is_no_model_is_not_quoted() {
    let secret = "root:x:0:0:secret:/root:/bin/sh\ndaemon:hidden\n#define k 1\n";
    let inner = "#include \"/etc/passwd\"\nbyte y;\n";
    let loader = |_: &str, path: &str| {
        Ok(match path {
            "inner.h" => inner.as_bytes().to_vec(),
            "words" => b"byte unused_secret; byte x; bite\n".to_vec(),
            _ => secret.as_bytes().to_vec(),
        })
    };
    let options = ParseOptions { defines: Vec::new(), loader: &loader };
    for (text, words) in [
        ("#include \"/etc/passwd\"\ninit { skip }\n", "`/etc/passwd` does not hold Promela"),
        ("#include \"inner.h\"\ninit { y = 1 }\n", "`/etc/passwd` does not hold Promela"),
        ("#include \"words\"\ninit { x = 1 }\n", "`words` does not hold Promela"),
    ] {
        let parsed = parse("model.pml", text.as_bytes().to_vec(), &options);
        let shown = render_all(&parsed.diagnostics, &parsed.sources, false);
        assert!(parsed.model.is_none(), "{shown}");
        assert!(shown.contains(words), "{shown}");
        for word in ["root:", "daemon", "hidden", "secret", "bite"] {
            assert!(!shown.contains(word), "{word}: {shown}");
        }
    }
}

/// Each habit is one error, with a hint.
#[test]
fn habits_from_other_languages_are_one_error_with_a_hint() {
    let bodies = [
        ("if (x == 1) { x = 2 } else { x = 3 }", "if :: condition"),
        ("if x == 1 then x = 2 else x = 3 fi; x = 1", "if :: condition"),
        ("while (x < 3) { x++ }; x = 1", "do :: condition"),
        ("do { x = 1 } while (x < 3)", "do :: condition"),
        ("switch (x) { x = 1 }", "if :: condition"),
        ("x += 2; x = 1", "write `x = x + …`"),
        ("a[1] <<= 2; x = 1", "write `a[1] = a[1] << …`"),
        ("x := 2; x = 1", "an assignment is `x = …`"),
        ("++x; x = 1", "stands behind its variable"),
        ("x = TRUE; x = 1", "the constant is `true`"),
        ("for (x = 0; x < 3; x++) { skip }; x = 1", "for (i : 0 .. N - 1)"),
        ("for (int i = 0; i < 3; i++) { skip }; x = 1", "for (i : 0 .. N - 1)"),
        ("x = (x ? 1 : 2); x = 1", "(condition -> a : b)"),
        ("x = x and 2; x = 1", "`&&` is and"),
        ("print(\"a\"); x = 1", "printf"),
    ];
    for (body, hint) in bodies {
        let parsed = parse_text(&format!(
            "byte x; byte a[2];\ninit {{\n\t{body}\n}}\nactive proctype P() {{ x = 1; a[0] = 1 }}\n"
        ));
        let shown = render_all(&parsed.diagnostics, &parsed.sources, false);
        let errors = parsed.diagnostics.iter().filter(|d| d.is_error()).count();
        assert_eq!(errors, 1, "{body}\n{shown}");
        assert!(shown.contains(hint), "{body}\n{shown}");
    }
    for (unit, hint) in [
        ("char c;", "`byte` holds 0 to 255"),
        ("void f() { x = 1 }", "`inline f(x) { … }`"),
        ("const int N = 3;", "#define N 3"),
        ("struct S { byte a }", "typedef T"),
    ] {
        let parsed = parse_text(&format!("byte x;\n{unit}\ninit {{ x = 1 }}\n"));
        let shown = render_all(&parsed.diagnostics, &parsed.sources, false);
        assert!(shown.contains(hint), "{unit}\n{shown}");
    }
}
