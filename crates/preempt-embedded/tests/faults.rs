//! Pieces of C that do not come to their end become faults of the model's step, and text that does not
//! compile is refused with the line of the model.

#[allow(dead_code)]
#[path = "../../preempt-promela/tests/naive/mod.rs"]
mod naive;
#[allow(dead_code)]
mod peer;

use peer::{compiler, interpreter, read};
use preempt_core::{Describe, Enabled, Outcome, System};
use preempt_embedded::{Trouble, attach};
use preempt_promela::ir::{LowerOptions, can_be_lowered, lower};

/// The first fault of an execution that always takes the first step: line and message.
fn fault(text: &str) -> Option<(u32, String)> {
    let system = interpreter(text, LowerOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    let (mut state, mut enabled) = (Vec::new(), Enabled::new());
    assert_eq!(system.initial(&mut state), Outcome::Done);
    for _ in 0..100 {
        enabled.clear();
        system.enabled(&mut state, &mut enabled);
        let step = *enabled.steps().first()?;
        if let Outcome::Broken(number) = system.apply(&mut state, step) {
            let fault = system.fault(number);
            return Some((fault.line, fault.message));
        }
    }
    None
}

#[test]
fn what_would_end_the_process_ends_the_step() {
    let cases = [
        ("c_code { *(volatile int *) 0 = 1; }", "C code uses invalid memory (SIGSEGV)"),
        (
            "c_code { volatile int zero = 0; now.x = 100 / zero; }",
            "division by zero in C code (SIGFPE)",
        ),
        ("c_code { abort(); }", "C code calls abort"),
        ("c_code { exit(3); }", "C code calls exit"),
        ("c_code { assert(now.x == 7); }", "assertion violated in C code"),
        ("c_code { overflow(1); }", "C code uses invalid memory (SIGSEGV)"),
        ("c_code [now.x > 4] { now.x = 0; }", "precondition of C code is false: now.x > 4"),
        ("c_expr { *(volatile int *) 0 }", "C code uses invalid memory (SIGSEGV)"),
        ("c_expr [now.x > 4] { now.x }", "precondition of C code is false: now.x > 4"),
        ("assert(c_expr { 100 / now.x })", "division by zero in C code (SIGFPE)"),
        ("d_step { x = 0; c_code { exit(0); } }", "C code calls exit"),
    ];
    for (statement, message) in cases {
        let text = format!(
            "c_decl {{\n\\#include <assert.h>\n\
             static int overflow(volatile int n) {{ volatile char t[4096]; t[0] = n; return overflow(n + 1) + t[0]; }}\n\
             }}\nbyte x;\nactive proctype p() {{\n  skip;\n  {statement};\n  skip\n}}\n"
        );
        // Twice: what ended one call must not disturb another.
        for _ in 0..2 {
            assert_eq!(fault(&text), Some((8, message.into())), "{statement}");
        }
    }
}

#[test]
fn one_process_many_libraries() {
    let text = |n: u32| {
        format!(
            "byte x;\nactive proctype p() {{ c_code {{ if ({n} == 1) abort(); now.x = {n}; }} }}"
        )
    };
    let systems: Vec<_> = (0..3)
        .map(|n| interpreter(&text(n), LowerOptions::default()).unwrap_or_else(|e| panic!("{e}")))
        .collect();
    for _ in 0..3 {
        for (n, system) in systems.iter().enumerate() {
            let (mut state, mut enabled) = (Vec::new(), Enabled::new());
            system.initial(&mut state);
            system.enabled(&mut state, &mut enabled);
            let outcome = system.apply(&mut state, enabled.steps()[0]);
            assert_eq!(matches!(outcome, Outcome::Broken(_)), n == 1);
        }
    }
}

#[test]
fn what_c_prints_belongs_to_the_step() {
    let text = "byte x = 4;\nactive proctype p() { c_code { printf(\"x is %d\\n\", now.x); puts(\"so\"); Printf(\"%c\", 'a'); } }";
    let system = interpreter(text, LowerOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    let (mut state, mut enabled) = (Vec::new(), Enabled::new());
    system.initial(&mut state);
    system.enabled(&mut state, &mut enabled);
    assert_eq!(system.output(&state, enabled.steps()[0]), "x is 4\nso\na");
}

#[test]
fn text_that_does_not_compile_is_refused_with_its_line() {
    let refused = |text: &str| match attach(&mut read(text), &compiler()) {
        Err(Trouble::Refused(complaints)) => complaints,
        other => panic!("{other:?}"),
    };
    let complaints =
        refused("byte x;\nactive proctype p() {\n  skip;\n  c_code {\n    now.y = 1;\n  }\n}\n");
    assert!(complaints.contains("model.pml:5:"), "{complaints}");
    assert!(complaints.contains('y'), "{complaints}");
    let complaints = refused("c_decl {\n  int f(\n}\ninit { skip }");
    assert!(complaints.contains("model.pml:2"), "{complaints}");
    let complaints = refused("init {\n  c_expr { nowhere > 1 }\n}");
    assert!(complaints.contains("model.pml:2:"), "{complaints}");
}

#[test]
fn a_missing_compiler_is_named() {
    let mut model = read("init { c_code { ; } }");
    let missing = preempt_embedded::Compiler { program: "no-such-compiler".into(), ..compiler() };
    let trouble = attach(&mut model, &missing).expect_err("there is none").to_string();
    assert!(trouble.contains("no-such-compiler") && trouble.contains("PREEMPT_C_COMPILER"));
    assert!(model.embedded.compiled.is_none());
}

#[test]
fn the_cache_gives_the_same_library_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let cached = preempt_embedded::Compiler { cache: Some(folder.path().into()), ..compiler() };
    let text = "byte x; init { c_code { now.x = 3; }; assert(x == 3) }";
    attach(&mut read(text), &cached).expect("it compiles");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
    // Nothing is compiled any more.
    let object = std::fs::read_dir(folder.path()).expect("a folder").next();
    let object = object.expect("a file").expect("a file").path();
    let before = std::fs::metadata(&object).expect("a file").modified().expect("a time");
    attach(&mut read(text), &cached).expect("it is loaded");
    let after = std::fs::metadata(&object).expect("a file").modified().expect("a time");
    assert_eq!(before, after);
    // A file that is included may change, so nothing is kept then.
    let including = "c_decl {\n\\#include \"no-such-file.h\"\n}\ninit { skip }";
    assert!(matches!(attach(&mut read(including), &cached), Err(Trouble::Refused(_))));
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
}

/// Whoever only looks at a model compiles nothing, and cannot run it.
#[test]
fn without_its_library_a_model_is_refused() {
    let model = read("byte x; init { c_code { now.x = 1; }; c_expr { now.x } }");
    assert!(can_be_lowered(&model, LowerOptions::default()).is_ok());
    let error = lower(&model, LowerOptions::default()).expect_err("it has no library");
    assert_eq!(error.diagnostic().code, "P0093");
}
