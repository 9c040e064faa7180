//! Indivisible sequences, run in one go.
//!
//! Inside an `atomic` most control states have exactly one enabled move: statements one after the other, and
//! loops and selections whose conditions exclude each other. The code of an atomic block takes such moves one
//! after the other on the same vector and logs their numbers; no state is copied, no successor listed, and
//! control does not return to the search. It stops where the sequence ends, where no move or several are
//! enabled, and where the interpreter must be asked; then the search goes on as it does without this.
//!
//! **Invariant:** what is logged are exactly the steps that a search would take one by one, each the only
//! step of its state, and each went well.

use super::code::{
    Arithmetic, Block, Code, CodeError, Compare, Memory, Parameter, Register, Value,
};
use super::cranelift::Effort;
use super::helpers::{HELPERS, LIST};
use super::moves::{Maker, Process};
use super::on_demand::OnDemand;
use super::scope::{BlockTable, OnFault, Tables};
use super::successors::resizes;
use super::support::{Fit, has_rendezvous};
use super::value::load_pc;
use crate::execute::sequence::{BROKEN, INSIDE, OVER, STOPS, stay};
use crate::execute::workspace::{AtomicBlocks, Run, Workspace};
use preempt_promela::ir::{Expr, Move, MoveKind, Op, Pc, Program};

/// Blocks of more control states are not followed: one function that long takes long to compile, and
/// the clock could not be looked at meanwhile.
const MOST_STATES: usize = 1000;

/// The code of atomic blocks.
pub(crate) struct Sequences {
    program: *const Program,
    tables: *const Tables,
    code: OnDemand,
}

/// Finds the atomic blocks: control states that moves inside them join.
pub(crate) fn blocks(program: &Program, tables: &Tables) -> BlockTable {
    let mut count = 0;
    let of = |proctype| {
        let maker = Maker { program, proctype, tables, notes: false };
        maker.blocks_of(&mut count)
    };
    program.proctypes.iter().map(of).collect()
}

impl Sequences {
    pub(crate) fn new(program: &Program, tables: &Tables) -> Result<Self, CodeError> {
        let numbers = tables.blocks.iter().flatten().flatten();
        let count = numbers.max().map_or(0, |most| *most as usize + 1);
        Ok(Sequences { program, tables, code: OnDemand::new(&HELPERS, Effort::Quick, count)? })
    }

    /// Seconds that compilation took until now.
    pub(crate) fn seconds(&self) -> f64 {
        self.code.seconds()
    }

    /// Compiles all blocks.
    pub(crate) fn prepare(&self) {
        // SAFETY: see `run`.
        let tables = unsafe { &*self.tables };
        for (proctype, blocks) in tables.blocks.iter().enumerate() {
            let mut numbers: Vec<u32> = blocks.iter().flatten().copied().collect();
            numbers.sort_unstable();
            numbers.dedup();
            for number in numbers {
                self.run(proctype, number);
            }
        }
    }
}

impl AtomicBlocks for Sequences {
    fn run(&self, proctype: usize, block: u32) -> Run {
        let address = self.code.address(block as usize, stay as *const u8, |assembly| {
            // SAFETY: the program and the tables belong to the owner of this value, or outlive it.
            let (program, tables) = unsafe { (&*self.program, &*self.tables) };
            let maker =
                Maker { program, tables, notes: false, proctype: &program.proctypes[proctype] };
            let of_block = |(_, own): &(usize, &Option<u32>)| **own == Some(block);
            let own = tables.blocks[proctype].iter().enumerate().filter(of_block);
            let states: Vec<Pc> = own.map(|(pc, _)| Pc(pc as u16)).collect();
            assembly.function(&LIST, Parameter::Number, |code, p| {
                maker.sequence(code, Process::of(p), p[3], p[4], &states);
            })
        });
        // SAFETY: the function was made with this very signature.
        unsafe { std::mem::transmute::<*const u8, Run>(address) }
    }
}

/// What the code of a block works with.
struct Going {
    process: Process,
    zero: Value,
    workspace: Value,
    log: Value,
    limit: Value,
    /// Steps so far.
    count: Register,
    /// Stops at a state.
    inside: Block,
    /// Stops in the middle of a step.
    broken: Block,
    over: Block,
}

