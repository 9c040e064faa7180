//! How much a search may spend, and where it reports its progress.
//!
//! One object for all limits, polled by every search once per state: memory, time, an interrupt
//! flag, and a progress report about ten times a second. Reaching a limit is an answer
//! ([`Stop`]), never an error.

use crate::platform::time::{Duration, Instant};
use preempt_core::{Statistics, Stop};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

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
    /// What the search is about.
    pub phase: Phase,
}

/// What a search is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Whether there is a violation.
    #[default]
    Search,
    /// Whether there is a simpler counterexample than the one that was found.
    Simplify,
}

/// How far several parts of a search are together.
impl std::iter::Sum for Progress {
    fn sum<I: Iterator<Item = Progress>>(parts: I) -> Self {
        parts.fold(Progress::default(), |all, one| Progress {
            states: all.states + one.states,
            transitions: all.transitions + one.transitions,
            depth: all.depth.max(one.depth),
            queue: all.queue + one.queue,
            memory: all.memory + one.memory,
            ..all
        })
    }
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
    states: u64,
    deadline: Option<Instant>,
    interrupt: Option<&'a AtomicBool>,
    listener: Option<&'a mut (dyn FnMut(&Progress) + Send)>,
    start: Instant,
    last_report: Instant,
    last_check: Instant,
    /// How much is polled between two looks at the clock.
    polls_per_check: u32,
    polls: u32,
    peak: usize,
    phase: Phase,
}

/// The clock is read once in so many polls at most; less often where states are quick, more often where
/// each of them takes long.
const POLLS_PER_CHECK: u32 = 512;
/// What may pass between two looks at the clock.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const REPORT_EVERY: Duration = Duration::from_millis(100);

impl<'a> Budget<'a> {
    /// No limits, no listener; the clock starts now.
    pub fn unlimited() -> Self {
        let now = Instant::now();
        Budget {
            memory: usize::MAX,
            states: u64::MAX,
            deadline: None,
            interrupt: None,
            listener: None,
            start: now,
            last_report: now,
            last_check: now,
            // The first poll looks: how long a state takes is not known yet.
            polls_per_check: 1,
            polls: 0,
            peak: 0,
            phase: Phase::Search,
        }
    }

    /// At most this many bytes.
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// About this many states.
    pub fn states(mut self, most: u64) -> Self {
        self.states = most;
        self
    }

    /// At most this long, from the start.
    pub fn time(mut self, limit: Duration) -> Self {
        self.deadline = self.start.checked_add(limit);
        self
    }

    /// The same limits and listener for the search for a simpler counterexample: it ends after `limit`
    /// at the latest, and with the time of the whole.
    pub fn simplify(&mut self, limit: Duration) -> Budget<'_> {
        let start = Instant::now();
        let deadline = self.deadline.into_iter().chain(start.checked_add(limit)).min();
        let whole = self.with_memory(self.memory);
        Budget { deadline, start, phase: Phase::Simplify, ..whole }
    }

    /// Whether there is a limit of time.
    pub fn is_timed(&self) -> bool {
        self.deadline.is_some()
    }

    /// Whether that limit has passed.
    pub fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Whether that limit passes within so long.
    pub fn is_late_in(&self, time: Duration) -> bool {
        let then = Instant::now().checked_add(time);
        self.deadline.is_some_and(|deadline| then.is_none_or(|then| then >= deadline))
    }

    /// Ends so much earlier: what comes afterwards needs that time.
    pub fn reserve(mut self, time: Duration) -> Self {
        self.deadline = self.deadline.map(|end| end.checked_sub(time).unwrap_or(end));
        self
    }

    /// The same time and flag for a part of the work that has so much memory, and that no listener watches.
    pub fn part<'b>(&self, memory: usize) -> Budget<'b>
    where
        'a: 'b,
    {
        Budget {
            deadline: self.deadline,
            interrupt: self.interrupt,
            start: self.start,
            ..Budget::unlimited().memory(memory)
        }
    }

    /// The same, watched by the same listener.
    pub fn with_memory(&mut self, memory: usize) -> Budget<'_> {
        let (deadline, interrupt, start) = (self.deadline, self.interrupt, self.start);
        let listener = self.listener.as_mut().map(|listener| {
            let listener: &mut (dyn FnMut(&Progress) + Send) = &mut **listener;
            listener
        });
        Budget { deadline, interrupt, start, listener, ..Budget::unlimited().memory(memory) }
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

    /// Tells the listener at once that another phase begins.
    pub fn announce(&mut self, phase: Phase) {
        if let Some(listener) = &mut self.listener {
            let memory = self.peak;
            let elapsed = self.start.elapsed();
            listener(&Progress { memory, elapsed, phase, ..Progress::default() });
        }
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

    /// Adds to what a search has counted how long it took, and its memory, of which states take so many bytes.
    pub fn sum_up(&self, numbers: &mut Statistics, bytes: usize) {
        numbers.seconds = self.elapsed().as_secs_f64();
        numbers.bytes_per_state = bytes as f64 / numbers.states.max(1) as f64;
        numbers.memory_bytes = self.peak.max(bytes) as u64;
    }

    /// To be called once per state. `progress` is only asked for now and then; its `elapsed` is
    /// filled in here.
    #[inline(always)]
    pub fn poll(&mut self, progress: impl FnOnce() -> Progress) -> Option<Stop> {
        self.polls += 1;
        if self.polls < self.polls_per_check {
            return None;
        }
        self.check(progress())
    }

    /// As [`Budget::poll`], for `?`: the error is a limit that was reached.
    #[inline(always)]
    pub fn spend(&mut self, progress: impl FnOnce() -> Progress) -> Result<(), Stop> {
        self.poll(progress).map_or(Ok(()), Err)
    }

    /// As [`Budget::poll`] for searches that poll once per batch: looks every `batches` calls.
    #[inline(always)]
    pub fn check_every(
        &mut self,
        batches: u32,
        progress: impl FnOnce() -> Progress,
    ) -> Option<Stop> {
        self.polls += POLLS_PER_CHECK / batches;
        if self.polls < self.polls_per_check {
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
        if progress.memory > self.memory
            || progress.states > self.states
            || address_space_left().is_some_and(|left| left < *SPARE)
        {
            return Some(Stop::Memory);
        }
        let now = Instant::now();
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            return Some(Stop::Time);
        }
        self.polls_per_check = match now - self.last_check {
            passed if passed > LOOK_EVERY => (self.polls_per_check / 2).max(1),
            _ => (self.polls_per_check * 2).min(POLLS_PER_CHECK),
        };
        self.last_check = now;
        if now - self.last_report >= REPORT_EVERY {
            self.last_report = now;
            if let Some(listener) = &mut self.listener {
                progress.elapsed = now - self.start;
                progress.phase = self.phase;
                listener(&progress);
            }
        }
        None
    }
}

