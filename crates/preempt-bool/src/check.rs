//! The one entry point: a program, a question, an answer with what it rests on.

use crate::Diagnostic;
use crate::certificate::{self, Certificate};
use crate::choice::{by, choose};
use crate::engines::Finding;
use crate::flow::{Mark, Program};
use crate::limits::Watch;
use crate::options::{Method, Options, Switches};
use crate::replay::{Context, Replayed};
use preempt_core::{BoundUnit, Claim, Statistics, Stop, Verdict, Violation, ViolationKind};

/// The answer.
#[derive(Clone, Debug)]
pub struct Report {
    /// The verdict; its bound counts context switches.
    pub claim: Claim,
    /// How it was found.
    pub method: Method,
    /// Why that method.
    pub why: String,
    /// The contexts of the counterexample.
    pub contexts: Vec<Context>,
    /// The smallest number of switches for which a violation is known to exist.
    pub switches: Option<u32>,
    /// The certificate that was asked for, or why there is none.
    pub certificate: Option<Result<Certificate, String>>,
}

/// Most threads that are made for `start_thread`s that may run more than once.
const MAX_INSTANCES: u32 = 16;

/// Answers the question. Fails when the target label does not exist, and when the question is about
/// rounds and the program starts any number of threads.
pub fn check(program: &Program, options: &Options<'_>) -> Result<Report, Diagnostic> {
    let watch = Watch::new(options.limits);
    if program.instances.is_none() {
        return answer_about(program, options, watch);
    }
    let (most, kind): (u32, fn(u32) -> Switches) = match options.switches {
        Switches::AtMost(most) => (most, Switches::AtMost),
        Switches::Iterate(most) => (most, Switches::Iterate),
        Switches::Rounds(_) => return Err(program.not_fixed()),
    };
    let searched = most.min(MAX_INSTANCES);
    let more = program.with_threads_for(searched as usize)?;
    let options = Options { switches: kind(searched), ..*options };
    let mut report = answer_about(more.as_ref().unwrap_or(program), &options, watch)?;
    let claim = &mut report.claim;
    if searched < most && matches!(claim.verdict, Verdict::HoldsWithinBound(_)) {
        claim.verdict = Verdict::Inconclusive(Stop::Depth);
        claim.sentence = format!(
            "{}; more switches are not searched, because the number of threads is not fixed",
            claim.sentence
        );
    }
    Ok(report)
}

fn answer_about(
    program: &Program,
    options: &Options<'_>,
    watch: Watch<'_>,
) -> Result<Report, Diagnostic> {
    let targets = program.targets(options.target)?;
    if let Some(claim) = nothing_to_check(program, options.target)? {
        return Ok(report_nothing(claim, options, &watch));
    }
    let (method, why, mut finding) = match options.method {
        Some(Method::Lazy | Method::Eager) if options.switches.counts_rounds() => {
            let finding = by(Method::Direct, program, &targets, u64::MAX, options, &watch);
            (Method::Direct, "the translations do not support rounds".into(), finding)
        }
        Some(method) => {
            let finding = by(method, program, &targets, u64::MAX, options, &watch);
            (method, "it was asked for".into(), finding)
        }
        None => choose(program, &targets, options, &watch),
    };
    if program.instances.is_some() && std::mem::take(&mut finding.exhausted) {
        // With more switches there are more threads.
        finding.covered = Some(options.switches.most());
    }
    let most = options.switches.most();
    let searched = finding.covered.is_some_and(|k| k < most) && !options.switches.counts_rounds();
    if searched && finding.replayed.is_none() && finding.stop.is_none() && !finding.exhausted {
        // An engine has a limit of its own.
        finding.stop = Some(Stop::Depth);
    }
    finding.statistics.seconds = watch.seconds();
    let moves = finding.replayed.as_mut().map(|replayed| std::mem::take(&mut replayed.moves));
    let mut report = report(program, finding, method, why, options);
    report.certificate = options.certificate.then(|| match (moves, report.claim.verdict) {
        (Some(moves), Verdict::Violated) => {
            certificate::execution(program, &moves, options, &watch)
        }
        (_, verdict) => certificate::of_verdict(program, verdict, options, &watch),
    });
    Ok(report)
}

