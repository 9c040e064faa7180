//! What all strategies share: the program, the limits, and the statistics of what was found.

use crate::patience::Patience;
use crate::run::Ending;
use crate::{Driver, Names, Program, Rules, Run, Schedule};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// When to stop.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Most preemptions allowed; `None` for all executions.
    pub bound: Option<u32>,
    /// Most stale choices allowed under weak memory; `None` for any number.
    pub stale: Option<u32>,
    /// Point in time at which to give up.
    pub deadline: Option<Instant>,
    /// Later point in time that counts once the first bound is finished.
    pub first_deadline: Option<Instant>,
    /// Most executions.
    pub executions: u64,
    /// Most states that a search may remember.
    pub states: usize,
    /// Longest execution, in steps.
    pub steps: usize,
    /// Go on after a failure, to count all failing graphs.
    pub keep_going: bool,
    /// Set by another worker that has finished.
    pub stop: Option<Arc<AtomicBool>>,
    /// Which worker this is, and how many share the exploration.
    pub worker: (usize, usize),
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            bound: None,
            stale: None,
            deadline: None,
            first_deadline: None,
            executions: u64::MAX,
            states: 4_000_000,
            steps: 100_000,
            keep_going: false,
            stop: None,
            worker: (0, 1),
        }
    }
}

impl Limits {
    /// The latest point in time at which a search gives up, whatever it has finished.
    pub(crate) fn last_deadline(&self) -> Option<Instant> {
        let Some(later) = self.first_deadline else { return self.deadline };
        let between = self.deadline.map(|deadline| later.saturating_duration_since(deadline));
        Some(later + between.unwrap_or_default() / 4)
    }
}

/// How a complete graph ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum Terminal {
    /// All threads ended.
    Complete,
    /// Nothing can move.
    Deadlock,
    /// Nothing can move and some thread spins.
    Livelock,
    /// A thread panicked.
    Panic,
}

/// A failing execution.
#[derive(Clone, Debug)]
pub struct Finding {
    /// How it ended.
    pub ending: Ending,
    /// How to get there.
    pub schedule: Schedule,
    /// Preemptions needed.
    pub preemptions: u32,
    /// Stale choices needed.
    pub stale: u32,
}

impl Finding {
    /// What is to be kept small: stale choices first.
    pub fn cost(&self) -> (u32, u32) {
        (self.stale, self.preemptions)
    }
}

/// Why a strategy came back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Halt {
    /// Everything within the bound was explored.
    Done,
    /// A failure was found.
    Failure,
    /// Out of time.
    Time,
    /// Out of executions.
    Executions,
    /// Too many states to remember.
    States,
    /// The rules were extended; explore again.
    Restart,
}

/// What was covered up to one bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Row {
    /// Most stale choices.
    pub stale: u32,
    /// Most preemptions.
    pub preemptions: u32,
    /// Whether that is for executions with exactly so many stale choices only: all with fewer were explored,
    /// whatever their preemptions.
    pub all_fewer: bool,
    /// Complete happens-before graphs with at most that many of each, or with fewer stale choices.
    pub graphs: u64,
    /// Executions of the program so far.
    pub executions: u64,
    /// States visited so far, most of them without running the program.
    pub states: u64,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// Executions of the program.
    pub executions: u64,
    /// States visited, most of them without running the program.
    pub states: u64,
    /// Complete graphs with the fewest preemptions seen for each, and how they end.
    pub graphs: FxHashMap<u128, (u32, Terminal)>,
    /// Complete graphs that need stale choices, with how many.
    pub stale: FxHashMap<u128, u32>,
    /// One row per finished bound.
    pub rows: Vec<Row>,
    /// Whether no further execution exists at any bound.
    pub exhausted: bool,
    /// All executions with at most this many delays were explored.
    pub delays: Option<u32>,
    /// Graphs seen exactly once by a strategy that samples.
    pub singletons: u64,
    /// Executions made by sampling.
    pub samples: u64,
    /// Executions cut short because they would have repeated a graph.
    pub redundant: u64,
    /// Whether everything with fewer stale choices than the failure was explored.
    pub fewer_stale: bool,
    /// The failure that is reported.
    pub failure: Option<Finding>,
    /// Which execution failed first, if the search went on to find a simpler failure.
    pub first_failure: Option<u64>,
}

