//! What is known of each control state beforehand: labels, and how far its moves stay out of the
//! others' way. Answers in a few loads what the interpreter finds by walking over the program.

use super::shape::Frame;
use preempt_core::{Label, Locality};
use preempt_promela::ir::{
    ChannelRef, ChannelSlot, Condition, ControlState, Expr, Pc, Proctype, Program, Safety, Space,
    ValueKind,
};

/// Tables by process type and control state.
pub(crate) struct Control {
    states: Vec<Vec<Facts>>,
    /// How many control states the process types before each have.
    before: Vec<u32>,
    /// The global channels, by id - 1.
    channels: Vec<Place>,
    pc_width: u32,
    length_width: u32,
    has_accept: bool,
    has_progress: bool,
}

struct Facts {
    is_end: bool,
    is_accept: bool,
    is_progress: bool,
    locality: Locality,
    /// The locality holds if all these do; `None` if the interpreter must tell.
    conditions: Option<Vec<Test>>,
}

/// A condition on a channel, or on the process.
#[derive(Clone, Copy)]
enum Test {
    Youngest,
    Channel(Fill, Source),
}

#[derive(Clone, Copy)]
enum Fill {
    NotFull,
    NotEmpty,
    Full,
    Empty,
}

/// Where a channel is found.
#[derive(Clone, Copy)]
enum Source {
    Global(Place),
    Own(Place),
    /// Its id is the byte at this offset of the global part or the frame.
    Variable(Space, u32),
}

/// A channel: its offset and its capacity.
#[derive(Clone, Copy)]
struct Place {
    offset: u32,
    capacity: u32,
}

impl Control {
    pub(crate) fn new(program: &Program) -> Self {
        let facts = |proctype: &Proctype| {
            proctype.states.iter().map(|state| Facts::new(program, proctype, state)).collect()
        };
        let states = || program.proctypes.iter().flat_map(|p| &p.states);
        let before = program.proctypes.iter().scan(0, |sum, proctype| {
            let before = *sum;
            *sum += proctype.states.len() as u32;
            Some(before)
        });
        Control {
            states: program.proctypes.iter().map(facts).collect(),
            before: before.collect(),
            channels: program.layout.channels.iter().map(|c| place(program, *c)).collect(),
            pc_width: program.layout.pc_width,
            length_width: program.layout.length_width,
            has_accept: states().any(|s| s.is_accept),
            has_progress: states().any(|s| s.is_progress),
        }
    }

    /// The control state of a process.
    #[inline]
    pub(crate) fn pc(&self, state: &[u8], frame: Frame) -> Pc {
        let at = frame.at as usize + 1;
        Pc(match self.pc_width {
            1 => u16::from(state[at]),
            _ => u16::from_le_bytes([state[at], state[at + 1]]),
        })
    }

    /// A number for the process type and control state of a process.
    #[inline]
    pub(crate) fn point(&self, state: &[u8], frame: Frame) -> u32 {
        self.before[usize::from(frame.proctype)] + u32::from(self.pc(state, frame).0)
    }

    /// The process type and the control state behind such a number.
    pub(crate) fn state_of(&self, point: u32) -> (usize, usize) {
        let proctype = self.before.partition_point(|before| *before <= point) - 1;
        (proctype, (point - self.before[proctype]) as usize)
    }

    #[inline]
    fn facts(&self, state: &[u8], frame: Frame) -> &Facts {
        &self.states[usize::from(frame.proctype)][usize::from(self.pc(state, frame).0)]
    }

    pub(crate) fn is_end(&self, state: &[u8], frame: Frame) -> bool {
        self.facts(state, frame).is_end
    }

    /// Whether any control state has such a label.
    pub(crate) fn knows(&self, label: Label) -> bool {
        match label {
            Label::Accept => self.has_accept,
            Label::Progress => self.has_progress,
        }
    }

