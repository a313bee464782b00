//! The common code of the selectors: a plugin name from a topic, or a default.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::World;
use super::endpoint::world;
use super::topic::{Subscription, TopicKind};
use crate::bt::{
    Behavior, Context, Input, Node, NodeEffects, NodeKind, NodeStatus, Output, Ports, Text, Tick,
};

/// The specific part of a selector.
pub trait SelectorNode: Send + Sync + 'static {
    /// The ID in tree files.
    const ID: &'static str;
    /// The selected thing, for texts.
    const WHAT: &'static str;
    /// The port of the default.
    const DEFAULT_PORT: &'static str;
    /// The port of the selection.
    const OUTPUT_PORT: &'static str;
    /// The default topic, overridden by the port `topic_name`.
    const TOPIC: &'static str;
    /// Documentation.
    const DOC: &'static str;
}

/// The behavior of a selector.
pub struct Selector<N> {
    default: Input<Text>,
    topic: Input<Text>,
    selected: Output<Text>,
    node: PhantomData<fn(N)>,
}

impl<N> fmt::Debug for Selector<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selector").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct SelectorState {
    subscription: Subscription,
    /// Number of messages read.
    count: u64,
    /// The last selection. A default counts as selected after its first use.
    selected: Option<Text>,
}

impl<N: SelectorNode> Node for Selector<N> {
    const ID: &'static str = N::ID;
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = N::DOC;

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            default: ports
                .input(N::DEFAULT_PORT)
                .doc(format!("Default {}, used until one is published.", N::WHAT))
                .bind(),
            topic: ports
                .input("topic_name")
                .default(N::TOPIC)
                .doc(format!("Topic of the {}.", N::WHAT))
                .bind(),
            selected: ports
                .output(N::OUTPUT_PORT)
                .doc(format!("Selected {}.", N::WHAT))
                .bind(),
            node: PhantomData,
        }
    }
}

impl<N: SelectorNode> Behavior for Selector<N> {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        if self.topic.slot().is_some() && cx.is_fresh() {
            self.attach(cx);
        }
        let state = cx.state::<SelectorState>();
        let (topic, seen) = (state.subscription.topic(), state.count);
        let mut held = state.selected.as_ref().map(Arc::as_ptr);
        if let Some(topic) = topic {
            let world: &World = world!(cx);
            if let Some(sample) = world.sample(topic)
                && sample.count != seen
            {
                let count = sample.count;
                let text = sample
                    .payload
                    .as_ref()
                    .and_then(|payload| payload.get::<String>())
                    .map(|text| Text::from(&**text));
                let state = cx.state::<SelectorState>();
                state.count = count;
                if text.is_some() {
                    // As in Nav2, an empty text removes the selection, and the default applies again.
                    state.selected = text.filter(|text| !text.is_empty());
                    held = None;
                }
            }
        }
        // In nearly every tick the text is the same as in the last one.
        if held.is_some_and(|text| self.selected.set_same(cx, text)) {
            return Ok(NodeStatus::Success);
        }
        let selected = match cx.state::<SelectorState>().selected.clone() {
            Some(selected) => selected,
            None => match self.default.get(cx) {
                Ok(default) if !default.is_empty() => {
                    cx.state::<SelectorState>().selected = Some(default.clone());
                    default
                }
                Ok(_) | Err(_) => return Ok(NodeStatus::Failure),
            },
        };
        self.selected.set(cx, selected)?;
        Ok(NodeStatus::Success)
    }

    fn attach(&self, cx: &mut Context<'_>) {
        let mut state = cx.take_state::<SelectorState>();
        let before = state.subscription.topic();
        state
            .subscription
            .open_port(cx, TopicKind::SELECTION, &self.topic);
        if state.subscription.topic() != before {
            // What was selected on another topic does not count.
            (state.count, state.selected) = (0, None);
        }
        cx.put_state(state);
    }

    fn node_effects(&self, _kind: NodeKind, _children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::synchronous()
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::bt::Text;
    use crate::nav::testing::Bench;

    #[test]
    fn test_selector_nodes_take_the_default_then_what_is_published() {
        for (id, key) in [
            ("ControllerSelector", "controller"),
            ("PlannerSelector", "planner"),
            ("SmootherSelector", "smoother"),
            ("GoalCheckerSelector", "goal_checker"),
            ("ProgressCheckerSelector", "progress_checker"),
            ("PathHandlerSelector", "path_handler"),
        ] {
            for (attribute, topic) in [
                (String::new(), format!("{key}_selector")),
                ("topic_name=\"custom\"".to_owned(), "custom".to_owned()),
            ] {
                let mut bench = Bench::new(&format!(
                    "<{id} selected_{key}=\"{{selected}}\" default_{key}=\"Default\" {attribute}/>"
                ));
                for (data, selected) in [(None, "Default"), (Some("Other"), "Other"), (None, "Other")] {
                    if let Some(data) = data {
                        bench.publish(&topic, data.to_owned());
                    }
                    assert_eq!(bench.tick(), Success);
                    assert_eq!(
                        bench.get::<Text>("selected").as_deref(),
                        Some(selected),
                        "{id} {topic}"
                    );
                }
                let spec = &bench.topics()[0];
                assert!(spec.transient_local && spec.reliable && &*spec.type_name == "std_msgs/msg/String");
            }
        }
    }

    #[test]
    fn an_empty_text_is_not_a_selection() {
        for (default, status) in [("Default", Success), ("", Failure)] {
            let mut bench = Bench::new(&format!(
                "<PlannerSelector selected_planner=\"{{selected}}\" default_planner=\"{default}\"/>"
            ));
            bench.publish("planner_selector", "Other".to_owned());
            assert_eq!(bench.tick(), Success);
            bench.publish("planner_selector", String::new());
            assert_eq!(bench.tick(), status, "{default:?}");
        }
    }

    #[test]
    fn another_topic_counts_from_its_first_message() {
        // The second node has received as many messages of its topic as the first node of the topic that it leaves.
        let mut bench = Bench::new(
            "<Sequence><PlannerSelector selected_planner=\"{selected}\" topic_name=\"{topic}\"/>
             <ForceSuccess><PlannerSelector selected_planner=\"{other}\" topic_name=\"b\"/></ForceSuccess></Sequence>",
        );
        for (topic, planner) in [("a", "First"), ("b", "Second")] {
            bench.publish(topic, planner.to_owned());
            bench.set("topic", Text::from(topic));
            // It subscribes in its first tick.
            bench.tick();
            assert_eq!(bench.tick(), Success);
            assert_eq!(bench.get::<Text>("selected").as_deref(), Some(planner));
        }
    }

    #[test]
    fn a_selection_on_another_topic_does_not_count() {
        let mut bench = Bench::new(
            "<PlannerSelector selected_planner=\"{selected}\" topic_name=\"{topic}\" default_planner=\"Default\"/>",
        );
        bench.set("topic", Text::from("a"));
        bench.tick();
        bench.publish("a", "First".to_owned());
        for (topic, planner) in [("a", "First"), ("silent", "Default"), ("a", "First")] {
            bench.set("topic", Text::from(topic));
            assert_eq!(bench.tick(), Success);
            assert_eq!(bench.get::<Text>("selected").as_deref(), Some(planner));
        }
    }

    #[test]
    fn without_default_and_message_it_fails() {
        let mut bench = Bench::new("<PlannerSelector selected_planner=\"{selected}\"/>");
        assert_eq!(bench.tick(), Failure);
    }
}
