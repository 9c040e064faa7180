//! What a search concluded, and what it rests on.

use crate::Trace;
use std::fmt;

/// Why a search ended before it was complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Stop {
    /// The memory limit.
    Memory,
    /// The time limit.
    Time,
    /// The depth limit cut some executions short.
    Depth,
    /// The user asked (Ctrl-C).
    Interrupted,
    /// The store forgets states on purpose (bitstate, hash compaction).
    LossyStore,
    /// The strategy samples executions.
    Sampling,
    /// The model did something whose consequences cannot be explored.
    Fault,
    /// The program does something that cannot be executed under control.
    Unsupported,
    /// What was looked for is not there within the bound on preemptions.
    Bound,
    /// Another process of the same search has gone.
    PeerLost,
    /// A file could not be written.
    Disk,
    /// What preempt found contradicts itself, so nothing is concluded from it.
    Bug,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stop::Memory => "the memory limit was reached",
            Stop::Time => "the time limit was reached",
            Stop::Depth => "the depth limit cut executions short",
            Stop::Interrupted => "the search was interrupted",
            Stop::LossyStore => "the store does not keep states exactly",
            Stop::Sampling => "the strategy samples executions",
            Stop::Fault => "a fault in the model stopped the search",
            Stop::Unsupported => "the program cannot be executed under control",
            Stop::Bound => "the bound on preemptions was reached",
            Stop::PeerLost => "a process of the search was lost",
            Stop::Disk => "a file could not be written",
            Stop::Bug => "a bug in preempt stopped the search, please report it",
        })
    }
}

/// The five answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Verdict {
    /// No violation in any execution.
    Holds,
    /// None with at most this many preemptions (or what [`Statistics::bound_unit`] says); any other needs at least one
    /// more.
    HoldsWithinBound(u32),
    /// There is a counterexample.
    Violated,
    /// None found, but not everything was searched.
    Inconclusive(Stop),
    /// Nothing that was asked about could have been violated: neither an answer nor a success.
    Nothing,
}

impl Verdict {
    /// The name in machine-readable output.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::HoldsWithinBound(_) => "holds_within_bound",
            Verdict::Violated => "violated",
            Verdict::Inconclusive(_) => "inconclusive",
            Verdict::Nothing => "nothing",
        }
    }

    /// The exit code of the command line.
    pub fn exit_code(self) -> u8 {
        match self {
            Verdict::Holds | Verdict::HoldsWithinBound(_) => 0,
            Verdict::Violated => 1,
            Verdict::Nothing => 2,
            Verdict::Inconclusive(_) => 3,
        }
    }
}

/// What kind of property is violated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ViolationKind {
    /// An assertion failed.
    Assertion,
    /// Nothing can move although some process is not at a valid end.
    InvalidEnd,
    /// The program did something its language forbids.
    Runtime,
    /// A never claim was matched to its end.
    Claim,
    /// A `trace` automaton did not allow what happened, or a `notrace` one was completed.
    TraceAutomaton,
    /// An infinite execution that is accepted by the claim, or passes accept labels for ever.
    AcceptanceCycle,
    /// An infinite execution without progress.
    NonProgressCycle,
    /// A promise that a reduction relies on (`xr`, `xs`) was broken.
    Exclusivity,
    /// A program point that should not be reachable is.
    Reachable,
    /// A program called `abort`.
    Abort,
    /// A signal ended a program.
    Signal,
    /// Threads of a program wait for each other.
    Deadlock,
    /// Threads of a program wait in loops for changes that never come.
    Livelock,
    /// Two unordered accesses to the same memory, one of them a write.
    DataRace,
    /// Memory was used after it was freed.
    UseAfterFree,
    /// Memory was freed twice.
    DoubleFree,
    /// Memory was never freed.
    Leak,
    /// A program ended with an exit code other than 0.
    ExitCode,
    /// A synchronisation object was used in a way that is undefined.
    Misuse,
}

impl ViolationKind {
    /// The name in machine-readable output.
    pub fn name(self) -> &'static str {
        match self {
            ViolationKind::Assertion => "assertion",
            ViolationKind::InvalidEnd => "invalid_end_state",
            ViolationKind::Runtime => "runtime_error",
            ViolationKind::Claim => "claim_violated",
            ViolationKind::TraceAutomaton => "trace_violated",
            ViolationKind::AcceptanceCycle => "acceptance_cycle",
            ViolationKind::NonProgressCycle => "non_progress_cycle",
            ViolationKind::Exclusivity => "exclusivity",
            ViolationKind::Reachable => "reachable",
            ViolationKind::Abort => "abort",
            ViolationKind::Signal => "signal",
            ViolationKind::Deadlock => "deadlock",
            ViolationKind::Livelock => "livelock",
            ViolationKind::DataRace => "data_race",
            ViolationKind::UseAfterFree => "use_after_free",
            ViolationKind::DoubleFree => "double_free",
            ViolationKind::Leak => "leak",
            ViolationKind::ExitCode => "exit_code",
            ViolationKind::Misuse => "misuse",
        }
    }
}

