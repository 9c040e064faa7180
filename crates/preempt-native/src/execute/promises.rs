//! `xr` and `xs`: whether a process uses a channel that another one claims for itself.
//!
//! Every use of a channel asks this, so what a process claims is found without evaluating expressions: most
//! claims name a parameter. Where one does not, the interpreter checks all of them.

use super::shape::{Shape, first_own};
use preempt_core::engine::SuccessorHeader;
use preempt_promela::ir::{ChannelRef, Expr, Place, Program, Promise, Space, ValueKind};

/// A channel that a process claims for itself on one side.
#[derive(Clone, Copy)]
struct Claim {
    receive: bool,
    channel: Claimed,
    /// What a step that breaks it gives.
    result: u32,
}

#[derive(Clone, Copy)]
enum Claimed {
    /// The channel of this id.
    Known(u32),
    /// One of the process's own.
    Own(u32),
    /// The channel whose id is in a byte of the vector.
    Global(u32),
    /// The channel whose id is in a byte of the frame.
    Local(u32),
}

/// Per process type: what its processes claim.
pub(crate) struct Claims(Box<[Box<[Claim]>]>);

impl Claims {
    /// What the process types of a program claim; `None` if only the interpreter can tell.
    pub(crate) fn of(program: &Program) -> Option<Self> {
        let of_type = |promises: &[Promise]| promises.iter().map(|p| claim(program, p)).collect();
        let claims: Option<_> = program.proctypes.iter().map(|t| of_type(&t.promises)).collect();
        claims.map(Claims)
    }
}

fn claim(program: &Program, promise: &Promise) -> Option<Claim> {
    let channel = match &promise.channel {
        ChannelRef::Global(index) => Claimed::Known(index + 1),
        ChannelRef::Own(index) => Claimed::Own(*index),
        ChannelRef::Dynamic { id, .. } => match program.expr(*id) {
            Expr::Load(Place { space, offset, kind: ValueKind::Byte, indices })
                if indices.is_empty() =>
            {
                match space {
                    Space::Global => Claimed::Global(*offset),
                    Space::Local => Claimed::Local(*offset),
                }
            }
            _ => return None,
        },
    };
    let result = promise.fault.0 << SuccessorHeader::FAULT_SHIFT | SuccessorHeader::VIOLATED;
    Some(Claim { receive: promise.receive, channel, result })
}

/// The result of a step of process `pid` that uses one side of a channel: 0 unless another process claims it.
pub(crate) extern "C" fn broken_promise(
    claims: *const Claims,
    shape: *const Shape,
    state: *const u8,
    pid: u32,
    channel: u32,
    receive: u32,
) -> u32 {
    // SAFETY: called only by code made for these claims and this shape, which the owner of the code owns.
    let (Claims(claims), shape) = unsafe { (&*claims, &*shape) };
    // SAFETY: the code works on a vector that they describe: byte 1 is the number of its frames, and each of
    // these begins with its type.
    let byte = |at: u32| unsafe { *state.add(at as usize) };
    let mut frame = shape.globals_end;
    for other in 0..u32::from(byte(1)) {
        let proctype = usize::from(byte(frame));
        for claim in &claims[proctype] {
            if claim.receive != (receive != 0) || other == pid {
                continue;
            }
            let claimed = match claim.channel {
                Claimed::Known(id) => id,
                Claimed::Global(offset) => byte(offset).into(),
                Claimed::Local(offset) => byte(frame + offset).into(),
                Claimed::Own(index) => first_own(shape, state, other) + index,
            };
            if claimed == channel && exists(shape, state, channel) {
                return claim.result;
            }
        }
        frame += shape.frames[proctype];
    }
    0
}

/// Whether there is a channel of this id.
fn exists(shape: &Shape, state: *const u8, id: u32) -> bool {
    // SAFETY: see above.
    let processes = unsafe { *state.add(1) };
    id > 0 && id < first_own(shape, state, processes.into())
}
