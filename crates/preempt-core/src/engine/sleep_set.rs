//! Sleep sets: processes whose steps need not be taken in a state, because others take them.
//!
//! State `s` has steps of two processes `c` and `a` that commute, and `c` comes before `a` in the order of
//! exploration. Then the successor of `s` by `a` need not look at `c`: what `c` leads to from there, `a`
//! leads to from the successor of `s` by `c`. So `c` is asleep in the successor by `a`, and stays asleep
//! in what follows for as long as processes behind it move whose steps commute with its own. How many
//! steps it has is known: they are those that it had before.
//!
//! No state is lost, whatever the order of the search, though only the sleepers of whoever finds a state
//! first count. Say that `x` was found from `s` by `a` and that `c` sleeps in `x`. Its successors there
//! are found if those of `c` in `s` are, and those of `a` in these. For the former `c` is the same and `s`
//! was found before `x`; for the latter the process is one further behind in the order. So reasons never
//! run in circles, and at their ends are steps that were taken.

/// The processes that sleep in a state, and how many steps each of them has there: four bits per process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SleepSet(u64);

impl SleepSet {
    /// All processes are awake.
    pub const EMPTY: SleepSet = SleepSet(0);
    /// Processes from this one on never sleep.
    pub const PROCESSES: usize = 16;
    const MOST_STEPS: u64 = 15;

    /// One process with this number of steps; the empty set if that cannot be represented.
    #[inline(always)]
    pub fn one(process: usize, steps: usize) -> SleepSet {
        let representable = process < SleepSet::PROCESSES && steps as u64 <= SleepSet::MOST_STEPS;
        SleepSet((steps as u64) << (4 * process % 64)).only_if(representable)
    }

    /// This process, if it sleeps.
    #[inline(always)]
    pub fn of(self, process: usize) -> SleepSet {
        let all = SleepSet(self.0 & SleepSet::MOST_STEPS << (4 * process % 64));
        all.only_if(process < SleepSet::PROCESSES)
    }

    /// Whether the set is empty: all processes are awake.
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many steps all sleepers have.
    #[inline(always)]
    pub fn steps(self) -> usize {
        const EVERY_SECOND: u64 = 0x0f0f_0f0f_0f0f_0f0f;
        let pairs = (self.0 & EVERY_SECOND) + (self.0 >> 4 & EVERY_SECOND);
        (pairs.wrapping_mul(0x0101_0101_0101_0101) >> 56) as usize
    }

    /// The set as one number, to be kept elsewhere.
    #[inline(always)]
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The set that has this number.
    #[inline(always)]
    pub fn from_bits(bits: u64) -> SleepSet {
        SleepSet(bits)
    }

    /// These and those.
    #[inline(always)]
    pub fn and(self, others: SleepSet) -> SleepSet {
        SleepSet(self.0 | others.0)
    }

    /// These, or the empty set.
    #[inline(always)]
    pub fn only_if(self, condition: bool) -> SleepSet {
        SleepSet(self.0 & u64::from(condition).wrapping_neg())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_those_that_were_added() {
        let mut all = SleepSet::EMPTY;
        let steps = |process: usize| process * 7 % 16;
        for process in 0..40 {
            all = all.and(SleepSet::one(process, steps(process)));
        }
        for process in 0..40 {
            let expected = if process < SleepSet::PROCESSES { steps(process) } else { 0 };
            assert_eq!(all.of(process).steps(), expected, "process {process}");
        }
        assert_eq!(all.steps(), (0..SleepSet::PROCESSES).map(steps).sum());
        assert_eq!(SleepSet::one(1, 16), SleepSet::EMPTY);
        assert_eq!(all.only_if(false), SleepSet::EMPTY);
        assert_eq!(all.only_if(true), all);
    }
}
