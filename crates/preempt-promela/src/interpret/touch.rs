//! What the moves of a process touch in one state: finer than what they touch at one control state,
//! because the state says which element of an array it is, and which channel a variable means.
//!
//! Invariant: if in a state neither of two processes writes to what the other touches, they can move in
//! either order with the same result, and by moving neither changes which moves the other has.

use super::objects::{Objects, Precision};
use super::usage::Found;
use crate::ir::{BlockGuard, ChannelRef, ChannelSlot, Move, MoveKind, Program};
use preempt_core::ObjectSet;
use std::collections::HashMap;

/// The sets of a program's control states, as words of 64 bits; objects beyond 63 share bits.
#[derive(Debug)]
pub struct Touches {
    /// Per process type and control state; `None` where anything may be touched.
    pub points: Vec<Vec<Option<Touched>>>,
    /// The bit of each cell, by its offset in the vector.
    pub cell_bits: Box<[u8]>,
    /// The two ends of each global channel.
    pub channels: Box<[Ends]>,
}

/// What every point with known objects reads and none of them writes.
const ALWAYS: u64 = 1 << 63;

/// The bits of a channel's two ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ends {
    /// Where messages are received.
    pub head: u8,
    /// Where they are sent.
    pub tail: u8,
}

/// What all moves of a control state touch, enabled or not.
#[derive(Clone, Default, Debug)]
pub struct Touched {
    /// Objects that are read, as bits.
    pub reads: u64,
    /// Objects that are written.
    pub writes: u64,
    /// More, which a state says.
    pub found: Vec<Found>,
}

/// What the control states of a program touch.
pub fn touches(program: &Program) -> Touches {
    let objects = Objects::of(program);
    let mut bits = Bits::new(&objects);
    let points = program.proctypes.iter().map(|proctype| {
        let channels = &proctype.frame.channels;
        let states = proctype.states.iter().map(|state| {
            let mut sum = Touched { reads: ALWAYS, ..Touched::default() };
            for id in &state.moves {
                let of_move = objects.of_itself(id.0 as usize, Precision::Dynamic);
                let may_meet = may_meet(program, channels, program.move_of(*id));
                if of_move.unknown || may_meet || program.layout.has_priorities {
                    return None;
                }
                sum.reads |= bits.of(&of_move.footprint.reads);
                sum.writes |= bits.of(&of_move.footprint.writes);
                for found in of_move.found {
                    if !sum.found.contains(&found) {
                        sum.found.push(found);
                    }
                }
            }
            Some(sum)
        });
        states.collect()
    });
    let points: Vec<Vec<Option<Touched>>> = points.collect();
    let mut cell_bits = vec![0; program.layout.globals_end as usize];
    for found in points.iter().flatten().flatten().flat_map(|touched| &touched.found) {
        if let Found::Cell(place, _) = found {
            for (offset, object) in objects.cells_at(place) {
                cell_bits[offset as usize] = bits.bit(object);
            }
        }
    }
    let channels = bits.channels.iter().map(|at| Ends { head: *at, tail: at + 1 }).collect();
    Touches { points, cell_bits: cell_bits.into(), channels }
}

/// Whether the move may need a process that receives at the same moment: a process touches nothing by
/// getting ready to receive.
fn may_meet(program: &Program, own: &[ChannelSlot], candidate: &Move) -> bool {
    let types = &program.layout.channel_types;
    let has_no_room = |channel: &ChannelRef| match channel {
        ChannelRef::Global(index) => {
            types[program.layout.channels[*index as usize].channel_type as usize].capacity == 0
        }
        ChannelRef::Own(index) => types[own[*index as usize].channel_type as usize].capacity == 0,
        ChannelRef::Dynamic { .. } => types.iter().any(|ty| ty.capacity == 0),
    };
    match &candidate.kind {
        MoveKind::Send { channel, .. } => has_no_room(channel),
        MoveKind::Compound { blocks, .. } => blocks.iter().flat_map(|b| &b.options).any(|option| {
            matches!(&option.kind, BlockGuard::Send { channel, .. } if has_no_room(channel))
        }),
        _ => false,
    }
}

/// Numbers for objects, in the order in which they are met: the first 63 have a bit of their own.
struct Bits {
    numbers: HashMap<usize, u8>,
    /// The first of the two bits of each channel.
    channels: Vec<u8>,
    first_channel: usize,
    next: usize,
}

impl Bits {
    fn new(objects: &Objects<'_>) -> Self {
        let count = objects.program.layout.channels.len();
        Bits {
            numbers: HashMap::new(),
            channels: (0..count).map(|at| (2 * at % 62) as u8).collect(),
            first_channel: objects.first_channel,
            next: 2 * count,
        }
    }

    fn bit(&mut self, object: usize) -> u8 {
        *self.numbers.entry(object).or_insert_with(|| {
            self.next += 1;
            ((self.next - 1) % 63) as u8
        })
    }

    fn of(&mut self, objects: &ObjectSet) -> u64 {
        objects.iter().fold(0, |sum, object| {
            let channel = object.checked_sub(self.first_channel);
            sum | match channel.and_then(|channel| self.channels.get(channel)) {
                Some(at) => 3 << at,
                None => 1 << self.bit(object),
            }
        })
    }
}
