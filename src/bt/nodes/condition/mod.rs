//! Leaves that check something.

mod script_condition;

use super::table::nodes;

nodes! {
    script_condition: ScriptCondition;
}
