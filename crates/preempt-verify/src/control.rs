//! How a caller follows work that is under way, limits its time and ends it.

use preempt_check::{Budget, Plan, Progress};
use preempt_core::Stop;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Something that happens on the way to an answer.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// How a search will be made, where [that was asked for](crate::Request::explain_plan).
    Plan(&'a Plan),
    /// How far a search over states is, about ten times a second.
    Progress(&'a Progress),
    /// How far a symbolic search is, a few times a second.
    #[cfg(feature = "boolean")]
    Symbolic(&'a preempt_bool::Progress),
    /// There is a counterexample; a simpler one may follow.
    Found,
    /// A search is over; another one may follow.
    SearchEnded,
}

/// How long a counterexample may take to be confirmed and described after a limit or an interruption.
const MOMENT: Duration = Duration::from_millis(600);

/// See [`Control::showing`].
pub(crate) struct Showing<'a> {
    control: &'a Control<'a>,
    /// When the interruption was noticed.
    interrupted: Cell<Option<Instant>>,
}

impl Showing<'_> {
    /// Why what is left has to be given up.
    pub(crate) fn is_over(&self) -> Option<Stop> {
        let now = Instant::now();
        if self.control.interrupt.load(Ordering::Relaxed) {
            let since = self.interrupted.get().unwrap_or(now);
            self.interrupted.set(Some(since));
            if now - since >= MOMENT {
                return Some(Stop::Interrupted);
            }
        }
        let late = |deadline: Instant| now.saturating_duration_since(deadline) >= MOMENT;
        self.control.deadline.is_some_and(late).then_some(Stop::Time)
    }
}

/// The caller's hand on the work: a deadline, a flag that ends it, a listener.
///
/// Both limits end a search with a partial answer, which is inconclusive.
#[derive(Clone)]
pub struct Control<'a> {
    deadline: Option<Instant>,
    interrupt: Arc<AtomicBool>,
    listener: &'a (dyn Fn(Event<'_>) + Sync),
}

impl Default for Control<'_> {
    fn default() -> Self {
        Control { deadline: None, interrupt: Arc::default(), listener: &|_| {} }
    }
}

impl<'a> Control<'a> {
    /// No deadline, no interruption, no listener.
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything has to be over by then.
    pub fn deadline(mut self, deadline: Option<Instant>) -> Self {
        self.deadline = deadline;
        self
    }

    /// Everything may take this long from now on.
    pub fn time(self, limit: Duration) -> Self {
        self.deadline(Instant::now().checked_add(limit))
    }

    /// Ends with a partial answer once the flag is set.
    pub fn interrupt(mut self, flag: Arc<AtomicBool>) -> Self {
        self.interrupt = flag;
        self
    }

    /// Calls `listener` for each [`Event`].
    pub fn listener(mut self, listener: &'a (dyn Fn(Event<'_>) + Sync)) -> Self {
        self.listener = listener;
        self
    }

    pub(crate) fn announce(&self, event: Event<'_>) {
        (self.listener)(event);
    }

    /// What ends the work once it is set.
    pub fn flag(&self) -> &Arc<AtomicBool> {
        &self.interrupt
    }

    pub(crate) fn end(&self) -> Option<Instant> {
        self.deadline
    }

    /// The time that is left, if there is a limit.
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Whether there is nothing left to be done in.
    pub(crate) fn is_late(&self) -> bool {
        self.time_left() == Some(Duration::ZERO)
    }

    /// The limits of showing what was found. The caller is ready to wait a moment for a counterexample that exists.
    pub(crate) fn showing(&self) -> Showing<'_> {
        Showing { control: self, interrupted: Cell::new(None) }
    }

    /// Whether the caller wants everything to end.
    pub fn is_over(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed) || self.is_late()
    }

    /// A budget that ends when the caller wants it to.
    pub(crate) fn budget(&self) -> Budget<'_> {
        let budget = Budget::unlimited().interrupt(&self.interrupt);
        match self.time_left() {
            Some(left) => budget.time(left),
            None => budget,
        }
    }

    /// Runs a search that reports its progress.
    pub(crate) fn watch<R>(
        &self,
        search: impl FnOnce(&mut (dyn FnMut(&Progress) + Send)) -> R,
    ) -> R {
        let result = search(&mut |progress| self.announce(Event::Progress(progress)));
        self.announce(Event::SearchEnded);
        result
    }
}
