//! Random Promela texts whose processes signal each other: promised channels, rendezvous, `atomic`,
//! `d_step`, `run` and ends, `timeout`, `else`, `unless`, `provided`, `priority`, `_nr_pr`, `trace`; and texts like the known
//! counterexamples to [HF] Theorem 2.

#![allow(dead_code)] // Each test binary uses its own part.

#[allow(clippy::duplicate_mod, reason = "unit tests use several of these folders")]
#[path = "../chance/mod.rs"]
mod chance;

use chance::Random;
use std::fmt::Write;

/// What a text may contain.
struct Writer {
    r: Random,
    /// Of each channel, which process sends and which receives.
    ends: Vec<(usize, usize)>,
    /// Of each channel, whether that is promised.
    promised: Vec<bool>,
    processes: usize,
    meets: bool,
    timeouts: bool,
    counts: bool,
    /// How deep the present statement is nested.
    depth: u32,
}

impl Writer {
    fn bit(&mut self) -> usize {
        self.r.below(2)
    }

    fn condition(&mut self) -> String {
        let kind = self.r.below(100);
        if self.counts && kind < 8 {
            let than = self.r.of(&["<", ">="]);
            return format!("(_nr_pr {than} {})", 1 + self.r.below(self.processes));
        }
        match kind {
            0..25 => format!("(l == {})", self.bit()),
            _ => format!("(g{} == {})", self.r.below(3), self.bit()),
        }
    }

    fn contact(&mut self, process: usize) -> String {
        let channel = self.r.below(self.ends.len());
        match self.ends[channel] {
            (sender, _) if sender == process => format!("c{channel}!{}", self.bit()),
            (_, receiver) if receiver == process => match self.r.chance(70) {
                true => format!("c{channel}?l"),
                false => format!("c{channel}?{}", self.bit()),
            },
            _ => format!("l = {}", self.bit()),
        }
    }

    /// A test of a channel, if the process may ask.
    fn test(&mut self, process: usize) -> String {
        let channel = self.r.below(self.ends.len());
        let tests = match (self.promised[channel], self.ends[channel]) {
            (false, _) => &["nempty", "nfull", "empty", "full", "len"][..],
            (true, (sender, _)) if sender == process => &["nfull"],
            (true, (_, receiver)) if receiver == process => &["nempty"],
            _ => return "skip".into(),
        };
        format!("({}(c{channel}))", self.r.of(tests))
    }

    fn simple(&mut self, process: usize) -> String {
        match self.r.below(100) {
            0..30 => self.contact(process),
            30..38 if self.meets => match self.r.below(4) {
                0 | 1 => format!("rv!{}", self.bit()),
                2 => "rv?l".into(),
                _ => format!("rv?{}", self.bit()),
            },
            38..55 => format!("g{} = {}", self.r.below(3), self.bit()),
            55..70 => self.condition(),
            70..80 => format!("l = {}", self.bit()),
            80..86 => {
                let (a, b) = (self.r.below(3), self.r.below(3));
                format!("assert(g{a} == {} || g{b} == {})", self.bit(), self.bit())
            }
            86..90 if self.timeouts => "timeout".into(),
            90..94 => self.test(process),
            _ => "skip".into(),
        }
    }

    fn statement(&mut self, process: usize) -> String {
        let kind = self.r.below(100);
        if self.depth > 0 || kind >= 42 {
            return self.simple(process);
        }
        self.depth += 1;
        let (a, b) = (self.simple(process), self.simple(process));
        let text = match kind {
            0..20 => {
                let (c, d) = (self.simple(process), self.simple(process));
                format!("if :: {a} -> {b} :: {c} -> {d} fi")
            }
            20..24 => {
                let condition = self.condition();
                format!("if :: {condition} -> {a} :: else -> {b} fi")
            }
            24..31 => format!("atomic {{ {a}; {b} }}"),
            31..35 => {
                let condition = self.condition();
                format!("d_step {{ {condition}; g{} = {} }}", self.r.below(3), self.bit())
            }
            35..39 => format!("do :: {a} :: {b}; break od"),
            _ => format!("{{ {a}; {b} }} unless {{ {} }}", self.condition()),
        };
        self.depth -= 1;
        text
    }
}

