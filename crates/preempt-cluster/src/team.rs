//! One worker of a search, and how workers act together.
//!
//! All workers make the same passes over their states. In between, the first worker gives orders and the others
//! answer; after a pass each sends it what it found. A worker that sees a connection lost gives up at once.

use crate::mailbox::{About, Mailbox};
use crate::port::Port;
use crate::saving::Saving;
use crate::stream::Lines;
use preempt_check::{Budget, Progress};
use preempt_core::{ProcessId, Stop};
use preempt_partitioned::{
    Batches, Damaged, Partition, Reader, Time, TraceSegment, TraceTarget, Writer,
};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use timely::worker::Worker;

/// A connection was lost.
pub(crate) struct Lost;

/// Where a worker is with checkpoints.
#[derive(Default)]
struct Marks {
    /// This worker has asked for one and not heard of that yet.
    is_sent: bool,
    /// The times before which one is to be written: before anything of them is expanded.
    asked: BTreeSet<Time>,
    /// This worker has written its part for this time; so many are missing, as far as the first worker knows. Others may
    /// ask for the next one already.
    saved: Option<(Time, usize)>,
}

impl Marks {
    /// What must not be expanded yet.
    fn time(&self) -> Option<Time> {
        let saved = self.saved.map(|(time, _)| time);
        saved.or(self.asked.first().copied())
    }

    /// None is under way.
    fn is_none(&self) -> bool {
        !self.is_sent && self.asked.is_empty() && self.saved.is_none()
    }
}

/// How long a worker sleeps that has nothing to do, unless something arrives.
const PARK: Duration = Duration::from_millis(20);
/// How often workers say how far they are.
const REPORT_EVERY: Duration = Duration::from_millis(100);

pub(crate) struct Team<'a> {
    pub(crate) worker: &'a mut Worker,
    mailbox: Mailbox,
    lines: Arc<Lines>,
    /// Which pass this is.
    pass: u64,
    /// How far each worker was when it last said so.
    progress: Vec<Progress>,
    errors: Vec<u64>,
    /// Letters that are neither about progress nor about stopping.
    letters: VecDeque<(u64, About, Vec<u8>)>,
    max_errors: u64,
}

impl<'a> Team<'a> {
    pub(crate) fn new(worker: &'a mut Worker, lines: Arc<Lines>, max_errors: u64) -> Self {
        let mailbox = Mailbox::new(worker);
        let peers = worker.peers();
        Team {
            worker,
            mailbox,
            lines,
            pass: 0,
            progress: vec![Progress::default(); peers],
            errors: vec![0; peers],
            letters: VecDeque::new(),
            max_errors,
        }
    }

    pub(crate) fn me(&self) -> usize {
        self.worker.index()
    }

    /// Whether this worker gives orders and gathers what all found.
    pub(crate) fn is_coordinator(&self) -> bool {
        self.me() == 0
    }

    /// How far all workers are, as far as this one knows.
    pub(crate) fn progress(&self) -> Progress {
        self.progress.iter().copied().sum()
    }

    /// Makes a pass: expands everything that waits here, and what others send, until nothing is left anywhere.
    pub(crate) fn pass(
        &mut self,
        part: &mut dyn Partition,
        budget: &mut Budget<'_>,
        mut saving: Option<&mut Saving<'_>>,
    ) -> Result<(), Lost> {
        let port = Port::new(self.worker);
        let mut marks = Marks::default();
        let mut batches = Batches::new(self.worker.peers());
        let mut outgoing = Vec::new();
        let (mut stopped, mut reported) = (false, Instant::now());
        loop {
            let mut busy = false;
            for (time, bytes) in port.take() {
                busy = true;
                if bytes.is_empty() {
                    marks.is_sent = false;
                    marks.asked.insert(time);
                } else if let Err(Damaged) = part.receive(time, &bytes) {
                    part.stop(Some(Stop::Fault));
                }
            }
            if let Some(saving) = &mut saving
                && !stopped
            {
                self.save(&port, part, saving, &mut marks);
            }
            let marked = marks.time().filter(|_| !stopped);
            let next = part.waits().into_iter().chain(marked).min();
            if let Some(time) = next {
                port.advance(Some(time));
                if marked != Some(time) && port.has_arrived(time) {
                    busy = true;
                    let is_due = saving.as_ref().is_some_and(|saving| saving.is_due());
                    if is_due && marks.is_none() {
                        // Sent once: it comes back to this worker, too.
                        marks.is_sent = true;
                        port.send((0..self.worker.peers()).map(|to| (to, Vec::new())));
                    }
                    let mut send = |to: usize, bytes: Vec<u8>| outgoing.push((to, bytes));
                    let mut outbox = batches.outbox(&mut send);
                    part.expand(&mut outbox);
                    outbox.flush();
                    port.send(outgoing.drain(..));
                }
            } else {
                port.advance(None);
            }
            if port.is_over() {
                break;
            }
            let reason = budget.check_every(64, || self.seen(part));
            if let Some(stop) = reason.filter(|_| !stopped) {
                part.stop(Some(stop));
            }
            if !stopped && part.has_enough() {
                stopped = true;
                let reason = part.share().stop;
                part.stop(None);
                self.mailbox.send_all(self.pass, About::Stop, &stop_letter(reason));
            }
            let now = Instant::now();
            if now - reported >= REPORT_EVERY {
                reported = now;
                self.report(part);
            }
            match busy {
                true => self.worker.step(),
                false => self.worker.step_or_park(Some(PARK)),
            };
            self.sort_letters(Some((part, &mut stopped)))?;
        }
        self.pass += 1;
        let me = self.me();
        self.progress[me] = part.progress();
        Ok(())
    }

