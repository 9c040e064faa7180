//! Puts the pieces of a [`Native`] together.

use crate::Native;
use crate::code::{Assembly, CodeError, Effort, Executable, FunctionId, Helper, Parameter};
use crate::control::Control;
use crate::moves::{Maker, Process};
use crate::ondemand::OnDemand;
use crate::place;
use crate::room::{
    ASK_MOVES, ListMoves, ListReplies, MOST_FIELDS, MOST_MOVES, Meeting, Room, TakeMove,
};
use crate::room::{most_successors, offer};
use crate::sequence;
use crate::shape::{self, Shape};
use crate::successors::resizes;
use crate::support::{self, Reply, Support};
use crate::value::{OnFault, Scope, Tables};
use Parameter::{Address, Number};
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{Move, Op, Program};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// `(state) -> truth`
pub(crate) type Proposition = extern "C" fn(*const u8) -> u32;

/// In the order of [`value::HelperId`].
pub(crate) const HELPERS: [Helper; 12] = [
    helper("locate", shape::locate as *const u8, &[Address, Address, Number], Address),
    helper(
        "frame_of",
        shape::frame_of as *const u8,
        &[Address, Address, Number, Number, Number],
        Number,
    ),
    helper("remove", shape::remove as *const u8, &[Address, Number, Number], Number),
    helper("make_room", shape::make_room as *const u8, &[Address, Number, Number], Number),
    helper("first_own", shape::first_own as *const u8, &[Address, Address, Number], Number),
    helper("create", shape::create as *const u8, &[Address, Address, Number], Number),
    helper("length_of", shape::length_of as *const u8, &[Address, Address], Number),
    helper(
        "offer",
        offer as *const u8,
        &[Address, Address, Address, Number, Number, Number, Number],
        Number,
    ),
    helper(
        "note_messages",
        place::note_messages as *const u8,
        &[Address, Address, Address, Number],
        Number,
    ),
    helper("record", place::record as *const u8, &[Address, Address], Address),
    helper(
        "record_copy",
        place::record_copy as *const u8,
        &[Address, Address, Address, Number],
        Address,
    ),
    helper(
        "follow",
        sequence::follow as *const u8,
        &[Address, Address, Address, Number, Number, Number],
        Number,
    ),
];

const fn helper(
    name: &'static str,
    address: *const u8,
    parameters: &'static [Parameter],
    result: Parameter,
) -> Helper {
    Helper { name, address, parameters, result }
}

/// The type of most results.
pub(crate) const NUMBER: Parameter = Number;
/// Parameters of [`ListMoves`].
pub(crate) const LIST: [Parameter; 5] = [Address, Address, Number, Number, Address];
/// Parameters of [`TakeMove`].
const TAKE: [Parameter; 5] = [Address, Address, Number, Number, Address];
/// Parameters of [`ListReplies`].
const REPLIES: [Parameter; 6] = [Address, Address, Number, Number, Address, Number];

/// Code that lists moves and takes them one by one.
pub(crate) struct Stepping {
    pub(crate) list: Vec<ListMoves>,
    pub(crate) take: Vec<TakeMove>,
    _code: Executable,
}

/// Code that computes all successors of a process, by control state.
pub(crate) struct Expanding {
    code: OnDemand,
    /// Whether steps are taken in place, and noted.
    notes: bool,
}

pub(crate) fn native(reference: &Interpreter) -> Result<Native<'_>, CodeError> {
    let program = reference.program();
    refuse(program)?;
    let shape = Box::new(Shape::new(program));
    let layout = &program.layout;
    let mut tables = Box::new(Tables {
        blocks: Vec::new(),
        channels: layout
            .channels
            .iter()
            .map(|c| u64::from(c.channel_type) << 32 | u64::from(c.offset))
            .collect(),
        only_type: only_type(program),
        capacities: layout.channel_types.iter().map(|t| t.capacity).collect(),
        shape: std::ptr::from_ref(&*shape).cast(),
        checks_promises: reference.checks_promises(),
        cancelled: reference.cancellation().flag(),
    });
    tables.blocks = sequence::blocks(program, &tables);
    let mut assembly = Assembly::new(&HELPERS, Effort::Usual)?;
    let propositions = propositions(&mut assembly, program, &tables)?;
    let halves = halves(&mut assembly, program, &tables, false)?;
    let code = assembly.finish()?;
    // SAFETY: propositions are made with this very signature, and live as long as `code`.
    let propositions = unsafe {
        let address =
            |f: &FunctionId| std::mem::transmute::<*const u8, Proposition>(code.address(*f).cast());
        let can_fault = program.propositions.iter().map(|id| program.can_fault(*id));
        let functions = propositions.iter().zip(can_fault);
        functions.map(|(f, can_fault)| f.as_ref().map(|f| (address(f), can_fault))).collect()
    };
    let growth: Vec<_> = program.moves.iter().map(|m| growth(program, m)).collect();
    let most_growth = growth.iter().flatten().copied().max().unwrap_or(0);
    let meeting = Box::new(meeting(program, &tables, &code, &halves, most_growth));
    let most_moves = program.proctypes.iter().flat_map(|p| &p.states).map(|s| s.moves.len()).max();
    Ok(Native {
        reference,
        program,
        shape,
        tables,
        meeting,
        control: Control::new(program),
        propositions,
        growth,
        // A joint step may create processes in both halves.
        most_growth: 2 * most_growth as usize,
        most_successors: most_successors(most_moves.unwrap_or(0), support::has_rendezvous(program)),
        most_moves: most_moves.unwrap_or(0),
        asked: AtomicU32::new(0),
        asked_for_steps: AtomicU32::new(0),
        translation: AtomicU64::new(0),
        stepping: OnceLock::new(),
        expanding: OnceLock::new(),
        sleeping: OnceLock::new(),
        placing: OnceLock::new(),
        sequences: OnceLock::new(),
        _code: code,
    })
}

