//! How much a search may spend, and whom it tells how it is doing.
//!
//! One object for all limits, polled by every search once per state: memory, time, an interrupt
//! flag, and a progress report about ten times a second. Reaching a limit is an answer
//! ([`Stop`]), never an error.

use preempt_core::Stop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How far a search has come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// States stored.
    pub states: u64,
    /// Transitions explored.
    pub transitions: u64,
    /// Present depth.
    pub depth: u64,
    /// States waiting to be expanded.
    pub queue: u64,
    /// Bytes in use.
    pub memory: usize,
    /// Since the start.
    pub elapsed: Duration,
}

impl Progress {
    /// States per second so far.
    pub fn rate(&self) -> f64 {
        self.states as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// The limits of a search, its start, and its listener.
pub struct Budget<'a> {
    memory: usize,
    deadline: Option<Instant>,
    interrupt: Option<&'a AtomicBool>,
    listener: Option<&'a mut (dyn FnMut(&Progress) + Send)>,
    start: Instant,
    last_report: Instant,
    polls: u32,
    peak: usize,
}

/// The clock is read once in so many polls.
const POLLS_PER_CHECK: u32 = 512;
const REPORT_EVERY: Duration = Duration::from_millis(100);

impl<'a> Budget<'a> {
    /// No limits, no listener; the clock starts now.
    pub fn unlimited() -> Self {
        let now = Instant::now();
        Budget {
            memory: usize::MAX,
            deadline: None,
            interrupt: None,
            listener: None,
            start: now,
            last_report: now,
            polls: 0,
            peak: 0,
        }
    }

    /// At most this many bytes.
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// At most this long, from the start.
    pub fn time(mut self, limit: Duration) -> Self {
        self.deadline = self.start.checked_add(limit);
        self
    }

    /// Ends when the flag is set.
    pub fn interrupt(mut self, flag: &'a AtomicBool) -> Self {
        self.interrupt = Some(flag);
        self
    }

    /// Reports to `listener` about ten times a second.
    pub fn listener(mut self, listener: &'a mut (dyn FnMut(&Progress) + Send)) -> Self {
        self.listener = Some(listener);
        self
    }

    /// The memory limit in bytes.
    pub fn memory_limit(&self) -> usize {
        self.memory
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// The most memory that a poll has seen.
    pub fn peak_memory(&self) -> usize {
        self.peak
    }

    /// To be called once per state. `progress` is only asked for now and then; its `elapsed` is
    /// filled in here.
    #[inline(always)]
    pub fn poll(&mut self, progress: impl FnOnce() -> Progress) -> Option<Stop> {
        self.polls += 1;
        if self.polls < POLLS_PER_CHECK {
            return None;
        }
        self.check(progress())
    }

    /// As [`Budget::poll`] for searches that poll once per batch: looks every `batches` calls.
    #[inline(always)]
    pub fn check_every(
        &mut self,
        batches: u32,
        progress: impl FnOnce() -> Progress,
    ) -> Option<Stop> {
        self.polls += POLLS_PER_CHECK / batches;
        if self.polls < POLLS_PER_CHECK {
            return None;
        }
        self.check(progress())
    }

    /// As [`Budget::poll`], but always looks.
    #[inline(never)]
    pub fn check(&mut self, mut progress: Progress) -> Option<Stop> {
        self.polls = 0;
        self.peak = self.peak.max(progress.memory);
        if self.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Some(Stop::Interrupted);
        }
        if progress.memory > self.memory {
            return Some(Stop::Memory);
        }
        let now = Instant::now();
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            return Some(Stop::Time);
        }
        if now - self.last_report >= REPORT_EVERY {
            self.last_report = now;
            if let Some(listener) = &mut self.listener {
                progress.elapsed = now - self.start;
                listener(&progress);
            }
        }
        None
    }
}

/// The memory that the operating system can give away now, in bytes; a guess where it does not say.
pub fn available_memory() -> usize {
    let kibibytes = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.trim().trim_end_matches("kB").trim().parse::<usize>().ok()
    });
    kibibytes.map_or(4 << 30, |kibibytes| kibibytes.saturating_mul(1024))
}

impl std::fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Budget")
            .field("memory", &self.memory)
            .field("deadline", &self.deadline)
            .field("peak", &self.peak)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_stop_and_reports_arrive() {
        assert_eq!(Budget::unlimited().check(Progress::default()), None);
        let mut small = Budget::unlimited().memory(10);
        assert_eq!(small.check(Progress { memory: 11, ..Progress::default() }), Some(Stop::Memory));
        assert_eq!(small.peak_memory(), 11);
        let mut late = Budget::unlimited().time(Duration::ZERO);
        assert_eq!(late.check(Progress::default()), Some(Stop::Time));
        let flag = AtomicBool::new(true);
        let mut stopped = Budget::unlimited().interrupt(&flag);
        let polls = (0..POLLS_PER_CHECK).filter_map(|_| stopped.poll(Progress::default));
        assert_eq!(polls.collect::<Vec<_>>(), [Stop::Interrupted]);
        let mut reports = 0;
        let mut listener = |_: &Progress| reports += 1;
        {
            let mut budget = Budget::unlimited().listener(&mut listener);
            budget.last_report -= REPORT_EVERY;
            assert_eq!(budget.check(Progress::default()), None);
        }
        assert_eq!(reports, 1);
    }
}
