//! Promela, Boolean programs, and the schedules of Rust tests and C programs in the editor: a language server over standard
//! input and output.
//!
//! Diagnostics are the compiler's ([`preempt_promela::syntax`], [`preempt_bool`]), so an editor says what `preempt
//! check` says. Checks that the editor starts run on threads of their own (`checks`); their results stand in lenses, hovers and
//! diagnostics. Names, colours, outline and formatting work on the text itself (`scan`, `names`, `format`) and
//! keep working while the model does not compile.
//!
//! **Invariants:** no request can end the server, a text that makes a computation panic is answered with an error;
//! a text is diagnosed when no message is waiting, so that typing is never behind.

#![forbid(unsafe_code)]

mod answer;
mod boolean_fixes;
mod boolean_names;
mod checks;
mod diagnose;
mod document;
mod fixes;
mod format;
mod format_boolean;
mod meaning;
mod names;
mod programs;
mod results;
mod scan;
mod symbol;
mod words;

pub use format::format;
pub use format_boolean::format_boolean;

use answer::{COLOURS, Known};
use checks::{Answer, Language, Task, Tools, language_of};
use crossbeam_channel::{Receiver, Sender, select, unbounded};
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, Exit, Notification as _,
    PublishDiagnostics,
};
use lsp_types::request::{Request as _, Shutdown};
use lsp_types::{
    CodeActionParams, CodeLensOptions, CodeLensParams, CompletionOptions, CompletionParams,
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    DocumentFormattingParams, DocumentSymbolParams, ExecuteCommandOptions, ExecuteCommandParams,
    GotoDefinitionParams, HoverParams, OneOf, PublishDiagnosticsParams, ReferenceParams,
    RenameOptions, RenameParams, SemanticTokens, SemanticTokensFullOptions, SemanticTokensLegend,
    SemanticTokensOptions, SemanticTokensParams, ServerCapabilities, TextDocumentPositionParams,
    TextDocumentSyncCapability, TextDocumentSyncKind, Uri, WorkspaceEdit,
};
use preempt_promela::model::Attach;
use results::{Results, State};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Serves an editor over standard input and output until it says that it is over. Models with C are checked if it is said
/// how their C is compiled; `preempt` is the command that searches Rust tests and C programs.
pub fn run(attach: Option<Attach>, preempt: PathBuf) -> Outcome<()> {
    let (connection, threads) = Connection::stdio();
    serve(connection, attach, preempt)?;
    threads.join()?;
    Ok(())
}

/// Serves the editor at the other end.
pub fn serve(connection: Connection, attach: Option<Attach>, preempt: PathBuf) -> Outcome<()> {
    let (id, client) = connection.initialize_start()?;
    // Beside the server of another language there is less to do.
    let offered = match client["initializationOptions"]["programs"] == json!(true) {
        true => for_programs(),
        false => capabilities(),
    };
    connection.initialize_finish(id, json!({ "capabilities": offered }))?;
    let refreshes = &client["capabilities"]["workspace"]["codeLens"]["refreshSupport"];
    let (finish, finished) = unbounded();
    let mut server = Server {
        connection,
        tools: Tools { attach, preempt },
        texts: HashMap::new(),
        changed: Vec::new(),
        results: Results::default(),
        finish,
        finished,
        refreshes_lenses: refreshes == &json!(true),
        asked: 0,
    };
    let served = server.run();
    server.results.cancel_all();
    served
}

/// How long the editor has to end the server once it has shut it down.
const LAST_WORDS: Duration = Duration::from_secs(30);

/// Checks that the editor may have running at once.
const MOST_CHECKS: usize = 4;

/// What is offered for Rust, C and C++: lenses, results as diagnostics, values. Names belong to the servers of those languages.
/// The commands of the lenses are executed, but not registered: an editor that has this server twice has them already.
fn for_programs() -> ServerCapabilities {
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::FULL)),
        hover_provider: Some(true.into()),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: None }),
        ..ServerCapabilities::default()
    }
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::FULL)),
        hover_provider: Some(true.into()),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: Default::default(),
        })),
        completion_provider: Some(CompletionOptions::default()),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: None }),
        code_action_provider: Some(true.into()),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: ["preempt.check", "preempt.cancel", "preempt.page"].map(String::from).into(),
            ..ExecuteCommandOptions::default()
        }),
        semantic_tokens_provider: Some(
            SemanticTokensOptions {
                legend: SemanticTokensLegend {
                    token_types: COLOURS.to_vec(),
                    token_modifiers: Vec::new(),
                },
                full: Some(SemanticTokensFullOptions::Bool(true)),
                ..SemanticTokensOptions::default()
            }
            .into(),
        ),
        ..ServerCapabilities::default()
    }
}

