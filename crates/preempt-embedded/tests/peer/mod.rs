//! The two sides of a comparison: our interpreter with compiled C under a simple search, and real Spin.

use crate::naive::{Counts, explore};
use preempt_embedded::{Compiler, Trouble, attach};
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{LowerOptions, lower};
use preempt_promela::model::Model;
use preempt_promela::syntax::{ParseOptions, parse};
use std::path::{Path, PathBuf};
use std::process::Command;

/// More states are not compared.
pub(crate) const STATE_LIMIT: u64 = 50_000;

/// How statements are translated, as Spin's options and as ours.
pub(crate) fn modes() -> [(&'static [&'static str], LowerOptions); 2] {
    let plain = LowerOptions::default();
    [(&[], plain), (&["-o3"], LowerOptions { merge: false, ..plain })]
}

/// The system's compiler, with nothing kept from one test to the next.
pub(crate) fn compiler() -> Compiler {
    let folders = vec![std::env::temp_dir()];
    Compiler { program: "cc".into(), folders, defines: Vec::new(), cache: None }
}

/// Reads a model.
pub(crate) fn read(text: &str) -> Model {
    let loader = |_: &str, _: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    let options = ParseOptions { defines: Vec::new(), loader: &loader };
    let parsed = parse("model.pml", text.as_bytes().to_vec(), &options);
    parsed.model.unwrap_or_else(|| panic!("{:#?}\n{text}", parsed.diagnostics))
}

/// Makes a model with C ready to run.
pub(crate) fn interpreter(
    text: &str,
    mut options: LowerOptions,
) -> Result<Interpreter, Box<Trouble>> {
    let mut model = read(text);
    attach(&mut model, &compiler())?;
    options.count_claim = !model.claims.is_empty();
    let program = lower(&model, options).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Ok(Interpreter::new(program))
}

/// Our counts.
pub(crate) fn ours(text: &str, options: LowerOptions) -> Counts {
    let interpreter = interpreter(text, options).unwrap_or_else(|e| panic!("{e}\n{text}"));
    explore(&interpreter, interpreter.program().claims.first(), STATE_LIMIT)
}

/// Spin's counts; `None` if the search did not come to its end.
pub(crate) fn spins(text: &str, flags: &[&str], folder: &Path) -> Option<Counts> {
    std::fs::write(folder.join("m.pml"), text).expect("the model can be written");
    let run = |command: &mut Command| command.current_dir(folder).output().expect("it starts");
    let spin = run(Command::new("spin").args(flags).args(["-a", "m.pml"]));
    let said = String::from_utf8_lossy(&spin.stdout).into_owned();
    assert!(spin.status.success(), "{said}\n{text}");
    let gcc = run(Command::new(preempt_testing::c_compiler()).args([
        "-O0",
        "-w",
        "-DSAFETY",
        "-DNOREDUCE",
        "-o",
        "pan",
        "pan.c",
    ]));
    assert!(gcc.status.success(), "{}\n{text}", String::from_utf8_lossy(&gcc.stderr));
    let pan = run(Command::new("timeout").args(["20", "./pan", "-c0", "-m100000", "-w18", "-n"]));
    let report = String::from_utf8_lossy(&pan.stdout).into_owned();
    if report.contains("Search not completed") || report.contains("max search depth too small") {
        return None;
    }
    let number = |line: &str| line.split_whitespace().next().and_then(|n| n.parse::<f64>().ok());
    let find = |what: &str| report.lines().find(|l| l.contains(what)).and_then(number);
    let errors = report.split("errors: ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let (stored, matched) = (find("states, stored")?, find("states, matched")?);
    Some(Counts {
        stored: stored as u64,
        matched: matched as u64,
        errors: errors?.parse().ok()?,
        stopped: false,
        broken: false,
    })
}

/// A folder to make verifiers in; `None` where Spin or a C compiler is missing.
pub(crate) fn workshop(name: &str) -> Option<PathBuf> {
    if !preempt_testing::peers(&["spin", "cc", &preempt_testing::c_compiler()]) {
        return None;
    }
    let folder = std::env::temp_dir().join(format!("preempt-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    Some(folder)
}
