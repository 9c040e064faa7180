//! What is going on in a full-screen simulation, and what the keys do.

use crate::simulate::Random;
use crate::simulate::execution::Execution;
use preempt_core::{
    Change, Describe, Enabled, Outcome, ProcessId, Step, Switch, System, changes_between, classify,
};
use preempt_promela::interpret::Interpreter;
use preempt_promela::model::Model;
use preempt_report::Source;
use preempt_verify::promela::{Settings, Watch};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::collections::BTreeSet;

/// Runs to a breakpoint or a condition give up after that many steps.
const LONGEST_RUN: usize = 100_000;

/// A model that runs.
pub(crate) struct Subject<'a> {
    pub(crate) model: &'a Model,
    pub(crate) settings: &'a Settings,
    pub(crate) system: &'a Interpreter,
    pub(crate) sources: Vec<Source>,
    /// The trace that `n` follows.
    pub(crate) script: Vec<Step>,
    pub(crate) seed: u64,
}

/// A key, without the terminal's details.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Key {
    Char(char),
    Enter,
    Escape,
    Backspace,
    Up,
    Down,
    PageUp,
    PageDown,
    Quit,
    Other,
}

impl Key {
    pub(super) fn of(event: KeyEvent) -> Key {
        match event.code {
            KeyCode::Char('c' | 'd') if event.modifiers.contains(KeyModifiers::CONTROL) => {
                Key::Quit
            }
            KeyCode::Char(letter) => Key::Char(letter),
            KeyCode::Enter | KeyCode::Right => Key::Enter,
            KeyCode::Esc => Key::Escape,
            KeyCode::Backspace | KeyCode::Left => Key::Backspace,
            KeyCode::Up => Key::Up,
            KeyCode::Down => Key::Down,
            KeyCode::PageUp => Key::PageUp,
            KeyCode::PageDown => Key::PageDown,
            _ => Key::Other,
        }
    }
}

/// A step that is possible now.
pub(super) struct Possible {
    pub(super) step: Step,
    pub(super) process: String,
    pub(super) line: u32,
    pub(super) text: String,
    pub(super) switch: Switch,
    pub(super) changes: Vec<Change>,
    /// What it violates.
    pub(super) fault: Option<String>,
}

/// What a line of input is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Prompt {
    Watch,
    Until,
    Filter,
}

impl Prompt {
    pub(super) fn title(self) -> &'static str {
        match self {
            Prompt::Watch => "watch expression",
            Prompt::Until => "run until",
            Prompt::Filter => "variables that contain",
        }
    }
}

/// See the module's text.
pub(super) struct Session<'a> {
    pub(super) subject: Subject<'a>,
    pub(super) execution: Execution<'a>,
    pub(super) possible: Vec<Possible>,
    /// The marked one of the possible steps.
    pub(super) marked: usize,
    pub(super) watches: Vec<(String, Watch)>,
    pub(super) breakpoints: BTreeSet<u32>,
    pub(super) filter: String,
    pub(super) prompt: Option<(Prompt, String)>,
    /// What happened last, in a line.
    pub(super) message: String,
    /// Rows that the lanes are scrolled up by.
    pub(super) scrolled: usize,
    pub(super) shows_help: bool,
    random: Random,
    is_over: bool,
}

