//! `preempt simulate`: a model run at random, or step by step at the keyboard.

use crate::arguments::SimulateArguments;
use crate::failure::Failure;
use crate::output::print;
use crate::promela::{self, Beside};
use crate::terminal;
use preempt_core::{Enabled, Outcome, Step, System, changes_between, classify, replay, tell};
use preempt_promela::interpret::Interpreter;
use preempt_report::lanes::Lanes;
use preempt_report::{Cast, SavedTrace};
use std::collections::BTreeSet;
use std::io::{BufRead, Write};
use std::process::ExitCode;

/// xorshift64*: small, and the same on every machine for the same seed.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        // The generator must not start at 0, and neighbouring seeds should differ at once.
        Random((seed ^ 0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9) | 1)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as usize % bound
    }
}

/// Why a simulation ended.
enum End {
    Steps,
    Finished,
    Deadlock,
    Fault(u32),
}

/// Runs `preempt simulate`.
pub(crate) fn run(arguments: &SimulateArguments) -> Result<ExitCode, Failure> {
    let model = promela::load(&arguments.model, arguments.json)?;
    let interpreter = promela::interpreter(&model, &arguments.model, Beside::Nothing, false)?;
    if arguments.interactive {
        return interactive(&interpreter);
    }
    let seed = arguments.seed.unwrap_or_else(fresh_seed);
    if !arguments.json {
        print(&format!("seed {seed} (repeat with --seed {seed})\n"));
    }
    let (steps, end) = walk(&interpreter, seed, arguments);
    if arguments.json {
        print(&(saved(arguments, &interpreter, &steps)?.to_json() + "\n"));
    } else {
        print(&closing(&interpreter, &steps, &end));
    }
    Ok(ExitCode::from(match end {
        End::Deadlock | End::Fault(_) => 1,
        End::Steps | End::Finished => 0,
    }))
}

fn fresh_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(1, |time| time.as_nanos() as u64 % 1_000_000)
}

/// Takes random steps, and shows each as it is taken.
fn walk(system: &Interpreter, seed: u64, arguments: &SimulateArguments) -> (Vec<Step>, End) {
    let mut random = Random::new(seed);
    let mut lanes = Lanes::new(Cast::default(), &terminal::look());
    let mut state = Vec::new();
    let mut steps = Vec::new();
    if let Outcome::Broken(fault) | Outcome::Violated(fault) = system.initial(&mut state) {
        return (steps, End::Fault(fault));
    }
    let mut enabled = Enabled::new();
    let mut last = None;
    while steps.len() < arguments.steps {
        enabled.clear();
        system.enabled(&mut state, &mut enabled);
        if enabled.is_empty() {
            let fine = system.is_valid_end(&state);
            return (steps, if fine { End::Finished } else { End::Deadlock });
        }
        let step = enabled.steps()[random.below(enabled.steps().len())];
        let switch = classify(last, &enabled, &step);
        let before = state.clone();
        let outcome = system.apply(&mut state, step);
        steps.push(step);
        last = Some(step.mover());
        if !arguments.json {
            let mut told = tell(system, &before, step, switch);
            told.changes = changes_between(&system.variables(&before), &system.variables(&state));
            print(&lanes.step(&told));
        }
        if let Outcome::Broken(fault) | Outcome::Violated(fault) = outcome {
            return (steps, End::Fault(fault));
        }
    }
    (steps, End::Steps)
}

fn closing(system: &Interpreter, steps: &[Step], end: &End) -> String {
    let taken = terminal::grouped(steps.len() as u64);
    match end {
        End::Steps => format!("stopped after {taken} steps (--steps N for more)\n"),
        End::Finished => format!("all processes finished after {taken} steps\n"),
        End::Deadlock => format!("deadlock after {taken} steps: no process can move\n"),
        End::Fault(fault) => format!("after {taken} steps: {}\n", system.fault(*fault)),
    }
}

fn saved(
    arguments: &SimulateArguments,
    system: &Interpreter,
    steps: &[Step],
) -> Result<SavedTrace, Failure> {
    let (trace, _, _) = replay(system, steps).map_err(|error| Failure::Bug(error.to_string()))?;
    let file = arguments.model.file.to_string_lossy().into_owned();
    Ok(SavedTrace { file, property: "simulation".into(), trace, ..SavedTrace::default() })
}

const KEYS: &str = "\
  NUMBER     take that step
  ENTER, n   take the first step
  b          one step back
  r N        take N random steps
  c          go on at random to the next breakpoint
  break L    stop before line L     clear L    forget it
  v          print variables and channels
  t          print the trace so far
  q          quit
