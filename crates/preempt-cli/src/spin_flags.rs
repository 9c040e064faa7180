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
            "Spin's `{}` has no equivalent here; `preempt explain spin` lists the supported flags",
            self.0
        )
    }
}

/// What Spin was asked to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Job {
    #[default]
    Simulate,
    Verify,
    GuidedSimulation,
    Formula,
    Generate,
    Format,
}

/// Every flag with its equivalent: the documentation's table, and `preempt explain spin`.
pub(crate) const TABLE: &[(&str, &str)] = &[
    ("-run, -search", "preempt check"),
    ("-a (alone)", "nothing to generate: the model is checked for errors only"),
    ("-run -a", "--acceptance; for never claims with accept labels it is not needed, as in Spin"),
    ("-run -safety, -DSAFETY", "--no-acceptance"),
    ("-run -l, -np", "--non-progress"),
    ("-run -f", "--fair"),
    ("-run -ltl NAME, -N NAME", "--ltl NAME"),
    ("-f 'formula' (alone)", "preempt ltl 'formula' --never"),
    ("-run -noclaim", "--no-claim"),
    ("-run -noreduce, -DNOREDUCE", "--por off"),
    ("-run -bfs", "--search bfs --no-acceptance"),
    ("-run -bitstate", "--store bitstate"),
    ("-run -wN (with -bitstate)", "--bits N"),
    ("-run -kN (with -bitstate)", "--hashes N"),
    ("-run -hc, -hcN", "--store compact"),
    ("-run -collapse, -DMA=N", "--store tree"),
    ("-run -bcs, -LN", "--bound N (0 without -L)"),
    ("-run -mN", "--depth N: only needed to cut executions short on purpose"),
    ("-run -cN", "--max-errors N"),
    ("-run", "the counterexample is saved as MODEL.trail, which Spin can read"),
    ("-run -e", "--trails MODEL: all violating executions, as MODEL1.trail, MODEL2.trail, …"),
    ("-run -E", "--no-deadlock"),
    ("-run -A", "--no-assert"),
    ("-run -i, -I", "always on: the simplest counterexample is looked for"),
    ("-o1, -o2, -o3", "--no-reset, --no-hide, --no-merge"),
    ("-DNAME=VALUE", "-D NAME=VALUE"),
    (
        "-t, -tN, -replay",
        "preempt replay MODEL MODEL.trail (MODELN.trail); also reads Spin's trails",
    ),
    ("-k FILE (with -t)", "preempt replay MODEL FILE"),
    ("-M (with -t)", "--html MODEL.html: the chart as a page"),
    ("-p -g -l -r -s -T (simulation, -t)", "--spin=pglrsT: what Spin prints"),
    ("-nN", "--seed N"),
    ("-uN (simulation, -t)", "--steps N"),
    ("-i (simulation)", "--interactive"),
    ("-run -q", "--empty-channels"),
    ("-run -DMEMLIM=N", "--memory NM"),
    ("-run -DVECTORSZ, -DNFAIR, -DREACH …", "not needed: there are no such limits"),
    ("-h, --help, -?", "preempt explain spin"),
    ("-pp", "preempt fmt --print MODEL; without a model, standard input"),
    ("-V", "preempt --version"),
];

