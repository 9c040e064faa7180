//! What the front end makes of a model: numbers, scopes, expansions, formulas.

mod support;

use preempt_promela::model::{
    BinaryOp, Expr, ExprKind, Formula, Initializer, Model, ReceiveArgument, Selector, Stmt,
    StmtKind, Type,
};
use preempt_promela::syntax::render::render_all;
use support::parse_text;

fn model(text: &str) -> Model {
    let parsed = parse_text(text);
    let shown = render_all(&parsed.diagnostics, &parsed.sources, false);
    parsed.model.unwrap_or_else(|| panic!("{shown}"))
}

fn body(model: &Model) -> &[Stmt] {
    &model.proctypes.last().expect("a process").body
}

fn constant(expression: &Expr) -> i32 {
    match &expression.kind {
        ExprKind::Const(value) => *value,
        ExprKind::Unary(_, operand) => -constant(operand),
        other => panic!("{other:?}"),
    }
}

/// The numbers were printed by Spin 6.5.2.
#[test]
fn symbolic_constants_are_numbered_as_in_spin() {
    let model = model("mtype = {a,b,c}; mtype = {d,e}; mtype:k = {f,g}; init { mtype x; x = a }");
    let values: Vec<(&str, u8)> = model.mtypes.iter().map(|m| (m.name.as_str(), m.value)).collect();
    assert_eq!(values, [("a", 3), ("b", 2), ("c", 1), ("d", 5), ("e", 4), ("f", 2), ("g", 1)]);
}

#[test]
fn numbers_are_decimal_and_cut_to_32_bits() {
    let model =
        model("init { int x; x = 010; x = 'a'; x = '\\n'; x = 4294967297; x = 2147483648 }");
    let values: Vec<i32> = body(&model)
        .iter()
        .filter_map(|s| match &s.kind {
            StmtKind::Assign(_, value) => Some(constant(value)),
            _ => None,
        })
        .collect();
    assert_eq!(values, [10, 97, 10, 1, -2147483648]);
}

