//! `ControllerSelector`: chooses the controller plugin.

use crate::nav::selector::SelectorNode;

/// Takes the controller from a topic.
#[derive(Debug)]
pub struct ControllerSelector;

impl SelectorNode for ControllerSelector {
    const ID: &'static str = "ControllerSelector";
    const WHAT: &'static str = "controller";
    const DEFAULT_PORT: &'static str = "default_controller";
    const OUTPUT_PORT: &'static str = "selected_controller";
    const TOPIC: &'static str = "controller_selector";
    const DOC: &'static str = "Writes the controller last published on a topic, or the default. FAILURE if there is neither. \
        A choice lasts until another one is published, also over navigations: its topic is latched.";
}
