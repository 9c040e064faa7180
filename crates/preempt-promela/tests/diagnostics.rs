//! How diagnostics look: places, excerpts, macros, suggestions.

mod support;

use preempt_promela::syntax::{ParseOptions, parse, parse_formula, render::render_all};
use support::parse_text;

fn show(text: &str) -> String {
    let parsed = parse_text(text);
    render_all(&parsed.diagnostics, &parsed.sources, false)
}

#[test]
fn a_slip_in_a_name() {
    insta::assert_snapshot!(show("byte count;\n\ninit {\n\tconut = 1;\n\tassert(count == 1)\n}\n"));
}

#[test]
fn several_syntax_errors_at_once() {
    insta::assert_snapshot!(show(
        "byte x;\ninit {\n\tx = ;\n\tif\n\t:: x == 1 -> x = 2 x = 3\n\t:: else -> brake\n\tfi;\n\tx = (x + 1;\n\tx = 0x1F\n}\n"
    ));
}

#[test]
fn inside_a_macro() {
    insta::assert_snapshot!(show(
        "#define bump(v) v = v + stepp\n#define twice(v) bump(v); bump(v)\nbyte x, step;\ninit {\n\ttwice(x);\n\tx = step\n}\n"
    ));
}

#[test]
fn inside_an_inline() {
    insta::assert_snapshot!(show(
        "byte x;\ninline take(lock) {\n\tatomic { !lock -> lock = tru }\n}\nactive proctype P() {\n\ttake(x)\n}\n"
    ));
}

#[test]
fn inside_an_included_file() {
    let loader = |_: &str, path: &str| {
        assert_eq!(path, "defs.h");
        Ok(b"#define N 3\nbyte a[N];\nbite b;\n".to_vec())
    };
    let text = b"#include \"defs.h\"\ninit { a[0] = 1 }\n".to_vec();
    let parsed =
        parse("dir/model.pml", text, &ParseOptions { defines: Vec::new(), loader: &loader });
    insta::assert_snapshot!(render_all(&parsed.diagnostics, &parsed.sources, false));
}

#[test]
fn values_from_the_command_line() {
    let loader = |_: &str, _: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    let defines = vec![("N".to_string(), "0".to_string())];
    let parsed = parse(
        "model.pml",
        b"byte a[N];\ninit { a[0] = 1 }\n".to_vec(),
        &ParseOptions { defines, loader: &loader },
    );
    insta::assert_snapshot!(render_all(&parsed.diagnostics, &parsed.sources, false));
}

#[test]
fn types_and_messages() {
    insta::assert_snapshot!(show(
        "typedef Point { byte x; byte y };\nPoint p;\nchan c = [2] of { byte, Point };\nbyte a[3];\n\
         proctype Q(byte n) { n = 1 }\n\
         init {\n\tp = 3;\n\tp.z = 1;\n\tc!1,2,3,4;\n\ta = 1;\n\trun Q();\n\trun R(1);\n\t_pid = 2;\n\tgoto nowhere;\n\ta[7] = 1\n}\n"
    ));
}

#[test]
fn suspicious_but_accepted() {
    insta::assert_snapshot!(show(
        "byte unused;\nbyte small = 300;\nchan lost = [1] of { byte };\n\
         init {\n\tbyte idle;\nnobody:\n\tsmall = 256;\n\tlost!1;\n\tif\n\t:: true -> skip\n\t:: false -> skip\n\t:: else -> skip\n\tfi;\n\tprintf(\"%d %d\\n\", small)\n}\n"
    ));
}

#[test]
fn embedded_c_is_refused_where_it_cannot_stand() {
    insta::assert_snapshot!(show(
        "c_expr { 1 }\nc_state \"int x\" \"Somewhere\"\nc_track \"&x\"\ninit {\n\tc_decl { int x; };\n\tassert(c_code { x++; });\n\tc_code { x++;\n}\n"
    ));
}

#[test]
fn formulas_apart_from_the_model() {
    let mut model = parse_text(
        "#define high (level > 3)\nbyte level;\nactive proctype pump() { byte own; own = level; wait: level++ }\n",
    )
    .model
    .expect("accepted");
    for good in [
        "[] (level < 4)",
        "<> high",
        "[] (high -> <> !high)",
        "<> pump@wait",
        "[] (pump[0]:own <= 1)",
    ] {
        assert!(parse_formula(good, &mut model).is_ok(), "{good}");
    }
    let mut shown = String::new();
    for bad in [
        "[] (own < 4)",
        "[] (levle < 4)",
        "<> pump@here",
        "[] (level <",
        "level ]",
        "<> ([] level) + 1",
    ] {
        let errors = parse_formula(bad, &mut model).expect_err(bad);
        shown.push_str(&render_all(&errors.diagnostics, &errors.sources, false));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn errors_of_all_kinds_show_at_once() {
    insta::assert_snapshot!(show(
        "byte count;\nmtype:colour = { red };\nbyte lost lost2;\n\
         proctype P(byte n) {\n\tcount = nn;\n\tcount = = 2;\n\tlost2 = 1;\n\tgoto nowhere\n}\n\
         init {\n\tbyte x;\n\tx = ;\n\trun P();\n\tconut = 1;\n\tx.field = 2\n}\n"
    ));
}

#[test]
fn sets_channels_and_numbers_mixed_up() {
    insta::assert_snapshot!(show(
        "mtype:colour = { red };\nmtype:size = { big };\nmtype:colour c;\nmtype:size s;\n\
         chan q = [1] of { mtype:colour, chan };\nchan p;\nproctype P(mtype:colour x; chan y) { x == red; y!1 }\n\
         init {\n\tc = big;\n\tc = s;\n\tc == big;\n\tq!s,1;\n\tq?s,c;\n\tp = 1;\n\trun P(big, q);\n\tq?c,c\n}\n"
    ));
}