    /// Writes this worker's part of a checkpoint once nothing is under way, and waits for the others.
    fn save(
        &mut self,
        port: &Port,
        part: &mut dyn Partition,
        saving: &mut Saving<'_>,
        marks: &mut Marks,
    ) {
        if marks.saved.is_none()
            && let Some(time) = marks.asked.first().copied()
            && port.has_arrived(time)
        {
            marks.asked.remove(&time);
            let letter = saving.write(part);
            match self.is_coordinator() {
                true => saving.note(&letter),
                false => self.mailbox.send(0, self.pass, About::Saved, letter),
            }
            marks.saved = Some((time, self.worker.peers() - 1));
        }
        let Some((_, missing)) = &mut marks.saved else { return };
        if !self.is_coordinator() {
            if self.take_letter(About::GoOn).is_some() {
                marks.saved = None;
            }
            return;
        }
        while *missing > 0
            && let Some((_, letter)) = self.take_letter(About::Saved)
        {
            saving.note(&letter);
            *missing -= 1;
        }
        if *missing == 0 {
            saving.commit(self.worker.peers());
            self.mailbox.send_all(self.pass, About::GoOn, &[]);
            marks.saved = None;
        }
    }

    /// A letter of this kind that is there already.
    fn take_letter(&mut self, about: About) -> Option<(usize, Vec<u8>)> {
        let at = self.letters.iter().position(|(_, kind, _)| *kind == about)?;
        let (from, _, bytes) = self.letters.remove(at)?;
        Some((from as usize, bytes))
    }

    /// How far all are, with the newest of this worker.
    fn seen(&self, part: &dyn Partition) -> Progress {
        let mut all = self.progress();
        let (before, now) = (self.progress[self.me()], part.progress());
        all.states = all.states - before.states + now.states;
        all.transitions = all.transitions - before.transitions + now.transitions;
        all.queue = all.queue - before.queue + now.queue;
        all.depth = all.depth.max(now.depth);
        // Each worker watches its own memory only.
        all.memory = now.memory;
        all
    }

    /// Says how far this worker is.
    fn report(&mut self, part: &dyn Partition) {
        let me = self.me();
        let progress = part.progress();
        self.progress[me] = progress;
        self.errors[me] = part.errors();
        if me != 0 {
            let mut writer = Writer::default();
            let numbers = [progress.states, progress.transitions, progress.depth, progress.queue];
            numbers.into_iter().for_each(|number| writer.number(number));
            writer.number(progress.memory as u64);
            writer.number(part.errors());
            self.mailbox.send(0, self.pass, About::Progress, writer.bytes);
        }
    }

