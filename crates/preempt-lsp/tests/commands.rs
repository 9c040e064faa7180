//! What an editor starts and what it is offered: checks with results in the text, quick fixes, Boolean programs.

use lsp_server::{Connection, Message, Notification, Request, RequestId};
use serde_json::{Value, json};
use std::time::Duration;

struct Editor {
    connection: Connection,
    next: i32,
    /// The newest diagnostics, and how often lenses were to be refreshed.
    diagnostics: Vec<Value>,
    refreshed: usize,
}

const URI: &str = "file:///models/model.pml";

impl Editor {
    fn new(text: &str) -> Self {
        let (ours, theirs) = Connection::memory();
        std::thread::spawn(move || preempt_lsp::serve(theirs, None, "preempt".into()).unwrap());
        let mut editor =
            Editor { connection: ours, next: 0, diagnostics: Vec::new(), refreshed: 0 };
        let refresh = json!({ "workspace": { "codeLens": { "refreshSupport": true } } });
        editor.ask("initialize", json!({ "capabilities": refresh }));
        editor.tell("initialized", json!({}));
        editor.open(URI, text);
        editor
    }

    fn open(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "promela", "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
        self.wait_for_diagnostics();
    }

    fn tell(&mut self, method: &str, params: Value) {
        let note = Notification { method: method.into(), params };
        self.connection.sender.send(Message::Notification(note)).unwrap();
    }

    fn receive(&mut self) -> Message {
        let message = self.connection.receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        match &message {
            Message::Notification(note) if note.method == "textDocument/publishDiagnostics" => {
                self.diagnostics = note.params["diagnostics"].as_array().unwrap().clone();
            }
            Message::Request(request) => {
                assert_eq!(request.method, "workspace/codeLens/refresh");
                self.refreshed += 1;
            }
            _ => {}
        }
        message
    }

    fn wait_for_diagnostics(&mut self) {
        while !matches!(self.receive(), Message::Notification(_)) {}
    }

    fn send(&mut self, method: &str, params: Value) -> RequestId {
        self.next += 1;
        let id = RequestId::from(self.next);
        let request = Request { id: id.clone(), method: method.into(), params };
        self.connection.sender.send(Message::Request(request)).unwrap();
        id
    }

