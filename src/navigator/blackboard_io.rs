//! The blackboard keys that navigator and tree share.

use std::sync::Arc;

use super::NavigatorKind;
use super::options::Options;
use crate::bt::{PortValue, ScopeId, Tree, Value};
use crate::msg::{Goals, Path};
use crate::nav::World;

/// Writes a new goal. All paths of an earlier goal are cleared, so no tree follows them (nav2 #3156). This includes
/// paths under the tree's own keys, such as a smoothed path.
pub(crate) fn goal(tree: &mut Tree, options: &Options, kind: NavigatorKind, poses: &Arc<Goals>) {
    let key = options.seeded_key(kind);
    match kind {
        NavigatorKind::ToPose => {
            if let Some(pose) = poses.0.first() {
                write(tree, key, Arc::new(pose.clone()));
            }
        }
        NavigatorKind::ThroughPoses => write(tree, key, Arc::clone(poses)),
    }
    write(tree, &options.path_key, Arc::new(Path::default()));
    tree.rewrite(|value| {
        let path = value.downcast_ref::<Path>()?;
        (!path.is_empty()).then(|| Arc::new(Path::default()).into_value())
    });
    write(tree, "number_recoveries", 0_i32);
    clear_errors(tree, options);
}

fn write<T: PortValue>(tree: &mut Tree, key: &str, value: T) {
    if let Err(clash) = tree.set(key, value) {
        // A tree that uses the key for another purpose works without the value. The log informs its author.
        tracing::warn!("blackboard key `{key}`: {clash}");
    }
}

/// Sets the error codes to zero: a goal must not end with the code of an earlier one.
pub(crate) fn clear_errors(tree: &mut Tree, options: &Options) {
    for key in &options.error_code_keys {
        write(tree, key, 0_u16);
        let message_key = message_key(key);
        if tree.get(&message_key).is_some() {
            write(tree, &message_key, Arc::<str>::from(""));
        }
    }
}

/// The lowest error code of a failed tree, with its message: the leaf that wrote the code last, or without a code the
/// leaf that failed last, and the number of recoveries. For the tick in which the tree has failed.
pub(crate) fn error_of(tree: &mut Tree, options: &Options) -> (u16, String) {
    let recoveries = match recoveries(tree) {
        0 => String::new(),
        count => format!(" (recoveries: {count})"),
    };
    let codes = options
        .error_code_keys
        .iter()
        .filter_map(|key| match tree.get(key)? {
            Value::Int(code) => u16::try_from(*code)
                .ok()
                .filter(|code| *code != 0)
                .map(|code| (code, key)),
            _ => None,
        });
    let Some((code, key)) = codes.min_by_key(|(code, _)| *code) else {
        let last = tree.resource::<World>().and_then(|world| {
            let what = match world.failures.last_of_tick(world.now()) {
                Some(_) => "the last action or service that failed",
                // After it the tree went on: something else has failed the tree.
                None => "an action or service failed before, and the tree went on",
            };
            let (failure, _) = world.failures.last()?;
            Some(format!("{WITHOUT_CODE}; {what}: {failure}{recoveries}"))
        });
        return (0, last.unwrap_or_else(|| WITHOUT_CODE.to_owned()));
    };
    let entry = tree.find(ScopeId::ROOT, key);
    if let (Some(entry), Some(world)) = (entry, tree.resource::<World>())
        && let Some(failure) = world.failures.of_code(entry, code)
    {
        let last = world.failures.last_of_tick(world.now());
        let text = match last {
            Some(last) if last == failure => format!("{failure}{recoveries}"),
            Some(last) => format!("{last}; the error code is of an earlier failure: {failure}{recoveries}"),
            None => format!(
                "the error code is of an earlier failure, and the tree went on after it: {failure}{recoveries}"
            ),
        };
        return (code, text);
    }
    // A script or a node of another library wrote the code.
    let message = match tree.get(&message_key(key)) {
        Some(Value::Text(text)) if !text.is_empty() => text.to_string(),
        _ => format!("the tree failed with {key} {code}"),
    };
    (code, message)
}

/// Error message for a tree that failed without an error code.
const WITHOUT_CODE: &str = "the tree failed without an error code";

fn message_key(code_key: &str) -> String {
    format!("{}_msg", code_key.strip_suffix("_code").unwrap_or(code_key))
}

pub(crate) fn path(tree: &Tree, options: &Options) -> Option<Arc<Path>> {
    tree.get(&options.path_key)?.downcast()
}

pub(crate) fn recoveries(tree: &Tree) -> i32 {
    match tree.get("number_recoveries") {
        Some(Value::Int(count)) => i32::try_from(*count).unwrap_or(i32::MAX),
        _ => 0,
    }
}

pub(crate) fn poses_remaining(tree: &Tree, options: &Options) -> usize {
    tree.get(&options.goals_key)
        .and_then(Value::downcast::<Goals>)
        .map_or(0, |goals| goals.0.len())
}
