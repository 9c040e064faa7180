//! The programs by name, for each tool. Their text is that of the tests of the crate `preempt`.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// What executions of a body ended with, if it says.
pub(crate) static OUTCOMES: Mutex<BTreeSet<Vec<usize>>> = Mutex::new(BTreeSet::new());

fn note(outcome: Vec<usize>) {
    OUTCOMES.lock().unwrap_or_else(PoisonError::into_inner).insert(outcome);
}

/// The body of this name over the types of one tool: size, whether broken.
macro_rules! body {
    ($function:ident, $tool:ident) => {
        pub(crate) fn $function(name: &str) -> Option<fn(usize, bool)> {
            use crate::$tool as tool;
            Some(match name {
                "racy_counter" => tool::racy_counter,
                "mutex_counter" => |n, _| tool::mutex_counter(n),
                "independent" => |n, _| tool::independent(n),
                "bluetooth" => tool::bluetooth,
                "work_stealing" => |n, broken| {
                    let kind = match broken {
                        true => tool::Steal::PopReadsTopEarly,
                        false => tool::Steal::Correct,
                    };
                    tool::work_stealing(n, kind)
                },
                "bounded_queue" => tool::bounded_queue,
                "philosophers" => tool::philosophers,
                "treiber" => tool::treiber,
                "treiber_outcomes" => |n, broken| note(tool::treiber_outcome(n, broken)),
                "log_outcomes" => |n, _| note(vec![tool::seqlog(n, 2) as usize]),
                "ticketlock" => tool::ticketlock,
                "spinlock" => tool::spinlock,
                "store_buffering" => |_, _| tool::store_buffering(),
                _ => return None,
            })
        }
    };
}

/// The same for tests that rely on weak memory orders, by number.
macro_rules! weak_body {
    ($function:ident, $tool:ident) => {
        pub(crate) fn $function(name: &str) -> Option<fn(usize, bool)> {
            use crate::$tool::weak::{ALGORITHMS, LITMUS};
            match name {
                "algorithm" => Some(|n, broken| ALGORITHMS[n].1(broken)),
                "litmus" => Some(|n, _| note(LITMUS[n].1())),
                _ => None,
            }
        }
    };
}

weak_body!(weak_with_preempt, with_preempt);
weak_body!(weak_with_loom, with_loom);
body!(with_preempt, with_preempt);
body!(with_loom, with_loom);
body!(with_shuttle, with_shuttle);
