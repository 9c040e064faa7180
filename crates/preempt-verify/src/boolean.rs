//! Boolean programs and pushdown systems.

use crate::{Control, Error, Event, Request};
use preempt_bool::{
    Certificate, Limits, Machine, Method, Options, Program, Switches, certify_search,
    nothing_to_check,
};
use preempt_check::{Check, Preemptions};
use preempt_core::{Claim, Stop, Unreached, Verdict};
use std::time::Duration;

/// Calls in progress that a search over states follows per thread.
const MOST_FRAMES: usize = 64;

/// Recursion over diagrams is as deep as there are bits.
const STACK: usize = 256 << 20;

/// How long, and in how many bytes, statements that are not reached are looked for.
const COVERAGE: Duration = Duration::from_secs(1);
const MOST_COVERAGE_BYTES: usize = 1 << 30;

/// What is asked of a program beyond the request.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// How; `None` chooses.
    pub method: Option<Method>,
    /// How many context switches, where the request bounds no preemptions.
    pub switches: Switches,
    /// The label to reach; `None` means `Target` and `SLIC_ERROR`. Assertions always count.
    pub target: Option<&'a str>,
    /// Write down why the answer is right.
    pub certificate: bool,
}

/// The answer, and the certificate that was asked for or why there is none.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The answer.
    pub claim: Claim,
    /// What can be checked independently.
    pub certificate: Option<Result<Certificate, String>>,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        let Options { method, switches, target, certificate, .. } = Options::default();
        Settings { method, switches, target, certificate }
    }
}

/// Checks that no target is reached and no assertion violated.
pub fn check(
    program: &Program,
    settings: &Settings<'_>,
    request: &Request,
    control: &Control<'_>,
) -> Result<Answer, Error> {
    let work = || match request.preemptions {
        Preemptions::Any => within_switches(program, settings, request, control),
        _ => within_preemptions(program, settings, request, control),
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        match thread.spawn_scoped(scope, work) {
            Ok(running) => running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // No room for such a stack: the one we have.
            Err(_) => work(),
        }
    })
}

/// LMP09's question: at most so many context switches of any kind.
fn within_switches(
    program: &Program,
    settings: &Settings<'_>,
    request: &Request,
    control: &Control<'_>,
) -> Result<Answer, Error> {
    let options = options(settings, request, control);
    let show = |progress: &preempt_bool::Progress| control.announce(Event::Symbolic(progress));
    let limits = Limits { progress: Some(&show), ..options.limits };
    let options = Options { limits, ..options };
    let answer = preempt_bool::check(program, &options);
    control.announce(Event::SearchEnded);
    let report = answer.map_err(|diagnostic| Error::Boolean(vec![diagnostic]))?;
    let (mut claim, certificate) = (report.claim, report.certificate);
    claim.notes.insert(0, format!("method {}: {}", report.method.name(), report.why));
    if request.threads > 1 {
        claim
            .notes
            .push("one thread was used: for Boolean programs only --bound uses several".into());
    }
    Ok(Answer { claim, certificate })
}

/// The statements that no execution reaches, if all states can be looked at in about a second.
pub fn unreached(program: &Program, control: &Control<'_>) -> Option<Vec<Unreached>> {
    let machine = Machine::new(program, None, MOST_FRAMES).ok()?;
    let left = control.time_left().map_or(COVERAGE, |left| left.min(COVERAGE));
    let search = preempt_check::Options {
        deadlocks: false,
        time: Some(left),
        memory: Some(MOST_COVERAGE_BYTES),
        ..Request::default().options(String::new(), false)
    };
    let answer = Check::new(&machine).options(search).interrupt(control.flag()).run();
    (answer.claim.verdict == Verdict::Holds).then_some(answer.claim.unreached)
}

fn options<'a>(
    settings: &Settings<'a>,
    request: &Request,
    control: &'a Control<'_>,
) -> Options<'a> {
    Options {
        method: settings.method,
        switches: settings.switches,
        target: settings.target,
        certificate: settings.certificate,
        limits: Limits {
            memory_bytes: request.memory,
            time: control.time_left(),
            interrupt: Some(control.flag()),
            progress: None,
        },
        ..Options::default()
    }
}

/// At most so many preemptions: a search over states with their stacks.
fn within_preemptions(
    program: &Program,
    settings: &Settings<'_>,
    request: &Request,
    control: &Control<'_>,
) -> Result<Answer, Error> {
    let wrong = |diagnostic| Error::Boolean(vec![diagnostic]);
    if let Some(claim) = nothing_to_check(program, settings.target).map_err(wrong)? {
        let none = || Err("there is nothing to check".into());
        return Ok(Answer { claim, certificate: settings.certificate.then(none) });
    }
    let machine = Machine::new(program, settings.target, MOST_FRAMES).map_err(wrong)?;
    let property = "no target reached, no assertion violated".into();
    let search = preempt_check::Options {
        deadlocks: false,
        time: control.time_left(),
        ..request.options(property, false)
    };
    let answer = control.watch(|listener| {
        let check = Check::new(&machine).options(search);
        check.interrupt(control.flag()).progress(listener).run()
    });
    let mut claim = answer.claim;
    if let Some(trace) = claim.violation.as_mut().map(|violation| &mut violation.trace)
        && let Some(observed) = preempt_bool::observed(&machine, &trace.raw)
        && observed.steps.len() == trace.steps.len()
    {
        (trace.initial, trace.observations) = (observed.initial, observed.observations);
        for (step, observed) in trace.steps.iter_mut().zip(observed.steps) {
            step.changes = observed.changes;
        }
    }
    if claim.verdict == Verdict::Inconclusive(Stop::Depth) {
        claim.notes.push(format!(
            "under a bound on preemptions stacks are followed up to {MOST_FRAMES} calls; without one there is no such limit"
        ));
    }
    let certificate = settings.certificate.then(|| {
        let steps = claim.violation.as_ref().map_or(&[][..], |violation| &violation.trace.raw);
        certify_search(&machine, claim.verdict, steps, &options(settings, request, control))
    });
    Ok(Answer { claim, certificate })
}
