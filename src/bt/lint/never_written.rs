//! Warns of keys that are read but never written, of keys that are assigned to but never created, and of keys that are
//! written but never read beside one of almost the same name.

use crate::bt::blackboard::ScopeId;
use crate::bt::change::{Change, Confidence};
use crate::bt::problem::{Problem, ProblemKind};
use crate::bt::registry::Provided;
use crate::bt::scope::{Scopes, SlotUse, are_compatible};
use crate::bt::spec::ModelPort;
use crate::bt::suggest::{is_typo, nearest};

/// The writers of keys outside of the tree.
pub(crate) struct Written<'l> {
    pub(crate) scopes: &'l Scopes,
    /// Keys that the calling program writes.
    pub(crate) provided: &'l Provided,
    /// Ports that the main tree declares. A parent sets them if the tree is used as a subtree.
    pub(crate) ports: &'l [ModelPort],
}

impl Written<'_> {
    fn is_provided(&self, slot: &SlotUse) -> bool {
        slot.scope == ScopeId::ROOT
            && (self.provided.contains_key(&*slot.key)
                || self.ports.iter().any(|port| port.name == *slot.key))
    }

    /// The keys that are written and never read. At most as many as a person would look through.
    fn unread(&self) -> Vec<&SlotUse> {
        let mut is_read = vec![false; self.scopes.slots.len()];
        for access in self.scopes.accesses.iter().filter(|access| access.reads) {
            is_read[access.slot.0 as usize] = true;
        }
        let slots = self.scopes.slots.iter().zip(is_read);
        let unread = slots.filter(|(slot, is_read)| {
            !is_read && slot.written_at.is_some() && !slot.global && !self.is_provided(slot)
        });
        unread.map(|(slot, _)| slot).take(MAX_UNREAD).collect()
    }

    /// The key without reader whose name is a typing error of this one.
    fn mistyped<'u>(unread: &[&'u SlotUse], slot: &SlotUse) -> Option<&'u SlotUse> {
        let fits = |other: &&&SlotUse| match (other.info, slot.info.or(slot.provided)) {
            (Some(written), Some(read)) => are_compatible(written, read),
            _ => true,
        };
        let near = unread
            .iter()
            .filter(|other| other.scope == slot.scope && is_typo(&other.key, &slot.key));
        near.copied().find(|other| fits(&other))
    }

    /// Reports keys without reader whose names are typing errors of keys that the calling program writes, so that their
    /// readers get an old value.
    fn report_mistyped(&self, unread: &[&SlotUse], problems: &mut Vec<Problem>) {
        for slot in &self.scopes.slots {
            let Some(span) = slot.read_at.filter(|_| !slot.written && self.is_provided(slot)) else {
                continue;
            };
            if let Some(other) = Self::mistyped(unread, slot)
                && let Some(written_at) = other.written_at
            {
                let message = format!("the key `{}` is written and never read", other.key);
                let problem = Problem::new(ProblemKind::MistypedKey, written_at, message)
                    .related(
                        span,
                        format!("`{}` is read here, and no node writes it", slot.key),
                    )
                    .help(format!("did you mean `{}`?", slot.key))
                    .change(
                        Change::Key {
                            place: written_at,
                            from: other.key.to_string(),
                            to: slot.key.to_string(),
                        },
                        Confidence::Guess,
                    );
                problems.push(problem);
            }
        }
    }
}

/// Maximum number of keys without reader that are compared with others.
const MAX_UNREAD: usize = 100;

