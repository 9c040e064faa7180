//! Which steps a state has.

use super::Interpreter;
use super::channel::Channel;
use super::evaluate::View;
use super::process::{Process, processes};
use crate::ir::{
    BlockGuard, BlockOption, ChannelRef, Condition, FaultId, Move, MoveId, MoveKind, PatternRange,
    Safety,
};
use preempt_core::{Enabled, Locality, ProcessId, Step};

/// What a move looks like in a state.
enum Standing {
    Disabled,
    Enabled,
    /// A send on a rendezvous channel.
    Offer(Offer),
    /// The same, with too few or too many values: a mistake even if no process answers.
    WrongOffer(Offer),
}

/// A message on a rendezvous channel, for a process that takes it at once.
pub(super) struct Offer {
    pub(super) message: Vec<i32>,
    pub(super) channel: u32,
}

impl Interpreter {
    pub(super) fn list_enabled(&self, state: &mut [u8], enabled: &mut Enabled) {
        if let Some(alone) = state[0].checked_sub(1) {
            if let Some(process) = Process::find(&self.program, state, usize::from(alone)) {
                self.list_process(state, process, false, enabled);
            }
            if !enabled.is_empty() {
                return;
            }
            state[0] = 0;
        }
        let rounds: &[bool] = if self.program.uses_timeout { &[false, true] } else { &[false] };
        for timeout in rounds {
            // Youngest first; frames can only be walked from the oldest.
            let all: Vec<Process> = processes(&self.program, state).collect();
            for process in all.into_iter().rev() {
                self.list_process(state, process, *timeout, enabled);
            }
            if !enabled.is_empty() {
                return;
            }
        }
    }

    /// Adds the enabled steps of one process; `timeout` says that no process can move without one.
    pub fn enabled_of(
        &self,
        state: &[u8],
        process: ProcessId,
        timeout: bool,
        enabled: &mut Enabled,
    ) {
        if let Some(process) = Process::find(&self.program, state, process.index()) {
            self.list_process(state, process, timeout, enabled);
        }
    }

    fn list_process(&self, state: &[u8], process: Process, timeout: bool, out: &mut Enabled) {
        let view = View { timeout, ..View::of(&self.program, state, process) };
        if !view.may_run() {
            return;
        }
        let me = ProcessId(process.id as u16);
        let control = process.control_state(&self.program);
        let mut moved = false;
        let mut group = 0;
        for id in &control.moves {
            let step = self.program.move_of(*id);
            if group > 0 && step.escape != group {
                break;
            }
            // A guard that cannot be evaluated must not go unnoticed: taking it says.
            match view.standing(step, moved).unwrap_or(Standing::Enabled) {
                Standing::Disabled => {}
                Standing::Enabled => {
                    out.push(Step::new(me, id.0));
                    moved = true;
                    group = step.escape;
                }
                Standing::Offer(offer) => {
                    if self.list_receivers(&view, me, *id, &offer, out) {
                        moved = true;
                        group = step.escape;
                    } else {
                        group = 0;
                    }
                }
                Standing::WrongOffer(offer) => {
                    if !self.list_receivers(&view, me, *id, &offer, out) {
                        out.push(Step::new(me, id.0));
                    }
                    moved = true;
                    group = step.escape;
                }
            }
        }
    }

    /// Adds one joint step per receive that takes the offered message.
    fn list_receivers(
        &self,
        sender: &View<'_>,
        me: ProcessId,
        id: MoveId,
        offer: &Offer,
        out: &mut Enabled,
    ) -> bool {
        let mut answered = false;
        let all: Vec<Process> = processes(&self.program, sender.state).collect();
        for process in all.into_iter().rev() {
            if process.id == me.index() {
                continue;
            }
            let view = View { process: Some(process), ..*sender };
            if !view.is_provided() {
                continue;
            }
            let control = process.control_state(&self.program);
            let mut group = 0;
            for receive in &control.moves {
                let step = self.program.move_of(*receive);
                if group > 0 && step.escape != group {
                    break;
                }
                if !view.answers(step, offer) {
                    continue;
                }
                group = step.escape;
                answered = true;
                out.push(Step {
                    process: me,
                    partner: Some(ProcessId(process.id as u16)),
                    transition: id.0,
                    partner_transition: receive.0,
                    choice: 0,
                });
            }
        }
        answered
    }

