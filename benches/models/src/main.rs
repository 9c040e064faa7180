//! preempt and Spin on the same models, in one go.
//!
//! Prints tables of ratios and writes them to `benches/RESULTS.md`. Rows whose numbers of states
//! differ where they must agree are marked as failed, and the run ends with an error. Arguments:
//! words that select models by name; none selects all.

mod case;
mod measure;
mod ours;
mod report;
mod spin;

use anyhow::{Context, Result, bail};
use case::{CASES, Case};
use ours::Mode;
use report::{Report, Row};
use std::path::{Path, PathBuf};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("--one", rest)) = arguments.split_first().map(|(a, b)| (a.as_str(), b)) {
        return ours::one(rest);
    }
    if !spin::is_installed() {
        bail!("the benchmark needs spin and gcc");
    }
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = std::env::temp_dir().join(format!("preempt-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let report = measure_all(&root, &folder, &arguments);
    std::fs::remove_dir_all(&folder)?;
    let report = report?;
    let text = report.text();
    println!("{text}");
    if arguments.is_empty() {
        std::fs::write(root.join("benches/RESULTS.md"), text)
            .context("cannot write the results")?;
    }
    if report.failed() {
        bail!("some measurements failed, or numbers of states differ");
    }
    Ok(())
}

fn measure_all(root: &Path, folder: &Path, names: &[String]) -> Result<Report> {
    let mut report = Report::default();
    let wanted = |case: &&Case| names.is_empty() || names.iter().any(|n| case.name.contains(n));
    for case in CASES.iter().filter(wanted) {
        eprintln!("{}", case.name);
        case.write(root, folder)?;
        match measure(case, folder) {
            Ok(row) => report.rows.push(row),
            Err(error) => report.broken.push(format!("{}: {error:#}", case.name)),
        }
    }
    if names.is_empty() {
        for (size, case) in case::growing() {
            eprintln!("growing {size}");
            case.write(root, folder)?;
            let times = if size > 10 { 1 } else { 4 };
            let plain = ours::run(&case, folder, Mode::Plain, times)?;
            let tree = ours::run(&case, folder, Mode::Tree, 1)?;
            report.growing.push((size, plain, tree));
        }
    }
    Ok(report)
}

/// Small models are measured more often.
fn repeats(seconds: f64) -> u32 {
    match seconds {
        0.0..0.3 => 9,
        0.3..3.0 => 4,
        3.0..20.0 => 2,
        _ => 1,
    }
}

fn measure(case: &Case, folder: &Path) -> Result<Row> {
    let first = ours::run(case, folder, Mode::Plain, 1)?;
    let times = repeats(first.seconds * 4.0);
    let is_long = first.seconds > 5.0;
    let ours = |mode| ours::run(case, folder, mode, times);
    let spin = |form| spin::run(case, folder, form, times);
    let plain = spin(spin::PLAIN)?;
    // Ten times slower than Spin's default, so asked only where that is quick.
    let minimal = match plain.seconds < 4.0 {
        true => spin::run_minimal(case, folder, plain.vector).ok(),
        false => None,
    };
    Ok(Row {
        name: case.name,
        plain: ours(Mode::Plain)?,
        reduced: ours(Mode::Reduced)?,
        reduced_search: ours(Mode::ReducedSearch)?,
        tree: ours(Mode::Tree)?,
        bitstate: if is_long { None } else { Some(ours(Mode::Bitstate)?) },
        threads: ours(Mode::Threads)?,
        bounded: ours(Mode::Bounded)?,
        spin: plain,
        spin_minimal: minimal,
        spin_o3: if is_long { None } else { Some(spin(spin::O3)?) },
        spin_fastest: spin(spin::FASTEST)?,
        spin_reduced: spin(spin::REDUCED)?,
        spin_bitstate: if is_long { None } else { Some(spin(spin::BITSTATE)?) },
        // Not every model goes with Spin's own bound.
        spin_bounded: if is_long { None } else { spin(spin::BOUNDED).ok() },
    })
}
