//! What steps touch, for partial-order reduction.
//!
//! Objects are: every scalar cell of the global part, every global channel, all channels that are
//! not known beforehand taken together, the set of processes, and per process type its observed
//! control states and its locals if others read them. A step whose effect on others is unknown
//! (priorities, `timeout`, `enabled`) has no footprint. Invariant: if two steps of different
//! processes do not commute, or one enables or disables the other, their footprints conflict.

use super::enabling::Enabling;
use super::objects::Objects;
use crate::ir::{ChannelRef, MoveKind, Op, Program};
use preempt_core::{Footprint, ObjectSet, Step};
use std::collections::HashMap;

/// The footprints of a program.
pub(super) struct Footprints {
    moves: Vec<Option<Footprint>>,
    /// Sends joined with receives.
    pairs: HashMap<(u32, u32), Footprint>,
    /// Per process type and control state.
    presents: Vec<Vec<Option<Footprint>>>,
    futures: Vec<Vec<Option<Footprint>>>,
    visible: Vec<Vec<bool>>,
    observed: Option<ObjectSet>,
    pub(super) enabling: Enabling,
}

impl Footprints {
    pub(super) fn of(program: &Program) -> Footprints {
        let objects = Objects::of(program);
        let moves: Vec<Option<Footprint>> = (0..program.moves.len())
            .map(|at| if program.layout.has_priorities { None } else { objects.of_move(at) })
            .collect();
        let observed = objects.of_propositions();
        let meetings = meetings(program);
        let pairs = pairs(&meetings, &moves);
        let presents = presents(program, &moves, &meetings);
        let futures = futures(program, &moves);
        let visible = visible(program, &moves, observed.as_ref());
        let enabling = Enabling::of(&objects, &meetings);
        Footprints { moves, pairs, presents, futures, visible, observed, enabling }
    }

    pub(super) fn step(&self, step: Step) -> Option<&Footprint> {
        match step.partner {
            None => self.moves.get(step.transition as usize)?.as_ref(),
            Some(_) => self.pairs.get(&(step.transition, step.partner_transition)),
        }
    }

    pub(super) fn present(&self, proctype: usize, pc: u16) -> Option<&Footprint> {
        self.presents.get(proctype)?.get(usize::from(pc))?.as_ref()
    }

    pub(super) fn future(&self, proctype: usize, pc: u16) -> Option<&Footprint> {
        self.futures.get(proctype)?.get(usize::from(pc))?.as_ref()
    }

    #[inline]
    pub(super) fn is_visible(&self, proctype: usize, pc: u16) -> bool {
        self.visible.get(proctype).and_then(|v| v.get(usize::from(pc))).copied().unwrap_or(true)
    }

    pub(super) fn observed(&self) -> Option<&ObjectSet> {
        self.observed.as_ref()
    }
}

/// Sends and receives that may meet.
fn meetings(program: &Program) -> Vec<(usize, usize)> {
    let mut meetings = Vec::new();
    if !program.uses_rendezvous {
        return meetings;
    }
    for (send, action) in program.moves.iter().enumerate() {
        let MoveKind::Send { channel, .. } = &action.kind else { continue };
        for (receive, answer) in program.moves.iter().enumerate() {
            let possible = match (&answer.kind, channel) {
                (
                    MoveKind::Receive { channel: ChannelRef::Global(b), .. },
                    ChannelRef::Global(a),
                ) => a == b,
                (MoveKind::Receive { .. } | MoveKind::Compound { .. }, _) => true,
                _ => false,
            };
            if possible {
                meetings.push((send, receive));
            }
        }
    }
    meetings
}

/// Footprints of the rendezvous that are possible.
fn pairs(
    meetings: &[(usize, usize)],
    moves: &[Option<Footprint>],
) -> HashMap<(u32, u32), Footprint> {
    let mut pairs = HashMap::new();
    for (send, receive) in meetings {
        if let (Some(a), Some(b)) = (&moves[*send], &moves[*receive]) {
            let mut joint = a.clone();
            joint.absorb(b);
            pairs.insert((*send as u32, *receive as u32), joint);
        }
    }
    pairs
}

