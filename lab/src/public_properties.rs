//! Properties of public models beside Spin: full and reduced, states and processor seconds.
//!
//! `lab public-properties FOLDER [--seconds N] [--minutes N]` takes every model below a folder with a folder for each repository
//! (`owner+name`, fetched by hand: none is kept here). A property is an `ltl` block, a never claim, or, where there
//! is neither, "no assertion violated, no invalid end state". Spin's side is `spin -a`, `gcc -O2` and the run of `pan`, of
//! which the run alone counts; ours is the whole command. Both get the same time.
//!
//! Verdicts are compared on every row, states where the property holds: up to a violation they say
//! nothing.

use crate::markdown::Rows;
use crate::{Options, spin, tool};
use anyhow::{Context, Result, bail};
use preempt_core::grouped;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What `gcc` gets beside `-O2`, of which the first is without reduction.
const GCC: [&str; 2] =
    ["-DNOREDUCE -DMEMLIM=4000 -DVECTORSZ=4096", "-DMEMLIM=4000 -DVECTORSZ=4096"];
/// Less than this is noise: pages that are touched, files that are read.
const NOISE: f64 = 0.02;

/// What is checked of a model.
#[derive(Clone, PartialEq, Eq)]
enum Property {
    /// An `ltl` block, or one of several never claims, by its name.
    Named(String),
    /// The only never claim.
    Never,
    /// Assertions and ends.
    Safety,
}

impl Property {
    fn name(&self) -> &str {
        match self {
            Property::Named(name) => name,
            Property::Never => "never",
            Property::Safety => "safety",
        }
    }

    /// Options of `gcc` and of `pan`.
    fn for_spin(&self) -> (&'static str, String) {
        match self {
            Property::Named(name) => ("", format!("-a -N {name}")),
            Property::Never => ("", "-a".into()),
            Property::Safety => ("-DSAFETY", String::new()),
        }
    }

    fn for_us(&self) -> String {
        match self {
            Property::Named(name) => format!("--ltl {name}"),
            Property::Never | Property::Safety => String::new(),
        }
    }
}

/// One search by one tool.
#[derive(Clone, Copy)]
pub(crate) struct Search {
    pub(crate) violated: bool,
    pub(crate) states: u64,
    pub(crate) seconds: f64,
}

/// A property of a model by both tools.
struct Row {
    model: String,
    property: String,
    /// Full and reduced.
    spin: [Search; 2],
    ours: [Search; 2],
}

pub(crate) fn run(options: &Options) -> Result<String> {
    let mut arguments = options.rest.iter();
    let folder = PathBuf::from(arguments.next().context("which folder has the models?")?);
    let (mut seconds, mut minutes) = (20, u64::MAX);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().with_context(|| format!("{argument} needs a number"));
        match argument.as_str() {
            "--seconds" => seconds = number()?.parse()?,
            "--minutes" => minutes = number()?.parse()?,
            other => bail!("unknown option {other}"),
        }
    }
    let mut models = Vec::new();
    collect(&folder, &mut models)?;
    let start = Instant::now();
    let mut rows = Vec::new();
    let mut left_out: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (number, file) in models.iter().enumerate() {
        let model = file.strip_prefix(&folder)?.display().to_string();
        if start.elapsed().as_secs() / 60 >= minutes {
            left_out.entry("the time was up before").or_default().push(model);
            continue;
        }
        eprintln!("{} of {}: {model}", number + 1, models.len());
        let Some(properties) = properties(file) else {
            left_out.entry("Spin does not accept the model").or_default().push(model);
            continue;
        };
        for property in properties {
            match compare(file, &model, &property, seconds) {
                Ok(row) => rows.push(row),
                Err(reason) => {
                    let what = format!("{model} ({})", property.name());
                    left_out.entry(reason).or_default().push(what);
                }
            }
        }
        spin::clean();
    }
    Ok(report(&rows, &left_out))
}

/// The models below a folder, each text once.
pub(crate) fn collect(folder: &Path, models: &mut Vec<PathBuf>) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
            if path.is_dir() {
                folders.push(path);
            } else if matches!(ending, "pml" | "prom" | "promela" | "pr" | "spin") {
                let mut hasher = DefaultHasher::new();
                std::fs::read(&path)?.hash(&mut hasher);
                if seen.insert(hasher.finish()) {
                    models.push(path);
                }
            }
        }
    }
    models.sort();
    Ok(())
}

