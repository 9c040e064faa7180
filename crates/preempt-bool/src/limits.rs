//! When to give up, and where progress is reported.

use preempt_core::Stop;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How far a search is.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// The engine at work.
    pub method: &'static str,
    /// The number of context switches under examination.
    pub switches: u32,
    /// States (explicit) or nodes of decision diagrams (symbolic) in memory.
    pub size: u64,
    /// Since the start.
    pub seconds: f64,
}

/// What a search may use.
#[derive(Clone, Copy, Default)]
pub struct Limits<'a> {
    /// Memory for states or decision diagrams, in bytes; 4 GiB when not given.
    pub memory_bytes: Option<u64>,
    /// Wall-clock time.
    pub time: Option<Duration>,
    /// Set from outside to stop the search.
    pub interrupt: Option<&'a AtomicBool>,
    /// Told about progress a few times per second.
    pub progress: Option<&'a dyn Fn(&Progress)>,
}

/// The limits while a search runs.
pub(crate) struct Watch<'a> {
    limits: Limits<'a>,
    start: Instant,
    reported: Cell<Instant>,
    pub(crate) method: Cell<&'static str>,
    pub(crate) switches: Cell<u32>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(limits: Limits<'a>) -> Self {
        let now = Instant::now();
        let (method, switches) = (Cell::new(""), Cell::new(0));
        Watch { limits, start: now, reported: Cell::new(now), method, switches }
    }

    pub(crate) fn memory(&self) -> u64 {
        self.limits.memory_bytes.unwrap_or(4 << 30)
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Says whether to go on; `size` is only passed on.
    pub(crate) fn check(&self, size: u64) -> Result<(), Stop> {
        if self.limits.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Stop::Interrupted);
        }
        let elapsed = self.start.elapsed();
        if self.limits.time.is_some_and(|time| elapsed > time) {
            return Err(Stop::Time);
        }
        if let Some(progress) = self.limits.progress
            && self.reported.get().elapsed() > Duration::from_millis(200)
        {
            self.reported.set(Instant::now());
            progress(&Progress {
                method: self.method.get(),
                switches: self.switches.get(),
                size,
                seconds: elapsed.as_secs_f64(),
            });
        }
        Ok(())
    }
}
