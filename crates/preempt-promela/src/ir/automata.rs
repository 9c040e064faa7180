//! Automata beside the processes: never claims, formulas, and `trace` declarations.

use super::{FaultId, FragmentRef, PatternRange, Statement};
use crate::syntax::span::Span;

/// A never claim as an automaton that reads states.
#[derive(Clone, Debug)]
pub struct Automaton {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its states.
    pub states: Vec<AutomatonState>,
    /// Where it starts.
    pub entry: u32,
    /// How many process types and claims stand before it in the text: its number in Spin's trails.
    pub place: u32,
}

impl Automaton {
    /// Whether it contains an assertion.
    pub fn asserts(&self) -> bool {
        let moves = self.states.iter().flat_map(|state| &state.transitions);
        moves.into_iter().any(|transition| !transition.asserts.is_empty())
    }

    /// Whether C in it changes the state.
    pub fn changes(&self) -> bool {
        let moves = self.states.iter().flat_map(|state| &state.transitions);
        moves.into_iter().any(|transition| !transition.actions.is_empty())
    }

    /// The number of the first transition of a state, if all transitions are counted through.
    pub fn first_move(&self, state: u32) -> u32 {
        let before = self.states.iter().take(state as usize);
        before.map(|state| state.transitions.len() as u32).sum()
    }

    /// The transition of this number.
    pub fn move_of(&self, number: u32) -> Option<&AutomatonMove> {
        self.states.iter().flat_map(|state| &state.transitions).nth(number as usize)
    }

    /// Whether some accept state can be passed again and again: otherwise no infinite execution is accepted.
    pub fn has_accepting_cycle(&self) -> bool {
        let targets =
            |state: usize| self.states[state].transitions.iter().map(|t| t.target as usize);
        let is_on_cycle = |state: usize| {
            let mut seen = vec![false; self.states.len()];
            let mut open: Vec<usize> = targets(state).collect();
            while let Some(next) = open.pop() {
                if !std::mem::replace(&mut seen[next], true) {
                    open.extend(targets(next));
                }
            }
            seen[state]
        };
        (0..self.states.len()).any(|state| self.states[state].is_accept && is_on_cycle(state))
    }
}

/// A state of a claim.
#[derive(Clone, Debug)]
pub struct AutomatonState {
    /// Its transitions in order.
    pub transitions: Vec<AutomatonMove>,
    /// An `accept` label stands here.
    pub is_accept: bool,
    /// A `progress` label stands here.
    pub is_progress: bool,
    /// The claim's closing brace: reaching it is the violation.
    pub is_end: bool,
    /// Where.
    pub span: Span,
}

/// A transition of a claim.
#[derive(Clone, Debug)]
pub struct AutomatonMove {
    /// Index into [`Program::propositions`](super::Program::propositions); `None` for `else` (no other transition is possible).
    pub proposition: Option<u32>,
    /// Propositions asserted on the way, and what their failure means.
    pub asserts: Vec<(u32, FaultId)>,
    /// What comes behind them from the first piece of C on, in order.
    pub actions: Vec<ClaimAction>,
    /// Where it leads.
    pub target: u32,
    /// Where it stands.
    pub statement: Statement,
    /// The numbers of its statements in Spin's trails.
    pub numbers: Vec<u32>,
}

/// What a transition of a claim does once C has changed the state.
#[derive(Clone, Copy, Debug)]
pub enum ClaimAction {
    /// Runs C.
    Code(FragmentRef),
    /// Goes on only where this proposition holds.
    Require(u32),
    /// Asserts this proposition.
    Assert(u32, FaultId),
}

/// A `trace` or `notrace` automaton. Its state is the byte [`Layout::trace_offset`](super::Layout::trace_offset).
#[derive(Clone, Debug)]
pub struct TraceProgram {
    /// `notrace`: reaching the end is the violation.
    pub negated: bool,
    /// Its states.
    pub states: Vec<TraceState>,
    /// Channels (ids) it watches for sends.
    pub watched_sends: Vec<u32>,
    /// Channels (ids) it watches for receives.
    pub watched_receives: Vec<u32>,
    /// What is reported when it does not allow what happened, or is completed (`notrace`).
    pub fault: FaultId,
    /// Where it starts.
    pub entry: u8,
    /// Its closing brace, if that can be reached.
    pub end: Option<u8>,
}

/// A state of a trace automaton.
#[derive(Clone, Debug, Default)]
pub struct TraceState {
    /// Its transitions in order.
    pub transitions: Vec<TraceMove>,
    /// An `end` label or the closing brace.
    pub is_end: bool,
}

/// A transition of a trace automaton: an event on a global channel.
#[derive(Clone, Debug)]
pub struct TraceMove {
    /// The channel's id.
    pub channel: u32,
    /// A receive, or a send.
    pub receive: bool,
    /// The fields: matched against constants, or ignored.
    pub pattern: PatternRange,
    /// Where it leads.
    pub target: u8,
}