impl Statistics {
    /// Notes a complete graph. Returns whether it is new.
    pub fn graph(&mut self, hash: u128, preemptions: u32, terminal: Terminal) -> bool {
        let mut new = false;
        let entry = self.graphs.entry(hash).or_insert_with(|| {
            new = true;
            (preemptions, terminal)
        });
        entry.0 = entry.0.min(preemptions);
        new
    }

    /// Notes a complete graph that was reached with this many stale choices. Fewer of them count
    /// more than fewer preemptions.
    pub fn stale_graph(&mut self, hash: u128, stale: u32, preemptions: u32, terminal: Terminal) {
        if stale == 0 && self.stale.is_empty() {
            self.graph(hash, preemptions, terminal);
            return;
        }
        let known = self.graphs.get(&hash).map(|known| (self.stale_of(hash), known.0));
        if known.is_none_or(|known| known > (stale, preemptions)) {
            self.graphs.insert(hash, (preemptions, terminal));
            self.stale.insert(hash, stale);
            if stale == 0 {
                self.stale.remove(&hash);
            }
        }
    }

    /// How many stale choices a complete graph needs, as far as is known.
    pub fn stale_of(&self, hash: u128) -> u32 {
        self.stale.get(&hash).copied().unwrap_or(0)
    }

    /// Closes a bound.
    pub fn row(&mut self, preemptions: u32) {
        self.box_row(0, preemptions, false, self.graphs.len() as u64);
    }

    /// Closes a bound on both, with this many graphs.
    pub fn box_row(&mut self, stale: u32, preemptions: u32, all_fewer: bool, graphs: u64) {
        let (executions, states) = (self.executions, self.states);
        self.rows.push(Row { stale, preemptions, all_fewer, graphs, executions, states });
    }
}

/// Gets a complete graph, and its stale choices and preemptions.
#[cfg(test)]
pub(crate) type OnTerminal = fn(&crate::ExecutionState, (u32, u32));

/// A program being explored.
pub struct Session<'p, P> {
    /// The program.
    pub program: &'p mut P,
    /// Its current execution.
    pub run: Run,
    /// When to stop.
    pub limits: Limits,
    /// What was found.
    pub statistics: Statistics,
    /// Called by the default strategy with every complete graph, and its stale choices and preemptions.
    #[cfg(test)]
    pub(crate) on_terminal: Option<OnTerminal>,
    /// When an execution was stopped to try out a loop, the default strategy makes it again instead of beginning
    /// the whole search again.
    pub repeats_after_loops: bool,
    /// Called after every execution.
    pub on_execution: Option<fn(&Statistics)>,
    /// A search has finished some bound, but relied on something wrong and began again, perhaps in another session.
    pub has_lost_rows: bool,
}

impl<'p, P: Program> Session<'p, P> {
    /// A session that has explored nothing yet.
    pub fn new(program: &'p mut P, limits: Limits, rules: Rules, names: Names) -> Self {
        let mut run = Run::new(names, rules, limits.steps);
        run.keep_going = limits.keep_going;
        Session {
            program,
            run,
            limits,
            statistics: Statistics::default(),
            #[cfg(test)]
            on_terminal: None,
            repeats_after_loops: false,
            on_execution: None,
            has_lost_rows: false,
        }
    }

    /// Whether the last execution, which ended like this, was only stopped to try out a loop and what was
    /// found out is known from now on. It does not count as an execution.
    pub(crate) fn knows_loop_now(&mut self, ending: &Ending) -> bool {
        let stopped = self.run.tried_loop && *ending == Ending::Restart;
        if stopped && self.repeats_after_loops {
            self.run.state.loops = self.run.names.loops();
            self.run.ending = None;
            self.statistics.executions -= 1;
            return true;
        }
        false
    }

    /// Executes the program once under `driver`.
    pub fn execute(&mut self, driver: &mut dyn Driver) -> Ending {
        self.run.reset();
        self.run.patience = self.patience();
        self.program.execute(&mut self.run, driver);
        self.run.finish_probe();
        self.statistics.executions += 1;
        if let Some(told) = self.on_execution {
            told(&self.statistics);
        }
        self.run.ending.clone().unwrap_or(Ending::Abandoned)
    }

