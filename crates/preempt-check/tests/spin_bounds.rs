//! Searches by Spin's rules give the numbers of Spin 6.5.2 built with `-DBCS`, to the digit.
//!
//! `data/spin-bounded.tsv` and `data/spin-trails.tsv` hold what the real tool printed; they agree
//! with [HF] Tables 1 to 4 wherever both have a cell (but for misprints). The models are Debian's
//! examples, and `worst_case.pml` from [HF]'s appendix. Rows with many transitions are only run when
//! `PREEMPT_TEST_ALL` is set.

mod promela;

use preempt_check::property::{Product, Property, PropertyMove, Stutter};
use preempt_check::{Check, Compatibility, Options, Preemptions, Reduction, Search, Storage};
use preempt_core::{Fault, FaultKind, Statistics};
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::LowerOptions;
use std::collections::HashMap;

/// The model, which notices broken `xr` and `xs`: only Spin's builds with reduction look at them.
fn model(name: &str) -> Option<Interpreter> {
    let usual = LowerOptions { safe_as_spin: true, ..LowerOptions::default() };
    let plain = LowerOptions { merge: false, reset_dead: false, hide_unread: false, ..usual };
    let (path, options) = match name {
        "worst" => (Some(promela::ours("worst_case.pml")), usual),
        "pftpLTL" => (promela::debian("LTL/pftp.pml"), usual),
        "pftpLTL_o2o3" => (promela::debian("LTL/pftp.pml"), plain),
        "snoopy" | "dtp" | "cambridge" => (promela::debian(&format!("{name}.pml")), usual),
        _ => (None, usual),
    };
    Some(promela::load(&path?, &[], options))
}

fn options(flags: &str, bound: u32, max_errors: u64) -> Options {
    let reduce = !flags.contains("-DNOREDUCE");
    Options {
        search: Search::Depth,
        storage: Storage::Exact,
        memory: Some(1 << 30),
        reduction: if reduce { Reduction::Spin } else { Reduction::None },
        preemptions: Preemptions::AtMost(bound),
        compatibility: if flags.contains("-DSAFETY") {
            Compatibility::Spin
        } else {
            Compatibility::SpinWithoutSafety
        },
        first: true,
        max_errors,
        ..Options::default()
    }
}

/// The bound in pan's arguments.
fn bound(arguments: &str) -> Option<u32> {
    arguments.split(' ').find_map(|word| word.strip_prefix("-L"))?.parse().ok()
}

/// A claim with one state, whose assertion is the only thing it does. As in Spin the execution goes
/// on behind a violation.
struct OneAssertion(usize);

impl Property for OneAssertion {
    fn initial(&self) -> u32 {
        0
    }
    fn moves(
        &self,
        _state: u32,
        holds: &mut dyn FnMut(usize) -> bool,
        emit: &mut dyn FnMut(PropertyMove),
    ) {
        if !holds(self.0) {
            emit(PropertyMove::Violates { to: 0, assertion: 0 });
        }
        emit(PropertyMove::To(0));
    }
    fn is_accepting(&self, _state: u32) -> bool {
        false
    }
    fn assertion(&self, _number: u32) -> Fault {
        let message = "assertion of the claim violated".into();
        Fault { kind: FaultKind::Assertion, message, file: String::new(), line: 0 }
    }
}

/// Checks a model, with its claim if that is the one of the worst case.
fn run(name: &str, system: &Interpreter, options: Options) -> (Statistics, Option<usize>) {
    let claim = if name == "worst" {
        let asserted = &system.program().claims[0].states.iter().find_map(|state| {
            state.transitions.iter().find_map(|transition| transition.asserts.first())
        });
        let property = OneAssertion(asserted.expect("an assertion").0 as usize);
        let product = Product::new(system, &property, Stutter::Extend);
        Check::new(&product).options(options).run().claim
    } else {
        Check::new(system).options(options).run().claim
    };
    let blocks = claim.violation.map(|violation| violation.trace.blocks());
    (claim.statistics, blocks)
}

