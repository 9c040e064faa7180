//! What a command watches and obeys while an answer is searched for, and how models are made runnable.

use crate::arguments::CheckArguments;
use crate::terminal::{INTERRUPTED, ProgressLine};
use crate::{deadline, output};
use preempt_verify::promela::Settings;
use preempt_verify::{Control, Event};
use std::sync::{Mutex, PoisonError};

/// How a model is made runnable.
pub(crate) fn settings(arguments: &CheckArguments) -> Settings {
    Settings {
        empty_channels: arguments.properties.empty_channels,
        backend: arguments.search.backend(),
        ..arguments.model.settings()
    }
}

/// Shows what happens on the way to an answer, and keeps what the last resort will need.
pub(crate) struct Watcher {
    line: Mutex<ProgressLine>,
}

impl Watcher {
    pub(crate) fn new(quiet: bool) -> Self {
        Watcher { line: Mutex::new(ProgressLine::new(quiet)) }
    }

    pub(crate) fn see(&self, event: Event<'_>) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Plan(plan) => output::print(&format!("plan: {plan}\n")),
            Event::Progress(progress) => {
                deadline::note(progress);
                line.show(progress);
            }
            Event::Symbolic(progress) => line.show_symbolic(progress),
            Event::Found => deadline::found(),
            Event::SearchEnded => line.clear(),
            _ => {}
        }
    }
}

/// The deadline of the command, Ctrl-C, and what is told about progress.
pub(crate) fn control<'a>(
    arguments: &CheckArguments,
    listener: &'a (dyn Fn(Event<'_>) + Sync),
) -> Control<'a> {
    interruptible().deadline(arguments.deadline()).listener(listener)
}

/// Ctrl-C alone.
pub(crate) fn interruptible() -> Control<'static> {
    Control::new().interrupt(INTERRUPTED.clone())
}
