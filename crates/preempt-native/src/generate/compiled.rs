//! The code of a program, in the parts that are translated together.

use super::code::{Code, CodeError, Parameter, Value};
use super::cranelift::{Assembly, Effort, Executable, FunctionId};
use super::helpers::{HELPERS, LIST, REPLIES, TAKE};
use super::moves::{Maker, Process};
use super::on_demand::OnDemand;
use super::scope::{OnFault, Promises, Scope, Tables};
use super::sequence;
use super::successors::Purpose;
use super::support::{Reply, Support};
use super::undo_log;
use crate::execute::control::Control;
use crate::execute::shape::Shape;
use crate::execute::workspace::{ASK_MOVES, ListMoves, ListReplies, Meeting, TakeMove, Workspace};
use Parameter::{Address, Number};
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{ExprId, Move, Program};

/// `(state) -> truth`
pub(crate) type Proposition = extern "C" fn(*const u8) -> u32;

/// What a proposition without a value gives, instead of 0 or 1.
pub(crate) const NO_VALUE: u32 = 2;

/// A program with the tables that its code reads, at fixed addresses.
pub(crate) struct Parts<'p> {
    pub(crate) program: &'p Program,
    pub(crate) shape: Box<Shape>,
    pub(crate) tables: Box<Tables>,
    pub(crate) control: Control,
}

impl<'p> Parts<'p> {
    pub(crate) fn new(reference: &'p Interpreter) -> Self {
        let program = reference.program();
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
            promises: Promises::of(reference),
            cancelled: reference.cancellation().flag(),
        });
        tables.blocks = sequence::blocks(program, &tables);
        Parts { program, shape, tables, control: Control::new(program) }
    }
}

/// The type of all channels, if they are alike and none belongs to a process.
fn only_type(program: &Program) -> Option<u32> {
    let (first, rest) = program.layout.channels.split_first()?;
    let alike = rest.iter().all(|channel| channel.channel_type == first.channel_type)
        && program.proctypes.iter().all(|proctype| proctype.frame.channels.is_empty());
    alike.then_some(first.channel_type)
}

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

pub(crate) fn propositions(
    assembly: &mut Assembly,
    program: &Program,
    tables: &Tables,
) -> Result<Vec<Option<FunctionId>>, CodeError> {
    let mut functions = Vec::new();
    for &id in &program.propositions {
        let support = Support { program, own_channels: &[], promises: &tables.promises };
        if !support.expr(id) {
            functions.push(None);
            continue;
        }
        let function = assembly.function(&[Address], Number, |code, p| {
            truth(code, program, tables, id, p[0]);
        })?;
        functions.push(Some(function));
    }
    Ok(functions)
}

/// Body of a [`Proposition`].
pub(crate) fn truth(
    code: &mut dyn Code,
    program: &Program,
    tables: &Tables,
    id: ExprId,
    state: Value,
) {
    let nobody = code.number(0);
    let (yes, no, without_value) = (code.block(), code.block(), code.block());
    let scope = Scope {
        program,
        tables,
        own_channels: &[],
        state,
        frame: state,
        pid: nobody,
        timeout: nobody,
        workspace: state,
        on_fault: OnFault::Goto(without_value),
        notes: false,
    };
    scope.condition(code, id, yes, no);
    for (block, value) in [(yes, 1), (no, 0), (without_value, NO_VALUE)] {
        code.begin(block);
        let value = code.number(value as i32);
        code.give(value);
    }
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
                maker.give(code, Process::of(p), p[3], p[4]);
            })?);
        }
        if !maker.moves(|m| maker.support().reply(m) != Reply::Never).is_empty() {
            halves[1] = Some(assembly.function(&REPLIES, Number, |code, p| {
                maker.replies(code, Process::of(p), p[3], p[4], p[5]);
            })?);
        }
        if !maker.moves(|m| maker.support().accepts(m)).is_empty() {
            halves[2] = Some(assembly.function(&TAKE, Number, |code, p| {
                maker.accept(code, Process::of(p), p[3], p[4]);
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
        promises: &tables.promises,
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

/// Code that takes the steps of a process in place.
pub(crate) struct UndoLogging {
    pub(crate) expand: Expanding,
    /// The halves of a rendezvous that note what they write; none where a step may add to the vector.
    pub(crate) meeting: Option<Box<Meeting>>,
    /// The most notes that one step takes.
    pub(crate) most_notes: usize,
    _code: Executable,
}

impl UndoLogging {
    pub(crate) fn new(
        program: &Program,
        tables: &Tables,
        growth: usize,
    ) -> Result<Self, CodeError> {
        let mut assembly = Assembly::new(&HELPERS, Effort::Usual)?;
        let halves = match growth {
            0 => Some(halves(&mut assembly, program, tables, true)?),
            _ => None,
        };
        let code = assembly.finish()?;
        let expand = Expanding::new(program, true)?;
        let meeting = halves.map(|halves| meeting(program, tables, &code, &halves, 0));
        let most_notes =
            2 * program.moves.iter().map(|m| undo_log::notes_of(program, m)).max().unwrap_or(0);
        Ok(UndoLogging { expand, meeting: meeting.map(Box::new), most_notes, _code: code })
    }
}

impl UndoLogging {
    pub(crate) fn prepare(&self, parts: &Parts<'_>) {
        self.expand.prepare(parts);
    }

    /// Seconds that compilation took until now.
    pub(crate) fn seconds(&self) -> f64 {
        self.expand.seconds()
    }
}

impl Stepping {
    pub(crate) fn new(program: &Program, tables: &Tables) -> Result<Self, CodeError> {
        let mut assembly = Assembly::new(&HELPERS, Effort::Usual)?;
        let (mut lists, mut takes) = (Vec::new(), Vec::new());
        for proctype in &program.proctypes {
            let maker = Maker { program, proctype, tables, notes: false };
            lists.push(assembly.function(&LIST, Number, |code, p| {
                maker.everywhere(code, Process::of(p), p[3], p[4], Purpose::List);
            })?);
            takes.push(assembly.function(&TAKE, Number, |code, p| {
                maker.take(code, Process::of(p), p[3], p[4]);
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
    pub(crate) fn at(&self, parts: &Parts<'_>, point: usize) -> ListMoves {
        let address = self.code.address(point, ask_for_moves as *const u8, |assembly| {
            let (program, tables) = (parts.program, &parts.tables);
            let (proctype, pc) = parts.control.state_of(point as u32);
            let proctype = &program.proctypes[proctype];
            let maker = Maker { program, proctype, tables, notes: self.notes };
            assembly.function(&LIST, Number, |code, p| {
                maker.successors(code, &proctype.states[pc], Process::of(p), p[3], p[4]);
            })
        });
        // SAFETY: the function was made with this very signature.
        unsafe { std::mem::transmute::<*const u8, ListMoves>(address) }
    }

    /// Compiles the code of all control states.
    pub(crate) fn prepare(&self, parts: &Parts<'_>) {
        let proctypes = parts.program.proctypes.iter();
        let states: usize = proctypes.map(|proctype| proctype.states.len()).sum();
        (0..states).for_each(|point| {
            self.at(parts, point);
        });
    }

    /// Seconds that compilation took until now.
    pub(crate) fn seconds(&self) -> f64 {
        self.code.seconds()
    }
}

/// In place of code that cannot be made.
extern "C" fn ask_for_moves(_: *const u8, _: *const u8, _: u32, _: u32, _: *mut Workspace) -> i32 {
    ASK_MOVES
}
