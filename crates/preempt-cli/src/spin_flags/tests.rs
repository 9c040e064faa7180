//! Spin's command lines and what they become.

use super::*;

/// A file with a formula.
fn formulas(path: &str) -> std::io::Result<String> {
    match path {
        "f.ltl" => Ok("[] p\n".into()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    }
}

fn line(spin: &str) -> String {
    let words: Vec<String> = spin.split(' ').map(String::from).collect();
    match translate(&words, &formulas) {
        Ok(line) => line.join(" "),
        Err(unknown) => unknown.to_string(),
    }
}

#[test]
fn common_lines() {
    assert_eq!(
        line("-run -a -ltl p1 -DN=3 m.pml"),
        "preempt check m.pml --trace m.pml.trail --report spin --first --acceptance --ltl p1 -D N=3"
    );
    assert_eq!(
        line("-run -bcs -L2 -noreduce -c0 -m1000000 m.pml"),
        "preempt check m.pml --trace m.pml.trail --report spin --first --por off --max-errors 0 --bound 2"
    );
    assert_eq!(
        line("-run -bcs -m500 m.pml"),
        "preempt check m.pml --trace m.pml.trail --report spin --first --depth 500 --search dfs --bound 0"
    );
    assert_eq!(
        line("-search -bitstate -w28 -k5 -E m.pml"),
        "preempt check m.pml --trace m.pml.trail --report spin --first --store bitstate --bits 28 --hashes 5 --no-deadlock"
    );
    assert_eq!(
        line("-p -g -l -n7 -u20 m.pml"),
        "preempt simulate m.pml --spin=pgl --seed 7 --steps 20"
    );
    assert_eq!(line("-t -p m.pml"), "preempt replay m.pml m.pml.trail --spin=p");
    assert_eq!(line("-T -t4 m.pml"), "preempt replay m.pml m.pml4.trail --spin=T");
    assert_eq!(line("-t3 m.pml"), "preempt replay m.pml m.pml3.trail --spin");
    assert_eq!(line("-replay m.pml"), "preempt replay m.pml m.pml.trail --spin");
    assert_eq!(line("-t -k other.trail m.pml"), "preempt replay m.pml other.trail --spin");
    assert_eq!(line("-t -M m.pml"), "preempt replay m.pml m.pml.trail --html m.pml.html");
    assert_eq!(line("-f <>p"), "preempt ltl <>p --never");
    assert_eq!(line("-h"), "preempt explain spin");
    assert_eq!(line("-pp m.pml"), "preempt fmt --print m.pml");
    assert_eq!(line("-pp"), "preempt fmt --print -");
    assert_eq!(line("-V"), "preempt --version");
}

#[test]
fn the_equivalents_are_accepted_by_our_own_command_line() {
    for spin in [
        "-run -a -f -ltl p1 -DN=3 m.pml",
        "-run -l -noclaim -collapse -c5 -m100 m.pml",
        "-search -bfs -hc4 -A -i m.pml",
        "-run -bcs m.pml",
        "-run -safety m.pml",
        "-run -bcs -m500 m.pml",
        "-t m.pml",
        "-i m.pml",
        "-a m.pml",
        "-o1 -o2 -o3 -run m.pml",
    ] {
        let words: Vec<String> = spin.split(' ').map(String::from).collect();
        let line = translate(&words, &formulas).unwrap();
        crate::arguments::parse(line.iter().map(Into::into).collect())
            .unwrap_or_else(|e| panic!("{line:?}: {e}"));
    }
}

#[test]
fn switches_of_the_verifier_are_told_from_macros_of_the_model() {
    let check = "preempt check m.pml --trace m.pml.trail --report spin --first";
    assert_eq!(line("-run -DN=3 m.pml"), format!("{check} -D N=3"));
    assert_eq!(line("-run -DNP -DNOREDUCE m.pml"), format!("{check} --non-progress --por off"));
    assert_eq!(line("-run -DMEMLIM=512 m.pml"), format!("{check} --memory 512M"));
    assert_eq!(line("-DVECTORSZ=4096 -run m.pml"), check);
    assert!(line("-run -DNOSTUTTER m.pml").contains("`-DNOSTUTTER`"));
    // A simulation has no verifier to compile.
    assert_eq!(line("-DXUSAFE m.pml"), "preempt simulate m.pml --spin -D XUSAFE");
}

#[test]
fn an_unknown_flag_is_named() {
    assert!(line("-run -frobnicate m.pml").contains("`-frobnicate`"));
    assert!(line("-run -Lx m.pml").contains("`-Lx`"));
}

/// Two flags of Spin's exclude each other in Spin's words, or have an equivalent that our own command line accepts: its
/// user has not typed the options that would be named otherwise.
#[test]
fn no_pair_of_flags_is_refused_for_an_option_of_ours() {
    let table = include_str!("lines.tsv");
    let rows = table.lines().filter_map(|line| line.split_once('\t'));
    let of_verifier: Vec<&str> = rows
        .filter(|(_, wanted)| *wanted != "refused")
        .filter_map(|(spin, _)| spin.strip_prefix("-run ")?.strip_suffix(" m.pml"))
        .collect();
    let (mut accepted, mut wrong) = (0, Vec::new());
    for first in &of_verifier {
        for second in &of_verifier {
            let words = format!("-run {first} {second} m.pml");
            let words: Vec<String> = words.split(' ').map(String::from).collect();
            match translate(&words, &formulas) {
                Err(Refused::Contradiction(one, other, _)) if one != other => {}
                Err(refused) => wrong.push(format!("{words:?}: {refused}")),
                Ok(line) => match crate::arguments::parse(line.iter().map(Into::into).collect()) {
                    Ok(_) => accepted += 1,
                    Err(error) => wrong.push(format!("{words:?}: {error}")),
                },
            }
        }
    }
    assert!(wrong.is_empty(), "{} lines are refused\n{}", wrong.len(), wrong.join("\n"));
    assert!(accepted > 2000, "{accepted} of {}", of_verifier.len() * of_verifier.len());
}

/// Command lines of Spin's manual pages and of scripts: what each means here, or `refused`.
#[test]
fn command_lines_mean_what_they_mean_in_spin() {
    let table = include_str!("lines.tsv");
    let rows: Vec<(&str, &str)> = table.lines().filter_map(|line| line.split_once('\t')).collect();
    assert!(rows.len() >= 120, "{} lines", rows.len());
    for (spin, wanted) in rows {
        let found = line(spin);
        match wanted {
            "contradicts" => assert!(found.contains("exclude each other"), "{spin}: {found}"),
            "refused" => assert!(found.contains("has no equivalent here"), "{spin}: {found}"),
            wanted => {
                let wanted = wanted.replace(
                    "CHECK",
                    "preempt check m.pml --trace m.pml.trail --report spin --first",
                );
                assert_eq!(found, wanted, "{spin}");
                let words: Vec<String> = spin.split(' ').map(String::from).collect();
                let words = translate(&words, &formulas).expect("it is known");
                let parsed = crate::arguments::parse(words.iter().map(Into::into).collect());
                if let Err(error) = parsed.map(|_| ()) {
                    // What is printed instead of run, such as the version, is no mistake.
                    assert!(!error.use_stderr(), "{found}: {error}");
                }
            }
        }
    }
}
