//! Which executions a check looks at, by the preemptions they need.

/// How many preemptions the executions may have that a check explores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Preemptions {
    /// All executions, in no order of preemptions.
    #[default]
    Any,
    /// Those with at most so many.
    AtMost(u32),
    /// Those with 0, then 1, then 2, …, until one violates the property or all are explored.
    Iterate {
        /// The last bound to try; `None` goes on to the end.
        last: Option<u32>,
    },
}

impl Preemptions {
    /// The largest bound that is searched.
    pub fn limit(self) -> Option<u32> {
        match self {
            Preemptions::Any => None,
            Preemptions::AtMost(bound) => Some(bound),
            Preemptions::Iterate { last } => last,
        }
    }
}
