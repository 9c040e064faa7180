//! What a worker does in a search: passes over its states, then questions of the first worker and answers.

use crate::mailbox::About;
use crate::saving::Saving;
use crate::team::{Lost, Team, read_goal, read_way, write_goal, write_way};
use preempt_check::{Budget, Counterexample};
use preempt_core::{Step, System, ViolationKind};
use preempt_partitioned::{
    CycleOwners, Cycles, Damaged, Outcome, Partition, PartitionResult, Pass, Reader, Totals,
    TraceSegment, TraceTarget, Walked, Writer, along, find_cycle,
};

/// What the first worker may ask for.
const FINISH: u64 = 0;
const SEEK: u64 = 1;
const RUN: u64 = 2;
const LOOK: u64 = 3;
const SAVE: u64 = 4;

/// The order to end, with what was found: every worker gets the same.
fn finish_order(outcome: &Outcome) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.number(FINISH);
    outcome.write(&mut writer);
    writer.bytes
}

/// A search for what finite executions can show.
pub(crate) fn safety(
    team: &mut Team<'_>,
    part: &mut dyn Partition,
    budget: &mut Budget<'_>,
    saving: Option<&mut Saving<'_>>,
) -> Result<Outcome, Lost> {
    team.pass(part, budget, saving)?;
    if !team.is_coordinator() {
        send_share(team, part);
        return obey(team, &mut Follower::Finite(part), budget);
    }
    let all = gather_shares(team, part)?;
    let steps = seek_all(team, part, &all)?;
    let result = Outcome { all, steps, cycle_start: None };
    team.order(&finish_order(&result));
    Ok(result)
}

/// A search for accepting cycles.
pub(crate) fn cycles(
    team: &mut Team<'_>,
    part: &mut Cycles<'_>,
    (system, kind): (&dyn System, ViolationKind),
    budget: &mut Budget<'_>,
    mut saving: Option<&mut Saving<'_>>,
) -> Result<Outcome, Lost> {
    team.pass(part, budget, saving.as_deref_mut())?;
    if !team.is_coordinator() {
        send_share(team, part);
        let mut writer = Writer::default();
        part.totals().write(&mut writer);
        team.send(0, About::Answer, writer.bytes);
        return obey(team, &mut Follower::Infinite(part, saving), budget);
    }
    let mut all = gather_shares(team, part)?;
    let totals = gather_totals(team, part)?;
    let mut result = Outcome { all: PartitionResult::default(), steps: None, cycle_start: None };
    if all.site.is_some() {
        result.steps = seek_all(team, part, &all)?;
    } else if all.stop.is_none() {
        let mut leader = Leader { team, part, budget, saving, lost: false, stop: None };
        let found = find_cycle(system, kind, &mut leader, totals);
        if leader.lost {
            return Err(Lost);
        }
        all.stop = leader.stop;
        if let Some(Counterexample { steps, cycle_start, .. }) = found {
            all.errors += 1;
            result.steps = Some(steps);
            result.cycle_start = cycle_start.map(|start| start as u64);
        }
    }
    result.all = all;
    team.order(&finish_order(&result));
    Ok(result)
}

fn send_share(team: &mut Team<'_>, part: &dyn Partition) {
    let mut writer = Writer::default();
    part.share().write(&mut writer);
    team.send(0, About::Found, writer.bytes);
}

fn gather_shares(team: &mut Team<'_>, part: &dyn Partition) -> Result<PartitionResult, Lost> {
    let mut all = PartitionResult::default();
    all.add(&part.share());
    for bytes in team.gather(About::Found)? {
        all.add(&PartitionResult::read(&mut Reader::new(&bytes)).map_err(|Damaged| Lost)?);
    }
    Ok(all)
}

fn gather_totals(team: &mut Team<'_>, part: &Cycles<'_>) -> Result<Totals, Lost> {
    let mut all = part.totals();
    for bytes in team.gather(About::Answer)? {
        all = all.and(Totals::read(&mut Reader::new(&bytes)).map_err(|Damaged| Lost)?);
    }
    Ok(all)
}

/// The steps to the first violation.
fn seek_all(
    team: &mut Team<'_>,
    part: &mut dyn Partition,
    all: &PartitionResult,
) -> Result<Option<Vec<Step>>, Lost> {
    let Some(site) = &all.site else { return Ok(None) };
    let mut failed = false;
    let steps = along(site, |goal: &TraceTarget| {
        seek(team, part, goal).unwrap_or_else(|Lost| {
            failed = true;
            None
        })
    });
    if failed { Err(Lost) } else { Ok(steps) }
}

/// A predecessor: every worker looks for one among its own states.
fn seek(
    team: &mut Team<'_>,
    part: &mut dyn Partition,
    goal: &TraceTarget,
) -> Result<Option<TraceSegment>, Lost> {
    let mut writer = Writer::default();
    writer.number(SEEK);
    write_goal(&mut writer, goal);
    team.order(&writer.bytes);
    let own = part.seek(goal);
    let answers = team.gather(About::Answer)?;
    Ok(own.or(answers.iter().find_map(|bytes| read_way(bytes).ok().flatten())))
}

