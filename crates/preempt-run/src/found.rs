//! What a program's own search reports, as the library in it has written it.

use serde::Deserialize;

/// The report.
#[derive(Deserialize, Debug)]
pub struct Found {
    /// Why the search came back.
    pub halt: String,
    /// Whether no further execution exists.
    pub exhausted: bool,
    /// Executions of the program.
    pub executions: u64,
    /// Complete happens-before graphs.
    pub graphs: u64,
    /// States visited, most of them without running the program.
    pub states: u64,
    /// How often the search began again with more knowledge.
    pub restarts: u32,
    /// The most threads of any execution.
    #[serde(default)]
    pub threads: usize,
    /// Time of the search.
    pub seconds: f64,
    /// Memory of the search.
    pub memory: u64,
    /// How executions were repeated.
    pub backend: String,
    /// Why they were not repeated in the process.
    pub forked_because: Option<String>,
    /// Places of plain accesses that became scheduling points.
    pub racy: u64,
    /// One row per finished bound.
    pub rows: Vec<Row>,
    /// Whether the program has memory orders that allow stale choices, and these were explored.
    pub weak: bool,
    /// What was left out although it is within the bounds.
    #[serde(default)]
    pub unexplored: Vec<String>,
    /// Lines worth knowing.
    pub notes: Vec<String>,
    /// The parts of the process.
    pub modules: Vec<Module>,
    /// What the program did that is not modelled.
    pub unsupported: Option<Trouble>,
    /// Whether the program does different things after the same observations.
    pub nondeterministic: bool,
    /// Whether everything with fewer stale choices than the failing execution was searched.
    #[serde(default)]
    pub fewer_stale: bool,
    /// What was expected of the failing execution.
    pub expected: Option<String>,
    /// Where it did something else.
    pub strayed: Option<Standing>,
    /// Where the last execution stood when time was up.
    pub unfinished: Option<Standing>,
    /// Preemptions of the failing execution.
    pub least: u32,
    /// The failing execution, repeated.
    pub evidence: Option<Evidence>,
}

/// Where an execution stood when it was left.
#[derive(Clone, Debug, Deserialize)]
pub struct Standing {
    /// How many steps it had made.
    pub steps: u64,
    /// The place.
    pub pc: u64,
    /// The calls that led there, the innermost first.
    pub frames: Vec<u64>,
}

/// What was covered up to one bound.
#[derive(Deserialize, Debug)]
pub struct Row {
    /// Most stale choices.
    pub stale: u32,
    /// Most preemptions.
    pub bound: u32,
    /// Graphs with at most that many of each.
    pub graphs: u64,
    /// Executions so far.
    pub executions: u64,
}

/// A part of the process.
#[derive(Deserialize, Debug)]
pub struct Module {
    /// The file; empty for the program itself.
    pub path: String,
    /// Where it was loaded.
    pub base: u64,
}

/// Something that the library found wrong.
#[derive(Deserialize, Debug)]
pub struct Trouble {
    /// The kind, as in reports.
    pub kind: String,
    /// One sentence.
    pub message: String,
    /// Where.
    pub pc: u64,
    /// Another place.
    pub other: Option<Other>,
    /// The place, where the program itself has told it.
    pub place: Option<Place>,
    /// The calls that led there, the innermost first.
    #[serde(default)]
    pub frames: Vec<u64>,
}

/// A place that a program tells.
#[derive(Deserialize, Debug)]
pub struct Place {
    /// The file, as the compiler was given it.
    pub file: String,
    /// The line.
    pub line: u32,
}

/// Another place that belongs to a trouble.
#[derive(Deserialize, Debug)]
pub struct Other {
    /// What happened there.
    pub role: String,
    /// Where.
    pub pc: u64,
}

