//! Remarks about counterexamples of random programs: what steps looked at and why the last one fails, by the
//! plain interpreter, against the states of the machine.

use super::{program, seeds};
use crate::explicit::Machine;
use crate::{Dialect, parse};
use preempt_core::{Describe, System};

#[test]
fn remarks_have_the_values_of_the_machine() {
    let (mut values, mut reasons) = (0, 0);
    for seed in seeds(150) {
        let source = program(seed, false);
        let (program, _) = parse(&source, "random.bp", Dialect::Slam).unwrap();
        let machine = Machine::new(&program, None, 8).unwrap();
        let options = preempt_check::Options { deadlocks: false, ..Default::default() };
        let claim = preempt_check::Check::new(&machine).options(options).run().claim;
        let Some(violation) = claim.violation else { continue };
        let Some(observed) = crate::observed(&machine, &violation.trace.raw) else { continue };
        let remarks = observed.observations;
        assert_eq!(remarks.seen.len(), violation.trace.raw.len(), "{source}");
        let mut state = Vec::new();
        machine.initial(&mut state);
        for (step, seen) in violation.trace.raw.iter().zip(&remarks.seen) {
            let known = machine.variables(&state);
            let by_machine = machine.seen(&state, *step);
            assert!(seen.iter().all(|one| by_machine.contains(one)), "{by_machine:?}\n{source}");
            for (name, value) in seen {
                // What belongs to `init` is not listed.
                let Some((_, there)) = known.iter().find(|(other, _)| other == name) else {
                    continue;
                };
                assert_eq!(there, value, "{name}\n{source}");
                values += 1;
            }
            if std::ptr::eq(seen, remarks.seen.last().unwrap()) {
                assert_eq!(machine.reasons(&state, *step), remarks.reasons, "{source}");
                let own = format!("{}.", machine.process_name(&state, step.process));
                for reason in &remarks.reasons {
                    let Some((_, told)) = reason.split_once(" false: ") else { continue };
                    for (name, value) in told.split(", ").filter_map(|part| part.split_once(" is "))
                    {
                        let named = |(other, _): &&(String, _)| {
                            other == name || *other == format!("{own}{name}")
                        };
                        let there =
                            known.iter().find(named).unwrap_or_else(|| panic!("{name}\n{source}"));
                        assert_eq!(there.1.to_string(), value, "{reason}\n{source}");
                        reasons += 1;
                    }
                }
            }
            machine.apply(&mut state, *step);
        }
    }
    eprintln!("{values} values seen, {reasons} in reasons");
    assert!(values > 100 && reasons > 10, "{values} {reasons}");
}
