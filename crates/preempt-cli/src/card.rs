//! `preempt check --gpu` and `preempt kernel`: a graphics card, and what it is given.

use crate::arguments::{CheckArguments, ModelArguments};
use crate::failure::Failure;
use crate::promela::{failed, load};
use crate::{output, request};
use preempt_check::RemoteSearch;
use preempt_gpu::{Card, Driver, kernels};
use preempt_promela::model::Model;
use preempt_verify::Control;
use preempt_verify::promela::{self, Settings};
use std::process::ExitCode;
use std::sync::Arc;

/// Opens the card that makes the searches of a command.
pub(crate) fn open(
    arguments: &CheckArguments,
    model: &Model,
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Arc<dyn RemoteSearch>, Failure> {
    let driver = Driver::open()
        .map_err(|trouble| Failure::Input(format!("--gpu needs a graphics card: {trouble}")))?;
    let interpreter = promela::plain(model, settings, control).map_err(failed)?;
    Ok(Arc::new(Card::new(driver, interpreter, arguments.limits.gpu_memory)))
}

/// Prints the kernels of a model, for states as long as the first one.
pub(crate) fn print(model: &ModelArguments, counts: bool) -> Result<ExitCode, Failure> {
    let settings = &model.settings();
    let loaded = load(model, true)?;
    let interpreter =
        promela::plain(&loaded, settings, &request::interruptible()).map_err(failed)?;
    let text = kernels(&interpreter, counts)
        .map_err(|reason| Failure::Input(format!("no kernel for this model: {reason}")))?;
    output::print_exactly(&text);
    Ok(ExitCode::SUCCESS)
}
