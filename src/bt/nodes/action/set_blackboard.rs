//! `SetBlackboard`: writes a value to an entry.

use crate::bt::script::Access;
use crate::bt::{
    Behavior, Context, Dialect, Family, InOut, Input, Node, NodeEffects, NodeKind, NodeStatus, PortValue,
    Ports, SlotId, Text,
};
use crate::bt::{Thrown, Tick, Value};

/// Writes an entry.
#[derive(Debug)]
pub struct SetBlackboard {
    /// `None` for the text `=`, which is not a pointer here.
    value: Option<Input<Value>>,
    output_key: InOut<Value>,
    /// The entry, if the file contains its name.
    fixed: Option<SlotId>,
    dialect: Dialect,
}

impl Node for SetBlackboard {
    const ID: &'static str = "SetBlackboard";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "Writes a value to the entry that output_key names. output_key is the name without \
        braces; with braces, it is an entry that holds the name. A text is converted to the type of the entry. \
        If value points to an entry without value, the result is FAILURE; version 3 copies the missing value and \
        returns SUCCESS. The value = is the text \"=\".";

    fn bind(ports: &mut Ports<'_>) -> Self {
        let is_equals = ports.raw("value").is_some_and(|text| text == "=");
        let value = (!is_equals).then(|| {
            ports
                .input::<Value>("value")
                .required()
                .doc("Value, or the entry to copy.")
                .bind()
        });
        let output_key = ports
            .inout::<Value>("output_key")
            .required()
            .doc("Name of the entry to write.")
            .bind();
        let fixed = match output_key.input.literal() {
            Some(Value::Text(key)) => ports.key(&key.clone(), Access::Create),
            _ => {
                if output_key.output.slot().is_some() {
                    ports.writes_any();
                }
                None
            }
        };
        if let Some(slot) = fixed {
            ports.stores("value", slot);
        }
        Self {
            value,
            output_key,
            fixed,
            dialect: ports.dialect(),
        }
    }
}

impl Behavior for SetBlackboard {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let destination = self.destination(cx)?;
        let (value, info) = match (&self.value, self.value.as_ref().and_then(Input::slot)) {
            (_, Some(slot)) => {
                let source = cx.blackboard().entry(slot);
                if !source.exists() {
                    return Err(cx.throw("port `value`: its entry was removed from the blackboard"));
                }
                let Some(value) = source.value() else {
                    return Ok(self.copy_nothing(destination, cx));
                };
                (value.clone(), source.info().unwrap_or(Value::TYPE))
            }
            (Some(value), None) => (value.require(cx)?, Value::TYPE),
            (None, None) => (Value::text("="), Value::TYPE),
        };
        let entry = cx.blackboard().entry(destination);
        let (value, info) = match (&value, entry.info()) {
            _ if !entry.exists() => (value, info),
            (Value::Text(text), Some(declared)) if declared.family != Family::Text => {
                match (declared.parse)(text, cx.enums()) {
                    Ok(parsed) => (parsed, declared),
                    Err(reason) => return Err(cx.throw(format!("port `value`: {reason}"))),
                }
            }
            // BehaviorTree.CPP 4.10 fails if the types differ. Here the reader converts the value.
            _ => (value, Value::TYPE),
        };
        match cx.write(destination, value, info) {
            Ok(()) => Ok(NodeStatus::Success),
            Err(clash) => Err(cx.throw(format!("port `value`: {clash}"))),
        }
    }

    fn node_effects(&self, _kind: NodeKind, _children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::synchronous()
    }
}

impl SetBlackboard {
    /// The observed behavior of BehaviorTree.CPP: 3.8.7 does not check the value, and 4.10 creates the entry before it
    /// checks.
    fn copy_nothing(&self, destination: SlotId, cx: &mut Context<'_>) -> NodeStatus {
        let exists = cx.blackboard().entry(destination).exists();
        if self.dialect == Dialect::V3 || !exists {
            cx.empty(destination);
        }
        match self.dialect {
            Dialect::V4 => NodeStatus::Failure,
            Dialect::V3 => NodeStatus::Success,
        }
    }

