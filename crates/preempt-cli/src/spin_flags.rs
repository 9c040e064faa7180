//! Spin's command lines, translated to ours.
//!
//! `preempt spin -run -a -ltl p1 model.pml` becomes `preempt check model.pml --acceptance --ltl p1`:
//! plain text to plain text, so that the equivalent can be printed, learned and tested.

use std::fmt;

/// A flag we do not know, or one whose meaning we cannot keep.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnknownFlag(pub(crate) String);

impl fmt::Display for UnknownFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Spin's `{}` has no equivalent here; `preempt explain spin` lists those that have",
            self.0
        )
    }
}

/// What Spin was asked to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Job {
    Simulate,
    Verify,
    GuidedSimulation,
    Formula,
    Generate,
}

/// Every flag with its equivalent: the documentation's table, and `preempt explain spin`.
pub(crate) const TABLE: &[(&str, &str)] = &[
    ("-run, -search", "preempt check"),
    ("-a (alone)", "nothing to generate: the model is checked for errors only"),
    ("-run -a", "--acceptance"),
    ("-run -l, -np", "--non-progress"),
    ("-run -f", "--fair"),
    ("-run -ltl NAME, -N NAME", "--ltl NAME"),
    ("-f 'formula' (alone)", "preempt ltl '!(formula)' --never"),
    ("-run -noclaim", "--no-claim"),
    ("-run -noreduce, -DNOREDUCE", "--por off"),
    ("-run -bfs", "--search bfs"),
    ("-run -bitstate", "--store bitstate"),
    ("-run -wN (with -bitstate)", "--bits N"),
    ("-run -kN (with -bitstate)", "--hashes N"),
    ("-run -hc, -hcN", "--store compact"),
    ("-run -collapse, -DMA=N", "--store tree"),
    ("-run -bcs, -LN", "--bound N (0 without -L)"),
    ("-run -mN", "--depth N: only needed to cut executions short on purpose"),
    ("-run -cN", "--max-errors N"),
    ("-run -e", "on by itself: the trace is always saved"),
    ("-run -E", "--no-deadlock"),
    ("-run -A", "--no-assert"),
    ("-run -i, -I", "on by itself: the simplest counterexample is looked for"),
    ("-o1, -o2, -o3", "--no-reset, --no-hide, --no-merge"),
    ("-DNAME=VALUE", "-D NAME=VALUE"),
    ("-t, -tN", "preempt replay MODEL MODEL.trail"),
    ("-p -g -l -s -r (with a simulation)", "on by itself"),
    ("-nN", "--seed N"),
    ("-uN", "--steps N"),
    ("-i (simulation)", "--interactive"),
    ("-run -q", "--empty-channels"),
];

/// Translates the words after `preempt spin`.
pub(crate) fn translate(words: &[String]) -> Result<Vec<String>, UnknownFlag> {
    let mut out = Vec::new();
    let mut file = None;
    let mut bounded = None;
    let mut job = Job::Simulate;
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        if !word.starts_with('-') {
            file = Some(word);
            continue;
        }
        let verify = job == Job::Verify;
        let number = |prefix: &str| {
            word.strip_prefix(prefix)
                .filter(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        };
        let mut add = |flags: &[&str]| out.extend(flags.iter().map(|f| f.to_string()));
        match word {
            "-run" | "-search" => job = Job::Verify,
            "-a" if verify => add(&["--acceptance"]),
            "-a" => job = Job::Generate,
            "-l" | "-np" | "-DNP" if verify => add(&["--non-progress"]),
            "-f" if verify => add(&["--fair"]),
            "-f" => {
                job = Job::Formula;
                file = words.next();
            }
            "-ltl" | "-N" => add(&["--ltl", words.next().ok_or_else(|| UnknownFlag(word.into()))?]),
            "-noclaim" | "-DNOCLAIM" => add(&["--no-claim"]),
            "-noreduce" | "-DNOREDUCE" => add(&["--por", "off"]),
            "-bfs" | "-DBFS" | "-bfspar" => add(&["--search", "bfs"]),
            "-dfs" => add(&["--search", "dfs"]),
            "-bitstate" | "-DBITSTATE" => add(&["--store", "bitstate"]),
            "-collapse" | "-DCOLLAPSE" => add(&["--store", "tree"]),
            "-bcs" | "-DBCS" => bounded = bounded.or(Some("0")),
            "-E" => add(&["--no-deadlock"]),
            "-q" if verify => add(&["--empty-channels"]),
            "-A" => add(&["--no-assert"]),
            "-o1" => add(&["--no-reset"]),
            "-o2" => add(&["--no-hide"]),
            "-o3" => add(&["--no-merge"]),
            "-i" if !verify => add(&["--interactive"]),
            "-t" => job = Job::GuidedSimulation,
            "-safety" | "-DSAFETY" | "-e" | "-i" | "-I" | "-v" | "-n" | "-b" | "-x" => {}
            "-p" | "-g" | "-l" | "-s" | "-r" | "-c" | "-w" => {}
            _ if word.starts_with("-hc") => add(&["--store", "compact"]),
            _ if word.starts_with("-DMA=") => add(&["--store", "tree"]),
            _ if word.starts_with("-O") || word.starts_with("-DVECTORSZ=") => {}
            _ if number("-m").is_some() => {
                // Spin needs a limit; we do not. A huge one means "no limit".
                let limit = number("-m").unwrap_or_default();
                if limit.parse::<u64>().is_ok_and(|n| n < 10_000) {
                    add(&["--depth", limit]);
                }
            }
            _ if number("-w").is_some() => {
                if out.iter().any(|f| f == "bitstate") {
                    out.extend(["--bits".into(), number("-w").unwrap_or_default().into()]);
                }
            }
            _ if number("-k").is_some() => add(&["--hashes", number("-k").unwrap_or_default()]),
            _ if number("-c").is_some() => add(&["--max-errors", number("-c").unwrap_or_default()]),
            _ if number("-L").is_some() => bounded = number("-L"),
            _ if number("-n").is_some() => add(&["--seed", number("-n").unwrap_or_default()]),
            _ if number("-u").is_some() => add(&["--steps", number("-u").unwrap_or_default()]),
            _ if number("-t").is_some() => job = Job::GuidedSimulation,
            _ if word.starts_with("-D") && word.len() > 2 => add(&["-D", &word[2..]]),
            _ => return Err(UnknownFlag(word.into())),
        }
    }
    let file = file.ok_or_else(|| UnknownFlag("(no model)".into()))?.to_string();
    Ok(assemble(job, file, bounded, out))
}

