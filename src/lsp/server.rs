//! The loop of the server: messages in, answers and problems out.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidChangeWatchedFiles, DidCloseTextDocument, DidOpenTextDocument,
    DidSaveTextDocument, Notification as _, PublishDiagnostics,
};
use lsp_types::request::{RegisterCapability, Request as _};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, CompletionOptions,
    DidChangeTextDocumentParams, DidChangeWatchedFilesRegistrationOptions, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, FileSystemWatcher, GlobPattern, InitializeParams, OneOf,
    PublishDiagnosticsParams, Registration, RegistrationParams, RenameOptions, SaveOptions,
    ServerCapabilities, TextDocumentContentChangeEvent, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextDocumentSyncOptions, TextDocumentSyncSaveOptions, Uri,
};
use serde_json::{Value, json};

use crate::bt::panic_text;

use super::position::Lines;
use super::requests;
use super::workspace::{Projects, Workspace};

/// Why the server ended before the editor asked it to.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ServerError(String);

impl ServerError {
    fn new(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// Serves one editor on standard input and output, until it says `exit` or closes the connection.
///
/// # Errors
/// A message that breaks the protocol, or a connection that breaks.
pub fn run(projects: &dyn Projects) -> Result<(), ServerError> {
    let (connection, threads) = Connection::stdio();
    let (id, parameters) = connection.initialize_start().map_err(ServerError::new)?;
    let parameters: InitializeParams = serde_json::from_value(parameters).map_err(ServerError::new)?;
    let answer = json!({
        "capabilities": capabilities(),
        "serverInfo": {"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")},
    });
    connection
        .initialize_finish(id, answer)
        .map_err(ServerError::new)?;
    let mut server = Server {
        workspace: Workspace::new(projects),
        connection,
        waiting: VecDeque::new(),
    };
    server.workspace.snippets = takes_snippets(&parameters);
    if watches_files(&parameters) {
        server.watch_files()?;
    }
    let outcome = server.serve();
    // The threads end when the connection is dropped.
    drop(server);
    outcome?;
    threads.join().map_err(ServerError::new)
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions {
                include_text: Some(false),
            })),
            ..TextDocumentSyncOptions::default()
        })),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(["<", "/", " ", "\"", "'", "{"].map(str::to_owned).into()),
            ..CompletionOptions::default()
        }),
        hover_provider: Some(true.into()),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        inlay_hint_provider: Some(OneOf::Left(true)),
        folding_range_provider: Some(true.into()),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: Default::default(),
        })),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]),
            ..CodeActionOptions::default()
        })),
        ..ServerCapabilities::default()
    }
}

fn takes_snippets(parameters: &InitializeParams) -> bool {
    let document = parameters.capabilities.text_document.as_ref();
    let completion = document.and_then(|document| document.completion.as_ref());
    let item = completion.and_then(|completion| completion.completion_item.as_ref());
    item.and_then(|item| item.snippet_support) == Some(true)
}

fn watches_files(parameters: &InitializeParams) -> bool {
    let workspace = parameters.capabilities.workspace.as_ref();
    let watched = workspace.and_then(|workspace| workspace.did_change_watched_files.as_ref());
    watched.and_then(|watched| watched.dynamic_registration) == Some(true)
}

struct Server<'p> {
    workspace: Workspace<'p>,
    connection: Connection,
    /// The paths of the URIs of open files whose problems are to be reported.
    waiting: VecDeque<PathBuf>,
}

