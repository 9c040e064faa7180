//! What an owner found, and what all owners found together.

use super::Time;
use super::wire::{Damaged, Reader, Writer};
use preempt_check::engine::Counters;
use preempt_check::{Counterexample, Covered, Finding, Options, Preemptions};
use preempt_core::{BoundRow, ProcessId, Statistics, Step, Stop, System, ViolationKind};

/// Where a violation is: behind which visit, and by which steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ViolationSite {
    /// When the visit was made.
    pub time: Time,
    /// The state.
    pub state: Vec<u8>,
    /// The last mover, where preemptions are counted.
    pub mover: Option<ProcessId>,
    /// The steps from there.
    pub path: Vec<Step>,
    /// The fault at their end; an invalid end if there is none.
    pub fault: Option<u32>,
}

/// What one owner found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PartitionResult {
    /// States stored.
    pub states: u64,
    /// Visits to states that were known.
    pub matched: u64,
    /// Where preemptions are counted: transitions.
    pub transitions: u64,
    /// Steps inside indivisible sequences.
    pub atomic_steps: u64,
    /// The last level with a state.
    pub depth: u64,
    /// States explored again by another last mover or at a lower count.
    pub revisits: u64,
    /// Violations met.
    pub errors: u64,
    /// The longest state.
    pub state_bytes: u64,
    /// Memory in use.
    pub memory: u64,
    /// Visits that would go on with one preemption more than the bound, or one for all of them.
    pub deferred: u64,
    /// Why this owner stopped early.
    pub stop: Option<Stop>,
    /// For each transition of the program, whether it was taken.
    pub taken: Vec<bool>,
    /// States and visits by the buckets that this owner finished.
    pub rows: Vec<BoundRow>,
    /// The first violation.
    pub site: Option<ViolationSite>,
}

const STOPS: [Stop; 11] = [
    Stop::Memory,
    Stop::Time,
    Stop::Depth,
    Stop::Interrupted,
    Stop::LossyStore,
    Stop::Sampling,
    Stop::Fault,
    Stop::Unsupported,
    Stop::Bound,
    Stop::PeerLost,
    Stop::Disk,
];

/// A reason as a number.
pub(crate) fn stop_number(stop: Option<Stop>) -> u64 {
    let at = stop.and_then(|stop| STOPS.iter().position(|one| *one == stop));
    at.map_or(0, |at| at as u64 + 1)
}

/// The reason behind a number.
pub(crate) fn stop_of(number: u64) -> Result<Option<Stop>, Damaged> {
    match number {
        0 => Ok(None),
        at => STOPS.get(at as usize - 1).copied().map(Some).ok_or(Damaged),
    }
}

impl ViolationSite {
    fn write(&self, writer: &mut Writer) {
        writer.number(self.time.number());
        writer.bytes(&self.state);
        writer.option(self.mover.map(|mover| mover.0.into()));
        writer.steps(&self.path);
        writer.option(self.fault.map(u64::from));
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Damaged> {
        Ok(ViolationSite {
            time: Time::from_number(reader.number()?),
            state: reader.bytes()?.to_vec(),
            mover: reader.option()?.map(ProcessId),
            path: reader.steps()?,
            fault: reader.option()?,
        })
    }
}

impl PartitionResult {
    /// What these counters say; states and transitions are not among them.
    pub(super) fn counted(counters: &Counters) -> Self {
        PartitionResult {
            matched: counters.matched,
            atomic_steps: counters.atomic_steps,
            depth: counters.depth,
            errors: counters.errors,
            state_bytes: counters.state_bytes as u64,
            stop: counters.stop,
            taken: counters.taken().to_vec(),
            ..PartitionResult::default()
        }
    }

    /// Has the counters of an owner go on from here.
    pub(super) fn restore(&self, counters: &mut Counters) {
        counters.matched = self.matched;
        counters.atomic_steps = self.atomic_steps;
        counters.depth = self.depth;
        counters.errors = self.errors;
        counters.state_bytes = self.state_bytes as usize;
        counters.add_taken(&self.taken);
    }

