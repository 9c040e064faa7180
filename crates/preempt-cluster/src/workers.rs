//! Timely's worker threads, over what the caller has borrowed.
//!
//! Timely starts threads that may outlive the function that starts them, and only these threads get its channels. A search
//! borrows its system. So the threads get a borrowed function, and this module waits for all of them before it returns,
//! whatever happens: the rule that scoped threads of the standard library follow.

use crate::stream::Lines;
use std::sync::Arc;
use std::time::Duration;
use timely::WorkerConfig;
use timely::communication::{AllocatorBuilder, initialize_from};
use timely::worker::Worker;

/// What a worker does.
type Body<'a> = dyn Fn(&mut Worker) + Sync + 'a;

/// Says that this process has gone, unless it is told that all went well.
struct Alarm<'a> {
    lines: &'a Lines,
    process: usize,
    is_off: bool,
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if !self.is_off {
            self.lines.lose(self.process);
        }
    }
}

/// Runs a function on a worker for each builder. Says whether all workers ran to its end.
pub(crate) fn run(
    builders: Vec<AllocatorBuilder>,
    lines: &Arc<Lines>,
    process: usize,
    body: &Body<'_>,
) -> bool {
    // SAFETY: only the lifetime changes. The reference is used by the threads that are started below, and by nothing else.
    // This function does not return before each of them has ended: it joins them, or, where not all could be started,
    // waits until no thread holds a copy of `alive` any more, which each thread does until it is done with `body`. It does
    // not unwind in between: nothing here panics, and a panic of a worker ends in its `join`.
    let body: &'static Body<'static> = unsafe { std::mem::transmute(body) };
    let alive = Arc::new(());
    let (token, lines) = (alive.clone(), lines.clone());
    let shared = lines.clone();
    let threads = initialize_from(builders, Box::new(()), move |allocator| {
        let _token = &token;
        let mut alarm = Alarm { lines: &shared, process, is_off: false };
        // Without a clock of its own a worker never sleeps.
        let clock = Some(std::time::Instant::now());
        let mut worker = Worker::new(WorkerConfig::default(), allocator, clock);
        body(&mut worker);
        alarm.is_off = true;
    });
    match threads {
        Ok(threads) => threads.join().iter().all(Result::is_ok),
        Err(_) => {
            // Those that were started wait for the others in vain.
            lines.lose(process);
            while Arc::strong_count(&alive) > 1 {
                std::thread::sleep(Duration::from_millis(5));
            }
            false
        }
    }
}
