//! The tables.

use crate::{ours, spin};
use std::fmt::Write as _;

/// All measurements of one model.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) plain: ours::Told,
    pub(crate) reduced: ours::Told,
    pub(crate) reduced_search: ours::Told,
    pub(crate) tree: ours::Told,
    pub(crate) bitstate: Option<ours::Told>,
    pub(crate) threads: ours::Told,
    pub(crate) bounded: ours::Told,
    pub(crate) spin: spin::Told,
    pub(crate) spin_minimal: Option<spin::Told>,
    pub(crate) spin_o3: Option<spin::Told>,
    pub(crate) spin_fastest: spin::Told,
    pub(crate) spin_reduced: spin::Told,
    pub(crate) spin_bitstate: Option<spin::Told>,
    pub(crate) spin_bounded: Option<spin::Told>,
}

/// Depth-first searches over long states, ours and Spin's.
pub(crate) struct Long {
    pub(crate) cells: u32,
    pub(crate) reduced: (ours::Told, spin::Told),
    pub(crate) bitstate: (ours::Told, spin::Told),
}

/// Everything that was measured.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) rows: Vec<Row>,
    /// Measurements that failed, and why.
    pub(crate) broken: Vec<String>,
    pub(crate) long: Vec<Long>,
    pub(crate) growing: Vec<(u32, ours::Told, ours::Told)>,
}

impl Row {
    /// Whether all searches that see every state saw the same number of states and errors.
    fn agrees(&self) -> bool {
        let expected = (self.spin.states, self.spin.errors);
        let ours = [&self.plain, &self.tree, &self.threads];
        let mut spins = self.spin_o3.iter().chain([&self.spin_fastest]);
        ours.iter().all(|told| (told.states, told.errors) == expected)
            && spins.all(|told| (told.states, told.errors) == expected)
    }
}

impl Report {
    /// Whether the numbers of some row differ.
    pub(crate) fn failed(&self) -> bool {
        !self.broken.is_empty() || self.rows.iter().any(|row| !row.agrees())
    }

    /// The whole report as Markdown.
    pub(crate) fn text(&self) -> String {
        let mut out = String::from("# preempt and Spin on the same models\n\n");
        let _ = writeln!(
            out,
            "Written by `cargo xtask bench` on {}, on {}.\n\n\
             Seconds are processor time of the search (of Spin: of the whole `pan` process), in the \
             quickest of one to six rounds, in each of which everybody runs twice in a row (on the largest \
             model once); ratios above 1 are in our favour. \"Spin fastest\" is \
             `-O3 -DNOCOMP -DNOBOUNDCHECK -DNOFAIR` with huge pages. All of Spin's runs use `-DSAFETY`, `-c0` \
             and a hash table about as large as the number of states.\n",
            date(),
            machine()
        );
        self.exhaustive(&mut out);
        self.memory(&mut out);
        self.other_modes(&mut out);
        self.long(&mut out);
        self.growth(&mut out);
        for broken in &self.broken {
            let _ = writeln!(out, "FAILED {broken}\n");
        }
        out
    }