/// Macros that Spin's verifier looks for when it is compiled. A `-D` with another name is the model's.
/// With an equivalent, or `None` if what they change cannot be had here.
const OF_PAN: &[(&str, Option<&[&str]>)] = &[
    ("NP", Some(&["--non-progress"])),
    ("SAFETY", Some(&["--no-acceptance"])),
    ("NOCLAIM", Some(&["--no-claim"])),
    ("NOREDUCE", Some(&["--por", "off"])),
    ("BFS", Some(&["--search", "bfs", "--no-acceptance"])),
    ("BITSTATE", Some(&["--store", "bitstate"])),
    ("COLLAPSE", Some(&["--store", "tree"])),
    ("MA", Some(&["--store", "tree"])),
    ("HC", Some(&["--store", "compact"])),
    ("HC0", Some(&["--store", "compact"])),
    ("HC1", Some(&["--store", "compact"])),
    ("HC2", Some(&["--store", "compact"])),
    ("HC3", Some(&["--store", "compact"])),
    ("HC4", Some(&["--store", "compact"])),
    // Limits, speed and memory of the verifier itself: nothing to set here.
    ("VECTORSZ", Some(&[])),
    ("NFAIR", Some(&[])),
    ("NOFAIR", Some(&[])),
    ("REACH", Some(&[])),
    ("MEMCNT", Some(&[])),
    ("NOCOMP", Some(&[])),
    ("SC", Some(&[])),
    ("SFH", Some(&[])),
    ("SPACE", Some(&[])),
    ("PMAX", Some(&[])),
    ("QMAX", Some(&[])),
    ("NOVSZ", Some(&[])),
    ("USE_TDH", Some(&[])),
    // Other searches, other meanings, other output.
    ("BCOMP", None),
    ("BFS_DISK", None),
    ("BFS_PAR", None),
    ("CHECK", None),
    ("CONSERVATIVE", None),
    ("CTL", None),
    ("DEBUG", None),
    ("DUAL_CORE", None),
    ("DUMP_STATE", None),
    ("FULLSTACK", None),
    ("FULL_TRAIL", None),
    ("HASH32", None),
    ("HASH64", None),
    ("LC", None),
    ("NCORE", None),
    ("NIBIS", None),
    ("NOBOUNDCHECK", None),
    ("NOSTUTTER", None),
    ("NSUCC", None),
    ("PEG", None),
    ("PERMUTED", None),
    ("PRINTF", None),
    ("P_RAND", None),
    ("P_REVERSE", None),
    ("RANDOMIZE", None),
    ("RANDSTOR", None),
    ("REVERSE", None),
    ("R_XPT", None),
    ("SDUMP", None),
    ("SEP_STATE", None),
    ("SVDUMP", None),
    ("TRIX", None),
    ("T_RAND", None),
    ("T_REVERSE", None),
    ("VAR_RANGES", None),
    ("VERBOSE", None),
    ("W_XPT", None),
    ("XUSAFE", None),
];

/// Translates the words after `preempt spin`.
pub(crate) fn translate(words: &[String]) -> Result<Vec<String>, UnknownFlag> {
    let unknown = |word: &str| UnknownFlag(word.into());
    let is = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    if words.is_empty() || is(&["-h", "--help", "-help", "-?", "--"]) {
        return Ok(["preempt", "explain", "spin"].map(String::from).to_vec());
    }
    if is(&["-V", "--version"]) {
        return Ok(["preempt", "--version"].map(String::from).to_vec());
    }
    let mut line = Line { verify: is(&["-run", "-search"]), ..Line::default() };
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let mut next = || words.next().ok_or_else(|| unknown(word));
        match word {
            _ if !word.starts_with('-') => line.file = Some(word.into()),
            "-f" if !line.verify => {
                line.job = Job::Formula;
                line.file = Some(next()?.into());
            }
            "-ltl" | "-N" => line.add(&["--ltl", next()?]),
            "-k" => line.trail = Some(next()?.into()),
            _ if word.starts_with("-D") && word.len() > 2 => line.define(word)?,
            _ => line.flag(word)?,
        }
    }
    line.finish()
}

/// A line in the making.
#[derive(Default)]
struct Line {
    verify: bool,
    job: Job,
    file: Option<String>,
    bound: Option<String>,
    /// The trail to follow, if it is not the usual one.
    trail: Option<String>,
    /// Which of several trails.
    which: String,
    /// Draw a chart.
    chart: bool,
    /// Save every violating execution.
    every: bool,
    /// What a simulation prints.
    shown: String,
    flags: Vec<String>,
}

