//! Steps that no other process can notice: of one process, on its own data, and invisible to the property.

use preempt_core::engine::{Request, Sink, Successors};
use preempt_core::{Locality, ProcessId, Step, System};

/// So many steps are passed at most before a state is stored.
const LONGEST_PASSAGE: usize = 64;

/// Takes the steps that no other process can notice.
#[derive(Default)]
pub(crate) struct Walk {
    /// Where it has come to, and where it began.
    pub(crate) here: Vec<u8>,
    beginning: Vec<u8>,
    alone: Successors,
}

impl Walk {
    /// Goes on from a state with the processes that have just moved there. Says whether it got
    /// anywhere; then that is `here`.
    #[inline]
    pub(crate) fn pass<S: System + ?Sized>(
        &mut self,
        system: &S,
        step: Step,
        state: &[u8],
        mut report: impl FnMut(Step),
    ) -> bool {
        let mut count = 0;
        for process in [Some(step.process), step.partner].into_iter().flatten() {
            while count < LONGEST_PASSAGE
                && is_unnoticed(system, if count == 0 { state } else { &self.here }, process)
            {
                if count == 0 {
                    self.here.clear();
                    self.here.extend_from_slice(state);
                }
                match self.advance(system, process, count == 0) {
                    Some(step) => report(step),
                    None => break,
                }
                count += 1;
            }
        }
        count > 0
    }

    /// Takes the only step of a process, if there is only one and it closes no cycle.
    fn advance<S: System + ?Sized>(
        &mut self,
        system: &S,
        process: ProcessId,
        is_first: bool,
    ) -> Option<Step> {
        self.alone.clear();
        let sink = Sink::Copies(&mut self.here, &mut self.alone);
        system.successors(Request::Process(process), sink);
        let [header] = self.alone.headers[..] else { return None };
        if is_first {
            self.beginning.clone_from(&self.here);
        }
        let (step, next) = (self.alone.step(0).0, self.alone.get(0));
        if header.result != 0 || step.partner.is_some() || next == self.beginning {
            return None;
        }
        self.here.clear();
        self.here.extend_from_slice(next);
        Some(step)
    }
}

/// Whether what the process does next concerns no other process.
#[inline(always)]
pub(crate) fn is_unnoticed<S: System + ?Sized>(
    system: &S,
    state: &[u8],
    process: ProcessId,
) -> bool {
    process.index() < system.process_count(state)
        && system.locality(state, process) == Locality::Local
        && !system.is_visible(state, process)
}
