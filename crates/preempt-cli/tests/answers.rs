//! What an answer says: nothing to check is no success, a replay repeats or fails, and every report of a model carries
//! the numbers of the terminal.

mod c_programs;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn preempt() -> Command {
    Command::new(env!("CARGO_BIN_EXE_preempt"))
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("answers").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn check(file: &Path, options: &[&str]) -> Output {
    preempt().arg("check").arg(file).args(options).output().expect("preempt runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Exit code 2, and a verdict of its own.
fn is_nothing(file: &Path, options: &[&str], hint: &str) {
    let output = check(file, options);
    assert_eq!(output.status.code(), Some(2), "{options:?} {output:?}");
    let text = stdout(&output);
    assert!(text.starts_with("! nothing to check"), "{text}");
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains(hint), "{text}");
    let output = check(file, &[options, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(2), "{options:?}");
    let report = json(&stdout(&output));
    assert_eq!((&report["verdict"], &report["complete"]), (&"nothing".into(), &false.into()));
}

#[test]
fn nothing_to_check_is_no_success() {
    let folder = folder("nothing");
    let system = "2\nPDA 0 1\n0 0 -> 1 1\n";
    let pushdown = folder.join("system.pds");
    std::fs::write(&pushdown, system).unwrap();
    is_nothing(&pushdown, &[], "--target 'STATE|TOP");
    is_nothing(&pushdown, &["--bound", "2"], ".spec");
    is_nothing(&pushdown, &["--switches", "2", "--method", "direct"], ".spec");
    // The file beside it names a target; so does the option.
    assert_eq!(check(&pushdown, &["--target", "1|1"]).status.code(), Some(1));
    std::fs::write(folder.join("system.spec"), "1|1\n").unwrap();
    assert_eq!(check(&pushdown, &[]).status.code(), Some(1));
    assert_eq!(check(&pushdown, &["--bound", "0"]).status.code(), Some(1));
    std::fs::write(folder.join("system.spec"), "0|1\n").unwrap();
    assert_eq!(check(&pushdown, &[]).status.code(), Some(0));
    // A label that is misspelt.
    let program = folder.join("program.bp");
    std::fs::write(&program, "decl a;\nvoid main() begin a := T; Tagret: skip; end\n").unwrap();
    is_nothing(&program, &[], "(this program has Tagret)");
    is_nothing(&program, &["--bound", "1"], "--target LABEL");
    is_nothing(&program, &["--rounds", "2"], "--target LABEL");
    assert_eq!(check(&program, &["--target", "Tagret"]).status.code(), Some(1));
    assert_eq!(check(&program, &["--target", "Target"]).status.code(), Some(2));
    // A model of which everything that could fail is switched off.
    let model = folder.join("model.pml");
    std::fs::write(&model, "byte x; active proctype P() { x = 1; assert(x == 1) }\n").unwrap();
    is_nothing(&model, &["--no-deadlock", "--no-assert"], "assertions and end states");
    is_nothing(&model, &["--no-deadlock", "--no-assert", "--bound", "1"], "end states");
    assert_eq!(check(&model, &["--no-deadlock"]).status.code(), Some(0));
}

/// `words N` on the terminal.
fn number_before(text: &str, label: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.trim_end().ends_with(label))?;
    line.trim_end().strip_suffix(label)?.trim().parse().ok()
}

fn number_behind(text: &str, label: &str) -> Option<u64> {
    let (_, rest) = text.split_once(label)?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The data of a page.
fn island(page: &str) -> Value {
    let begin = page.find("id=\"data\">").expect("a page") + "id=\"data\">".len();
    json(&page[begin..begin + page[begin..].find("</script>").expect("its data")])
}

/// `7 steps`, `1 step`.
fn many(number: &Value, noun: &str) -> String {
    match number.as_u64() {
        Some(1) => format!("1 {noun}"),
        number if noun == "switch" => format!("{} switches", number.expect("a number")),
        number => format!("{} {noun}s", number.expect("a number")),
    }
}

/// Compares the text of a command with the report and the page that it wrote; gives what differs.
fn differences(name: &str, text: &str, report: &Value, page: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let island = island(page);
    // With several properties, the page shows the first that is violated, or the first.
    let results = report["results"].as_array().cloned().unwrap_or_else(|| vec![report.clone()]);
    let shown = results.iter().find(|r| !r["violation"].is_null()).unwrap_or(&results[0]);
    let mut same = |what: &str, a: &Value, b: &Value| {
        if a != b {
            wrong.push(format!("{name}: {what}: {a} and {b}"));
        }
    };
    let numbers = &island["numbers"];
    for (key, on_page) in [
        ("states", "states"),
        ("matched", "matched"),
        ("transitions", "transitions"),
        ("atomic_steps", "atomic"),
        ("depth", "depth"),
        ("errors", "errors"),
        ("revisits", "revisits"),
        ("state_bytes", "vector"),
        ("memory_bytes", "memory"),
        ("nodes", "nodes"),
        ("executions", "executions"),
        ("bound_unit", "unit"),
    ] {
        same(key, &shown[key], &numbers[on_page]);
    }
    same("verdict", &shown["verdict"], &island["verdict"]);
    same("claim", &shown["claim"], &island["claim"]);
    let rows = shown["per_bound"].as_array().expect("rows");
    let on_page: Vec<Value> = rows
        .iter()
        .filter(|row| row["stale"].as_u64().unwrap_or(0) == 0)
        .map(|row| ["bound", "states", "transitions", "errors"].map(|key| row[key].clone()).into())
        .collect();
    same("rows", &on_page.into(), &numbers["bounds"]);
    let violation = &shown["violation"];
    if !violation.is_null() {
        for (at, key) in ["steps", "preemptions", "switches", "blocks"].into_iter().enumerate() {
            same(key, &violation[key], &island["cost"][at]);
        }
        same(
            "length",
            &violation["trace"].as_array().map_or(0, Vec::len).into(),
            &violation["steps"],
        );
    }
    // The terminal, block by block.
    let mut rest = text;
    for result in &results {
        let claim = result["claim"].as_str().expect("a sentence");
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        if !flat(text).contains(&flat(claim)) {
            wrong.push(format!("{name}: the terminal does not say: {claim}"));
        }
        let violation = &result["violation"];
        if !violation.is_null() {
            let words = [("steps", "step"), ("preemptions", "preemption"), ("switches", "switch")]
                .map(|(key, noun)| many(&violation[key], noun));
            let is_it = |line: &str| words.iter().all(|word| line.contains(word.as_str()));
            if !text.lines().any(is_it) {
                wrong.push(format!("{name}: the lanes do not say {words:?}"));
            }
        }
        if result["executions"].is_null() && result["nodes"].is_null() {
            let Some(at) = rest.find("State-vector ") else {
                wrong.push(format!("{name}: no numbers"));
                continue;
            };
            rest = &rest[at..];
            let block = rest.split("elapsed time").next().unwrap_or(rest);
            for (key, found) in [
                ("state_bytes", number_behind(block, "State-vector ")),
                ("depth", number_behind(block, "depth reached ")),
                ("errors", number_behind(block, "errors: ")),
                ("states", number_before(block, "states, stored")),
                ("matched", number_before(block, "states, matched")),
                ("transitions", number_before(block, "transitions (= stored+matched)")),
                ("atomic_steps", number_before(block, "atomic steps")),
            ] {
                if result[key].as_u64() != found {
                    wrong.push(format!("{name}: {key}: {} and {found:?}", result[key]));
                }
            }
            if result["states"].as_u64().zip(result["matched"].as_u64()).map(|(a, b)| a + b)
                != result["transitions"].as_u64()
            {
                wrong.push(format!("{name}: transitions are not stored+matched"));
            }
            for row in result["per_bound"].as_array().expect("rows") {
                let wanted = ["states", "transitions", "errors"].map(|key| row[key].to_string());
                let bound = format!("<= {}", row["bound"]);
                let is_it = |line: &str| {
                    let cells: Vec<&str> =
                        line.trim().split("  ").map(str::trim).filter(|c| !c.is_empty()).collect();
                    cells.first() == Some(&bound.as_str())
                        && wanted.iter().all(|cell| cells.contains(&cell.as_str()))
                };
                if !block.lines().any(is_it) {
                    wrong.push(format!("{name}: the table lacks {row}"));
                }
            }
            let unit = result["bound_unit"].as_str().expect("a unit");
            let has_rows = !result["per_bound"].as_array().expect("rows").is_empty();
            if has_rows && !block.lines().any(|line| line.trim_start().starts_with(unit)) {
                wrong.push(format!("{name}: the table does not count {unit}"));
            }
            rest = &rest["State-vector ".len()..];
        } else if let Some(nodes) = result["nodes"].as_u64()
            && number_before(text, "nodes of decision diagrams, at most") != Some(nodes)
        {
            wrong.push(format!("{name}: nodes are not {nodes}"));
        }
    }
    wrong
}

fn options_of(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).expect("a model");
    let line = text.lines().take(6).find_map(|line| {
        line.trim_start_matches(['/', '*', '#', ' '])
            .trim_end_matches(['/', '*', ' '])
            .strip_prefix("options:")
    });
    line.unwrap_or_default().split_whitespace().map(String::from).collect()
}

fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path());
    let has_ending =
        |path: &PathBuf| path.extension().is_some_and(|e| endings.contains(&&*e.to_string_lossy()));
    let mut files: Vec<PathBuf> = entries.filter(has_ending).collect();
    files.sort();
    files
}