";

/// A session at the keyboard.
struct Session<'a> {
    system: &'a Interpreter,
    steps: Vec<Step>,
    breakpoints: BTreeSet<u32>,
    random: Random,
}

fn interactive(system: &Interpreter) -> Result<ExitCode, Failure> {
    let mut session =
        Session { system, steps: Vec::new(), breakpoints: BTreeSet::new(), random: Random::new(1) };
    print(&format!("Choose steps by number; ? for help.\n{}", session.options()));
    let mut line = String::new();
    loop {
        print("> ");
        line.clear();
        match std::io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => return Ok(ExitCode::SUCCESS),
            Ok(_) => {}
        }
        let mut words = line.split_whitespace();
        let (command, argument) = (words.next().unwrap_or("n"), words.next());
        let number = argument.and_then(|word| word.parse::<u32>().ok());
        match (command, number) {
            ("q", _) => return Ok(ExitCode::SUCCESS),
            ("?", _) => print(KEYS),
            ("n", _) => session.take(0),
            ("b", _) => {
                session.steps.pop();
                print(&session.options());
            }
            ("v", _) => session.show_variables(),
            ("t", _) => session.show_trace(),
            ("r", count) => session.go_on(count.unwrap_or(1) as usize, false),
            ("c", _) => session.go_on(100_000, true),
            ("break", Some(at)) => {
                session.breakpoints.insert(at);
            }
            ("clear", Some(at)) => {
                session.breakpoints.remove(&at);
            }
            (choice, _) => match choice.parse::<usize>() {
                Ok(number) if number >= 1 => session.take(number - 1),
                _ => print("? for help\n"),
            },
        }
        let _ = std::io::stdout().flush();
    }
}

impl Session<'_> {
    fn position(&self) -> (Vec<u8>, Enabled) {
        let mut state = Vec::new();
        self.system.initial(&mut state);
        let mut enabled = Enabled::new();
        for step in &self.steps {
            enabled.clear();
            self.system.enabled(&mut state, &mut enabled);
            self.system.apply(&mut state, *step);
        }
        enabled.clear();
        self.system.enabled(&mut state, &mut enabled);
        (state, enabled)
    }

    fn options(&self) -> String {
        let (state, enabled) = self.position();
        if enabled.is_empty() {
            return match self.system.is_valid_end(&state) {
                true => "all processes have finished\n".into(),
                false => "deadlock: no process can move\n".into(),
            };
        }
        let mut text = String::new();
        for (at, step) in enabled.steps().iter().enumerate() {
            let (_, line, statement) = self.system.describe(&state, *step);
            let process = self.system.process_name(&state, step.process);
            text.push_str(&format!("  {:>3}  {process:<16} {line:>5}  {statement}\n", at + 1));
        }
        text
    }

    fn take(&mut self, choice: usize) {
        let (_, enabled) = self.position();
        match enabled.steps().get(choice) {
            Some(step) => {
                self.steps.push(*step);
                self.show_last();
                print(&self.options());
            }
            None => print("there is no such step\n"),
        }
    }

    fn show_last(&self) {
        if let Ok((trace, _, outcome)) = replay(self.system, &self.steps) {
            let mut lanes = Lanes::new(Cast::of(&trace), &terminal::look());
            if let Some(step) = trace.steps.last() {
                print(&lanes.step(step));
            }
            if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
                print(&format!("{}\n", self.system.fault(fault)));
            }
        }
    }

    fn go_on(&mut self, most: usize, to_breakpoint: bool) {
        for taken in 0..most {
            let (state, enabled) = self.position();
            if enabled.is_empty() {
                break;
            }
            let at_breakpoint = enabled
                .steps()
                .iter()
                .any(|step| self.breakpoints.contains(&self.system.describe(&state, *step).1));
            if to_breakpoint && taken > 0 && at_breakpoint {
                break;
            }
            let choice = self.random.below(enabled.steps().len());
            self.steps.push(enabled.steps()[choice]);
            self.show_last();
        }
        print(&self.options());
    }

    fn show_variables(&self) {
        for (name, value) in self.system.variables(&self.position().0) {
            print(&format!("  {name} = {value}\n"));
        }
    }

    fn show_trace(&self) {
        if let Ok((trace, _, _)) = replay(self.system, &self.steps) {
            print(&preempt_report::lanes::render(&trace, None, &terminal::look()));
        }
    }
}
