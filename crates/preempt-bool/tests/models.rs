//! Every model states its verdicts in its header; all methods must find them.

use preempt_bool::{Dialect, Method, Options, Program, Switches, check, parse};
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
        let (program, _) =
            parse(&source, &name, Dialect::Slam).unwrap_or_else(|e| panic!("{}", e[0]));
        let lines = source.lines().filter_map(|l| l.strip_prefix("// expect: "));
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
            eprintln!(
                "{name} {}: {} {:.4}s {:?}",
                method.name(),
                claim.sentence,
                claim.statistics.seconds,
                claim.notes
            );
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

#[test]
fn explicit_search_finds_the_stated_verdicts() {
    verify(Method::Explicit, &["8-8"]);
}

#[test]
fn direct_search_finds_the_stated_verdicts() {
    verify(Method::Direct, &[]);
}

#[test]
fn the_lazy_translation_finds_the_stated_verdicts() {
    verify(Method::Lazy, &["8-8"]);
}

#[test]
fn the_eager_translation_finds_the_stated_verdicts() {
    verify(Method::Eager, &["8-8", "2-2", "2-1"]);
}
