//! Boolean combinations of propositions as disjunctions of cubes, for the text formats.

use crate::error::Error;
use crate::label::{Cube, complement, simplify};

const MAX_CUBES: usize = 4096;

/// A disjunction of cubes; empty means false.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Guard(pub(crate) Vec<Cube>);

impl Guard {
    pub(crate) fn constant(value: bool) -> Guard {
        Guard(if value { vec![Cube::TRUE] } else { Vec::new() })
    }

    pub(crate) fn proposition(number: u32) -> Guard {
        Guard(vec![Cube::literal(number, true)])
    }

    pub(crate) fn and(&self, other: &Guard) -> Result<Guard, Error> {
        let cubes = self
            .0
            .iter()
            .flat_map(|a| other.0.iter().filter_map(|b| a.and(*b)))
            .take(MAX_CUBES + 1)
            .collect();
        Guard::checked(cubes)
    }

    pub(crate) fn or(&self, other: &Guard) -> Result<Guard, Error> {
        Guard::checked(self.0.iter().chain(&other.0).copied().collect())
    }

    pub(crate) fn not(&self) -> Result<Guard, Error> {
        // Each cube can multiply the result by its literals, so limit the input.
        if self.0.len() > 64 {
            return Err(too_large());
        }
        Guard::checked(complement(&self.0))
    }

    fn checked(mut cubes: Vec<Cube>) -> Result<Guard, Error> {
        if cubes.len() > MAX_CUBES {
            return Err(too_large());
        }
        simplify(&mut cubes);
        Ok(Guard(cubes))
    }
}

fn too_large() -> Error {
    Error::TooLarge { limit: MAX_CUBES, unit: "alternatives in a guard" }
}

/// Cubes as text: literals joined by `and`, cubes by `or`.
pub(crate) fn show(
    cubes: &[Cube],
    literal: impl Fn(u32, bool) -> String,
    [and, or, truth, parenthesis]: [&str; 4],
) -> String {
    let parts: Vec<String> = cubes
        .iter()
        .map(|cube| {
            let literals: Vec<String> = (0..64)
                .filter(|p| cube.mask() >> p & 1 == 1)
                .map(|p| literal(p, cube.positive >> p & 1 == 1))
                .collect();
            match literals.len() {
                0 => truth.to_owned(),
                1 => literals[0].clone(),
                _ if parenthesis.is_empty() || cubes.len() == 1 => literals.join(and),
                _ => format!("({})", literals.join(and)),
            }
        })
        .collect();
    parts.join(or)
}
