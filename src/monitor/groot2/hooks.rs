//! The breakpoints of a client.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// A hook of Groot2. The fields are in the order of BehaviorTree.CPP's reply.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Hook {
    desired_status: String,
    enabled: bool,
    /// 0: breakpoint. 1: the result of the node is replaced.
    mode: u8,
    /// The hook is removed when it was reached.
    once: bool,
    /// 0: before the node, 1: after it.
    position: u8,
    uid: u16,
}

/// A request to remove a hook.
#[derive(Deserialize)]
struct Place {
    uid: u16,
    position: u8,
}

/// A request to continue.
#[derive(Deserialize)]
struct Unlock {
    uid: u16,
    position: u8,
    desired_status: String,
    remove_when_done: bool,
}

/// What a change of the hooks does to a paused tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Effect {
    Nothing,
    Resume,
}

/// The reply for a hook at the UID that all nodes from the 65,535th on have.
const SHARED_UID: &str = "the tree has too many nodes for Groot2: from the 65,535th on, they share one UID and can have no \
                          breakpoint";

/// The values of `desired_status`. Hooks are kept as they come, and kept text is memory.
const STATUSES: [&str; 6] = ["", "IDLE", "RUNNING", "SUCCESS", "FAILURE", "SKIPPED"];

/// The reply for a hook that does not exist.
const NOT_FOUND: &str = "Node ID not found";

/// The hooks, by UID and position.
#[derive(Debug, Default)]
pub(super) struct Hooks {
    hooks: BTreeMap<(u16, u8), Hook>,
    /// The hook at which the tree is paused.
    reached: Option<(u16, u8)>,
}

impl Hooks {
    /// Inserts or updates the hooks of a JSON object or list. Hooks of nodes that do not exist are left out. `count`: the
    /// number of nodes.
    pub(super) fn insert(&mut self, json: &[u8], count: usize) -> Result<Effect, String> {
        let json: Json = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        let list = match json {
            Json::Array(list) => list,
            one => vec![one],
        };
        let hooks: Result<Vec<Hook>, _> = list.into_iter().map(serde_json::from_value).collect();
        let hooks: Vec<Hook> = hooks.map_err(|error: serde_json::Error| error.to_string())?;
        for hook in &hooks {
            if hook.uid == u16::MAX && count > usize::from(u16::MAX) {
                return Err(SHARED_UID.to_owned());
            }
            if hook.mode > 1 || hook.position > 1 {
                return Err("mode and position are 0 or 1".to_owned());
            }
            if !STATUSES.contains(&hook.desired_status.as_str()) {
                return Err("desired_status is the name of a status, such as SKIPPED".to_owned());
            }
            if hook.mode == 1 {
                return Err(
                    "navtree does not replace the result of a node: use a breakpoint (mode 0)".to_owned(),
                );
            }
        }
        let mut effect = Effect::Nothing;
        for hook in hooks {
            let place = (hook.uid, hook.position);
            if !hook.enabled {
                effect = self.leave(Some(place), effect);
            }
            if (1..=count).contains(&usize::from(hook.uid)) {
                self.hooks.insert(place, hook);
            }
        }
        Ok(effect)
    }

    /// Removes a hook.
    pub(super) fn remove(&mut self, json: &[u8]) -> Result<Effect, String> {
        let place: Place = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        let place = (place.uid, place.position);
        self.hooks.remove(&place).ok_or(NOT_FOUND)?;
        Ok(self.leave(Some(place), Effect::Nothing))
    }

    /// Removes all hooks.
    pub(super) fn clear(&mut self) -> Effect {
        self.hooks.clear();
        self.leave(self.reached, Effect::Nothing)
    }

    /// Enables or disables all hooks.
    pub(super) fn enable_all(&mut self, is_enabled: bool) -> Effect {
        for hook in self.hooks.values_mut() {
            hook.enabled = is_enabled;
        }
        if is_enabled {
            Effect::Nothing
        } else {
            self.leave(self.reached, Effect::Nothing)
        }
    }

    /// Continues after a breakpoint.
    pub(super) fn unlock(&mut self, json: &[u8]) -> Result<Effect, String> {
        let unlock: Unlock = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        let place = (unlock.uid, unlock.position);
        if !self.hooks.contains_key(&place) {
            return Err(NOT_FOUND.to_owned());
        }
        if matches!(unlock.desired_status.as_str(), "SUCCESS" | "FAILURE") {
            return Err("navtree does not replace the result of a node: continue with SKIPPED".to_owned());
        }
        if unlock.remove_when_done {
            self.hooks.remove(&place);
        }
        Ok(self.leave(Some(place), Effect::Nothing))
    }

    /// All hooks as JSON.
    pub(super) fn dump(&self) -> Vec<u8> {
        let hooks: Vec<&Hook> = self.hooks.values().collect();
        serde_json::to_vec(&hooks).unwrap_or_default()
    }

    /// A node began (position 0) or ended (position 1). Returns whether the tree is to be paused.
    pub(super) fn reach(&mut self, uid: u16, position: u8) -> bool {
        let place = (uid, position);
        let is_enabled = self.hooks.get(&place).is_some_and(|hook| hook.enabled);
        if !is_enabled || self.reached.is_some() {
            return false;
        }
        self.reached = Some(place);
        true
    }

    /// Whether the tree is paused at a hook, as far as known here.
    pub(super) fn is_at_one(&self) -> bool {
        self.reached.is_some()
    }

    /// The hook was reached, and the tree is not paused. A hook for once stays.
    pub(super) fn miss_reached(&mut self) {
        self.reached = None;
    }

    /// The tree runs on although it was not unlocked: there is a newer goal, or another client has resumed it.
    pub(super) fn forget_reached(&mut self) {
        self.leave(self.reached, Effect::Nothing);
    }

    /// Ends the pause if it is at this place.
    fn leave(&mut self, place: Option<(u16, u8)>, before: Effect) -> Effect {
        if let Some(place) = place.filter(|place| self.reached == Some(*place)) {
            self.reached = None;
            if self.hooks.get(&place).is_some_and(|hook| hook.once) {
                self.hooks.remove(&place);
            }
            return Effect::Resume;
        }
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_keeps_no_text_but_the_name_of_a_status() {
        let insert = |status: &str| {
            let json = format!(
                r#"{{"enabled":true,"uid":1,"mode":0,"once":false,"desired_status":"{status}","position":0}}"#
            );
            Hooks::default().insert(json.as_bytes(), 3)
        };
        for status in STATUSES {
            assert!(insert(status).is_ok(), "{status}");
        }
        let refusal = insert(&"x".repeat(100_000)).unwrap_err();
        assert_eq!(refusal, "desired_status is the name of a status, such as SKIPPED");
    }

    #[test]
    fn the_nodes_that_share_a_uid_have_no_hooks() {
        let insert = |uid: u16, count| {
            let json = format!(
                r#"{{"enabled":true,"uid":{uid},"mode":0,"once":false,"desired_status":"","position":0}}"#
            );
            Hooks::default().insert(json.as_bytes(), count)
        };
        assert!(insert(65_535, 65_535).is_ok());
        assert!(insert(65_534, 65_536).is_ok());
        assert!(insert(65_535, 65_536).unwrap_err().contains("65,535th"));
    }
}
