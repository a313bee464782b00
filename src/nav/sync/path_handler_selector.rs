//! `PathHandlerSelector`: selects the path handler plugin. A node of Nav2's main branch.

use crate::nav::selector::SelectorNode;

/// Reads the path handler from a topic.
#[derive(Debug)]
pub struct PathHandlerSelector;

impl SelectorNode for PathHandlerSelector {
    const ID: &'static str = "PathHandlerSelector";
    const WHAT: &'static str = "path handler";
    const DEFAULT_PORT: &'static str = "default_path_handler";
    const OUTPUT_PORT: &'static str = "selected_path_handler";
    const TOPIC: &'static str = "path_handler_selector";
    const DOC: &'static str = "Writes the last path handler published on a topic, or the default. FAILURE if \
        there is neither. A selection remains until another one is published, even across navigations, because \
        its topic is latched.";
}
