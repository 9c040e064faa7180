//! Which process sent what to which other one, read off a trace.
//!
//! A rendezvous is one step with a partner. For buffered channels the content before and after a
//! step tells what was taken and what was added; following each message through the queue pairs its
//! sender with its receiver.
//!
//! Invariant: the queue kept for a name has as many entries as the channel has messages.

use preempt_core::{Trace, TraceStep, Value};
use std::collections::HashMap;

/// One end of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Index of the step.
    pub step: usize,
    /// The process that acted.
    pub pid: usize,
}

/// One message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The channel.
    pub channel: String,
    /// The content.
    pub text: String,
    /// The step that sent it, and its process; `None` for what was in the channel at the start.
    pub sent: Option<Event>,
    /// The step that received it, and its process; `None` while it is still in the channel.
    pub received: Option<Event>,
}

impl Message {
    /// What to write at the arrow.
    pub fn label(&self) -> String {
        if self.channel.is_empty() {
            self.text.clone()
        } else {
            format!("{}!{}", self.channel, self.text)
        }
    }
}

/// All messages of a trace, in the order in which they were sent.
pub fn messages(trace: &Trace) -> Vec<Message> {
    let mut out = Vec::new();
    let mut queues: HashMap<&str, Vec<usize>> = HashMap::new();
    for (name, value) in &trace.initial {
        if let Value::Queue(content) = value {
            for text in content {
                queues.entry(name).or_default().push(out.len());
                let (channel, text) = (name.clone(), text.clone());
                out.push(Message { channel, text, sent: None, received: None });
            }
        }
    }
    for (index, step) in trace.steps.iter().enumerate() {
        if let Some(partner) = step.partner {
            out.push(rendezvous(step, index, partner));
        }
        for aliases in groups(step) {
            follow(&aliases, Event { step: index, pid: step.pid }, &mut queues, &mut out);
        }
        for change in step.changes.iter().filter(|c| c.to.is_none()) {
            queues.remove(change.name.as_str());
        }
    }
    out
}

/// A channel that one step changed, by all the names it goes by.
struct Aliases<'a> {
    names: Vec<&'a str>,
    from: &'a [String],
    to: &'a [String],
}

/// The channels that a step changed. A channel handed over as a parameter shows up under several
/// names with the same content before and after; it is one channel all the same.
fn groups(step: &TraceStep) -> Vec<Aliases<'_>> {
    let mut out: Vec<Aliases<'_>> = Vec::new();
    for change in &step.changes {
        // A name that appears or disappears sends and receives nothing.
        let (Some(Value::Queue(from)), Some(Value::Queue(to))) = (&change.from, &change.to) else {
            continue;
        };
        match out.iter_mut().find(|g| g.from == from && g.to == to) {
            Some(group) => group.names.push(&change.name),
            None => out.push(Aliases { names: vec![&change.name], from, to }),
        }
    }
    out
}

/// Moves the messages of one channel; afterwards all its names lead to the same queue.
fn follow<'a>(
    aliases: &Aliases<'a>,
    event: Event,
    queues: &mut HashMap<&'a str, Vec<usize>>,
    out: &mut Vec<Message>,
) {
    let Aliases { names, from, to } = aliases;
    let known = names.iter().filter_map(|n| queues.get(n)).find(|q| q.len() == from.len());
    // A channel met first in the middle of a trace brings its content along.
    let mut queue = known.cloned().unwrap_or_else(|| {
        from.iter()
            .map(|text| {
                let channel = names[0].to_string();
                out.push(Message { channel, text: text.clone(), sent: None, received: None });
                out.len() - 1
            })
            .collect()
    });
    let (taken, added) = difference(from, to);
    for &at in taken.iter().rev() {
        out[queue.remove(at)].received = Some(event);
    }
    for at in added {
        queue.insert(at, out.len());
        let (channel, text) = (names[0].to_string(), to[at].clone());
        out.push(Message { channel, text, sent: Some(event), received: None });
    }
    for name in names {
        queues.insert(name, queue.clone());
    }
}

/// The two statements of a rendezvous: `c!x => c?y` is the sender's and the receiver's.
pub(crate) fn halves(text: &str) -> (&str, Option<&str>) {
    match text.split_once(" => ") {
        Some((send, receive)) => (send, Some(receive)),
        None => (text, None),
    }
}

