//! What the search found, written as the report that `preempt run` reads (`preempt-exchange`).

use crate::places::with_places;
use crate::record::{Call, Record, Recorded};
use crate::runtime::{Runtime, Touched, runtime};
use crate::snapshot;
use crate::task::{CallSite, Frames};
use crate::trouble::{Panic, Standing, Trouble};
use preempt_exchange::{self as exchange, Found, Kind};
use preempt_explore::{
    Access, Action, Ending, Event, Halt, Operation, Order, Race, Run, Schedule, Statistics, Status,
    ThreadId,
};
use std::sync::atomic::Ordering;

/// Everything to tell.
pub(crate) struct Results<'a> {
    pub(crate) halt: Halt,
    pub(crate) statistics: &'a Statistics,
    pub(crate) evidence: Option<Evidence>,
    pub(crate) unsupported: Option<Trouble>,
    pub(crate) seconds: f64,
    /// Whether the program has memory orders that allow stale choices, and these are explored.
    pub(crate) weak: bool,
    /// What was left out although it is within the bounds.
    pub(crate) unexplored: Vec<String>,
}

/// One execution, step by step.
pub(crate) struct Evidence {
    ending: Option<Ending>,
    schedule: String,
    preemptions: u32,
    pub(crate) stale: u32,
    pub(crate) diverged: bool,
    events: Vec<Event>,
    record: Record,
    /// Address of each event's object.
    addresses: Vec<usize>,
    /// The event of each access to a number, in their order.
    accesses: Vec<usize>,
    /// For each thread: its function, and if it did not end, what it waits for, where, and which thread holds it.
    threads: Vec<ThreadEnd>,
    trouble: Option<Trouble>,
    /// The two accesses of a race, each with the number of its thread.
    race: Option<[(usize, Touched); 2]>,
    /// Panics, each with the number of its thread.
    panics: Vec<(usize, Panic)>,
    /// Places with the memory orders that make the execution impossible.
    pub(crate) remedy: Vec<(usize, Order)>,
}

struct ThreadEnd {
    start: usize,
    name: String,
    creation: Frames,
    waits: Option<(Action, CallSite, Option<usize>)>,
    frames: Frames,
    call: Option<usize>,
}

fn thread_end(runtime: &Runtime, run: &Run, id: ThreadId) -> ThreadEnd {
    let thread = run.state.thread(id);
    let task = &runtime.tasks[id.index()];
    let holder = run.state.holder(id).map(|holder| run.ordinal(holder));
    let waits = (thread.operation.action, task.call_site, holder);
    ThreadEnd {
        start: task.start.map_or(0, |start| start as usize),
        name: task.name.clone(),
        creation: task.creation.clone(),
        waits: (thread.status == Status::Ready).then_some(waits),
        frames: task.frames.clone(),
        call: task.call,
    }
}

/// The threads of a data race and their accesses, the earlier one first.
fn racing(runtime: &Runtime, run: &Run, race: &Race) -> [(usize, Touched); 2] {
    let call_site = |Access { thread, write, .. }: Access| {
        let same = |at: &&Touched| (at.cell, at.thread, at.write) == (race.cell, thread, write);
        let found = runtime.touched.iter().rev().find(same).cloned();
        let unknown = || Touched {
            cell: race.cell,
            thread,
            write,
            pc: 0,
            address: 0,
            held: None,
            step: 0,
            frames: Frames::default(),
        };
        (run.ordinal(thread), found.unwrap_or_else(unknown))
    };
    let (mut earlier, later) = (call_site(race.earlier), call_site(race.later));
    if earlier.1.write {
        // What it has written is what the other thread finds.
        let same = earlier.1.address == later.1.address;
        earlier.1.held = later.1.held.filter(|_| same);
    }
    [earlier, later]
}

impl Evidence {
    /// What an execution with records has left.
    pub(crate) fn of(runtime: &mut Runtime, run: Run, diverged: bool) -> Self {
        let threads = run.order.iter().map(|&id| thread_end(runtime, &run, id)).collect();
        let race = match &run.ending {
            Some(Ending::Race(race)) => Some(racing(runtime, &run, race)),
            _ => None,
        };
        let panics = std::mem::take(&mut runtime.panics);
        let panics = panics.into_iter().map(|panic| (run.ordinal(panic.thread), panic)).collect();
        let mut events = run.events.clone().unwrap_or_default();
        let addresses =
            events.iter().map(|e| runtime.objects.address(e.operation.object)).collect();
        let mut accesses = Vec::new();
        for (at, event) in events.iter_mut().enumerate() {
            if let Some(source) = event.source {
                accesses.resize(source.position as usize + 1, at);
            }
            event.step.thread = ThreadId(run.ordinal(event.step.thread) as u32);
            if event.operation.action == Action::Join {
                event.operation.first = run.ordinal(event.operation.target()) as u64;
            }
        }
        Evidence {
            schedule: with_places(&Schedule::of(&run), &runtime.shadow.places()),
            preemptions: run.preemptions,
            stale: run.stale,
            ending: run.ending,
            diverged,
            events,
            record: runtime.record.clone().unwrap_or_default(),
            addresses,
            accesses,
            threads,
            trouble: runtime.trouble.clone(),
            race,
            panics,
            remedy: Vec::new(),
        }
    }