    /// Writes it.
    pub fn write(&self, writer: &mut Writer) {
        for number in [
            self.states,
            self.matched,
            self.transitions,
            self.atomic_steps,
            self.depth,
            self.revisits,
            self.errors,
            self.state_bytes,
            self.memory,
            self.deferred,
            stop_number(self.stop),
        ] {
            writer.number(number);
        }
        let taken: Vec<u8> = self.taken.iter().map(|taken| u8::from(*taken)).collect();
        writer.bytes(&taken);
        writer.number(self.rows.len() as u64);
        for row in &self.rows {
            [row.bound.into(), row.states, row.transitions, row.errors]
                .into_iter()
                .for_each(|number| writer.number(number));
        }
        writer.number(self.site.is_some().into());
        if let Some(site) = &self.site {
            site.write(writer);
        }
    }

    /// Reads it.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Damaged> {
        let mut share = PartitionResult {
            states: reader.number()?,
            matched: reader.number()?,
            transitions: reader.number()?,
            atomic_steps: reader.number()?,
            depth: reader.number()?,
            revisits: reader.number()?,
            errors: reader.number()?,
            state_bytes: reader.number()?,
            memory: reader.number()?,
            deferred: reader.number()?,
            stop: stop_of(reader.number()?)?,
            taken: reader.bytes()?.iter().map(|taken| *taken != 0).collect(),
            ..PartitionResult::default()
        };
        for _ in 0..reader.count()? {
            share.rows.push(BoundRow {
                stale: None,
                bound: reader.small()?,
                states: reader.number()?,
                transitions: reader.number()?,
                errors: reader.number()?,
            });
        }
        if reader.number()? == 1 {
            share.site = Some(ViolationSite::read(reader)?);
        }
        Ok(share)
    }

    /// Counts what another owner found.
    pub fn add(&mut self, other: &PartitionResult) {
        self.states += other.states;
        self.matched += other.matched;
        self.transitions += other.transitions;
        self.atomic_steps += other.atomic_steps;
        self.depth = self.depth.max(other.depth);
        self.revisits += other.revisits;
        self.errors += other.errors;
        self.state_bytes = self.state_bytes.max(other.state_bytes);
        self.memory += other.memory;
        self.deferred += other.deferred;
        self.stop = self.stop.or(other.stop);
        if self.taken.len() < other.taken.len() {
            self.taken.resize(other.taken.len(), false);
        }
        for (mine, theirs) in self.taken.iter_mut().zip(&other.taken) {
            *mine |= *theirs;
        }
        self.rows = add_rows(&self.rows, &other.rows);
        let earlier =
            |site: &ViolationSite| self.site.as_ref().is_none_or(|mine| site.time < mine.time);
        if let Some(site) = other.site.as_ref().filter(|site| earlier(site)) {
            self.site = Some(site.clone());
        }
    }
}

/// Adds up what two owners had after each bucket. One that had nothing to do in a bucket has no row for it.
fn add_rows(mine: &[BoundRow], theirs: &[BoundRow]) -> Vec<BoundRow> {
    let last = mine.iter().chain(theirs).map(|row| row.bound).max();
    let after = |rows: &[BoundRow], bound: u32| {
        rows.iter().rfind(|row| row.bound <= bound).copied().unwrap_or_default()
    };
    let row = |bound| {
        let (a, b) = (after(mine, bound), after(theirs, bound));
        BoundRow {
            stale: None,
            bound,
            states: a.states + b.states,
            transitions: a.transitions + b.transitions,
            errors: a.errors + b.errors,
        }
    };
    last.map_or(Vec::new(), |last| (0..=last).map(row).collect())
}

/// What all owners found together, with the way to it.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Everything but the way.
    pub all: PartitionResult,
    /// The steps to the first violation, or of the first cycle.
    pub steps: Option<Vec<Step>>,
    /// Where the cycle begins, if it is one.
    pub cycle_start: Option<u64>,
}

impl Outcome {
    /// Writes it.
    pub fn write(&self, writer: &mut Writer) {
        self.all.write(writer);
        writer.number(self.steps.is_some().into());
        writer.steps(self.steps.as_deref().unwrap_or_default());
        writer.option(self.cycle_start);
    }

