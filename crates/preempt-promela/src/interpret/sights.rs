//! A list of variables that were looked at, with their values.

use preempt_core::Value;

/// One step looks at so many variables at most; the others are left out.
const MOST_SIGHTS: usize = 24;

/// Names with the values they had when they were looked at.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Sights {
    /// In the order in which they were looked at first. What had several values in the course of an indivisible
    /// sequence is left out: none of them is the one that a reader would find in the states around it.
    pub values: Vec<(String, Value)>,
    varied: Vec<String>,
    /// Those that the first failing assertion looked at; `None` if none failed.
    pub failing: Option<Vec<(String, Value)>>,
}

impl Sights {
    pub(super) fn add(&mut self, seen: Vec<(String, Value)>) {
        for (name, value) in seen {
            if self.varied.contains(&name) {
                continue;
            }
            match self.values.iter().position(|(known, _)| *known == name) {
                Some(at) if self.values[at].1 != value => {
                    self.varied.push(name);
                    self.values.remove(at);
                }
                None if self.values.len() < MOST_SIGHTS => self.values.push((name, value)),
                _ => {}
            }
        }
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
