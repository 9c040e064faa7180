//! The processes of a state, and where they stand.

use crate::ir::{ControlState, Executor, Mirror, Program, ValueKind};

/// A live process of a state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Process {
    pub(super) id: usize,
    /// Where its frame starts.
    pub(super) base: usize,
    pub(super) proctype: usize,
    pub(super) pc: u16,
}

impl Process {
    /// The process, as pieces of C are executed for it.
    pub(super) fn executor(self) -> Executor {
        Executor { id: self.id, proctype: self.proctype, base: self.base }
    }

    /// Where it stands.
    pub(super) fn control_state(self, program: &Program) -> &ControlState {
        &program.proctypes[self.proctype].states[usize::from(self.pc)]
    }

    pub(super) fn find(program: &Program, state: &[u8], id: usize) -> Option<Process> {
        processes(program, state).nth(id)
    }
}

/// The live processes, oldest first.
pub(super) fn processes<'a>(
    program: &'a Program,
    state: &'a [u8],
) -> impl Iterator<Item = Process> + 'a {
    let mut base = program.layout.globals_end as usize;
    (0..usize::from(state[1])).map(move |id| {
        let proctype = usize::from(state[base]);
        let pc = read_pc(state, base + 1, program.layout.pc_width);
        let process = Process { id, base, proctype, pc };
        base += program.proctypes[proctype].frame.length as usize;
        process
    })
}

/// The processes with memory that a piece of C may reach, oldest first.
pub(super) fn seen_by_c(
    mirror: &Mirror,
    program: &Program,
    state: &[u8],
    process: Option<Process>,
) -> Vec<Executor> {
    match mirror.reaches_others {
        true => processes(program, state).map(Process::executor).collect(),
        false => process.map(Process::executor).into_iter().collect(),
    }
}

/// Reads a control state of the given width.
pub(super) fn read_pc(state: &[u8], at: usize, width: u32) -> u16 {
    let kind = ValueKind::Unsigned(if width == 2 { 16 } else { 8 });
    kind.load(state, at) as u16
}

/// Writes a control state.
pub(super) fn write_pc(state: &mut [u8], at: usize, width: u32, pc: u16) {
    let kind = ValueKind::Unsigned(if width == 2 { 16 } else { 8 });
    kind.store(state, at, i32::from(pc));
}
