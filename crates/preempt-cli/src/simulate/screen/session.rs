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

/// Steps at random, and steps by the keys of a page: as in the explorer.
const RANDOM_STEPS: usize = 10;
const PAGE: usize = 20;

/// A model that runs.
pub(crate) struct Subject<'a> {
    pub(crate) model: &'a Model,
    pub(crate) settings: &'a Settings,
    pub(crate) system: &'a Interpreter,
    pub(crate) sources: Vec<Source>,
    /// The trace that is walked along; none if it begins with the user's first step.
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
    Home,
    End,
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
            KeyCode::Enter => Key::Enter,
            KeyCode::Esc => Key::Escape,
            KeyCode::Backspace => Key::Backspace,
            KeyCode::Up => Key::Up,
            KeyCode::Down => Key::Down,
            KeyCode::PageUp => Key::PageUp,
            KeyCode::PageDown => Key::PageDown,
            KeyCode::Home => Key::Home,
            KeyCode::End => Key::End,
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
    /// The path: the steps that are taken, and those from which one went back.
    path: Vec<Step>,
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
            path: subject.script.clone(),
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

    /// The steps of the whole path.
    pub(super) fn path_length(&self) -> usize {
        self.path.len()
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

    /// Obeys a key of [`preempt_report::keys`]; false if it means nothing here.
    fn command(&mut self, key: Key) -> bool {
        match key {
            Key::Char('q') => self.is_over = true,
            Key::Char('?') => self.shows_help = true,
            Key::Down | Key::Char('j') => self.forward(1),
            Key::Up | Key::Char('k') => self.back(1),
            Key::PageDown => self.forward(PAGE),
            Key::PageUp => self.back(PAGE),
            Key::Home | Key::Char('g') => self.back(self.execution.steps().len()),
            Key::End | Key::Char('G') => self.forward(self.path.len()),
            Key::Char('n') => self.mark(1),
            Key::Char('p') => self.mark(self.possible.len().saturating_sub(1)),
            Key::Enter => self.take(self.marked),
            Key::Char(digit @ '1'..='9') => self.take(digit as usize - '1' as usize),
            Key::Char('r') => _ = self.random(RANDOM_STEPS, |_| false),
            Key::Char('u') => self.prompt = Some((Prompt::Until, String::new())),
            Key::Char('B') => self.toggle_breakpoint(),
            Key::Char('w') => self.prompt = Some((Prompt::Watch, String::new())),
            Key::Char('W') => _ = self.watches.pop(),
            Key::Char('/') => self.prompt = Some((Prompt::Filter, self.filter.clone())),
            // There is nothing to leave.
            Key::Escape => {}
            _ => return false,
        }
        true
    }

    /// Chooses the possible step that many places further on.
    fn mark(&mut self, by: usize) {
        self.marked = (self.marked + by) % self.possible.len().max(1);
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
        if prompt == Prompt::Until && line.trim().is_empty() {
            return self.run_to_breakpoint();
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
        let at = self.execution.steps().len();
        if self.path.get(at) != Some(&step) {
            self.path.truncate(at);
            self.path.push(step);
        }
        let taken = self.execution.take(step);
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
        self.look();
    }

    /// Takes the next steps of the path, up to that many.
    fn forward(&mut self, count: usize) {
        let before = self.execution.steps().len();
        for _ in 0..count {
            let next = self.path.get(self.execution.steps().len()).copied();
            let Some(next) = next.filter(|next| self.execution.enabled().contains(next)) else {
                break;
            };
            if self.step(next) {
                break;
            }
        }
        if self.execution.steps().len() == before {
            self.message = "at the end of the path".into();
        }
        self.look();
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
            self.message =
                "there is no breakpoint: B sets one at the line of the chosen step".into();
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
        let next = self.path.get(self.execution.steps().len());
        let marked = self.possible.iter().position(|possible| Some(&possible.step) == next);
        self.marked = marked.unwrap_or(0);
        if self.possible.is_empty() && !self.message.starts_with('✗') {
            let state = self.execution.state();
            self.message = match (system.process_count(state), system.is_valid_end(state)) {
                (0, _) | (_, true) => "all processes have finished; k goes back".into(),
                _ => "✗ deadlock: no process can move; k goes back".into(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use preempt_report::keys::{self, Place};
    use preempt_verify::Control;
    use preempt_verify::promela::{observed, read};
    use std::collections::BTreeSet;

    fn at_the_start<'a>(
        model: &'a Model,
        settings: &'a Settings,
        system: &'a Interpreter,
    ) -> Session<'a> {
        let (sources, script) = (Vec::new(), Vec::new());
        Session::new(Subject { model, settings, system, sources, script, seed: 1 })
    }

    #[test]
    fn the_keys_of_the_list_are_obeyed_and_no_others() {
        let text = "byte x; active proctype p() { do :: x < 9 -> x++ od }";
        let (model, settings) = (read("m.pml", text).unwrap(), Settings::default());
        let system = observed(&model, &settings, &Control::new()).unwrap();
        let named = [
            ("Enter", Key::Enter),
            ("Escape", Key::Escape),
            ("Backspace", Key::Backspace),
            ("ArrowUp", Key::Up),
            ("ArrowDown", Key::Down),
            ("PageUp", Key::PageUp),
            ("PageDown", Key::PageDown),
            ("Home", Key::Home),
            ("End", Key::End),
            ("other", Key::Other),
        ];
        let named = named.map(|(name, key)| (name.to_string(), key));
        let letters = ('!'..='~').map(|letter| (letter.to_string(), Key::Char(letter)));
        let obeys = |key: Key| at_the_start(&model, &settings, &system).command(key);
        let obeyed = named.into_iter().chain(letters).filter(|(_, key)| obeys(*key));
        let listed = keys::of(Place::Terminal).flat_map(|row| row.keys);
        assert_eq!(
            obeyed.map(|(name, _)| name).collect::<BTreeSet<_>>(),
            listed.map(|key| key.to_string()).collect()
        );
    }

    #[test]
    fn the_path_is_kept_when_one_goes_back() {
        let text =
            "byte x; active proctype p() { do :: x < 9 -> x = x + 1 :: x < 9 -> x = x + 2 od }";
        let (model, settings) =
            (read("m.pml", text).unwrap(), Settings { merge: false, ..Settings::default() });
        let system = observed(&model, &settings, &Control::new()).unwrap();
        let mut session = at_the_start(&model, &settings, &system);
        let mut press = |keys: &str| {
            keys.chars().for_each(|key| session.press(Key::Char(key)));
            session.execution.steps().len()
        };
        assert_eq!(press("1111"), 4);
        assert_eq!(press("kk"), 2);
        assert_eq!(press("jjj"), 4);
        assert_eq!((press("g"), press("G")), (0, 4));
        assert_eq!((press("kkkk2"), press("jjjj")), (1, 1), "another step begins another path");
    }
}
