//! Where things stand in the bytes of a state.
//!
//! ```text
//! state    = shared variables, then one segment per process (0 is `init`, then the threads)
//! segment  = length (2 bytes), thread variables, frames from the bottom of the stack to the top
//! frame    = local variables, position (4 bytes), function (2 bytes)
//! ```
//! The position of the top frame is a node, of a frame below the call edge that waits.

use crate::flow::{FunctionId, Owner, Program, VariableId};

pub(super) struct Layout {
    /// Offset inside its part, and number of bytes.
    places: Vec<(usize, usize)>,
    owners: Vec<Owner>,
    pub(super) shared_bytes: usize,
    pub(super) private_bytes: usize,
    /// Bytes of a frame of each function, the trailer included.
    pub(super) frame_bytes: Vec<usize>,
}

/// Position and function.
pub(super) const TRAILER: usize = 6;

/// The segment of one process in one state.
#[derive(Clone, Copy)]
pub(super) struct Segment {
    /// Where the thread variables start.
    pub(super) private: usize,
    pub(super) end: usize,
}

/// The top frame of a segment.
#[derive(Clone, Copy)]
pub(super) struct Top {
    pub(super) function: FunctionId,
    pub(super) position: u32,
    pub(super) start: usize,
    pub(super) private: usize,
}

impl Layout {
    pub(super) fn new(program: &Program) -> Self {
        let mut places = vec![(0, 0); program.variables.len()];
        let mut lay_out = |list: &[VariableId]| {
            let mut offset = 0;
            for &v in list {
                let bytes = usize::from(program.variables[v].width).div_ceil(8);
                places[v] = (offset, bytes);
                offset += bytes;
            }
            offset
        };
        let shared_bytes = lay_out(&program.shared);
        let private_bytes = lay_out(&program.private);
        let frame_bytes = program
            .functions
            .iter()
            .map(|f| lay_out(&f.frame().collect::<Vec<_>>()) + TRAILER)
            .collect();
        let owners = program.variables.iter().map(|v| v.owner).collect();
        Layout { places, owners, shared_bytes, private_bytes, frame_bytes }
    }

    pub(super) fn segment(&self, state: &[u8], process: usize) -> Segment {
        let mut at = self.shared_bytes;
        for _ in 0..process {
            at += 2 + length_at(state, at);
        }
        Segment { private: at + 2, end: at + 2 + length_at(state, at) }
    }

    pub(super) fn top(&self, state: &[u8], segment: Segment) -> Option<Top> {
        if segment.end == segment.private + self.private_bytes {
            return None;
        }
        let end = segment.end;
        let function = usize::from(u16::from_le_bytes([state[end - 2], state[end - 1]]));
        let position =
            u32::from_le_bytes([state[end - 6], state[end - 5], state[end - 4], state[end - 3]]);
        let start = end - self.frame_bytes[function];
        Some(Top { function, position, start, private: segment.private })
    }

    /// What a variable belongs to.
    pub(super) fn owner(&self, variable: VariableId) -> Owner {
        self.owners[variable]
    }

    fn offset(&self, top: &Top, variable: VariableId) -> (usize, usize) {
        let (offset, bytes) = self.places[variable];
        match self.owners[variable] {
            Owner::Shared => (offset, bytes),
            Owner::Thread => (top.private + offset, bytes),
            Owner::Function(_) => (top.start + offset, bytes),
        }
    }

    pub(super) fn get(&self, state: &[u8], top: &Top, variable: VariableId) -> u64 {
        let (offset, bytes) = self.offset(top, variable);
        let mut value = 0;
        for (i, byte) in state[offset..offset + bytes].iter().enumerate() {
            value |= u64::from(*byte) << (8 * i);
        }
        value
    }

    pub(super) fn set(&self, state: &mut [u8], top: &Top, variable: VariableId, value: u64) {
        let (offset, bytes) = self.offset(top, variable);
        for (i, byte) in state[offset..offset + bytes].iter_mut().enumerate() {
            *byte = (value >> (8 * i)) as u8;
        }
    }

    pub(super) fn set_position(&self, state: &mut [u8], top: &Top, position: u32) {
        let at = top.start + self.frame_bytes[top.function] - TRAILER;
        state[at..at + 4].copy_from_slice(&position.to_le_bytes());
    }

    /// Adds an empty frame on top; the caller has checked that the segment may grow.
    pub(super) fn push(
        &self,
        state: &mut Vec<u8>,
        segment: Segment,
        function: FunctionId,
        position: u32,
    ) -> Top {
        let bytes = self.frame_bytes[function];
        let start = segment.end;
        state.splice(start..start, std::iter::repeat_n(0, bytes));
        let end = start + bytes;
        state[end - 2..end].copy_from_slice(&(function as u16).to_le_bytes());
        let top = Top { function, position, start, private: segment.private };
        self.set_position(state, &top, position);
        set_length(state, segment.private, end - segment.private);
        top
    }

    pub(super) fn pop(&self, state: &mut Vec<u8>, top: &Top) -> Segment {
        state.drain(top.start..top.start + self.frame_bytes[top.function]);
        set_length(state, top.private, top.start - top.private);
        Segment { private: top.private, end: top.start }
    }
}

fn length_at(state: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes([state[at], state[at + 1]]))
}

fn set_length(state: &mut [u8], private: usize, length: usize) {
    state[private - 2..private].copy_from_slice(&(length as u16).to_le_bytes());
}