#[test]
fn every_report_of_a_model_has_the_numbers_of_the_terminal() {
    let models = c_programs::root().join("models");
    let out = folder("numbers");
    let (report, page) = (out.join("report.json"), out.join("page.html"));
    let mut wrong = Vec::new();
    let mut runs = 0;
    let mut compare = |file: &Path, options: &[&str]| {
        let given = options_of(file);
        let output = preempt()
            .arg("check")
            .arg(file)
            .args(&given)
            .args(options)
            .arg("--json")
            .arg(&report)
            .arg("--html")
            .arg(&page)
            .output()
            .expect("preempt runs");
        let name = format!("{} {given:?} {options:?}", file.display());
        let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
        // The number of threads is not fixed: a bound on preemptions is refused.
        if String::from_utf8_lossy(&output.stderr).contains("B0014") {
            return;
        }
        if read(&report).is_empty() {
            wrong.push(format!("{name}: no report: {output:?}"));
            return;
        }
        runs += 1;
        wrong.extend(differences(&name, &stdout(&output), &json(&read(&report)), &read(&page)));
        let _ = (std::fs::remove_file(&report), std::fs::remove_file(&page));
    };
    for file in files(&models, &["pml"]) {
        compare(&file, &["--time", "500ms"]);
        if !options_of(&file).iter().any(|word| word == "--bound" || word == "--iterate") {
            compare(&file, &["--iterate", "2", "--time", "500ms"]);
        }
    }
    for file in files(&models.join("boolean"), &["bp", "pds"]) {
        for options in [
            &["--time", "500ms"][..],
            &["--method", "explicit", "--switches", "2", "--time", "500ms"],
            &["--bound", "1", "--time", "500ms"],
        ] {
            compare(&file, options);
        }
    }
    eprintln!("{runs} runs of models");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(runs > 80, "{runs}");
}

