//! Virtual time, as threads see it.

use super::heap::Paused;
use super::runtime::{Runtime, current};
use preempt_explore::Ending;
use std::time::Duration;

/// The virtual time of the current thread.
pub(crate) fn now() -> Duration {
    let Some(runtime) = current() else { return Duration::ZERO };
    let _paused = Paused::new();
    keep_time(runtime);
    runtime.run().has_operated = true;
    let me = runtime.run().current;
    runtime.registry.looks.entry(me).or_default().0 = true;
    runtime.run().state.now(me)
}

/// Lets this much virtual time pass for the current thread.
pub(crate) fn pass(time: Duration) {
    if let Some(runtime) = current() {
        let me = runtime.run().current;
        let to = runtime.run().state.now(me).saturating_add(time);
        runtime.run().state.pass(me, to);
    }
}

fn keep_time(runtime: &mut Runtime) {
    if !runtime.run().rules.time {
        runtime.run().rules.time = true;
        runtime.stop(Ending::Restart);
    }
}

/// Whether the current thread, which is about to yield, waits for time to pass.
pub(super) fn wait_for_time(runtime: &mut Runtime) -> bool {
    /// A millisecond, ten, …: this many steps are some thousand years.
    const MOST: u32 = 14;
    let me = runtime.run().current;
    let Some((looked, rounds)) = runtime.registry.looks.get_mut(&me) else { return false };
    if !std::mem::take(looked) || *rounds >= MOST {
        *rounds = 0;
        return false;
    }
    let step = Duration::from_millis(10u64.pow(*rounds));
    *rounds += 1;
    pass(step);
    true
}