#[test]
fn table_1() {
    let most = if std::env::var_os("PREEMPT_TEST_ALL").is_some() { u64::MAX } else { 110_000 };
    let mut models: HashMap<String, Option<Interpreter>> = HashMap::new();
    let (mut compared, mut wrong) = (0, Vec::new());
    for line in include_str!("data/spin-bounded.tsv").lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [name, flags, arguments, _, stored, matched, transitions, depth, errors, ..] =
            cells[..]
        else {
            panic!("{line}");
        };
        let number = |cell: &str| cell.parse::<u64>().expect("a number");
        let broken_promise = line.contains("partial order reduction invalid");
        let most = if broken_promise { most.max(400_000) } else { most };
        let Some(bound) = bound(arguments).filter(|_| number(transitions) <= most) else {
            continue;
        };
        let key = format!("{name} {broken_promise}");
        let system = models
            .entry(key)
            .or_insert_with(|| model(name).map(|model| model.check_promises(broken_promise)));
        let Some(system) = system else { continue };
        let (ours, _) = run(name, system, options(flags, bound, 0));
        // Spin asks about a promise whenever it looks at a step, also at one that is blocked, so its
        // number of these errors says nothing; that there are some does.
        let errors = if broken_promise { ours.errors.max(1) } else { number(errors) };
        // The worst case has a claim, and Spin counts the claim's own move from the deepest state.
        let depth = number(depth) - u64::from(name == "worst");
        let ours = [ours.states, ours.matched, ours.transitions, ours.errors, ours.depth];
        let [stored, matched, transitions] = [stored, matched, transitions].map(number);
        let spins = [stored, matched, transitions, errors, depth];
        if std::env::var_os("V").is_some() {
            eprintln!("{name} {flags} L{bound}: {ours:?} {spins:?}");
        }
        compared += 1;
        if ours != spins {
            wrong.push(format!("{name} {flags} -L{bound}: {ours:?}, Spin {spins:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {compared}:\n{}", wrong.len(), wrong.join("\n"));
}

/// [HF] Tables 2 to 4: states and transitions up to the first error, and the blocks of its trail.
#[test]
fn tables_2_to_4() {
    let mut models: HashMap<String, Option<Interpreter>> = HashMap::new();
    for line in include_str!("data/spin-trails.tsv").lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let (name, flags, arguments) = (cells[0], cells[1], cells[2]);
        let Some(bound) = bound(arguments) else { continue };
        // There is no search that looks for ever shorter counterexamples: the shortest is found exactly.
        if flags.contains("-DREACH") {
            continue;
        }
        let Some(system) = models.entry(name.to_owned()).or_insert_with(|| model(name)) else {
            continue;
        };
        let (ours, blocks) = run(name, system, options(flags, bound, 1));
        let switches: usize =
            cells[6].rsplit(' ').next().and_then(|n| n.parse().ok()).expect("a number");
        assert_eq!(blocks, Some(switches + 1), "{line}");
        let numbers = format!("{} {}", ours.states, ours.transitions);
        assert_eq!(numbers, format!("{} {}", cells[3], cells[4]), "{line}");
    }
}

/// [HF] Tables 2 and 3 for the worst case: found at bound 9, not at 8, always with ten blocks.
#[test]
fn worst_case_to_the_first_error() {
    let Some(system) = model("worst") else { return };
    for (flags, states, transitions) in
        [("-DSAFETY -DNOREDUCE", 59058, 517742), ("-DSAFETY", 49224, 266645)]
    {
        let (ours, blocks) = run("worst", &system, options(flags, 16, 1));
        assert_eq!((ours.states, ours.transitions, blocks), (states, transitions, Some(10)));
        let (ours, blocks) = run("worst", &system, options(flags, 8, 1));
        assert_eq!((ours.errors, blocks), (0, None));
    }
}