/// The first worker, while it looks for a cycle.
struct Leader<'a, 'b, 'c, 'd, 'e> {
    team: &'a mut Team<'b>,
    part: &'a mut Cycles<'c>,
    budget: &'a mut Budget<'d>,
    saving: Option<&'a mut Saving<'e>>,
    lost: bool,
    stop: Option<preempt_core::Stop>,
}

impl Leader<'_, '_, '_, '_, '_> {
    /// Has every worker write down its states, if it is time for that.
    fn save(&mut self) -> Result<(), Lost> {
        let Some(saving) = self.saving.as_mut().filter(|saving| saving.is_due()) else {
            return Ok(());
        };
        let mut writer = Writer::default();
        writer.number(SAVE);
        self.team.order(&writer.bytes);
        let own = saving.write(self.part);
        saving.note(&own);
        for letter in self.team.gather(About::Answer)? {
            saving.note(&letter);
        }
        saving.commit(self.team.worker.peers());
        Ok(())
    }
}

impl CycleOwners for Leader<'_, '_, '_, '_, '_> {
    fn run(&mut self, pass: Pass) -> Option<Totals> {
        if pass == Pass::Forward && self.save().is_err() {
            self.lost = true;
            return None;
        }
        let mut writer = Writer::default();
        writer.number(RUN);
        writer.number(u64::from(pass == Pass::Trim));
        self.team.order(&writer.bytes);
        self.part.start(pass);
        let totals = self.team.pass(self.part, self.budget, None).and_then(|()| {
            let shares = gather_shares(self.team, self.part)?;
            self.stop = shares.stop;
            gather_totals(self.team, self.part)
        });
        match totals {
            Ok(totals) => Some(totals).filter(|_| self.stop.is_none()),
            Err(Lost) => {
                self.lost = true;
                None
            }
        }
    }

    fn look(&mut self, number: u64) -> Option<Walked> {
        let owner = (number >> 40) as usize;
        if owner == 0 {
            return self.part.look(number);
        }
        let mut writer = Writer::default();
        writer.number(LOOK);
        writer.number(number);
        self.team.send(owner, About::Order, writer.bytes);
        let Ok((_, bytes)) = self.team.wait_for(About::Answer) else {
            self.lost = true;
            return None;
        };
        let mut reader = Reader::new(&bytes);
        let mut read = || -> Result<Walked, Damaged> {
            Ok(Walked {
                level: reader.small()?,
                parent: reader.number()?,
                before: reader.number()?,
                accepting: reader.number()? == 1,
                state: reader.bytes()?.to_vec(),
            })
        };
        read().ok()
    }

    fn seek(&mut self, goal: &TraceTarget) -> Option<TraceSegment> {
        seek(self.team, self.part, goal).unwrap_or_else(|Lost| {
            self.lost = true;
            None
        })
    }
}

/// Another worker's part.
enum Follower<'a, 'b, 'c> {
    Finite(&'a mut dyn Partition),
    Infinite(&'a mut Cycles<'b>, Option<&'a mut Saving<'c>>),
}

/// Answers orders until the first worker has what it needs.
fn obey(
    team: &mut Team<'_>,
    part: &mut Follower<'_, '_, '_>,
    budget: &mut Budget<'_>,
) -> Result<Outcome, Lost> {
    loop {
        let (_, bytes) = team.wait_for(About::Order)?;
        let mut reader = Reader::new(&bytes);
        let answer = match (reader.number().map_err(|Damaged| Lost)?, &mut *part) {
            (FINISH, _) => return Outcome::read(&mut reader).map_err(|Damaged| Lost),
            (SEEK, part) => {
                let goal = read_goal(&mut reader).map_err(|Damaged| Lost)?;
                let way: Option<TraceSegment> = match part {
                    Follower::Finite(part) => part.seek(&goal),
                    Follower::Infinite(part, _) => part.seek(&goal),
                };
                write_way(way.as_ref())
            }
            (RUN, Follower::Infinite(part, _)) => {
                let trim = reader.number().map_err(|Damaged| Lost)? == 1;
                part.start(if trim { Pass::Trim } else { Pass::Forward });
                team.pass(&mut **part, budget, None)?;
                send_share(team, &**part);
                let mut writer = Writer::default();
                part.totals().write(&mut writer);
                writer.bytes
            }
            (SAVE, Follower::Infinite(part, Some(saving))) => saving.write(&**part),
            (LOOK, Follower::Infinite(part, _)) => {
                let walked = part.look(reader.number().map_err(|Damaged| Lost)?);
                let walked = walked.unwrap_or_default();
                let mut writer = Writer::default();
                writer.number(walked.level.into());
                writer.number(walked.parent);
                writer.number(walked.before);
                writer.number(walked.accepting.into());
                writer.bytes(&walked.state);
                writer.bytes
            }
            _ => return Err(Lost),
        };
        team.send(0, About::Answer, answer);
    }
}
