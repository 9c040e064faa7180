//! Labels of automaton edges: conjunctions of literals over at most 64 propositions.
//!
//! A valuation is one bit per proposition, so a cube is two masks and matching
//! it is two instructions. Disjunctions are several edges to one target; the
//! functions here keep such lists short and decide containment exactly.

/// Truth values of the propositions: bit `i` is proposition `i`.
pub type Valuation = u64;

/// A conjunction of literals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Cube {
    /// Propositions that must be true.
    pub positive: u64,
    /// Propositions that must be false.
    pub negative: u64,
}

impl Cube {
    /// The cube that every valuation satisfies.
    pub const TRUE: Cube = Cube { positive: 0, negative: 0 };

    /// One proposition, true or false.
    pub fn literal(proposition: u32, value: bool) -> Cube {
        let bit = 1u64 << proposition;
        if value {
            Cube { positive: bit, negative: 0 }
        } else {
            Cube { positive: 0, negative: bit }
        }
    }

    /// The cube satisfied by exactly this valuation of the propositions in `mask`.
    pub fn minterm(valuation: Valuation, mask: u64) -> Cube {
        Cube { positive: valuation & mask, negative: !valuation & mask }
    }

    /// Does the valuation satisfy the cube?
    #[inline]
    pub fn matches(self, valuation: Valuation) -> bool {
        valuation & self.positive == self.positive && valuation & self.negative == 0
    }

    /// The conjunction, unless it is contradictory.
    #[inline]
    pub fn and(self, other: Cube) -> Option<Cube> {
        let positive = self.positive | other.positive;
        let negative = self.negative | other.negative;
        (positive & negative == 0).then_some(Cube { positive, negative })
    }

    /// Does every valuation that satisfies `self` satisfy `other`?
    #[inline]
    pub fn implies(self, other: Cube) -> bool {
        self.positive & other.positive == other.positive
            && self.negative & other.negative == other.negative
    }

    /// The propositions it mentions.
    pub fn mask(self) -> u64 {
        self.positive | self.negative
    }
}

/// Does every valuation in `cube` satisfy some cube of `cover`? Exact, by case split.
pub(crate) fn covered(cube: Cube, cover: &[Cube]) -> bool {
    if cover.iter().any(|c| cube.implies(*c)) {
        return true;
    }
    let overlapping: Vec<Cube> = cover.iter().copied().filter(|c| cube.and(*c).is_some()).collect();
    let Some(first) = overlapping.first() else {
        return false;
    };
    let undecided = first.mask() & !cube.mask();
    let proposition = undecided.trailing_zeros();
    [true, false].into_iter().all(|value| {
        cube.and(Cube::literal(proposition, value)).is_none_or(|half| covered(half, &overlapping))
    })
}

/// Shortens a disjunction: joins cubes that differ in one sign, drops contained ones.
///
/// Long lists are only sorted: shortening them costs more than it saves.
pub(crate) fn simplify(cubes: &mut Vec<Cube>) {
    const LONG: usize = 64;
    if cubes.len() > LONG {
        cubes.sort_unstable();
        cubes.dedup();
    }
    if cubes.len() > LONG {
        return;
    }
    let mut changed = true;
    while changed {
        changed = false;
        cubes.sort_unstable();
        cubes.dedup();
        let snapshot = cubes.clone();
        cubes.retain(|c| !snapshot.iter().any(|d| d != c && c.implies(*d)));
        'search: for i in 0..cubes.len() {
            for j in i + 1..cubes.len() {
                if let Some(joined) = consensus(cubes[i], cubes[j], cubes) {
                    cubes.push(joined);
                    changed = true;
                    break 'search;
                }
            }
        }
    }
    if cubes.len() > 1 {
        let mut index = 0;
        while index < cubes.len() && cubes.len() > 1 {
            let candidate = cubes.remove(index);
            if !covered(candidate, cubes) {
                cubes.insert(index, candidate);
                index += 1;
            }
        }
    }
}

/// A cube implied by `a ∨ b` that contains one of them, if there is one not yet in the list.
fn consensus(a: Cube, b: Cube, present: &[Cube]) -> Option<Cube> {
    let clash = (a.positive & b.negative) | (a.negative & b.positive);
    if clash.count_ones() != 1 {
        return None;
    }
    let joined = Cube {
        positive: (a.positive | b.positive) & !clash,
        negative: (a.negative | b.negative) & !clash,
    };
    let useful = a.implies(joined) || b.implies(joined);
    (useful && !present.iter().any(|c| joined.implies(*c))).then_some(joined)
}

/// The complement of a disjunction, as a disjunction.
pub(crate) fn complement(cubes: &[Cube]) -> Vec<Cube> {
    let mut result = vec![Cube::TRUE];
    for cube in cubes {
        let mut next = Vec::new();
        for partial in &result {
            let mut rest = *partial;
            let mut mask = cube.mask();
            let mut alive = true;
            while mask != 0 && alive {
                let proposition = mask.trailing_zeros();
                mask &= mask - 1;
                let wanted = cube.positive >> proposition & 1 == 1;
                if let Some(part) = rest.and(Cube::literal(proposition, !wanted)) {
                    next.push(part);
                }
                match rest.and(Cube::literal(proposition, wanted)) {
                    Some(remaining) => rest = remaining,
                    None => alive = false,
                }
            }
        }
        simplify(&mut next);
        result = next;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn satisfied(cubes: &[Cube], valuation: u64) -> bool {
        cubes.iter().any(|c| c.matches(valuation))
    }

    #[test]
    fn simplify_complement_and_cover_agree_with_truth_tables() {
        let mut numbers = preempt_testing::Random::shifts(0x9e37_79b9_7f4a_7c15, 0);
        let mut random = move || numbers.next_number();
        for _ in 0..2000 {
            let count = random() % 6;
            let cubes: Vec<Cube> = (0..count)
                .map(|_| Cube { positive: random() & 15, negative: random() & 15 })
                .map(|c| Cube { positive: c.positive & !c.negative, ..c })
                .collect();
            let mut simple = cubes.clone();
            simplify(&mut simple);
            let opposite = complement(&cubes);
            for valuation in 0..16 {
                let expected = satisfied(&cubes, valuation);
                assert_eq!(satisfied(&simple, valuation), expected);
                assert_eq!(satisfied(&opposite, valuation), !expected);
            }
            let probe = Cube::minterm(random() & 15, random() & 15);
            let all = (0..16).filter(|v| probe.matches(*v)).all(|v| satisfied(&cubes, v));
            assert_eq!(covered(probe, &cubes), all);
        }
    }
}