#[test]
fn every_report_of_a_c_program_has_the_numbers_of_the_terminal() {
    if !c_programs::has("gcc") {
        return;
    }
    let out = folder("native-numbers");
    let (report, page) = (out.join("report.json"), out.join("page.html"));
    let mut wrong = Vec::new();
    let mut runs = 0;
    for source in files(&c_programs::root().join("models/native"), &["c", "cc"]) {
        let given = options_of(&source);
        let options: Vec<&str> = given.iter().map(String::as_str).collect();
        let program = c_programs::compile(&source, &options, ["gcc", "g++"]);
        let output = c_programs::preempt()
            .args(["run", "--time", "2s", "--json"])
            .arg(&report)
            .arg("--html")
            .arg(&page)
            .arg("--")
            .arg(&program)
            .output()
            .expect("preempt runs");
        let read = |path: &Path| {
            std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{source:?}: {e} {output:?}"))
        };
        let name = source.display().to_string();
        let (text, report) = (stdout(&output), json(&read(&report)));
        wrong.extend(differences(&name, &text, &report, &read(&page)));
        // Partial orders and executions, in all and bound by bound.
        let grouped = |key: &str| {
            let digits = report[key].to_string();
            let mut out = String::new();
            for (at, digit) in digits.chars().enumerate() {
                if at > 0 && (digits.len() - at) % 3 == 0 {
                    out.push(',');
                }
                out.push(digit);
            }
            out
        };
        let all = format!(
            "in all: {} partial order{}, {} execution{}",
            grouped("states"),
            if report["states"] == 1 { "" } else { "s" },
            grouped("executions"),
            if report["executions"] == 1 { "" } else { "s" }
        );
        if !text.contains(&all) {
            wrong.push(format!("{name}: the terminal does not say: {all}"));
        }
        runs += 1;
    }
    eprintln!("{runs} runs of C and C++ programs");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const LOST_UPDATE: &str = "#include <pthread.h>\n#include <stdatomic.h>\n#include <assert.h>\n\
    atomic_int x;\n\
    void *t(void *a) { int v = x; x = v + 1; return 0; }\n\
    int main(void) { pthread_t p; pthread_create(&p, 0, t, 0); int v = x; x = v + 1;\n\
    pthread_join(p, 0); assert(x == 2); return 0; }\n";

#[test]
fn a_replay_repeats_the_violation_or_is_an_error() {
    if !c_programs::has("gcc") {
        return;
    }
    let folder = folder("replay");
    let source = folder.join("lost.c");
    std::fs::write(&source, LOST_UPDATE).unwrap();
    let program = c_programs::compile(&source, &["-g", "-O1"], ["gcc", "g++"]);
    let (trace, other) = (folder.join("trace.json"), folder.join("other.c"));
    let run = |words: &[&str], program: &Path| {
        let output = c_programs::preempt().arg("run").args(words).arg("--").arg(program).output();
        output.expect("preempt runs")
    };
    let found = run(&["--trace", trace.to_str().unwrap()], &program);
    assert_eq!(found.status.code(), Some(1), "{found:?}");
    let saved = json(&std::fs::read_to_string(&trace).unwrap());
    let schedule = saved["schedule"].as_str().expect("a schedule").to_string();
    assert_eq!(run(&["--replay", &schedule], &program).status.code(), Some(1));
    for wrong in ["p1.0x3.7.7", "p1.0x400", "nonsense", "p1.q"] {
        let output = run(&["--replay", wrong], &program);
        assert_eq!(output.status.code(), Some(2), "{wrong}: {output:?}");
        assert!(!stdout(&output).contains("nothing is violated"), "{output:?}");
        let report = json(&stdout(&run(&["--replay", wrong, "--json"], &program)));
        assert_eq!(report["verdict"], "nothing", "{wrong}: {report}");
    }
    // Another execution that violates something is reported as such.
    let output = run(&["--replay", "p1.0.1x40"], &program);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(stdout(&output).contains("note: the schedule could not be followed"), "{output:?}");
    // The program is repaired, and has other steps: the schedule does not fit it.
    let repaired = LOST_UPDATE.replace("int v = x; x = v + 1;", "x++;");
    std::fs::write(&other, repaired).unwrap();
    let repaired = c_programs::compile(&other, &["-g", "-O1"], ["gcc", "g++"]);
    assert_eq!(run(&["--replay", &schedule], &repaired).status.code(), Some(2));
    // Repaired with the same steps: it is followed, and nothing is violated.
    std::fs::write(&other, LOST_UPDATE.replace("assert(x == 2)", "assert(x == x || x)")).unwrap();
    let same = c_programs::compile(&other, &["-g", "-O1"], ["gcc", "g++"]);
    let output = run(&["--replay", &schedule], &same);
    assert!(matches!(output.status.code(), Some(0 | 2)), "{output:?}");
    // In a debugger the violation happens again, though the program is executed once.
    if preempt_testing::peers(&["gdb"]) {
        let output =
            run(&["--replay", &schedule, "--debugger", "gdb -nx -batch -ex run"], &program);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let output = run(&["--replay", "p1.0", "--debugger", "gdb -nx -batch -ex run"], &program);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }
}

/// A race may need no scheduling point: the saved execution still has its last access.
#[test]
fn a_race_has_a_step() {
    if !c_programs::has("gcc") {
        return;
    }
    let folder = folder("race");
    let source = folder.join("race.c");
    std::fs::write(
        &source,
        "#include <pthread.h>\nint x;\nvoid *t(void *a) { x = 1; return 0; }\n\
         int main(void) { pthread_t p; pthread_create(&p, 0, t, 0); x = 2; pthread_join(p, 0); return 0; }\n",
    )
    .unwrap();
    let program = c_programs::compile(&source, &["-g", "-O1"], ["gcc", "g++"]);
    let (code, report) = c_programs::run(&program, &[]);
    assert_eq!((code, &report["violation"]["kind"]), (Some(1), &"data_race".into()));
    let steps = report["violation"]["trace"].as_array().expect("steps");
    let texts: Vec<&str> = steps.iter().filter_map(|step| step["text"].as_str()).collect();
    let (last, before) = texts.split_last().expect("the access that races");
    assert!(last.starts_with("write x (was 1), races with the write of"), "{texts:?}");
    assert!(before.contains(&"write x = 1"), "{texts:?}");
    let message = report["violation"]["message"].as_str().expect("a message");
    assert_eq!(message.matches("writes x at").count(), 2, "{message}");
}

/// A drawing beside a model is in its page, with the values along the counterexample; what is wrong with one is said.
#[test]
fn the_page_has_the_drawing_beside_the_model() {
    let folder = folder("drawing");
    let (model, page) = (folder.join("m.pml"), folder.join("page.html"));
    let write = |path: &Path, text: &str| std::fs::write(path, text).expect("a file");
    let drawing = |inside: &str| {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\"><text data-text=\"light\"/>{inside}</svg>"
        )
    };
    let written = |model: &Path, options: &[&str]| {
        let _ = std::fs::remove_file(&page);
        let output =
            preempt().arg("check").arg(model).args(options).arg("--html").arg(&page).output();
        let output = output.expect("preempt runs");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let text = std::fs::read_to_string(&page).expect("a page");
        (text, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    write(
        &model,
        "mtype = { red, green };\nmtype light = red;\nbyte x;\n\
         active proctype p() { light = green; x = 2; light = red; assert(x != 2) }\n",
    );
    assert!(written(&model, &[]).0.contains("\"drawing\":null"));
    let file = folder.join("m.drawing.svg");
    write(&file, &drawing("<circle data-cx=\"10 * x + 1\"/>"));
    for options in [&[][..], &["--formula", "[] !(x == 2 && light == red)"]] {
        let (text, complaints) = written(&model, options);
        assert_eq!(complaints, "");
        let values = "\"values\":[[[0,\"red\"],[1,\"green\"],[3,\"red\"]],[[0,1],[2,21]]]";
        assert!(text.contains(values), "{options:?}: {text}");
        assert!(text.contains("\"follows\":[[\"cx\",1]]"));
    }
    // The same for the trace that was saved.
    let trace = folder.join("m.trace.json");
    check(&model, &["--trace", &trace.to_string_lossy()]);
    let replayed =
        preempt().arg("replay").arg(&model).arg(&trace).arg("--html").arg(&page).output();
    assert_eq!(replayed.expect("preempt runs").status.code(), Some(1));
    assert!(std::fs::read_to_string(&page).expect("a page").contains("[2,21]"));
    for (inside, wanted, is_drawn) in [
        ("<circle data-cx=\"nothing\"/>", "line 1: `nothing`: `nothing` is not declared", true),
        ("<script/>", "line 1: not drawn: a drawing has shapes and texts, and no `script`", false),
    ] {
        write(&file, &drawing(inside));
        let (text, complaints) = written(&model, &[]);
        assert!(complaints.contains(wanted), "{complaints}");
        assert_eq!(!text.contains("\"drawing\":null"), is_drawn, "{inside}");
    }
    // A Boolean program has variables, and no other expressions.
    let program = folder.join("b.bp");
    write(&program, "decl light;\nvoid main() begin light := T; assert(!light); end\n");
    write(&folder.join("b.drawing.svg"), &drawing(""));
    let (text, complaints) = written(&program, &[]);
    assert_eq!(complaints, "");
    assert!(text.contains("\"values\":[[[0,\"F\"],[2,\"T\"]]]"));
}
