//! Spin's command lines, translated to ours.
//!
//! `preempt spin -run -a -ltl p1 model.pml` becomes `preempt check model.pml --acceptance --ltl p1`:
//! plain text to plain text, so that the equivalent can be printed, learned and tested.

mod contradictions;
#[cfg(test)]
mod tests;

use Refused::UnknownFlag;
use std::fmt;

/// Why a line has no translation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// A flag we do not know, or one whose meaning we cannot keep.
    UnknownFlag(String),
    /// Two flags that exclude each other, and why.
    Contradiction(String, String, &'static str),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnknownFlag(flag) => write!(
                f,
                "Spin's `{flag}` has no equivalent here; `preempt explain spin` lists the supported flags"
            ),
            Refused::Contradiction(one, other, because) => {
                write!(f, "`{one}` and `{other}` exclude each other, as in Spin: {because}")
            }
        }
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
    Symbols,
    Slice,
}

/// Every flag with its equivalent: the documentation's table, and `preempt explain spin`.
pub(crate) const TABLE: &[(&str, &str)] = &[
    (
        "-run, -search",
        "preempt check --first; ends with exit code 0 whatever the verdict, and leaves a file pan",
    ),
    (
        "-a (alone)",
        "pan.c is written, which starts `preempt spin -run` with what it is compiled and run with",
    ),
    ("-run -a", "--acceptance; for never claims with accept labels it is not needed, as in Spin"),
    ("-run -safety, -DSAFETY", "--no-acceptance: claims and formulas by finite executions only"),
    ("-run -l, -np", "--non-progress"),
    ("-run -f", "--fair, where infinite executions are looked for"),
    ("-run -ltl NAME, -N NAME", "--ltl NAME"),
    ("-N FILE (in front of -run)", "--claim-file FILE"),
    ("-f 'formula' (alone)", "preempt ltl 'formula' --never"),
    ("-F FILE (alone)", "the same with the formula in the first line of a file"),
    ("-run -noclaim", "--no-claim"),
    ("-run -noreduce, -DNOREDUCE", "--por off"),
    ("-run -bfs", "--search bfs --no-acceptance"),
    ("-run -bitstate, -bit", "--store bitstate"),
    ("-run -wN (with -bitstate)", "--bits N"),
    ("-run -kN, -s (with -bitstate)", "--hashes N, --hashes 1"),
    ("-run -hc, -hcN", "--store compact"),
    ("-run -collapse, -DMA=N", "--store tree"),
    ("-run -bcs, -LN", "--bound N (0 without -L)"),
    ("-run -mN", "--depth N: only needed to cut executions short on purpose"),
    ("-run -cN", "--max-errors N"),
    ("-run -QN", "--time Nm"),
    ("-run -swarmN,M", "--swarm; it ends at the first violation, also with -c"),
    ("-run", "the counterexample is saved as MODEL.trail, which Spin can read"),
    ("-run -e", "--trails MODEL --max-errors 0: all violating executions, as MODEL1.trail, …"),
    ("-run -E", "--no-deadlock"),
    ("-run -A", "--no-assert"),
    ("-run -i, -I", "without --first: the simplest counterexample is looked for"),
    ("-run -p_permute, -p_reverse", "not needed: no order of exploration is promised"),
    ("-run -RSN, -rhash", "not needed, for the same reason"),
    ("-o1, -o2, -o3", "--no-reset, --no-hide, --no-merge"),
    ("-DNAME=VALUE", "-D NAME=VALUE"),
    (
        "-t, -tN, -replay",
        "preempt replay MODEL MODEL.trail (MODELN.trail); also reads Spin's trails",
    ),
    ("-k FILE", "preempt replay MODEL FILE"),
    ("-M (with -t)", "--html MODEL.html: the chart as a page"),
    ("-p -g -l -r -s -X -T -b -B -h", "simulation, -t: --spin=pglrsXTbBh, what Spin prints"),
    ("-c (simulation, -t)", "our own lanes: a column per process"),
    ("-nN", "--seed N"),
    ("-uN, -jN (simulation, -t)", "--steps N, --from N"),
    ("-d", "preempt symbols MODEL: names with types and values, and labels"),
    ("-A (without -run)", "preempt slice MODEL: what does not matter to its properties"),
    ("-i (simulation)", "--interactive"),
    ("-run -q", "--empty-channels"),
    ("-run -DMEMLIM=N", "--memory NM"),
    ("-run -DVECTORSZ, -DNFAIR, -DREACH …", "not needed: there are no such limits"),
    ("-run -DXUSAFE", "not needed: promises (xr, xs) are always checked"),
    ("-h (alone), --help, -?", "preempt explain spin"),
    ("-pp", "preempt fmt --print MODEL; without a model, standard input"),
    ("-V", "preempt --version; `spin -V` also says which Spin it stands in for"),
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
    // Whether promises by `xr` and `xs` are left unchecked: they never are.
    ("XUSAFE", Some(&[])),
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
];