    fn destination(&self, cx: &mut Context<'_>) -> Result<SlotId, Thrown> {
        if let Some(slot) = self.fixed {
            return Ok(slot);
        }
        let key = self.output_key.input.require(cx)?;
        match Text::from_value(&key) {
            Ok(key) => cx.resolve_computed(&key),
            Err(reason) => Err(cx.throw(format!("port `output_key`: {reason}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{NodeBuilder, leaf, sequence, subtree};
    use crate::bt::testing::{Running, Scene};

    fn set(value: &str, key: &str) -> NodeBuilder {
        leaf("SetBlackboard").port("value", value).port("output_key", key)
    }

    #[test]
    fn a_literal_is_a_text_until_the_entry_has_a_type() {
        Scene::new(set("42", "x")).check(
            "=
             S x=42",
        );
        let scene = Scene::new(set("42", "x")).set("x", 7_i32);
        let tree = {
            let mut tree = scene.compile().unwrap();
            tree.tick(crate::bt::Time::ZERO).unwrap();
            tree
        };
        assert_eq!(tree.get("x"), Some(&crate::bt::Value::Int(42)));
        let mut run = Running::new(
            Scene::new(set("many", "x")).set("x", 7_i32).compile().unwrap(),
            false,
        );
        run.check("=\n E x=7");
        assert!(
            run.error.contains("`many` is not a whole number"),
            "{}",
            run.error
        );
    }

    #[test]
    fn an_equals_sign_is_a_text() {
        Scene::new(set("=", "x")).set("value", 3_i32).check(
            "=
             S value=3 x==",
        );
    }

    #[test]
    fn an_entry_is_copied_with_its_type() {
        let mut tree = Scene::new(set("{from}", "to"))
            .set("from", 0.5)
            .compile()
            .unwrap();
        tree.tick(crate::bt::Time::ZERO).unwrap();
        assert_eq!(tree.get("to"), Some(&crate::bt::Value::Real(0.5)));
        assert!(tree.set::<crate::bt::Text>("to", "no number".into()).is_err());
        // Without a value there is nothing to copy.
        Scene::new(set("{from}", "to")).check(
            "=
             F to=none",
        );
    }

    #[test]
    fn a_copy_of_a_missing_entry_creates_the_destination() {
        let assigns = leaf("Script").port("code", "to = 1");
        let copies = leaf("ForceSuccess").child(set("{from}", "to"));
        Scene::new(sequence([copies, assigns])).check(
            "=
             S to=1",
        );
    }

    #[test]
    fn version_3_copies_an_entry_without_value_too() {
        Scene::new(set("{from}", "to")).v3().set("to", 1_i32).check(
            "=
             S to=none",
        );
    }

    #[test]
    fn the_key_may_be_on_the_blackboard() {
        Scene::new(set("1", "{which}")).text("which", "x").check(
            "=
             S x=1 which=x",
        );
    }

    #[test]
    fn a_subtree_writes_through_its_ports() {
        let tree = sequence([subtree("Inner").port("x", "{outer}")]);
        Scene::new(tree).with("Inner", set("1", "x")).check(
            "=
             S outer=1 x=none",
        );
        let tree = sequence([subtree("Inner")]);
        Scene::new(tree).with("Inner", set("1", "@x")).check(
            "=
             S x=1",
        );
    }

    #[test]
    fn the_number_of_created_keys_is_limited() {
        let code = leaf("Script").port("code", "n += 1; k = 'key' .. n");
        let scene = Scene::new(sequence([code, set("1", "{k}")]))
            .set("n", 0_i32)
            .set("k", crate::bt::Text::from("key"));
        let mut tree = scene.compile().unwrap();
        let error = (0..100_002)
            .find_map(|_| tree.tick(crate::bt::Time::ZERO).err())
            .unwrap();
        assert!(error.to_string().contains("the maximum is 100000"), "{error}");
    }
}
