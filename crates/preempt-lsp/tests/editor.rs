//! An editor at the other end of a connection in memory, and every example model through the formatter.

use lsp_server::{Connection, Message, Notification, Request, RequestId, Response};
use preempt_promela::ir::{LowerOptions, lower};
use preempt_promela::syntax::span::SourceMap;
use preempt_promela::syntax::{ParseOptions, codes, parse};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

struct Editor {
    connection: Connection,
    served: Option<JoinHandle<()>>,
    next: i32,
}

const URI: &str = "file:///models/model.pml";

impl Editor {
    fn new() -> Self {
        let (ours, theirs) = Connection::memory();
        let served =
            std::thread::spawn(move || preempt_lsp::serve(theirs, None, "preempt".into()).unwrap());
        let mut editor = Editor { connection: ours, served: Some(served), next: 0 };
        let told = editor.ask("initialize", json!({ "capabilities": {} }));
        assert!(told["capabilities"]["renameProvider"].is_object());
        editor.tell("initialized", json!({}));
        editor
    }

    fn open(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "promela", "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
    }

    fn tell(&mut self, method: &str, params: Value) {
        let note = Notification { method: method.into(), params };
        self.connection.sender.send(Message::Notification(note)).unwrap();
    }

    fn response(&mut self, method: &str, params: Value) -> Response {
        self.next += 1;
        let id = RequestId::from(self.next);
        let request = Request { id: id.clone(), method: method.into(), params };
        self.connection.sender.send(Message::Request(request)).unwrap();
        loop {
            match self.connection.receiver.recv_timeout(Duration::from_secs(60)).unwrap() {
                Message::Response(response) if response.id == id => return response,
                _ => {}
            }
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        serde_json::to_value(self.response(method, params)).unwrap()["result"].clone()
    }

    /// Asks about a place: the `nth` occurrence of a text, from 0.
    fn at(&mut self, method: &str, text: &str, word: &str, nth: usize, more: Value) -> Value {
        let place = position(text, text.match_indices(word).nth(nth).unwrap().0);
        let mut params = json!({ "textDocument": { "uri": URI }, "position": place });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.ask(method, params)
    }

    fn diagnostics(&mut self) -> Vec<Value> {
        loop {
            match self.connection.receiver.recv_timeout(Duration::from_secs(60)).unwrap() {
                Message::Notification(note) if note.method == "textDocument/publishDiagnostics" => {
                    return note.params["diagnostics"].as_array().unwrap().clone();
                }
                _ => {}
            }
        }
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.ask("shutdown", json!(null));
            self.tell("exit", json!(null));
            self.served.take().unwrap().join().unwrap();
        }
    }
}

fn position(text: &str, offset: usize) -> Value {
    let before = &text[..offset];
    let line = before.matches('\n').count();
    let column = before.rsplit('\n').next().unwrap().encode_utf16().count();
    json!({ "line": line, "character": column })
}

const MODEL: &str = "#define BUSY (turn == 1)
mtype = { red, green };
typedef Point { byte x; byte y };
byte turn, other = 3;
chan q = [2] of { byte, mtype };
Point p;

inline wait_for(who) { turn == who; p.x = who }

active [2] proctype worker(byte n)
{
	byte turn_seen;
again:
	wait_for(n);
	if
	:: BUSY -> { byte other; other = turn; turn_seen = other }
	:: else -> q!turn,red
	fi;
	goto again
}

ltl fair { [] <> (turn == 1) }
";

