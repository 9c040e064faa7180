//! What a search runs on.

use preempt_check::property::{Product, Property, Stutter};
use preempt_check::search::nested::NestedOptions;
use preempt_check::search::nested_together::nested_together;
use preempt_check::{Budget, Check, Finding};
use preempt_core::System;
#[cfg(all(feature = "promela", not(debug_assertions)))]
use preempt_native::Native;

/// A system to be searched. For machine code, whose steps take less time than a few indirect calls, the
/// usual searches are compiled apart, but not in debug builds: it takes long and gains a few per cent.
#[derive(Clone, Copy)]
pub(crate) enum Engine<'a> {
    /// Machine code.
    #[cfg(all(feature = "promela", not(debug_assertions)))]
    Native(&'a Native<'a>),
    /// Any system.
    Any(&'a dyn System),
    /// A system with a property beside it.
    Beside(&'a Product<'a, dyn System + 'a, dyn Property + 'a>),
}

impl<'a> Engine<'a> {
    pub(crate) fn system(self) -> &'a dyn System {
        match self {
            #[cfg(all(feature = "promela", not(debug_assertions)))]
            Engine::Native(native) => native,
            Engine::Any(system) => system,
            Engine::Beside(product) => product,
        }
    }

    /// Runs a check of this system.
    pub(crate) fn find<'c>(self, check: Check<'c>) -> Finding
    where
        'a: 'c,
    {
        match self {
            #[cfg(all(feature = "promela", not(debug_assertions)))]
            Engine::Native(native) => check.find_compiled_for(native),
            Engine::Any(_) => check.find(),
            Engine::Beside(product) => check.beside(product).find(),
        }
    }

    /// Looks for accepting cycles with so many threads and system states that product states share; `None` when that
    /// cannot tell.
    pub(crate) fn nested_shared(
        self,
        (property, stutter): (&dyn Property, Stutter),
        threads: usize,
        budget: &mut Budget,
        options: NestedOptions,
    ) -> Option<Finding> {
        match self {
            #[cfg(all(feature = "promela", not(debug_assertions)))]
            Engine::Native(native) => {
                nested_together(native, property, stutter, threads, budget, options)
            }
            Engine::Any(_) | Engine::Beside(_) => {
                nested_together(self.system(), property, stutter, threads, budget, options)
            }
        }
    }
}