/// What the moves of each control state touch, with the atomic sequences that they begin.
fn presents(
    program: &Program,
    moves: &[Option<Footprint>],
    meetings: &[(usize, usize)],
) -> Vec<Vec<Option<Footprint>>> {
    let mut presents: Vec<Vec<Option<Footprint>>> = program
        .proctypes
        .iter()
        .map(|p| vec![Some(Footprint::default()); p.states.len()])
        .collect();
    loop {
        let mut changed = false;
        for (at, step) in program.moves.iter().enumerate().rev() {
            let mut sum = moves[at].clone();
            let go_on = |step: &crate::ir::Move, sum: &mut Option<Footprint>| {
                if step.keeps_control {
                    let proctype = usize::from(step.proctype.0);
                    join(sum, &presents[proctype][usize::from(step.target.0)]);
                }
            };
            go_on(step, &mut sum);
            for (_, receive) in meetings.iter().filter(|(send, _)| *send == at) {
                join(&mut sum, &moves[*receive]);
                go_on(&program.moves[*receive], &mut sum);
            }
            let known = &mut presents[usize::from(step.proctype.0)][usize::from(step.source.0)];
            changed |= grow(known, sum);
        }
        if !changed {
            return presents;
        }
    }
}

/// Adds to what is known; says whether that changed it.
fn grow(known: &mut Option<Footprint>, sum: Option<Footprint>) -> bool {
    match (known.as_mut(), sum) {
        (Some(known), Some(sum)) => known.absorb(&sum),
        (Some(_), None) => {
            *known = None;
            true
        }
        (None, _) => false,
    }
}

/// What a process may touch from each control state on, processes it starts included.
fn futures(program: &Program, moves: &[Option<Footprint>]) -> Vec<Vec<Option<Footprint>>> {
    let mut futures: Vec<Vec<Option<Footprint>>> = program
        .proctypes
        .iter()
        .map(|p| vec![Some(Footprint::default()); p.states.len()])
        .collect();
    loop {
        let mut changed = false;
        // Backwards, because most moves lead forwards: then a long body takes two rounds.
        for (at, step) in program.moves.iter().enumerate().rev() {
            let proctype = usize::from(step.proctype.0);
            let source = usize::from(step.source.0);
            let mut sum = moves[at].clone();
            if !matches!(step.kind, MoveKind::End) {
                join(&mut sum, &futures[proctype][usize::from(step.target.0)]);
            }
            for op in &step.ops {
                if let Op::Run { proctype, .. } = op {
                    let started = usize::from(proctype.0);
                    let entry = usize::from(program.proctypes[started].entry.0);
                    join(&mut sum, &futures[started][entry]);
                }
            }
            changed |= grow(&mut futures[proctype][source], sum);
        }
        if !changed {
            return futures;
        }
    }
}

fn join(sum: &mut Option<Footprint>, other: &Option<Footprint>) {
    match (sum.as_mut(), other) {
        (Some(a), Some(b)) => {
            a.absorb(b);
        }
        _ => *sum = None,
    }
}

/// Whether a step from a control state may change what properties look at.
fn visible(
    program: &Program,
    moves: &[Option<Footprint>],
    observed: Option<&ObjectSet>,
) -> Vec<Vec<bool>> {
    let mut visible = Vec::new();
    for proctype in &program.proctypes {
        let marked = |pc: u16| {
            proctype
                .states
                .get(usize::from(pc))
                .is_some_and(|s| s.is_accept || s.is_progress || s.is_observed)
        };
        let of_state = proctype.states.iter().enumerate().map(|(pc, state)| {
            marked(pc as u16)
                || state.moves.iter().any(|id| {
                    let step = program.move_of(*id);
                    marked(step.target.0)
                        || match (&moves[id.0 as usize], observed) {
                            (Some(footprint), Some(observed)) => {
                                footprint.writes.intersects(observed)
                            }
                            _ => true,
                        }
                })
        });
        visible.push(of_state.collect());
    }
    visible
}