/// A handshake's content stands in its statement: `channel!content`.
fn rendezvous(step: &TraceStep, index: usize, partner: usize) -> Message {
    let send = halves(&step.text).0;
    let (channel, text) = match send.split_once('!') {
        Some((channel, text)) if !text.starts_with('=') => {
            (channel.trim(), text.trim_start_matches('!').trim())
        }
        _ => ("", send),
    };
    Message {
        channel: channel.to_string(),
        text: text.to_string(),
        sent: Some(Event { step: index, pid: step.pid }),
        received: Some(Event { step: index, pid: partner }),
    }
}

/// Places in `from` of what was taken, and places in `to` of what was added; both ascending.
fn difference(from: &[String], to: &[String]) -> (Vec<usize>, Vec<usize>) {
    let without = |list: &[String], short: &[String], at: usize| {
        list[..at] == short[..at] && list[at + 1..] == short[at..]
    };
    // One message anywhere: sorted sends and random receives included.
    if to.len() == from.len() + 1 {
        if let Some(at) = (0..to.len()).rev().find(|&at| without(to, from, at)) {
            return (Vec::new(), vec![at]);
        }
    }
    if from.len() == to.len() + 1 {
        if let Some(at) = (0..from.len()).find(|&at| without(from, to, at)) {
            return (vec![at], Vec::new());
        }
    }
    // Several at once, in an indivisible sequence: taken at the front, added at the back.
    let taken = (0..=from.len()).find(|&k| to.starts_with(&from[k..])).unwrap_or(from.len());
    ((0..taken).collect(), (from.len() - taken..to.len()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use preempt_core::{Change, Switch};

    fn list(text: &str) -> Vec<String> {
        text.chars().map(String::from).collect()
    }

    /// Every difference turns the one queue into the other.
    #[test]
    fn differences_explain_the_new_content() {
        let words = ["", "a", "b", "ab", "ba", "aa", "abc", "acb", "bc", "aab", "cab", "abca"];
        for from in words {
            for to in words {
                let (f, t) = (list(from), list(to));
                let (taken, added) = difference(&f, &t);
                let mut queue = f.clone();
                for &at in taken.iter().rev() {
                    queue.remove(at);
                }
                for &at in &added {
                    queue.insert(at, t[at].clone());
                }
                assert_eq!(queue, t, "{from} to {to}");
            }
        }
    }

    /// Two processes know one channel by different names, one of them from the middle on.
    #[test]
    fn a_channel_by_several_names_is_one_channel() {
        let queue = |messages: &[&str]| {
            Some(Value::Queue(messages.iter().map(|m| m.to_string()).collect::<Vec<_>>()))
        };
        let change = |name: &str, from, to| Change { name: name.into(), from, to };
        let step = |pid, changes| TraceStep {
            process: "P".into(),
            pid,
            partner: None,
            file: String::new(),
            line: 0,
            text: String::new(),
            switch: Switch::None,
            changes,
            output: String::new(),
        };
        let trace = Trace {
            initial: vec![("c".into(), Value::Queue(Vec::new()))],
            steps: vec![
                step(0, vec![change("c", queue(&[]), queue(&["a"]))]),
                step(0, vec![change("in", None, queue(&["a"]))]),
                step(
                    1,
                    vec![
                        change("c", queue(&["a"]), queue(&[])),
                        change("in", queue(&["a"]), queue(&[])),
                    ],
                ),
                step(1, vec![change("in", queue(&[]), None)]),
            ],
            ..Trace::default()
        };
        let (sent, received) = (Event { step: 0, pid: 0 }, Event { step: 2, pid: 1 });
        let (sent, received) = (Some(sent), Some(received));
        let expected = Message { channel: "c".into(), text: "a".into(), sent, received };
        assert_eq!(messages(&trace), [expected]);
    }

    #[test]
    fn sorted_sends_and_random_receives_are_one_message() {
        assert_eq!(difference(&list("ac"), &list("abc")), (vec![], vec![1]));
        assert_eq!(difference(&list("abc"), &list("ac")), (vec![1], vec![]));
    }
}
