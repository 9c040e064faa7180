//! Mistakes in programs are reported with a code and a place; nothing panics; limits are answers.

mod one_input;

use preempt_bool::{CODES, Dialect, Limits, Method, Options, Switches, check, parse};
use preempt_core::{Stop, Verdict};
use std::sync::atomic::AtomicBool;

#[test]
fn mistakes_have_codes_and_places() {
    let cases: &[(&str, u32, &str)] = &[
        ("B0001", 1, "decl a; @ void main() begin end"),
        ("B0001", 1, "/* no end"),
        ("B0001", 1, "decl {a; void main() begin end"),
        ("B0002", 2, "decl a;\nvoid main() begin a = T; end"),
        ("B0002", 1, "void main() begin skip skip; end"),
        ("B0002", 1, "void main() begin skip; : end"),
        ("B0002", 1, "void main() begin if (T) then skip; end"),
        ("B0002", 1, "void main("),
        ("B0004", 1, "decl int<99> n; void main() begin end"),
        ("B0004", 1, "decl int<2> n; void main() begin n := 4; end"),
        ("B0005", 1, "decl a, a; void main() begin end"),
        ("B0005", 1, "void f() begin end void f() begin end void main() begin end"),
        ("B0006", 3, "void main() begin\n  skip;\n  a := T;\nend"),
        ("B0006", 1, "void main() begin assume(a); end"),
        ("B0007", 1, "void main() begin f(); end"),
        ("B0008", 1, "decl a, b; void main() begin a, b := T; end"),
        ("B0008", 1, "void f(a) begin end void main() begin f(); end"),
        ("B0008", 1, "decl a; bool<2> f() begin return T, F; end void main() begin a := f(); end"),
        ("B0008", 1, "bool f() begin return T, F; end void main() begin end"),
        ("B0009", 1, "decl int<3> n; decl b; void main() begin b := n; end"),
        ("B0009", 1, "decl int<3> n; decl int<4> m; void main() begin n := m; end"),
        ("B0009", 1, "decl int<3> n; void main() begin assume(n); end"),
        ("B0010", 1, "void main() begin goto L; end"),
        ("B0011", 1, "void main() begin L: skip; L: skip; goto L; end"),
        ("B0012", 1, "decl g; thread a() begin g := T; end thread b() begin end"),
        ("B0013", 1, "decl g; void f() begin end"),
        ("B0007", 1, "void main() begin ASYNC_1: f(); end"),
        ("B0008", 1, "void f(a) begin end void main() begin while (*) do start_thread f(); od end"),
        ("B0010", 1, "void main() begin start_thread goto L; end"),
        ("B0015", 1, "decl int<3> n; void main() begin n := * + 1; end"),
        ("B0016", 1, "decl a; void main() begin a := 'a; end"),
        ("B0017", 1, "decl a; void main() begin a, a := T, F; end"),
        ("B0018", 1, "thread a(x) begin end"),
        ("B0018", 1, "void main(x) begin end"),
        ("B0018", 1, "bool init() begin return T; end void main() begin end"),
        (
            "B0020",
            2,
            "thread_local decl p; decl g; void init() begin\n  g := p;\nend thread a() begin end",
        ),
    ];
    for (code, line, source) in cases {
        let errors = parse(source, "bad.bp", Dialect::Slam).map(|_| ()).unwrap_err();
        assert_eq!((errors[0].code, errors[0].line), (*code, *line), "{source}: {}", errors[0]);
        assert!(CODES.iter().any(|(c, _)| c == code));
        assert!(errors.iter().all(|e| e.column > 0 && e.span.end <= source.len()), "{source}");
    }
}

#[test]
fn several_mistakes_are_reported_at_once() {
    let source = "void main() begin\n  a := T;\n  b := T;\n  f();\nend";
    assert_eq!(parse(source, "bad.bp", Dialect::Slam).map(|_| ()).unwrap_err().len(), 3);
}

#[test]
fn unparenthesised_equality_is_warned_about() {
    let source = "decl a, b, c; void main() begin assume(a = b & c); assume((a = b) & c); end";
    let (_, warnings) = parse(source, "mixed.bp", Dialect::Slam).unwrap();
    assert_eq!(warnings.iter().map(|w| w.code).collect::<Vec<_>>(), ["B0101"]);
}

#[test]
fn a_target_must_exist() {
    let (program, _) = parse("void main() begin Here: skip; end", "t.bp", Dialect::Slam).unwrap();
    let ask = |target| check(&program, &Options { target: Some(target), ..Options::default() });
    let error = ask("There").unwrap_err();
    assert_eq!(error.code, "B0019");
    assert!(error.notes[0].contains("Here"));
    assert_eq!(ask("Here").unwrap().claim.verdict, Verdict::Violated);
}

