//! Pieces of C in the intermediate form, and where the variables that they see lie in the state vector.

use super::{FaultId, ValueKind};
use crate::embedded::{Call, Compiled, Ending, FragmentId, Identity};
use std::ops::Range;

/// A piece of C as expressions and effects refer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentRef {
    /// Which one.
    pub fragment: FragmentId,
    /// What is reported for the first of [`Ending::ALL`]; the others follow.
    pub fault: FaultId,
}

impl FragmentRef {
    /// What is reported when the piece of C ends like this.
    pub fn fault_of(self, ending: Ending) -> FaultId {
        let at = Ending::ALL.iter().position(|other| *other == ending).unwrap_or(0);
        FaultId(self.fault.0 + at as u32)
    }
}

/// A scalar of the model as C sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// It lies in the vector, or in the frame.
    Stored(ValueKind, u32),
    /// It never changes: the id of a channel.
    Known(i32),
}

/// The variables that C sees, in the order of the generated text.
#[derive(Clone, Debug)]
pub struct Mirror {
    /// The pieces of C.
    pub compiled: Compiled,
    /// The scalars of all globals.
    pub globals: Vec<Cell>,
    /// The bytes of C in the global part.
    pub tracked: Range<u32>,
    /// Those of them, at the end, by which states are not told apart.
    pub unmatched: Range<u32>,
    /// Per process type, the scalars of its parameters and variables.
    pub locals: Vec<Vec<Cell>>,
    /// Per process type, the bytes of C in its frame.
    pub local_tracked: Vec<Range<u32>>,
    /// What `now._nr_pr` counts besides the processes of the model: a claim.
    pub beside: u32,
    /// C may keep addresses of variables of processes, so it sees all processes and not only the one that executes.
    pub reaches_others: bool,
}

/// A process, as a piece of C is executed for it.
#[derive(Clone, Copy, Debug)]
pub struct Executor {
    /// Its number.
    pub id: usize,
    /// Its type.
    pub proctype: usize,
    /// Where its frame starts.
    pub base: usize,
}

impl Mirror {
    /// The value of an expression of C in a state, where `seen` are the processes with memory that it may reach. Whatever it
    /// changes is forgotten.
    pub fn evaluate(
        &self,
        fragment: FragmentId,
        state: &[u8],
        process: Option<Executor>,
        seen: &[Executor],
    ) -> Result<i32, Ending> {
        match self.run(fragment, state, process, seen, None)? {
            (_, true) => Err(Ending::Reported),
            (run, false) => Ok(run.value),
        }
    }

    /// Executes statements of C, and changes the state by what they change, also if they [report](Ending::Reported) an
    /// error.
    pub fn execute(
        &self,
        fragment: FragmentId,
        state: &mut [u8],
        process: Option<Executor>,
        seen: &[Executor],
        output: Option<&mut String>,
    ) -> Result<(), Ending> {
        let (run, reported) = self.run(fragment, state, process, seen, output)?;
        write(&self.globals, &run.globals, 0, state);
        state[range(&self.tracked, 0)].copy_from_slice(&run.tracked);
        let (mut locals, mut bytes) = (&*run.locals, &*run.local_tracked);
        for &Executor { proctype, base, .. } in seen {
            let (mine, others) = locals.split_at(self.locals[proctype].len());
            write(&self.locals[proctype], mine, base, state);
            let tracked = range(&self.local_tracked[proctype], base);
            let (my_bytes, bytes_of_others) = bytes.split_at(tracked.len());
            state[tracked].copy_from_slice(my_bytes);
            (locals, bytes) = (others, bytes_of_others);
        }
        if reported { Err(Ending::Reported) } else { Ok(()) }
    }

    /// Runs a piece of C; also says whether it reported an error.
    fn run(
        &self,
        fragment: FragmentId,
        state: &[u8],
        process: Option<Executor>,
        seen: &[Executor],
        output: Option<&mut String>,
    ) -> Result<(Run, bool), Ending> {
        let tracked = state[range(&self.tracked, 0)].to_vec();
        let mut run = Run { tracked, ..Run::default() };
        read(&self.globals, 0, state, &mut run.globals);
        for &Executor { proctype, base, .. } in seen {
            read(&self.locals[proctype], base, state, &mut run.locals);
            let tracked = range(&self.local_tracked[proctype], base);
            run.local_tracked.extend_from_slice(&state[tracked]);
        }
        let identity = |it: &Executor| Identity { id: it.id as u32, proctype: it.proctype as u32 };
        let processes: Vec<Identity> = seen.iter().map(identity).collect();
        let called = self.compiled.0.call(Call {
            fragment,
            process: process.map(|it| it.id as u32),
            process_count: u32::from(state[1]) + self.beside,
            globals: &mut run.globals,
            tracked: &mut run.tracked,
            processes: &processes,
            locals: &mut run.locals,
            local_tracked: &mut run.local_tracked,
            output,
        });
        match called {
            Ok(value) => Ok((Run { value, ..run }, false)),
            Err(Ending::Reported) => Ok((run, true)),
            Err(ending) => Err(ending),
        }
    }
}

/// What a call works on.
#[derive(Default)]
struct Run {
    globals: Vec<i32>,
    tracked: Vec<u8>,
    locals: Vec<i32>,
    local_tracked: Vec<u8>,
    value: i32,
}

fn range(range: &Range<u32>, base: usize) -> Range<usize> {
    base + range.start as usize..base + range.end as usize
}

fn read(cells: &[Cell], base: usize, state: &[u8], values: &mut Vec<i32>) {
    values.extend(cells.iter().map(|cell| match cell {
        Cell::Stored(kind, offset) => kind.load(state, base + *offset as usize),
        Cell::Known(value) => *value,
    }));
}

fn write(cells: &[Cell], values: &[i32], base: usize, state: &mut [u8]) {
    for (cell, value) in cells.iter().zip(values) {
        if let Cell::Stored(kind, offset) = cell {
            kind.store(state, base + *offset as usize, *value);
        }
    }
}
