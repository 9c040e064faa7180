//! Every certificate is accepted, and none that was changed.

use super::{Certificate, Says};
use crate::limits::Limits;
use crate::options::{Options, Switches};
use crate::torture::{program, random};
use crate::{Dialect, Program, check, parse};
use preempt_core::Verdict;
use preempt_testing::Random;

/// What became of a program.
struct Answer {
    program: Program,
    verdict: Verdict,
    certificate: Result<Certificate, String>,
}

fn answer(source: &str) -> Answer {
    let (program, _) = parse(source, "random.bp", Dialect::Slam).unwrap();
    let limits = Limits { memory_bytes: Some(256 << 20), ..Limits::default() };
    let options =
        Options { switches: Switches::Iterate(4), certificate: true, limits, ..Options::default() };
    let report = check(&program, &options).unwrap();
    let certificate = report.certificate.unwrap();
    Answer { program, verdict: report.claim.verdict, certificate }
}

fn accepts(certificate: &Certificate, program: &Program) -> bool {
    certificate.check(program, &|| false).is_ok()
}

/// Whether a text is accepted as a certificate about the program.
fn is_accepted(text: &str, program: &Program) -> bool {
    Certificate::from_json(text).is_ok_and(|certificate| accepts(&certificate, program))
}

#[test]
fn random_programs_have_certificates_and_damaged_ones_are_refused() {
    let mut random = random(7);
    let (mut holds, mut violated, mut none, mut damaged) = (0, 0, Vec::new(), 0);
    let wanted = std::env::var("PREEMPT_CERTIFICATES").ok().and_then(|n| n.parse().ok());
    let wanted: usize = wanted.unwrap_or(80);
    for seed in 0..20 * wanted as u64 {
        if holds + violated >= wanted {
            break;
        }
        let source = program(seed, seed % 3 == 0);
        if parse(&source, "random.bp", Dialect::Slam).unwrap().0.thread_count() > 3 {
            continue; // It has many states.
        }
        let Answer { program, verdict, certificate } = answer(&source);
        let certificate = match (verdict, certificate) {
            (Verdict::Holds | Verdict::Violated, Ok(certificate)) => certificate,
            (Verdict::Holds | Verdict::Violated, Err(why)) => {
                none.push((seed, why));
                continue;
            }
            (_, given) => {
                assert!(given.is_err(), "seed {seed}: {verdict:?}\n{source}");
                continue;
            }
        };
        match certificate.says {
            Says::Holds { .. } => holds += 1,
            Says::Violated { .. } => violated += 1,
        }
        let text = certificate.to_json();
        assert!(is_accepted(&text, &program), "seed {seed}\n{source}");
        if certificate.len() > 5_000 {
            continue;
        }
        for _ in 0..6 {
            let changed = change(&text, &mut random);
            if changed != text {
                damaged += 1;
                assert!(
                    !is_accepted(&changed, &program),
                    "seed {seed}\n{source}\n{text}\n{changed}"
                );
            }
        }
        for changed in changes(&certificate, &mut random) {
            damaged += 1;
            assert!(
                !accepts(&changed, &program),
                "seed {seed}\n{source}\n{text}\n{}",
                changed.to_json()
            );
        }
    }
    println!("{holds} hold, {violated} violated, {damaged} damaged; none: {none:?}");
    assert!(holds + violated >= wanted && damaged >= 5 * wanted, "{holds} {violated} {damaged}");
    assert!(holds >= wanted / 4 && violated >= wanted / 4, "{holds} {violated} {damaged}");
    assert!(none.len() < 5 + wanted / 20, "{none:?}");
}

/// One byte of the text is another one, is gone, or is there twice; or the text ends early.
fn change(text: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let at = random.below(bytes.len());
    match random.below(4) {
        0 => bytes[at] = b"0123456789[],"[random.below(13)],
        1 => drop(bytes.remove(at)),
        2 => bytes.insert(at, bytes[at]),
        _ => bytes.truncate(at),
    }
    String::from_utf8(bytes).unwrap()
}

/// Certificates that can be read and prove nothing: a state or a waiting stack is missing, or says something else.
fn changes(certificate: &Certificate, random: &mut Random) -> Vec<Certificate> {
    let mut all = Vec::new();
    let mut with = |edit: &mut dyn FnMut(&mut Says) -> bool| {
        let mut changed = certificate.clone();
        if edit(&mut changed.says) {
            all.push(changed);
        }
    };
    with(&mut |says| match says {
        Says::Holds { threads, .. } if !threads.states.is_empty() => {
            threads.states.remove(random.below(threads.states.len()));
            true
        }
        Says::Violated { threads, .. } if threads.len() > 1 => {
            threads.remove(random.below(threads.len()));
            true
        }
        _ => false,
    });
    with(&mut |says| match says {
        Says::Holds { threads, .. } if !threads.calls.is_empty() => {
            let call = random.below(threads.calls.len());
            let waiting = &mut threads.calls[call].waiting;
            waiting.remove(random.below(waiting.len()));
            true
        }
        _ => false,
    });
    all
}

/// A proof of one program is no proof of another.
#[test]
fn a_certificate_belongs_to_its_program() {
    let safe = "decl bool x; void init() begin x := F; end \
                thread t() begin x := T; x := F; end \
                thread u() begin assert(!x | x); end";
    let Answer { program, certificate, .. } = answer(safe);
    let certificate = certificate.unwrap();
    assert!(accepts(&certificate, &program));
    let wrong = safe.replace("!x | x", "!x");
    let (program, _) = parse(&wrong, "wrong.bp", Dialect::Slam).unwrap();
    let refused = certificate.check(&program, &|| false);
    assert!(refused.is_err(), "{refused:?}");
}

/// Stacks without bound are cut; the threads that a program starts without end have executions only.
#[test]
fn recursion_and_endless_starts() {
    let recursive = "decl bool x; void init() begin x := F; end \
                     void f() begin if (*) then f(); fi; x := T; x := F; end \
                     thread t() begin f(); assert(!x); end";
    let Answer { program, verdict, certificate } = answer(recursive);
    assert_eq!(verdict, Verdict::Holds);
    assert!(accepts(&certificate.unwrap(), &program));
    let endless = "decl bool x; void init() begin x := F; end \
                   void f() begin assert(!x); x := T; end \
                   thread t() begin while (*) do start_thread f(); od; end";
    let Answer { program, verdict, certificate } = answer(endless);
    assert_eq!(verdict, Verdict::Violated);
    let certificate = certificate.unwrap();
    assert!(accepts(&certificate, &program));
    // A certificate from elsewhere cannot ask for a thousand million threads.
    let many = Certificate { instances: Some(1_000_000_000), ..certificate };
    assert!(Certificate::from_json(&many.to_json()).is_err());
}
