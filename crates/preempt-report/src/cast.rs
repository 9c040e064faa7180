//! The processes that take part in a trace: one lane per process id, in the order of the ids.
//!
//! Promela reuses ids, so one lane may have carried several names.

use preempt_core::{ProcessId, Trace};
use std::collections::BTreeMap;

/// One process of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CastMember {
    /// Its id.
    pub pid: usize,
    /// Its name, with the id when the name does not say it.
    pub label: String,
}

/// The processes of a trace, by lane.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cast {
    names: BTreeMap<usize, Vec<String>>,
}

impl Cast {
    /// A lane for each process that moves, joins a rendezvous or stands somewhere at the end.
    pub fn of(trace: &Trace) -> Self {
        let mut cast = Cast::default();
        for step in &trace.steps {
            cast.add(step.pid, &step.process);
        }
        for position in &trace.rest {
            cast.add(position.pid, &position.process);
        }
        for partner in trace.steps.iter().filter_map(|s| s.partner) {
            cast.names.entry(partner).or_default();
        }
        cast
    }

    /// Without the lane of what belongs to no process.
    pub(crate) fn processes_only(mut self) -> Self {
        self.names.remove(&ProcessId::PROPERTY.index());
        self
    }

    /// Adds a process. Returns whether it changes a lane.
    pub fn add(&mut self, pid: usize, name: &str) -> bool {
        let names = self.names.entry(pid).or_default();
        let new = !names.iter().any(|n| n == name);
        if new {
            names.push(name.to_string());
        }
        new
    }

    /// How many lanes.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether no process takes part.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The lane of a process.
    pub fn lane(&self, pid: usize) -> Option<usize> {
        self.names.contains_key(&pid).then(|| self.names.range(..pid).count())
    }

    /// The processes, by lane.
    pub fn members(&self) -> Vec<CastMember> {
        self.names
            .iter()
            .map(|(&pid, names)| CastMember { pid, label: label(&names.join("/"), pid) })
            .collect()
    }

    /// What to call a process.
    pub fn label(&self, pid: usize) -> String {
        label(&self.names.get(&pid).map(|n| n.join("/")).unwrap_or_default(), pid)
    }
}

/// A name people can tell apart: `P (0)`; `process 0` stays as it is, for it says its id already,
/// and so does what has none.
fn label(name: &str, pid: usize) -> String {
    let digits = pid.to_string();
    let says_it = name
        .strip_suffix(&digits)
        .is_some_and(|rest| rest.ends_with(|c: char| !c.is_ascii_digit()));
    match name {
        "" => format!("process {pid}"),
        _ if pid == ProcessId::PROPERTY.index() => name.to_string(),
        _ if says_it || name.ends_with(&format!("({digits})")) => name.to_string(),
        _ => format!("{name} ({pid})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_always_tells_the_id() {
        assert_eq!(label("P", 0), "P (0)");
        assert_eq!(label("process 0", 0), "process 0");
        assert_eq!(label("worker 10", 0), "worker 10 (0)");
        assert_eq!(label("", 3), "process 3");
        assert_eq!(label("property", ProcessId::PROPERTY.index()), "property");
    }

    #[test]
    fn lanes_follow_the_ids() {
        let mut cast = Cast::default();
        assert!(cast.add(7, "B"));
        assert!(cast.add(2, "A"));
        assert!(!cast.add(2, "A"));
        assert_eq!(cast.lane(7), Some(1));
        assert_eq!(cast.lane(3), None);
        assert_eq!(cast.label(7), "B (7)");
    }
}
