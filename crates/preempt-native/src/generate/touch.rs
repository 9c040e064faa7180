//! What the moves of a process touch, for sleep sets: a table by control state, and machine code where
//! the state has a say in it.

use super::code::{Arithmetic, Block, Code, CodeError, Compare, Memory, Parameter, Value};
use super::cranelift::{Assembly, Effort, Executable, FunctionId};
use super::helpers::HELPERS;
use super::moves::{Maker, Process};
use super::scope::{OnFault, Scope, Tables};
use crate::execute::touch::{Point, Touch};
use preempt_promela::interpret::{Found, Touched, Touches, Usage, touches};
use preempt_promela::ir::{ChannelRef, Program};
use std::mem::offset_of;

/// Parameters of [`AddTouch`](crate::execute::touch::AddTouch).
const ADD: [Parameter; 4] =
    [Parameter::Address, Parameter::Address, Parameter::Number, Parameter::Address];

/// A global channel, for code that finds it at run time.
#[repr(C)]
struct Channel {
    offset: u32,
    capacity: u32,
    head: u32,
    tail: u32,
}

/// Tables that the code reads, at fixed addresses.
struct Bits {
    cells: Box<[u8]>,
    channels: Box<[Channel]>,
}

/// What all control states of a program touch.
pub(crate) struct Sleeping {
    /// By the number of the control state.
    pub(crate) points: Vec<Point>,
    _bits: Bits,
    _code: Executable,
}

impl Sleeping {
    /// Makes the code, equal code of a process type once.
    pub(crate) fn new(program: &Program, tables: &Tables) -> Result<Self, CodeError> {
        let Touches { points: touched, cell_bits, channels } = touches(program);
        let layout = &program.layout;
        let channels = layout.channels.iter().zip(&channels).map(|(slot, ends)| Channel {
            offset: slot.offset,
            capacity: layout.channel_types[slot.channel_type as usize].capacity,
            head: ends.head.into(),
            tail: ends.tail.into(),
        });
        let bits = Bits { cells: cell_bits, channels: channels.collect() };
        let mut assembly = Assembly::new(&HELPERS, Effort::Usual)?;
        let mut functions = Vec::new();
        for (proctype, points) in program.proctypes.iter().zip(&touched) {
            let maker = Maker { program, proctype, tables, notes: false };
            let mut made: Vec<(&[Found], FunctionId)> = Vec::new();
            for point in points {
                let found = point.as_ref().map_or(&[][..], |point| &point.found);
                let known = made.iter().find(|(other, _)| *other == found).map(|(_, f)| *f);
                functions.push(match known {
                    _ if found.is_empty() || !maker.can_find(found) => None,
                    Some(function) => Some(function),
                    None => {
                        let function = assembly.function(&ADD, Parameter::Number, |code, p| {
                            maker.add_touch(code, Process::of(p), p[3], found, &bits);
                        })?;
                        made.push((found, function));
                        Some(function)
                    }
                });
            }
        }
        let code = assembly.finish()?;
        let point = |(touched, function): (&Option<Touched>, Option<FunctionId>)| match touched {
            Some(touched) if function.is_some() || touched.found.is_empty() => Point {
                touch: Touch { reads: touched.reads, writes: touched.writes },
                // SAFETY: the functions were made with this very signature, and live as long as `code`.
                add: function.map(|f| unsafe { std::mem::transmute(code.address(f)) }),
            },
            _ => Point { touch: Touch::ANYTHING, add: None },
        };
        let points = touched.iter().flatten().zip(functions).map(point).collect();
        Ok(Sleeping { points, _bits: bits, _code: code })
    }
}