impl Server<'_> {
    fn serve(&mut self) -> Result<(), ServerError> {
        loop {
            // Reports while nothing else waits, one file at a time.
            while self.connection.receiver.is_empty()
                && let Some(path) = self.waiting.pop_front()
            {
                self.report(&path)?;
            }
            let Ok(message) = self.connection.receiver.recv() else {
                return Ok(());
            };
            match message {
                Message::Request(request) => {
                    if self
                        .connection
                        .handle_shutdown(&request)
                        .map_err(ServerError::new)?
                    {
                        return Ok(());
                    }
                    let answer = self.answer(request);
                    self.send(Message::Response(answer))?;
                }
                Message::Notification(notification) if notification.method == "exit" => return Ok(()),
                Message::Notification(notification) => self.notice(notification)?,
                Message::Response(_) => {}
            }
        }
    }

    fn send(&self, message: Message) -> Result<(), ServerError> {
        self.connection.sender.send(message).map_err(ServerError::new)
    }

    /// Answers a request. A fault of the server costs one answer, and not the editor's connection.
    fn answer(&self, request: Request) -> Response {
        let id = request.id.clone();
        let answered = catch_unwind(AssertUnwindSafe(|| requests::answer(&self.workspace, request)));
        match answered {
            Ok(Some(Ok(value))) => Response::new_ok(id, value),
            Ok(Some(Err(message))) => Response::new_err(id, ErrorCode::InvalidParams as i32, message),
            Ok(None) => Response::new_err(id, ErrorCode::MethodNotFound as i32, "not supported".to_owned()),
            Err(panic) => {
                let message = panic_text(&*panic).to_owned();
                Response::new_err(id, ErrorCode::InternalError as i32, message)
            }
        }
    }

    fn notice(&mut self, notification: Notification) -> Result<(), ServerError> {
        let Notification { method, params } = notification;
        match method.as_str() {
            DidOpenTextDocument::METHOD => {
                let Some(DidOpenTextDocumentParams { text_document }) = read(params) else {
                    return Ok(());
                };
                self.workspace.forget();
                self.workspace
                    .set(&text_document.uri, text_document.version, text_document.text);
                self.expect_reports(Some(&text_document.uri));
            }
            DidChangeTextDocument::METHOD => {
                if let Some(change) = read(params) {
                    self.change(change);
                }
            }
            DidCloseTextDocument::METHOD => {
                let Some(DidCloseTextDocumentParams { text_document }) = read(params) else {
                    return Ok(());
                };
                if let Some(path) = super::uri::path(&text_document.uri) {
                    self.workspace.close(&path);
                }
                self.publish(PublishDiagnosticsParams::new(text_document.uri, Vec::new(), None))?;
                self.expect_reports(None);
            }
            DidSaveTextDocument::METHOD | DidChangeWatchedFiles::METHOD => {
                self.workspace.forget();
                self.expect_reports(None);
            }
            _ => {}
        }
        Ok(())
    }

    fn change(&mut self, change: DidChangeTextDocumentParams) {
        let uri = change.text_document.uri;
        let Some(open) = self.workspace.opened(&uri) else {
            return;
        };
        let mut text = open.text.clone();
        for event in change.content_changes {
            apply(&mut text, event);
        }
        self.workspace.set(&uri, change.text_document.version, text);
        self.expect_reports(Some(&uri));
    }

    /// Plans a report of all open files, that of `first` before the others.
    fn expect_reports(&mut self, first: Option<&Uri>) {
        let first = first.and_then(super::uri::path);
        let others = self
            .workspace
            .open
            .keys()
            .filter(|path| Some(*path) != first.as_ref());
        self.waiting = first.iter().chain(others).cloned().collect();
    }

    fn report(&self, path: &std::path::Path) -> Result<(), ServerError> {
        let found = catch_unwind(AssertUnwindSafe(|| super::diagnostics::of(&self.workspace, path)));
        match found {
            Ok(Some(found)) => self.publish(found),
            Ok(None) => Ok(()),
            Err(panic) => {
                eprintln!("navtree lsp: {}: {}", path.display(), panic_text(&*panic));
                Ok(())
            }
        }
    }

    fn publish(&self, found: PublishDiagnosticsParams) -> Result<(), ServerError> {
        let method = PublishDiagnostics::METHOD.to_owned();
        self.send(Message::Notification(Notification::new(method, found)))
    }

    /// Asks the editor to tell about changes of files that are not open.
    fn watch_files(&self) -> Result<(), ServerError> {
        let watchers = ["**/*.xml", "**/navtree.toml"].map(|pattern| FileSystemWatcher {
            glob_pattern: GlobPattern::String(pattern.to_owned()),
            kind: None,
        });
        let options = DidChangeWatchedFilesRegistrationOptions {
            watchers: watchers.into(),
        };
        let registration = Registration {
            id: "files".to_owned(),
            method: DidChangeWatchedFiles::METHOD.to_owned(),
            register_options: serde_json::to_value(options).ok(),
        };
        let parameters = RegistrationParams {
            registrations: vec![registration],
        };
        let method = RegisterCapability::METHOD.to_owned();
        let id = "register-files".to_owned().into();
        self.send(Message::Request(Request::new(id, method, parameters)))
    }
}

/// The parameters of a notification; `None` if they break the protocol. A notification has no answer that could say so.
fn read<P: serde::de::DeserializeOwned>(parameters: Value) -> Option<P> {
    serde_json::from_value(parameters)
        .inspect_err(|error| eprintln!("navtree lsp: {error}"))
        .ok()
}

/// Applies a change to a text.
fn apply(text: &mut String, event: TextDocumentContentChangeEvent) {
    let Some(range) = event.range else {
        *text = event.text;
        return;
    };
    let lines = Lines::new(text);
    let start = lines.offset(text, range.start);
    let end = lines.offset(text, range.end).max(start);
    text.replace_range(start..end, &event.text);
}