    fn exhaustive(&self, out: &mut String) {
        out.push_str(
            "## Every state, no reduction, one core\n\n\
             | model | states | errors | ours s | Mstates/s | Spin -O2 s | -O3 s | fastest s | × -O2 | × -O3 | × fastest | counts |\n\
             |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|\n",
        );
        let mut ratios = [Vec::new(), Vec::new(), Vec::new()];
        for row in &self.rows {
            let mine = row.plain.seconds;
            let o3 = row.spin_o3.as_ref().map(|told| told.seconds);
            let theirs = [Some(row.spin.seconds), o3, Some(row.spin_fastest.seconds)];
            for (all, seconds) in ratios.iter_mut().zip(theirs) {
                all.extend(seconds.map(|seconds| seconds / mine));
            }
            let show = |seconds: Option<f64>| seconds.map_or("–".into(), |s| format!("{s:.3}"));
            let times =
                |seconds: Option<f64>| seconds.map_or("–".into(), |s| format!("{:.1}", s / mine));
            let _ = writeln!(
                out,
                "| {} | {} | {} | {:.3} | {:.2} | {} | {} | {} | {} | {} | {} | {} |",
                row.name,
                row.plain.states,
                row.plain.errors,
                mine,
                row.plain.states as f64 / mine / 1e6,
                show(theirs[0]),
                show(theirs[1]),
                show(theirs[2]),
                times(theirs[0]),
                times(theirs[1]),
                times(theirs[2]),
                match row.agrees() {
                    true => "equal".to_owned(),
                    false => format!("DIFFER: Spin {} / {}", row.spin.states, row.spin.errors),
                },
            );
        }
        let [a, b, c] = ratios.map(|all| geometric_mean(&all));
        let _ = writeln!(out, "| geometric mean | | | | | | | | {a:.1} | {b:.1} | {c:.1} | |\n");
    }

