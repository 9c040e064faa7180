//! "Did you mean": the nearest known name by edit distance.

/// The candidate nearest to `wrong`, if it is near enough to be a slip.
pub(crate) fn nearest<'a>(
    wrong: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let limit = match wrong.chars().count() {
        0..=2 => 1,
        3..=5 => 2,
        _ => 3,
    };
    candidates
        .into_iter()
        .filter(|c| !c.is_empty() && *c != wrong && !c.starts_with(':'))
        .map(|c| (distance(wrong, c), c))
        .filter(|(d, c)| *d <= limit && *d < c.chars().count().max(wrong.chars().count()))
        .min_by_key(|(d, c)| (*d, c.len()))
        .map(|(_, c)| c)
}

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(64).collect();
    let b: Vec<char> = b.chars().take(64).collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before_last[j - 2] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_only() {
        assert_eq!(nearest("conut", ["count", "amount", "x"]), Some("count"));
        assert_eq!(nearest("x", ["y"]), None);
        assert_eq!(nearest("flag", ["turn", "ncrit"]), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
