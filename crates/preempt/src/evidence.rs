//! Everything a report needs to know about one failing execution.

use crate::places::Places;
use crate::rt::{MemoryError, PanicNote, Runtime, Shown, Trouble};
use preempt_explore::{Access, Ending, Event, ObjectId, Replay, Run, Schedule, Site, ThreadId};
use rustc_hash::FxHashMap;

/// Everything a report needs to know about one failing execution.
pub(crate) struct Evidence {
    pub(crate) ending: Ending,
    pub(crate) schedule: Schedule,
    pub(crate) preemptions: u32,
    pub(crate) stale: u32,
    pub(crate) events: Vec<Event>,
    /// The accesses to the cell of a data race.
    pub(crate) racy: Vec<RacyAccess>,
    /// Where objects were made.
    pub(crate) origins: FxHashMap<ObjectId, Site>,
    /// What their numbers stand for, if not for themselves.
    pub(crate) shown: FxHashMap<ObjectId, Shown>,
    pub(crate) trouble: Option<Trouble>,
    /// The panic that is the failure, if it is one.
    pub(crate) panic: Option<(usize, PanicNote)>,
    pub(crate) threads: Vec<String>,
    /// For each thread that did not end: what it stands before.
    pub(crate) waiting: Vec<Waiting>,
    pub(crate) diverged: bool,
    pub(crate) stack: usize,
    pub(crate) steps: usize,
}

impl Evidence {
    /// Moves all steps to lines of the test.
    fn show_lines_of_test(&mut self, mut places: Places) {
        self.origins.retain(|_, site| places.is_of_test(site));
        for event in &mut self.events {
            places.come_to(event.step.thread, &mut event.operation.site);
        }
        for waiting in &mut self.waiting {
            places.come_to(ThreadId(waiting.thread as u32), &mut waiting.operation.site);
        }
    }

    /// The number of an object as the test knows it.
    pub(crate) fn number(&self, object: ObjectId, number: u64) -> i128 {
        match self.shown.get(&object) {
            Some(Shown::Signed(bits)) => {
                let unused = 64 - u32::from(*bits);
                i128::from((number << unused) as i64 >> unused)
            }
            _ => i128::from(number),
        }
    }
}

/// A thread that cannot go on.
pub(crate) struct Waiting {
    pub(crate) thread: usize,
    pub(crate) operation: preempt_explore::Operation,
    /// The thread that holds what it waits for.
    pub(crate) holder: Option<usize>,
}

/// An access to a plain cell, or the creation of an object, that takes part in a data race.
pub(crate) struct RacyAccess {
    /// How many steps come before it.
    pub(crate) position: usize,
    pub(crate) cell: ObjectId,
    pub(crate) access: Access,
    pub(crate) creation: bool,
}

/// What an execution that was repeated showed.
pub(crate) fn evidence(runtime: &Runtime, run: Run, driver: &Replay, stack: usize) -> Evidence {
    let name = |(index, id): (usize, &preempt_explore::ThreadId)| match runtime.names.get(id) {
        Some(name) => name.clone(),
        None if index == 0 => "main".into(),
        None => format!("thread {index}"),
    };
    let waiting = run
        .order
        .iter()
        .enumerate()
        .filter_map(|(index, &id)| {
            let thread = run.state.thread(id);
            (thread.status == preempt_explore::Status::Ready).then(|| Waiting {
                thread: index,
                operation: thread.operation,
                holder: run.state.holder(id).map(|holder| run.ordinal(holder)),
            })
        })
        .collect();
    let diverged = driver.misses(&run);
    let mut evidence = Evidence {
        ending: ending(&run),
        schedule: Schedule::of(&run),
        preemptions: run.preemptions,
        stale: run.stale,
        threads: run.order.iter().enumerate().map(name).collect(),
        panic: panic(runtime, &run).map(|(t, note)| (run.ordinal(t), note)),
        events: renumbered(&run),
        racy: racy(&run),
        origins: runtime.registry.origins.clone(),
        shown: runtime.registry.shown.clone(),
        trouble: runtime.trouble.clone().map(|trouble| numbered(trouble, &run)),
        waiting,
        diverged,
        stack,
        steps: run.step_limit,
    };
    let spawned = &runtime.registry.spawned;
    let spawned = spawned.iter().map(|(&id, &site)| (ThreadId(run.ordinal(id) as u32), site));
    evidence.show_lines_of_test(Places::new(spawned.collect()));
    evidence
}

