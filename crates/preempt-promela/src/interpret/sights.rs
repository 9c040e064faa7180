//! A list of variables that were looked at, with their values.

use preempt_core::Value;

/// One step looks at so many variables at most; the others are left out.
const MOST_SIGHTS: usize = 24;

/// Names with the values they had when they were looked at.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Sights {
    /// In the order in which they were looked at first.
    pub values: Vec<(String, Value)>,
    /// Those that the first failing assertion looked at; `None` if none failed.
    pub failing: Option<Vec<(String, Value)>>,
}

impl Sights {
    pub(super) fn add(&mut self, seen: Vec<(String, Value)>) {
        let mut all = std::mem::take(&mut self.values);
        all.extend(seen);
        self.values = distinct(all);
    }
}

/// The first mention of each variable.
pub(super) fn distinct(list: Vec<(String, Value)>) -> Vec<(String, Value)> {
    let mut out: Vec<(String, Value)> = Vec::with_capacity(list.len());
    for (name, value) in list {
        if out.len() < MOST_SIGHTS && !out.iter().any(|(known, _)| *known == name) {
            out.push((name, value));
        }
    }
    out
}
