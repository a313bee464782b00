//! `ProgressCheckerSelector`: selects the progress checker plugin.

use crate::nav::selector::SelectorNode;

/// Reads the progress checker from a topic.
#[derive(Debug)]
pub struct ProgressCheckerSelector;

impl SelectorNode for ProgressCheckerSelector {
    const ID: &'static str = "ProgressCheckerSelector";
    const WHAT: &'static str = "progress checker";
    const DEFAULT_PORT: &'static str = "default_progress_checker";
    const OUTPUT_PORT: &'static str = "selected_progress_checker";
    const TOPIC: &'static str = "progress_checker_selector";
    const DOC: &'static str = "Writes the last progress checker published on a topic, or the default. FAILURE if \
        there is neither. A selection remains until another one is published, even across navigations, because \
        its topic is latched.";
}