    /// Operations by which threads have told each other something, with their places, and those that a stale choice is about:
    /// stronger orders there may forbid it. Nearest to a stale choice first, and not too many.
    pub(crate) fn communication(&self) -> Vec<(usize, Operation)> {
        const PLACES: usize = 12;
        let is_stale = |event: &Event| event.source.is_some_and(|source| source.stale);
        let mut involved: Vec<usize> = Vec::new();
        for (at, event) in self.events.iter().enumerate() {
            let Some(source) = event.source else { continue };
            let [read, newest] = [source.read, source.newest].map(|number| self.maker(number));
            let from_another =
                read.filter(|&read| self.events[read].step.thread != event.step.thread);
            if is_stale(event) {
                involved.extend([Some(at), read, newest].into_iter().flatten());
            } else if let Some(read) = from_another {
                involved.extend([at, read]);
            }
        }
        let stale: Vec<usize> =
            (0..self.events.len()).filter(|&at| is_stale(&self.events[at])).collect();
        involved.sort_unstable();
        involved.dedup();
        involved.sort_by_key(|&at| stale.iter().map(|&other| other.abs_diff(at)).min());
        let mut found: Vec<(usize, Operation)> = Vec::new();
        let mut places: Vec<usize> = Vec::new();
        for at in involved {
            let Some(Recorded { call_site: place, .. }) = self.record.steps.get(at) else {
                continue;
            };
            if !places.contains(&place.pc) {
                if places.len() == PLACES {
                    continue;
                }
                places.push(place.pc);
            }
            found.push((place.pc, self.events[at].operation));
        }
        found
    }

    /// The step that made the write before which there were so many accesses to numbers.
    fn maker(&self, number: Option<u32>) -> Option<usize> {
        self.accesses.get(number? as usize).copied()
    }

    fn kind(&self) -> Kind {
        match (&self.ending, &self.trouble) {
            (Some(Ending::Reported), Some(trouble)) => trouble.kind,
            (Some(Ending::Deadlock), _) => Kind::Deadlock,
            (Some(Ending::Livelock | Ending::Cycle(_)), _) => Kind::Livelock,
            (Some(Ending::Race(_)), _) => Kind::DataRace,
            (Some(Ending::StepLimit), _) => Kind::StepLimit,
            (Some(Ending::Nondeterminism(_)), _) => Kind::Nondeterminism,
            _ => Kind::None,
        }
    }

    /// The execution as it is reported.
    fn report(&self) -> exchange::Evidence {
        let thread = |thread: &ThreadEnd| exchange::Thread {
            start: thread.start as u64,
            name: thread.name.clone(),
            creation: numbers(&thread.creation),
            waits: thread.waits.as_ref().map(|(action, call_site, holder)| exchange::Waits {
                action: action.name().into(),
                pc: call_site.pc as u64,
                address: call_site.address as u64,
                holder: *holder,
                frames: numbers(&thread.frames),
                call: thread.call,
            }),
        };
        let access = |(thread, touched): &(usize, Touched)| exchange::Access {
            thread: *thread,
            pc: touched.pc as u64,
            write: touched.write,
            address: touched.address as u64,
            value: touched.held,
            step: touched.step,
            frames: numbers(&touched.frames),
        };
        let panic = |(thread, panic): &(usize, Panic)| exchange::Panic {
            thread: *thread,
            message: panic.message.clone(),
            place: panic.place.clone(),
        };
        let call = |call: &Call| exchange::Call {
            text: call.text.clone(),
            result: call.result.map(|result| result as i64),
        };
        let stronger = |&(pc, order): &(usize, Order)| exchange::Stronger {
            pc: pc as u64,
            order: order_name(order).into(),
        };
        exchange::Evidence {
            kind: self.kind(),
            schedule: self.schedule.clone(),
            preemptions: self.preemptions,
            stale: self.stale,
            remedy: self.remedy.iter().map(stronger).collect(),
            diverged: self.diverged,
            trouble: self.trouble.as_ref().map(trouble),
            race: self.race.as_ref().map(|[first, second]| [access(first), access(second)]),
            threads: self.threads.iter().map(thread).collect(),
            events: self
                .events
                .iter()
                .enumerate()
                .map(|(at, event)| self.event(at, event))
                .collect(),
            calls: self.record.calls.iter().map(call).collect(),
            panics: self.panics.iter().map(panic).collect(),
        }
    }