struct Server {
    connection: Connection,
    tools: Tools,
    texts: HashMap<String, Known>,
    /// Texts that changed since they were diagnosed.
    changed: Vec<Uri>,
    results: Results,
    /// Where checks leave their answers, with the request that waits for each.
    finish: Sender<(RequestId, Answer)>,
    finished: Receiver<(RequestId, Answer)>,
    /// The editor can be asked to show lenses anew.
    refreshes_lenses: bool,
    /// Requests to the editor so far.
    asked: i32,
}

impl Server {
    fn run(&mut self) -> Outcome<()> {
        loop {
            let message = match self.connection.receiver.try_recv() {
                Ok(message) => message,
                Err(_) => {
                    self.diagnose_changed()?;
                    select! {
                        recv(self.connection.receiver) -> message => match message {
                            Ok(message) => message,
                            Err(_) => return Ok(()),
                        },
                        recv(self.finished) -> finished => {
                            if let Ok((id, answer)) = finished {
                                self.end_check(id, answer)?;
                            }
                            continue;
                        }
                    }
                }
            };
            match message {
                Message::Request(request) if request.method == "workspace/executeCommand" => {
                    if let Some(response) = self.execute(request) {
                        self.connection.sender.send(response.into())?;
                    }
                }
                Message::Request(request) => {
                    if request.method == Shutdown::METHOD {
                        return self.shut_down(request.id);
                    }
                    let id = request.id.clone();
                    let answered = catch_unwind(AssertUnwindSafe(|| self.answer(&request)));
                    let response = match answered {
                        Ok(Ok(value)) => Response::new_ok(id, value),
                        Ok(Err((code, message))) => Response::new_err(id, code as i32, message),
                        Err(_) => {
                            let message = "a bug in preempt".to_string();
                            Response::new_err(id, ErrorCode::InternalError as i32, message)
                        }
                    };
                    self.connection.sender.send(response.into())?;
                }
                Message::Notification(notification) => self.note(notification),
                Message::Response(_) => {}
            }
        }
    }

    /// Waits for the editor to say `exit`. Answers to requests of ours may still be on their way.
    fn shut_down(&self, id: RequestId) -> Outcome<()> {
        self.connection.sender.send(Response::new_ok(id, Value::Null).into())?;
        let end = Instant::now() + LAST_WORDS;
        while let Ok(message) = self.connection.receiver.recv_deadline(end) {
            if matches!(message, Message::Notification(last) if last.method == Exit::METHOD) {
                break;
            }
        }
        Ok(())
    }

    fn note(&mut self, notification: Notification) {
        let Notification { method, params } = notification;
        match method.as_str() {
            DidOpenTextDocument::METHOD => {
                if let Ok(opened) = serde_json::from_value::<DidOpenTextDocumentParams>(params) {
                    self.keep(opened.text_document.uri, opened.text_document.text);
                }
            }
            DidChangeTextDocument::METHOD => {
                if let Ok(mut changed) =
                    serde_json::from_value::<DidChangeTextDocumentParams>(params)
                    && let Some(change) = changed.content_changes.pop()
                {
                    self.keep(changed.text_document.uri, change.text);
                }
            }
            DidCloseTextDocument::METHOD => {
                if let Ok(closed) = serde_json::from_value::<DidCloseTextDocumentParams>(params) {
                    let uri = closed.text_document.uri;
                    self.texts.remove(uri.as_str());
                    self.results.forget(uri.as_str());
                    self.changed.retain(|other| *other != uri);
                    let _ = self.publish(uri, Vec::new());
                }
            }
            _ => {}
        }
    }

    fn keep(&mut self, uri: Uri, text: String) {
        let known = Known::new(text, language_of(&path_of(&uri)));
        self.texts.insert(uri.as_str().to_string(), known);
        if !self.changed.contains(&uri) {
            self.changed.push(uri);
        }
    }

