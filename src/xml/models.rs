//! `<TreeNodesModel>`: the declarations of a file about subtrees (which take effect) and about node types (which only
//! editors read).

use std::collections::HashSet;

use crate::bt::{self, ModelPort};

use super::code::Code;
use super::diagnostic::{Diagnostic, Diagnostics};
use super::document::{Element, names_kind};
use super::format::V4_ATTRIBUTES;

/// The entries of one `<TreeNodesModel>`.
#[derive(Default)]
pub(super) struct Models<'d> {
    /// Ports of subtrees, by tree.
    pub(super) subtrees: Vec<(&'d str, Vec<ModelPort>)>,
    /// Node types that are declared and may not be registered.
    pub(super) nodes: HashSet<&'d str>,
}

impl<'d> Models<'d> {
    pub(super) fn read(model: Element<'d>, diagnostics: &mut Diagnostics) -> Self {
        let mut models = Self::default();
        // The other element is remarks of Groot.
        for entry in model.children().filter(|entry| entry.name() != "MetadataFields") {
            if !names_kind(entry.name()) && entry.name() != "SubTree" {
                let message = format!("`<{}>` in a model is ignored", entry.name());
                let problem = Diagnostic::new(Code::IgnoredElement, entry.name_span(), message).help(
                    "a model has `<Action>`, `<Condition>`, `<Control>`, `<Decorator>` and `<SubTree>`",
                );
                diagnostics.push(problem);
                continue;
            }
            let Some(id) = entry.value("ID").filter(|id| !id.is_empty()) else {
                let message = format!("`<{}>` in a model without `ID`", entry.name());
                diagnostics.push(Diagnostic::new(
                    Code::ModelWithoutId,
                    entry.start_tag_span(),
                    message,
                ));
                continue;
            };
            if entry.name() == "SubTree" {
                // Remarks of Groot.
                let entries = entry.children().filter(|child| child.name() != "MetadataFields");
                let ports = entries.filter_map(|port| model_port(port, diagnostics));
                models.subtrees.push((id, ports.collect()));
            } else {
                models.nodes.insert(id);
            }
        }
        models
    }
}

fn model_port(port: Element<'_>, diagnostics: &mut Diagnostics) -> Option<ModelPort> {
    if !matches!(port.name(), "input_port" | "output_port" | "inout_port") {
        let message = format!("`<{}>` declares no port", port.name());
        let problem = Diagnostic::new(Code::IgnoredElement, port.name_span(), message)
            .help("ports are `<input_port>`, `<output_port>` and `<inout_port>`");
        diagnostics.push(problem);
        return None;
    }
    let Some(name) = port.attribute("name") else {
        let message = format!("`<{}>` without `name`", port.name());
        diagnostics.push(Diagnostic::new(
            Code::BadModelPort,
            port.start_tag_span(),
            message,
        ));
        return None;
    };
    if !is_model_port(name.value()) {
        let message = format!("`{}` cannot be the name of a port", name.value());
        diagnostics.push(Diagnostic::new(Code::BadModelPort, name.value_span(), message));
        return None;
    }
    Some(ModelPort {
        name: name.value().to_owned(),
        // An empty default means no default, as in BehaviorTree.CPP.
        default: port
            .value("default")
            .filter(|text| !text.is_empty())
            .map(str::to_owned),
        span: name.value_span().into(),
    })
}

/// Unlike a port of a node, a port of a subtree may start with any character except a digit.
fn is_model_port(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && !matches!(name, "name" | "ID")
        && !V4_ATTRIBUTES.contains(&name)
        && bt::is_port_name(&format!("p{name}"))
}