/// What has a meaning for the verifier only. `-E` is an option of Spin itself as well, for the preprocessor, which we do not have.
const OF_VERIFIER: &[&str] = &[
    "-np",
    "-f",
    "-noclaim",
    "-noreduce",
    "-bfs",
    "-bfspar",
    "-dfs",
    "-bitstate",
    "-collapse",
    "-bcs",
    "-E",
    "-safety",
    "-hc",
];

/// Whether a word is an option that Spin has, and we have not.
pub(crate) fn is_flag(word: &str) -> bool {
    let flags = TABLE.iter().flat_map(|(flags, _)| flags.split([' ', ',']));
    word.starts_with('-') && !word.starts_with("--") && flags.into_iter().any(|flag| flag == word)
}

/// Whether these words ask for a verifier in C.
pub(crate) fn generates(words: &[String]) -> bool {
    let is = |wanted: &str| words.iter().any(|word| word == wanted);
    is("-a") && !is("-run") && !is("-search")
}

/// Whether these words ask for a verification.
pub(crate) fn verifies(words: &[String]) -> bool {
    words.iter().any(|word| word == "-run" || word == "-search")
}

/// Whether these words ask for a version.
pub(crate) fn asks_for_version(words: &[String]) -> bool {
    words.iter().any(|word| word == "-V" || word == "--version")
}

/// The macros by which Spin's verifier is switched when it is compiled.
pub(crate) fn switches_of_pan() -> impl Iterator<Item = &'static str> {
    OF_PAN.iter().map(|(name, _)| *name).chain(["BCS", "MEMLIM"])
}

/// Translates the words after `preempt spin`; `read` reads the file of a formula.
pub(crate) fn translate(
    words: &[String],
    read: &dyn Fn(&str) -> std::io::Result<String>,
) -> Result<Vec<String>, Refused> {
    let unknown = |word: &str| UnknownFlag(word.into());
    let is = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    if words.is_empty() || words == ["-h"] || is(&["--help", "-help", "-?", "--"]) {
        return Ok(["preempt", "explain", "spin"].map(String::from).to_vec());
    }
    if is(&["-V", "--version"]) {
        return Ok(["preempt", "--version"].map(String::from).to_vec());
    }
    if verifies(words)
        && let Some(contradiction) = contradictions::find(words)
    {
        return Err(contradiction);
    }
    let generates = generates(words);
    let describes = !verifies(words) && is(&["-d", "-A"]);
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
            // In front of -run it is Spin's, which reads a file; behind it the verifier's, which has claims by name.
            "-N" if line.verify && line.job != Job::Verify => line.add(&["--claim-file", next()?]),
            // The verifier that is written reads the claim.
            "-N" if describes => line.set("--claim-file", next()?),
            "-N" if generates => _ = next()?,
            "-N" if !line.verify => return Err(unknown(word)),
            "-ltl" | "-N" => line.set("--ltl", next()?),
            "-F" if !line.verify => {
                let path = next()?;
                let text = read(path).map_err(|_| unknown(&format!("-F {path}")))?;
                line.job = Job::Formula;
                line.file = Some(text.lines().next().unwrap_or_default().trim().into());
            }
            "-link" => return Err(unknown(word)),
            "-k" if !line.verify => {
                line.job = Job::GuidedSimulation;
                line.trail = Some(next()?.into());
            }
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
    /// Many searches.
    swarm: bool,
    /// Look for a short counterexample; the verifier ends at the first one otherwise.
    short: bool,
    /// What a simulation prints.
    shown: String,
    /// It is drawn in columns, which our own lanes are.
    columns: bool,
    /// Where a simulation's random choices start; a trail leaves none to make.
    seed: Option<String>,
    flags: Vec<String>,
}