    fn wait_for(&mut self, id: &RequestId) -> Value {
        loop {
            if let Message::Response(response) = self.receive()
                && response.id == *id
            {
                return serde_json::to_value(response).unwrap();
            }
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.wait_for(&id)["result"].clone()
    }

    fn command(&mut self, command: &str, arguments: &[&str]) -> RequestId {
        self.send("workspace/executeCommand", json!({ "command": command, "arguments": arguments }))
    }

    fn check(&mut self, property: &[&str]) -> Value {
        let arguments: Vec<&str> = [URI].into_iter().chain(property.iter().copied()).collect();
        let id = self.command("preempt.check", &arguments);
        let answer = self.wait_for(&id)["result"].clone();
        self.wait_for_diagnostics();
        answer
    }

    fn lenses(&mut self) -> Vec<String> {
        let lenses = self.ask("textDocument/codeLens", json!({ "textDocument": { "uri": URI } }));
        let title = |lens: &Value| lens["command"]["title"].as_str().unwrap().to_string();
        lenses.as_array().unwrap().iter().map(title).collect()
    }

    fn hover(&mut self, uri: &str, text: &str, word: &str) -> String {
        let params = json!({ "textDocument": { "uri": uri }, "position": position(text, word) });
        let hover = self.ask("textDocument/hover", params);
        hover["contents"]["value"].as_str().unwrap_or_default().to_string()
    }
}

fn position(text: &str, word: &str) -> Value {
    let before = &text[..text.find(word).unwrap()];
    let column = before.rsplit('\n').next().unwrap().encode_utf16().count();
    json!({ "line": before.matches('\n').count(), "character": column })
}

fn offset(text: &str, position: &Value) -> usize {
    let line = position["line"].as_u64().unwrap() as usize;
    let begin: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    begin + position["character"].as_u64().unwrap() as usize
}

const LOST_UPDATE: &str = "byte counter, done;
active [2] proctype adder() {
	byte seen;
	seen = counter;
	counter = seen + 1;
	done++
}
active proctype judge() {
	done == 2 -> assert(counter == 2)
}
ltl small { [] (counter < 3) }
ltl never_two { [] (done < 2) }
";

#[test]
fn a_check_shows_its_result_in_the_text() {
    let mut editor = Editor::new(LOST_UPDATE);
    assert!(editor.lenses().contains(&"check small".to_string()));
    let answer = editor.check(&["small"]);
    assert_eq!(answer["claims"][0]["verdict"], "violated", "assertions are included: {answer}");
    let answer = editor.check(&["never_two"]);
    assert_eq!(answer["claims"][0]["verdict"], "violated");
    assert!(editor.refreshed >= 4, "when a check begins and when it ends");
    let lenses = editor.lenses();
    let title = lenses.iter().find(|title| title.starts_with("check small")).unwrap();
    assert!(title.contains("✗ violated: ") && title.ends_with(" steps"), "{title}");
    assert_eq!(lenses.iter().filter(|title| *title == "show the execution").count(), 2);
    // At the line to blame, with values; the last check counts.
    editor.check(&["small"]);
    let found = editor.diagnostics.iter().find(|d| d["source"] == "preempt check").unwrap();
    assert_eq!(found["range"]["start"], json!({ "line": 8, "character": 1 }));
    let message = found["message"].as_str().unwrap();
    assert!(message.contains("counter == 2 is false: counter is 1"), "{message}");
    let said = editor.hover(URI, LOST_UPDATE, "counter, done");
    assert!(said.contains("In the last counterexample:\n\n`counter`: 0 → 1"), "{said}");
    // What the steps at a line change and read, in the words of the terminal.
    let said = editor.hover(URI, LOST_UPDATE, "seen + 1");
    assert!(said.contains("In the last counterexample:\n\n- `step "), "{said}");
    assert!(said.contains(": counter: 0 → 1, seen: 0`"), "{said}");
    let said = editor.hover(URI, LOST_UPDATE, "seen;");
    assert!(said.contains("`adder(0):seen`") && said.contains("`adder(1):seen`"), "{said}");
    let id = editor.command("preempt.page", &[URI, "small"]);
    let page = editor.wait_for(&id)["result"]["html"].as_str().unwrap().to_string();
    assert!(
        page.contains("data-verdict=\"violated\"") && page.contains("active [2] proctype adder")
    );
    // Another text: the diagnostic goes, the lens says that it is of before.
    let text = LOST_UPDATE.replace("counter == 2", "counter <= 2");
    let document = json!({ "uri": URI, "version": 2 });
    let change = json!({ "textDocument": document, "contentChanges": [{ "text": text }] });
    editor.tell("textDocument/didChange", change);
    editor.wait_for_diagnostics();
    assert!(editor.diagnostics.iter().all(|d| d["source"] != "preempt check"));
    assert!(editor.lenses().iter().any(|title| title.contains("before the last change")));
    let answer = editor.check(&["small"]);
    assert_eq!(answer["claims"][0]["verdict"], "holds");
    assert!(editor.lenses().contains(&"check small: ✓ holds".to_string()));
}

/// In the words of every other report.
#[test]
fn a_deadlock_says_who_waits_and_for_whom() {
    let text = "bool a, b;\nactive proctype P() { a = true; !b; a = false }\nactive proctype Q() { b = true; !a; b = false }\n";
    let mut editor = Editor::new(text);
    editor.check(&[]);
    let found = editor.diagnostics.iter().find(|d| d["source"] == "preempt check").unwrap();
    let message = found["message"].as_str().unwrap();
    let waits = "P(0) waits since step 2; `!b` is false: b is 1; only Q(1) could change that";
    let others = "P(0) waits since step 1; `!b` is false: b is 1; only Q(1) could change that";
    assert!(message.contains(waits) || message.contains(others), "{message}");
    assert!(message.contains("Q(1) waits since step"), "{message}");
}

#[test]
fn a_check_can_be_stopped_and_the_editor_is_not_kept_waiting() {
    let endless =
        "int x, y; active [3] proctype p() { do :: x++ :: y++ :: assert(x + y < 2000000000) od }";
    let mut editor = Editor::new(endless);
    let check = editor.command("preempt.check", &[URI]);
    // Other questions are answered meanwhile.
    assert!(editor.lenses().iter().any(|title| title.contains("running; stop it")));
    let again = editor.command("preempt.check", &[URI]);
    let refused = editor.wait_for(&again);
    assert_eq!(refused["error"]["message"], "this check is running", "{refused}");
    let stop = editor.command("preempt.cancel", &[URI]);
    assert_eq!(editor.wait_for(&stop)["result"]["cancelled"], true);
    let answer = editor.wait_for(&check);
    assert_eq!(answer["result"]["claims"][0]["verdict"], "inconclusive", "{answer}");
    for (command, arguments) in
        [("preempt.check", &["file:///no"][..]), ("no.such", &[URI]), ("preempt.check", &[])]
    {
        let id = editor.command(command, arguments);
        assert!(editor.wait_for(&id)["error"].is_object(), "{command}");
    }
    editor.open(URI, "proctype {");
    let answer = editor.check(&[]);
    assert_eq!(answer["problem"], "the model does not compile");
}

/// The text after the first fix for the first diagnostic whose title contains a word.
fn mended(uri: &str, text: &str, title: &str) -> String {
    let mut editor = Editor::new("");
    editor.open(uri, text);
    let found = editor.diagnostics.clone();
    let params = json!({
        "textDocument": { "uri": uri }, "range": found[0]["range"],
        "context": { "diagnostics": found },
    });
    let actions = editor.ask("textDocument/codeAction", params);
    let actions = actions.as_array().unwrap();
    let action = actions.iter().find(|a| a["title"].as_str().unwrap().contains(title));
    let action = action.unwrap_or_else(|| panic!("{title} in {actions:?} for {found:?}"));
    let mut changed = text.to_string();
    for edit in action["edit"]["changes"][uri].as_array().unwrap().iter().rev() {
        let range = offset(text, &edit["range"]["start"])..offset(text, &edit["range"]["end"]);
        changed.replace_range(range, edit["newText"].as_str().unwrap());
    }
    changed
}

/// Each fix is applied, and the compiler asked again.
#[test]
fn quick_fixes_mend_what_they_are_offered_for() {
    for (wrong, title, expected) in [
        ("active proctype p() { y = 1; assert(y == 1) }", "declare `y` in p", "byte y;"),
        (
            "/* c */\n#define N 2\nactive proctype p() { y = N; assert(y) }",
            "declare `y` for all",
            "byte y;\nactive",
        ),
        ("bool y; active proctype p() { y = TRUE; assert(y) }", "write `true`", "y = true"),
        ("byte x; active proctype p() { x += 2; assert(x) }", "x = x + 2", "x = x + 2;"),
        (
            "byte a[3]; active proctype p() { a[1] -= a[0] + 1; assert(a[2] == 0) }",
            "a[1] = a[1] - (a[0] + 1)",
            "a[1] = a[1] - (a[0] + 1);",
        ),
        (
            "byte x; active proctype p() { if (x == 1) { x = 2 } else { x = 3; }; assert(x) }",
            "choice",
            "if :: (x == 1) -> x = 2 :: else -> x = 3 fi; assert",
        ),
        (
            "byte x; active proctype p() { if (x == 1) x = 2; assert(x) }",
            "choice",
            "if :: (x == 1) -> x = 2 :: else -> skip fi; assert",
        ),
        (
            "byte x; active proctype p() { while (x < 3) { x++; } assert(x) }",
            "loop",
            "do :: (x < 3) -> x++ :: else -> break od; assert",
        ),
    ] {
        let right = mended(URI, wrong, title);
        assert!(right.contains(expected), "{wrong}\n{right}");
        let editor = Editor::new(&right);
        let errors: Vec<&Value> =
            editor.diagnostics.iter().filter(|d| d["severity"] == 1).collect();
        assert!(errors.is_empty(), "{right}\n{errors:?}");
    }
}

#[test]
fn quick_fixes_mend_boolean_programs() {
    let uri = "file:///models/program.bp";
    for (wrong, title, expected) in [
        ("void main() begin x := T; end\n", "declare `x` in main", "begin\n  decl x; x := T"),
        (
            "// about\ndecl y;\nvoid main() begin y := x; end\n",
            "declare `x` for all",
            "// about\ndecl x;\ndecl y;",
        ),
        ("decl x;\nvoid main() begin x := TRUE; end\n", "write `true`", "x := true;"),
        ("decl x;\nvoid main() begin x = T; end\n", "write `:=`", "x := T;"),
        ("decl x;\nvoid main() begin\n  x := T // c\n  x := F;\nend\n", "add `;`", "x := T; // c"),
    ] {
        let right = mended(uri, wrong, title);
        assert!(right.contains(expected), "{wrong}\n{right}");
        let mut editor = Editor::new("");
        editor.open(uri, &right);
        assert!(editor.diagnostics.iter().all(|d| d["severity"] != 1), "{right}");
    }
}

#[test]
fn a_loop_that_nothing_leaves_is_offered_a_way_out() {
    let text =
        "byte x;\nactive proctype p() {\n\tdo\n\t:: x < 3 -> x++\n\tod;\n\tassert(x == 3)\n}\n";
    let mut editor = Editor::new(text);
    let at = position(text, "do\n");
    let params = json!({
        "textDocument": { "uri": URI }, "range": { "start": at, "end": at },
        "context": { "diagnostics": [] },
    });
    let actions = editor.ask("textDocument/codeAction", params);
    assert_eq!(actions[0]["title"], "add `:: else -> break`");
    assert_eq!(actions[0]["edit"]["changes"][URI][0]["newText"], "\n\t:: else -> break");
}

const PROGRAM: &str = "decl flag, stopped;
void dec(a) begin
  decl zero;
  zero := a;
  if (zero) then flag := T; fi;
end
thread main() begin
  decl a;
again: a := flag;
  dec(a);
  goto again;
  assert(!stopped);
end
";

#[test]
fn boolean_programs_have_names_too() {
    let uri = "file:///models/program.bp";
    let mut editor = Editor::new("");
    editor.open(uri, PROGRAM);
    let document = json!({ "textDocument": { "uri": uri } });
    let outline = editor.ask("textDocument/documentSymbol", document.clone());
    let names = |list: &Value| {
        let name = |s: &Value| s["name"].as_str().unwrap().to_string();
        list.as_array().unwrap().iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(names(&outline), ["flag", "stopped", "dec", "main"]);
    assert_eq!(names(&outline[2]["children"]), ["a", "zero"]);
    assert_eq!(names(&outline[3]["children"]), ["a", "again"]);
    let at = |editor: &mut Editor, method: &str, word: &str, more: Value| {
        let mut params =
            json!({ "textDocument": { "uri": uri }, "position": position(PROGRAM, word) });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        editor.ask(method, params)
    };
    let line = |value: &Value| value["range"]["start"]["line"].as_u64();
    assert_eq!(line(&at(&mut editor, "textDocument/definition", "again;", json!({}))), Some(8));
    assert_eq!(line(&at(&mut editor, "textDocument/definition", "dec(a);", json!({}))), Some(1));
    assert_eq!(
        line(&at(&mut editor, "textDocument/definition", "flag;\n  dec", json!({}))),
        Some(0)
    );
    assert!(editor.hover(uri, PROGRAM, "dec(a) begin").contains("procedure"));
    let rename = at(&mut editor, "textDocument/rename", "a := flag", json!({ "newName": "b" }));
    let edits = rename["changes"][uri].as_array().unwrap();
    assert_eq!(edits.len(), 3, "the parameter of dec is another variable: {edits:?}");
    let colours = editor.ask("textDocument/semanticTokens/full", document);
    assert!(colours["data"].as_array().unwrap().len() > 60);
    let id = editor.command("preempt.check", &[uri]);
    let answer = editor.wait_for(&id)["result"].clone();
    assert!(answer["claims"][0]["verdict"].is_string(), "{answer}");
}

/// Indentation of Boolean programs: the parsed program is the same, comments and lines stay, and it is done once.
#[test]
fn formatting_keeps_every_boolean_program() {
    use preempt_bool::{Dialect, parse};
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/boolean");
    let mut texts: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "bp"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let examples = texts.len();
    texts.push("decl a; /* one\n   two */\nvoid main()\nbegin\nif (a)\nthen\na := T; // begin\nelsif (a &\n!a) then skip;\nelse\nL: skip;\nfi;\nwhile (*) do\n\n\nskip;\nod;\nend\n".into());
    texts.push("decl {a begin};\nvoid main() begin\n{a begin} :=\nT;\nend".into());
    let bare = |text: &str| text.lines().map(|line| line.trim().to_string()).collect::<Vec<_>>();
    // Nested as deep as lines can be, and with none of the old indentation.
    for text in texts.clone() {
        texts.push(bare(&text).join("\n"));
        texts.push(bare(&text).iter().map(|line| format!("      \t{line}  \n")).collect());
    }
    // Without the places of words, such as 12..15.
    let meaning = |text: &str| {
        let (program, _) = parse(text, "a.bp", Dialect::Slam).ok()?;
        // It keeps its text and the starts of its lines, too.
        let shown = format!("{program:?}").replace(&format!("{text:?}"), "");
        let (before, rest) = shown.split_once("starts: [").unwrap_or((&shown, "]"));
        let shown = format!("{before}{}", rest.split_once(']').unwrap().1);
        let parts: Vec<&str> = shown.split("..").collect();
        let bare = |part: &&str| part.trim_matches(|c: char| c.is_ascii_digit()).to_string();
        Some(parts.iter().map(bare).collect::<String>())
    };
    for text in &texts {
        let formatted = preempt_lsp::format_boolean(text);
        assert_eq!(preempt_lsp::format_boolean(&formatted), formatted, "{text}");
        assert_eq!(bare(&formatted), bare(text));
        assert_eq!(meaning(&formatted), meaning(text), "{formatted}");
    }
    assert!(examples >= 10 && meaning(&texts[0]).is_some());
    let text = "void main() begin\nif (a) then\nL: b := a &\nT;\nfi;\nend\n";
    let wanted = "void main() begin\n  if (a) then\n    L: b := a &\n      T;\n  fi;\nend\n";
    assert_eq!(preempt_lsp::format_boolean(text), wanted);
}
