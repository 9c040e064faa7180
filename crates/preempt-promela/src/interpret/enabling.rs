//! Which moves may enable which: what moves wait for, and what they signal.
//!
//! Finer than footprints in one respect: of a channel, sends and receives are two objects. A receive waits
//! for sends, a send waits for receives. Only channels and the set of processes are ever signalled ahead
//! of their time: a move that writes a variable has no signals here.
//!
//! Invariant: if moves of other processes enable a move, it waits for an object that one of them
//! signals, or it is a rendezvous whose partner arrived where it can answer.

use super::objects::{Objects, PROCESSES, Precision, Touch, may_answer};
use super::usage::Usage;
use crate::ir::{ControlState, Move, Program};
use preempt_core::{ObjectSet, Step};

/// What the moves of a program wait for, and what control states signal.
pub(super) struct Enabling {
    /// Per move; `None` where anything may decide.
    waits: Vec<Option<ObjectSet>>,
    /// Per process type and control state.
    signals: Vec<Vec<Option<ObjectSet>>>,
    /// Per process type and control state: whether a rendezvous may be answered there.
    answers: Vec<Vec<bool>>,
    /// All that is ever signalled.
    anything: ObjectSet,
}

impl Enabling {
    pub(super) fn of(objects: &Objects<'_>, meetings: &[(usize, usize)]) -> Self {
        let program = objects.program;
        let ends = Ends { first: objects.end() };
        let touched: Vec<Touch> =
            (0..program.moves.len()).map(|at| objects.of_itself(at, Precision::Static)).collect();
        let known = !program.layout.has_priorities;
        let waits =
            (0..touched.len()).map(|at| ends.waits(objects, &touched, at).filter(|_| known));
        let of_moves: Vec<Option<ObjectSet>> =
            touched.iter().map(|touch| ends.signals(objects, touch).filter(|_| known)).collect();
        let channels = program.layout.channels.len();
        let answers = |state: &ControlState| {
            program.uses_rendezvous && state.moves.iter().any(|id| may_answer(program.move_of(*id)))
        };
        Enabling {
            waits: waits.collect(),
            signals: with_sequences(program, &of_moves, meetings),
            answers: program
                .proctypes
                .iter()
                .map(|proctype| proctype.states.iter().map(answers).collect())
                .collect(),
            anything: (0..=channels).flat_map(|c| ends.both(c)).chain([PROCESSES]).collect(),
        }
    }

    pub(super) fn waits_for(&self, step: Step, signalled: Option<&ObjectSet>) -> bool {
        let signalled = signalled.unwrap_or(&self.anything);
        let waits = |transition: u32| {
            let waits = self.waits.get(transition as usize);
            waits.is_none_or(|w| w.as_ref().is_none_or(|w| w.intersects(signalled)))
        };
        waits(step.transition) || step.partner.is_some() && waits(step.partner_transition)
    }

    pub(super) fn signals(&self, proctype: usize, pc: u16) -> Option<&ObjectSet> {
        self.signals.get(proctype)?.get(usize::from(pc))?.as_ref()
    }

    pub(super) fn may_answer(&self, proctype: usize, pc: u16) -> bool {
        let answers = self.answers.get(proctype).and_then(|answers| answers.get(usize::from(pc)));
        answers.copied().unwrap_or(true)
    }
}

/// Numbers for sends to and receives from each channel, behind those of all other objects.
struct Ends {
    first: usize,
}

impl Ends {
    fn sends(&self, channel: usize) -> usize {
        self.first + 2 * channel
    }

    fn receives(&self, channel: usize) -> usize {
        self.first + 2 * channel + 1
    }

    fn both(&self, channel: usize) -> [usize; 2] {
        [self.sends(channel), self.receives(channel)]
    }

    /// What decides whether a move is enabled.
    fn waits(&self, objects: &Objects<'_>, touched: &[Touch], at: usize) -> Option<ObjectSet> {
        let mut waits = ObjectSet::new();
        let own = &touched[at];
        for (channel, usage) in &own.uses {
            match usage {
                Usage::Send => {
                    waits.insert(self.receives(*channel));
                }
                _ => waits.extend(self.both(*channel)),
            }
        }
        let mut unknown = own.unknown;
        waits.extend(plain(objects, own));
        // Where others must be disabled, what disables them counts as well.
        for other in objects.looked_at_by(at) {
            let other = &touched[other];
            unknown |= other.unknown;
            waits.extend(plain(objects, other));
            waits.extend(other.uses.iter().flat_map(|(channel, _)| self.both(*channel)));
        }
        (!unknown).then_some(waits)
    }

    /// What a move changes that others wait for; `None` if it writes a variable.
    fn signals(&self, objects: &Objects<'_>, touch: &Touch) -> Option<ObjectSet> {
        let mut signals = ObjectSet::new();
        for (channel, usage) in &touch.uses {
            match usage {
                Usage::Send => {
                    signals.insert(self.sends(*channel));
                }
                Usage::Receive => {
                    signals.insert(self.receives(*channel));
                }
                Usage::Everything => signals.extend(self.both(*channel)),
                Usage::First | Usage::IsEmpty | Usage::IsFull | Usage::Length => {}
            }
        }
        let mut writes = touch.footprint.writes.iter().filter(|o| !objects.is_channel(*o));
        if writes.any(|object| object != PROCESSES) || touch.unknown {
            return None;
        }
        if touch.footprint.writes.contains(PROCESSES) {
            signals.insert(PROCESSES);
            // Channels of processes come and go with them.
            signals.extend(self.both(objects.program.layout.channels.len()));
        }
        Some(signals)
    }
}

/// The objects of a move that are no channels.
fn plain(objects: &Objects<'_>, touch: &Touch) -> Vec<usize> {
    let footprint = &touch.footprint;
    let all = footprint.reads.iter().chain(footprint.writes.iter());
    all.filter(|object| !objects.is_channel(*object)).collect()
}

/// What the moves of each control state signal, with the atomic sequences that they begin, also by
/// handing control to the partner of a rendezvous.
fn with_sequences(
    program: &Program,
    of_moves: &[Option<ObjectSet>],
    meetings: &[(usize, usize)],
) -> Vec<Vec<Option<ObjectSet>>> {
    let mut signals: Vec<Vec<Option<ObjectSet>>> = program
        .proctypes
        .iter()
        .map(|proctype| vec![Some(ObjectSet::new()); proctype.states.len()])
        .collect();
    loop {
        let mut changed = false;
        for (at, step) in program.moves.iter().enumerate().rev() {
            let mut sum = of_moves[at].clone();
            let go_on = |step: &Move, sum: &mut Option<ObjectSet>| {
                if step.keeps_control {
                    let proctype = usize::from(step.proctype.0);
                    join(sum, &signals[proctype][usize::from(step.target.0)]);
                }
            };
            go_on(step, &mut sum);
            for (_, receive) in meetings.iter().filter(|(send, _)| *send == at) {
                join(&mut sum, &of_moves[*receive]);
                go_on(&program.moves[*receive], &mut sum);
            }
            let known = &mut signals[usize::from(step.proctype.0)][usize::from(step.source.0)];
            changed |= match (known.as_mut(), sum) {
                (Some(known), Some(sum)) => known.union_with(&sum),
                (Some(_), None) => {
                    *known = None;
                    true
                }
                (None, _) => false,
            };
        }
        if !changed {
            return signals;
        }
    }
}

fn join(sum: &mut Option<ObjectSet>, other: &Option<ObjectSet>) {
    match (sum.as_mut(), other) {
        (Some(sum), Some(other)) => {
            sum.union_with(other);
        }
        _ => *sum = None,
    }
}
