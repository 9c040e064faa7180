//! The C of a Promela model, as a library that the interpreter calls.
//!
//! [`preempt_promela::embedded`] writes the text; [`attach`] has it compiled by the system's C compiler,
//! loads the result and hands it to the model. Compiling and running a stranger's C is not done here
//! unasked: a caller of [`attach`] has said that it may be.
//!
//! A call is guarded: what would end the process (an invalid address, a division by zero, `abort`, a failed
//! `assert`, `exit`) ends the call only, and becomes a fault of the model's step. Calls are made one at a time,
//! because the memory of C exists once; everything that belongs to the state is copied in and out around
//! a call, so threads of a search do not meet in it.

mod compile;
mod library;
mod variables;

pub use compile::{Compiler, Trouble};

use library::Loaded;
use preempt_promela::embedded::Compiled;
use preempt_promela::model::Model;
use std::sync::Arc;

/// Compiles the C of a model and makes the model ready to run. Does nothing for a model without C.
pub fn attach(model: &mut Model, compiler: &Compiler) -> Result<(), Trouble> {
    if model.embedded.is_empty() {
        return Ok(());
    }
    let text = preempt_promela::embedded::source(model);
    let object = compiler.compile(&text)?;
    let loaded = Loaded::open(&object, model.proctypes.len(), &model.embedded.names_in_tracks())?;
    model.embedded.compiled = Some(Compiled(Arc::new(loaded)));
    Ok(())
}