impl Maker<'_> {
    /// The block of each control state, numbered from `count` on.
    fn blocks_of(&self, count: &mut u32) -> Vec<Option<u32>> {
        let states = &self.proctype.states;
        if self.proctype.provided.is_some() || self.proctype.deterministic.is_some() {
            return vec![None; states.len()];
        }
        let moves = |pc: usize| states[pc].moves.iter().map(|id| self.program.move_of(*id));
        let mut inside = vec![false; states.len()];
        for taken in (0..states.len()).flat_map(moves).filter(|m| m.keeps_control) {
            inside[usize::from(taken.target.0)] = true;
        }
        let can = |pc: usize| {
            inside[pc] && !states[pc].moves.is_empty() && moves(pc).all(|m| self.can_run(m))
        };
        let mut blocks: Vec<Option<u32>> = vec![None; states.len()];
        let followed: Vec<bool> = (0..states.len()).map(can).collect();
        let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); states.len()];
        for pc in (0..states.len()).filter(|pc| followed[*pc]) {
            for taken in moves(pc).filter(|m| m.keeps_control) {
                let target = usize::from(taken.target.0);
                if followed[target] {
                    neighbours[pc].push(target);
                    neighbours[target].push(pc);
                }
            }
        }
        let mut too_long = Vec::new();
        for pc in (0..states.len()).filter(|pc| followed[*pc]) {
            if blocks[pc].is_some() {
                continue;
            }
            blocks[pc] = Some(*count);
            let mut worklist = vec![pc];
            let mut done = 0;
            while let Some(pc) = worklist.get(done).copied() {
                done += 1;
                for &next in &neighbours[pc] {
                    if blocks[next].is_none() {
                        blocks[next] = Some(*count);
                        worklist.push(next);
                    }
                }
            }
            too_long.extend(worklist.into_iter().filter(|_| done > MOST_STATES));
            *count += 1;
        }
        for pc in too_long {
            blocks[pc] = None;
        }
        blocks
    }

    /// Whether machine code can decide on the move and take it in the middle of a sequence.
    fn can_run(&self, taken: &Move) -> bool {
        let support = self.support();
        let may_meet = match &taken.kind {
            MoveKind::Send { channel, values, .. } => {
                match support.fit(channel, values.indices().len()) {
                    Fit::Buffered => false,
                    Fit::Unknown => has_rendezvous(self.program),
                    Fit::Rendezvous | Fit::Misfit => true,
                }
            }
            MoveKind::Compound { .. } => self.program.uses_timeout,
            _ => false,
        };
        taken.escape == 0
            && !may_meet
            && !resizes(taken)
            && support.guard(taken)
            && support.effect(taken)
    }

    /// The atomic block behind a move, if its code can be followed.
    pub(crate) fn block_behind(&self, taken: &Move) -> Option<u32> {
        let blocks = &self.tables.blocks[usize::from(taken.proctype.0)];
        blocks[usize::from(taken.target.0)].filter(|_| taken.keeps_control)
    }

    /// Body of [`Run`] for a block with these control states.
    fn sequence(
        &self,
        code: &mut dyn Code,
        process: Process,
        limit: Value,
        workspace: Value,
        states: &[Pc],
    ) {
        let zero = code.number(0);
        let count = code.register(zero);
        let log = code.load_wide(workspace, Workspace::LOG);
        let (inside, broken, over) = (code.cold_block(), code.cold_block(), code.block());
        let going = Going { process, zero, workspace, log, limit, count, inside, broken, over };
        let starts: Vec<_> = states.iter().map(|pc| (u32::from(pc.0), code.block())).collect();
        let pc = load_pc(code, self.program.layout.pc_width, process.frame);
        code.select_block(pc, &starts, inside);
        for (pc, start) in states.iter().zip(&starts) {
            code.begin(start.1);
            self.pass(code, &going, *pc, &starts);
        }
        for (block, how) in [(over, OVER), (inside, INSIDE), (broken, BROKEN)] {
            code.begin(block);
            let steps = code.get(count);
            let shift = code.number(STOPS as i32);
            let steps = code.arithmetic(Arithmetic::ShiftLeft, steps, shift);
            let how = code.number(how as i32);
            let stopped = code.arithmetic(Arithmetic::Or, steps, how);
            code.give(stopped);
        }
    }

    /// Takes the only enabled move of a control state, or stops.
    fn pass(&self, code: &mut dyn Code, going: &Going, pc: Pc, starts: &[(u32, Block)]) {
        let ids = &self.proctype.states[usize::from(pc.0)].moves;
        let begin = code.block();
        let steps = code.get(going.count);
        let may = code.compare(Compare::Less, steps, going.limit);
        code.branch(may, begin, going.inside);
        code.begin(begin);
        let takes: Vec<_> = ids.iter().map(|_| code.block()).collect();
        let scope =
            self.scope(going.process, going.zero, going.workspace, OnFault::Goto(going.inside));
        let guard = |code: &mut dyn Code, at: usize, found: Register, yes: Block, no: Block| {
            let candidate = self.program.move_of(ids[at]);
            let blocks = (yes, no, going.inside);
            self.guard(code, &scope, candidate, found, blocks, |_, code, _| {
                code.jump(going.inside);
            });
        };
        let kind = |at: usize| &self.program.move_of(ids[at]).kind;
        match takes[..] {
            [only] if self.is_always_enabled(kind(0)) => code.jump(only),
            [only] => guard(code, 0, going.count, only, going.inside),
            // Where `else` is the last of two, it is enabled iff the other is not.
            [first, other] if matches!(kind(1), MoveKind::Else) => {
                guard(code, 0, going.count, first, other);
            }
            _ => {
                let found = code.register(going.zero);
                for at in 0..takes.len() {
                    let (yes, alone, next) = (code.block(), code.block(), code.block());
                    guard(code, at, found, yes, next);
                    code.begin(yes);
                    let before = code.get(found);
                    code.branch(before, going.inside, alone);
                    code.begin(alone);
                    let number = code.number(at as i32 + 1);
                    code.set(found, number);
                    code.jump(next);
                    code.begin(next);
                }
                let found = code.get(found);
                let cases: Vec<_> = (1..).zip(takes.iter().copied()).collect();
                code.select_block(found, &cases, going.inside);
            }
        }
        for (id, block) in ids.iter().zip(takes) {
            code.begin(block);
            let taken = self.program.move_of(*id);
            let steps = code.get(going.count);
            let place = code.element(going.log, steps, size_of::<u32>() as u32);
            let number = code.number(id.0 as i32);
            code.store(Memory::Four, number, place, 0);
            self.take_inside(code, going, taken, starts);
        }
    }

    /// Takes a move and goes on where it headers.
    fn take_inside(
        &self,
        code: &mut dyn Code,
        going: &Going,
        taken: &Move,
        starts: &[(u32, Block)],
    ) {
        let on_fault = OnFault::Goto(going.broken);
        let scope = self.scope(going.process, going.zero, going.workspace, on_fault);
        let violated = code.register(going.zero);
        self.perform(code, &scope, taken, false, violated, going.broken);
        if self.may_violate(taken) {
            let (result, well) = (code.get(violated), code.block());
            code.branch(result, going.broken, well);
            code.begin(well);
        }
        self.stand_at(code, &scope, taken);
        if let Some(offset) = self.program.layout.last_offset {
            code.store(Memory::Byte, scope.pid, scope.state, offset);
        }
        let (steps, one) = (code.get(going.count), code.number(1));
        let steps = code.arithmetic(Arithmetic::Add, steps, one);
        code.set(going.count, steps);
        if !taken.keeps_control {
            code.store(Memory::Byte, going.zero, scope.state, 0);
            code.jump(going.over);
            return;
        }
        let target = u32::from(taken.target.0);
        let next = starts.binary_search_by_key(&target, |(pc, _)| *pc);
        code.jump(next.map_or(going.inside, |at| starts[at].1));
    }

    /// Whether an assertion of the move may fail, or it may use a channel that another process claims.
    fn may_violate(&self, taken: &Move) -> bool {
        matches!(taken.kind, MoveKind::Compound { .. })
            || self.tables.promises.are_checked()
            || taken.ops.iter().any(|op| matches!(op, Op::Assert { .. }))
    }

    fn is_always_enabled(&self, kind: &MoveKind) -> bool {
        match kind {
            MoveKind::Plain { guard } => {
                matches!(self.program.expr(*guard), Expr::Const(value) if *value != 0)
            }
            MoveKind::Else => true,
            _ => false,
        }
    }
}
