//! Promela and Boolean programs in the editor: a language server over standard input and output.
//!
//! Diagnostics are the compiler's ([`preempt_promela::syntax`], [`preempt_bool`]), so an editor says what `preempt
//! check` says. Names, colours, outline and formatting work on the text itself (`scan`, `names`, `format`) and
//! keep working while the model does not compile.
//!
//! **Invariants:** no request can end the server, a text that makes a computation panic is answered with an error;
//! a text is diagnosed when no message is waiting, so that typing is never behind.

mod answer;
mod diagnose;
mod document;
mod format;
mod names;
mod scan;
mod words;

pub use format::format;

use answer::{COLOURS, Known};
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, Notification as _,
    PublishDiagnostics,
};
use lsp_types::{
    CodeLensOptions, CodeLensParams, CompletionOptions, CompletionParams,
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    DocumentFormattingParams, DocumentSymbolParams, GotoDefinitionParams, HoverParams, OneOf,
    PublishDiagnosticsParams, ReferenceParams, RenameOptions, RenameParams, SemanticTokens,
    SemanticTokensFullOptions, SemanticTokensLegend, SemanticTokensOptions, SemanticTokensParams,
    ServerCapabilities, TextDocumentPositionParams, TextDocumentSyncCapability,
    TextDocumentSyncKind, Uri, WorkspaceEdit,
};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Serves an editor over standard input and output until it says that it is over.
pub fn run() -> Outcome<()> {
    let (connection, threads) = Connection::stdio();
    serve(connection)?;
    threads.join()?;
    Ok(())
}

/// Serves whoever is at the other end.
pub fn serve(connection: Connection) -> Outcome<()> {
    connection.initialize(serde_json::to_value(capabilities())?)?;
    let mut server = Server { connection, texts: HashMap::new(), changed: Vec::new() };
    server.run()
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
    texts: HashMap<String, Known>,
    /// Texts that changed since they were diagnosed.
    changed: Vec<Uri>,
}

impl Server {
    fn run(&mut self) -> Outcome<()> {
        loop {
            let message = match self.connection.receiver.try_recv() {
                Ok(message) => message,
                Err(_) => {
                    self.diagnose_changed()?;
                    match self.connection.receiver.recv() {
                        Ok(message) => message,
                        Err(_) => return Ok(()),
                    }
                }
            };
            match message {
                Message::Request(request) => {
                    if self.connection.handle_shutdown(&request)? {
                        return Ok(());
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
                    self.changed.retain(|other| *other != uri);
                    let _ = self.publish(uri, Vec::new());
                }
            }
            _ => {}
        }
    }

    fn keep(&mut self, uri: Uri, text: String) {
        self.texts.insert(uri.as_str().to_string(), Known::new(text));
        if !self.changed.contains(&uri) {
            self.changed.push(uri);
        }
    }

    fn diagnose_changed(&mut self) -> Outcome<()> {
        for uri in std::mem::take(&mut self.changed) {
            let Some(known) = self.texts.get(uri.as_str()) else { continue };
            let path = path_of(&uri);
            let found = AssertUnwindSafe(|| diagnose::diagnose(&uri, &path, &known.document));
            let found = catch_unwind(found).unwrap_or_default();
            self.publish(uri, found)?;
        }
        Ok(())
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
                self.about(&text_document.uri, |known| json!(known.hover(position)))
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
                let uri = asked.text_document.uri;
                let is_boolean = path_of(&uri).ends_with(".bp");
                self.about(&uri, |known| match is_boolean {
                    true => Value::Null,
                    false => json!(known.formatted()),
                })
            }
            "textDocument/codeLens" => {
                let asked: CodeLensParams = read(params)?;
                let uri = asked.text_document.uri;
                self.about(&uri, |known| json!(known.lenses(&uri)))
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
