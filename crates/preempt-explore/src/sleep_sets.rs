//! Unbounded exploration without a table of states: every complete graph exactly once.
//!
//! Depth-first over imagined states with sleep sets: a move that was explored from a state stays
//! asleep in its siblings until something dependent happens, because until then exploring it
//! again would only repeat a graph. Memory is the depth of the search plus one segment per local
//! history; the program is run only for unknown histories, so never more often than there are
//! graphs.
//!
//! Workers share the tree without talking to each other: below a fixed depth each explores every
//! n-th subtree.
//!
//! Differs from source sets with wakeup trees: prefixes in which all moves are asleep are still
//! visited, in imagination only; no execution is ever redundant.

use crate::forward::{imagined, terminal_of};
use crate::segment_table::SegmentTable;
use crate::{ExecutionState, Halt, Move, Program, Session, Terminal, ThreadId};

/// Explores every graph, whatever preemptions it needs.
pub fn explore<P: Program>(session: &mut Session<'_, P>) -> Halt {
    match search(session) {
        Ok(()) => {
            session.statistics.exhausted = true;
            Halt::Done
        }
        Err(halt) => halt,
    }
}

/// Depth at which the tree is dealt out to workers.
const SPLIT: usize = 8;

/// A move that need not be explored again, and whether a panic follows it.
#[derive(Clone, Copy)]
struct Asleep {
    step: Move,
    panics: bool,
}

struct Frame {
    state: ExecutionState,
    /// The move that led here.
    step: Move,
    preemptions: u32,
    moves: Vec<Move>,
    next: usize,
    asleep: Vec<Asleep>,
}

fn search<P: Program>(session: &mut Session<'_, P>) -> Result<(), Halt> {
    let mut segments = SegmentTable::default();
    let mut state = session.run.imagined_state(imagined(session));
    segments.begin(session, &mut state)?;
    let start = Move { thread: ThreadId::MAIN, choice: 0 };
    let mut stack = vec![frame(state, start, 0, Vec::new())];
    let mut ticks = 0u32;
    let (worker, workers) = session.limits.worker;
    let mut subtrees = 0;
    loop {
        let depth = stack.len();
        let Some(top) = stack.last_mut() else { return Ok(()) };
        if depth == SPLIT && top.next == 0 && workers > 1 {
            subtrees += 1;
            if subtrees % workers != worker {
                stack.pop();
                continue;
            }
        }
        let Some(&step) = top.moves.get(top.next) else {
            if top.moves.is_empty() && (depth >= SPLIT || worker == 0) {
                complete(session, &mut segments, &stack)?;
            }
            stack.pop();
            continue;
        };
        top.next += 1;
        if top.asleep.iter().any(|a| a.step == step) {
            continue;
        }
        ticks += 1;
        session.statistics.states += 1;
        if ticks % 1024 == 0 && session.is_late() {
            return Err(Halt::Time);
        }
        let keeps = top.state.keeps_running(top.step.thread, &top.moves);
        let preemptions = top.preemptions + u32::from(keeps && step.thread != top.step.thread);
        let mut state = top.state.clone();
        let path = |out: &mut Vec<Move>| {
            out.extend(stack.iter().skip(1).map(|f| f.step));
            out.push(step);
        };
        segments.advance(session, &mut state, step, &path)?;
        // What a thread does while it unwinds follows at once and may depend on anything.
        let panics = state.panicked().is_some() || state.urgent.is_some();
        let Some(top) = stack.last_mut() else { return Ok(()) };
        let still: Vec<Asleep> = top
            .asleep
            .iter()
            .copied()
            .filter(|a| {
                !panics
                    && !a.panics
                    && a.step.thread != step.thread
                    && !top.state.depend(a.step, step)
            })
            .collect();
        top.asleep.push(Asleep { step, panics });
        stack.push(frame(state, step, preemptions, still));
        if stack.len() > session.limits.steps {
            let path = |out: &mut Vec<Move>| out.extend(stack.iter().skip(1).map(|f| f.step));
            segments.run(session, &path)?;
            stack.pop();
        }
    }
}

fn frame(state: ExecutionState, step: Move, preemptions: u32, asleep: Vec<Asleep>) -> Frame {
    let mut moves = Vec::new();
    state.moves(&mut moves);
    Frame { state, step, preemptions, moves, next: 0, asleep }
}

fn complete<P: Program>(
    session: &mut Session<'_, P>,
    segments: &mut SegmentTable,
    stack: &[Frame],
) -> Result<(), Halt> {
    let Some(top) = stack.last() else { return Ok(()) };
    let terminal = terminal_of(&top.state);
    session.statistics.graph(top.state.graph(), top.preemptions, terminal);
    let steps: Vec<Move> = stack.iter().skip(1).map(|f| f.step).collect();
    let wanted = !session.limits.keep_going || session.statistics.failure.is_none();
    let fails = terminal != Terminal::Complete && wanted;
    if fails || (session.run.rules.clocks && segments.races(session, &steps)?) {
        segments.run(session, &|out: &mut Vec<Move>| out.extend_from_slice(&steps))?;
    }
    Ok(())
}