    fn sort_letters(
        &mut self,
        mut part: Option<(&mut dyn Partition, &mut bool)>,
    ) -> Result<(), Lost> {
        if self.lines.lost().is_some() {
            return Err(Lost);
        }
        while let Some(letter) = self.mailbox.receive() {
            let from = letter.from as usize;
            match letter.about {
                About::Progress => {
                    if let (Ok((progress, errors)), true) =
                        (read_progress(&letter.bytes), from < self.progress.len())
                    {
                        self.progress[from] = progress;
                        self.errors[from] = errors;
                    }
                    let enough = self.errors.iter().sum::<u64>() >= self.max_errors;
                    if let Some((part, stopped)) = &mut part
                        && self.max_errors != 0
                        && enough
                        && !**stopped
                    {
                        **stopped = true;
                        part.stop(None);
                        self.mailbox.send_all(self.pass, About::Stop, &stop_letter(None));
                    }
                }
                About::Stop => {
                    if let Some((part, stopped)) = &mut part
                        && letter.pass == self.pass
                    {
                        **stopped = true;
                        part.stop(read_stop(&letter.bytes));
                    }
                }
                about => self.letters.push_back((letter.from, about, letter.bytes)),
            }
        }
        Ok(())
    }

    /// The next letter of this kind.
    pub(crate) fn wait_for(&mut self, about: About) -> Result<(usize, Vec<u8>), Lost> {
        loop {
            if let Some(letter) = self.take_letter(about) {
                return Ok(letter);
            }
            self.worker.step_or_park(Some(PARK));
            self.sort_letters(None)?;
        }
    }

    /// One letter of this kind from all other workers.
    pub(crate) fn gather(&mut self, about: About) -> Result<Vec<Vec<u8>>, Lost> {
        let others = self.worker.peers() - 1;
        let mut letters = vec![Vec::new(); self.worker.peers()];
        for _ in 0..others {
            let (from, bytes) = self.wait_for(about)?;
            letters[from] = bytes;
        }
        letters.remove(self.me());
        Ok(letters)
    }

    pub(crate) fn send(&mut self, to: usize, about: About, bytes: Vec<u8>) {
        self.mailbox.send(to, self.pass, about, bytes);
    }

    pub(crate) fn order(&mut self, bytes: &[u8]) {
        self.mailbox.send_all(self.pass, About::Order, bytes);
    }

    /// Lets everything come to its end.
    pub(crate) fn close(mut self) {
        self.mailbox.close();
        let deadline = Instant::now() + Duration::from_secs(5);
        while self.worker.has_dataflows()
            && self.lines.lost().is_none()
            && Instant::now() < deadline
        {
            self.worker.step_or_park(Some(PARK));
        }
    }
}

fn stop_letter(stop: Option<Stop>) -> Vec<u8> {
    let share = preempt_partitioned::PartitionResult { stop, ..Default::default() };
    let mut writer = Writer::default();
    share.write(&mut writer);
    writer.bytes
}

fn read_stop(bytes: &[u8]) -> Option<Stop> {
    preempt_partitioned::PartitionResult::read(&mut Reader::new(bytes)).ok()?.stop
}

fn read_progress(bytes: &[u8]) -> Result<(Progress, u64), Damaged> {
    let mut reader = Reader::new(bytes);
    let progress = Progress {
        states: reader.number()?,
        transitions: reader.number()?,
        depth: reader.number()?,
        queue: reader.number()?,
        memory: reader.small()?,
        ..Progress::default()
    };
    Ok((progress, reader.number()?))
}

/// Writes a visit.
pub(crate) fn write_goal(writer: &mut Writer, goal: &TraceTarget) {
    writer.number(goal.time.number());
    writer.option(goal.mover.map(|mover| mover.0.into()));
    writer.bytes(&goal.state);
}

/// Reads a visit.
pub(crate) fn read_goal(reader: &mut Reader<'_>) -> Result<TraceTarget, Damaged> {
    let time = Time::from_number(reader.number()?);
    let mover = reader.option()?.map(ProcessId);
    Ok(TraceTarget { time, mover, state: reader.bytes()?.to_vec() })
}

/// Writes the answer to the question for a predecessor.
pub(crate) fn write_way(way: Option<&TraceSegment>) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.number(way.is_some().into());
    if let Some(way) = way {
        write_goal(&mut writer, &way.from);
        writer.steps(&way.steps);
    }
    writer.bytes
}

/// Reads it.
pub(crate) fn read_way(bytes: &[u8]) -> Result<Option<TraceSegment>, Damaged> {
    let mut reader = Reader::new(bytes);
    match reader.number()? {
        0 => Ok(None),
        _ => Ok(Some(TraceSegment { from: read_goal(&mut reader)?, steps: reader.steps()? })),
    }
}