pub(super) fn lint(written: &Written<'_>, problems: &mut Vec<Problem>) {
    if written.scopes.writes_any {
        return;
    }
    // Enough to find a typing error. A hostile file may have a million keys.
    let known: Vec<&str> = written
        .scopes
        .slots
        .iter()
        .filter(|other| other.written && other.scope == ScopeId::ROOT)
        .map(|other| &*other.key)
        .chain(written.provided.keys().map(String::as_str))
        .take(200)
        .collect();
    let unread = written.unread();
    written.report_mistyped(&unread, problems);
    let mut looked_up = 0;
    for slot in &written.scopes.slots {
        let Some(span) = slot.assigned_at.or(slot.read_at) else {
            continue;
        };
        // A port that names the key creates the entry that `=` needs.
        let is_assigned = slot.assigned_at.is_some() && slot.initial.is_some();
        // A key with `@` may be on a blackboard shared by several trees.
        if slot.written || is_assigned || slot.global || written.is_provided(slot) {
            continue;
        }
        let message = match slot.assigned_at {
            Some(_) => format!(
                "the key `{}` is never created, and `=` writes only to existing keys",
                slot.key
            ),
            None => format!("the key `{}` is never written", slot.key),
        };
        looked_up += 1;
        let mistyped = (looked_up <= 100)
            .then(|| Written::mistyped(&unread, slot))
            .flatten();
        let near = match (mistyped, slot.scope) {
            (Some(other), _) => Some(&*other.key),
            (None, ScopeId::ROOT) if looked_up <= 100 => nearest(&slot.key, known.iter().copied()),
            _ => None,
        };
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None if slot.assigned_at.is_some() => format!("write `{} := …` for its first value", slot.key),
            None if slot.scope == ScopeId::ROOT => {
                "write it with the output of a node, with a script or from the calling program".to_owned()
            }
            None => {
                let key = &slot.key;
                let value = if written.scopes.takes_pointers(slot.scope) {
                    format!("{{{key}}}")
                } else {
                    key.to_string()
                };
                let tree = written.scopes.tree_id(slot.scope);
                format!(
                    "a subtree has its own keys: pass the key with {key}=\"{value}\" where `{tree}` is used"
                )
            }
        };
        let mut problem = Problem::new(ProblemKind::NeverWritten, span, message).help(help);
        if let Some(near) = near {
            let change = Change::Key {
                place: span,
                from: slot.key.to_string(),
                to: near.to_owned(),
            };
            problem = problem.change(change, Confidence::Guess);
        }
        if let Some((other, place)) = mistyped.and_then(|other| Some((other, other.written_at?))) {
            problem = problem.related(place, format!("`{}` is written here and never read", other.key));
        }
        problems.push(problem);
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{NodeBuilder, leaf, sequence, subtree};
    use crate::bt::lint::testing::{messages, messages_of};

    fn read(key: &str) -> NodeBuilder {
        leaf("Say").port("text", format!("{{{key}}}"))
    }

    #[test]
    fn a_key_without_writer_is_reported() {
        let never = |key: &str| vec![format!("NeverWritten: the key `{key}` is never written")];
        let none: Vec<String> = Vec::new();
        let set = || leaf("SetBlackboard").port("value", 1);
        let script = |code: &str| leaf("Script").port("code", code);
        let unmade = |key: &str| {
            vec![format!(
                "NeverWritten: the key `{key}` is never created, and `=` writes only to existing keys"
            )]
        };
        let cases: [(NodeBuilder, Vec<String>); 17] = [
            (script("x = 1"), unmade("x")),
            (
                sequence([script("x += 1"), read("y"), script("y = 1")]),
                unmade("x"),
            ),
            (sequence([script("x = 1"), script("x := 2")]), none.clone()),
            (
                sequence([script("x = 1"), leaf("Ask").port("answer", "{x}")]),
                none.clone(),
            ),
            (script("charge = 1; @x = 2"), none.clone()),
            (read("x"), never("x")),
            (sequence([read("x"), set().port("output_key", "x")]), none.clone()),
            (sequence([read("x"), set().port("output_key", "y")]), never("x")),
            // The key of a writer is known only at run time.
            (
                sequence([
                    read("x"),
                    leaf("Ask").port("answer", "{k}"),
                    set().port("output_key", "{k}"),
                ]),
                none.clone(),
            ),
            (
                sequence([read("x"), leaf("Ask").port("answer", "{x}")]),
                none.clone(),
            ),
            (leaf("Say").port("text", "{=}"), never("text")),
            (read("@x"), none.clone()),
            // Written by the program, and set by default.
            (read("charge"), none.clone()),
            (leaf("Say"), none.clone()),
            (leaf("Script").port("code", "y := x"), never("x")),
            (leaf("Script").port("code", "y := NIGHT"), none.clone()),
            (leaf("Say").port("text", "a").skip_if("x > 1"), never("x")),
        ];
        for (tree, expected) in cases {
            assert_eq!(messages(tree.clone()), expected, "{tree:?}");
        }
    }

    #[test]
    fn keys_are_followed_into_subtrees() {
        let inner = |outer: NodeBuilder| messages_of([("Main", outer), ("Inner", read("x"))]);
        let never = |key: &str| [format!("NeverWritten: the key `{key}` is never written")];
        let sub = || subtree("Inner");
        assert_eq!(inner(sub()), never("x"));
        assert_eq!(inner(sub().port("x", "five")), [""; 0]);
        assert_eq!(inner(sub().port("x", "{y}")), never("y"));
        assert_eq!(inner(sub().port("x", "{charge}")), [""; 0]);
        // A subtree does not see the keys of its parent.
        assert_eq!(
            messages_of([("Main", sub()), ("Inner", read("charge"))]),
            never("charge")
        );
        assert_eq!(
            messages_of([
                ("Main", sub().port("_autoremap", true)),
                ("Inner", read("charge"))
            ]),
            [""; 0]
        );
    }
}