/// A random text.
pub(crate) fn random(seed: u64) -> String {
    let mut r = Random::new(seed.wrapping_mul(31) + 17);
    let processes = 2 + r.below(2) + usize::from(r.chance(25));
    let channels = 1 + r.below(2);
    let ends = (0..channels).map(|_| {
        let sender = r.below(processes);
        (sender, (sender + 1 + r.below(processes - 1)) % processes)
    });
    let ends = ends.collect();
    let promised = (0..channels).map(|_| r.chance(80)).collect();
    let (meets, timeouts) = (r.chance(30), r.chance(15));
    let (counts, runs, provided) = (r.chance(15), r.chance(35), r.chance(10));
    let mut w = Writer { r, ends, promised, processes, meets, timeouts, counts, depth: 0 };
    let mut out = String::new();
    for bit in 0..3 {
        let _ = writeln!(out, "bit g{bit} = {};", w.bit());
    }
    for channel in 0..channels {
        let _ = writeln!(out, "chan c{channel} = [{}] of {{ bit }};", 1 + w.bit());
    }
    if meets {
        let _ = writeln!(out, "chan rv = [0] of {{ bit }};");
    }
    for process in 0..processes {
        let active = if runs { "" } else { "active " };
        let condition = match provided && w.r.chance(50) {
            true => format!(" provided (g{} == {})", w.r.below(3), w.bit()),
            false => String::new(),
        };
        let priority = match !runs && seed % 13 == 5 {
            true => format!(" priority {}", 1 + w.r.below(3)),
            false => String::new(),
        };
        let _ = write!(out, "{active}proctype P{process}(){priority}{condition} {{ bit l; ");
        for channel in 0..channels {
            if w.promised[channel] && w.ends[channel].0 == process {
                let _ = write!(out, "xs c{channel}; ");
            }
            if w.promised[channel] && w.ends[channel].1 == process {
                let _ = write!(out, "xr c{channel}; ");
            }
        }
        for at in 0..1 + w.r.below(5) {
            let statement = w.statement(process);
            let label = if w.r.chance(10) { format!("end{at}: ") } else { String::new() };
            let _ = write!(out, "{label}{statement}; ");
        }
        let _ = writeln!(out, "skip }}");
    }
    match seed % 34 {
        3 => out.push_str("notrace { c0!1; c0!0 }\n"),
        20 => out.push_str("trace { c0!0; c0!1 }\n"),
        _ => {}
    }
    if runs {
        // Some run at once, some one after the other; some twice, so that numbers are used again.
        let together = w.r.chance(50);
        let again = if w.r.chance(20) { "(_nr_pr == 1); run P0() " } else { "skip " };
        let list: String = (0..processes).map(|process| format!("run P{process}(); ")).collect();
        let list = if together { format!("atomic {{ {list} }}; ") } else { list };
        let _ = writeln!(out, "init {{ {list}{again}}}");
    }
    out
}

/// A text like the known counterexamples, with a little more here and there.
pub(crate) fn mutated(seed: u64) -> String {
    let mut r = Random::new(seed.wrapping_mul(131) + 7);
    let meets = r.chance(30);
    let plain = r.chance(30);
    let more: Vec<&str> = (0..9)
        .map(|_| {
            let text = r.of(&[
                "",
                "",
                "",
                "skip; ",
                "l = 1; ",
                "g2 = 1; ",
                "(g2 == 0); ",
                "g1 = 1; ",
                "d!1; ",
                "if :: d?l :: skip fi; ",
                "g0 = 1; ",
                "(g1 == 0); ",
                "if :: (g0 == 1) :: (g0 == 0) fi; ",
            ]);
            if plain { "" } else { text }
        })
        .collect();
    let (xs, xr) = if meets { ("", "") } else { ("xs c; ", "xr c; ") };
    let [a, b, c, d, e, f, g, h, i] = more[..] else { return String::new() };
    let mut processes = match r.below(4) {
        0 | 1 => {
            let wait = match (meets, r.chance(50)) {
                (true, _) => "atomic { c!1 -> g0 = 0 }",
                (false, true) => "atomic { c?1 -> g0 = 0 }",
                (false, false) => "c?1; g0 = 0",
            };
            let signal = if meets { "skip; c?1" } else { "c!1" };
            vec![
                format!("{a}(g0 == 1); {b}assert(g0 == 1); {c}"),
                format!("{xs}{d}{signal}; {e}"),
                format!("{xr}{f}skip; {g}g0 = 1; {h}{wait}; {i}"),
            ]
        }
        2 => {
            let (take, give) = if meets { ("c!1", "c?1; (g0 == 1)") } else { ("c?1", "c!1") };
            vec![
                format!(
                    "{xr}{a}g1 = 1; {b}{take}; {c}if :: (g2 == 1) -> assert(false) :: (g2 == 0) fi; {d}"
                ),
                format!("{xs}{e}{give}; {f}"),
                format!("{g}(g1 == 1); {h}g2 = 1; {i}"),
            ]
        }
        _ => vec![
            format!("{a}g1 = 1; {b}g2 = 1; {c}"),
            format!("{d}(g1 == 1); {e}assert(g2 == 0 || _nr_pr > {}); {f}", 1 + r.below(3)),
            format!("{g}skip; {h}"),
        ],
    };
    for at in (1..processes.len()).rev() {
        processes.swap(at, r.below(at + 1));
    }
    let capacity = if meets { 0 } else { 1 + r.below(2) };
    let mut out = format!(
        "bit g0, g1, g2;\nchan c = [{capacity}] of {{ bit }};\nchan d = [2] of {{ bit }};\n"
    );
    for (at, body) in processes.iter().enumerate() {
        let _ = writeln!(out, "active proctype P{at}() {{ bit l; {body}skip }}");
    }
    out
}
