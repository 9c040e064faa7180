//! What came of the checks that the editor started.

use crate::checks::Answer;
use preempt_core::Verdict;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Checks under way, and the last answer to each question.
#[derive(Default)]
pub(crate) struct Results {
    known: HashMap<Question, Answer>,
    running: HashMap<Question, Arc<AtomicBool>>,
    /// The question that was answered last, of each text.
    last: HashMap<String, Question>,
}

/// A text and one of its properties.
type Question = (String, Option<String>);

/// What is known about a property.
#[derive(Clone, Copy)]
pub(crate) enum State<'a> {
    Unknown,
    Running,
    Known(&'a Answer),
}

fn question(uri: &str, property: Option<&str>) -> Question {
    (uri.to_string(), property.map(str::to_string))
}

impl Results {
    pub(crate) fn of(&self, uri: &str, property: Option<&str>) -> State<'_> {
        let question = question(uri, property);
        match self.known.get(&question) {
            _ if self.running.contains_key(&question) => State::Running,
            Some(answer) => State::Known(answer),
            None => State::Unknown,
        }
    }

    /// The last answer about a text.
    pub(crate) fn last(&self, uri: &str) -> Option<&Answer> {
        self.known.get(self.last.get(uri)?)
    }

    /// All that is known about a text.
    pub(crate) fn all<'a>(&'a self, uri: &'a str) -> impl Iterator<Item = &'a Answer> {
        let mut known: Vec<_> = self.known.iter().filter(|((of, _), _)| of == uri).collect();
        known.sort_by_key(|((_, property), _)| property.clone());
        known.into_iter().map(|(_, answer)| answer)
    }

    /// What the last failing executions of a program say about a line, and about a variable.
    pub(crate) fn seen_at(
        &self,
        (uri, document): (&str, &str),
        line: u32,
        word: &str,
    ) -> Option<String> {
        /// More are not worth reading.
        const MOST: usize = 8;
        let mut text = String::new();
        for answer in self.all(uri).filter(|answer| answer.task.text == document) {
            let failed =
                answer.claims.iter().flatten().any(|claim| claim.verdict == Verdict::Violated);
            let steps = answer.steps_at(line);
            let values = answer.values(word, None);
            if !failed || steps.is_empty() && values.is_empty() {
                continue;
            }
            let name = answer.task.property.as_deref().unwrap_or_default();
            text.push_str(&format!("In the failing execution of {name}:\n"));
            for (name, values) in values.iter().take(MOST) {
                let hidden = values.len().saturating_sub(MOST);
                let dots = if hidden > 0 { "… → " } else { "" };
                text.push_str(&format!("\n`{name}`: {dots}{}\n", values[hidden..].join(" → ")));
            }
            for step in steps.iter().take(MOST) {
                text.push_str(&format!("\n- `{step}`"));
            }
            if steps.len() > MOST {
                text.push_str(&format!("\n- {} more", steps.len() - MOST));
            }
            text.push_str("\n\n");
        }
        (!text.is_empty()).then(|| text.trim_end().to_string())
    }

    /// A check begins. What is returned ends it when it is set; `None` if it is running already.
    pub(crate) fn begin(&mut self, uri: &str, property: Option<&str>) -> Option<Arc<AtomicBool>> {
        let question = question(uri, property);
        if self.running.contains_key(&question) {
            return None;
        }
        let flag = Arc::<AtomicBool>::default();
        self.running.insert(question, flag.clone());
        Some(flag)
    }

    /// How many are running.
    pub(crate) fn running(&self) -> usize {
        self.running.len()
    }

    pub(crate) fn end(&mut self, answer: Answer) {
        let question = question(&answer.task.uri, answer.task.property.as_deref());
        self.running.remove(&question);
        self.last.insert(answer.task.uri.clone(), question.clone());
        self.known.insert(question, answer);
    }

    /// Asks the checks of a text to end.
    pub(crate) fn cancel(&self, uri: &str, property: Option<&str>) -> bool {
        let flag = self.running.get(&question(uri, property));
        flag.inspect(|flag| flag.store(true, Ordering::Relaxed)).is_some()
    }

    pub(crate) fn cancel_all(&self) {
        self.running.values().for_each(|flag| flag.store(true, Ordering::Relaxed));
    }

    /// A text is closed.
    pub(crate) fn forget(&mut self, uri: &str) {
        self.last.remove(uri);
        self.known.retain(|(other, _), _| other != uri);
    }
}
