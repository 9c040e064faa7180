//! A session at the keyboard: choose steps, go back, look at variables, stop at lines.

use super::Random;
use super::execution::Execution;
use crate::output::print;
use crate::terminal;
use preempt_core::{Describe, ProcessId, Step, System, replay};
use preempt_promela::interpret::Interpreter;
use std::collections::BTreeSet;
use std::io::BufRead;

/// `c` gives up after that many steps without a breakpoint.
const LONGEST_RUN: usize = 100_000;

const KEYS: &str = "\
  NUMBER     take that step
  ENTER, n   take the next step of the saved trace, or the first one
  b [N]      one step back, or N
  r [N]      take one random step, or N
  c          go on at random to the next breakpoint
  break L    stop before line L     clear L    forget it     break      list them
  v [NAME]   print variables and channels (whose name contains NAME)
  p          print where every process stands
  t          print the trace so far
  l          print the possible steps again
  q          quit
";

/// Runs a session; `script` is the trace that ENTER follows.
pub(crate) fn run(system: &Interpreter, script: Vec<Step>, seed: u64) {
    let (execution, fault) = Execution::new(system);
    if let Some(fault) = fault {
        print(&format!("{}\n", system.fault(fault)));
        return;
    }
    let breakpoints = BTreeSet::new();
    let mut session = Session { system, execution, script, breakpoints, random: Random::new(seed) };
    print(&format!("Choose steps by number; ? for help.\n{}", session.options()));
    let mut line = String::new();
    loop {
        print("> ");
        line.clear();
        match std::io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => {
                print("\n");
                return;
            }
            Ok(_) => {}
        }
        if !session.obey(&line) {
            return;
        }
    }
}

struct Session<'a> {
    system: &'a Interpreter,
    execution: Execution<'a>,
    script: Vec<Step>,
    breakpoints: BTreeSet<u32>,
    random: Random,
}

impl Session<'_> {
    /// Does what a line says; false ends the session.
    fn obey(&mut self, line: &str) -> bool {
        let mut words = line.split_whitespace();
        let (command, argument) = (words.next().unwrap_or("n"), words.next());
        let number = argument.and_then(|word| word.parse::<u32>().ok());
        match (command, argument, number) {
            ("q" | "quit" | "exit", ..) => return false,
            ("?" | "h" | "help", ..) => print(KEYS),
            ("n" | "next", None, _) => self.take(self.next_of_script()),
            ("b" | "back", None, _) => self.back(1),
            ("b" | "back", _, Some(count)) => self.back(count),
            ("v", name, _) => self.show_variables(name.unwrap_or("")),
            ("p", None, _) => self.show_processes(),
            ("t", None, _) => self.show_trace(),
            ("l", None, _) => print(&self.options()),
            ("r", None, _) => self.go_on(1, false),
            ("r", _, Some(count)) => self.go_on(count as usize, false),
            ("c", None, _) => self.go_on(LONGEST_RUN, true),
            ("break", None, _) => self.list_breakpoints(),
            ("break", _, Some(at)) => {
                self.breakpoints.insert(at);
                self.list_breakpoints();
            }
            ("clear", _, Some(at)) => {
                if !self.breakpoints.remove(&at) {
                    print(&format!("there is no breakpoint at line {at}\n"));
                }
                self.list_breakpoints();
            }
            (choice, None, _) if choice.parse::<usize>().is_ok_and(|number| number >= 1) => {
                self.take(choice.parse::<usize>().map_or(0, |number| number - 1));
            }
            _ => print("not understood; ? for help\n"),
        }
        true
    }

    /// Where the next step of the script stands among those possible, as long as it was followed.
    fn next_of_script(&self) -> usize {
        let taken = self.execution.steps();
        let next = self.script.get(taken.len()).filter(|_| self.script.starts_with(taken));
        next.and_then(|next| self.execution.enabled().iter().position(|step| step == next))
            .unwrap_or(0)
    }

    fn options(&self) -> String {
        let state = self.execution.state();
        if self.execution.enabled().is_empty() {
            return match self.system.is_valid_end(state) {
                true => "all processes have finished (b to go back)\n".into(),
                false => {
                    "deadlock: no process can move (p shows where each process is, b goes back)\n"
                        .into()
                }
            };
        }
        let mut text = String::new();
        for (at, step) in self.execution.enabled().iter().enumerate() {
            let (_, line, statement) = self.system.describe(state, *step);
            let process = self.system.process_name(state, step.process);
            text.push_str(&format!("  {:>3}  {process:<16} {line:>5}  {statement}\n", at + 1));
        }
        text
    }

    fn take(&mut self, choice: usize) {
        match self.execution.enabled().get(choice).copied() {
            Some(step) => {
                self.show_step(step);
                print(&self.options());
            }
            None if self.execution.enabled().is_empty() => print(&self.options()),
            None => print("there is no such step\n"),
        }
    }

    fn back(&mut self, count: u32) {
        if !self.execution.back(count as usize) {
            print("at the start\n");
        }
        print(&self.options());
    }

    fn show_step(&mut self, step: Step) {
        let taken = self.execution.take(step);
        print(&taken.text);
        for truncation in taken.truncations {
            print(&format!("{truncation}\n"));
        }
        if let Some(fault) = taken.fault {
            print(&format!("{}\n", self.system.fault(fault)));
        }
    }

    fn go_on(&mut self, most: usize, to_breakpoint: bool) {
        for taken in 0..most {
            let state = self.execution.state();
            let lines = |step: &Step| self.system.describe(state, *step).1;
            let enabled = self.execution.enabled();
            let stop = enabled.iter().map(lines).find(|line| self.breakpoints.contains(line));
            if let Some(line) = stop
                && to_breakpoint
                && taken > 0
            {
                print(&format!("before line {line}\n"));
                break;
            }
            if enabled.is_empty() {
                break;
            }
            let step = enabled[self.random.below(enabled.len())];
            self.show_step(step);
        }
        print(&self.options());
    }

    fn list_breakpoints(&self) {
        let lines: Vec<String> = self.breakpoints.iter().map(u32::to_string).collect();
        match lines.is_empty() {
            true => print("no breakpoints\n"),
            false => print(&format!("breakpoints before line {}\n", lines.join(", "))),
        }
    }

    fn show_variables(&self, part: &str) {
        let mut shown = false;
        for (name, value) in self.system.variables(self.execution.state()) {
            if name.contains(part) {
                print(&format!("  {name} = {value}\n"));
                shown = true;
            }
        }
        if !shown {
            print("there is no such variable\n");
        }
    }

    fn show_processes(&self) {
        let state = self.execution.state();
        for index in 0..self.system.process_count(state) {
            let process = ProcessId(index as u16);
            let can_move = self
                .execution
                .enabled()
                .iter()
                .any(|step| step.process == process || step.partner == Some(process));
            let name = self.system.process_name(state, process);
            let (_, line, text) = self.system.position(state, process).unwrap_or_default();
            let waits = if can_move { "" } else { "  (waits)" };
            print(&format!("  {name:<16} {line:>5}  {text}{waits}\n"));
        }
    }

    fn show_trace(&self) {
        if let Ok((trace, _, _)) = replay(self.system, self.execution.steps()) {
            print(&preempt_report::lanes::render(&trace, None, &terminal::look()));
        }
    }
}