    pub(crate) fn has_label(&self, state: &[u8], frame: Frame, label: Label) -> bool {
        let marks = self.facts(state, frame);
        match label {
            Label::Accept => marks.is_accept,
            Label::Progress => marks.is_progress,
        }
    }

    /// The locality of a process's present moves; `None` if the interpreter must tell.
    #[inline]
    pub(crate) fn locality(&self, state: &[u8], frame: Frame, pid: usize) -> Option<Locality> {
        let marks = self.facts(state, frame);
        for test in marks.conditions.as_ref()? {
            let holds = match test {
                Test::Youngest => pid + 1 == usize::from(state[1]),
                Test::Channel(fill, source) => {
                    let (at, capacity) = self.find(state, frame, *source)?;
                    let length = match self.length_width {
                        _ if capacity == 0 => 0,
                        1 => state[at].into(),
                        _ => u16::from_le_bytes([state[at], state[at + 1]]).into(),
                    };
                    fill.holds(length, capacity)
                }
            };
            if !holds {
                return Some(Locality::Shared);
            }
        }
        Some(marks.locality)
    }

    fn find(&self, state: &[u8], frame: Frame, source: Source) -> Option<(usize, u32)> {
        match source {
            Source::Global(place) => Some((place.offset as usize, place.capacity)),
            Source::Own(place) => Some(((frame.at + place.offset) as usize, place.capacity)),
            Source::Variable(space, offset) => {
                let base = match space {
                    Space::Global => 0,
                    Space::Local => frame.at,
                };
                let id = usize::from(state[(base + offset) as usize]);
                let place = self.channels.get(id.checked_sub(1)?)?;
                Some((place.offset as usize, place.capacity))
            }
        }
    }
}

impl Fill {
    fn holds(self, length: u32, capacity: u32) -> bool {
        let is_full = length >= capacity;
        match self {
            Fill::NotFull => !is_full || capacity == 0,
            Fill::NotEmpty => length > 0,
            Fill::Full => is_full && capacity > 0,
            Fill::Empty => length == 0,
        }
    }
}

impl Facts {
    fn new(program: &Program, proctype: &Proctype, state: &ControlState) -> Self {
        let (locality, conditions) = match &state.safety {
            Safety::Unsafe => (Locality::Shared, Some(Vec::new())),
            Safety::Safe { conditions, local } => {
                let tests = conditions.iter().map(|c| test(program, proctype, c)).collect();
                (if *local { Locality::Local } else { Locality::Safe }, tests)
            }
        };
        Facts {
            is_end: state.is_end,
            is_accept: state.is_accept,
            is_progress: state.is_progress,
            locality,
            conditions,
        }
    }
}

fn place(program: &Program, slot: ChannelSlot) -> Place {
    let ty = &program.layout.channel_types[slot.channel_type as usize];
    Place { offset: slot.offset, capacity: ty.capacity }
}

fn test(program: &Program, proctype: &Proctype, condition: &Condition) -> Option<Test> {
    let (fill, channel) = match condition {
        Condition::Youngest => return Some(Test::Youngest),
        Condition::NotFull(channel) => (Fill::NotFull, channel),
        Condition::NotEmpty(channel) => (Fill::NotEmpty, channel),
        Condition::Full(channel) => (Fill::Full, channel),
        Condition::Empty(channel) => (Fill::Empty, channel),
    };
    let source = match channel {
        ChannelRef::Global(index) => {
            Source::Global(place(program, program.layout.channels[*index as usize]))
        }
        ChannelRef::Own(index) => {
            Source::Own(place(program, proctype.frame.channels[*index as usize]))
        }
        ChannelRef::Dynamic { id, .. } => match program.expr(*id) {
            Expr::Load(place) if place.indices.is_empty() && place.kind == ValueKind::Byte => {
                Source::Variable(place.space, place.offset)
            }
            _ => return None,
        },
    };
    Some(Test::Channel(fill, source))
}
