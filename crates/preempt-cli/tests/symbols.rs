//! `preempt spin -d` beside Spin's table of symbols, on all models of this repository and a text with every kind of name.

use std::path::{Path, PathBuf};
use std::process::Command;

const EVERY_KIND: &str = "
mtype = { msg0, msg1 };
mtype:m2 = { a, b };
typedef T { byte f; short g[3]; chan cc };
byte x = 3; bit arr[4]; unsigned u : 5 = 7; hidden int h = -2; local short lo; bool fl; pid pp;
mtype k = msg0;
chan c = [2] of { byte, mtype, T }; chan d[3] = [0] of { int };
T t; T tt[2];
inline foo(z) { byte inl; inl = z; x = inl }
proctype P(byte q; chan r) { byte l; int m = 5; { byte l2; l2++; m++ } foo(3); lab: r!2,msg0,t; accept: skip }
init { byte i; here: run P(1, c); run P(2, c); skip }
ltl pr { [] (x < 9) }
never nn { T0: do :: x == 1 -> goto accept_here :: else od; accept_here: do :: x == 2 od }
";

/// Without what is known to differ: scopes, the numbers of inlined texts and of labels in claims, and the order of labels.
fn lines(said: &[u8], claims: &[&str]) -> Vec<String> {
    let said = String::from_utf8_lossy(said).into_owned();
    let of_claim = |line: &str| claims.iter().any(|claim| line.ends_with(&format!("<{claim}>")));
    let mut lines: Vec<String> = said
        .lines()
        .filter(|line| line.contains('\t') && !line.starts_with("spin:"))
        .map(|line| line.split("\t{scope").next().unwrap_or(line).trim_end())
        .map(|line| match line.rsplit_once(" i") {
            Some((label, number)) if number.ends_with('>') => format!("{label}>"),
            _ => line.to_string(),
        })
        .filter(|line| !(line.starts_with("label") && of_claim(line)))
        .collect();
    let first_label =
        lines.iter().position(|line| line.starts_with("label")).unwrap_or(lines.len());
    lines[first_label..].sort();
    lines
}

fn run(program: &str, arguments: &[&str], model: &Path) -> Vec<u8> {
    let folder = std::env::temp_dir();
    let output = Command::new(program).args(arguments).arg(model).current_dir(folder).output();
    output.expect("it runs").stdout
}

#[test]
fn the_table_of_symbols_is_spins() {
    let folder =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("d{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let every_kind = folder.join("every_kind.pml");
    std::fs::write(&every_kind, EVERY_KIND).unwrap();
    let ours = run(env!("CARGO_BIN_EXE_preempt"), &["spin", "-d"], &every_kind);
    let ours = String::from_utf8_lossy(&ours).into_owned();
    // What iSpin looks for before it checks a claim.
    assert!(ours.contains("label\taccept_here\t-\t<nn>") && ours.contains("label\taccept_all\t"));
    if !preempt_testing::peers(&["spin"]) {
        return;
    }
    let models = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models"));
    let models = models.unwrap().map(|entry| entry.unwrap().path());
    let models = models.filter(|path| path.extension().is_some_and(|ending| ending == "pml"));
    let (mut compared, mut wrong) = (0, Vec::new());
    for model in models.chain([every_kind]) {
        let text = std::fs::read_to_string(&model).unwrap();
        let spins = run("spin", &["-d"], &model);
        let words: Vec<&str> = text.split([' ', '{', '\n']).collect();
        let named = words.windows(2).filter(|pair| ["never", "ltl"].contains(&pair[0]));
        let mut claims: Vec<&str> = named.map(|pair| pair[1]).collect();
        claims.extend(["ltl_0", "ltl_1", ":never:"]);
        let spins = lines(&spins, &claims);
        if spins.is_empty() {
            continue;
        }
        compared += 1;
        let ours = lines(&run(env!("CARGO_BIN_EXE_preempt"), &["spin", "-d"], &model), &claims);
        if ours != spins {
            let missing: Vec<_> = spins.iter().filter(|line| !ours.contains(line)).collect();
            let more: Vec<_> = ours.iter().filter(|line| !spins.contains(line)).collect();
            wrong.push(format!("{}: missing {missing:#?}, more {more:#?}", model.display()));
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    println!("{compared} models");
    assert!(wrong.is_empty(), "{} of {compared}\n{}", wrong.len(), wrong.join("\n"));
}