impl Line {
    /// Adds options with their values, unless they are there: `-DNP` and `-l` ask for the same.
    fn add(&mut self, words: &[&str]) {
        for option in words.chunk_by(|_, word| !word.starts_with("--")) {
            if !self.flags.windows(option.len()).any(|known| known == option) {
                self.flags.extend(option.iter().map(|word| word.to_string()));
            }
        }
    }

    /// Gives an option a value, whatever it had before: the last word counts.
    fn set(&mut self, option: &str, value: &str) {
        drop_options(&mut self.flags, &[option]);
        self.add(&[option, value]);
    }

    /// How states are stored. States that are compressed may also be hashed, which decides what is remembered.
    fn store(&mut self, store: &str) {
        if !self.flags.iter().any(|flag| flag == "compact") {
            self.set("--store", store);
        }
    }

    /// `-DNAME=VALUE`: a switch of Spin's verifier, or a macro of the model.
    fn define(&mut self, word: &str) -> Result<(), Refused> {
        let (name, value) = word[2..].split_once('=').unwrap_or((&word[2..], ""));
        if !self.verify {
            self.add(&["-D", &word[2..]]);
            return Ok(());
        }
        match OF_PAN.iter().find(|(known, _)| *known == name) {
            Some((_, Some(["--store", store]))) => self.store(store),
            Some((_, Some(flags))) => self.add(flags),
            Some((_, None)) => return Err(UnknownFlag(word.into())),
            None if name == "BCS" => self.bound = self.bound.take().or(Some("0".into())),
            None if name == "MEMLIM" => self.set("--memory", &format!("{value}M")),
            None => self.add(&["-D", &word[2..]]),
        }
        Ok(())
    }

    fn flag(&mut self, word: &str) -> Result<(), Refused> {
        let verify = self.verify;
        if !verify && OF_VERIFIER.contains(&word) {
            return Err(UnknownFlag(word.into()));
        }
        match word {
            "-run" | "-search" => self.job = Job::Verify,
            "-a" if verify => self.add(&["--acceptance"]),
            // The table of symbols is all that is asked for.
            "-a" if self.job == Job::Symbols => {}
            "-a" => self.job = Job::Generate,
            "-pp" => self.job = Job::Format,
            "-d" if !verify => self.job = Job::Symbols,
            "-l" | "-np" if verify => self.add(&["--non-progress"]),
            "-f" => self.add(&["--fair"]),
            "-noclaim" => self.add(&["--no-claim"]),
            "-noreduce" => self.add(&["--por", "off"]),
            "-bfs" | "-bfspar" => self.add(&["--search", "bfs", "--no-acceptance"]),
            "-dfs" => self.add(&["--search", "dfs"]),
            "-bitstate" => self.store("bitstate"),
            "-collapse" => self.store("tree"),
            "-bcs" => self.bound = self.bound.take().or(Some("0".into())),
            "-E" => self.add(&["--no-deadlock"]),
            "-q" if verify => self.add(&["--empty-channels"]),
            "-A" if verify => self.add(&["--no-assert"]),
            "-A" => self.job = Job::Slice,
            "-o1" => self.add(&["--no-reset"]),
            "-o2" => self.add(&["--no-hide"]),
            "-o3" => self.add(&["--no-merge"]),
            "-i" if !verify => self.add(&["--interactive"]),
            "-t" | "-replay" => self.job = Job::GuidedSimulation,
            "-M" if !verify => self.chart = true,
            "-safety" => self.add(&["--no-acceptance"]),
            // The verifier's.
            "-e" if verify => {
                // All of them are saved, unless a number follows.
                self.every = true;
                self.set("--max-errors", "0");
            }
            "-bit" if verify => self.store("bitstate"),
            "-s" if verify => self.set("--hashes", "1"),
            "-i" | "-I" if verify => self.short = true,
            // Which execution is met first is not promised.
            "-p_permute" | "-p_reverse" | "-rhash" | "-rev" if verify => {}
            _ if verify && word.starts_with("-p_rotate") => {}
            _ if verify && word.starts_with("-RS") => {}
            _ if verify && word.starts_with("-swarm") => self.swarm = true,
            "-n" | "-v" if verify => {}
            // Optimisation by the C compiler; without a number it is Spin's option for old rules of scope.
            "-O1" | "-O2" | "-O3" | "-O0" if verify => {}
            // The simulator's.
            "-p" | "-g" | "-l" | "-s" | "-r" | "-X" | "-T" | "-b" | "-B" | "-h" if !verify => {
                self.shown.push_str(&word[1..]);
            }
            "-c" if !verify => self.columns = true,
            "-v" | "-w" | "-x" if !verify => {}
            // They change how fast the verifier is.
            "-o4" | "-o5" => {}
            _ if word.starts_with("-hc") => self.store("compact"),
            _ => return self.number(word),
        }
        Ok(())
    }

