//! The real Spin, where it is installed, must agree: on what is accepted, and on how operators bind.

mod support;

use preempt_testing::Random;
use std::path::PathBuf;
use std::process::Command;

use preempt_promela::ir::{LowerOptions, can_be_lowered};
use preempt_promela::model::{BinaryOp, Expr, ExprKind, StmtKind, UnaryOp};
use preempt_promela::syntax::render::render_all;
use support::parse_text;

/// A folder of its own for one test; `None` when Spin is absent.
fn scratch(name: &str) -> Option<PathBuf> {
    if !preempt_testing::peers(&["spin"]) {
        return None;
    }
    let folder = std::env::temp_dir().join(format!("preempt-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for Spin");
    Some(folder)
}

fn spin(folder: &PathBuf, arguments: &[&str], text: &str) -> (bool, String) {
    std::fs::write(folder.join("m.pml"), text).expect("written");
    let output = Command::new("spin")
        .args(arguments)
        .arg("m.pml")
        .current_dir(folder)
        .output()
        .expect("spin runs");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    // Spin calls `else` beside a send or receive an error, and goes on all the same.
    let refused = |line: &str| line.contains("Error") && !line.contains("dubious use of 'else'");
    (output.status.success() && !shown.lines().any(refused), shown)
}

const MODELS: &[&str] = &[
    // Separators.
    "init { byte x; x = 1;; x = 2; }",
    "init { byte x; { x = 2 } x = 3 }",
    "init { byte x; x = 1 x = 2 }",
    "init { byte x; if :: x == 0 fi x = 1 }",
    "init {\nbyte x\nif\n:: x == 0\n:: else\nx = 2\nfi\nx = 3\n}",
    "init { byte x; if :: -> x = 1 fi }",
    "init { ; skip }",
    "init { skip;;; }",
    "init { }",
    "init { byte x; x = 1\n+ 2 }",
    "init { byte x; for (x : 1 .. 2)\n{ skip } }",
    "mtype = { a b, c }; init { skip }",
    "typedef T { byte a\n byte b }\nT t\ninit { t.a = 1; t.b = 2 }",
    "mtype = { a,\nb\n}\nmtype x\ninit { x = a }",
    "byte a; init { a = a--1 }",
    // Numbers and strings.
    "init { int x; x = 0x10 }",
    "init { int x; x = 010 }",
    "init { printf(\"a\" \"b\") }",
    // Names and scopes.
    "byte x; byte x; init { skip }",
    "byte x; init { byte x; x = 1 }",
    "init { byte n; { byte n; n = 1 } }",
    "init { { byte n; n = 1 }; { byte n; n = 2 } }",
    "proctype P(byte x) { byte x; x = 2 } init { run P(1) }",
    "init { x = 1 }",
    "init { x = 1; byte x }",
    "mtype = { a }; init { byte a; a = 1 }",
    "mtype = { a, b }; mtype = { a }; init { skip }",
    "byte A; proctype A() { skip } init { skip }",
    "byte in; init { in = 1; byte next; next = 2 }",
    "byte b; init { b: skip }",
    "proctype A() { run B() } proctype B() { skip } init { run A() }",
    "init { run B() }",
    // Labels and jumps.
    "init { goto e; e: }",
    "init { goto nowhere; skip }",
    "init { a: skip; a: skip }",
    "init { a: byte x; x = 1 }",
    "init { break }",
    "inline f(a) { if :: a > 3 -> goto L :: else fi; a = 1; L: skip } init { int x = 5; f(x); f(x) }",
    "proctype A() { l: skip } init { A[0]@m }",
    "proctype A() { l: skip } init { A[0]@l }",
    // Options.
    "init { if :: else -> skip :: else -> skip fi }",
    "init { else -> skip }",
    "chan c = [1] of { byte }; init { byte x; if :: c?x :: else fi }",
    "chan c = [1] of { byte }; init { byte x; if :: c?[x] -> c?x :: else fi }",
    "init { skip unless skip unless skip }",
    // Channels and messages.
    "chan c = [1] of { byte }; init { !full(c) -> skip }",
    "chan c = [1] of { byte }; init { nfull(c) && nempty(c) -> skip }",
    "chan c = [1] of { byte }; init { (full(c) == 0) -> skip }",
    "chan c = [1] of { byte, byte }; init { byte a; c!1; c?a }",
    "chan c = [1] of { byte }; init { c!1,2 }",
    "chan c = [2] of { byte, byte }; init { byte x; c!3(4); c?eval(x)(_); c?(3,4); c?[3,4] }",
    "chan c = [1] of { byte }; init { c++ }",
    "init { skip; chan c = [1] of { byte }; c!1 }",
    "init { byte x; chan c = [1] of { byte }; c!1 }",
    "typedef A { byte p; byte q[2] }; typedef B { A z; int w }; chan c = [2] of { B, byte }; init { B x; byte k; c!x,7; c?x,k }",
    "byte x; chan c = [1] of { byte }; init { x!3; c!1 }",
    "byte x; chan c = [1] of { byte }; init { x?3; c!1 }",
    "byte x; chan c = [1] of { byte }; init { empty(x); c!1 }",
    // Types.
    "typedef A { byte p }; init { A x; A y; x = y }",
    "typedef A { byte p }; A v; init { v.q = 1 }",
    "byte v; init { v.q = 1 }",
    "byte a[3]; init { a = 1 }",
    "byte s; init { s[0] = 1 }",
    "byte a[0]; init { skip }",
    "byte a[2] = { 1, 2, 3 }; init { skip }",
    "byte n = 3; byte arr[n]; init { arr[0] = n }",
    "unsigned x : 32; init { x = 1 }",
    "unsigned x : 31; init { x = 1 }",
    "unsigned x; init { x = 1 }",
    "byte x : 3; init { x = 1 }",
    "proctype P(byte x[2]) { skip } init { run P(1) }",
    "typedef T { byte a; byte b }; proctype P(T t) { t.b == 1 } init { T x; run P(x) }",
    "init { _pid = 3 }",
    "active proctype P() { _priority = 3 }",
    // Sets of symbolic constants, channels and numbers.
    "mtype:a = { p }; mtype:b = { q }; mtype:a x; init { x = q }",
    "mtype:a = { p }; mtype:b = { q }; mtype:a x; mtype:b y; init { x = y }",
    "mtype:a = { p }; mtype m; init { m = p }",
    "mtype:a = { p }; mtype:b = { q }; mtype:a x; init { x == q }",
    "mtype:a = { p }; byte x; init { x = p }",
    "mtype:a = { p }; mtype:a x; init { x = 3 }",
    "mtype:a = { p }; mtype:b = { q }; mtype:a x = q; init { x = p }",
    "mtype = { p }; mtype:a = { q }; proctype P(mtype x) { x = p } init { run P(q) }",
    "mtype:a = { p }; mtype:b = { q }; chan c = [1] of { mtype:a }; init { c!q; c?q }",
    "chan c; init { c = 1 }",
    "chan c; byte x; init { c = x }",
    "chan c = [1] of { byte }; chan d; init { d = c }",
    "chan c = [1] of { chan }; init { c!1; c!c; byte x; c?x }",
    "chan c = [1] of { byte, byte }; init { byte x; c?x,x }",
    "chan c = [1] of { byte, byte }; init { byte x; c?<x,x> }",
    "chan c = [1] of { byte, byte }; init { byte x; c?x,eval(x) }",
    "chan c = [1] of { byte, byte }; init { byte x; c?[x,x] }",
    "chan c = [1] of { byte, byte }; init { byte x[2]; c?x[0],x[1] }",
    "chan c = [1] of { byte, byte }; init { byte x[2]; c?x[0],x[0] }",
    // Run, claims, formulas.
    "proctype P() { skip } init { run P() > 0 }",
    "proctype P() { skip } init { byte x; x = run P() + 1 }",
    "init { np_ }",
    "proctype P() { skip }",
    "active proctype P() { byte x; x = 1 } ltl { [] (P:x < 2) }",
    "active proctype P() { byte x; x = 1 } ltl { [] (x < 2) }",
    "byte p; init { p = 1 } ltl f { [] (p -> <> !p) }",
    "byte p; init { p = 1 } ltl f { always (p implies eventually (p == 0)) }",
    "inline f(a) { return a + 1 } init { int x; x = f(3) }",
    "inline f(a) { a = 1 } init { int x; f() }",
    "init { f(3) }",
];

#[test]
fn spin_and_we_accept_the_same() {
    let Some(folder) = scratch("accept") else { return };
    for text in MODELS {
        let (accepted, said) = spin(&folder, &["-a"], text);
        let mut parsed = parse_text(text);
        if let Some(model) = &parsed.model
            && let Err(error) = can_be_lowered(model, LowerOptions::default())
        {
            parsed.diagnostics.push(error.diagnostic());
        }
        let ours = render_all(&parsed.diagnostics, &parsed.sources, false);
        let is_right = parsed.diagnostics.iter().all(|diagnostic| !diagnostic.is_error());
        assert_eq!(is_right, accepted, "{text}\nSpin: {said}\nwe: {ours}");
    }
    let _ = std::fs::remove_dir_all(folder);
}

/// Random operators without parentheses, where binding shows.
fn expression(random: &mut Random) -> String {
    const OPERATORS: &[&str] = &[
        "+", "-", "*", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "<<", ">>",
        "/", "%",
    ];
    const PREFIXES: &[&str] = &["", "", "", "", "-", "~", "!"];
    let mut text = String::new();
    for i in 0..2 + random.below(5) {
        let mut safe = false;
        if i > 0 {
            let operator = OPERATORS[random.below(OPERATORS.len() as u64) as usize];
            // A constant on the right keeps division and shifts defined.
            safe = matches!(operator, "/" | "%" | "<<" | ">>");
            text.push_str(&format!(" {operator} "));
        }
        if safe {
            text.push_str(&format!("{}", 1 + random.below(5)));
        } else {
            let prefix = PREFIXES[random.below(PREFIXES.len() as u64) as usize];
            text.push_str(&format!("{prefix}{}", random.below(12)));
        }
    }
    text
}

/// `None` where C leaves the value open: shifts by nothing sensible.
fn value(expression: &Expr) -> Option<i32> {
    Some(match &expression.kind {
        ExprKind::Const(value) => *value,
        ExprKind::Unary(UnaryOp::Negate, a) => value(a)?.wrapping_neg(),
        ExprKind::Unary(UnaryOp::Not, a) => i32::from(value(a)? == 0),
        ExprKind::Unary(UnaryOp::Complement, a) => !value(a)?,
        ExprKind::Binary(operator, a, b) => {
            let (a, b) = (value(a)?, value(b)?);
            match operator {
                BinaryOp::Add => a.wrapping_add(b),
                BinaryOp::Subtract => a.wrapping_sub(b),
                BinaryOp::Multiply => a.wrapping_mul(b),
                BinaryOp::Divide => a / b,
                BinaryOp::Remainder => a % b,
                BinaryOp::ShiftLeft => a.checked_shl(u32::try_from(b).ok()?)?,
                BinaryOp::ShiftRight => a.checked_shr(u32::try_from(b).ok()?)?,
                BinaryOp::BitAnd => a & b,
                BinaryOp::BitOr => a | b,
                BinaryOp::BitXor => a ^ b,
                BinaryOp::And => i32::from(a != 0 && b != 0),
                BinaryOp::Or => i32::from(a != 0 || b != 0),
                BinaryOp::Equal => i32::from(a == b),
                BinaryOp::NotEqual => i32::from(a != b),
                BinaryOp::Less => i32::from(a < b),
                BinaryOp::LessEqual => i32::from(a <= b),
                BinaryOp::Greater => i32::from(a > b),
                BinaryOp::GreaterEqual => i32::from(a >= b),
            }
        }
        other => panic!("{other:?}"),
    })
}

#[test]
fn operators_bind_as_in_spin() {
    let Some(folder) = scratch("operators") else { return };
    let mut random = Random::shifts(42, 0);
    let expressions: Vec<String> = (0..300).map(|_| expression(&mut random)).collect();
    let prints: String =
        expressions.iter().map(|e| format!("\tprintf(\"=%d=\\n\", {e});\n")).collect();
    let text = format!("init {{\n{prints}\tskip\n}}\n");
    let (_, shown) = spin(&folder, &["-T"], &text);
    let theirs: Vec<i32> = shown
        .lines()
        .filter_map(|l| l.trim().strip_prefix('=')?.strip_suffix('=')?.parse().ok())
        .collect();
    assert_eq!(theirs.len(), expressions.len(), "{shown}");
    let parsed = parse_text(&text);
    let model = parsed.model.expect("accepted");
    let ours = model.proctypes[0].body.iter().filter_map(|s| match &s.kind {
        StmtKind::Printf { arguments, .. } => Some(value(&arguments[0])),
        _ => None,
    });
    let mut compared = 0;
    for ((ours, theirs), text) in ours.zip(theirs).zip(&expressions) {
        if let Some(ours) = ours {
            assert_eq!(ours, theirs, "{text}");
            compared += 1;
        }
    }
    assert!(compared > 200, "{compared}");
    let _ = std::fs::remove_dir_all(folder);
}