    fn diagnose_changed(&mut self) -> Outcome<()> {
        for uri in std::mem::take(&mut self.changed) {
            let Some(known) = self.texts.get(uri.as_str()) else { continue };
            let path = path_of(&uri);
            let found = AssertUnwindSafe(|| diagnose::diagnose(&uri, &path, &known.document));
            let mut found = catch_unwind(found).unwrap_or_default();
            let answers: Vec<&Answer> = match language_of(&path) {
                Language::Program(_) => self.results.all(uri.as_str()).collect(),
                Language::Promela | Language::Boolean => {
                    self.results.last(uri.as_str()).into_iter().collect()
                }
            };
            found.extend(answers.into_iter().flat_map(|one| diagnose::found(one, &known.document)));
            self.publish(uri, found)?;
        }
        Ok(())
    }

    /// Executes a command of a lens; the answer to a check comes when it is over.
    fn execute(&mut self, request: Request) -> Option<Response> {
        let id = request.id.clone();
        let refuse = |(code, message): (ErrorCode, String)| {
            Some(Response::new_err(id.clone(), code as i32, message))
        };
        let asked: ExecuteCommandParams = match read(request.params) {
            Ok(asked) => asked,
            Err(error) => return refuse(error),
        };
        let word = |at: usize| asked.arguments.get(at).and_then(Value::as_str).map(str::to_string);
        let (uri, property) = (word(0).unwrap_or_default(), word(1));
        let Some(known) = self.texts.get(&uri) else {
            return refuse((ErrorCode::InvalidParams, "this text is not open".into()));
        };
        match asked.command.as_str() {
            "preempt.check" => {
                if self.results.running() >= MOST_CHECKS {
                    return refuse((
                        ErrorCode::RequestFailed,
                        "too many checks are running".into(),
                    ));
                }
                let Some(flag) = self.results.begin(&uri, property.as_deref()) else {
                    return refuse((ErrorCode::RequestFailed, "this check is running".into()));
                };
                let path = uri.parse::<Uri>().map_or_else(|_| uri.clone(), |uri| path_of(&uri));
                let text = known.document.text.clone();
                let (finish, waiting) = (self.finish.clone(), id.clone());
                let task = Task { uri, path, text, property };
                let failed = task.clone();
                let started = checks::start(task, self.tools.clone(), flag, move |answer| {
                    // If this fails, the answer is not waited for any more.
                    let _ = finish.send((waiting, answer));
                });
                if let Err(error) = started {
                    let problem = format!("cannot start the check: {error}");
                    let _ = self.finish.send((id.clone(), Answer::without(failed, problem)));
                }
                self.refresh_lenses();
                None
            }
            "preempt.cancel" => {
                let ended = self.results.cancel(&uri, property.as_deref());
                Some(Response::new_ok(id, json!({ "cancelled": ended })))
            }
            "preempt.page" => {
                let html = match self.results.of(&uri, property.as_deref()) {
                    State::Known(answer) => answer.page(),
                    _ => None,
                };
                Some(Response::new_ok(id, json!({ "html": html })))
            }
            other => refuse((ErrorCode::MethodNotFound, format!("{other} is not offered"))),
        }
    }

    fn end_check(&mut self, id: RequestId, answer: Answer) -> Outcome<()> {
        let said = answer.to_json();
        let uri = answer.task.uri.parse::<Uri>();
        self.results.end(answer);
        self.connection.sender.send(Response::new_ok(id, said).into())?;
        if let Ok(uri) = uri
            && self.texts.contains_key(uri.as_str())
            && !self.changed.contains(&uri)
        {
            self.changed.push(uri);
        }
        self.refresh_lenses();
        Ok(())
    }

    fn refresh_lenses(&mut self) {
        if self.refreshes_lenses {
            self.asked += 1;
            let id = RequestId::from(format!("lenses-{}", self.asked));
            let method = "workspace/codeLens/refresh".to_string();
            let request = Request { id, method, params: Value::Null };
            // An editor that is gone needs no lenses.
            let _ = self.connection.sender.send(request.into());
        }
    }

    fn publish(&self, uri: Uri, diagnostics: Vec<lsp_types::Diagnostic>) -> Outcome<()> {
        let params = PublishDiagnosticsParams { uri, diagnostics, version: None };
        let method = PublishDiagnostics::METHOD.to_string();
        let params = serde_json::to_value(params)?;
        self.connection.sender.send(Notification { method, params }.into())?;
        Ok(())
    }

