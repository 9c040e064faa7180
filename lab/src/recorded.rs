//! The column of Spin: asked where it is installed, and what it gave when it was measured
//! elsewhere (tab-separated rows in `lab/data/`).

use crate::example::Example;
use crate::spin;

/// A row of Spin's numbers, and where they come from.
pub(crate) struct Column<T> {
    /// `Spin 6.5.2` if a number was asked for now.
    pub(crate) who: &'static str,
    pub(crate) cells: Vec<Option<T>>,
}

fn column<T>(
    keys: &[&str],
    now: impl Fn(&str) -> Option<T>,
    before: impl Fn(&str) -> Option<T>,
) -> Column<T> {
    let cells: Vec<Option<T>> = keys.iter().map(|key| now(key)).collect();
    if cells.iter().any(Option::is_some) {
        return Column { who: "Spin, run now", cells };
    }
    Column { who: "Spin 6.5.2, recorded", cells: keys.iter().map(|key| before(key)).collect() }
}

/// What `pan` and its compiler are told: `none` is a full search.
fn flags(example: &Example, reduction: &str, bound: &str) -> (String, String) {
    let mut gcc = String::from("-DSAFETY");
    if example.arguments.contains("--no-claim") {
        gcc.push_str(" -DNOCLAIM");
    }
    if reduction == "off" {
        gcc.push_str(" -DNOREDUCE");
    }
    match bound {
        "none" => (gcc, String::new()),
        "bfs" => (gcc + " -DBFS", String::new()),
        // Spin wants to be told of more than eight processes.
        bound if example.name == "worst-case" => {
            (gcc + " -DBCS -DCONSERVATIVE=2", format!("-L{bound}"))
        }
        bound => (gcc + " -DBCS", format!("-L{bound}")),
    }
}

/// Complete searches: states.
pub(crate) fn complete_column(example: &Example, reduction: &str, bounds: &[&str]) -> Column<u64> {
    let now = |bound: &str| {
        let (gcc, limit) = flags(example, reduction, bound);
        let pan = format!("-c0 -m1000000 -w22 {limit}");
        spin::run(&example.file()?, example.spin, &gcc, &pan).map(|numbers| numbers.states)
    };
    let before = |bound: &str| complete(example.name, reduction, bound).map(|row| row[0]);
    column(bounds, now, before)
}

/// Up to the first violation, or (`shortened`) to the shortest that `-i` finds: states,
/// transitions and blocks; none where there is no violation.
pub(crate) fn first_column(
    example: &Example,
    reduction: &str,
    shortened: bool,
    bounds: &[&str],
) -> Column<[u64; 3]> {
    let now = |bound: &str| {
        let (mut gcc, limit) = flags(example, reduction, bound);
        let mut pan = format!("-m1000000 -w22 {limit}");
        if shortened {
            gcc.push_str(" -DREACH");
            pan.push_str(" -i");
        }
        let numbers = spin::run(&example.file()?, example.spin, &gcc, &pan)?;
        (numbers.errors > 0).then_some([numbers.states, numbers.transitions, numbers.blocks])
    };
    let word = if shortened { "yes" } else { "no" };
    let before = |bound: &str| {
        first(example.name, reduction, word, bound).map(|row| [row[0], row[1], row[3]])
    };
    column(bounds, now, before)
}

/// A complete search: states, transitions, errors.
fn complete(model: &str, reduction: &str, bound: &str) -> Option<[u64; 3]> {
    let row = find(include_str!("../data/spin.tsv"), &[model, reduction, bound])?;
    Some([row[0], row[1], row[2]])
}

/// Up to the first violation: states, transitions, steps and blocks of the counterexample.
fn first(model: &str, reduction: &str, shortened: &str, bound: &str) -> Option<[u64; 4]> {
    let keys = [model, reduction, shortened, bound];
    let row = find(include_str!("../data/spin-first.tsv"), &keys)?;
    Some([row[0], row[1], row[2], row[3]])
}

/// The numbers after the keys; a missing one is 0.
fn find(table: &str, keys: &[&str]) -> Option<Vec<u64>> {
    table.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        let numbers = cells.get(keys.len()..)?;
        (cells[..keys.len()] == *keys)
            .then(|| numbers.iter().map(|cell| cell.parse().unwrap_or(0)).collect())
    })
}
