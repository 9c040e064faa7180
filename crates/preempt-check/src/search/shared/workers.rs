//! Threads that work on one search, or as many as the operating system gives.
//!
//! Invariant: either all of them run or none does, so that a search can count on everyone it has
//! dealt work to. If there are not enough, the search is set up again for fewer.

use crate::Finding;
use crate::platform::sync::{Condvar, Mutex, PoisonError};

/// The operating system gave fewer threads than were asked for: this many, the present one included.
pub(crate) struct Fewer(pub(crate) usize);

/// Runs `first` on this thread and each of `others` on one of its own, and collects what they give.
pub(crate) fn run_together<R: Send>(
    first: impl FnOnce() -> R,
    others: Vec<impl FnOnce() -> R + Send>,
) -> Result<Vec<R>, Fewer> {
    let gate = Gate::default();
    crate::platform::thread::scope(|scope| {
        let wanted = others.len();
        let mut helpers = Vec::new();
        for other in others {
            let gate = &gate;
            let work = move || gate.is_open().then(other);
            match crate::platform::thread::Builder::new().spawn_scoped(scope, work) {
                Ok(helper) => helpers.push(helper),
                Err(_) => break,
            }
        }
        let complete = helpers.len() == wanted;
        gate.decide(complete);
        if !complete {
            return Err(Fewer(helpers.len() + 1));
        }
        let mut results = vec![first()];
        for helper in helpers {
            match helper.join() {
                Ok(result) => results.extend(result),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(results)
    })
}

/// Sets a search up for as many threads as there are; says so if they are fewer than wanted.
pub(crate) fn with_as_many_as_possible(
    wanted: usize,
    mut search: impl FnMut(usize) -> Result<Finding, Fewer>,
) -> Finding {
    let mut threads = wanted.max(1);
    loop {
        match search(threads) {
            Ok(mut finding) => {
                if threads < wanted {
                    finding.notes.push(format!(
                        "{threads} of {wanted} threads were used: the system could not start more"
                    ));
                }
                return finding;
            }
            Err(Fewer(had)) => threads = had.min(threads - 1).max(1),
        }
    }
}

/// Where threads wait until it is clear whether all of them are there.
#[derive(Default)]
struct Gate {
    open: Mutex<Option<bool>>,
    decided: Condvar,
}

impl Gate {
    fn decide(&self, open: bool) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(open);
        self.decided.notify_all();
    }

    fn is_open(&self) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *open {
                Some(open) => return open,
                None => open = self.decided.wait(open).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Covered;

    #[test]
    fn everybody_runs_once() {
        let others: Vec<_> = (1..5).map(|number| move || number).collect();
        let mut results = run_together(|| 0, others).unwrap_or_default();
        results.sort_unstable();
        assert_eq!(results, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn fewer_threads_are_mentioned() {
        let mut tried = Vec::new();
        let finding = with_as_many_as_possible(9, |threads| {
            tried.push(threads);
            if threads > 3 {
                Err(Fewer(threads - 2))
            } else {
                Ok(Finding::new(Covered::Everything))
            }
        });
        assert_eq!(tried, [9, 7, 5, 3]);
        assert_eq!(finding.notes, ["3 of 9 threads were used: the system could not start more"]);
    }
}
