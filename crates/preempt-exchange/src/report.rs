//! The report of a search of a program's executions.
//!
//! Addresses stay numbers: the library in the program knows nothing of debug information, and preempt turns them into lines
//! of source.

use crate::records::{choice, record};

choice! {
    /// Why a search came back.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Halt {
        /// Everything within the bounds was searched.
        Done,
        /// A violation was found.
        Failure,
        /// Time is up.
        Time,
        /// The user interrupted it.
        Interrupted,
        /// As many executions as were allowed.
        Executions,
        /// As many states as fit into memory.
        States,
        /// More became known about the program, and the search was not begun again.
        Restart,
        /// The program was killed with its search.
        Killed,
    }
}

choice! {
    /// What ended an execution.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Kind {
        /// Nothing out of the ordinary.
        None,
        /// `assert` failed, or a Rust test or program ends by a panic.
        Assertion,
        /// `abort` was called, also by an exception that nothing catches.
        Abort,
        /// A signal that ends the program.
        Signal,
        /// All threads that are left wait for each other.
        Deadlock,
        /// Threads run for ever without getting anywhere, or one computes without end.
        Livelock,
        /// Two accesses to the same memory that nothing orders.
        DataRace,
        /// Memory was used after it was freed.
        UseAfterFree,
        /// Memory was freed twice.
        DoubleFree,
        /// Memory was never freed.
        Leak,
        /// The program ended with an exit code other than 0.
        ExitCode,
        /// A synchronisation object was used in a way that is undefined.
        Misuse,
        /// The execution has more steps than are allowed.
        StepLimit,
        /// After the same observations a thread did something else.
        Nondeterminism,
        /// The program does something that is not modelled.
        Unsupported,
    }
}

record! {
    /// The report.
    #[derive(Debug)]
    pub struct Found {
        /// Why the search came back.
        pub halt: Halt,
        /// Whether no further execution exists.
        pub exhausted: bool,
        /// Executions of the program.
        pub executions: u64,
        /// Complete happens-before graphs.
        pub graphs: u64,
        /// The most threads of any execution.
        pub threads: usize,
        /// Time of the search.
        pub seconds: f64,
        /// Memory of the search.
        pub memory: u64,
        /// Why executions were not repeated in the process.
        pub forked_because: Option<String>,
        /// Places of plain accesses that became scheduling points.
        pub racy: u64,
        /// One row per finished bound.
        pub rows: Vec<Row>,
        /// Whether the program has memory orders that allow stale choices, and these were explored.
        pub weak: bool,
        /// What was left out although it is within the bounds.
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
        pub fewer_stale: bool,
        /// What was expected of the failing execution.
        pub expected: Option<String>,
        /// Where it did something else.
        pub strayed: Option<Standing>,
        /// Where the last execution stood when time was up.
        pub unfinished: Option<Standing>,
        /// The failing execution, repeated.
        pub evidence: Option<Evidence>,
    }
}

record! {
    /// Where an execution stood when it was left.
    #[derive(Clone, Debug)]
    pub struct Standing {
        /// How many steps it had made.
        pub steps: u64,
        /// The place.
        pub pc: u64,
        /// The calls that led there, the innermost first.
        pub frames: Vec<u64>,
    }
}

record! {
    /// What was covered up to one bound.
    #[derive(Debug)]
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
}

record! {
    /// A part of the process.
    #[derive(Debug)]
    pub struct Module {
        /// The file; empty for the program itself.
        pub path: String,
        /// Where it was loaded.
        pub base: u64,
    }
}

record! {
    /// Something that the library found wrong.
    #[derive(Debug)]
    pub struct Trouble {
        /// What it is.
        pub kind: Kind,
        /// One sentence.
        pub message: String,
        /// Where.
        pub pc: u64,
        /// Another place.
        pub other: Option<Other>,
        /// The place, where the program itself has told it.
        pub place: Option<Place>,
        /// The calls that led there, the innermost first.
        pub frames: Vec<u64>,
    }
}

record! {
    /// A place that a program tells.
    #[derive(Clone, Debug)]
    pub struct Place {
        /// The file, as the compiler was given it.
        pub file: String,
        /// The line.
        pub line: u32,
    }
}

record! {
    /// Another place that belongs to a trouble.
    #[derive(Debug)]
    pub struct Other {
        /// What happened there.
        pub role: String,
        /// Where.
        pub pc: u64,
    }
}

record! {
    /// One execution.
    #[derive(Debug)]
    pub struct Evidence {
        /// How it ended.
        pub kind: Kind,
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
        /// What was wrong.
        pub trouble: Option<Trouble>,
        /// The two accesses of a race.
        pub race: Option<[Access; 2]>,
        /// The threads, in the order of their creation.
        pub threads: Vec<Thread>,
        /// The steps.
        pub events: Vec<Event>,
        /// Calls of the kernel and the C library that steps belong to.
        pub calls: Vec<Call>,
        /// The panics of a Rust program, in their order.
        pub panics: Vec<Panic>,
    }
}

record! {
    /// A panic, which need not be a failure.
    #[derive(Debug)]
    pub struct Panic {
        /// The thread.
        pub thread: usize,
        /// What it says.
        pub message: String,
        /// Where.
        pub place: Place,
    }
}

