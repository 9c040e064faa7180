//! Every violating execution that a depth-first search meets, one by one, as `-e` of Spin's verifier saves
//! them: for tools that make something of each, such as a test case.
//!
//! The search is Spin's, with its reduction if there is to be any, so that there are as many executions as Spin saves.

use super::{Beside, Checker, interpreter};
use crate::Error;
use preempt_check::search::each_violation;
use preempt_check::{Compatibility, Options, Reduction, Search, available_memory};
use preempt_core::{Step, System};
use preempt_native::Native;
use preempt_promela::interpret::Interpreter;

impl Checker<'_> {
    /// Gives the steps of each violating execution to `found`, with the system they are steps of; says whether all
    /// were found.
    pub fn each_violation(
        &self,
        found: &mut dyn FnMut(&Interpreter, &[Step]),
    ) -> Result<bool, Error> {
        let request = self.request;
        let reduces = request.reduction != Reduction::None;
        let how = (reduces, true);
        let system = interpreter(self.model, self.settings, Beside::Nothing, how, self.control)?;
        let native = Native::new(&system).ok();
        let options = Options {
            search: Search::Depth,
            reduction: if reduces { Reduction::Spin } else { Reduction::None },
            compatibility: Compatibility::Spin,
            ..request.options(String::new(), false)
        };
        let memory = request.memory.map_or_else(|| available_memory() / 8 * 7, |m| m as usize);
        let mut budget = self.control.budget().memory(memory);
        let searched: &dyn System = native.as_ref().map_or(&system, |native| native);
        let mut found = |steps: &[Step]| found(&system, steps);
        let finding = each_violation(searched, &options, &mut budget, &mut found);
        Ok(finding.stop.is_none())
    }
}