impl<'a> Session<'a> {
    pub(super) fn new(subject: Subject<'a>) -> Self {
        let (execution, fault) = Execution::new(subject.system);
        let random = Random::new(subject.seed);
        let mut session = Session {
            execution,
            possible: Vec::new(),
            marked: 0,
            watches: Vec::new(),
            breakpoints: BTreeSet::new(),
            filter: String::new(),
            prompt: None,
            message: "? shows the keys".into(),
            scrolled: 0,
            shows_help: false,
            random,
            is_over: false,
            subject,
        };
        if let Some(fault) = fault {
            session.message = session.subject.system.fault(fault).to_string();
        }
        session.look();
        session
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Preemptions so far.
    pub(super) fn preemptions(&self) -> usize {
        self.execution.described().iter().filter(|step| step.switch == Switch::Preemption).count()
    }

    pub(super) fn press(&mut self, key: Key) {
        if key == Key::Quit {
            self.is_over = true;
        } else if self.shows_help {
            self.shows_help = false;
        } else if self.prompt.is_some() {
            self.type_key(key);
        } else {
            self.command(key);
        }
    }

    fn command(&mut self, key: Key) {
        match key {
            Key::Char('q') => self.is_over = true,
            Key::Char('?' | 'h') => self.shows_help = true,
            Key::Up | Key::Char('k') => self.marked = self.marked.saturating_sub(1),
            Key::Down | Key::Char('j') => {
                self.marked = (self.marked + 1).min(self.possible.len().saturating_sub(1));
            }
            Key::Enter => self.take(self.marked),
            Key::Char(digit @ '1'..='9') => self.take(digit as usize - '1' as usize),
            Key::Char('n') => self.take(self.next_of_script()),
            Key::Backspace | Key::Char('b') => self.back(1),
            Key::Char('g') => self.back(self.execution.steps().len()),
            Key::Char('r') => _ = self.random(1, |_| false),
            Key::Char('c') => self.run_to_breakpoint(),
            Key::Char('B') => self.toggle_breakpoint(),
            Key::Char('w') => self.prompt = Some((Prompt::Watch, String::new())),
            Key::Char('W') => _ = self.watches.pop(),
            Key::Char('u') => self.prompt = Some((Prompt::Until, String::new())),
            Key::Char('/') => self.prompt = Some((Prompt::Filter, self.filter.clone())),
            Key::PageUp => self.scrolled = (self.scrolled + 10).min(self.execution.steps().len()),
            Key::PageDown => self.scrolled = self.scrolled.saturating_sub(10),
            _ => {}
        }
    }

    /// A key while a line is being typed.
    fn type_key(&mut self, key: Key) {
        let Some((prompt, mut line)) = self.prompt.take() else { return };
        match key {
            Key::Escape => return,
            Key::Enter => return self.typed(prompt, line),
            Key::Backspace => _ = line.pop(),
            Key::Char(letter) => line.push(letter),
            _ => {}
        }
        self.prompt = Some((prompt, line));
    }

    fn typed(&mut self, prompt: Prompt, line: String) {
        if prompt == Prompt::Filter {
            self.filter = line;
            return;
        }
        let Subject { model, settings, system, .. } = self.subject;
        match (Watch::new(model, settings, system, &line), prompt) {
            (Err(problem), _) => self.message = problem,
            (Ok(watch), Prompt::Until) => self.run_until(&watch, &line),
            (Ok(watch), _) => self.watches.push((line, watch)),
        }
    }

    fn take(&mut self, choice: usize) {
        let Some(step) = self.possible.get(choice).map(|possible| possible.step) else {
            return;
        };
        self.step(step);
        self.look();
    }

    /// Takes a step; true if something is wrong with it.
    fn step(&mut self, step: Step) -> bool {
        let taken = self.execution.take(step);
        self.scrolled = 0;
        let output = self.execution.described().last().map(|step| step.output.trim().to_string());
        self.message = output
            .filter(|text| !text.is_empty())
            .map_or_else(String::new, |text| format!("printed: {text}"));
        if let Some(cut) = taken.truncations.into_iter().next() {
            self.message = cut;
        }
        if let Some(fault) = taken.fault {
            self.message = format!("✗ {}", self.subject.system.fault(fault));
        }
        taken.fault.is_some()
    }

    fn back(&mut self, count: usize) {
        self.message = match self.execution.back(count) {
            true => String::new(),
            false => "at the start".into(),
        };
        self.scrolled = 0;
        self.look();
    }

    /// Where the next step of the script stands among those possible, as long as it was followed.
    fn next_of_script(&self) -> usize {
        let taken = self.execution.steps();
        let script = &self.subject.script;
        let next = script.get(taken.len()).filter(|_| script.starts_with(taken));
        let found = next.and_then(|next| self.possible.iter().position(|p| p.step == *next));
        found.unwrap_or(self.marked)
    }

    /// Takes random steps until `stop` says so of the state reached; true if it did.
    fn random(&mut self, most: usize, stop: impl Fn(&Self) -> bool) -> bool {
        let mut stopped = false;
        for _ in 0..most {
            let enabled = self.execution.enabled();
            if enabled.is_empty() {
                break;
            }
            let step = enabled[self.random.below(enabled.len())];
            if self.step(step) {
                break;
            }
            stopped = stop(self);
            if stopped {
                break;
            }
        }
        self.look();
        stopped
    }

    fn run_to_breakpoint(&mut self) {
        let at = |session: &Self| {
            let state = session.execution.state();
            let line = |step: &Step| session.subject.system.describe(state, *step).1;
            session.execution.enabled().iter().map(line).find(|l| session.breakpoints.contains(l))
        };
        if self.breakpoints.is_empty() {
            self.message = "there is no breakpoint: B sets one at the marked step".into();
        } else if self.random(LONGEST_RUN, |session| at(session).is_some()) {
            self.message = at(self).map_or_else(String::new, |line| format!("before line {line}"));
        }
    }

    fn run_until(&mut self, watch: &Watch, line: &str) {
        let before = self.execution.steps().len();
        let holds = |session: &Self| watch.value(session.execution.state()).is_some_and(|v| v != 0);
        if self.random(LONGEST_RUN, holds) {
            let steps = self.execution.steps().len() - before;
            self.message = format!("{line}: true after {steps} random steps");
        } else if !self.message.starts_with('✗') {
            self.message = format!("{line}: not reached at random");
        }
    }

    fn toggle_breakpoint(&mut self) {
        let Some(line) = self.possible.get(self.marked).map(|possible| possible.line) else {
            return;
        };
        if !self.breakpoints.remove(&line) {
            self.breakpoints.insert(line);
        }
    }

    /// Finds out what is possible now.
    fn look(&mut self) {
        let system = self.subject.system;
        let state = self.execution.state();
        let last = self.execution.steps().last().map(Step::mover);
        let mut enabled = Enabled::new();
        self.execution.enabled().iter().for_each(|step| enabled.push(*step));
        let before = system.variables(state);
        self.possible = enabled
            .steps()
            .iter()
            .map(|step| {
                let (_, line, text) = system.describe(state, *step);
                let mut next = state.to_vec();
                let (changes, fault) = match system.apply(&mut next, *step) {
                    Outcome::Broken(fault) => (Vec::new(), Some(fault)),
                    outcome => {
                        let changes = changes_between(&before, &system.variables(&next));
                        let fault = match outcome {
                            Outcome::Violated(fault) => Some(fault),
                            _ => None,
                        };
                        (changes, fault)
                    }
                };
                Possible {
                    step: *step,
                    process: system.process_name(state, step.process),
                    line,
                    text,
                    switch: classify(last, &enabled, step),
                    changes,
                    fault: fault.map(|fault| system.fault(fault).message),
                }
            })
            .collect();
        self.marked = 0;
        if self.possible.is_empty() && !self.message.starts_with('✗') {
            let state = self.execution.state();
            self.message = match (system.process_count(state), system.is_valid_end(state)) {
                (0, _) | (_, true) => "all processes have finished; b goes back".into(),
                _ => "✗ deadlock: no process can move; b goes back".into(),
            };
        }
    }

    /// Where every process stands: its name, line and statement, and whether it can move.
    pub(super) fn positions(&self) -> Vec<(String, u32, String, bool)> {
        let (system, state) = (self.subject.system, self.execution.state());
        let processes = (0..system.process_count(state)).map(|at| ProcessId(at as u16));
        processes
            .map(|process| {
                let (_, line, text) = system.position(state, process).unwrap_or_default();
                let moves =
                    |p: &Possible| p.step.process == process || p.step.partner == Some(process);
                (system.process_name(state, process), line, text, self.possible.iter().any(moves))
            })
            .collect()
    }
}
