//! The ends of threads, where somebody looks at them.

use super::heap::Paused;
use super::operation::operation;
use super::runtime::Runtime;
use preempt_explore::{Action, Ending, Site, ThreadId};

/// Whether a thread has ended. This makes ends visible: a thread that ends does one operation more.
pub(crate) fn has_ended(runtime: &mut Runtime, thread: ThreadId, site: Site) -> bool {
    match runtime.registry.ends.get(&thread) {
        Some(&end) => operation(runtime, Action::Load, end, 0, 0, site) == 1,
        None => {
            let _paused = Paused::new();
            runtime.registry.knowledge.ends = true;
            runtime.stop(Ending::Restart);
            runtime.run().state.thread(thread).status == preempt_explore::Status::Done
        }
    }
}