#[test]
fn line_ends_separate_statements() {
    let model = model("init {\n int x, y\n x = y\n -y\n x++\n (x\n > 1)\n}");
    let kinds: Vec<&str> = body(&model)
        .iter()
        .map(|s| match &s.kind {
            StmtKind::Declare(_) => "declare",
            StmtKind::Assign(..) => "assign",
            StmtKind::Condition(_) => "condition",
            StmtKind::Increment(_) => "increment",
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds, ["declare", "assign", "condition", "increment", "condition"]);
}

#[test]
fn labels_of_inlines_belong_to_each_use() {
    let model = model(
        "inline f(a) { if :: a > 3 -> goto L :: else fi; a = 1; L: skip }\ninit { int x = 5; f(x); f(x) }",
    );
    let mut targets = Vec::new();
    let mut labels = Vec::new();
    for statement in body(&model) {
        let StmtKind::Block(inner) = &statement.kind else { continue };
        for statement in inner {
            labels.extend(statement.labels.iter().map(|l| l.name.clone()));
            if let StmtKind::If(branches) = &statement.kind
                && let StmtKind::Goto(label) = &branches[0].body[1].kind
            {
                targets.push(label.name.clone());
            }
        }
    }
    assert_eq!(labels, ["L", "L#2"]);
    assert_eq!(targets, labels);
}

#[test]
fn inlines_substitute_text_and_return_values() {
    let model = model("inline f(a) { return a * 2 }\ninit { int x; x = f(1 + 3) }");
    let StmtKind::Block(inner) = &body(&model)[1].kind else { panic!() };
    let StmtKind::Assign(_, value) = &inner[0].kind else { panic!() };
    let ExprKind::Binary(BinaryOp::Add, left, right) = &value.kind else { panic!("{value:?}") };
    assert_eq!(constant(left), 1);
    assert!(matches!(right.kind, ExprKind::Binary(BinaryOp::Multiply, ..)));
}

#[test]
fn structures_are_flattened_in_messages() {
    let model = model(
        "typedef A { byte p; byte q[2] }; typedef B { A z; int w };\nchan c = [2] of { B, byte };\n\
         init { B x; byte k; c!x,7; c?x,k; c?x }",
    );
    let sends: Vec<usize> = body(&model)
        .iter()
        .filter_map(|s| match &s.kind {
            StmtKind::Send { values, .. } => Some(values.len()),
            StmtKind::Receive { arguments, .. } => Some(arguments.len()),
            _ => None,
        })
        .collect();
    // A field that is left out stays out: receiving the message is then an error.
    assert_eq!(sends, [5, 5, 4]);
    let StmtKind::Send { values, .. } = &body(&model)[2].kind else { panic!() };
    let ExprKind::Read(place) = &values[2].kind else { panic!() };
    assert!(
        matches!(&place.path[..], [Selector::Field(..), Selector::Field(_, 1), Selector::Index(i, 2)] if constant(i) == 1)
    );
}

#[test]
fn receive_arguments_are_told_apart() {
    let model = model(
        "mtype = { m }; chan c = [1] of { mtype, byte, byte, byte };\n\
         init { byte x; c?m(x, eval(x), _); c??<m, -1, 3, x>; if :: c?[m, 1, x, _] -> skip fi; c!!m(1, 2, 3) }",
    );
    let StmtKind::Receive { arguments, random: false, copy: false, .. } = &body(&model)[1].kind
    else {
        panic!()
    };
    assert!(matches!(
        &arguments[..],
        [
            ReceiveArgument::Match(_),
            ReceiveArgument::Store(_),
            ReceiveArgument::Match(_),
            ReceiveArgument::Ignore
        ]
    ));
    let StmtKind::Receive { arguments, random: true, copy: true, .. } = &body(&model)[2].kind
    else {
        panic!()
    };
    assert!(matches!(&arguments[1], ReceiveArgument::Match(e) if constant(e) == -1));
    assert!(matches!(&body(&model)[4].kind, StmtKind::Send { sorted: true, .. }));
}

fn shape(formula: &Formula) -> String {
    let two = |name: &str, a: &Formula, b: &Formula| format!("({} {name} {})", shape(a), shape(b));
    match formula {
        Formula::Prop(expression) => match &expression.kind {
            ExprKind::Read(place) => match place.base {
                preempt_promela::model::Base::Global(id) => {
                    ["p", "q", "r"][id.0 as usize].to_string()
                }
                _ => "?".into(),
            },
            _ => "e".into(),
        },
        Formula::Const(value) => value.to_string(),
        Formula::Not(a) => format!("!{}", shape(a)),
        Formula::Next(a) => format!("X{}", shape(a)),
        Formula::Always(a) => format!("G{}", shape(a)),
        Formula::Eventually(a) => format!("F{}", shape(a)),
        Formula::And(a, b) => two("&", a, b),
        Formula::Or(a, b) => two("|", a, b),
        Formula::Implies(a, b) => two("->", a, b),
        Formula::Equivalent(a, b) => two("<->", a, b),
        Formula::Until(a, b) => two("U", a, b),
        Formula::WeakUntil(a, b) => two("W", a, b),
        Formula::Release(a, b) => two("V", a, b),
    }
}

/// The left column as Spin 6.5.2 prints it back with all its parentheses (but for X, which
/// Debian's build refuses).
#[test]
fn formulas_bind_as_in_spin() {
    let cases = [
        ("[] p && q", "(Gp & q)"),
        ("[] p U q", "(Gp U q)"),
        ("[] p -> <> q", "(Gp -> Fq)"),
        ("p && q U r", "(p & (q U r))"),
        ("p U q U r", "((p U q) U r)"),
        ("p -> q -> r", "((p -> q) -> r)"),
        ("! p U q", "(!p U q)"),
        ("p || q && r", "(p | (q & r))"),
        ("<> (p == 1)", "Fe"),
        ("p U [] q && r", "((p U Gq) & r)"),
        ("[] <> p || q", "(GFp | q)"),
        ("! [] p U q", "(!Gp U q)"),
        ("p release q", "(p V q)"),
        ("p equivalent q", "(p <-> q)"),
        ("p W q", "(p W q)"),
        ("p V q", "(p V q)"),
        ("always p implies eventually q", "(Gp -> Fq)"),
        ("p until q", "(p U q)"),
        ("p <-> q", "(p <-> q)"),
        ("X p U q", "(Xp U q)"),
        ("[] true", "Gtrue"),
    ];
    for (text, wanted) in cases {
        let model = model(&format!("bool p, q, r;\nltl f {{ {text} }}\ninit {{ p = q; q = r }}"));
        assert_eq!(shape(&model.formulas[0].formula), wanted, "{text}");
        assert_eq!(model.formulas[0].text, text);
    }
}

/// Spin reads these as `([] p) == 1` and builds nonsense; we say so.
#[test]
fn a_temporal_formula_is_no_operand() {
    for text in ["[] p == 1", "<> p + 1 > 0", "X p < 2"] {
        let parsed = parse_text(&format!("byte p;\nltl f {{ {text} }}\ninit {{ p = 1 }}"));
        assert_eq!(parsed.diagnostics[0].code, "P0062", "{text}");
    }
}

#[test]
fn process_types_carry_their_settings() {
    let model = model(
        "byte g;\nactive [2] proctype A() priority 4 provided (g > 0) { g = 1 }\n\
         D_proctype B(byte x, y; chan c) { c!x,y }\ninit priority 2 { chan c = [1] of { byte, byte }; run B(1, 2, c) priority 3; c?_,_ }",
    );
    let [a, b, init] = &model.proctypes[..] else { panic!() };
    assert_eq!(
        (a.active, a.priority, a.provided.is_some(), a.deterministic),
        (2, Some(4), true, false)
    );
    assert_eq!((b.active, b.parameter_count, b.deterministic), (0, 3, true));
    assert_eq!((init.name.as_str(), init.active, init.priority), (":init:", 1, Some(2)));
    assert!(
        matches!(&init.locals[0].init, Some(Initializer::Channel(c)) if c.capacity == 1 && c.fields == [Type::Byte, Type::Byte])
    );
}

#[test]
fn the_preprocessor_follows_c() {
    let model = model(
        "#define N 2 + 3\n#define cat(a, b) a ## b\n#define second(a, ...) __VA_ARGS__\n\
         #if defined(N) && !defined M && (N * 2) == 8\nint x1 = N;\n#else\n#error wrong branch\n#endif\n\
         #ifdef M\n' unbalanced \" text\n#elif 1\nbyte ok;\n#endif\n\
         init { cat(x, 1) = second(1, 7); ok = \\\n 1 }",
    );
    assert_eq!(model.globals.len(), 2);
    assert!(matches!(&body(&model)[0].kind, StmtKind::Assign(_, value) if constant(value) == 7));
}