    /// One step as it is reported.
    fn event(&self, at: usize, event: &Event) -> exchange::Event {
        let Recorded { call_site, frames, call } =
            self.record.steps.get(at).cloned().unwrap_or_default();
        let address = match self.addresses.get(at) {
            // A thread waits for a condition, and gives up the lock that belongs to it.
            Some(&address) if address != 0 && event.operation.action != Action::Wait => address,
            _ => call_site.address,
        };
        exchange::Event {
            thread: event.step.thread.0 as usize,
            pc: call_site.pc as u64,
            address: address as u64,
            action: event.operation.action.name().into(),
            number: event.operation.action.is_number(),
            first: event.operation.first,
            result: event.result,
            before: event.before,
            after: event.after,
            timeout: event.step.choice == preempt_explore::Move::TIMEOUT,
            preemption: event.preemption,
            source: event.source.map(|source| exchange::Source {
                stale: source.stale,
                fails: source.fails,
                read: self.maker(source.read),
                newest: self.maker(source.newest),
                value: source.newest_value,
            }),
            frames: numbers(&frames),
            call,
        }
    }
}

/// A memory order as C writes it.
fn order_name(order: Order) -> &'static str {
    match order {
        Order::Relaxed => "memory_order_relaxed",
        Order::Acquire => "memory_order_acquire",
        Order::Release => "memory_order_release",
        Order::AcquireRelease => "memory_order_acq_rel",
        Order::SequentiallyConsistent => "memory_order_seq_cst",
    }
}

fn halt(halt: Halt) -> exchange::Halt {
    match halt {
        Halt::Done => exchange::Halt::Done,
        Halt::Failure => exchange::Halt::Failure,
        Halt::Time if runtime().stop.load(Ordering::Relaxed) => exchange::Halt::Interrupted,
        Halt::Time => exchange::Halt::Time,
        Halt::Executions => exchange::Halt::Executions,
        Halt::States => exchange::Halt::States,
        Halt::Restart => exchange::Halt::Restart,
    }
}

/// Writes the report to the file that the driver has named.
pub(crate) fn write(results: &Results<'_>) {
    let text = serde_json::to_string(&found(results)).unwrap_or_default();
    if std::fs::write(&runtime().report, text).is_err() {
        crate::raw::refuse("preempt: the report cannot be written\n");
    }
}

fn numbers(frames: &Frames) -> Vec<u64> {
    frames.iter().map(|&frame| frame as u64).collect()
}

fn trouble(trouble: &Trouble) -> exchange::Trouble {
    exchange::Trouble {
        kind: trouble.kind,
        message: trouble.message.clone(),
        pc: trouble.pc as u64,
        other: trouble.other.map(|(role, pc)| exchange::Other { role: role.into(), pc: pc as u64 }),
        place: trouble.place.clone(),
        frames: numbers(&trouble.frames),
    }
}

fn standing(standing: &Standing) -> exchange::Standing {
    exchange::Standing {
        steps: standing.steps as u64,
        pc: standing.pc as u64,
        frames: numbers(&standing.frames),
    }
}

fn found(results: &Results<'_>) -> Found {
    let runtime = runtime();
    let statistics = results.statistics;
    // The last execution is not whole.
    let unfinished = runtime.unfinished.as_ref().filter(|_| results.halt == Halt::Time);
    let mut rows = statistics.rows.clone();
    rows.sort_by_key(|row| (row.stale, row.preemptions));
    let ending = statistics.failure.as_ref().map(|finding| &finding.ending);
    Found {
        halt: halt(results.halt),
        exhausted: statistics.exhausted,
        executions: statistics.executions.saturating_sub(unfinished.is_some().into()),
        graphs: statistics.graphs.len() as u64,
        threads: runtime.tasks.len(),
        seconds: results.seconds,
        memory: crate::heap::used() as u64,
        forked_because: runtime.forked_because.as_ref().map(|why| why.to_string()),
        racy: runtime.shadow.racy_places() as u64,
        rows: rows
            .iter()
            .map(|row| exchange::Row {
                stale: row.stale,
                bound: row.preemptions,
                graphs: row.graphs,
                executions: row.executions,
            })
            .collect(),
        weak: results.weak,
        unexplored: results.unexplored.clone(),
        notes: runtime.notes.clone(),
        modules: snapshot::modules()
            .iter()
            .map(|module| exchange::Module {
                path: module.path.to_string(),
                base: module.base as u64,
            })
            .collect(),
        unsupported: results.unsupported.as_ref().map(trouble),
        nondeterministic: matches!(ending, Some(Ending::Nondeterminism(_))),
        fewer_stale: statistics.fewer_stale,
        expected: ending.map(expected),
        strayed: runtime.strayed.as_ref().map(standing),
        unfinished: unfinished.map(standing),
        evidence: results.evidence.as_ref().map(Evidence::report),
    }
}

/// What was expected of an execution that did something else.
fn expected(ending: &Ending) -> String {
    let Ending::Nondeterminism(mismatch) = ending else {
        return format!("{:?}", std::mem::discriminant(ending));
    };
    // The places are in this library.
    let brief = |text: &str| match text.split_once(" at ") {
        Some((what, place)) => {
            let rest = place.find([' ', ',']).map_or("", |end| &place[end..]);
            format!("{what}{rest}")
        }
        None => text.to_string(),
    };
    let (first, later) = (brief(&mismatch.expected), brief(&mismatch.found));
    format!("first it came to {first}, and later to {later}")
}