impl Line {
    fn add(&mut self, flags: &[&str]) {
        self.flags.extend(flags.iter().map(|flag| flag.to_string()));
    }

    /// `-DNAME=VALUE`: a switch of Spin's verifier, or a macro of the model.
    fn define(&mut self, word: &str) -> Result<(), UnknownFlag> {
        let (name, value) = word[2..].split_once('=').unwrap_or((&word[2..], ""));
        if !self.verify {
            self.add(&["-D", &word[2..]]);
            return Ok(());
        }
        match OF_PAN.iter().find(|(known, _)| *known == name) {
            Some((_, Some(flags))) => self.add(flags),
            Some((_, None)) => return Err(UnknownFlag(word.into())),
            None if name == "BCS" => self.bound = self.bound.take().or(Some("0".into())),
            None if name == "MEMLIM" => self.add(&["--memory", &format!("{value}M")]),
            None => self.add(&["-D", &word[2..]]),
        }
        Ok(())
    }

    fn flag(&mut self, word: &str) -> Result<(), UnknownFlag> {
        let verify = self.verify;
        match word {
            "-run" | "-search" => self.job = Job::Verify,
            "-a" if verify => self.add(&["--acceptance"]),
            "-a" => self.job = Job::Generate,
            "-pp" => self.job = Job::Format,
            "-l" | "-np" if verify => self.add(&["--non-progress"]),
            "-f" => self.add(&["--fair"]),
            "-noclaim" => self.add(&["--no-claim"]),
            "-noreduce" => self.add(&["--por", "off"]),
            "-bfs" | "-bfspar" => self.add(&["--search", "bfs", "--no-acceptance"]),
            "-dfs" => self.add(&["--search", "dfs"]),
            "-bitstate" => self.add(&["--store", "bitstate"]),
            "-collapse" => self.add(&["--store", "tree"]),
            "-bcs" => self.bound = self.bound.take().or(Some("0".into())),
            "-E" => self.add(&["--no-deadlock"]),
            "-q" if verify => self.add(&["--empty-channels"]),
            "-A" => self.add(&["--no-assert"]),
            "-o1" => self.add(&["--no-reset"]),
            "-o2" => self.add(&["--no-hide"]),
            "-o3" => self.add(&["--no-merge"]),
            "-i" if !verify => self.add(&["--interactive"]),
            "-t" | "-replay" => self.job = Job::GuidedSimulation,
            "-M" if !verify => self.chart = true,
            "-safety" => self.add(&["--no-acceptance"]),
            "-e" if verify => self.every = true,
            "-i" | "-I" | "-n" if verify => {}
            "-p" | "-g" | "-l" | "-s" | "-r" | "-T" if !verify => self.shown.push_str(&word[1..]),
            "-v" | "-b" | "-x" | "-w" => {}
            _ if word.starts_with("-hc") => self.add(&["--store", "compact"]),
            _ if word.starts_with("-O") => {}
            _ => return self.number(word),
        }
        Ok(())
    }

