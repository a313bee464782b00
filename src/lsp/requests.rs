//! Reads the parameters of a request and writes its answer.

use lsp_server::Request;
use lsp_types::request::{
    CodeActionRequest, Completion, DocumentHighlightRequest, DocumentSymbolRequest, FoldingRangeRequest,
    Formatting, GotoDefinition, HoverRequest, InlayHintRequest, PrepareRenameRequest, References, Rename,
    Request as Kind,
};
use lsp_types::{
    CodeActionOrCommand, CodeActionParams, DocumentFormattingParams, DocumentSymbolResponse,
    GotoDefinitionResponse, PrepareRenameResponse, TextEdit, Uri,
};
use serde_json::Value;

use super::position::Lines;
use super::workspace::{Open, View, Workspace};
use super::{
    code_action, completion, definition, folding, format, hover, inlay_hint, outline, references, rename,
};

/// The answer to a request, or the reason why there is none; `None` if the request is not known.
pub(super) fn answer(workspace: &Workspace<'_>, request: Request) -> Option<Result<Value, String>> {
    let context = Answers { workspace, request };
    Some(match context.request.method.as_str() {
        Completion::METHOD => context.of::<Completion>(|workspace, parameters| {
            let at = parameters.text_document_position;
            let found = with(workspace, &at.text_document.uri, |view| {
                completion::of(view, at.position)
            });
            Ok(found.map(Into::into))
        }),
        HoverRequest::METHOD => context.of::<HoverRequest>(|workspace, parameters| {
            let at = parameters.text_document_position_params;
            let found = with(workspace, &at.text_document.uri, |view| {
                hover::of(view, at.position)
            });
            Ok(found.flatten())
        }),
        GotoDefinition::METHOD => context.of::<GotoDefinition>(|workspace, parameters| {
            let at = parameters.text_document_position_params;
            let found = with(workspace, &at.text_document.uri, |view| {
                definition::of(view, at.position)
            });
            Ok(found.map(GotoDefinitionResponse::Array))
        }),
        References::METHOD => context.of::<References>(|workspace, parameters| {
            let at = parameters.text_document_position;
            Ok(with(workspace, &at.text_document.uri, |view| {
                references::of(view, at.position)
            }))
        }),
        DocumentHighlightRequest::METHOD => {
            context.of::<DocumentHighlightRequest>(|workspace, parameters| {
                let at = parameters.text_document_position_params;
                Ok(with(workspace, &at.text_document.uri, |view| {
                    references::highlights(view, at.position)
                }))
            })
        }
        PrepareRenameRequest::METHOD => context.of::<PrepareRenameRequest>(|workspace, at| {
            let found = with(workspace, &at.text_document.uri, |view| {
                let span = rename::prepare(view, at.position)?;
                Some(PrepareRenameResponse::Range(view.file().range(span)))
            });
            Ok(found.flatten())
        }),
        Rename::METHOD => context.of::<Rename>(|workspace, parameters| {
            let at = parameters.text_document_position;
            opened(workspace, &at.text_document.uri)?;
            let found = with(workspace, &at.text_document.uri, |view| {
                rename::of(view, at.position, &parameters.new_name)
            });
            found.unwrap_or(Ok(None))
        }),
        CodeActionRequest::METHOD => {
            context.of::<CodeActionRequest>(|workspace, parameters| Ok(code_actions(workspace, &parameters)))
        }
        Formatting::METHOD => {
            context.of::<Formatting>(|workspace, parameters| formatting(workspace, &parameters))
        }
        InlayHintRequest::METHOD => context.of::<InlayHintRequest>(|workspace, parameters| {
            Ok(with(workspace, &parameters.text_document.uri, |view| {
                inlay_hint::of(view, parameters.range)
            }))
        }),
        FoldingRangeRequest::METHOD => context.of::<FoldingRangeRequest>(|workspace, parameters| {
            Ok(with(workspace, &parameters.text_document.uri, |view| {
                folding::of(view.file())
            }))
        }),
        DocumentSymbolRequest::METHOD => context.of::<DocumentSymbolRequest>(|workspace, parameters| {
            let found = with(workspace, &parameters.text_document.uri, |view| {
                outline::of(view.file())
            });
            Ok(found.map(DocumentSymbolResponse::Nested))
        }),
        _ => return None,
    })
}

struct Answers<'a, 'p> {
    workspace: &'a Workspace<'p>,
    request: Request,
}

impl<'p> Answers<'_, 'p> {
    fn of<K: Kind>(
        &self,
        answer: impl FnOnce(&Workspace<'p>, K::Params) -> Result<K::Result, String>,
    ) -> Result<Value, String> {
        let parameters =
            serde_json::from_value(self.request.params.clone()).map_err(|error| error.to_string())?;
        let value = answer(self.workspace, parameters)?;
        serde_json::to_value(value).map_err(|error| error.to_string())
    }
}

/// Calls a function with the view of an open file.
fn with<T>(workspace: &Workspace<'_>, uri: &Uri, answer: impl FnOnce(&View) -> T) -> Option<T> {
    workspace.view(uri).map(|view| answer(&view))
}

fn code_actions(
    workspace: &Workspace<'_>,
    parameters: &CodeActionParams,
) -> Option<Vec<CodeActionOrCommand>> {
    let open = workspace.opened(&parameters.text_document.uri)?;
    let actions = code_action::of(workspace, &open.identity, parameters.range);
    Some(actions.into_iter().map(CodeActionOrCommand::CodeAction).collect())
}

fn formatting(
    workspace: &Workspace<'_>,
    parameters: &DocumentFormattingParams,
) -> Result<Option<Vec<TextEdit>>, String> {
    let text = &opened(workspace, &parameters.text_document.uri)?.text;
    let width = parameters.options.tab_size.min(16) as usize;
    let indent = if parameters.options.insert_spaces {
        " ".repeat(width)
    } else {
        "\t".to_owned()
    };
    let formatted = format::formatted(text, &indent);
    let range = Lines::new(text).range(text, 0..text.len());
    Ok(formatted.map(|formatted| {
        let edit = (formatted != *text).then(|| TextEdit::new(range, formatted));
        edit.into_iter().collect()
    }))
}

/// The open file of a URI. Only the editor's text may be changed: the text on disk can be another one.
fn opened<'w>(workspace: &'w Workspace<'_>, uri: &Uri) -> Result<&'w Open, String> {
    let open = workspace.opened(uri);
    open.ok_or_else(|| format!("{} is not open: open it before you change it", uri.as_str()))
}