#[test]
fn long_and_deep_programs_are_read_or_refused() {
    let long: String = (0..10_000).map(|_| "  a := !a;\n").collect();
    let source = format!("decl a; void main() begin a := F;\n{long}assert(!a); end");
    let (program, _) = parse(&source, "long.bp", Dialect::Slam).unwrap();
    let report = check(&program, &Options::default()).unwrap();
    assert_eq!(report.claim.verdict, Verdict::Holds);
    let deep = |open: &str, close: &str, n: usize| {
        format!("decl a; void main() begin assume({}a{}); end", open.repeat(n), close.repeat(n))
    };
    for source in [
        deep("(", ")", 100_000),
        deep("!", "", 100_000),
        deep("", " => a", 100_000),
        deep("schoose[", ", a]", 100_000),
        format!("void main() begin {} end", "if (T) then ".repeat(50_000)),
        format!("void main() begin {} end", "while (T) do ".repeat(50_000)),
        format!(
            "void main() begin if (T) then skip; {} fi; end",
            "elsif (T) then skip; ".repeat(50_000)
        ),
    ] {
        let errors = parse(&source, "deep.bp", Dialect::Slam).map(|_| ()).unwrap_err();
        assert_eq!(errors[0].code, "B0003", "{}", errors[0]);
    }
    assert!(parse(&deep("(", ")", 100), "deep.bp", Dialect::Slam).is_ok());
    for operator in ["&", "|", "^"] {
        let flat = deep("", &format!(" {operator} a"), 100_000);
        assert!(parse(&flat, "flat.bp", Dialect::Slam).is_ok(), "{operator}");
    }
}

/// Long conjunctions over many variables, answered by all methods on a small stack.
#[test]
fn flat_conjunctions_need_no_deep_stack() {
    let names: Vec<String> = (0..5000).map(|i| format!("v{i}")).collect();
    let source = format!(
        "decl {}; void main() begin if ({}) then assert({}); fi end",
        names.join(", "),
        names.join(" & "),
        names.join(" & ")
    );
    let answer = std::thread::Builder::new().stack_size(16 << 20).spawn(move || {
        let (program, _) = parse(&source, "flat.bp", Dialect::Slam).unwrap();
        for method in [None, Some(Method::Direct), Some(Method::Lazy)] {
            let switches = Switches::AtMost(0);
            let report =
                check(&program, &Options { method, switches, ..Options::default() }).unwrap();
            let holds =
                matches!(report.claim.verdict, Verdict::Holds | Verdict::HoldsWithinBound(0));
            assert!(holds, "{method:?}: {}", report.claim.sentence);
        }
    });
    answer.unwrap().join().unwrap();
}

/// Gives so many texts that are a file of ours with a few pieces taken out, put in or cut off.
fn break_text(name: &str, pieces: &[&str], count: usize, look: fn(&str)) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/boolean/");
    let source = std::fs::read_to_string(format!("{folder}{name}")).unwrap();
    let mut numbers = preempt_testing::Random::shifts(0x2545_F491_4F6C_DD1D, 16);
    let mut random = |n: usize| numbers.below(n);
    for _ in 0..count {
        let mut text: Vec<char> = source.chars().collect();
        for _ in 0..1 + random(4) {
            let at = random(text.len());
            match random(3) {
                0 => drop(text.remove(at)),
                1 => drop(text.splice(at..at, pieces[random(pieces.len())].chars())),
                _ => text.truncate(at.max(1)),
            }
        }
        look(&text.into_iter().collect::<String>());
    }
}

#[test]
fn broken_text_never_panics() {
    let pieces = [
        "begin",
        "end",
        ";",
        "(",
        ")",
        "*",
        ":=",
        "'",
        "{",
        "}",
        "L:",
        "goto L;",
        "é",
        "int<",
        "decl",
        "start_thread goto L;",
        "ASYNC_1:",
        "start_thread",
        "$x",
        "_ := T;",
        "99999999999999999999",
        "/*",
    ];
    break_text("recursive-lock.bp", &pieces, 3000, one_input::one_program);
}

#[test]
fn broken_systems_never_panic() {
    let pieces = ["PDA", "->", "-", "|", "0", "99999999999", "#", "\n", ",", ".", "é", "0|0,5\n"];
    break_text("ask-and-unwind.pds", &pieces, 2000, one_input::one_system);
}

#[test]
fn limits_and_interruptions_are_answers() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/boolean/bluetooth-2-2.bp");
    let source = std::fs::read_to_string(folder).unwrap();
    let (program, _) = parse(&source, "bluetooth.bp", Dialect::Slam).unwrap();
    let stopped = AtomicBool::new(true);
    for method in [Method::Lazy, Method::Eager, Method::Direct, Method::Explicit] {
        let ask = |limits| {
            let switches = Switches::AtMost(6);
            let options = Options {
                method: Some(method),
                switches,
                full: true,
                limits,
                ..Options::default()
            };
            check(&program, &options).unwrap().claim.verdict
        };
        let limits = Limits { interrupt: Some(&stopped), ..Limits::default() };
        assert_eq!(ask(limits), Verdict::Inconclusive(Stop::Interrupted), "{method:?}");
        if method != Method::Direct {
            let limits = Limits { memory_bytes: Some(300_000), ..Limits::default() };
            assert_eq!(ask(limits), Verdict::Inconclusive(Stop::Memory), "{method:?}");
        }
    }
}
