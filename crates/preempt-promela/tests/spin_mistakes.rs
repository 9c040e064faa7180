//! Pairs of models that differ in something without meaning. Ours have one verdict; where Spin is
//! installed, it is shown to have two. `docs/src/reference/promela.md` lists these cases, and random
//! models that differ in this way are not held against us.

mod naive;
mod support;

use naive::explore;
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{LowerOptions, lower};
use std::path::Path;
use std::process::Command;

struct Pair {
    name: &'static str,
    /// Errors that either model has.
    errors: u64,
    /// The model with Spin's wrong count, and the one with the right count.
    wrong: (&'static str, u64),
    right: &'static str,
}

const PAIRS: [Pair; 10] = [
    Pair {
        name: "a claim that forbids nothing lets a second timeout pass",
        errors: 0,
        wrong: (
            "byte g, h;
             active proctype Q() { h == 1; g = 1 }
             active proctype P() { atomic { timeout; h = 1; timeout; assert(g == 1) } }
             never { do :: true od }",
            1,
        ),
        right: "byte g, h;
                active proctype Q() { h == 1; g = 1 }
                active proctype P() { atomic { timeout; h = 1; timeout; assert(g == 1) } }",
    },
    Pair {
        name: "a jump to the next statement, which keeps two from being merged",
        errors: 1,
        wrong: ("active proctype P() { atomic { timeout; assert(timeout) } }", 0),
        right: "active proctype P() { atomic { timeout; goto next; next: assert(timeout) } }",
    },
    Pair {
        name: "a condition that is always true in front of the first statement of an option",
        errors: 0,
        wrong: ("byte g, x; active proctype P() { d_step { if :: g = 1 :: (x == 2) fi } }", 1),
        right: "byte g, x; active proctype P() { d_step { if :: true -> g = 1 :: (x == 2) fi } }",
    },
    Pair {
        name: "a statement behind a jump, which is never reached",
        errors: 1,
        wrong: (
            "byte x; active proctype P() { { goto L } unless { do :: (x != 1) -> assert(false) :: L: x = 0 od } }",
            0,
        ),
        right: "byte x; active proctype P() { { goto L; skip } unless { do :: (x != 1) -> assert(false) :: L: x = 0 od } }",
    },
    Pair {
        name: "the order of the options of a D_proctype",
        errors: 1,
        wrong: ("byte g; active D_proctype P() { if :: g = 1 :: skip fi }", 0),
        right: "byte g; active D_proctype P() { if :: skip :: g = 1 fi }",
    },
    Pair {
        name: "an offer that nobody can take",
        errors: 0,
        wrong: ("chan r = [0] of { byte }; active D_proctype P() { do :: break :: r!1 od }", 1),
        right: "chan r = [0] of { byte }; active D_proctype P() { do :: break od }",
    },
    Pair {
        name: "a d_step of one statement around an assignment to a hidden variable",
        errors: 0,
        wrong: (
            "byte g; chan c = [2] of { byte }; hidden byte unseen;
             active proctype Q() { end: c?0 -> assert(false) }
             active proctype P() { c!1; end: c?unseen; d_step { unseen = g } }",
            1,
        ),
        right: "byte g; chan c = [2] of { byte }; hidden byte unseen;
                active proctype Q() { end: c?0 -> assert(false) }
                active proctype P() { c!1; end: c?unseen; unseen = g }",
    },
    Pair {
        name: "the order of options, one of which asks what is enabled",
        errors: 0,
        wrong: (
            "byte g; chan c = [1] of { byte };
             active proctype E() { end: (g == 9) }
             active proctype P() priority 2 { if :: enabled(0) :: c!1 fi }
             active proctype R() { skip }",
            1,
        ),
        right: "byte g; chan c = [1] of { byte };
                active proctype E() { end: (g == 9) }
                active proctype P() priority 2 { if :: c!1 :: enabled(0) fi }
                active proctype R() { skip }",
    },
    Pair {
        name: "the order of two receives, one of which cuts the value",
        errors: 0,
        wrong: (
            "chan c = [1] of { byte }; bit b; byte v;
             init { c!4; if :: c?b :: c?v -> assert(v == 4) fi }",
            1,
        ),
        right: "chan c = [1] of { byte }; bit b; byte v;
                init { c!4; if :: c?v -> assert(v == 4) :: c?b fi }",
    },
    Pair {
        name: "the value of a field that a receive leaves out",
        errors: 2,
        wrong: (
            "chan q = [1] of { byte, bit };
             active proctype E() { end: (len(q) == 9) }
             active proctype P() { byte x; chan own = [1] of { byte }; own!1; q?x }
             active proctype Q() { byte x; q!x, 1 }",
            4,
        ),
        right: "chan q = [1] of { byte, bit };
                active proctype E() { end: (len(q) == 9) }
                active proctype P() { byte x; chan own = [1] of { byte }; own!1; q?x }
                active proctype Q() { byte x; q!x, 0 }",
    },
];

fn ours(text: &str) -> u64 {
    let model = support::parse_text(text).model.expect("the model is accepted");
    let count_claim = !model.claims.is_empty();
    let options = LowerOptions { count_claim, ..LowerOptions::default() };
    let interpreter =
        Interpreter::new(lower(&model, options).expect("the model can be translated"));
    let claim = interpreter.program().claims.first();
    explore(&interpreter, claim, 1000).errors
}

/// The errors that Spin counts; `None` where it or a C compiler is missing.
fn spins(text: &str, folder: &Path) -> Option<u64> {
    std::fs::write(folder.join("m.pml"), text).ok()?;
    let run = |program: &str, arguments: &[&str]| {
        Command::new(program).args(arguments).current_dir(folder).output().ok()
    };
    run("spin", &["-a", "m.pml"])?;
    run(
        &preempt_testing::c_compiler(),
        &["-O0", "-w", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c"],
    )?;
    let report = String::from_utf8(run("./pan", &["-c0"])?.stdout).ok()?;
    report.split("errors: ").nth(1)?.split_whitespace().next()?.parse().ok()
}

#[test]
fn what_means_the_same_has_the_same_verdict() {
    let folder = std::env::temp_dir().join(format!("preempt-mistakes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    for Pair { name, errors, wrong, right } in PAIRS {
        assert_eq!([ours(wrong.0), ours(right)], [errors, errors], "{name}");
        if let (Some(first), Some(second)) = (spins(wrong.0, &folder), spins(right, &folder)) {
            assert_eq!([first, second], [wrong.1, errors], "Spin: {name}");
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
}