/// The type of all channels, if they are alike and none belongs to a process.
fn only_type(program: &Program) -> Option<u32> {
    let (first, rest) = program.layout.channels.split_first()?;
    let alike = rest.iter().all(|channel| channel.channel_type == first.channel_type)
        && program.proctypes.iter().all(|proctype| proctype.frame.channels.is_empty());
    alike.then_some(first.channel_type)
}

/// Programs whose every step needs the interpreter.
fn refuse(program: &Program) -> Result<(), CodeError> {
    let most_fields = program.layout.channel_types.iter().map(|t| t.fields.len()).max();
    let states = || program.proctypes.iter().flat_map(|p| &p.states);
    let why = if program.layout.has_priorities {
        "it uses priorities"
    } else if program.trace.is_some() {
        "it has a trace automaton"
    } else if states().any(|s| s.moves.len() > MOST_MOVES) {
        "a selection has too many options"
    } else if most_fields.is_some_and(|most| most > MOST_FIELDS) {
        "a message has too many fields"
    } else {
        return Ok(());
    };
    Err(CodeError(why.into()))
}

/// How many bytes a move can add, if it can change the length of the vector.
fn growth(program: &Program, taken: &Move) -> Option<u32> {
    let created = taken.ops.iter().map(|op| match op {
        Op::Run { proctype, .. } => program.proctypes[usize::from(proctype.0)].frame.length,
        _ => 0,
    });
    resizes(taken).then(|| created.sum())
}

fn propositions(
    assembly: &mut Assembly,
    program: &Program,
    tables: &Tables,
) -> Result<Vec<Option<FunctionId>>, CodeError> {
    let mut functions = Vec::new();
    for &id in &program.propositions {
        let checks_promises = tables.checks_promises;
        let support = Support { program, own_channels: &[], checks_promises };
        if !support.expr(id) {
            functions.push(None);
            continue;
        }
        let function = assembly.function(&[Address], Number, |code, p| {
            let nobody = code.number(0);
            let (yes, no, without_value) = (code.block(), code.block(), code.block());
            let scope = Scope {
                program,
                tables,
                own_channels: &[],
                state: p[0],
                frame: p[0],
                pid: nobody,
                timeout: nobody,
                room: p[0],
                on_fault: OnFault::Goto(without_value),
                notes: false,
            };
            scope.condition(code, id, yes, no);
            for (block, value) in [(yes, 1), (no, 0), (without_value, crate::NO_VALUE)] {
                code.begin(block);
                let value = code.number(value as i32);
                code.give(value);
            }
        })?;
        functions.push(Some(function));
    }
    Ok(functions)
}

/// The functions of a process type that take part in rendezvous: give, replies, accept.
pub(crate) type Halves = [Option<FunctionId>; 3];

pub(crate) fn halves(
    assembly: &mut Assembly,
    program: &Program,
    tables: &Tables,
    notes: bool,
) -> Result<Vec<Halves>, CodeError> {
    let mut all = Vec::new();
    for proctype in &program.proctypes {
        let maker = Maker { program, proctype, tables, notes };
        let mut halves = [None; 3];
        if !maker.moves(|m| maker.support().gives(m)).is_empty() {
            halves[0] = Some(assembly.function(&TAKE, Number, |code, p| {
                maker.give(code, process(p), p[3], p[4]);
            })?);
        }
        if !maker.moves(|m| maker.support().reply(m) != Reply::Never).is_empty() {
            halves[1] = Some(assembly.function(&REPLIES, Number, |code, p| {
                maker.replies(code, process(p), p[3], p[4], p[5]);
            })?);
        }
        if !maker.moves(|m| maker.support().accepts(m)).is_empty() {
            halves[2] = Some(assembly.function(&TAKE, Number, |code, p| {
                maker.accept(code, process(p), p[3], p[4]);
            })?);
        }
        all.push(halves);
    }
    Ok(all)
}

