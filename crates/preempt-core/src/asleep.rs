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

/// The processes that sleep in a state, and how many steps each of them has there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Asleep(u64);

impl Asleep {
    /// Everybody is awake.
    pub const NOBODY: Asleep = Asleep(0);
    /// Processes from this one on never sleep.
    pub const PROCESSES: usize = 21;
    /// A process with more steps than this does not sleep.
    pub const STEPS: usize = 7;

    /// One process that has so many steps; nobody if that cannot be told.
    #[inline(always)]
    pub fn one(process: usize, steps: usize) -> Asleep {
        if process >= Asleep::PROCESSES || steps > Asleep::STEPS {
            return Asleep::NOBODY;
        }
        // One word of 21 bits for each of the three bits of the number.
        let steps = steps as u64;
        let planes = steps & 1 | (steps >> 1 & 1) << 21 | (steps >> 2) << 42;
        Asleep(planes << process)
    }

    /// How many steps a process has, if it sleeps; otherwise 0.
    #[inline(always)]
    pub fn steps_of(self, process: usize) -> usize {
        if process >= Asleep::PROCESSES {
            return 0;
        }
        let planes = self.0 >> process;
        (planes & 1 | (planes >> 21 & 1) << 1 | (planes >> 42 & 1) << 2) as usize
    }

    /// How many steps all sleepers have.
    #[inline(always)]
    pub fn steps(self) -> usize {
        let all = self.0.count_ones();
        let upper = (self.0 >> 21).count_ones();
        let uppermost = (self.0 >> 42).count_ones();
        (all + upper + 2 * uppermost) as usize
    }

    /// These and those.
    #[inline(always)]
    pub fn and(self, others: Asleep) -> Asleep {
        Asleep(self.0 | others.0)
    }

    /// These, or nobody.
    #[inline(always)]
    pub fn only_if(self, condition: bool) -> Asleep {
        Asleep(self.0 & u64::from(condition).wrapping_neg())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_those_that_were_told() {
        let mut all = Asleep::NOBODY;
        let steps = |process: usize| process % 8;
        for process in 0..40 {
            all = all.and(Asleep::one(process, steps(process)));
        }
        for process in 0..40 {
            let expected = if process < Asleep::PROCESSES { steps(process) } else { 0 };
            assert_eq!(all.steps_of(process), expected, "process {process}");
        }
        assert_eq!(all.steps(), (0..Asleep::PROCESSES).map(steps).sum());
        assert_eq!(Asleep::one(1, 8), Asleep::NOBODY);
        assert_eq!(all.only_if(false), Asleep::NOBODY);
        assert_eq!(all.only_if(true), all);
    }
}