/// The memory that the operating system can give to this process now, in bytes; a guess where it does
/// not say. A limit on its address space (`ulimit -v`) counts: beyond it, allocations fail.
pub fn available_memory() -> usize {
    available_memory_beside(1)
}

/// Address space that an allocator reserves for each thread, and its stack.
const THREAD_SPACE: usize = 72 << 20;

/// How many threads a limit on the address space leaves room for, if there is one.
pub(crate) fn threads_that_fit() -> Option<usize> {
    address_space_left().map(|left| 1 + left / 2 / THREAD_SPACE)
}

/// As [`available_memory`] for a process that is going to have this many threads.
pub(crate) fn available_memory_beside(threads: usize) -> usize {
    let kibibytes = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.trim().trim_end_matches("kB").trim().parse::<usize>().ok()
    });
    let given = kibibytes.map_or(4 << 30, |kibibytes| kibibytes.saturating_mul(1024));
    // A table that grows takes address space for the old and the new one, the one for the search of a
    // simpler counterexample stands beside them, and stacks and machine code need theirs as well.
    let threads = (threads - 1).saturating_mul(THREAD_SPACE);
    given.min(address_space_left().map_or(usize::MAX, |left| left.saturating_sub(threads) / 8))
}

/// Lists that have become long take so much address space at a time, whatever they use of it, and
/// several may do so between two polls.
const SPARE_SPACE: usize = 3 * (66 << 20);

/// What is kept free of the address space: where the limit leaves little from the start, a part of that, for a small
/// search never has such lists. What fails all the same is reported by the owner of the process.
static SPARE: LazyLock<usize> =
    LazyLock::new(|| address_space_left().map_or(SPARE_SPACE, |left| SPARE_SPACE.min(left / 4)));

/// The limit on the address space (`ulimit -v`), if there is one; it is asked for once.
static ADDRESS_SPACE: LazyLock<Option<usize>> = LazyLock::new(|| {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
});

/// What a limit on the address space leaves, if there is one.
fn address_space_left() -> Option<usize> {
    let limit = (*ADDRESS_SPACE)?;
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    let used: usize = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(limit.saturating_sub(used.saturating_mul(1024)))
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
        assert_eq!(stopped.poll(Progress::default), Some(Stop::Interrupted));
        let mut reports = 0;
        let mut listener = |_: &Progress| reports += 1;
        {
            let mut budget = Budget::unlimited().listener(&mut listener);
            budget.last_report -= REPORT_EVERY;
            assert_eq!(budget.check(Progress::default()), None);
        }
        assert_eq!(reports, 1);
    }

    #[test]
    fn slow_states_are_polled_one_by_one() {
        let mut budget = Budget::unlimited();
        while budget.polls_per_check < POLLS_PER_CHECK {
            assert_eq!(budget.poll(Progress::default), None);
        }
        while budget.polls_per_check > 1 {
            budget.last_check -= 2 * LOOK_EVERY;
            assert_eq!(budget.check(Progress::default()), None);
        }
    }

    #[test]
    fn the_time_of_the_whole_is_also_that_of_simplification() {
        let mut budget = Budget::unlimited().time(Duration::ZERO);
        let mut more = budget.simplify(Duration::from_secs(10));
        assert_eq!(more.check(Progress::default()), Some(Stop::Time));
        let mut unlimited = Budget::unlimited();
        assert_eq!(unlimited.simplify(Duration::ZERO).check(Progress::default()), Some(Stop::Time));
        assert_eq!(unlimited.simplify(Duration::MAX).check(Progress::default()), None);
    }
}
