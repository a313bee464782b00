//! `PlannerSelector`: selects the planner plugin.

use crate::nav::selector::SelectorNode;

/// Reads the planner from a topic.
#[derive(Debug)]
pub struct PlannerSelector;

impl SelectorNode for PlannerSelector {
    const ID: &'static str = "PlannerSelector";
    const WHAT: &'static str = "planner";
    const DEFAULT_PORT: &'static str = "default_planner";
    const OUTPUT_PORT: &'static str = "selected_planner";
    const TOPIC: &'static str = "planner_selector";
    const DOC: &'static str = "Writes the last planner published on a topic, or the default. FAILURE if there is \
        neither. A selection remains until another one is published, even across navigations, because its topic \
        is latched.";
}