/// A counterexample.
#[derive(Clone, PartialEq, Debug)]
pub struct Violation {
    /// What is violated.
    pub kind: ViolationKind,
    /// One sentence for people.
    pub message: String,
    /// Where, if a place in the source is to blame.
    pub file: String,
    /// Line there; 0 when unknown.
    pub line: u32,
    /// The execution.
    pub trace: Trace,
    /// Whether no simpler one exists (fewest stale choices, then preemptions, then steps).
    pub simplest: bool,
    /// Choices that no interleaving has, such as reading an older value than the newest; `None` where
    /// memory is always sequentially consistent.
    pub stale: Option<u32>,
}

/// What a bound counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum BoundUnit {
    /// Switches away from a process that could have gone on.
    #[default]
    Preemptions,
    /// All context switches.
    Switches,
    /// Rounds, in each of which every thread may run once.
    Rounds,
}

impl BoundUnit {
    /// The name in machine-readable output, and in tables.
    pub fn name(self) -> &'static str {
        match self {
            BoundUnit::Preemptions => "preemptions",
            BoundUnit::Switches => "switches",
            BoundUnit::Rounds => "rounds",
        }
    }
}

/// What was searched for one bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BoundRow {
    /// The most stale choices; `None` where memory is always sequentially consistent.
    pub stale: Option<u32>,
    /// The bound.
    pub bound: u32,
    /// Distinct states (or happens-before graphs) with at most that many.
    pub states: u64,
    /// Transitions so far.
    pub transitions: u64,
    /// Violations so far.
    pub errors: u64,
}

/// Code that no explored execution reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unreached {
    /// The process type.
    pub process: String,
    /// Source file.
    pub file: String,
    /// Source line.
    pub line: u32,
    /// The statement.
    pub text: String,
}

/// The numbers of a search, with Spin's meanings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Distinct states stored.
    pub states: u64,
    /// Most nodes of decision diagrams in memory; `None` where states are listed one by one.
    pub nodes: Option<u64>,
    /// Executions of a real program; `None` where states are computed.
    pub executions: Option<u64>,
    /// Visits to states that were known.
    pub matched: u64,
    /// `states + matched` (visits included where a search revisits).
    pub transitions: u64,
    /// Steps inside indivisible sequences.
    pub atomic_steps: u64,
    /// Longest execution explored, in steps.
    pub depth: u64,
    /// States explored again at a lower count or by another last mover.
    pub revisits: u64,
    /// Violations found.
    pub errors: u64,
    /// Nothing ended the search early, not even a violation: `errors` and `states` are all there are.
    pub complete: bool,
    /// Every step was taken, although steps that lead to nothing new were to be left out; a note says why.
    pub unreduced: bool,
    /// Bytes that the store uses per state.
    pub bytes_per_state: f64,
    /// Peak memory of the search.
    pub memory_bytes: u64,
    /// Longest state vector.
    pub state_bytes: u64,
    /// Time of everything: reading, translating, searching, simplifying; of a bare search, its own.
    pub seconds: f64,
    /// Time of the search alone, without the translation that it asked for; 0 where it is not known apart
    /// from the whole.
    pub search_seconds: f64,
    /// Time of the translation to machine code.
    pub compile_seconds: f64,
    /// One row per finished bound.
    pub per_bound: Vec<BoundRow>,
    /// What the bounds of `per_bound` and of the verdict count.
    pub bound_unit: BoundUnit,
    /// How many statements each process type has; empty where it was not recorded which were reached.
    pub statements: Vec<(String, u64)>,
    /// What threads did that others may have had to wait for; `None` where one thread searched alone, or where they share
    /// nothing but messages.
    pub contention: Option<Contention>,
}

impl Statistics {
    /// Counts the arrivals at states, the first state included: each is at a new state or at a known one. A search that was cut
    /// may have stored states and not yet counted the steps that led to them.
    pub fn count_arrivals(&mut self, arrivals: u64) {
        self.transitions = arrivals.max(self.states);
        self.matched = self.transitions - self.states;
    }
}

/// What threads of a search did that others may have had to wait for: counts, since times depend on the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Contention {
    /// Locks taken, by which one thread excludes others.
    pub locks: u64,
    /// Exchanges that failed because another thread was faster.
    pub failed_swaps: u64,
    /// Bytes written to memory that other threads write to as well.
    pub shared_bytes: u64,
}

impl Contention {
    /// Adds what another thread did.
    pub fn add(&mut self, other: Contention) {
        self.locks += other.locks;
        self.failed_swaps += other.failed_swaps;
        self.shared_bytes += other.shared_bytes;
    }
}

/// A verdict with the sentence that says what it means.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The property that was checked, in words.
    pub property: String,
    /// The verdict.
    pub verdict: Verdict,
    /// One sentence: what is guaranteed.
    pub sentence: String,
    /// The counterexample.
    pub violation: Option<Violation>,
    /// The numbers.
    pub statistics: Statistics,
    /// Code never reached.
    pub unreached: Vec<Unreached>,
    /// Lines worth knowing: a reduction switched off, a store changed, …
    pub notes: Vec<String>,
}
