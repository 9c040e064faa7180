//! What is known about each piece of memory: which threads use it, and how.
//!
//! Two accesses race if they touch the same byte, one writes, and neither happens before the other.
//! The strategy finds races by vector clocks over *cells*; this module divides memory into cells and
//! keeps away from the strategy what cannot race. A cell is the largest piece that all accesses so
//! far have used as a whole: 8, 4, 2 or 1 bytes of an aligned 8-byte granule.
//!
//! Memory that only one thread uses, or that no thread writes to once there are several, is not
//! recorded. That is knowledge about all executions: when it turns out to be wrong, it is corrected
//! and the exploration begins again ([`Learnt`]).

use crate::arena;
use crate::places::Places;
use rustc_hash::{FxHashMap, FxHashSet};

/// How a piece of memory is accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    Read,
    Write,
    AtomicRead,
    AtomicWrite,
}

/// What an access came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Learnt {
    /// Nothing to record.
    Nothing,
    /// Record it.
    Record,
    /// Record it. It reads what several threads store atomically, so it may tell which of them came last.
    Observes,
    /// Something new: the exploration must begin again.
    New,
}

const NOBODY: u32 = 0;
const SEVERAL: u32 = u32::MAX;

/// One granule of eight bytes.
#[derive(Clone, Copy)]
struct Granule {
    /// The thread that uses it, plus one.
    user: u32,
    /// Size of its cells.
    cell: u8,
    written: bool,
    plain: bool,
    plain_read: bool,
    atomic: bool,
    /// An atomic object of the strategy is here.
    object: bool,
    /// Several threads store atomically in the same cell.
    several_storers: bool,
    /// Per byte: the last segment in which the cell there was recorded, and whether as written.
    stamps: [u32; 8],
}

impl Granule {
    fn new() -> Self {
        Granule {
            user: NOBODY,
            cell: 8,
            written: false,
            plain: false,
            plain_read: false,
            atomic: false,
            object: false,
            several_storers: false,
            stamps: [0; 8],
        }
    }
}

/// An access that has changed the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fact {
    pub(crate) address: usize,
    pub(crate) size: u8,
    pub(crate) by: u32,
    pub(crate) how: Use,
}

/// The table.
#[derive(Default)]
pub(crate) struct Shadow {
    index: FxHashMap<usize, u32>,
    granules: Vec<Granule>,
    /// By granule and offset: threads that write there atomically, each with a number of its own.
    writers: FxHashMap<(u32, usize), Vec<(u32, u32)>>,
    writer_count: u32,
    segment: u32,
    /// The accesses that have changed the table since they were last taken, if they are wanted.
    facts: Option<Vec<Fact>>,
    /// Places of accesses that were found to race, when races are no errors.
    racy: FxHashSet<usize>,
    /// Places of plain reads that tell in which order threads have stored (`observers.rs`).
    observers: FxHashSet<usize>,
}

/// A piece of memory that is recorded as a whole. Numbers mean the same in all executions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cell(pub(crate) u32);

impl Shadow {
    /// A new execution begins.
    pub(crate) fn begin(&mut self) {
        self.next_segment();
    }

    /// The next access is of another segment, so nothing of it was recorded yet.
    pub(crate) fn next_segment(&mut self) {
        self.segment += 1;
        if self.segment >= u32::MAX / 2 {
            self.segment = 1;
            for granule in &mut self.granules {
                granule.stamps = [0; 8];
            }
        }
    }

    /// From now on, what changes the table is kept for [`Shadow::take_facts`].
    pub(crate) fn log_facts(&mut self) {
        self.facts = Some(Vec::new());
    }

