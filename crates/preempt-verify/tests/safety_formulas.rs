//! Formulas that finite executions violate: the verdict of these executions is that of a search for infinite ones.

#[path = "../../preempt-promela/tests/random/mod.rs"]
#[allow(dead_code)]
mod random;

use preempt_core::Verdict;
use preempt_verify::promela::{
    Checker, Property, Selection, Settings, in_finite_executions, read, select,
};
use preempt_verify::{Control, Reduction, Request};
use random::{Random, properties};

fn kind(text: &str, formula: &str) -> Option<Property> {
    let mut model = read("model.pml", text).ok()?;
    let selection = Selection { formula: Some(formula.into()), ..Selection::default() };
    let property = *select(&mut model, &selection).ok()?.first()?;
    in_finite_executions(&model, &Settings::default(), property, &Control::new()).ok()
}

#[test]
fn formulas_of_both_kinds() {
    let text = "byte x; active proctype p() { do :: x < 3 -> x++ :: else -> x = 0 od }";
    for safe in ["[] (x < 4)", "[] (x == 1 -> X (x != 1))", "(x < 2) W (x == 2)", "X X (x < 2)"] {
        assert_eq!(kind(text, safe), Some(Property::BadPrefix(0)), "{safe}");
    }
    for other in
        ["<> (x == 3)", "[] <> (x == 0)", "(x < 2) U (x == 2)", "[] (x < 4) && <> (x == 3)"]
    {
        assert_eq!(kind(text, other), Some(Property::Formula(0)), "{other}");
    }
}

/// `PREEMPT_SAFETY_FORMULAS` sets the number of random models.
#[test]
fn the_verdict_is_that_of_infinite_executions() {
    let count = std::env::var("PREEMPT_SAFETY_FORMULAS").ok().and_then(|text| text.parse().ok());
    let (mut compared, mut violated) = (0, 0);
    for seed in 0..count.unwrap_or(120) {
        let random = &mut Random::new(seed);
        let text = random::make(random, None).text();
        let text = format!("#define p (g == 1)\n#define q (h < 2 && flag)\n{text}");
        let formula = match random.below(2) {
            0 => properties::formula(random, 2),
            _ => format!("[] ({})", properties::formula(random, 1)),
        };
        let Some(property @ Property::BadPrefix(index)) = kind(&text, &formula) else { continue };
        let mut model = read("model.pml", &text).expect("a model");
        let selection = Selection { formula: Some(formula.clone()), ..Selection::default() };
        select(&mut model, &selection).expect("a formula");
        let (settings, control) = (&Settings::default(), &Control::new());
        let request = &Request { reduction: Reduction::None, ..Request::default() };
        let checker = Checker { model: &model, settings, request, control };
        let check = |property| checker.check(property).expect("a claim").claim;
        let (finite, infinite) = (check(property), check(Property::Formula(index)));
        assert_eq!(finite.verdict, infinite.verdict, "seed {seed}: {formula}\n{text}");
        compared += 1;
        violated += u32::from(finite.verdict == Verdict::Violated);
    }
    println!("{compared} formulas, {violated} of them violated");
    assert!(compared > 20 && violated > 5 && violated < compared);
}
