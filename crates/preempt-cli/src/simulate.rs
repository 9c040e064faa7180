//! `preempt simulate`: a model run at random, or step by step at the keyboard.

mod execution;
mod interactive;
#[cfg(feature = "screen")]
mod screen;

use crate::arguments::SimulateArguments;
use crate::failure::Failure;
use crate::output::{complain, print, print_exactly};
use crate::promela;
use crate::request::interruptible;
use crate::spin_text::SpinText;
use execution::Execution;
use preempt_core::{Describe, Step, System, replay};
use preempt_promela::interpret::Interpreter;
use preempt_promela::model::Model;
use preempt_report::SavedTrace;
use preempt_verify::promela::{Settings, observed};
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
    let settings = arguments.model.settings();
    let interpreter = observed(&model, &settings, &interruptible()).map_err(promela::failed)?;
    if arguments.interactive {
        let seed = arguments.seed.unwrap_or(1);
        return at_the_keyboard(
            (&model, &settings),
            &interpreter,
            Vec::new(),
            seed,
            arguments.plain,
        );
    }
    let seed = arguments.seed.unwrap_or_else(fresh_seed);
    if !arguments.json && arguments.spin.is_none() {
        print(&format!("seed {seed} (repeat with --seed {seed})\n"));
    }
    let (steps, end) = walk(&interpreter, seed, arguments);
    if arguments.json {
        print_exactly(&(saved(arguments, &interpreter, &steps)?.to_json() + "\n"));
    } else if let Some(shown) = arguments.spin {
        if shown.seed {
            print_exactly(&format!("seed used: {seed}\n"));
        }
        return Ok(ExitCode::SUCCESS);
    } else {
        print(&closing(&interpreter, &steps, &end));
    }
    Ok(ExitCode::from(match end {
        End::Deadlock | End::Fault(_) => 1,
        End::Steps | End::Finished => 0,
    }))
}

/// A session in which the user chooses; `script` is a trace to follow. On a whole screen where there is one, otherwise line by
/// line.
pub(crate) fn at_the_keyboard(
    (model, settings): (&Model, &Settings),
    system: &Interpreter,
    script: Vec<Step>,
    seed: u64,
    plain: bool,
) -> Result<ExitCode, Failure> {
    #[cfg(feature = "screen")]
    if !plain && screen::is_possible() {
        let sources = promela::sources(model);
        screen::run(screen::Subject { model, settings, system, sources, script, seed })?;
        return Ok(ExitCode::SUCCESS);
    }
    // Without the feature every session is plain, and the model is not looked at again.
    let _ = (model, settings, plain);
    interactive::run(system, script, seed);
    Ok(ExitCode::SUCCESS)
}

fn fresh_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(1, |time| time.as_nanos() as u64 % 1_000_000)
}

/// Takes random steps, and shows each as it is taken.
fn walk(system: &Interpreter, seed: u64, arguments: &SimulateArguments) -> (Vec<Step>, End) {
    let mut random = Random::new(seed);
    let (mut execution, fault) = Execution::new(system);
    if let Some(fault) = fault {
        return (Vec::new(), End::Fault(fault));
    }
    let mut spins =
        arguments.spin.map(|shown| SpinText::new(system, shown).begin_at(arguments.from, true));
    let end = loop {
        if execution.steps().len() >= arguments.steps {
            break End::Steps;
        }
        let enabled = execution.enabled();
        if enabled.is_empty() {
            let fine = system.is_valid_end(execution.state());
            break if fine { End::Finished } else { End::Deadlock };
        }
        let step = enabled[random.below(enabled.len())];
        let taken = execution.take(step);
        match &mut spins {
            Some(text) => {
                text.step(step);
                print_exactly(&text.take());
            }
            None if !arguments.json => print(&taken.text),
            None => {}
        }
        for truncation in taken.truncations {
            complain(&truncation);
        }
        if let Some(fault) = taken.fault {
            break End::Fault(fault);
        }
    };
    if let Some(text) = &mut spins {
        if let End::Steps = end {
            text.reach_limit(arguments.steps);
        }
        if let End::Deadlock = end {
            print_exactly("      timeout\n");
        }
        text.close(false);
        print_exactly(&text.take());
    }
    (execution.steps().to_vec(), end)
}

fn closing(system: &Interpreter, steps: &[Step], end: &End) -> String {
    let taken = preempt_core::grouped(steps.len() as u64);
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
