//! `PathHandlerSelector`: chooses the path handler plugin. A node of Nav2's main branch.

use crate::nav::selector::SelectorNode;

/// Takes the path handler from a topic.
#[derive(Debug)]
pub struct PathHandlerSelector;

impl SelectorNode for PathHandlerSelector {
    const ID: &'static str = "PathHandlerSelector";
    const WHAT: &'static str = "path handler";
    const DEFAULT_PORT: &'static str = "default_path_handler";
    const OUTPUT_PORT: &'static str = "selected_path_handler";
    const TOPIC: &'static str = "path_handler_selector";
    const DOC: &'static str = "Writes the path handler last published on a topic, or the default. FAILURE if there is neither. \
        A choice lasts until another one is published, also over navigations: its topic is latched.";
}
