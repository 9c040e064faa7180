//! `preempt check --gpu` and `preempt kernel`: a graphics card, and what it is given.

use crate::arguments::{CheckArguments, KernelArguments};
use crate::failure::Failure;
use crate::promela::{failed, load};
use crate::{languages, meant, output, request};
use preempt_check::RemoteSearch;
use preempt_gpu::{Card, Device, Driver, KernelOptions, Trouble, kernels};
use preempt_promela::model::Model;
use preempt_verify::Control;
use preempt_verify::promela::{self, Property, Selection, Settings};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The card that makes the searches of a command.
pub(crate) struct Opened {
    driver: Arc<Mutex<Driver>>,
    memory: Option<u64>,
}

/// Opens it.
pub(crate) fn open(arguments: &CheckArguments) -> Result<Opened, Failure> {
    let driver = Driver::open().map_err(missing)?;
    Ok(Opened { driver: Arc::new(Mutex::new(driver)), memory: arguments.limits.gpu_memory })
}

fn missing(trouble: Trouble) -> Failure {
    Failure::Input(format!("--gpu needs a graphics card: {trouble}"))
}

impl Opened {
    /// What makes the search for a property; `None` of properties that the processor looks into.
    pub(crate) fn searches(
        &self,
        model: &Model,
        settings: &Settings,
        property: Property,
        control: &Control<'_>,
    ) -> Result<Option<Arc<dyn RemoteSearch>>, Failure> {
        let is_finite =
            matches!(property, Property::Safety | Property::Completion(_) | Property::BadPrefix(_));
        if !is_finite {
            return Ok(None);
        }
        let interpreter = promela::beside(model, settings, property, control).map_err(failed)?;
        Ok(Some(Arc::new(Card::new(self.driver.clone(), interpreter, self.memory))))
    }
}

/// Prints the kernels of a model, for states as long as the first one; or how long the driver takes to compile them.
pub(crate) fn print(arguments: &KernelArguments) -> Result<ExitCode, Failure> {
    let model = &arguments.model;
    meant::a_model(&model.file)?;
    languages::with_executions("kernel", model)?;
    let begin = Instant::now();
    let text = text(arguments)?;
    if !arguments.compile {
        output::print_exactly(&text);
        return Ok(ExitCode::SUCCESS);
    }
    let made = begin.elapsed().as_secs_f64();
    let mut driver = Driver::open().map_err(missing)?;
    // To wake the card up is no part of it.
    driver.available().map_err(missing)?;
    let begin = Instant::now();
    driver.load(&text).map_err(missing)?;
    let compiled = begin.elapsed().as_secs_f64();
    output::print(&format!("made in {made:.3} s, compiled by the driver in {compiled:.3} s\n"));
    Ok(ExitCode::SUCCESS)
}

fn text(arguments: &KernelArguments) -> Result<String, Failure> {
    let settings = &arguments.model.settings();
    let control = &request::interruptible();
    let mut model = load(&arguments.model, true)?;
    let selection = Selection {
        formula: arguments.formula.clone(),
        ltl: arguments.ltl.clone(),
        claim: arguments.claim.clone(),
        no_claim: arguments.is_plain(),
        no_acceptance: true,
        ..Selection::default()
    };
    let selected = promela::select(&mut model, &selection).map_err(failed)?;
    let property = selected.first().copied().unwrap_or(Property::Safety);
    let interpreter = promela::beside(&model, settings, property, control).map_err(failed)?;
    let automaton = promela::automaton(&model, &interpreter, property).map_err(failed)?;
    let options = KernelOptions { preemptions: arguments.bound, folded: arguments.folded };
    kernels(&interpreter, automaton.as_deref(), options)
        .map_err(|reason| Failure::Input(format!("no kernel for this model: {reason}")))
}