    /// Notes how the last execution ended. `Some` means the exploration should stop.
    pub fn judge(&mut self, ending: Ending) -> Option<Halt> {
        let terminal = match ending {
            Ending::Restart => {
                self.forget_rows();
                self.statistics = Statistics::default();
                return Some(Halt::Restart);
            }
            Ending::Abandoned => return None,
            Ending::Complete => Some(Terminal::Complete),
            Ending::Deadlock => Some(Terminal::Deadlock),
            Ending::Livelock => Some(Terminal::Livelock),
            Ending::Panic => Some(Terminal::Panic),
            _ => None,
        };
        if let Some(terminal) = terminal {
            let Run { stale, preemptions, .. } = self.run;
            self.statistics.stale_graph(self.run.state.graph(), stale, preemptions, terminal);
        }
        self.check(ending)
    }

    /// Notes the ending of the last execution if it is a failure, without counting its graph.
    pub fn check(&mut self, ending: Ending) -> Option<Halt> {
        match ending {
            Ending::Complete | Ending::Abandoned => return None,
            Ending::Restart => return Some(Halt::Restart),
            _ => {}
        }
        let Run { stale, preemptions, .. } = self.run;
        if self.statistics.failure.as_ref().is_none_or(|f| f.cost() > (stale, preemptions)) {
            let schedule = Schedule::of(&self.run);
            self.statistics.failure =
                Some(Finding { ending: ending.clone(), schedule, preemptions, stale });
        }
        self.stops_at(&ending)
    }

    /// Whether a failure ends the exploration.
    pub(crate) fn stops_at(&self, ending: &Ending) -> Option<Halt> {
        let fatal = matches!(ending, Ending::Nondeterminism(_));
        (fatal || !self.limits.keep_going).then_some(Halt::Failure)
    }

    /// Whether a limit is reached.
    pub fn limit(&self) -> Option<Halt> {
        if self.statistics.executions >= self.limits.executions {
            return Some(Halt::Executions);
        }
        self.is_late().then_some(Halt::Time)
    }

    /// The deadline that counts now. A search that has lost the bounds it had finished gets some time beyond
    /// it to finish the first ones again.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let Limits { deadline, first_deadline, .. } = self.limits;
        if first_deadline.is_none() {
            return deadline;
        }
        if !self.statistics.rows.is_empty() {
            return first_deadline;
        }
        if self.has_lost_rows {
            return self.limits.last_deadline();
        }
        deadline
    }

    /// Takes back what was said about bounds.
    pub fn forget_rows(&mut self) -> Vec<Row> {
        self.has_lost_rows |= !self.statistics.rows.is_empty();
        std::mem::take(&mut self.statistics.rows)
    }

    fn patience(&self) -> Patience {
        Patience { deadline: self.deadline(), stop: self.limits.stop.clone() }
    }

    /// Whether the deadline has passed or another worker has finished.
    pub fn is_late(&self) -> bool {
        self.patience().is_over()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    struct Nothing;

    impl Program for Nothing {
        fn execute(&mut self, _: &mut Run, _: &mut dyn Driver) {}
    }

    /// A search that begins again after its first bounds is not late before it has any bound to speak of.
    #[test]
    fn lost_bounds_can_be_finished_again() {
        let (begin, second) = (Instant::now(), Duration::from_secs(1));
        let limits = Limits {
            deadline: Some(begin + 4 * second),
            first_deadline: Some(begin + 8 * second),
            ..Limits::default()
        };
        let mut program = Nothing;
        let mut session = Session::new(&mut program, limits, Rules::default(), Names::default());
        assert_eq!(session.forget_rows(), []);
        assert_eq!(session.deadline(), Some(begin + 4 * second), "nothing was finished");
        session.statistics.row(0);
        assert_eq!(session.deadline(), Some(begin + 8 * second));
        assert_eq!(session.forget_rows().len(), 1);
        assert_eq!(session.deadline(), Some(begin + 9 * second), "time for the first bounds");
        session.statistics.row(0);
        assert_eq!(session.deadline(), Some(begin + 8 * second));
    }
}