record! {
    /// A memory order that a place in the program might have.
    #[derive(Debug)]
    pub struct Stronger {
        /// Where.
        pub pc: u64,
        /// As C writes it.
        pub order: String,
    }
}

record! {
    /// One access of a race.
    #[derive(Debug)]
    pub struct Access {
        /// The thread.
        pub thread: usize,
        /// Where.
        pub pc: u64,
        /// Whether it writes.
        pub write: bool,
        /// On what.
        pub address: u64,
        /// What was read; of the first access, what was written; of the second one, what was there before it wrote.
        pub value: Option<u64>,
        /// How many steps had been taken before.
        pub step: usize,
        /// The calls that led there, the innermost first.
        pub frames: Vec<u64>,
    }
}

record! {
    /// A thread at the end.
    #[derive(Debug)]
    pub struct Thread {
        /// Its function.
        pub start: u64,
        /// The name that the program has given it, or nothing.
        pub name: String,
        /// The calls that created it, the innermost first.
        pub creation: Vec<u64>,
        /// What it waits for.
        pub waits: Option<Waits>,
    }
}

record! {
    /// A thread that did not end.
    #[derive(Debug)]
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
        pub frames: Vec<u64>,
        /// The call that it is in, among those of the execution.
        pub call: Option<usize>,
    }
}

record! {
    /// A call that several steps may belong to.
    #[derive(Debug)]
    pub struct Call {
        /// Its name and what it is about.
        pub text: String,
        /// What it returned, if it did.
        pub result: Option<i64>,
    }
}

record! {
    /// One step.
    #[derive(Debug)]
    pub struct Event {
        /// The thread.
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
        pub frames: Vec<u64>,
        /// The call that it belongs to, among those of the execution.
        pub call: Option<usize>,
    }
}

impl Event {
    /// Whether a comparison failed although it found what it expected.
    pub fn fails_for_no_reason(&self) -> bool {
        self.source.as_ref().is_some_and(|source| source.fails)
    }
}

record! {
    /// Where a value comes from.
    #[derive(Debug)]
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
}

impl Found {
    /// What is known of a search that left no report.
    pub fn without_report(halt: Halt) -> Found {
        Found {
            halt,
            exhausted: false,
            executions: 0,
            graphs: 0,
            threads: 0,
            seconds: 0.0,
            memory: 0,
            forked_because: None,
            racy: 0,
            rows: Vec::new(),
            weak: false,
            unexplored: Vec::new(),
            notes: Vec::new(),
            modules: Vec::new(),
            unsupported: None,
            nondeterministic: false,
            fewer_stale: false,
            expected: None,
            strayed: None,
            unfinished: None,
            evidence: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let place = Place { file: "a \"b\".c".into(), line: 3 };
        let trouble = Trouble {
            kind: Kind::UseAfterFree,
            message: "tabs\tand \u{1b} and ünits".into(),
            pc: u64::MAX,
            other: Some(Other { role: "freed".into(), pc: 7 }),
            place: Some(place.clone()),
            frames: vec![1, 2],
        };
        let access = |write| Access {
            thread: 1,
            pc: 2,
            write,
            address: 3,
            value: Some(5),
            step: 4,
            frames: vec![],
        };
        let waits = Waits {
            action: "lock".into(),
            pc: 1,
            address: 2,
            holder: Some(0),
            frames: vec![3],
            call: None,
        };
        let source = Source { stale: true, fails: false, read: None, newest: Some(1), value: 9 };
        let event = Event {
            thread: 0,
            pc: 1,
            address: 2,
            action: "load".into(),
            number: true,
            first: 3,
            result: 4,
            before: 5,
            after: 6,
            timeout: false,
            preemption: true,
            source: Some(source),
            frames: vec![7],
            call: Some(0),
        };
        let found = Found {
            seconds: 0.25,
            rows: vec![Row { stale: 1, bound: 2, graphs: 3, executions: 4 }],
            modules: vec![Module { path: String::new(), base: 1 << 40 }],
            unsupported: Some(trouble),
            unfinished: Some(Standing { steps: 1, pc: 2, frames: vec![] }),
            evidence: Some(Evidence {
                kind: Kind::DataRace,
                schedule: "p1.0x3".into(),
                preemptions: 1,
                stale: 0,
                remedy: vec![Stronger { pc: 1, order: "memory_order_release".into() }],
                diverged: false,
                trouble: None,
                race: Some([access(true), access(false)]),
                threads: vec![Thread {
                    start: 1,
                    name: "t".into(),
                    creation: vec![2],
                    waits: Some(waits),
                }],
                events: vec![event],
                calls: vec![Call { text: "read".into(), result: Some(-11) }],
                panics: vec![Panic { thread: 0, message: "m".into(), place }],
            }),
            ..Found::without_report(Halt::Failure)
        };
        let text = serde_json::to_string(&found).expect("it is written");
        let read: Found = serde_json::from_str(&text).expect("it is read");
        assert_eq!(format!("{read:?}"), format!("{found:?}"));
        assert!(serde_json::from_str::<Found>(&text.replace("\"racy\":0,", "")).is_err());
    }
}
