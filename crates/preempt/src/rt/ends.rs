//! The ends of threads, where another thread looks at them.

use super::heap::Paused;
use super::operation::perform;
use super::runtime::Runtime;
use preempt_explore::{Action, Ending, Operation, Order, Site, ThreadId};

/// Whether a thread has ended. This makes ends visible: a thread that ends does one operation more.
pub(crate) fn has_ended(runtime: &mut Runtime, thread: ThreadId, site: Site) -> bool {
    match runtime.registry.ends.get(&thread) {
        Some(&(end, _)) => {
            // That a thread has ended does not mean that what it did is seen: only a join synchronises.
            let load = Operation::new(Action::Load, end, 0, 0, site);
            perform(runtime, load.with_order(Order::Relaxed, Order::Relaxed)) == 1
        }
        None => {
            let _paused = Paused::new();
            runtime.registry.knowledge.ends = true;
            runtime.stop(Ending::Restart);
            runtime.run().state.thread(thread).status == preempt_explore::Status::Done
        }
    }
}
