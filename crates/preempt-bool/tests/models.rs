//! Every model states its verdicts in its header; all methods must find them.

use preempt_bool::{Dialect, Method, Options, Program, Switches, check, parse, parse_pushdown};
use preempt_core::Verdict;

struct Expectation {
    violated: bool,
    /// `None` is every number.
    switches: Option<u32>,
}

fn models() -> Vec<(String, Program, Vec<Expectation>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/boolean");
    let mut models = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let source = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().to_string();
        let beside = |ending: &str| std::fs::read_to_string(path.with_extension(ending)).unwrap();
        let (program, comment) = match path.extension().and_then(|e| e.to_str()) {
            Some("bp") => (parse(&source, &name, Dialect::Slam).map(|(p, _)| p), "// expect: "),
            Some("pds") => {
                let (initial, target) = (beside("init"), beside("spec"));
                (parse_pushdown(&source, &name, Some(&initial), Some(&target)), "# expect: ")
            }
            _ => continue,
        };
        let program = program.unwrap_or_else(|e| panic!("{}", e[0]));
        let lines = source.lines().filter_map(|l| l.strip_prefix(comment));
        let expectations = lines
            .map(|line| {
                let (verdict, switches) = line.split_once(" switches=").unwrap();
                assert!(["holds", "violated"].contains(&verdict), "{name}: {line}");
                let switches = (switches != "any").then(|| switches.parse().unwrap());
                Expectation { violated: verdict == "violated", switches }
            })
            .collect();
        models.push((name, program, expectations));
    }
    models.sort_by(|a, b| a.0.cmp(&b.0));
    models
}

fn verify(method: Method, skip: &[&str]) {
    let mut seen = 0;
    for (name, program, expectations) in models() {
        if skip.iter().any(|s| name.contains(s)) {
            continue;
        }
        for expected in expectations {
            let switches = match (expected.switches, method) {
                (Some(k), _) => Switches::AtMost(k),
                (None, Method::Explicit) => Switches::Iterate(1000),
                (None, _) => Switches::AtMost(3),
            };
            let options = Options { method: Some(method), switches, ..Options::default() };
            let report = check(&program, &options).unwrap();
            let claim = &report.claim;
            if expected.violated {
                assert_eq!(claim.verdict, Verdict::Violated, "{name} {}", claim.sentence);
                assert_eq!(report.switches, expected.switches, "{name}");
            } else {
                let holds = matches!(claim.verdict, Verdict::Holds | Verdict::HoldsWithinBound(_));
                assert!(holds, "{name} {method:?}: {}", claim.sentence);
            }
            seen += 1;
        }
    }
    assert!(seen > 5);
}

/// Models on which a method takes long, or of which it knows too little.
const MANY_STATES: &[&str] = &["8-8", "3-3", "wide"];
const UNBOUNDED_STACKS: &[&str] = &["recursive", "producer", "callback"];

#[test]
fn explicit_search_finds_the_stated_verdicts() {
    verify(Method::Explicit, &[MANY_STATES, UNBOUNDED_STACKS].concat());
}

#[test]
fn direct_search_finds_the_stated_verdicts() {
    verify(Method::Direct, &[]);
}

#[test]
fn the_lazy_translation_finds_the_stated_verdicts() {
    verify(Method::Lazy, MANY_STATES);
}

#[test]
fn the_eager_translation_finds_the_stated_verdicts() {
    verify(Method::Eager, &["8-8", "3-3", "wide", "2-2", "2-1", "fibonacci"]);
}

#[test]
fn the_chosen_method_proves_what_holds_for_every_number() {
    let mut proofs = 0;
    for (name, program, expectations) in models() {
        let switches = Switches::Iterate(6);
        if expectations.iter().any(|e| e.switches.is_none()) {
            let report = check(&program, &Options { switches, ..Options::default() }).unwrap();
            assert_eq!(report.claim.verdict, Verdict::Holds, "{name}: {}", report.claim.sentence);
            proofs += 1;
        }
    }
    assert!(proofs >= 6);
}
