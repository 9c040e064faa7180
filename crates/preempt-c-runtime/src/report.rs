//! What the search found, as JSON for `preempt run`.
//!
//! Addresses stay numbers here: the driver knows the program's debug information and turns them into
//! lines of source. The format is private to the two.

use crate::runtime::{Runtime, Touched, runtime};
use crate::snapshot;
use crate::task::{CallSite, Frames};
use crate::trouble::{Panic, Standing, Trouble};
use preempt_explore::{
    Action, Ending, Event, Halt, Operation, Order, Run, Schedule, Source, Statistics, Status,
};
use std::fmt::Write;
use std::sync::atomic::Ordering;

/// Everything to tell.
pub(crate) struct Results<'a> {
    pub(crate) halt: Halt,
    pub(crate) statistics: &'a Statistics,
    pub(crate) evidence: Option<Evidence>,
    pub(crate) unsupported: Option<Trouble>,
    pub(crate) restarts: u32,
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
    call_sites: Vec<(CallSite, Frames)>,
    /// Address of each event's object.
    addresses: Vec<usize>,
    /// The event of each access to a number, in their order.
    accesses: Vec<usize>,
    /// For each thread: its function, and if it did not end, what it waits for, where, and who holds
    /// it.
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
}

impl Evidence {
    /// What an execution with records has left.
    pub(crate) fn of(runtime: &mut Runtime, run: Run, diverged: bool) -> Self {
        let ordinal = |thread| run.ordinal(thread);
        let threads = run
            .order
            .iter()
            .map(|&id| {
                let thread = run.state.thread(id);
                let task = &runtime.tasks[id.index()];
                let holder = run.state.holder(id).map(ordinal);
                let waits = (thread.status == Status::Ready).then_some((
                    thread.operation.action,
                    task.call_site,
                    holder,
                ));
                ThreadEnd {
                    start: task.start.map_or(0, |start| start as usize),
                    name: task.name.clone(),
                    creation: task.creation.clone(),
                    waits,
                    frames: task.frames.clone(),
                }
            })
            .collect();
        let race = match &run.ending {
            Some(Ending::Race(race)) => {
                let call_site = |thread, write| {
                    let same = |at: &&Touched| {
                        (at.cell, at.thread, at.write) == (race.cell, thread, write)
                    };
                    let found = runtime.touched.iter().rev().find(same).cloned();
                    let unknown = || Touched {
                        cell: race.cell,
                        thread,
                        write,
                        pc: 0,
                        address: 0,
                        step: 0,
                        frames: Frames::default(),
                    };
                    (run.ordinal(thread), found.unwrap_or_else(unknown))
                };
                Some([
                    call_site(race.earlier.thread, race.earlier.write),
                    call_site(race.later.thread, race.later.write),
                ])
            }
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
            event.step.thread = preempt_explore::ThreadId(run.ordinal(event.step.thread) as u32);
            if event.operation.action == Action::Join {
                event.operation.first = run.ordinal(event.operation.target()) as u64;
            }
        }
        Evidence {
            schedule: with_racy(&Schedule::of(&run), &runtime.shadow.racy()),
            preemptions: run.preemptions,
            stale: run.stale,
            ending: run.ending,
            diverged,
            events,
            call_sites: runtime.call_sites.clone().unwrap_or_default(),
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
            let Some((place, _)) = self.call_sites.get(at) else { continue };
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

    /// The same as text.
    fn writer(&self, number: Option<u32>) -> String {
        self.maker(number).map_or("null".into(), |at| at.to_string())
    }

    fn kind(&self) -> &'static str {
        match (&self.ending, &self.trouble) {
            (Some(Ending::Reported), Some(trouble)) => trouble.kind.name(),
            (Some(Ending::Deadlock), _) => "deadlock",
            (Some(Ending::Livelock | Ending::Cycle(_)), _) => "livelock",
            (Some(Ending::Race(_)), _) => "data_race",
            (Some(Ending::StepLimit), _) => "step_limit",
            (Some(Ending::Nondeterminism(_)), _) => "nondeterminism",
            _ => "none",
        }
    }
}

/// A schedule counts operations, so it means something only together with the places of plain
/// accesses that are operations: `p1.0x3@11d4+1200`, relative to the program's address.
pub(crate) fn with_racy(schedule: &Schedule, call_sites: &[usize]) -> String {
    let base = snapshot::modules().first().map_or(0, |module| module.base);
    let mut text = schedule.to_string();
    for (nth, call_site) in call_sites.iter().enumerate() {
        let _ = write!(text, "{}{:x}", if nth == 0 { '@' } else { '+' }, call_site - base);
    }
    text
}

/// The two parts of a schedule with places.
pub(crate) fn without_racy(text: &str) -> Option<(&str, Vec<usize>)> {
    let base = snapshot::modules().first().map_or(0, |module| module.base);
    let Some((schedule, call_sites)) = text.split_once('@') else {
        return Some((text, Vec::new()));
    };
    let call_site = |part: &str| usize::from_str_radix(part, 16).ok().map(|offset| base + offset);
    Some((schedule, call_sites.split('+').map(call_site).collect::<Option<_>>()?))
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

fn halt_name(halt: Halt) -> &'static str {
    match halt {
        Halt::Done => "done",
        Halt::Failure => "failure",
        Halt::Time if runtime().stop.load(Ordering::Relaxed) => "interrupted",
        Halt::Time => "time",
        Halt::Executions => "executions",
        Halt::States => "states",
        Halt::Restart => "restart",
    }
}

/// Writes the report to the file that the driver has named.
pub(crate) fn write(results: &Results<'_>) {
    let text = json(results).unwrap_or_default();
    if std::fs::write(&runtime().options.report, text).is_err() {
        crate::raw::refuse("preempt: the report cannot be written\n");
    }
}

fn string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if (control as u32) < 0x20 => {
                let _ = write!(quoted, "\\u{:04x}", control as u32);
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

fn trouble(trouble: &Trouble) -> String {
    let other = match trouble.other {
        Some((role, pc)) => format!("{{\"role\":{},\"pc\":{pc}}}", string(role)),
        None => "null".into(),
    };
    let place = trouble.place.as_ref().map_or("null".into(), |place| {
        format!("{{\"file\":{},\"line\":{}}}", string(&place.file), place.line)
    });
    format!(
        "{{\"kind\":{},\"message\":{},\"pc\":{},\"other\":{other},\"place\":{place},\"frames\":{}}}",
        string(trouble.kind.name()),
        string(&trouble.message),
        trouble.pc,
        list(&trouble.frames)
    )
}

fn standing(standing: Option<&Standing>) -> String {
    standing.map_or("null".into(), |Standing { steps, pc, frames }| {
        format!("{{\"steps\":{steps},\"pc\":{pc},\"frames\":{}}}", list(frames))
    })
}

fn list(frames: &[usize]) -> String {
    let frames: Vec<String> = frames.iter().map(usize::to_string).collect();
    format!("[{}]", frames.join(","))
}

fn optional(trouble_: Option<&Trouble>) -> String {
    trouble_.map_or_else(|| "null".into(), trouble)
}

fn json(results: &Results<'_>) -> Result<String, std::fmt::Error> {
    let runtime = runtime();
    let statistics = results.statistics;
    let mut out = String::from("{");
    write!(out, "\"halt\":\"{}\",\"exhausted\":{}", halt_name(results.halt), statistics.exhausted)?;
    // The last one is not whole.
    let unfinished = runtime.unfinished.as_ref().filter(|_| results.halt == Halt::Time);
    write!(
        out,
        ",\"executions\":{},\"graphs\":{}",
        statistics.executions.saturating_sub(unfinished.is_some().into()),
        statistics.graphs.len()
    )?;
    write!(out, ",\"states\":{},\"restarts\":{}", statistics.states, results.restarts)?;
    write!(out, ",\"threads\":{}", runtime.tasks.len())?;
    write!(out, ",\"seconds\":{},\"memory\":{}", results.seconds, crate::heap::used())?;
    write!(out, ",\"backend\":\"{}\"", runtime.backend.name())?;
    let because = runtime.forked_because.as_ref().map_or("null".into(), |why| string(why));
    write!(out, ",\"forked_because\":{because},\"racy\":{}", runtime.shadow.racy_places())?;
    let mut rows = statistics.rows.clone();
    rows.sort_by_key(|row| (row.stale, row.preemptions));
    let rows: Vec<String> = rows
        .iter()
        .map(|row| {
            let (stale, bound, graphs) = (row.stale, row.preemptions, row.graphs);
            let executions = row.executions;
            format!(
                "{{\"stale\":{stale},\"bound\":{bound},\"graphs\":{graphs},\"executions\":{executions}}}"
            )
        })
        .collect();
    write!(out, ",\"fewer_stale\":{}", statistics.fewer_stale)?;
    write!(out, ",\"rows\":[{}],\"weak\":{}", rows.join(","), results.weak)?;
    let unexplored: Vec<String> = results.unexplored.iter().map(|words| string(words)).collect();
    write!(out, ",\"unexplored\":[{}]", unexplored.join(","))?;
    let notes: Vec<String> = runtime.notes.iter().map(|note| string(note)).collect();
    write!(out, ",\"notes\":[{}]", notes.join(","))?;
    let modules: Vec<String> = snapshot::modules()
        .iter()
        .map(|module| format!("{{\"path\":{},\"base\":{}}}", string(&module.path), module.base))
        .collect();
    write!(out, ",\"modules\":[{}]", modules.join(","))?;
    write!(out, ",\"unsupported\":{}", optional(results.unsupported.as_ref()))?;
    let expected = statistics.failure.as_ref().map(|finding| match &finding.ending {
        Ending::Nondeterminism(mismatch) => {
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
        ending => format!("{:?}", std::mem::discriminant(ending)),
    });
    let preemptions = statistics.failure.as_ref().map_or(0, |finding| finding.preemptions);
    let nondeterministic =
        statistics.failure.as_ref().is_some_and(|f| matches!(f.ending, Ending::Nondeterminism(_)));
    write!(out, ",\"nondeterministic\":{nondeterministic}")?;
    write!(out, ",\"expected\":{}", expected.map_or("null".into(), |text| string(&text)))?;
    write!(out, ",\"strayed\":{}", standing(runtime.strayed.as_ref()))?;
    write!(out, ",\"unfinished\":{}", standing(unfinished))?;
    write!(out, ",\"least\":{preemptions}")?;
    match &results.evidence {
        Some(evidence) => write!(out, ",\"evidence\":{}", evidence_json(evidence)?)?,
        None => out.push_str(",\"evidence\":null"),
    }
    out.push_str("}\n");
    Ok(out)
}

fn evidence_json(evidence: &Evidence) -> Result<String, std::fmt::Error> {
    let mut out = String::from("{");
    write!(out, "\"kind\":\"{}\",\"schedule\":{}", evidence.kind(), string(&evidence.schedule))?;
    write!(out, ",\"preemptions\":{},\"stale\":{}", evidence.preemptions, evidence.stale)?;
    write!(out, ",\"diverged\":{}", evidence.diverged)?;
    let remedy: Vec<String> = evidence
        .remedy
        .iter()
        .map(|(pc, order)| format!("{{\"pc\":{pc},\"order\":\"{}\"}}", order_name(*order)))
        .collect();
    write!(out, ",\"remedy\":[{}]", remedy.join(","))?;
    write!(out, ",\"exit_code\":{}", runtime().exit_code)?;
    write!(out, ",\"trouble\":{}", optional(evidence.trouble.as_ref()))?;
    let race = match &evidence.race {
        Some(accesses) => {
            let list: Vec<String> = accesses
                .iter()
                .map(|(thread, Touched { pc, write, address, step, frames, .. })| {
                    format!(
                        "{{\"thread\":{thread},\"pc\":{pc},\"write\":{write},\"address\":{address},\"step\":{step},\"frames\":{}}}",
                        list(frames)
                    )
                })
                .collect();
            format!("[{}]", list.join(","))
        }
        None => "null".into(),
    };
    write!(out, ",\"race\":{race}")?;
    let threads: Vec<String> = evidence
        .threads
        .iter()
        .map(|thread| {
            let waits = match &thread.waits {
                Some((action, call_site, holder)) => format!(
                    "{{\"action\":{},\"pc\":{},\"address\":{},\"holder\":{},\"frames\":{}}}",
                    string(action.name()),
                    call_site.pc,
                    call_site.address,
                    holder.map_or("null".into(), |holder| holder.to_string()),
                    list(&thread.frames)
                ),
                None => "null".into(),
            };
            let name = string(&thread.name);
            let (start, creation) = (thread.start, list(&thread.creation));
            format!(
                "{{\"start\":{start},\"name\":{name},\"creation\":{creation},\"waits\":{waits}}}"
            )
        })
        .collect();
    write!(out, ",\"threads\":[{}]", threads.join(","))?;
    let panics = evidence.panics.iter().map(|(thread, panic)| {
        let (message, file) = (string(&panic.message), string(&panic.place.file));
        let line = panic.place.line;
        format!("{{\"thread\":{thread},\"message\":{message},\"place\":{{\"file\":{file},\"line\":{line}}}}}")
    });
    write!(out, ",\"panics\":[{}]", panics.collect::<Vec<_>>().join(","))?;
    out.push_str(",\"events\":[");
    for (at, event) in evidence.events.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        let (call_site, frames) = evidence.call_sites.get(at).cloned().unwrap_or_default();
        let address = match evidence.addresses.get(at) {
            Some(&address) if address != 0 => address,
            _ => call_site.address,
        };
        write!(
            out,
            "{{\"thread\":{},\"pc\":{},\"address\":{address},\"action\":{},\"number\":{}",
            event.step.thread.0,
            call_site.pc,
            string(event.operation.action.name()),
            event.operation.action.is_number(),
        )?;
        let timeout = event.step.choice == preempt_explore::Move::TIMEOUT;
        write!(
            out,
            ",\"first\":{},\"result\":{},\"before\":{},\"after\":{},\"timeout\":{timeout},\"preemption\":{},\"frames\":{}",
            event.operation.first,
            event.result,
            event.before,
            event.after,
            event.preemption,
            list(&frames),
        )?;
        match event.source {
            Some(Source { stale, fails, read, newest, newest_value, .. }) => write!(
                out,
                ",\"source\":{{\"stale\":{stale},\"fails\":{fails},\"read\":{},\"newest\":{},\"value\":{newest_value}}}}}",
                evidence.writer(read),
                evidence.writer(newest)
            )?,
            None => out.push_str(",\"source\":null}"),
        }
    }
    out.push_str("]}");
    Ok(out)
}