fn assemble(job: Job, file: String, bounded: Option<&str>, flags: Vec<String>) -> Vec<String> {
    let mut line = vec!["preempt".to_string()];
    match job {
        Job::Simulate => line.extend(["simulate".into(), file]),
        Job::Verify => {
            let trail = format!("{file}.trail");
            let form = ["--report".into(), "spin".into()];
            line.extend(["check".into(), file, "--trace".into(), trail]);
            line.extend(form);
        }
        Job::GuidedSimulation => {
            let trail = format!("{file}.trail");
            line.extend(["replay".into(), file, trail]);
        }
        Job::Formula => {
            return [line, vec!["ltl".into(), format!("!({file})"), "--never".into()]].concat();
        }
        Job::Generate => line.extend(["simulate".into(), file, "--steps".into(), "0".into()]),
    }
    line.extend(flags);
    if let (Job::Verify, Some(bound)) = (job, bounded) {
        line.extend(["--bound".into(), bound.into()]);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(spin: &str) -> String {
        let words: Vec<String> = spin.split(' ').map(String::from).collect();
        match translate(&words) {
            Ok(line) => line.join(" "),
            Err(unknown) => unknown.to_string(),
        }
    }

    #[test]
    fn common_lines() {
        assert_eq!(
            line("-run -a -ltl p1 -DN=3 m.pml"),
            "preempt check m.pml --trace m.pml.trail --report spin --acceptance --ltl p1 -D N=3"
        );
        assert_eq!(
            line("-run -bcs -L2 -noreduce -c0 -m1000000 m.pml"),
            "preempt check m.pml --trace m.pml.trail --report spin --por off --max-errors 0 --bound 2"
        );
        assert_eq!(
            line("-search -bitstate -w28 -k5 -E m.pml"),
            "preempt check m.pml --trace m.pml.trail --report spin --store bitstate --bits 28 --hashes 5 --no-deadlock"
        );
        assert_eq!(line("-p -g -l -n7 -u20 m.pml"), "preempt simulate m.pml --seed 7 --steps 20");
        assert_eq!(line("-t -p m.pml"), "preempt replay m.pml m.pml.trail");
        assert_eq!(line("-f <>p"), "preempt ltl !(<>p) --never");
    }

    #[test]
    fn the_equivalents_are_accepted_by_our_own_command_line() {
        for spin in [
            "-run -a -f -ltl p1 -DN=3 m.pml",
            "-run -l -noclaim -collapse -c5 -m100 m.pml",
            "-search -bfs -hc4 -A -i m.pml",
            "-run -bcs m.pml",
            "-t m.pml",
            "-i m.pml",
            "-a m.pml",
            "-o1 -o2 -o3 -run m.pml",
        ] {
            let words: Vec<String> = spin.split(' ').map(String::from).collect();
            let line = translate(&words).unwrap();
            crate::arguments::parse(line.iter().map(Into::into).collect())
                .unwrap_or_else(|e| panic!("{line:?}: {e}"));
        }
    }

    #[test]
    fn an_unknown_flag_is_named() {
        assert!(line("-run -frobnicate m.pml").contains("`-frobnicate`"));
    }
}