    pub(super) fn judge_locality(&self, state: &[u8], process: usize) -> Locality {
        let Some(process) = Process::find(&self.program, state, process) else {
            return Locality::Shared;
        };
        let view = View::of(&self.program, state, process);
        let control = process.control_state(&self.program);
        match &control.safety {
            Safety::Unsafe => Locality::Shared,
            Safety::Safe { conditions, local } => {
                if !conditions.iter().all(|c| view.holds(c)) {
                    Locality::Shared
                } else if *local {
                    Locality::Local
                } else {
                    Locality::Safe
                }
            }
        }
    }
}

impl View<'_> {
    /// The process may be scheduled: its provided clause holds, and no process of higher priority can
    /// move.
    fn may_run(&self) -> bool {
        if !self.is_provided() {
            return false;
        }
        let Some(me) = self.process else { return false };
        if !self.program.layout.has_priorities {
            return true;
        }
        let mine = self.priority(me);
        !processes(self.program, self.state).any(|other| {
            let view = View { process: Some(other), ..*self };
            other.id != me.id
                && self.priority(other) > mine
                && view.is_provided()
                && view.can_move().unwrap_or(true)
        })
    }

    pub(super) fn is_provided(&self) -> bool {
        let Some(me) = self.process else { return false };
        match self.program.proctypes[me.proctype].provided {
            Some(e) => self.value(e).is_ok_and(|value| value != 0),
            None => true,
        }
    }

    /// Whether some move of the process looks possible; a rendezvous offer does.
    fn can_move(&self) -> Result<bool, FaultId> {
        let Some(me) = self.process else { return Ok(false) };
        let control = me.control_state(self.program);
        for id in &control.moves {
            if !matches!(self.standing(self.program.move_of(*id), false)?, Standing::Disabled) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// `enabled(pid)`
    pub(super) fn another_can_move(&self, pid: i32) -> Result<bool, FaultId> {
        let other =
            usize::try_from(pid).ok().and_then(|pid| Process::find(self.program, self.state, pid));
        let Some(other) = other else { return Ok(false) };
        let asks_itself = self.process.is_some_and(|me| me.id == other.id);
        // More questions than processes: two of them ask about each other.
        if asks_itself || self.questions >= self.state[1] {
            return Err(self.program.circular_question.unwrap_or(FaultId(0)));
        }
        View { process: Some(other), questions: self.questions + 1, ..*self }.can_move()
    }

    fn standing(&self, step: &Move, moved: bool) -> Result<Standing, FaultId> {
        let possible = match &step.kind {
            MoveKind::Plain { guard } => self.value(*guard)? != 0,
            MoveKind::Else => !moved,
            MoveKind::Send { channel, values, .. } => match self.offer(channel, *values)? {
                Some(offer) => return Ok(offer),
                None => self.can_send(channel)?,
            },
            MoveKind::Receive { channel, copy: true, misfit, .. }
                if self.channel(channel)?.is_rendezvous() =>
            {
                return Err(*misfit);
            }
            MoveKind::Receive { channel, random, pattern, .. } => {
                self.can_receive(channel, *random, *pattern)?
            }
            MoveKind::Compound { blocks, .. } => match blocks.first() {
                Some(block) => self.first_option(&block.options, moved)?.is_some(),
                None => true,
            },
            MoveKind::End => self.process.is_some_and(|p| p.id + 1 == usize::from(self.state[1])),
        };
        Ok(if possible { Standing::Enabled } else { Standing::Disabled })
    }

    /// The offer that a send on a rendezvous channel makes.
    fn offer(
        &self,
        channel: &ChannelRef,
        values: crate::ir::ArgumentRange,
    ) -> Result<Option<Standing>, FaultId> {
        let channel = self.channel(channel)?;
        if !channel.is_rendezvous() {
            return Ok(None);
        }
        let sent = self.values(values)?;
        let offer = Offer { message: channel.cut(&sent), channel: channel.id };
        Ok(Some(match channel.has_fields(sent.len()) {
            true => Standing::Offer(offer),
            false => Standing::WrongOffer(offer),
        }))
    }

    /// The values of a list of expressions.
    pub(super) fn values(&self, range: crate::ir::ArgumentRange) -> Result<Vec<i32>, FaultId> {
        self.program.arguments[range.indices()].iter().map(|e| self.value(*e)).collect()
    }

    pub(super) fn can_send(&self, channel: &ChannelRef) -> Result<bool, FaultId> {
        let channel = self.channel(channel)?;
        Ok(!channel.is_full(self.state))
    }

    pub(super) fn can_receive(
        &self,
        channel: &ChannelRef,
        random: bool,
        pattern: PatternRange,
    ) -> Result<bool, FaultId> {
        let channel = self.channel(channel)?;
        Ok(self.find_message(&channel, random, pattern)?.is_some())
    }

    /// The option of a `d_step` block that is taken.
    pub(super) fn first_option<'o>(
        &self,
        options: &'o [BlockOption],
        moved: bool,
    ) -> Result<Option<&'o BlockOption>, FaultId> {
        for option in options {
            let possible = match &option.kind {
                BlockGuard::Else => !moved,
                BlockGuard::Condition(e) => self.value(*e)? != 0,
                BlockGuard::Send { channel, .. } => {
                    let channel: Channel<'_> = self.channel(channel)?;
                    channel.is_rendezvous() || !channel.is_full(self.state)
                }
                BlockGuard::Receive { channel, random, pattern, .. } => {
                    self.can_receive(channel, *random, *pattern)?
                }
            };
            if possible {
                return Ok(Some(option));
            }
        }
        Ok(None)
    }

    /// Whether a move takes a message offered on a rendezvous channel.
    fn answers(&self, step: &Move, offer: &Offer) -> bool {
        match &step.kind {
            MoveKind::Receive { channel, copy: false, pattern, .. } => {
                self.takes(channel, *pattern, offer)
            }
            MoveKind::Compound { blocks, .. } => blocks
                .first()
                .is_some_and(|block| block.options.iter().any(|o| self.option_answers(o, offer))),
            _ => false,
        }
    }

    /// Whether an option of a `d_step` takes an offered message.
    pub(super) fn option_answers(&self, option: &BlockOption, offer: &Offer) -> bool {
        match &option.kind {
            BlockGuard::Receive { channel, copy: false, pattern, .. } => {
                self.takes(channel, *pattern, offer)
            }
            _ => false,
        }
    }

    fn takes(&self, channel: &ChannelRef, pattern: PatternRange, offer: &Offer) -> bool {
        let Ok(channel) = self.channel(channel) else { return false };
        let field = |at: usize| offer.message.get(at).copied().unwrap_or(0);
        channel.id == offer.channel && self.matches(pattern, field).unwrap_or(true)
    }

    fn holds(&self, condition: &Condition) -> bool {
        let test = |channel: &ChannelRef, wanted: fn(&Channel<'_>, &[u8]) -> bool| {
            self.channel(channel).is_ok_and(|c| wanted(&c, self.state))
        };
        match condition {
            Condition::NotFull(c) => test(c, |c, s| !c.is_full(s) || c.is_rendezvous()),
            Condition::NotEmpty(c) => test(c, |c, s| c.length(s) > 0),
            Condition::Full(c) => test(c, |c, s| c.is_full(s) && !c.is_rendezvous()),
            Condition::Empty(c) => test(c, |c, s| c.length(s) == 0),
            Condition::Youngest => {
                self.process.is_some_and(|p| p.id + 1 == usize::from(self.state[1]))
            }
        }
    }
}
