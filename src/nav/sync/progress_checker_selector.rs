//! `ProgressCheckerSelector`: chooses the progress checker plugin.

use crate::nav::selector::SelectorNode;

/// Takes the progress checker from a topic.
#[derive(Debug)]
pub struct ProgressCheckerSelector;

impl SelectorNode for ProgressCheckerSelector {
    const ID: &'static str = "ProgressCheckerSelector";
    const WHAT: &'static str = "progress checker";
    const DEFAULT_PORT: &'static str = "default_progress_checker";
    const OUTPUT_PORT: &'static str = "selected_progress_checker";
    const TOPIC: &'static str = "progress_checker_selector";
    const DOC: &'static str = "Writes the progress checker last published on a topic, or the default. FAILURE if there is neither. \
        A choice lasts until another one is published, also over navigations: its topic is latched.";
}