/// The answer about a program in which nothing is to be reached: it has neither an assertion nor the target.
/// `None` if there is something to search for.
pub fn nothing_to_check(
    program: &Program,
    target: Option<&str>,
) -> Result<Option<Claim>, Diagnostic> {
    if !program.targets(target)?.is_empty() {
        return Ok(None);
    }
    let labels = program.labels();
    let sentence = if program.is_pushdown {
        "nothing to check: no target was given; name the configuration that should not be reached with \
         --target 'STATE|TOP,TOP,…', or in a file beside the system that ends in .spec"
            .into()
    } else {
        let known = match labels.is_empty() {
            true => "this program has no labels".into(),
            false => format!("this program has {}", labels.join(", ")),
        };
        format!(
            "nothing to check: the program has no assertion and no label Target or SLIC_ERROR; name the label that \
             should not be reached with --target LABEL ({known})"
        )
    };
    Ok(Some(Claim {
        property: "nothing".into(),
        verdict: Verdict::Nothing,
        sentence,
        violation: None,
        statistics: Statistics::default(),
        unreached: Vec::new(),
        notes: Vec::new(),
    }))
}

fn report_nothing(mut claim: Claim, options: &Options<'_>, watch: &Watch<'_>) -> Report {
    claim.statistics.seconds = watch.seconds();
    let method = options.method.unwrap_or(Method::Explicit);
    let why = "there is nothing to search for".into();
    let no_certificate = || Err("there is nothing to check".into());
    let certificate = options.certificate.then(no_certificate);
    Report { claim, method, why, contexts: Vec::new(), switches: None, certificate }
}

fn report(
    program: &Program,
    finding: Finding,
    method: Method,
    why: String,
    options: &Options<'_>,
) -> Report {
    let property = match options.target {
        Some(label) => format!("the label {label} and failed assertions are unreachable"),
        None => "the labels Target and SLIC_ERROR and failed assertions are unreachable".into(),
    };
    let Finding { replayed, covered, exhausted, stop, cut, remembers, mut statistics, notes } =
        finding;
    statistics.bound_unit = match options.switches.counts_rounds() {
        true => BoundUnit::Rounds,
        false => BoundUnit::Switches,
    };
    let why = match remembers {
        Some(kept) => format!("{why}; it keeps {kept}"),
        None => why,
    };
    let mut contexts = Vec::new();
    let mut switches = None;
    let (verdict, sentence, violation) = match replayed {
        Some(mut replayed) => {
            statistics.errors = statistics.errors.max(1);
            let cost = replayed.trace.cost().switches;
            switches = Some(cost);
            contexts = std::mem::take(&mut replayed.contexts);
            let violation = violation(program, replayed, method == Method::Explicit && !cut);
            let sentence = format!("{} with {}", violation.message, count(cost));
            (Verdict::Violated, sentence, Some(violation))
        }
        None if exhausted => {
            let sentence = "no execution reaches it, with any number of context switches".into();
            (Verdict::Holds, sentence, None)
        }
        None => {
            let (verdict, sentence) = covers(covered, stop, options.switches.counts_rounds());
            (verdict, sentence, None)
        }
    };
    let claim =
        Claim { property, verdict, sentence, violation, statistics, unreached: Vec::new(), notes };
    Report { claim, method, why, contexts, switches, certificate: None }
}

fn violation(program: &Program, replayed: Replayed, simplest: bool) -> Violation {
    let (mark, line) = program.mark(replayed.mark.0, replayed.mark.1);
    let (kind, message) = match mark {
        Mark::Label(label) => (ViolationKind::Reachable, format!("the label {label} is reached")),
        Mark::Assertion(text) => (ViolationKind::Assertion, format!("assertion violated: {text}")),
    };
    let (file, trace) = (program.file.clone(), replayed.trace);
    Violation { kind, message, file, line, trace, simplest, stale: None }
}

/// What is known after a search within bounds that found nothing.
fn covers(covered: Option<u32>, stop: Option<Stop>, rounds: bool) -> (Verdict, String) {
    match (covered, stop) {
        (Some(k), None) if rounds => {
            let rounds = k.saturating_add(1);
            let sentence = format!("no execution of at most {rounds} rounds reaches it");
            (Verdict::HoldsWithinBound(rounds), sentence)
        }
        (Some(k), None) => {
            let sentence = format!(
                "no execution with at most {} reaches it; any other needs at least {}",
                count(k),
                k + 1
            );
            (Verdict::HoldsWithinBound(k), sentence)
        }
        (covered, stop) => {
            let stop = stop.unwrap_or(Stop::Fault);
            let sentence = match covered {
                Some(k) if !rounds => {
                    format!("{stop}; no execution with at most {} reaches it", count(k))
                }
                _ => format!("{stop}; nothing is known"),
            };
            (Verdict::Inconclusive(stop), sentence)
        }
    }
}

fn count(switches: u32) -> String {
    match switches {
        0 => "no context switch".into(),
        1 => "1 context switch".into(),
        n => format!("{n} context switches"),
    }
}
