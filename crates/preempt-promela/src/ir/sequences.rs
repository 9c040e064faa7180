//! Where an indivisible sequence may begin that never ends.
//!
//! A property of the text alone: from a control state marked here, moves that keep control can follow
//! each other for ever as far as their targets tell. What the moves need to be enabled is not looked at, so
//! most sequences found here do end; those not found here all do.

use super::{MoveKind, Pc, Program};

/// The control states from which a process, or one to which it hands control, may keep control for ever.
#[derive(Clone, Debug)]
pub struct EndlessSequences {
    /// By process type and control state.
    may_begin: Vec<Vec<bool>>,
}

impl EndlessSequences {
    /// Those of a program.
    pub fn of(program: &Program) -> Self {
        let all = |proctype: &super::Proctype| vec![true; proctype.states.len()];
        let mut may_begin: Vec<Vec<bool>> = program.proctypes.iter().map(all).collect();
        // The largest set in which a move that keeps control leads from each member to a member.
        loop {
            // A send may hand control to the process that receives.
            let answered = program.uses_rendezvous
                && program.moves.iter().any(|step| {
                    let answers =
                        matches!(step.kind, MoveKind::Receive { .. } | MoveKind::Compound { .. });
                    let at = usize::from(step.proctype.0);
                    answers && step.keeps_control && may_begin[at][usize::from(step.target.0)]
                });
            let mut shrank = false;
            for (at, proctype) in program.proctypes.iter().enumerate() {
                for (pc, state) in proctype.states.iter().enumerate() {
                    let goes_on = state.moves.iter().any(|id| {
                        let step = program.move_of(*id);
                        let sends = matches!(step.kind, MoveKind::Send { .. });
                        let ends = matches!(step.kind, MoveKind::End);
                        sends && answered
                            || step.keeps_control
                                && !ends
                                && may_begin[at][usize::from(step.target.0)]
                    });
                    if may_begin[at][pc] && !goes_on {
                        may_begin[at][pc] = false;
                        shrank = true;
                    }
                }
            }
            if !shrank {
                return EndlessSequences { may_begin };
            }
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        !self.may_begin.iter().flatten().any(|may| *may)
    }

    /// Whether one may begin at this control state.
    pub fn may_begin(&self, proctype: usize, pc: Pc) -> bool {
        let state = self.may_begin.get(proctype).and_then(|states| states.get(usize::from(pc.0)));
        state.copied().unwrap_or(true)
    }
}
