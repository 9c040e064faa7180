//! preempt and Spin on the same models, in one go.
//!
//! Prints tables of ratios and writes them to `benches/RESULTS.md`. Rows whose numbers of states
//! differ where they must agree are marked as failed, and the run ends with an error. Arguments:
//! words that select models by name; none selects all. `--spread PATH` compares ways to spread a search, see `spread.rs`.

mod case;
mod measure;
mod ours;
mod report;
mod spin;
mod spread;

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
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if let [flag, preempt] = &arguments[..]
        && flag == "--spread"
    {
        return spread::compare(&root, preempt);
    }
    if !spin::is_installed() {
        bail!("the benchmark needs spin and gcc");
    }
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
    if names.is_empty() || names.iter().any(|name| name == "long") {
        for (cells, case) in case::long() {
            eprintln!("long {cells}");
            case.write(root, folder)?;
            report.long.push(measure_long(cells, &case, folder)?);
        }
    }
    if names.is_empty() {
        for (size, case) in case::growing() {
            eprintln!("growing {size}");
            case.write(root, folder)?;
            let times = if size > 10 { 1 } else { 4 };
            let plain = best_of(times, Mode::Plain, || ours::run(&case, folder, Mode::Plain))?;
            let tree = ours::run(&case, folder, Mode::Tree)?;
            report.growing.push((size, plain, tree));
        }
    }
    Ok(report)
}

/// Depth-first searches over long states, ours and Spin's.
fn measure_long(cells: u32, case: &Case, folder: &Path) -> Result<report::Long> {
    let room = 2 * cells + 1024;
    let measure = |mode, form| -> Result<(ours::Told, spin::Told)> {
        let verifier = spin::prepare_long(case, folder, form, room)?;
        let mut best = (ours::run(case, folder, mode)?, verifier.run(case, folder)?);
        for _ in 0..3 {
            let told = (ours::run(case, folder, mode)?, verifier.run(case, folder)?);
            if told.0.seconds < best.0.seconds {
                best.0 = told.0;
            }
            if told.1.seconds < best.1.seconds {
                best.1 = told.1;
            }
        }
        Ok(best)
    };
    Ok(report::Long {
        cells,
        reduced: measure(Mode::ReducedSearch, spin::REDUCED)?,
        bitstate: measure(Mode::Bitstate, spin::BITSTATE)?,
    })
}

/// How many rounds there are, and how often each of them runs in each. Small models are measured more often.
fn repeats(seconds: f64) -> (u32, u32) {
    match seconds {
        0.0..0.3 => (6, 2),
        0.3..3.0 => (2, 2),
        3.0..20.0 => (1, 2),
        _ => (1, 1),
    }
}

fn best_of(times: u32, mode: Mode, run: impl Fn() -> Result<ours::Told>) -> Result<ours::Told> {
    let mut best = run()?;
    for _ in 1..times {
        let told = run()?;
        if told.compared(mode) < best.compared(mode) {
            best = told;
        }
    }
    Ok(best)
}

/// Every candidate runs in every round, so that all meet the same moods of the machine, and twice in a row, so
/// that all find memory that has just been in use; the quickest run of each counts.
fn measure(case: &Case, folder: &Path) -> Result<Row> {
    let first = ours::run(case, folder, Mode::Plain)?;
    let (rounds, in_a_row) = repeats(first.seconds * 4.0);
    let is_long = first.seconds > 5.0;
    let ours = ours::MODES.iter().map(|(mode, _)| *mode).filter(|mode| match mode {
        Mode::Interpreted => false,
        Mode::Bitstate => !is_long,
        _ => true,
    });
    let mut ours: Vec<(Mode, Option<ours::Told>)> = ours.map(|mode| (mode, None)).collect();
    let mut forms = Vec::new();
    let bounded = [spin::BOUNDED, spin::BOUNDED_REDUCED];
    let optional = [spin::O3, spin::BITSTATE, bounded[0], bounded[1]];
    for form in [spin::PLAIN, spin::FASTEST, spin::REDUCED].into_iter().chain(optional) {
        let optional = optional.contains(&form);
        if !(is_long && optional) {
            forms.push((form, spin::prepare(case, folder, form)?, None::<spin::Told>));
        }
    }
    for _ in 0..rounds {
        for (mode, best) in &mut ours {
            let told = best_of(in_a_row, *mode, || ours::run(case, folder, *mode))?;
            if best.as_ref().is_none_or(|b| told.compared(*mode) < b.compared(*mode)) {
                *best = Some(told);
            }
        }
        for (form, verifier, best) in &mut forms {
            for _ in 0..in_a_row {
                let told = match verifier.run(case, folder) {
                    Ok(told) => told,
                    // Not every model goes with Spin's own bound.
                    Err(_) if bounded.contains(form) => break,
                    Err(error) => return Err(error),
                };
                if best.as_ref().is_none_or(|best| told.seconds < best.seconds) {
                    *best = Some(told);
                }
            }
        }
    }
    let mut spin =
        |form| forms.iter_mut().find(|(f, ..)| *f == form).and_then(|(_, _, best)| best.take());
    let mut ours =
        |mode| ours.iter_mut().find(|(m, _)| *m == mode).and_then(|(_, best)| best.take());
    let plain = spin(spin::PLAIN).context("Spin was not run")?;
    // Ten times slower than Spin's default, so asked only where that is quick.
    let minimal = match plain.seconds < 4.0 {
        true => spin::run_minimal(case, folder, plain.vector).ok(),
        false => None,
    };
    let missing = "a mode was not run";
    Ok(Row {
        name: case.name,
        plain: ours(Mode::Plain).context(missing)?,
        reduced: ours(Mode::Reduced).context(missing)?,
        reduced_search: ours(Mode::ReducedSearch).context(missing)?,
        tree: ours(Mode::Tree).context(missing)?,
        bitstate: ours(Mode::Bitstate),
        threads: ours(Mode::Threads).context(missing)?,
        bounded: ours(Mode::Bounded).context(missing)?,
        bounded_reduced: ours(Mode::BoundedReduced).context(missing)?,
        spin: plain,
        spin_minimal: minimal,
        spin_o3: spin(spin::O3),
        spin_fastest: spin(spin::FASTEST).context(missing)?,
        spin_reduced: spin(spin::REDUCED).context(missing)?,
        spin_bitstate: spin(spin::BITSTATE),
        spin_bounded: spin(spin::BOUNDED),
        spin_bounded_reduced: spin(spin::BOUNDED_REDUCED),
    })
}