impl Maker<'_> {
    /// Whether machine code can tell these objects.
    fn can_find(&self, found: &[Found]) -> bool {
        found.iter().all(|found| match found {
            Found::Cell(place, _) => self.support().place(place),
            Found::Channel(ChannelRef::Dynamic { id, .. }, _) => self.support().expr(*id),
            Found::Channel(..) => true,
        })
    }

    /// Body of [`AddTouch`](crate::execute::touch::AddTouch).
    fn add_touch(
        &self,
        code: &mut dyn Code,
        process: Process,
        touch: Value,
        found: &[Found],
        bits: &Bits,
    ) {
        let anything = code.cold_block();
        let zero = code.number(0);
        let scope = self.scope(process, zero, touch, OnFault::Goto(anything));
        for found in found {
            match found {
                Found::Cell(place, writes) => {
                    let (base, offset) = scope.place(code, place);
                    let (_, distance) = code.distance(process.state, base);
                    let first = bits.cells.as_ptr().wrapping_add(offset as usize);
                    let table = code.address(first);
                    let entry = code.element(table, distance, 1);
                    let number = code.load(Memory::Byte, entry, 0);
                    let one = code.number(1);
                    let field = if *writes { WRITES } else { READS };
                    code.set_bit(one, number, touch, field);
                }
                Found::Channel(channel, usage) => {
                    let ends = ends_of(&scope, code, channel, bits, anything);
                    add_usage(code, touch, *usage, &ends);
                }
            }
        }
        code.give(zero);
        code.begin(anything);
        let all = code.address(std::ptr::without_provenance(usize::MAX));
        code.store_wide(all, touch, READS);
        code.store_wide(all, touch, WRITES);
        let zero = code.number(0);
        code.give(zero);
    }
}

const READS: u32 = offset_of!(Touch, reads) as u32;
const WRITES: u32 = offset_of!(Touch, writes) as u32;

/// A channel in a state: its length, its capacity, and the bits of its ends.
struct Ends {
    length: Value,
    capacity: Value,
    head: Value,
    tail: Value,
}

fn ends_of(
    scope: &Scope<'_>,
    code: &mut dyn Code,
    channel: &ChannelRef,
    bits: &Bits,
    anything: Block,
) -> Ends {
    let id = match channel {
        ChannelRef::Global(index) => {
            let known = &bits.channels[*index as usize];
            return Ends {
                length: code.load(scope.length_memory(), scope.state, known.offset),
                capacity: code.number(known.capacity as i32),
                head: code.number(known.head as i32),
                tail: code.number(known.tail as i32),
            };
        }
        ChannelRef::Dynamic { id, .. } => scope.value(code, *id),
        ChannelRef::Own(_) => unreachable!("a process's own channels are one object"),
    };
    let one = code.number(1);
    let index = code.arithmetic(Arithmetic::Subtract, id, one);
    let count = code.number(bits.channels.len() as i32);
    let known = code.compare(Compare::Below, index, count);
    let go_on = code.block();
    code.branch(known, go_on, anything);
    code.begin(go_on);
    let table = code.address(bits.channels.as_ptr().cast());
    let entry = code.element(table, index, size_of::<Channel>() as u32);
    let offset = code.load(Memory::Four, entry, offset_of!(Channel, offset) as u32);
    let at = code.element(scope.state, offset, 1);
    Ends {
        length: code.load(scope.length_memory(), at, 0),
        capacity: code.load(Memory::Four, entry, offset_of!(Channel, capacity) as u32),
        head: code.load(Memory::Four, entry, offset_of!(Channel, head) as u32),
        tail: code.load(Memory::Four, entry, offset_of!(Channel, tail) as u32),
    }
}

/// Adds what is used of a channel, as [`Usage`] says.
fn add_usage(code: &mut dyn Code, touch: Value, usage: Usage, ends: &Ends) {
    let Ends { length, capacity, head, tail } = *ends;
    let (zero, one) = (code.number(0), code.number(1));
    let is_empty = code.compare(Compare::Equal, length, zero);
    let is_full = code.compare(Compare::GreaterEqual, length, capacity);
    match usage {
        Usage::Send => {
            code.set_bit(one, tail, touch, WRITES);
            code.set_bit(is_full, head, touch, READS);
        }
        Usage::Receive => {
            code.set_bit(one, head, touch, WRITES);
            code.set_bit(is_empty, tail, touch, READS);
        }
        Usage::First => {
            code.set_bit(one, head, touch, READS);
            code.set_bit(is_empty, tail, touch, READS);
        }
        Usage::IsEmpty => {
            let at_most_one = code.compare(Compare::LessEqual, length, one);
            code.set_bit(is_empty, tail, touch, READS);
            code.set_bit(at_most_one, head, touch, READS);
        }
        Usage::IsFull => {
            let longer = code.arithmetic(Arithmetic::Add, length, one);
            let nearly_full = code.compare(Compare::GreaterEqual, longer, capacity);
            code.set_bit(is_full, head, touch, READS);
            code.set_bit(nearly_full, tail, touch, READS);
        }
        Usage::Length | Usage::Everything => {
            let field = if usage == Usage::Length { READS } else { WRITES };
            code.set_bit(one, head, touch, field);
            code.set_bit(one, tail, touch, field);
        }
    }
}