/// How it ended, with threads numbered in the order of spawning.
fn ending(run: &Run) -> Ending {
    let mut ending = run.ending.clone().unwrap_or(Ending::Abandoned);
    if let Ending::Race(race) = &mut ending {
        for access in [&mut race.earlier, &mut race.later] {
            access.thread = ThreadId(run.ordinal(access.thread) as u32);
        }
    }
    ending
}

/// With threads numbered in the order of spawning.
fn numbered(trouble: Trouble, run: &Run) -> Trouble {
    let ordinal = |thread: ThreadId| ThreadId(run.ordinal(thread) as u32);
    match trouble {
        Trouble::Blocked(thread, last) => Trouble::Blocked(ordinal(thread), last),
        Trouble::Memory(thread, error) => {
            let error = match error {
                MemoryError::Fault(address) => MemoryError::Fault(address),
                MemoryError::DoubleFree(before) => MemoryError::DoubleFree(ordinal(before)),
                MemoryError::UseAfterFree(before) => MemoryError::UseAfterFree(ordinal(before)),
            };
            Trouble::Memory(ordinal(thread), error)
        }
        other => other,
    }
}

/// The panic to be reported: the first one that no thread has dealt with. If a thread panics because another one
/// has, the panic of that other thread.
fn panic(runtime: &Runtime, run: &Run) -> Option<(ThreadId, PanicNote)> {
    let words = &runtime.last_words;
    let unseen = words.iter().find(|(thread, _)| run.state.thread(*thread).has_panicked());
    let follows = |note: &PanicNote| {
        note.message.starts_with("called `Result::unwrap()` on an `Err` value: Any")
    };
    let last = words.last().or(runtime.panics.last());
    let first = words.first().filter(|_| last.is_some_and(|(_, note)| follows(note)));
    unseen.or(first).or(last).cloned()
}

/// The two accesses of a data race, and others to the same object, with threads numbered in the order
/// of spawning.
fn racy(run: &Run) -> Vec<RacyAccess> {
    let Some(Ending::Race(race)) = run.ending else { return Vec::new() };
    let creations = run.creations.iter().filter(|_| race.creation).map(|entry| (entry, true));
    creations
        .chain(run.accesses.iter().map(|entry| (entry, false)))
        .filter(|((_, cell, _), _)| *cell == race.cell)
        .map(|(&(position, cell, access), creation)| {
            let thread = ThreadId(run.ordinal(access.thread) as u32);
            RacyAccess { position, cell, access: Access { thread, ..access }, creation }
        })
        .collect()
}

/// Events with threads numbered in the order of spawning.
fn renumbered(run: &Run) -> Vec<Event> {
    let mut events = run.events.clone().unwrap_or_default();
    for event in &mut events {
        event.step.thread = preempt_explore::ThreadId(run.ordinal(event.step.thread) as u32);
        if event.operation.action == preempt_explore::Action::Join {
            event.operation.first = run.ordinal(event.operation.target()) as u64;
        }
    }
    events
}

/// The step that made the write with this number.
pub(crate) fn writer(events: &[Event], number: Option<u32>) -> Option<&Event> {
    let number = number?;
    events.iter().find(|event| event.source.is_some_and(|source| source.position == number))
}

/// A place, as seen from another one.
pub(crate) fn line_of(site: Site, from: Site) -> String {
    if site.file() == from.file() {
        format!("line {}", site.line())
    } else {
        format!("{}:{}", site.file(), site.line())
    }
}