    /// A letter with a number.
    fn number(&mut self, word: &str) -> Result<(), UnknownFlag> {
        let unknown = || UnknownFlag(word.into());
        let (letter, number) = word.split_at_checked(2).ok_or_else(unknown)?;
        if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
            return Err(unknown());
        }
        match letter {
            // Spin needs a limit; we do not. A huge one means "no limit".
            "-m" => {
                if number.parse::<u64>().is_ok_and(|n| n < 10_000) {
                    self.add(&["--depth", number]);
                }
            }
            "-w" => {
                if self.flags.iter().any(|flag| flag == "bitstate") {
                    self.add(&["--bits", number]);
                }
            }
            "-k" => self.add(&["--hashes", number]),
            "-c" => self.add(&["--max-errors", number]),
            "-L" => self.bound = Some(number.into()),
            "-n" => self.add(&["--seed", number]),
            "-u" => self.add(&["--steps", number]),
            "-t" => {
                self.job = Job::GuidedSimulation;
                self.which = number.into();
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }

    fn finish(self) -> Result<Vec<String>, UnknownFlag> {
        // Spin formats what it is given on the standard input.
        let input = (self.job == Job::Format).then(|| "-".into());
        let file = self.file.or(input).ok_or_else(|| UnknownFlag("(no model)".into()))?;
        let mut line = vec!["preempt".to_string()];
        let shown = match self.shown.as_str() {
            "" => "--spin".to_string(),
            letters => format!("--spin={letters}"),
        };
        match self.job {
            Job::Simulate => {
                let at_the_keyboard = self.flags.iter().any(|flag| flag == "--interactive");
                line.extend(["simulate".into(), file]);
                if !at_the_keyboard {
                    line.push(shown);
                }
            }
            Job::Verify => {
                let trail = format!("{file}.trail");
                line.extend(["check".into(), file.clone(), "--trace".into(), trail]);
                line.extend(["--report".into(), "spin".into()]);
                if self.every {
                    line.extend(["--trails".into(), file]);
                }
            }
            Job::GuidedSimulation => {
                let trail = self.trail.unwrap_or_else(|| format!("{file}{}.trail", self.which));
                let page = format!("{file}.html");
                line.extend(["replay".into(), file, trail]);
                match self.chart {
                    true => line.extend(["--html".into(), page]),
                    false => line.push(shown),
                }
            }
            Job::Format => line.extend(["fmt".into(), "--print".into(), file]),
            Job::Formula => {
                line.extend(["ltl".into(), file, "--never".into()]);
                return Ok(line);
            }
            Job::Generate => line.extend(["simulate".into(), file, "--steps".into(), "0".into()]),
        }
        line.extend(self.flags);
        if let (Job::Verify, Some(bound)) = (self.job, self.bound) {
            // Preemptions and depth are counted together in a depth-first search only, as Spin's is.
            let has = |flag: &str| line.iter().any(|word| word == flag);
            if has("--depth") && !has("--search") {
                line.extend(["--search".into(), "dfs".into()]);
            }
            line.extend(["--bound".into(), bound]);
        }
        Ok(line)
    }
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
            line("-run -bcs -m500 m.pml"),
            "preempt check m.pml --trace m.pml.trail --report spin --depth 500 --search dfs --bound 0"
        );
        assert_eq!(
            line("-search -bitstate -w28 -k5 -E m.pml"),
            "preempt check m.pml --trace m.pml.trail --report spin --store bitstate --bits 28 --hashes 5 --no-deadlock"
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
            let line = translate(&words).unwrap();
            crate::arguments::parse(line.iter().map(Into::into).collect())
                .unwrap_or_else(|e| panic!("{line:?}: {e}"));
        }
    }

    #[test]
    fn switches_of_the_verifier_are_told_from_macros_of_the_model() {
        let check = "preempt check m.pml --trace m.pml.trail --report spin";
        assert_eq!(line("-run -DN=3 m.pml"), format!("{check} -D N=3"));
        assert_eq!(line("-run -DNP -DNOREDUCE m.pml"), format!("{check} --non-progress --por off"));
        assert_eq!(line("-run -DMEMLIM=512 m.pml"), format!("{check} --memory 512M"));
        assert_eq!(line("-DVECTORSZ=4096 -run m.pml"), check);
        assert!(line("-run -DXUSAFE m.pml").contains("`-DXUSAFE`"));
        // A simulation has no verifier to compile.
        assert_eq!(line("-DXUSAFE m.pml"), "preempt simulate m.pml --spin -D XUSAFE");
    }

    #[test]
    fn an_unknown_flag_is_named() {
        assert!(line("-run -frobnicate m.pml").contains("`-frobnicate`"));
        assert!(line("-run -Lx m.pml").contains("`-Lx`"));
    }
}
