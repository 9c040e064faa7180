//! Every model states its verdicts in its header; all methods must find them.

use preempt_bool::{Dialect, Method, Options, Switches, check, parse};
use preempt_core::Verdict;

#[test]
fn models_have_the_verdicts_they_state() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/boolean");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let source = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().to_string();
        let (program, _) =
            parse(&source, &name, Dialect::Slam).unwrap_or_else(|e| panic!("{}", e[0]));
        for line in source.lines().filter_map(|l| l.strip_prefix("// expect: ")) {
            let (verdict, switches) = line.split_once(" switches=").unwrap();
            let switches = if switches == "any" {
                Switches::Iterate(100)
            } else {
                Switches::AtMost(switches.parse().unwrap())
            };
            if name.contains("8-8") {
                continue;
            }
            let start = std::time::Instant::now();
            let report = check(
                &program,
                &Options { method: Some(Method::Explicit), switches, ..Options::default() },
            )
            .unwrap();
            eprintln!(
                "{name} {line}: {} {} {:?} {}",
                report.claim.sentence,
                report.claim.statistics.states,
                start.elapsed(),
                report.claim.notes.join(" ")
            );
            match verdict {
                "holds" => assert!(matches!(
                    report.claim.verdict,
                    Verdict::Holds | Verdict::HoldsWithinBound(_)
                )),
                _ => assert_eq!(report.claim.verdict, Verdict::Violated),
            }
            seen += 1;
        }
    }
    assert!(seen > 5);
}