#[test]
fn names_are_found() {
    let mut editor = Editor::new();
    editor.open(URI, MODEL);
    let hover = editor.at("textDocument/hover", MODEL, "turn == who", 0, json!({}));
    let said = hover["contents"]["value"].as_str().unwrap();
    assert!(said.contains("byte turn") && said.contains("0 to 255"), "{said}");
    let hover = editor.at("textDocument/hover", MODEL, "goto", 0, json!({}));
    assert!(hover["contents"]["value"].as_str().unwrap().contains("jumps"));
    let line = |value: &Value| value["range"]["start"]["line"].as_u64().unwrap();
    // From a use in the body of a macro, of an inline, from an inner block, from a label, a field.
    let go = |editor: &mut Editor, word: &str, nth| {
        line(&editor.at("textDocument/definition", MODEL, word, nth, json!({})))
    };
    assert_eq!(go(&mut editor, "BUSY", 1), 0);
    assert_eq!(go(&mut editor, "turn == 1", 0), 3);
    assert_eq!(go(&mut editor, "wait_for", 1), 7);
    assert_eq!(go(&mut editor, "other = turn", 0), 15);
    assert_eq!(go(&mut editor, "again", 1), 12);
    assert_eq!(go(&mut editor, "x = who", 0), 2);
    assert_eq!(go(&mut editor, "who }", 0), 7);
    assert_eq!(go(&mut editor, "red\n", 0), 1);
    let uses = |editor: &mut Editor, word: &str, nth| {
        let more = json!({ "context": { "includeDeclaration": true } });
        editor.at("textDocument/references", MODEL, word, nth, more).as_array().unwrap().len()
    };
    assert_eq!(uses(&mut editor, "turn,", 0), 6);
    assert_eq!(uses(&mut editor, "other = 3", 0), 1, "the inner one is another variable");
    assert_eq!(uses(&mut editor, "other;", 0), 3);
    let outline =
        editor.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": URI } }));
    let names: Vec<&str> =
        outline.as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["BUSY", "red", "green", "Point", "turn", "other", "q", "p", "wait_for", "worker", "fair"]
    );
    let inner = &outline[9]["children"];
    let inner: Vec<&str> =
        inner.as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(inner, ["n", "turn_seen", "again", "other"]);
    let offered = editor.at("textDocument/completion", MODEL, "goto again", 0, json!({}));
    let labels: Vec<&str> =
        offered.as_array().unwrap().iter().map(|i| i["label"].as_str().unwrap()).collect();
    for wanted in ["turn", "turn_seen", "n", "wait_for", "green", "atomic", "_pid"] {
        assert!(labels.contains(&wanted), "{wanted}");
    }
    let lenses = editor.ask("textDocument/codeLens", json!({ "textDocument": { "uri": URI } }));
    assert_eq!(lenses[0]["command"]["title"], "check fair");
    let colours =
        editor.ask("textDocument/semanticTokens/full", json!({ "textDocument": { "uri": URI } }));
    let variables: Vec<String> = decoded(MODEL, &colours["data"], 7);
    let expected = [
        "turn",
        "turn",
        "other",
        "q",
        "p",
        "turn",
        "p",
        "turn_seen",
        "other",
        "other",
        "turn",
        "turn_seen",
        "other",
        "q",
        "turn",
        "turn",
    ];
    assert_eq!(variables, expected);
    assert_eq!(decoded(MODEL, &colours["data"], 8), ["who", "who", "who", "n", "n"]);
    let refused = editor.response(
        "textDocument/rename",
        json!({ "textDocument": { "uri": URI }, "position": position(MODEL, MODEL.find("turn,").unwrap()), "newName": "other" }),
    );
    assert!(
        serde_json::to_value(refused).unwrap()["error"]["message"]
            .as_str()
            .unwrap()
            .contains("another name")
    );
}

/// The texts of all tokens of one type.
fn decoded(text: &str, data: &Value, kind: u64) -> Vec<String> {
    let numbers: Vec<u64> = data.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    let lines: Vec<&str> = text.split('\n').collect();
    let (mut line, mut column, mut found) = (0, 0, Vec::new());
    for token in numbers.chunks(5) {
        column = if token[0] == 0 { column + token[1] as usize } else { token[1] as usize };
        line += token[0] as usize;
        if token[3] == kind {
            found.push(lines[line][column..column + token[2] as usize].to_string());
        }
    }
    found
}

