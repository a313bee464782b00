//! ROS names.

use super::{arguments, rcl};
use crate::nav::EndpointKind;

/// Whether `name` is a valid name of a topic, service or action: parts of letters, digits and underscores that do not
/// begin with a digit, separated by single slashes; a leading `/` or `~/` is allowed. These are rcl's rules, without
/// its substitutions in braces.
pub fn is_name(name: &str) -> bool {
    let rest = name
        .strip_prefix("~/")
        .or_else(|| name.strip_prefix('/'))
        .unwrap_or(name);
    !rest.is_empty()
        && !rest.contains("__")
        && rest.split('/').all(|part| {
            part.bytes().next().is_some_and(|first| !first.is_ascii_digit())
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
}

/// The full name, before remapping, of `name` in a node with this namespace and name.
pub(super) fn expand(name: &str, namespace: &str, node: &str) -> String {
    let namespace = namespace.trim_end_matches('/');
    match (name.strip_prefix("~/"), name.starts_with('/')) {
        (Some(rest), _) => format!("{namespace}/{node}/{rest}"),
        (None, true) => name.to_owned(),
        (None, false) => format!("{namespace}/{name}"),
    }
}

/// The kind of a name; a remapping rule may apply to one kind only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Topic,
    Service,
}

/// The names of a node and of its topics and services. They may be resolved on any thread, without rcl's node.
#[derive(Clone, Debug)]
pub(super) struct Names {
    /// The node's name, after remapping.
    pub(super) node: String,
    /// Its namespace, after remapping: `/` or `/robot1`.
    pub(super) namespace: String,
    /// The arguments of the process, with the remapping rules.
    pub(super) arguments: Vec<String>,
}

impl Names {
    /// The names of a node of this process.
    pub(super) fn of(node: &rcl::Node) -> Self {
        Self {
            node: node.name(),
            namespace: node.namespace(),
            arguments: std::env::args().collect(),
        }
    }

    /// The full name, before remapping, of the node's name `name`, with rcl's substitutions in braces.
    pub(super) fn expand(&self, name: &str) -> String {
        let namespace = self.namespace.trim_end_matches('/');
        let name = name
            .replace("{node}", &self.node)
            .replace("{ns}", namespace)
            .replace("{namespace}", namespace);
        expand(&name, namespace, &self.node)
    }

    /// The full name, after remapping, of the node's topic `name`.
    pub(super) fn topic(&self, name: &str) -> String {
        self.resolve(Kind::Topic, name)
    }

    /// The full name, after remapping, of the node's service `name`.
    pub(super) fn service(&self, name: &str) -> String {
        self.resolve(Kind::Service, name)
    }

    /// The full name, after remapping, of the node's action `name`. Since `rcl_action` 9.2.8, a rule may name an action.
    /// Further rules may name its topics and services.
    pub(super) fn action(&self, name: &str) -> String {
        self.resolve(Kind::Topic, name)
    }

    /// The full name, after remapping, of a service of the node's action `action`, for example `cancel_goal`.
    pub(super) fn action_service(&self, action: &str, service: &str) -> String {
        self.service(&format!("{}/_action/{service}", self.action(action)))
    }

    /// The full name, after remapping, by which a server is told apart from others of its kind. Of the services of an
    /// action, the one that takes goals decides.
    pub(super) fn server(&self, kind: EndpointKind, name: &str) -> String {
        match kind {
            EndpointKind::Action => self.action_service(name, "send_goal"),
            EndpointKind::Service => self.service(name),
        }
    }

    /// The DDS topic of this service's answers, with the naming of all DDS middlewares of ROS 2.
    pub(super) fn reply_topic(&self, service: &str) -> String {
        format!("rr{}Reply", self.service(service))
    }

    fn resolve(&self, kind: Kind, name: &str) -> String {
        let full = self.expand(name);
        let mut rules = arguments::name_rules(&self.arguments, kind, &self.node);
        match rules.find(|(from, _)| self.expand(from) == full) {
            Some((_, to)) => self.expand(to),
            None => full,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{EndpointKind, Names, expand, is_name};

    fn of(arguments: &str) -> Names {
        Names {
            node: "nav".to_owned(),
            namespace: "/robot1".to_owned(),
            arguments: arguments.split_ascii_whitespace().map(str::to_owned).collect(),
        }
    }

    #[test]
    fn names_follow_the_first_remap_rule_that_fits() {
        let named = |arguments, topic| of(arguments).topic(topic);
        assert_eq!(named("navtree", "/tf"), "/tf");
        let two = "navtree --ros-args -r /tf_static:=tf_static -r /tf:=tf -r /tf:=/x";
        assert_eq!(named(two, "/tf"), "/robot1/tf");
        assert_eq!(
            named("navtree --ros-args -r other:/tf:=/x -r __ns:=/a", "/tf"),
            "/tf"
        );
        assert_eq!(
            named("navtree --ros-args -r nav:/tf:=~/tf", "/tf"),
            "/robot1/nav/tf"
        );
        assert_eq!(named("navtree --ros-args -r tf:=/x", "tf"), "/x");
        assert_eq!(
            named("navtree --ros-args -r {ns}/tf:=/{node}/tf", "tf"),
            "/nav/tf"
        );
        assert_eq!(named("navtree --ros-args -r ~/tf:=/x", "/robot1/nav/tf"), "/x");
        assert_eq!(
            named("navtree -r /tf:=/x", "/tf"),
            "/tf",
            "not an argument of ROS"
        );
    }

    #[test]
    fn a_rule_with_a_scheme_is_for_topics_or_for_services_only() {
        let both = |arguments| (of(arguments).topic("a"), of(arguments).service("a"));
        let told = |topic: &str, service: &str| (topic.to_owned(), service.to_owned());
        assert_eq!(both("n --ros-args -r a:=b"), told("/robot1/b", "/robot1/b"));
        assert_eq!(
            both("n --ros-args -r rostopic://a:=b"),
            told("/robot1/b", "/robot1/a")
        );
        assert_eq!(
            both("n --ros-args --remap rosservice://a:=b"),
            told("/robot1/a", "/robot1/b")
        );
        assert_eq!(
            both("n --ros-args -r nav:rostopic:///robot1/a:=/b -r rosservice://~/a:=/c"),
            told("/b", "/robot1/a")
        );
        assert_eq!(
            both("n --ros-args -r other:rostopic://a:=b -r nav:rosservice://a:=/c"),
            told("/robot1/a", "/c")
        );
    }

    #[test]
    fn the_answers_of_a_remapped_service_are_where_its_rule_says() {
        let replies = |arguments| of(arguments).reply_topic("spin/_action/send_goal");
        assert_eq!(replies("navtree"), "rr/robot1/spin/_action/send_goalReply");
        assert_eq!(
            replies("navtree --ros-args -r spin/_action/send_goal:=/turn/_action/send_goal"),
            "rr/turn/_action/send_goalReply"
        );
        assert_eq!(
            replies("navtree --ros-args -r nav:rosservice://spin/_action/send_goal:=/x"),
            "rr/xReply"
        );
    }

    #[test]
    fn g5_names_that_rules_map_to_one_server_are_one_server() {
        let rules = "navtree --ros-args -r spin/_action/send_goal:=/turn/_action/send_goal -r clear:=/wipe -r drive:=/go";
        let is_one =
            |kind, one: &str, other: &str| of(rules).server(kind, one) == of(rules).server(kind, other);
        assert!(is_one(EndpointKind::Action, "spin", "/turn"));
        assert!(is_one(EndpointKind::Action, "spin", "/robot1/spin"));
        assert!(!is_one(EndpointKind::Action, "turn", "/turn"));
        assert!(is_one(EndpointKind::Service, "clear", "/wipe"));
        assert!(!is_one(EndpointKind::Service, "wipe", "/wipe"));
        assert!(is_one(EndpointKind::Action, "drive", "/go"));
        assert!(!is_one(EndpointKind::Action, "go", "/go"));
    }

    #[test]
    fn g11_rules_for_an_action_and_for_its_service_apply_in_this_order() {
        let cancel = |arguments| of(arguments).action_service("spin", "cancel_goal");
        assert_eq!(cancel("navtree"), "/robot1/spin/_action/cancel_goal");
        assert_eq!(
            cancel("navtree --ros-args -r spin:=/turn"),
            "/turn/_action/cancel_goal"
        );
        assert_eq!(
            cancel("navtree --ros-args -r rosservice://spin:=/turn"),
            "/robot1/spin/_action/cancel_goal"
        );
        assert_eq!(
            cancel("navtree --ros-args -r spin:=/turn -r /turn/_action/cancel_goal:=/stop"),
            "/stop"
        );
    }

    #[test]
    fn names_in_full() {
        for (name, full) in [("a/b", "/robot1/a/b"), ("/a", "/a"), ("~/a", "/robot1/nav/a")] {
            assert_eq!(expand(name, "/robot1", "nav"), full);
        }
        assert_eq!(expand("a", "/", "nav"), "/a");
        assert_eq!(expand("~/a", "/", "nav"), "/nav/a");
    }

    #[test]
    fn names() {
        for good in [
            "a",
            "/a",
            "~/a",
            "spin",
            "/robot1/navigate_to_pose",
            "a/_action/b",
            "B2/c_3",
        ] {
            assert!(is_name(good), "{good}");
        }
        for bad in [
            "", "/", "~", "~/", "a/", "/a//b", "2a", "a/2b", "a b", "a-b", "ä", "a__b", "{a}",
        ] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
