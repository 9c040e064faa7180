//! What Spin 6.5.2 gave when it was measured: tab-separated rows in `lab/data/`.

/// A complete search: states, transitions, errors.
pub(crate) fn complete(model: &str, reduction: &str, bound: &str) -> Option<[u64; 3]> {
    let row = find(include_str!("../data/spin.tsv"), &[model, reduction, bound])?;
    Some([row[0], row[1], row[2]])
}

/// Up to the first violation: states, transitions, steps and blocks of the counterexample.
pub(crate) fn first(
    model: &str,
    reduction: &str,
    shortened: &str,
    bound: &str,
) -> Option<[u64; 4]> {
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