#[test]
fn diagnostics_are_the_compilers() {
    let mut editor = Editor::new();
    for code in codes::TABLE {
        for text in [code.wrong, code.right] {
            editor.open(URI, text);
            let found = editor.diagnostics();
            let told: Vec<&str> = found.iter().map(|d| d["code"].as_str().unwrap()).collect();
            let options = ParseOptions {
                defines: Vec::new(),
                loader: &|_, _| Err(std::io::ErrorKind::NotFound.into()),
            };
            let parsed = parse("model.pml", text.as_bytes().to_vec(), &options);
            let mut expected: Vec<&str> = parsed.diagnostics.iter().map(|d| d.code).collect();
            if let Some(model) = &parsed.model
                && let Err(error) = lower(model, LowerOptions::default())
                // A model with C can be read; that it was not compiled is said where it has to run.
                && error.diagnostic().code != "P0093"
            {
                expected.push(error.diagnostic().code);
            }
            assert_eq!(told, expected, "{text}");
        }
    }
    // Every example, those that come with Spin included.
    for (path, text) in examples() {
        let uri = format!("file://{}", path.display());
        editor.open(&uri, &text);
        let told: Vec<String> =
            editor.diagnostics().iter().map(|d| d["code"].as_str().unwrap().into()).collect();
        let loader = |including: &str, name: &str| {
            std::fs::read(Path::new(including).parent().unwrap().join(name))
        };
        let options = ParseOptions { defines: Vec::new(), loader: &loader };
        let parsed = parse(path.to_str().unwrap(), text.into_bytes(), &options);
        let mut expected: Vec<String> =
            parsed.diagnostics.iter().map(|d| d.code.to_string()).collect();
        if let Some(model) = &parsed.model
            && let Err(error) = lower(model, LowerOptions::default())
        {
            expected.push(error.diagnostic().code.to_string());
        }
        assert_eq!(told, expected, "{}", path.display());
    }
    editor.open("file:///x/program.bp", "decl a;\nvoid main() begin b := T; end\n");
    assert_eq!(editor.diagnostics()[0]["code"], "B0006");
    editor.open(URI, "active proctype p() {\n\tbyte x;\n\tx = 1;\n\ty = 2\n}\n");
    let found = editor.diagnostics();
    assert_eq!(
        (&found[0]["range"]["start"]["line"], &found[0]["range"]["start"]["character"]),
        (&json!(3), &json!(1))
    );
    editor.tell("textDocument/didClose", json!({ "textDocument": { "uri": URI } }));
    assert!(editor.diagnostics().is_empty());
}

#[test]
fn nonsense_is_refused_and_survived() {
    let mut editor = Editor::new();
    let error =
        |response: Response| serde_json::to_value(response).unwrap()["error"]["code"].as_i64();
    assert_eq!(error(editor.response("textDocument/hover", json!({}))), Some(-32602));
    assert_eq!(error(editor.response("no/such", json!({}))), Some(-32601));
    let place = json!({ "textDocument": { "uri": "file:///unknown.pml" }, "position": { "line": 0, "character": 0 } });
    assert_eq!(error(editor.response("textDocument/hover", place)), Some(-32602));
    editor.tell("textDocument/didChange", json!({ "nonsense": 1 }));
    editor.tell("no/such", json!(null));
    for text in [
        "",
        "{{{",
        "}}}",
        "proctype",
        "typedef",
        "mtype = {",
        "inline f(",
        "byte",
        "\u{1F600} ::",
        "#define",
        "ltl",
        "/*",
    ] {
        editor.open(URI, text);
        for question in ["documentSymbol", "codeLens", "semanticTokens/full"] {
            editor.ask(
                &format!("textDocument/{question}"),
                json!({ "textDocument": { "uri": URI } }),
            );
        }
        let far =
            json!({ "textDocument": { "uri": URI }, "position": { "line": 99, "character": 99 } });
        editor.ask("textDocument/completion", far.clone());
        editor.ask("textDocument/definition", far);
    }
}

