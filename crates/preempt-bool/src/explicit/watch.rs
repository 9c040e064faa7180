//! The value of an expression in a state of the machine.

use super::layout::{Layout, Top};
use crate::flow::{Owner, Place, Possible, Program, VariableId, Watched, watched};

/// An expression about states: shared variables by their names, those of threads as `adder_1.ok`, and `adder_1@Target` for a
/// thread that stands behind a label.
///
/// ```
/// # use preempt_bool::{Dialect, Watch, parse};
/// let source = "decl x; void init() begin x := F; end thread t() begin decl y; y := T; x := y; end";
/// let (program, _) = parse(source, "program.bp", Dialect::Slam).unwrap();
/// assert!(Watch::new(&program, "x & t.y").is_ok());
/// assert_eq!(Watch::new(&program, "x & z").err().unwrap(), "the variable `z` is not declared");
/// ```
pub struct Watch {
    layout: Layout,
    watched: Watched,
}

impl Watch {
    /// Reads an expression; the error says what is wrong with it.
    pub fn new(program: &Program, text: &str) -> Result<Self, String> {
        Ok(Watch { layout: Layout::new(program), watched: watched(program, text)? })
    }

    /// Its value in a state of a [`Machine`](super::Machine) of the program; none where a variable does not exist.
    pub fn value(&self, state: &[u8]) -> Option<i64> {
        let mut values: Vec<Option<u64>> = vec![None; self.watched.places.len()];
        let mut is_known = true;
        self.watched.expression.each_variable(&mut |place| {
            values[place] = self.at(state, &self.watched.places[place]);
            is_known &= values[place].is_some();
        });
        let get = |place: VariableId| values[place].unwrap_or_default();
        match self.watched.expression.possible(&get, &get) {
            Possible::One(value) if is_known => i64::try_from(value).ok(),
            _ => None,
        }
    }

    fn at(&self, state: &[u8], place: &Place) -> Option<u64> {
        let top = |process| self.layout.top(state, self.layout.segment(state, process));
        match place {
            Place::Shared(variable) => {
                let nowhere = Top { function: 0, position: 0, start: 0, private: 0 };
                Some(self.layout.get(state, &nowhere, *variable))
            }
            Place::Of(process, variables) => {
                let top = top(*process)?;
                let is_here = |v: &&VariableId| match self.layout.owner(**v) {
                    Owner::Function(function) => function == top.function,
                    Owner::Thread | Owner::Shared => true,
                };
                // A local variable hides one of the thread.
                let found = variables.iter().rfind(is_here)?;
                Some(self.layout.get(state, &top, *found))
            }
            Place::At(process, nodes) => Some(u64::from(top(*process).is_some_and(|top| {
                nodes.iter().any(|(f, node)| *f == top.function && *node == top.position as usize)
            }))),
        }
    }
}