    fn answer(&self, request: &Request) -> Result<Value, (ErrorCode, String)> {
        let params = request.params.clone();
        match request.method.as_str() {
            "textDocument/hover" => {
                let asked: HoverParams = read(params)?;
                let TextDocumentPositionParams { text_document, position } =
                    asked.text_document_position_params;
                let uri = text_document.uri;
                self.about(&uri, |known| json!(known.hover(&uri, position, &self.results)))
            }
            "textDocument/definition" => {
                let asked: GotoDefinitionParams = read(params)?;
                let TextDocumentPositionParams { text_document, position } =
                    asked.text_document_position_params;
                let uri = text_document.uri;
                self.about(&uri, |known| json!(known.definition(&uri, position)))
            }
            "textDocument/references" => {
                let asked: ReferenceParams = read(params)?;
                let place = asked.text_document_position;
                let (uri, own) = (place.text_document.uri, asked.context.include_declaration);
                self.about(&uri, |known| json!(known.references(&uri, place.position, own)))
            }
            "textDocument/prepareRename" => {
                let asked: TextDocumentPositionParams = read(params)?;
                self.about(&asked.text_document.uri, |known| json!(known.renamed(asked.position)))
            }
            "textDocument/rename" => {
                let asked: RenameParams = read(params)?;
                let place = asked.text_document_position;
                let known = self.known(&place.text_document.uri)?;
                let edits = known.rename(place.position, &asked.new_name);
                let edits = edits.map_err(|message| (ErrorCode::InvalidParams, message))?;
                #[allow(clippy::mutable_key_type)] // the protocol's type
                let changes = HashMap::from([(place.text_document.uri, edits)]);
                Ok(json!(WorkspaceEdit::new(changes)))
            }
            "textDocument/documentSymbol" => {
                let asked: DocumentSymbolParams = read(params)?;
                self.about(&asked.text_document.uri, |known| json!(known.outline()))
            }
            "textDocument/completion" => {
                let asked: CompletionParams = read(params)?;
                let place = asked.text_document_position;
                self.about(&place.text_document.uri, |known| {
                    json!(known.completion(place.position))
                })
            }
            "textDocument/formatting" => {
                let asked: DocumentFormattingParams = read(params)?;
                self.about(&asked.text_document.uri, |known| json!(known.formatted()))
            }
            "textDocument/codeLens" => {
                let asked: CodeLensParams = read(params)?;
                let uri = asked.text_document.uri;
                self.about(&uri, |known| json!(known.lenses(&uri, &self.results)))
            }
            "textDocument/codeAction" => {
                let asked: CodeActionParams = read(params)?;
                let uri = &asked.text_document.uri;
                self.about(uri, |known| json!(known.actions(uri, &asked)))
            }
            "textDocument/semanticTokens/full" => {
                let asked: SemanticTokensParams = read(params)?;
                self.about(&asked.text_document.uri, |known| {
                    json!(SemanticTokens { result_id: None, data: known.colours() })
                })
            }
            other => Err((ErrorCode::MethodNotFound, format!("{other} is not offered"))),
        }
    }

    fn known(&self, uri: &Uri) -> Result<&Known, (ErrorCode, String)> {
        let known = self.texts.get(uri.as_str());
        known.ok_or_else(|| (ErrorCode::InvalidParams, "this text is not open".into()))
    }

    fn about(
        &self,
        uri: &Uri,
        answer: impl FnOnce(&Known) -> Value,
    ) -> Result<Value, (ErrorCode, String)> {
        self.known(uri).map(answer)
    }
}

fn read<T: serde::de::DeserializeOwned>(params: Value) -> Result<T, (ErrorCode, String)> {
    serde_json::from_value(params).map_err(|error| (ErrorCode::InvalidParams, error.to_string()))
}

/// The file behind a URI; the URI itself if it is no file.
fn path_of(uri: &Uri) -> String {
    let Some(path) = uri.as_str().strip_prefix("file://") else { return uri.as_str().into() };
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some(letter) = rest.chars().next() {
        let code = rest.get(1..3).filter(|_| letter == '%');
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[3..];
            }
            None => {
                bytes.extend_from_slice(&rest.as_bytes()[..letter.len_utf8()]);
                rest = &rest[letter.len_utf8()..];
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