fn examples() -> Vec<(PathBuf, String)> {
    let mut list = Vec::new();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut folders = vec![own, "/usr/share/doc/spin/examples".into()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "pml")
                && let Ok(text) = std::fs::read_to_string(&path)
            {
                list.push((path, text));
            }
        }
    }
    assert!(list.len() > 20);
    list
}

/// The intermediate form as text, without places.
fn meaning(path: &Path, text: &str) -> Option<String> {
    let loader = |including: &str, name: &str| {
        std::fs::read(Path::new(including).parent().unwrap().join(name))
    };
    let options = ParseOptions { defines: Vec::new(), loader: &loader };
    let model = parse(path.to_str()?, text.as_bytes().to_vec(), &options).model?;
    let mut program = lower(&model, LowerOptions::default()).ok()?;
    program.sources = SourceMap::default();
    program.value_spans.clear();
    program.pattern_spans.clear();
    let shown = format!("{program:?}");
    let mut out = String::with_capacity(shown.len());
    let mut rest = shown.as_str();
    while let Some((before, behind)) = rest.split_once("Span {") {
        out.push_str(before);
        rest = behind.split_once('}').map_or("", |(_, rest)| rest);
    }
    Some(out + rest)
}

#[test]
fn formatting_keeps_the_meaning_of_every_example() {
    let (mut compared, mut changed) = (0, 0);
    for (path, text) in examples() {
        let formatted = preempt_lsp::format(&text);
        assert_eq!(preempt_lsp::format(&formatted), formatted, "{}", path.display());
        changed += usize::from(formatted != text);
        let before = meaning(&path, &text);
        assert_eq!(before.is_some(), meaning(&path, &formatted).is_some(), "{}", path.display());
        if let Some(before) = before {
            assert!(Some(before) == meaning(&path, &formatted), "{}", path.display());
            compared += 1;
        }
    }
    println!("{compared} models mean the same, {changed} texts changed");
    assert!(compared > 20);
}

/// Reads a model as a check does.
fn read_whole(path: &Path, text: &str) {
    let loader = |_: &str, _: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    let options = ParseOptions { defines: Vec::new(), loader: &loader };
    let parsed = parse(path.to_str().unwrap(), text.as_bytes().to_vec(), &options);
    assert!(lower(&parsed.model.unwrap(), LowerOptions::default()).is_ok());
}

#[test]
fn ten_thousand_lines_are_diagnosed() {
    let mut text = String::from("byte x;\n");
    for number in 0..1_000 {
        let body = "\tdo\n\t:: x < 10 -> x++\n\t:: x > 3 ->\n\t   x--;\n\t   skip\n\t:: else -> break\n\tod\n";
        text.push_str(&format!("proctype p{}() {{\n{body}}}\n\n", number % 250));
    }
    text = text.lines().take(2_500).collect::<Vec<_>>().join("\n");
    text.push_str("\ninit { ");
    for number in 0..7_500 {
        text.push_str(&format!("x = {};\n", number % 200));
    }
    text.push_str("skip }\n");
    let mut editor = Editor::new();
    editor.open(URI, &text);
    editor.diagnostics();
    // Others use the machine, too: the best of several keys is what the server takes.
    let key = |editor: &mut Editor, version: u32| {
        let start = Instant::now();
        let document = json!({ "uri": URI, "version": version });
        let change = json!({ "textDocument": document, "contentChanges": [{ "text": text }] });
        editor.tell("textDocument/didChange", change);
        editor.diagnostics();
        start.elapsed()
    };
    let path = Path::new("model.pml");
    let whole = || {
        let start = Instant::now();
        read_whole(path, &text);
        start.elapsed()
    };
    let pairs: Vec<_> = (2..12).map(|version| (key(&mut editor, version), whole())).collect();
    let best = pairs.iter().map(|pair| pair.0).min().unwrap();
    let reading = pairs.iter().map(|pair| pair.1).min().unwrap();
    println!(
        "{} lines: {best:?} from a key to its diagnostics, reading alone {reading:?}",
        text.lines().count()
    );
    if std::env::var_os("PREEMPT_QUIET").is_some() {
        assert!(best < reading + reading / 5, "{best:?}, reading alone {reading:?}");
        assert!(best < Duration::from_millis(300), "{best:?}");
    }
}

