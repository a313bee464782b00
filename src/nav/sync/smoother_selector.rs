//! `SmootherSelector`: selects the smoother plugin.

use crate::nav::selector::SelectorNode;

/// Reads the smoother from a topic.
#[derive(Debug)]
pub struct SmootherSelector;

impl SelectorNode for SmootherSelector {
    const ID: &'static str = "SmootherSelector";
    const WHAT: &'static str = "smoother";
    const DEFAULT_PORT: &'static str = "default_smoother";
    const OUTPUT_PORT: &'static str = "selected_smoother";
    const TOPIC: &'static str = "smoother_selector";
    const DOC: &'static str = "Writes the last smoother published on a topic, or the default. FAILURE if there \
        is neither. A selection remains until another one is published, even across navigations, because its \
        topic is latched.";
}