/// What can be checked of a model; `None` if Spin does not accept it.
fn properties(file: &Path) -> Option<Vec<Property>> {
    let said = spin::generate(file.to_str()?)?;
    let mut named: Vec<Property> = Vec::new();
    for line in said.text.lines() {
        if let Some(names) = line.trim().strip_prefix("the model contains ") {
            let names = names.split_once("never claims:")?.1;
            named = names.split(',').map(|name| Property::Named(name.trim().into())).collect();
        } else if let Some((name, _)) = line.strip_prefix("ltl ").and_then(|l| l.split_once(':'))
            && named.is_empty()
        {
            named.push(Property::Named(name.trim().into()));
        }
    }
    Some(match (named.is_empty(), said.has_claim) {
        (false, _) => named,
        (true, true) => vec![Property::Never],
        (true, false) => vec![Property::Safety],
    })
}

fn compare(
    file: &Path,
    model: &str,
    property: &Property,
    seconds: u64,
) -> Result<Row, &'static str> {
    let name = file.to_str().ok_or("its name is no text")?;
    let spin = |gcc: &str| {
        let (claim, pan) = property.for_spin();
        let gcc = format!("{gcc} {claim}");
        let run = |depth: &str| {
            let pan = format!("{pan} {depth}");
            spin::timed(name, &gcc, &pan, seconds).ok_or("Spin does not end in time")
        };
        // A deep stack costs a quarter of a second before anything is searched.
        let (mut numbers, mut truncated) = run("")?;
        if truncated {
            (numbers, truncated) = run("-m5000000")?;
        }
        match truncated {
            true => Err("Spin does not end in time"),
            false => Ok(Search {
                violated: numbers.errors > 0,
                states: numbers.states,
                seconds: numbers.seconds,
            }),
        }
    };
    let ours = |por: &str| {
        let arguments = format!("{} --por {por} --time {seconds} --memory 4G", property.for_us());
        let (run, seconds) =
            tool::timed_check(name, &arguments).map_err(|_| "preempt does not accept the model")?;
        match run.verdict() {
            "inconclusive" => Err("preempt does not end in time"),
            verdict => Ok(Search {
                violated: verdict == "violated",
                states: run.number("states"),
                seconds,
            }),
        }
    };
    Ok(Row {
        ours: [ours("off")?, ours("on")?],
        spin: [spin(GCC[0])?, spin(GCC[1])?],
        model: model.to_owned(),
        property: property.name().to_owned(),
    })
}

fn report(rows: &[Row], left_out: &BTreeMap<&str, Vec<String>>) -> String {
    let head = [
        "model",
        "property",
        "verdict",
        "full: Spin",
        "ours",
        "s",
        "ours",
        "reduced: Spin",
        "ours",
        "s",
        "ours",
    ];
    let mut table = Rows::new(&head);
    let (mut more, mut slower, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        let what = format!("{} ({})", row.model, row.property);
        let violated = row.spin[0].violated;
        if row.spin.iter().chain(&row.ours).any(|search| search.violated != violated) {
            let of = |search: &Search| if search.violated { "violated" } else { "holds" };
            let [a, b, c, d] = [row.spin[0], row.spin[1], row.ours[0], row.ours[1]].map(|s| of(&s));
            wrong.push(format!("{what}: Spin {a} and {b}, ours {c} and {d}"));
        }
        let mut cells = vec![
            row.model.clone(),
            row.property.clone(),
            if violated { "violated" } else { "holds" }.to_owned(),
        ];
        for (reduced, (spin, ours)) in row.spin.iter().zip(&row.ours).enumerate() {
            let states = |search: &Search| match search.violated {
                true => "–".to_owned(),
                false => grouped(search.states),
            };
            cells.extend([states(spin), states(ours)]);
            cells.extend([format!("{:.2}", spin.seconds), format!("{:.2}", ours.seconds)]);
            let how = ["full", "reduced"][reduced];
            if !spin.violated && !ours.violated && ours.states > spin.states {
                let (a, b) = (grouped(ours.states), grouped(spin.states));
                more.push(format!("{what}, {how}: {a} states, Spin {b}"));
            }
            if ours.seconds > spin.seconds + NOISE {
                let (a, b) = (ours.seconds, spin.seconds);
                slower.push(format!("{what}, {how}: {a:.2} s, Spin {b:.2}"));
            }
        }
        let [full, reduced] = row.ours;
        if !full.violated && reduced.states > full.states {
            let (a, b) = (grouped(reduced.states), grouped(full.states));
            more.push(format!("{what}: {a} states with reduction, {b} without"));
        }
        table.push(&cells);
    }
    let mut text = table.finish();
    let mut list = |title: &str, lines: &[String]| {
        let _ = write!(text, "\n**{title}: {}**\n\n", lines.len());
        for line in lines {
            let _ = writeln!(text, "- {line}");
        }
    };
    list("Verdicts that differ", &wrong);
    list("More states", &more);
    list("More processor time, by more than 20 ms", &slower);
    for (reason, models) in left_out {
        list(&format!("Left out, because {}", reason), models);
    }
    text
}