/// The text with the name at a byte renamed; `None` if there is no name, with how many words changed.
fn renamed(
    editor: &mut Editor,
    uri: &str,
    text: &str,
    at: usize,
    to: &str,
) -> Option<(String, usize)> {
    let lines: Vec<usize> =
        std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let line = lines.partition_point(|start| *start <= at) - 1;
    let position =
        json!({ "line": line, "character": text[lines[line]..at].encode_utf16().count() });
    let question = json!({ "textDocument": { "uri": uri }, "position": position, "newName": to });
    let answer = editor.ask("textDocument/rename", question);
    let edits = answer["changes"][uri].as_array()?;
    let offset = |place: &Value| {
        let start = lines[place["line"].as_u64().unwrap() as usize];
        let mut units = place["character"].as_u64().unwrap() as usize;
        let rest = &text[start..];
        let length = rest.chars().take_while(|c| {
            let more = units > 0;
            units -= c.len_utf16().min(units);
            more
        });
        start + length.map(char::len_utf8).sum::<usize>()
    };
    let mut places: Vec<(usize, usize)> = edits
        .iter()
        .map(|edit| (offset(&edit["range"]["start"]), offset(&edit["range"]["end"])))
        .collect();
    places.sort_unstable();
    assert!(places.iter().any(|(start, end)| (*start..=*end).contains(&at)), "{text}\n{at}");
    let mut out = text.to_string();
    for (start, end) in places.iter().rev() {
        out.replace_range(*start..*end, to);
    }
    Some((out, places.len()))
}

/// Names that mean different things, and words that mean several: the text with the name to rename in `«»`, and
/// how many words of that name are left as they are.
const HARD: &[(&str, usize)] = &[
    // A parameter of the same name, and an argument.
    ("byte «x»; inline inc(x) { x++ } active proctype P() { inc(x); x = 2 }", 2),
    ("byte x; inline inc(«x») { x++ } active proctype P() { inc(x); x = 2 }", 3),
    ("#define add(x) (x + y)\nbyte «x», y; active proctype P() { x = add(x) }", 2),
    ("#define add(«x») (x + y)\nbyte x, y; active proctype P() { x = add(x) }", 3),
    ("#define add(x) (x + y)\nbyte x, «y»; active proctype P() { x = add(x); y = 1 }", 0),
    // What an inline speaks of is where it is used, also through another one.
    (
        "inline inner() { «n»++ } inline outer() { inner() } active proctype P() { byte n; outer(); n = 0 }",
        0,
    ),
    (
        "inline up() { n++ } active proctype P() { byte «n»; up() } active proctype Q() { byte n; up() }",
        0,
    ),
    (
        "inline up() { n++ } active proctype P() { byte n; n = 1 } active proctype Q() { byte «n»; up() }",
        2,
    ),
    (
        "inline up() { byte t; t++ } active proctype P() { up() } active proctype Q() { byte «t»; t = 3 }",
        2,
    ),
    // Strings and comments are no names.
    ("byte «x»; /* x */ active proctype P() { x = 1; printf(\"x\\n\") // x\n }", 3),
    // Fields by their types.
    (
        "typedef A { byte «f» } typedef B { byte f } A a; B b; active proctype P() { a.f = 1; b.f = 2 }",
        2,
    ),
    (
        "typedef A { byte f } typedef B { A f[2] } B b[2]; active proctype P() { b[1].f[0].«f» = 1 }",
        2,
    ),
    ("typedef A { byte «f» } A a; byte f; active proctype P() { a.f = f }", 2),
    // Labels, near and remote.
    (
        "active proctype P() { «L»: skip; goto L } active proctype Q() { L: skip; goto L } ltl p { [] P@L }",
        2,
    ),
    (
        "active proctype P() { «L»: skip } active proctype Q() { L: skip } ltl p { [] (Q@L || P[0]@L) }",
        2,
    ),
    (
        "active proctype P() { byte x; L: x = 1; goto L } active proctype Q() { byte x; L: «x» = 2; goto L }",
        2,
    ),
    // Remote variables.
    (
        "active proctype P() { byte «v»; v = 1 } active proctype Q() { byte v; v = 2 } ltl p { [] (P:v < 2) }",
        2,
    ),
    // Macros: defined twice, in conditions, inside macros.
    (
        "#ifdef «N»\n#undef N\n#endif\n#define N 2\n#define M N\nbyte a[N]; active proctype P() { a[M - 1] = N }",
        0,
    ),
    ("mtype = { «red», green }; mtype m = red; active proctype P() { m == red -> m = green }", 0),
    ("ltl p { [] («x» < 2) } byte x; active proctype P() { x = 1 }", 0),
];

