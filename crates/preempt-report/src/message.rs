//! Who sent what to whom, read off a trace.
//!
//! A rendezvous is one step with a partner. For buffered channels the content before and after a
//! step tells what was taken and what was added; following each message through the queue pairs its
//! sender with its receiver.

use preempt_core::{Trace, TraceStep, Value};
use std::collections::HashMap;

/// One end of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Index of the step.
    pub step: usize,
    /// Who acted.
    pub pid: usize,
}

/// One message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The channel.
    pub channel: String,
    /// The content.
    pub text: String,
    /// By whom it was sent; `None` for what was in the channel at the start.
    pub sent: Option<Event>,
    /// By whom it was received; `None` while it is still in the channel.
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
        let event = Some(Event { step: index, pid: step.pid });
        for change in &step.changes {
            let (Some(from), Some(to)) = (content(&change.from), content(&change.to)) else {
                continue;
            };
            let queue = queues.entry(&change.name).or_default();
            // A channel met first in the middle of a trace brings its content along.
            while queue.len() < from.len() {
                let text = from[queue.len()].clone();
                queue.push(out.len());
                out.push(Message {
                    channel: change.name.clone(),
                    text,
                    sent: None,
                    received: None,
                });
            }
            queue.truncate(from.len());
            let (taken, added) = difference(from, to);
            for &at in taken.iter().rev() {
                out[queue.remove(at)].received = event;
            }
            for at in added {
                queue.insert(at, out.len());
                let (channel, text) = (change.name.clone(), to[at].clone());
                out.push(Message { channel, text, sent: event, received: None });
            }
        }
    }
    out
}

fn content(value: &Option<Value>) -> Option<&[String]> {
    match value {
        Some(Value::Queue(messages)) => Some(messages),
        None => Some(&[]),
        _ => None,
    }
}

/// A handshake's content stands in its statement: `channel!content`.
fn rendezvous(step: &TraceStep, index: usize, partner: usize) -> Message {
    let (channel, text) = match step.text.split_once('!') {
        Some((channel, text)) if !text.starts_with('=') => {
            (channel.trim(), text.trim_start_matches('!').trim())
        }
        _ => ("", step.text.as_str()),
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
    if to.len() == from.len() + 1
        && let Some(at) = (0..to.len()).rev().find(|&at| without(to, from, at))
    {
        return (Vec::new(), vec![at]);
    }
    if from.len() == to.len() + 1
        && let Some(at) = (0..from.len()).find(|&at| without(from, to, at))
    {
        return (vec![at], Vec::new());
    }
    // Several at once, in an indivisible sequence: taken at the front, added at the back.
    let taken = (0..=from.len()).find(|&k| to.starts_with(&from[k..])).unwrap_or(from.len());
    ((0..taken).collect(), (from.len() - taken..to.len()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn sorted_sends_and_random_receives_are_one_message() {
        assert_eq!(difference(&list("ac"), &list("abc")), (vec![], vec![1]));
        assert_eq!(difference(&list("abc"), &list("ac")), (vec![1], vec![]));
    }
}
