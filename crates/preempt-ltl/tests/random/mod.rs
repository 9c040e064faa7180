//! Seeded random numbers and formulas for the tests.

use preempt_ltl::Formula;
pub(crate) use preempt_testing::Random;

/// A formula with `size` operators and leaves over `propositions` propositions.
pub(crate) fn formula(random: &mut Random, size: usize, propositions: u64, next: bool) -> Formula {
    if size <= 1 {
        return match random.next_number() % 12 {
            0 => Formula::True,
            1 => Formula::False,
            _ => Formula::Prop((random.next_number() % propositions) as u32),
        };
    }
    let unary = size == 2 || random.next_number().is_multiple_of(3);
    if unary {
        let inner = formula(random, size - 1, propositions, next);
        return match random.next_number() % 4 {
            0 => inner.not(),
            1 => inner.always(),
            2 if next => inner.next(),
            _ => inner.eventually(),
        };
    }
    let left = 1 + (random.next_number() % (size as u64 - 2)) as usize;
    let f = formula(random, left, propositions, next);
    let g = formula(random, size - 1 - left, propositions, next);
    match random.next_number() % 8 {
        0 => f.and(g),
        1 => f.or(g),
        2 => f.implies(g),
        3 => f.equivalent(g),
        4 => f.weak_until(g),
        5 => f.release(g),
        _ => f.until(g),
    }
}

/// How many random cases to try: `PREEMPT_LTL_CASES` makes a campaign of the test suite.
pub(crate) fn cases(usual: usize) -> usize {
    let wanted = std::env::var("PREEMPT_LTL_CASES").ok();
    wanted.and_then(|n| n.parse().ok()).unwrap_or(usual)
}