#[test]
fn names_are_renamed_as_the_language_means_them() {
    let mut editor = Editor::new();
    for (number, (marked, left)) in HARD.iter().enumerate() {
        let at = marked.find('«').unwrap();
        let (name, _) = marked[at + '«'.len_utf8()..].split_once('»').unwrap();
        let text = marked.replace(['«', '»'], "");
        let uri = format!("file:///hard/{number}.pml");
        editor.open(&uri, &text);
        let (after, _) =
            renamed(&mut editor, &uri, &text, at, "zz9").unwrap_or_else(|| panic!("{text}"));
        let words = |text: &str| {
            text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| *w == name).count()
        };
        assert_eq!(words(&after), *left, "{after}");
        let path = Path::new("hard.pml");
        let before = meaning(path, &text).unwrap_or_else(|| panic!("{text}"));
        let now =
            meaning(path, &after).unwrap_or_else(|| panic!("does not compile any more\n{after}"));
        assert_eq!(now.replace("zz9", name), before, "{after}");
    }
}

/// Every name of every example: the model means the same under another name.
#[test]
fn renaming_keeps_the_meaning_of_every_example() {
    let mut editor = Editor::new();
    let (mut compared, mut refused) = (0, 0);
    for (number, (path, text)) in examples().into_iter().enumerate() {
        // What other files speak of cannot be renamed in one; long models take long.
        if text.contains("#include") || text.len() > 12_000 {
            continue;
        }
        let Some(before) = meaning(&path, &text) else { continue };
        let uri = format!("file:///example/{number}.pml");
        editor.open(&uri, &text);
        let mut seen: std::collections::HashMap<&str, usize> = Default::default();
        let mut starts = Vec::new();
        let mut at = 0;
        for part in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            let count = seen.entry(part).or_default();
            *count += 1;
            // The first use of a name, and one further on, which may be another name.
            if !part.is_empty() && matches!(*count, 1 | 4) {
                starts.push((at, part));
            }
            at += part.len() + text[at + part.len()..].chars().next().map_or(0, char::len_utf8);
        }
        for (at, name) in starts
            .into_iter()
            .filter(|(_, name)| !name.starts_with(|c: char| c.is_ascii_digit()))
            .take(40)
        {
            let Some((after, _)) = renamed(&mut editor, &uri, &text, at, "zz9") else {
                refused += 1;
                continue;
            };
            let Some(now) = meaning(&path, &after) else {
                panic!("{}: `{name}`\n{after}", path.display())
            };
            assert!(now.replace("zz9", name) == before, "{}: `{name}`\n{after}", path.display());
            compared += 1;
        }
    }
    println!("{compared} names renamed, {refused} words are no names");
    assert!(compared > 150, "{compared}");
}