    /// Reads it.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Damaged> {
        let all = PartitionResult::read(reader)?;
        let is_there = reader.number()? == 1;
        let steps = reader.steps()?;
        Ok(Outcome { all, steps: is_there.then_some(steps), cycle_start: reader.option()? })
    }

    /// What is reported of it; a cycle is a violation of this kind.
    pub fn finding(self, system: &dyn System, options: &Options, kind: ViolationKind) -> Finding {
        let Outcome { all, steps, cycle_start } = self;
        let (Some(steps), Some(start)) = (&steps, cycle_start) else {
            return combine(system, options, all, steps);
        };
        let cycle = Counterexample::cycle(steps.clone(), kind, start as usize);
        Finding { counterexample: Some(cycle), ..combine(system, options, all, None) }
    }
}

/// What all owners found together; `steps` lead to the first violation.
pub fn combine(
    system: &dyn System,
    options: &Options,
    mut all: PartitionResult,
    steps: Option<Vec<Step>>,
) -> Finding {
    let bounded = options.preemptions != Preemptions::Any;
    if options.max_errors != 0 {
        all.errors = all.errors.min(options.max_errors);
    }
    let counterexample = (all.site.as_ref().zip(steps))
        .map(|(site, steps)| Counterexample::from_end(system, steps, site.fault));
    let enough = options.max_errors != 0 && all.errors >= options.max_errors;
    let complete = all.stop.is_none() && !enough;
    let bound = options.preemptions.limit().filter(|_| all.deferred > 0 && complete);
    if all.stop.is_some() {
        // The last bucket was not finished.
        all.rows.pop();
    }
    for row in &mut all.rows {
        // The initial state is reached by no step.
        row.transitions += 1;
        if options.max_errors != 0 {
            row.errors = row.errors.min(options.max_errors);
        }
    }
    let everything = complete && bound.is_none();
    let arrivals = if bounded { all.transitions + 1 } else { all.states + all.matched };
    let mut finding = Finding {
        counterexample,
        bound,
        unreached: if everything { system.unreached(&all.taken) } else { Vec::new() },
        statistics: Statistics {
            states: all.states,
            atomic_steps: all.atomic_steps,
            depth: all.depth,
            revisits: all.revisits,
            errors: all.errors,
            complete,
            bytes_per_state: all.memory as f64 / all.states.max(1) as f64,
            memory_bytes: all.memory,
            state_bytes: all.state_bytes,
            per_bound: if bounded { all.rows } else { Vec::new() },
            ..Statistics::default()
        },
        ..Finding::new(all.stop.map_or(Covered::Everything, Covered::Part))
    };
    finding.statistics.count_arrivals(arrivals);
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(bound: u32, states: u64) -> BoundRow {
        BoundRow { stale: None, bound, states, transitions: 2 * states, errors: 0 }
    }

    #[test]
    fn owners_without_work_in_a_bucket_keep_their_numbers() {
        let rows = add_rows(&[row(0, 5), row(2, 9)], &[row(1, 4)]);
        let states: Vec<u64> = rows.iter().map(|row| row.states).collect();
        assert_eq!(states, [5, 9, 13]);
        assert_eq!(rows[2].transitions, 26);
    }

    #[test]
    fn shares_are_read_as_they_were_written() {
        let site = ViolationSite {
            time: Time { bucket: 2, round: 7 },
            state: vec![1, 2, 3],
            mover: Some(ProcessId(1)),
            path: vec![Step::new(ProcessId(4), 70)],
            fault: Some(9),
        };
        let share = PartitionResult {
            states: 300,
            errors: 1,
            stop: Some(Stop::PeerLost),
            taken: vec![true, false, true],
            rows: vec![row(0, 300)],
            site: Some(site),
            ..PartitionResult::default()
        };
        let mut writer = Writer::default();
        share.write(&mut writer);
        assert_eq!(PartitionResult::read(&mut Reader::new(&writer.bytes)).as_ref(), Ok(&share));
        for end in 0..writer.bytes.len() {
            assert!(PartitionResult::read(&mut Reader::new(&writer.bytes[..end])).is_err());
        }
    }
}