/// One execution.
#[derive(Deserialize, Debug)]
pub struct Evidence {
    /// How it ended.
    pub kind: String,
    /// How to get there.
    pub schedule: String,
    /// Its preemptions.
    pub preemptions: u32,
    /// Its stale choices.
    pub stale: u32,
    /// Memory orders that make it impossible.
    pub remedy: Vec<Stronger>,
    /// Whether the schedule could not be followed.
    pub diverged: bool,
    /// What the program ended with.
    pub exit_code: i32,
    /// What was wrong.
    pub trouble: Option<Trouble>,
    /// The two accesses of a race.
    pub race: Option<[Access; 2]>,
    /// The threads, in the order of their creation.
    pub threads: Vec<Thread>,
    /// The steps.
    pub events: Vec<Event>,
    /// The panics of a Rust program, in their order.
    #[serde(default)]
    pub panics: Vec<Panic>,
}

/// A panic, which need not be a failure.
#[derive(Deserialize, Debug)]
pub struct Panic {
    /// The thread.
    pub thread: usize,
    /// What it says.
    pub message: String,
    /// Where.
    pub place: Place,
}

/// A memory order that a place in the program might have.
#[derive(Deserialize, Debug)]
pub struct Stronger {
    /// Where.
    pub pc: u64,
    /// As C writes it.
    pub order: String,
}

/// One access of a race.
#[derive(Deserialize, Debug)]
pub struct Access {
    /// Who.
    pub thread: usize,
    /// Where.
    pub pc: u64,
    /// Whether it writes.
    pub write: bool,
    /// On what.
    #[serde(default)]
    pub address: u64,
    /// How many steps had been taken before.
    #[serde(default)]
    pub step: usize,
    /// The calls that led there, the innermost first.
    #[serde(default)]
    pub frames: Vec<u64>,
}

/// A thread at the end.
#[derive(Deserialize, Debug)]
pub struct Thread {
    /// Its function.
    pub start: u64,
    /// The name that the program has given it, or nothing.
    #[serde(default)]
    pub name: String,
    /// The calls that created it, the innermost first.
    #[serde(default)]
    pub creation: Vec<u64>,
    /// What it waits for.
    pub waits: Option<Waits>,
}

/// A thread that did not end.
#[derive(Deserialize, Debug)]
pub struct Waits {
    /// What it stands before.
    pub action: String,
    /// Where.
    pub pc: u64,
    /// On what.
    pub address: u64,
    /// The thread that holds it.
    pub holder: Option<usize>,
    /// The calls that led there, the innermost first.
    #[serde(default)]
    pub frames: Vec<u64>,
}

/// One step.
#[derive(Deserialize, Debug)]
pub struct Event {
    /// Who.
    pub thread: usize,
    /// Where.
    pub pc: u64,
    /// On what.
    pub address: u64,
    /// What.
    pub action: String,
    /// Whether the object is a number.
    pub number: bool,
    /// The operand.
    pub first: u64,
    /// What the thread saw.
    pub result: u64,
    /// The object's value before.
    pub before: u64,
    /// The object's value after.
    pub after: u64,
    /// Whether it timed out.
    pub timeout: bool,
    /// Whether the last thread could have gone on.
    pub preemption: bool,
    /// Which write an access read, where all writes are kept.
    pub source: Option<Source>,
    /// The calls that led there, the innermost first.
    #[serde(default)]
    pub frames: Vec<u64>,
}

impl Event {
    /// Whether a comparison failed although it found what it expected.
    pub(crate) fn fails_for_no_reason(&self) -> bool {
        self.source.as_ref().is_some_and(|source| source.fails)
    }
}

/// Where a value comes from.
#[derive(Deserialize, Debug)]
pub struct Source {
    /// Whether no interleaving does this.
    pub stale: bool,
    /// Whether a comparison failed for no reason.
    pub fails: bool,
    /// The step that made the write that was read; `None` for the initial value.
    pub read: Option<usize>,
    /// The same for the newest write at that moment.
    pub newest: Option<usize>,
    /// The value of that write.
    pub value: u64,
}
