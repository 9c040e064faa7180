//! `_last` in formulas: which process moved last, with and without reduction, as in Spin 6.5.2.

use std::process::Command;

/// Each formula with whether Spin 6.5.2 reports an error (`-DNOREDUCE`, `./pan -a -N name`).
const FORMULAS: [(&str, bool); 4] = [
    ("[] (_last == 1 -> x == 0)", true),
    ("[] <> (_last == 1)", true),
    ("[] (_last == 0 || _last == 1)", false),
    ("<> (_last == 1)", false),
];

#[test]
fn formulas_see_the_last_mover() {
    let path = std::env::temp_dir().join(format!("preempt-last-{}.pml", std::process::id()));
    let model = "byte x;\nactive proctype P() { do :: x < 3 -> x++ :: x == 3 -> break od }\n\
                 active proctype Q() { x = 0 }\n";
    for (formula, violated) in FORMULAS {
        std::fs::write(&path, format!("{model}ltl p {{ {formula} }}\n")).expect("written");
        for options in [&["--por", "off"][..], &["--por", "on"], &["--iterate"]] {
            let output = Command::new(env!("CARGO_BIN_EXE_preempt"))
                .args(["check", "-q"])
                .args(options)
                .arg(&path)
                .output()
                .expect("the command runs");
            let code = Some(i32::from(violated));
            assert_eq!(output.status.code(), code, "{formula} {options:?}: {output:?}");
        }
    }
    let _ = std::fs::remove_file(path);
}
