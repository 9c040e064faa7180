//! Jumps, labels and escapes that cannot be executed as they are written are refused, with their position; where Spin is
//! installed, it refuses the same models.

mod support;

use preempt_promela::ir::{LowerOptions, lower};
use std::process::Command;

/// A body, its code if it is refused, and the text that the diagnostic points at.
type Case = (&'static str, Option<(&'static str, &'static str)>);

const CASES: &[Case] = &[
    // Out of a `d_step`.
    ("d_step { goto bad }; goto done; bad: assert(false); done: skip", Some(("P0076", "goto bad"))),
    ("d_step { x = 1; goto L; x = 3 }; x = 4; L: assert(x == 1)", Some(("P0076", "goto L"))),
    ("d_step { x = 1; goto L; x = 3 }; L: assert(x == 1)", Some(("P0076", "goto L"))),
    ("L: skip; d_step { x = 1; goto L }", Some(("P0076", "goto L"))),
    ("do :: d_step { x < 3 -> x++; break } od", Some(("P0076", "break"))),
    ("do :: d_step { if :: x < 3 -> x++ :: else -> break fi } od", Some(("P0076", "break"))),
    ("for (x : 1 .. 3) { d_step { x = 4; break } }", Some(("P0076", "break"))),
    ("d_step { x = 1; { x = 2; goto L } }; x = 4; L: skip", Some(("P0076", "goto L"))),
    ("d_step { x = 1; atomic { x = 2; goto L } }; x = 4; L: skip", Some(("P0076", "goto L"))),
    ("atomic { d_step { x = 2; goto L; x = 3 }; x = 4; L: x = 5 }", Some(("P0076", "goto L"))),
    // Into a `d_step`.
    ("goto L; d_step { x = 1; L: assert(x == 0) }", Some(("P0076", "goto L"))),
    ("d_step { x = 1; L: x = 2 }; if :: x < 9 -> goto L :: else fi", Some(("P0076", "goto L"))),
    ("d_step { x = 1; goto L }; d_step { x = 2; L: x = 3 }", Some(("P0076", "goto L"))),
    // To the start of one.
    ("goto L; x = 2; L: d_step { x = 1; x = 2 }", Some(("P0076", "goto L"))),
    ("do :: x < 3 -> x++ :: else -> break od; d_step { x = 1; x = 2 }", Some(("P0076", "break"))),
    (
        "do :: atomic { x++; if :: x > 2 -> break :: else fi; x++ } od; d_step { x = 1 }",
        Some(("P0076", "break")),
    ),
    ("goto L; L: skip; d_step { x = 1; x = 2 }", None),
    // Across an inner one, which Spin confuses with the outer one.
    (
        "d_step { x = 1; L: x++; d_step { x++ }; if :: x < 9 -> goto L :: else fi }",
        Some(("P0076", "goto L")),
    ),
    (
        "d_step { x = 2; d_step { x = 4 }; if :: x == 5 -> goto L :: else fi; x = 3; L: x = 6 }",
        None,
    ),
    // Inside.
    ("d_step { if :: x < 3 -> goto L :: else -> x = 1 fi; x = 4; L: x = 2 }; x = 5", None),
    ("d_step { do :: x < 3 -> x++ :: else -> break od }; x = 5", None),
    ("d_step { x = 2; atomic { x = 4; L: x = 5 }; if :: x < 3 -> goto L :: else fi }", None),
    // Escapes.
    (
        "d_step { x = 1; { x = 2; x = 5 } unless { x == 2 } }",
        Some(("P0077", "{ x = 2; x = 5 } unless { x == 2 }")),
    ),
    (
        "d_step { { x = 2; x = 5 } unless { x == 2 }; x = 3 }",
        Some(("P0077", "{ x = 2; x = 5 } unless { x == 2 }")),
    ),
    (
        "d_step { x = 1; if :: x > 0 -> x = 3 unless x == 4 :: else fi }",
        Some(("P0077", "x = 3 unless x == 4")),
    ),
    ("d_step { x = 1; x = 2 } unless { x == 3 }", None),
    ("x = 1 unless { d_step { x == 3; x = 2 } }", None),
    // Labels.
    ("atomic { L: x++; x < 3 -> goto L }", Some(("P0078", "L"))),
    ("d_step { L: x++; x = 3 }; goto L", Some(("P0078", "L"))),
    ("{ L: x++; x = 3 }; goto L", Some(("P0078", "L"))),
    ("{ L: if :: x++ fi; x = 3 }; goto L", Some(("P0078", "L"))),
    ("{ L: { x++ } unless { x == 2 } }; goto L", Some(("P0078", "L"))),
    ("L: x++ unless x == 4; goto L", Some(("P0078", "L"))),
    ("x++ unless L: x == 4; goto L", Some(("P0078", "L"))),
    ("{ x++ } unless { L: x == 4 }; goto L", Some(("P0078", "L"))),
    ("{ end: goto end }", Some(("P0078", "end"))),
    ("{ byte y; L: x++; y = 3 }; goto L", None),
    ("{ L: do :: x > 2 -> break :: else -> x++ od }; goto L", None),
    ("L: { x++ } unless { x == 4 }; goto L", None),
    ("if :: L: x++ :: x > 2 -> goto M fi; goto L; M: skip", None),
    // Jumps in a circle.
    ("L: goto L", Some(("P0079", "goto L"))),
    ("L: goto M; x = 1; M: goto L", Some(("P0079", "goto M"))),
    ("if :: x = 1 :: L: goto M fi; M: goto L", Some(("P0079", "goto M"))),
    ("d_step { skip; L: goto L; skip }", Some(("P0079", "goto L"))),
    ("end: goto end", None),
];

/// The code and the text it points at.
fn ours(text: &str) -> Option<(String, String)> {
    let parsed = support::parse_text(text);
    let model = parsed.model.unwrap_or_else(|| panic!("{text}: {:?}", parsed.diagnostics));
    let diagnostic = lower(&model, LowerOptions::default()).err()?.diagnostic();
    let span = diagnostic.primary;
    let place = &text[span.start as usize..span.end as usize];
    Some((diagnostic.code.to_string(), place.to_string()))
}

#[test]
fn what_cannot_be_executed_is_refused_where_spin_refuses_it() {
    let folder = std::env::temp_dir().join(format!("preempt-jumps-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    for (body, wanted) in CASES {
        let text = format!("byte x; active proctype A() {{ {body} }}");
        let wanted = wanted.map(|(code, place)| (code.to_string(), place.to_string()));
        assert_eq!(ours(&text), wanted, "{body}");
        std::fs::write(folder.join("m.pml"), &text).expect("the model can be written");
        let spin = Command::new("spin").args(["-a", "m.pml"]).current_dir(&folder).output();
        if let Ok(spin) = spin {
            let said = String::from_utf8_lossy(&spin.stdout).into_owned();
            let refused = !spin.status.success() || said.contains("unless in d_step");
            assert_eq!(refused, wanted.is_some(), "Spin: {body}: {said}");
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn a_jump_in_an_inline_is_shown_where_it_stands() {
    let text = "byte x; inline leave() { x++; goto out }\nactive proctype A() { d_step { leave() }; out: skip }";
    assert_eq!(ours(text), Some(("P0076".into(), "goto out".into())));
}

#[test]
fn a_jump_into_a_d_step_behind_an_inner_one_is_refused_although_spin_accepts_it() {
    let text =
        "byte x; active proctype A() { goto L; d_step { d_step { x = 1 }; L: assert(x == 1) } }";
    assert_eq!(ours(text), Some(("P0076".into(), "goto L".into())));
}
