//! Options of Spin's verifier that contradict each other. Spin's own verifier does not compile with both, or prints its usage.

use super::Refused;

/// Two groups of options, of which one excludes the other, and why.
struct Contradiction {
    one: &'static [&'static str],
    other: &'static [&'static str],
    because: &'static str,
}

const BITS: &[&str] = &["-bitstate", "-bit", "-DBITSTATE", "-swarm"];
const BREADTH_FIRST: &[&str] = &["-bfs", "-bfspar", "-DBFS"];

const CONTRADICTIONS: &[Contradiction] = &[
    Contradiction {
        one: &["-safety", "-DSAFETY", "-bfs", "-bfspar", "-DBFS"],
        other: &["-a", "-f", "-l", "-np", "-DNP"],
        because: "a search for safety looks for no cycles",
    },
    Contradiction {
        one: BITS,
        other: &["-hc", "-DHC", "-collapse", "-DCOLLAPSE", "-DMA"],
        because: "a table of bits stores no states to be compressed",
    },
    Contradiction {
        one: BREADTH_FIRST,
        other: &["-bcs", "-DBCS", "-L"],
        because: "a bound on context switches needs a depth-first search",
    },
    Contradiction {
        one: BREADTH_FIRST,
        other: &["-dfs"],
        because: "there is one order of exploration",
    },
    Contradiction {
        one: BREADTH_FIRST,
        other: &["-swarm"],
        because: "the searches of a swarm are depth-first",
    },
    Contradiction {
        one: &["-noclaim", "-DNOCLAIM"],
        other: &["-ltl", "-N"],
        because: "one names a claim, the other leaves out all of them",
    },
    Contradiction {
        one: &["-ltl"],
        other: &["-N"],
        because: "one claim is used in a verification run",
    },
    Contradiction {
        one: &["-l", "-np", "-DNP"],
        other: &["-ltl", "-N"],
        because: "the search for cycles without progress is a claim of its own",
    },
];

/// The first contradiction among the words of a verification.
pub(super) fn find(words: &[String]) -> Option<Refused> {
    let one_of = |group: &[&str]| words.iter().find(|word| group.contains(&option(word)));
    CONTRADICTIONS.iter().find_map(|contradiction| {
        let one = one_of(contradiction.one)?;
        let other = one_of(contradiction.other)?;
        Some(Refused::Contradiction(one.clone(), other.clone(), contradiction.because))
    })
}

/// The option of a word, without the numbers behind it.
fn option(word: &str) -> &str {
    let name = word.split('=').next().unwrap_or(word);
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == ',')
}
