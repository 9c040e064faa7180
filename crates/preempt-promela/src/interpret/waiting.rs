//! Why a process cannot move, and which processes have remaining code that could change that.
//!
//! For readers of a deadlock. What keeps a process is read off the state: the condition that is false with the
//! values it looked at, the channel that is full or empty. Which processes could change it follows from the
//! code that each can still reach; that may be more than what would really happen, never less, but for
//! processes that do not exist yet.

use super::Interpreter;
use super::evaluate::View;
use super::objects::{Objects, Precision};
use super::process::{Process, processes};
use super::show::text_of;
use super::usage::Usage;
use crate::ir::{Block, BlockGuard, ChannelRef, ExprId, MoveKind};
use preempt_core::{ProcessId, Value, Waiting};
use std::collections::HashSet;

/// Something that would have to happen for a process to go on.
#[derive(PartialEq, Eq)]
enum Need {
    /// The object changes.
    Change(usize),
    /// A process uses this end of a channel.
    Use(usize, End),
}

#[derive(PartialEq, Eq)]
enum End {
    Send,
    Receive,
    Any,
}

impl Interpreter {
    /// What keeps a process from moving, in a state where it cannot; `None` if it is at its end.
    pub fn waiting(&self, state: &[u8], process: ProcessId) -> Option<Waiting> {
        let process = Process::find(&self.program, state, process.index())?;
        let objects = Objects::of(&self.program);
        let view = View::of(&self.program, state, process);
        let mut kept = Kept {
            interpreter: self,
            objects: &objects,
            view,
            reasons: Vec::new(),
            needs: Vec::new(),
        };
        if !view.is_provided() {
            let provided = self.program.proctypes[process.proctype].provided;
            provided.iter().for_each(|clause| kept.condition(*clause, "its `provided` clause"));
        } else {
            let control = self.state_of(state, process.id)?;
            for id in &control.moves {
                let step = self.program.move_of(*id);
                let text =
                    step.statements.first().map_or_else(|| text_of(step), |s| s.text.clone());
                match &step.kind {
                    MoveKind::Plain { guard } => kept.condition(*guard, &format!("`{text}`")),
                    MoveKind::Send { channel, .. } => kept.send(channel),
                    MoveKind::Receive { channel, .. } => kept.receive(channel, &text),
                    MoveKind::Compound { blocks, .. } => kept.compound(blocks, &text),
                    MoveKind::Else => {}
                    MoveKind::End => return None,
                }
            }
        }
        let others = processes(&self.program, state).filter(|other| other.id != process.id);
        let waits_for = others.filter(|other| self.could_help(&objects, *other, &kept.needs));
        let waits_for = waits_for.map(|other| other.id).collect();
        Some(Waiting { pid: process.id, reasons: kept.reasons, waits_for })
    }

    /// Whether some move that a process can still come to meets a need.
    fn could_help(&self, objects: &Objects<'_>, process: Process, needs: &[Need]) -> bool {
        let proctype = &self.program.proctypes[process.proctype];
        let mut known = HashSet::from([process.pc]);
        let mut worklist = vec![process.pc];
        while let Some(pc) = worklist.pop() {
            let Some(control) = proctype.states.get(usize::from(pc)) else { continue };
            for id in &control.moves {
                let touch = objects.of_itself(id.0 as usize, Precision::Static);
                let helps = needs.iter().any(|need| match need {
                    Need::Change(object) => touch.footprint.writes.contains(*object),
                    Need::Use(channel, end) => touch.uses.iter().any(|(used, usage)| {
                        used == channel
                            && match usage {
                                Usage::Send => *end != End::Receive,
                                Usage::Receive => *end != End::Send,
                                other => other.writes(),
                            }
                    }),
                });
                if helps {
                    return true;
                }
                let target = self.program.move_of(*id).target.0;
                if !matches!(self.program.move_of(*id).kind, MoveKind::End) && known.insert(target)
                {
                    worklist.push(target);
                }
            }
        }
        false
    }
}

/// What keeps one process.
struct Kept<'a> {
    interpreter: &'a Interpreter,
    objects: &'a Objects<'a>,
    view: View<'a>,
    reasons: Vec<String>,
    needs: Vec<Need>,
}

impl Kept<'_> {
    fn say(&mut self, reason: String) {
        if !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
    }

    fn condition(&mut self, guard: ExprId, text: &str) {
        let values = self.interpreter.seen_by(&self.view, guard);
        let (objects, channels) = self.objects.of_expression(guard);
        self.needs.extend(objects.iter().map(Need::Change));
        self.needs.extend(channels.into_iter().map(|channel| Need::Use(channel, End::Any)));
        let me = self.view.process.map(|me| {
            format!("{}({}):", self.interpreter.program.proctypes[me.proctype].name, me.id)
        });
        let owner = me.unwrap_or_default();
        self.say(format!("{text} is false{}", are(&values, &owner)));
    }

    fn send(&mut self, reference: &ChannelRef) {
        let Ok(channel) = self.view.channel(reference) else { return };
        self.needs.push(Need::Use(self.objects.channel_number(channel.id), End::Receive));
        let name = self.interpreter.channel_name(self.view.state, channel.id);
        match channel.is_rendezvous() {
            true => self.say(format!("no process receives from `{name}`")),
            false => {
                let content = self.interpreter.queue(self.view.state, channel);
                self.say(format!("`{name}` is full: {content}"));
            }
        }
    }

    fn receive(&mut self, reference: &ChannelRef, text: &str) {
        let Ok(channel) = self.view.channel(reference) else { return };
        self.needs.push(Need::Use(self.objects.channel_number(channel.id), End::Send));
        let name = self.interpreter.channel_name(self.view.state, channel.id);
        if channel.is_rendezvous() {
            self.say(format!("no process sends to `{name}`"));
        } else if channel.length(self.view.state) == 0 {
            self.say(format!("`{name}` is empty"));
        } else {
            // Another receiver may take away what is in the way.
            self.needs.push(Need::Use(self.objects.channel_number(channel.id), End::Receive));
            let content = self.interpreter.queue(self.view.state, channel);
            self.say(format!("`{text}` does not match what is in `{name}`: {content}"));
        }
    }

    fn compound(&mut self, blocks: &[Block], text: &str) {
        for option in blocks.first().into_iter().flat_map(|block| &block.options) {
            match &option.kind {
                BlockGuard::Condition(guard) => {
                    self.condition(*guard, "the condition that the `d_step` begins with");
                }
                BlockGuard::Send { channel, .. } => self.send(channel),
                BlockGuard::Receive { channel, .. } => self.receive(channel, text),
                BlockGuard::Else => {}
            }
        }
    }
}

/// `: a is 1, b is 2`, or nothing; what belongs to `owner` goes without its name.
fn are(values: &[(String, Value)], owner: &str) -> String {
    let value = |(name, value): &(String, Value)| {
        format!("{} is {value}", name.strip_prefix(owner).unwrap_or(name))
    };
    match values.is_empty() {
        true => String::new(),
        false => format!(": {}", values.iter().map(value).collect::<Vec<_>>().join(", ")),
    }
}
