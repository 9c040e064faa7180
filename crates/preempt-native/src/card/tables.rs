//! The tables that the code of a card reads, in one run of bytes that a module carries along.

use super::monitor::{Monitor, MonitorMoves};
use crate::execute::shape::Shape;
use crate::generate::compiled::Parts;
use std::collections::HashMap;

/// Where each table begins.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Places {
    /// Eight bytes of ones.
    pub(super) ones: u32,
    /// The length of a frame, by process type; the other tables about process types are alike.
    pub(super) frame_lengths: u32,
    /// How many channels a process has, and where they are in the list of all.
    pub(super) own_counts: u32,
    pub(super) own_firsts: u32,
    /// Type in the high half, offset in the frame in the low one.
    pub(super) own_channels: u32,
    /// Where the bytes of a new frame are.
    pub(super) new_frames: u32,
    /// The places of the ids of own channels in a new frame.
    pub(super) cell_counts: u32,
    pub(super) cell_firsts: u32,
    pub(super) cells: u32,
    /// By move: whether its half of a rendezvous has code.
    pub(super) halves: u32,
    /// By process type: the number of its first control state.
    pub(super) points: u32,
    /// By control state: whether a process may end there.
    pub(super) ends: u32,
    /// The global channels and the capacities, as the generator knows them.
    pub(super) channels: u32,
    pub(super) capacities: u32,
    /// Not 0 once a state was longer than there is room for.
    pub(super) trouble: u32,
    /// By state and letter of the monitor: where the list of its moves is.
    pub(super) monitor: u32,
}

/// The tables of a program.
pub(super) struct CardTables {
    pub(super) bytes: Box<[u8]>,
    pub(super) places: Places,
}

struct Writer(Vec<u8>);

impl Writer {
    fn place(&mut self) -> u32 {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        self.0.len() as u32
    }

    fn numbers(&mut self, numbers: impl IntoIterator<Item = u32>) -> u32 {
        let place = self.place();
        self.0.extend(numbers.into_iter().flat_map(u32::to_le_bytes));
        place
    }

    fn wide(&mut self, numbers: impl IntoIterator<Item = u64>) -> u32 {
        let place = self.place();
        self.0.extend(numbers.into_iter().flat_map(u64::to_le_bytes));
        place
    }

    fn bytes(&mut self, bytes: impl IntoIterator<Item = u8>) -> u32 {
        let place = self.place();
        self.0.extend(bytes);
        place
    }
}

/// Where each list begins if they lie one behind the other.
fn firsts<'a, T: 'a>(lists: impl Iterator<Item = &'a [T]>) -> Vec<u32> {
    let mut sum = 0;
    lists
        .map(|list| {
            let first = sum;
            sum += list.len() as u32;
            first
        })
        .collect()
}

impl CardTables {
    pub(super) fn new(parts: &Parts<'_>, halves: &[bool], monitor: Option<&Monitor>) -> Self {
        let shape: &Shape = &parts.shape;
        let program = parts.program;
        let mut out = Writer(Vec::new());
        let ones = out.wide([u64::MAX]);
        let frame_lengths = out.numbers(shape.frames.iter().copied());
        let own = || shape.own_channels.iter().map(|list| &**list);
        let own_counts = out.numbers(own().map(|list| list.len() as u32));
        let own_firsts = out.numbers(firsts(own()));
        let own_channels =
            out.wide(own().flatten().map(|(ty, offset)| u64::from(*ty) << 32 | u64::from(*offset)));
        let frames = || shape.new_frames.iter().map(|frame| &**frame);
        let new_bytes = out.bytes(frames().flatten().copied());
        let new_frames = out.numbers(firsts(frames()).into_iter().map(|at| at + new_bytes));
        let cells = || shape.cells.iter().map(|cells| &**cells);
        let cell_counts = out.numbers(cells().map(|cells| cells.len() as u32));
        let cell_firsts = out.numbers(firsts(cells()));
        let cells = out.numbers(cells().flatten().copied());
        let halves = out.bytes(halves.iter().map(|half| u8::from(*half)));
        let states = || program.proctypes.iter().map(|proctype| &*proctype.states);
        let points = out.numbers(firsts(states()));
        let ends = out.bytes(states().flatten().map(|state| u8::from(state.is_end)));
        let channels = out.wide(parts.tables.channels.iter().copied());
        let capacities = out.numbers(parts.tables.capacities.iter().copied());
        let trouble = out.wide([0]);
        // Most letters have the same moves as others.
        let mut known: HashMap<&MonitorMoves, u32> = HashMap::new();
        let moves = monitor.map_or(&[][..], |monitor| &monitor.moves);
        let lists = moves
            .iter()
            .map(|moves| *known.entry(moves).or_insert_with(|| out.bytes(moves.bytes())));
        let lists: Vec<u32> = lists.collect();
        let monitor = out.numbers(lists);
        let places = Places {
            ones,
            frame_lengths,
            own_counts,
            own_firsts,
            own_channels,
            new_frames,
            cell_counts,
            cell_firsts,
            cells,
            halves,
            points,
            ends,
            channels,
            capacities,
            trouble,
            monitor,
        };
        CardTables { bytes: out.0.into(), places }
    }
}
