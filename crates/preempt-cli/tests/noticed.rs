//! Steps that touch no data, but that others notice: reduction must not put the others off. Spin's does,
//! where it is installed to be asked.

use preempt_check::{Check, Options, Reduction, Search};
use preempt_core::{System, Verdict};
use preempt_native::Native;
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{LowerOptions, lower};
use preempt_promela::syntax::{ParseOptions, parse};
use std::process::Command;

/// Only in the middle are there three processes.
const COUNTED: &str = "proctype A() { end: false }
    active proctype P() { end: (_nr_pr == 3) -> assert(false) }
    init { run A(); run A(); run A() }";
/// The process that is started first gets the lower number.
const NUMBERED: [&str; 2] = [
    "proctype X(byte n) { end: (_pid == 2 && n == 1) -> assert(false) }
     active proctype P() { run X(1) }
     active proctype Q() { run X(2) }",
    "proctype X(byte n) { end: (_pid == 2 && n == 2) -> assert(false) }
     active proctype P() { run X(1) }
     active proctype Q() { run X(2) }",
];
/// No process can go on if another one moved last.
const LAST: &str = "byte g, h; chan d = [1] of { byte };
    active proctype E() { end: (h == 2) }
    active proctype P() { byte x; d!g; x = 1; if :: x == 1 -> h = 1 :: else fi; (_last == 1) }
    active proctype Q() { byte y; y = 0; do :: y < 1 -> y++ :: break od }";

fn interpreter(text: &str, safe_as_spin: bool) -> Interpreter {
    let loader = |_: &str, _: &str| Err(std::io::Error::other("nothing is included"));
    let options = ParseOptions { defines: Vec::new(), loader: &loader };
    let model = parse("noticed.pml", text.as_bytes().to_vec(), &options).model;
    let options = LowerOptions { safe_as_spin, ..LowerOptions::default() };
    Interpreter::new(lower(&model.expect("a model"), options).expect("a model that can be run"))
}

fn verdicts<S: System + ?Sized>(system: &S) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for reduction in [Reduction::None, Reduction::Spin, Reduction::Full] {
        for (search, threads) in [(Search::Breadth, 1), (Search::Depth, 1), (Search::Auto, 2)] {
            let options = Options { reduction, search, threads, ..Options::default() };
            verdicts.push(Check::new(system).options(options).run().verdict());
        }
    }
    verdicts
}

#[test]
fn nobody_is_put_off() {
    let mut models: Vec<(String, Option<Verdict>)> =
        vec![(COUNTED.into(), Some(Verdict::Violated)), (LAST.into(), Some(Verdict::Violated))];
    models.extend(NUMBERED.map(|text| (text.into(), Some(Verdict::Violated))));
    // Each place where the other process can be seen, by its number or by what it can do.
    for condition in ["pc_value(0) == K", "enabled(0) == (K % 2)"] {
        for number in 0..10 {
            let condition = condition.replace('K', &number.to_string());
            let text = format!(
                "active proctype A() {{ byte l; do :: l < 2 -> l++ :: else -> break od; end: false }}
                 active proctype P() {{ end: ({condition}) -> assert(false) }}"
            );
            models.push((text, None));
        }
    }
    for (text, expected) in models {
        let reference = interpreter(&text, false);
        let native = Native::new(&reference).expect("there is machine code");
        native.prepare();
        let all = [verdicts(&reference), verdicts(&native)].concat();
        let truth = expected.unwrap_or(all[0]);
        assert!(all.iter().all(|verdict| *verdict == truth), "{all:?}\n{text}");
    }
}

/// What real Spin counts: states and errors. `None` where it is not installed.
fn ask_spin(text: &str, flags: &[&str]) -> Option<(u64, u64)> {
    if !preempt_testing::peers(&["spin", &preempt_testing::c_compiler()]) {
        return None;
    }
    let name = format!("preempt-noticed-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).ok()?;
    std::fs::write(folder.join("m.pml"), text).ok()?;
    let run = |program: &str, arguments: &[&str]| {
        Command::new(program).args(arguments).current_dir(&folder).output().ok()
    };
    run("spin", &["-a", "m.pml"])?;
    run(
        &preempt_testing::c_compiler(),
        &[&["-O0", "-w", "-DSAFETY", "-o", "pan", "pan.c"], flags].concat(),
    )?;
    let report = String::from_utf8(run("./pan", &["-c0", "-n"])?.stdout).ok()?;
    let _ = std::fs::remove_dir_all(&folder);
    let states = report.split(" states, stored").next()?.split_whitespace().next_back()?;
    let errors = report.split("errors: ").nth(1)?.split_whitespace().next()?;
    Some((states.parse().ok()?, errors.parse().ok()?))
}

/// By Spin's rules a violation would be missed; so it is by Spin. Where every step is noticed it does not
/// reduce, and as Spin neither do we.
#[test]
fn as_spin_does() {
    let reference = interpreter(COUNTED, true);
    let options = Options { reduction: Reduction::Spin, ..Options::default() };
    assert_eq!(Check::new(&reference).options(options).run().verdict(), Verdict::Holds);
    if let (Some(reduced), Some(full)) =
        (ask_spin(COUNTED, &[]), ask_spin(COUNTED, &["-DNOREDUCE"]))
    {
        assert!(reduced.1 == 0 && full.1 > 0, "Spin with and without its reduction: {full:?}");
    }
    let looking = |condition: &str| {
        format!(
            "byte g;
             active proctype P() {{ byte x; do :: x < 3 -> x++ :: else -> break od;
                                    end: ({condition}) -> assert(g < 5) }}
             active proctype Q() {{ byte y; do :: y < 3 -> y++ :: else -> break od; g = 1 }}"
        )
    };
    let conditions = ["_last == 1", "pc_value(0) == 1", "enabled(1)", "_nr_pr == 2", "g == 1"];
    let texts = conditions.into_iter().map(looking).chain([LAST.to_owned()]);
    let file = std::env::temp_dir().join(format!("preempt-looking-{}.pml", std::process::id()));
    for text in texts {
        let Some((states, errors)) = ask_spin(&text, &[]) else { continue };
        std::fs::write(&file, &text).expect("a file can be written");
        let output = Command::new(env!("CARGO_BIN_EXE_preempt"))
            .args(["check", "--compat", "spin", "--first", "--max-errors", "0"])
            .arg(&file)
            .output()
            .expect("preempt runs");
        let report = String::from_utf8_lossy(&output.stdout);
        assert!(
            report.contains(&format!(" {states} states, stored")),
            "{states}: {report}\n{text}"
        );
        assert!(report.contains(&format!("errors: {errors}")), "{errors}: {report}\n{text}");
    }
    let _ = std::fs::remove_file(&file);
}