    /// What has changed the table since the last call.
    pub(crate) fn take_facts(&mut self) -> Vec<Fact> {
        self.facts.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn granule(&mut self, address: usize) -> u32 {
        let next = self.granules.len() as u32;
        let index = *self.index.entry(address >> 3).or_insert(next);
        if index == next {
            self.granules.push(Granule::new());
        }
        index
    }

    /// Whether the strategy knows a number at these bytes.
    #[inline]
    pub(crate) fn has_object(&self, address: usize) -> bool {
        self.index.get(&(address >> 3)).is_some_and(|&index| self.granules[index as usize].object)
    }

    /// The strategy gets to know a number at these bytes.
    pub(crate) fn add_object(&mut self, address: usize) {
        let index = self.granule(address);
        self.granules[index as usize].object = true;
    }

    /// Notes an access within one granule, and says what to do about it.
    #[inline]
    pub(crate) fn access(&mut self, address: usize, size: usize, by: u32, how: Use) -> Learnt {
        let index = self.granule(address);
        let granule = &mut self.granules[index as usize];
        let (mut new, mut changed) = (false, false);
        let atomic = matches!(how, Use::AtomicRead | Use::AtomicWrite);
        let write = matches!(how, Use::Write | Use::AtomicWrite);
        // Cells must divide every access.
        let offset = address & 7;
        let divides =
            |cell: u8| offset.is_multiple_of(cell.into()) && size.is_multiple_of(cell.into());
        while !divides(granule.cell) {
            granule.cell /= 2;
            changed = true;
            new |= granule.user == SEVERAL;
        }
        if granule.user != by + 1 && granule.user != SEVERAL {
            changed = true;
            if granule.user == NOBODY {
                granule.user = by + 1;
                // Which thread has allocated it was not looked at before.
                new |= arena::is_of_another(address, by);
            } else {
                granule.user = SEVERAL;
                new |= granule.written || write;
            }
        }
        if write && !granule.written {
            granule.written = true;
            changed = true;
            new |= granule.user == SEVERAL;
        }
        if atomic && !granule.atomic {
            granule.atomic = true;
            changed = true;
            new |= granule.plain;
        }
        if !atomic && !granule.plain {
            granule.plain = true;
            changed = true;
            new |= granule.atomic;
        }
        if how == Use::Read && !granule.plain_read {
            granule.plain_read = true;
            changed = true;
            new |= granule.atomic;
        }
        if how == Use::AtomicWrite {
            for at in (offset..offset + size).step_by(granule.cell.into()) {
                let writers = self.writers.entry((index, at)).or_default();
                if !writers.iter().any(|&(thread, _)| thread == by) {
                    writers.push((by, self.writer_count));
                    self.writer_count += 1;
                    changed = true;
                    new |= granule.plain_read;
                    granule.several_storers |= writers.len() > 1;
                }
            }
        }
        if changed && let Some(facts) = &mut self.facts {
            facts.push(Fact { address, size: size as u8, by, how });
        }
        if new {
            return Learnt::New;
        }
        let mixed = granule.plain && granule.atomic;
        if granule.user != SEVERAL || !granule.written || (atomic && !mixed) {
            return Learnt::Nothing;
        }
        if how == Use::Read && granule.several_storers {
            return Learnt::Observes;
        }
        Learnt::Record
    }

    /// The cells of an access within one granule that are not recorded yet in this segment.
    pub(crate) fn cells(
        &mut self,
        address: usize,
        size: usize,
        write: bool,
        mut record: impl FnMut(Cell),
    ) {
        let index = self.granule(address);
        let segment = self.segment;
        let granule = &mut self.granules[index as usize];
        let step = granule.cell as usize;
        let first = address & 7;
        for offset in (first..first + size).step_by(step) {
            let stamp = &mut granule.stamps[offset];
            let wanted = segment << 1 | u32::from(write);
            if *stamp >> 1 == segment && *stamp >= wanted {
                continue;
            }
            *stamp = wanted;
            record(Cell(index * 8 + offset as u32));
        }
    }

    /// Cells that stand for "`thread` writes here atomically", one per thread that does: plain reads
    /// conflict with each of them, and atomic writes with none but their own.
    pub(crate) fn writer_cells(
        &self,
        address: usize,
        size: usize,
        thread: Option<u32>,
    ) -> Vec<Cell> {
        let Some(&index) = self.index.get(&(address >> 3)) else { return Vec::new() };
        let granule = &self.granules[index as usize];
        if !granule.atomic || !granule.plain_read {
            return Vec::new();
        }
        let first = address & 7;
        let own = |writer: u32| thread.is_none_or(|thread| thread == writer);
        (first..first + size)
            .step_by(granule.cell.into())
            .filter_map(|offset| self.writers.get(&(index, offset)))
            .flatten()
            .filter(|&&(writer, _)| own(writer))
            .map(|&(_, number)| Cell(WRITERS + number))
            .collect()
    }
}

/// Where the numbers of writer cells begin.
const WRITERS: u32 = 1 << 30;

impl Shadow {
    /// Whether accesses at this place were found to race and are operations now.
    #[inline]
    pub(crate) fn is_racy(&self, pc: usize) -> bool {
        !self.racy.is_empty() && self.racy.contains(&pc)
    }

    /// Accesses at this place are operations from now on.
    pub(crate) fn add_racy(&mut self, pc: usize) {
        self.racy.insert(pc);
    }

    /// Whether plain reads at this place are operations besides.
    #[inline]
    pub(crate) fn is_observer(&self, pc: usize) -> bool {
        !self.observers.is_empty() && self.observers.contains(&pc)
    }

    /// Plain reads at this place are operations from now on. Returns whether that is news.
    pub(crate) fn add_observer(&mut self, pc: usize) -> bool {
        self.observers.insert(pc)
    }

    /// The places of plain accesses that are operations.
    pub(crate) fn places(&self) -> Places {
        let sorted = |set: &FxHashSet<usize>| {
            let mut call_sites: Vec<usize> = set.iter().copied().collect();
            call_sites.sort_unstable();
            call_sites
        };
        Places { racy: sorted(&self.racy), observers: sorted(&self.observers) }
    }

    /// Accesses at these places are operations from now on.
    pub(crate) fn add_places(&mut self, places: Places) {
        self.racy.extend(places.racy);
        self.observers.extend(places.observers);
    }

    /// How many places were found to race.
    pub(crate) fn racy_places(&self) -> usize {
        self.racy.len()
    }
}

impl Shadow {
    /// The size of the pieces in which these bytes are used.
    pub(crate) fn cell_size(&mut self, address: usize, size: usize) -> usize {
        let index = self.granule(address);
        let mut cell = usize::from(self.granules[index as usize].cell);
        while !address.is_multiple_of(cell) || !size.is_multiple_of(cell) {
            cell /= 2;
        }
        cell
    }

    /// Whether a thread was seen to use this granule.
    #[inline]
    pub(crate) fn is_known(&self, address: usize) -> bool {
        self.index.contains_key(&(address >> 3))
    }
}