pub(crate) fn meeting(
    program: &Program,
    tables: &Tables,
    code: &Executable,
    halves: &[Halves],
    growth: u32,
) -> Meeting {
    let support = |m: &Move| Support {
        program,
        own_channels: &program.proctypes[usize::from(m.proctype.0)].frame.channels,
        checks_promises: tables.checks_promises,
    };
    // SAFETY: `halves` made the functions with these very signatures, and they live as long as
    // `code`, which the owner of the result keeps.
    unsafe {
        let take = |f: FunctionId| std::mem::transmute::<*const u8, TakeMove>(code.address(f));
        let reply = |f: FunctionId| std::mem::transmute::<*const u8, ListReplies>(code.address(f));
        Meeting {
            give: halves.iter().map(|h| h[0].map(take)).collect(),
            replies: halves.iter().map(|h| h[1].map(reply)).collect(),
            accept: halves.iter().map(|h| h[2].map(take)).collect(),
            may_reply: program
                .proctypes
                .iter()
                .map(|proctype| {
                    let may = |state: &preempt_promela::ir::ControlState| {
                        state
                            .moves
                            .iter()
                            .map(|id| program.move_of(*id))
                            .any(|m| support(m).reply(m) != Reply::Never)
                    };
                    proctype.states.iter().map(may).collect()
                })
                .collect(),
            halves: program
                .moves
                .iter()
                .map(|m| support(m).gives(m) || support(m).accepts(m))
                .collect(),
            pc_width: program.layout.pc_width,
            growth: 2 * growth as usize,
        }
    }
}

pub(crate) fn process(parameters: &[crate::code::Value]) -> Process {
    Process { state: parameters[0], frame: parameters[1], pid: parameters[2] }
}

impl Stepping {
    pub(crate) fn new(program: &Program, tables: &Tables) -> Result<Self, CodeError> {
        let mut assembly = Assembly::new(&HELPERS, Effort::Usual)?;
        let (mut lists, mut takes) = (Vec::new(), Vec::new());
        for proctype in &program.proctypes {
            let maker = Maker { program, proctype, tables, notes: false };
            lists.push(assembly.function(&LIST, Number, |code, p| {
                maker.list(code, process(p), p[3], p[4]);
            })?);
            takes.push(assembly.function(&TAKE, Number, |code, p| {
                maker.take(code, process(p), p[3], p[4]);
            })?);
        }
        let code = assembly.finish()?;
        // SAFETY: the functions were made with these very signatures, and live as long as `code`.
        let (list, take) = unsafe {
            (
                lists.iter().map(|f| std::mem::transmute(code.address(*f))).collect(),
                takes.iter().map(|f| std::mem::transmute(code.address(*f))).collect(),
            )
        };
        Ok(Stepping { list, take, _code: code })
    }
}

impl Expanding {
    pub(crate) fn new(program: &Program, notes: bool) -> Result<Self, CodeError> {
        let states = program.proctypes.iter().map(|proctype| proctype.states.len()).sum();
        Ok(Expanding { code: OnDemand::new(&HELPERS, Effort::Usual, states)?, notes })
    }

    /// The code of a control state.
    #[inline(always)]
    pub(crate) fn at(&self, native: &Native<'_>, point: usize) -> ListMoves {
        let address = self.code.address(point, ask_for_moves as *const u8, |assembly| {
            let (program, tables) = (native.program, &native.tables);
            let (proctype, pc) = native.control.state_of(point as u32);
            let proctype = &program.proctypes[proctype];
            let maker = Maker { program, proctype, tables, notes: self.notes };
            assembly.function(&LIST, Number, |code, p| {
                maker.successors(code, &proctype.states[pc], process(p), p[3], p[4]);
            })
        });
        // SAFETY: the function was made with this very signature.
        unsafe { std::mem::transmute::<*const u8, ListMoves>(address) }
    }

    /// Compiles the code of all control states.
    pub(crate) fn prepare(&self, native: &Native<'_>) {
        let proctypes = native.program.proctypes.iter();
        let states: usize = proctypes.map(|proctype| proctype.states.len()).sum();
        (0..states).for_each(|point| {
            self.at(native, point);
        });
    }

    /// Seconds that compilation took until now.
    pub(crate) fn seconds(&self) -> f64 {
        self.code.seconds()
    }
}

/// In place of code that cannot be made.
extern "C" fn ask_for_moves(_: *const u8, _: *const u8, _: u32, _: u32, _: *mut Room) -> i32 {
    ASK_MOVES
}
