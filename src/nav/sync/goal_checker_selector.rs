//! `GoalCheckerSelector`: selects the goal checker plugin.

use crate::nav::selector::SelectorNode;

/// Reads the goal checker from a topic.
#[derive(Debug)]
pub struct GoalCheckerSelector;

impl SelectorNode for GoalCheckerSelector {
    const ID: &'static str = "GoalCheckerSelector";
    const WHAT: &'static str = "goal checker";
    const DEFAULT_PORT: &'static str = "default_goal_checker";
    const OUTPUT_PORT: &'static str = "selected_goal_checker";
    const TOPIC: &'static str = "goal_checker_selector";
    const DOC: &'static str = "Writes the last goal checker published on a topic, or the default. FAILURE if \
        there is neither. A selection remains until another one is published, even across navigations, because \
        its topic is latched.";
}