    fn memory(&self, out: &mut String) {
        out.push_str(
            "## Memory per state\n\n\
             Spin's `-DMA` keeps the states as a minimal automaton; it is measured where Spin's default takes \
             less than four seconds.\n\n\
             | model | Spin's vector | Spin bytes/state | ours exact | ours tree | Spin / tree | Spin -DMA | tree s | Spin -O2 s | -DMA s |\n\
             |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        );
        for row in &self.rows {
            let minimal = row.spin_minimal.as_ref();
            let _ = writeln!(
                out,
                "| {} | {} | {:.0} | {:.1} | {:.1} | {:.1} | {} | {:.3} | {:.3} | {} |",
                row.name,
                row.spin.vector,
                row.spin.bytes_per_state,
                row.plain.bytes_per_state,
                row.tree.bytes_per_state,
                row.spin.bytes_per_state / row.tree.bytes_per_state,
                minimal
                    .and_then(|told| told.shared_bytes)
                    .map_or("–".into(), |b| format!("{b:.1}")),
                row.tree.seconds,
                row.spin.seconds,
                minimal.map_or("–".into(), |told| format!("{:.3}", told.seconds)),
            );
        }
        out.push_str(
            "\n## Time before the search\n\n\
             | model | ours: reading ms | machine code ms | spin -a ms | gcc -O2 ms |\n\
             |---|---:|---:|---:|---:|\n",
        );
        for row in &self.rows {
            let _ = writeln!(
                out,
                "| {} | {:.1} | {:.1} | {:.0} | {:.0} |",
                row.name,
                row.plain.reading * 1e3,
                row.plain.translating * 1e3,
                row.spin.generating * 1e3,
                row.spin.compiling * 1e3,
            );
        }
        out.push('\n');
    }

    fn other_modes(&self, out: &mut String) {
        out.push_str(
            "## With reduction, from command to verdict\n\n\
             | model | states | Spin's states | ours s | Spin s | × | command to verdict: ours s | spin+gcc+pan s | × | × pan alone |\n\
             |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        );
        for row in &self.rows {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {:.3} | {:.3} | {:.1} | {:.3} | {:.3} | {:.1} | {:.1} |",
                row.name,
                row.reduced.states,
                row.spin_reduced.states,
                row.reduced_search.seconds,
                row.spin_reduced.seconds,
                row.spin_reduced.seconds / row.reduced_search.seconds,
                row.reduced.all_processor,
                row.spin_reduced.all_processor,
                row.spin_reduced.all_processor / row.reduced.all_processor,
                row.spin_reduced.seconds / row.reduced.all_processor,
            );
        }
        out.push_str(
            "\n## Bitstate (2^28 bits, 3 hashes), two threads, two preemptions\n\n\
             Rates are thousands of states per second of processor time; two threads are compared on \
             the clock. Spin's `-DBCS -L2` bounds context switches by its own rule and so reaches \
             other states than our bound of two preemptions.\n\n\
             | model | bitstate: ours k/s | Spin k/s | × | 1 thread s | 2 threads s | × | bounded: states | s | Spin -DBCS states | s | × |\n\
             |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        );
        for row in &self.rows {
            let rate = |states: u64, seconds: f64| states as f64 / seconds / 1e3;
            let bitstate = match (&row.bitstate, &row.spin_bitstate) {
                (Some(mine), Some(theirs)) => {
                    let mine = rate(mine.states, mine.seconds);
                    let theirs = rate(theirs.states, theirs.seconds);
                    format!("{mine:.0} | {theirs:.0} | {:.1}", mine / theirs)
                }
                _ => "– | – | –".to_owned(),
            };
            let _ = writeln!(
                out,
                "| {} | {bitstate} | {:.3} | {:.3} | {:.2} | {} | {:.3} | {} |",
                row.name,
                row.plain.clock,
                row.threads.clock,
                row.plain.clock / row.threads.clock,
                row.bounded.states,
                row.bounded.seconds,
                match &row.spin_bounded {
                    Some(told) => {
                        let ratio = told.seconds / row.bounded.seconds;
                        format!("{} | {:.3} | {ratio:.1}", told.states, told.seconds)
                    }
                    None => "– | – | –".to_owned(),
                },
            );
        }
        out.push('\n');
    }

    fn long(&self, out: &mut String) {
        if self.long.is_empty() {
            return;
        }
        out.push_str(
            "## Long states (depth-first: reduced, exact; and every state, bitstate)\n\n\
             | cells | reduced: states | ours ns/state | Spin's states | ns/state | × \
             | bitstate: states | ours ns/state | Spin's states | ns/state | × |\n\
             |---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        );
        for row in &self.long {
            let _ = write!(out, "| {} |", row.cells);
            for (ours, spin) in [&row.reduced, &row.bitstate] {
                let per_state = |seconds: f64, states: u64| seconds / states as f64 * 1e9;
                let (we, they) =
                    (per_state(ours.seconds, ours.states), per_state(spin.seconds, spin.states));
                let _ = write!(
                    out,
                    " {} | {we:.0} | {} | {they:.0} | {:.1} |",
                    ours.states,
                    spin.states,
                    they / we,
                );
            }
            out.push('\n');
        }
        out.push('\n');
    }

    fn growth(&self, out: &mut String) {
        if self.growing.is_empty() {
            return;
        }
        out.push_str(
            "## Cost against size (philosophers)\n\n\
             | N | states | s | µs/state | MB | bytes/state | tree s | tree bytes/state |\n\
             |---:|---:|---:|---:|---:|---:|---:|---:|\n",
        );
        for (size, plain, tree) in &self.growing {
            let _ = writeln!(
                out,
                "| {size} | {} | {:.4} | {:.2} | {:.1} | {:.1} | {:.4} | {:.1} |",
                plain.states,
                plain.seconds,
                plain.seconds / plain.states as f64 * 1e6,
                plain.memory as f64 / 1e6,
                plain.bytes_per_state,
                tree.seconds,
                tree.bytes_per_state,
            );
        }
    }
}

fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len().max(1) as f64).exp()
}

/// Today, as year-month-day.
fn date() -> String {
    let output = std::process::Command::new("date").args(["-u", "+%Y-%m-%d"]).output();
    output.map_or_else(
        |_| "an unknown day".into(),
        |o| String::from_utf8_lossy(&o.stdout).trim().into(),
    )
}

/// The processor, and how busy the machine was.
fn machine() -> String {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let model = cpu.lines().find_map(|l| l.strip_prefix("model name")?.split_once(':'));
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let load = read("/proc/loadavg");
    format!(
        "{} ({cores} cores, load {})",
        model.map_or("an unknown processor", |(_, name)| name.trim()),
        load.split_whitespace().next().unwrap_or("unknown"),
    )
}
