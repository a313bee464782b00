//! `SmootherSelector`: chooses the smoother plugin.

use crate::nav::selector::SelectorNode;

/// Takes the smoother from a topic.
#[derive(Debug)]
pub struct SmootherSelector;

impl SelectorNode for SmootherSelector {
    const ID: &'static str = "SmootherSelector";
    const WHAT: &'static str = "smoother";
    const DEFAULT_PORT: &'static str = "default_smoother";
    const OUTPUT_PORT: &'static str = "selected_smoother";
    const TOPIC: &'static str = "smoother_selector";
    const DOC: &'static str = "Writes the smoother last published on a topic, or the default. FAILURE if there is neither. \
        A choice lasts until another one is published, also over navigations: its topic is latched.";
}
