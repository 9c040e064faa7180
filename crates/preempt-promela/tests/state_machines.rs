//! The control states, their transitions and what reduction may assume of them are those that Spin's
//! verifier prints with `pan -d`. Skipped where `spin` or a C compiler is missing.

mod support;

use preempt_promela::ir::{LowerOptions, MoveKind, Program, Safety, lower};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A transition: process type, from, to, and whether the control state it leaves is safe.
type Line = (String, u16, u16, bool);

fn ours(program: &Program) -> BTreeSet<Line> {
    let mut lines = BTreeSet::new();
    for proctype in &program.proctypes {
        let name = if proctype.name == ":init:" { "init" } else { proctype.name.as_str() };
        for state in &proctype.states {
            for id in &state.moves {
                let step = program.move_of(*id);
                let to = match step.kind {
                    MoveKind::End => 0,
                    _ => proctype.states[usize::from(step.target.0)].number,
                };
                let safe = state.safety != Safety::Unsafe;
                lines.insert((name.to_string(), state.number, to, safe));
            }
        }
    }
    lines
}

/// What `pan -d` prints about the processes (claims are left out).
fn spins(file: &Path, flags: &[&str], folder: &Path) -> Option<BTreeSet<Line>> {
    let source = file.parent()?;
    for entry in std::fs::read_dir(source).ok()?.flatten() {
        if entry.path().is_file() {
            std::fs::copy(entry.path(), folder.join(entry.file_name())).ok()?;
        }
    }
    let run = |program: &str, arguments: &[&str]| {
        Command::new(program).args(arguments).current_dir(folder).output().ok()
    };
    let name = file.file_name()?.to_str()?;
    let mut arguments = flags.to_vec();
    arguments.extend(["-a", name]);
    run("spin", &arguments)?;
    if !run(&preempt_testing::c_compiler(), &["-O0", "-w", "-DSAFETY", "-o", "pan", "pan.c"])?
        .status
        .success()
    {
        return None;
    }
    let report = String::from_utf8(run("./pan", &["-d"])?.stdout).ok()?;
    let mut lines = BTreeSet::new();
    let mut process = None;
    for line in report.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["proctype", name] => process = Some(name.to_string()),
            ["init"] => process = Some("init".to_string()),
            ["claim", ..] | ["never", ..] | ["notrace", ..] | ["trace", ..] => process = None,
            ["state", from, ..] if process.is_some() => {
                let to = line.split("-> state").nth(1)?.split_whitespace().next()?;
                let flags = line.split('[').nth(2)?.split(']').next()?;
                lines.insert((
                    process.clone()?,
                    from.parse().ok()?,
                    to.parse().ok()?,
                    flags.ends_with('L'),
                ));
            }
            _ => {}
        }
    }
    Some(lines)
}

fn compare(file: &Path, flags: &[&str], options: LowerOptions, folder: &Path) -> Option<String> {
    let parsed = support::parse_file(file);
    let model = parsed.model?;
    let ours = match lower(&model, options) {
        Ok(program) => ours(&program),
        Err(error) => return Some(format!("{}: {error}", file.display())),
    };
    let spins = spins(file, flags, folder)?;
    if ours == spins {
        return None;
    }
    let only = |a: &BTreeSet<Line>, b: &BTreeSet<Line>| {
        a.difference(b).take(8).map(|l| format!("{l:?}")).collect::<Vec<_>>().join(" ")
    };
    Some(format!(
        "{} {flags:?}:\n  only ours {}\n  only Spin {}",
        file.display(),
        only(&ours, &spins),
        only(&spins, &ours)
    ))
}

#[test]
fn control_states_are_spins() {
    if !preempt_testing::peers(&["spin", &preempt_testing::c_compiler()]) {
        return;
    }
    let micro = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/micro");
    let examples = Path::new("/usr/share/doc/spin/examples/Examples");
    let mut files: Vec<PathBuf> = Vec::new();
    // `PREEMPT_ALL_EXAMPLES` compares every example; it takes minutes.
    if std::env::var_os("PREEMPT_ALL_EXAMPLES").is_some() {
        files.extend(support::models_below(&micro));
        files.extend(support::models_below(examples));
    } else if let Some(folder) = std::env::var_os("PREEMPT_MACHINES_OF") {
        // The models of a folder.
        files.extend(support::models_below(Path::new(&folder)));
    } else {
        files.extend(
            ["m03_mixed_merge", "m11_unless", "m20_chan_local"]
                .map(|name| micro.join(name).with_extension("pml")),
        );
        files.extend(["snoopy.pml", "LTL/pftp.pml", "dtp.pml"].map(|name| examples.join(name)));
        files.retain(|file| file.exists());
    }
    let folder = std::env::temp_dir().join(format!("preempt-machines-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    // What is safe is compared, too.
    let options = LowerOptions { safe_as_spin: true, ..LowerOptions::default() };
    let wrong: Vec<String> = files
        .iter()
        .inspect(|file| println!("{}", file.display()))
        .filter_map(|file| compare(file, &[], options, &folder))
        .inspect(|difference| println!("{difference}"))
        .collect();
    let _ = std::fs::remove_dir_all(&folder);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