    /// A letter with a number.
    fn number(&mut self, word: &str) -> Result<(), Refused> {
        let unknown = || UnknownFlag(word.into());
        let (letter, number) = word.split_at_checked(2).ok_or_else(unknown)?;
        if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
            return Err(unknown());
        }
        match letter {
            // Spin needs a limit; we do not. A huge one means "no limit".
            "-m" if self.verify => {
                if number.parse::<u64>().is_ok_and(|n| n < 10_000) {
                    self.set("--depth", number);
                }
            }
            "-w" if self.verify => {
                if self.flags.iter().any(|flag| flag == "bitstate") {
                    self.set("--bits", number);
                }
            }
            "-k" if self.verify => self.set("--hashes", number),
            "-c" if self.verify => self.set("--max-errors", number),
            // A limit in minutes, and the number of a hash function.
            "-Q" if self.verify => self.set("--time", &format!("{number}m")),
            "-h" if self.verify => {}
            "-L" if self.verify => self.bound = Some(number.into()),
            "-n" if !self.verify => self.seed = Some(number.into()),
            "-u" if !self.verify => self.set("--steps", number),
            "-j" if !self.verify => self.set("--from", number),
            "-t" if !self.verify => {
                self.job = Job::GuidedSimulation;
                self.which = number.into();
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<String>, Refused> {
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
                if !at_the_keyboard && !self.columns {
                    line.push(shown);
                }
                if let Some(seed) = self.seed {
                    line.extend(["--seed".into(), seed]);
                }
            }
            Job::Verify => {
                let trail = format!("{file}.trail");
                line.extend(["check".into(), file.clone()]);
                // Scripts count the trails: there is one for each violation, and no other.
                if !self.every {
                    line.extend(["--trace".into(), trail]);
                }
                line.extend(["--report".into(), "spin".into()]);
                if !self.short {
                    line.push("--first".into());
                }
                if self.every {
                    line.extend(["--trails".into(), file]);
                }
            }
            Job::GuidedSimulation => {
                let trail = self.trail.unwrap_or_else(|| format!("{file}{}.trail", self.which));
                let page = format!("{file}.html");
                line.extend(["replay".into(), file, trail]);
                match (self.chart, self.columns) {
                    (true, _) => line.extend(["--html".into(), page]),
                    (false, false) => line.push(shown),
                    (false, true) => {}
                }
            }
            Job::Format => line.extend(["fmt".into(), "--print".into(), file]),
            Job::Symbols => line.extend(["symbols".into(), file]),
            Job::Slice => line.extend(["slice".into(), file]),
            Job::Formula => {
                line.extend(["ltl".into(), file, "--never".into()]);
                return Ok(line);
            }
            Job::Generate => line.extend(["simulate".into(), file, "--steps".into(), "0".into()]),
        }
        if self.flags.iter().any(|flag| flag == "--non-progress") {
            // As in Spin, which says so.
            self.flags.retain(|flag| flag != "--acceptance");
        }
        if self.flags.iter().any(|flag| flag == "--no-deadlock") {
            self.flags.retain(|flag| flag != "--empty-channels");
        }
        if self.swarm {
            // A swarm makes these choices for each of its searches, and ends at the first violation.
            drop_options(&mut self.flags, &["--search", "--store", "--max-errors"]);
            self.flags.push("--swarm".into());
        }
        line.extend(self.flags);
        if self.job == Job::Verify {
            let has = |flag: &str| line.iter().any(|word| word == flag);
            // Preemptions and depth are counted together in a depth-first search only.
            let (is_deep, is_ordered) = (self.bound.is_some() && has("--depth"), has("--search"));
            if is_deep && !is_ordered {
                line.extend(["--search".into(), "dfs".into()]);
            }
            line.extend(self.bound.into_iter().flat_map(|bound| ["--bound".into(), bound]));
        }
        Ok(line)
    }
}

/// Takes options with their values out of a line.
fn drop_options(line: &mut Vec<String>, options: &[&str]) {
    while let Some(at) = line.iter().position(|word| options.contains(&word.as_str())) {
        line.drain(at..line.len().min(at + 2));
    }
}
