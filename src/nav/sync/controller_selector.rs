//! `ControllerSelector`: selects the controller plugin.

use crate::nav::selector::SelectorNode;

/// Reads the controller from a topic.
#[derive(Debug)]
pub struct ControllerSelector;

impl SelectorNode for ControllerSelector {
    const ID: &'static str = "ControllerSelector";
    const WHAT: &'static str = "controller";
    const DEFAULT_PORT: &'static str = "default_controller";
    const OUTPUT_PORT: &'static str = "selected_controller";
    const TOPIC: &'static str = "controller_selector";
    const DOC: &'static str = "Writes the last controller published on a topic, or the default. FAILURE if there \
        is neither. A selection remains until another one is published, even across navigations, because its \
        topic is latched.";
}
