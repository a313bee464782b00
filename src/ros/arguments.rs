//! The rules for nodes in the process's arguments, as far as they affect the number of nodes.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::names::Kind;

/// One rule of `-r` or `--remap`: `node:from:=to`, with `rostopic://` or `rosservice://` before `from` if it applies to
/// one kind of names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Rule<'a> {
    /// The node of the rule. `None`: all nodes.
    node: Option<&'a str>,
    /// The kind of names. `None`: topics and services.
    kind: Option<Kind>,
    from: &'a str,
    to: &'a str,
}

impl<'a> Rule<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (left, to) = text.split_once(":=")?;
        // `rostopic://` and `rosservice://` begin a name, not a rule for one node.
        let (node, name) = match left.split_once(':') {
            Some((node, name)) if !name.starts_with("//") => (Some(node), name),
            _ => (None, left),
        };
        let (kind, from) = if let Some(topic) = name.strip_prefix("rostopic://") {
            (Some(Kind::Topic), topic)
        } else if let Some(service) = name.strip_prefix("rosservice://") {
            (Some(Kind::Service), service)
        } else {
            (None, name)
        };
        Some(Self { node, kind, from, to })
    }

    fn names_a_node(self) -> bool {
        matches!(self.from, "__node" | "__name")
    }

    /// Whether one of its names differs between nodes: `~/x`, or a name with `{node}`.
    fn depends_on_the_node(self) -> bool {
        [self.from, self.to]
            .iter()
            .any(|name| name.starts_with('~') || name.contains('{'))
    }
}

/// The rules for the names of topics or of services of one node, in their order: each pair is (from, to).
pub(super) fn name_rules<'a>(
    arguments: &'a [String],
    kind: Kind,
    node: &'a str,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    rules(arguments)
        .into_iter()
        .filter_map(|index| Rule::parse(&arguments[index]))
        .filter(move |rule| rule.node.is_none_or(|of| of == node))
        .filter(move |rule| rule.kind.is_none_or(|of| of == kind))
        .filter(|rule| !rule.from.starts_with("__"))
        .map(|rule| (rule.from, rule.to))
}

/// The indices of all rules in the arguments: those after `-r` or `--remap`, between `--ros-args` and `--`.
fn rules(arguments: &[String]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut inside = false;
    let mut next_is_rule = false;
    for (index, argument) in arguments.iter().enumerate() {
        match argument.as_str() {
            _ if std::mem::take(&mut next_is_rule) => found.push(index),
            "--ros-args" => inside = true,
            "--" => inside = false,
            "-r" | "--remap" if inside => next_is_rule = true,
            _ => {}
        }
    }
    found
}

/// Whether a second node of the process would have its given name and see every topic like the node `name`. A rule for
/// all nodes (`__node:=x`) would give both the same name. A rule for the topics of one node (`x:/tf:=/y`), or with
/// private names (`~/x:=/y`, `/x:=~/y`), would apply to that node only.
pub(super) fn allow_a_second_node(arguments: &[String]) -> bool {
    rules(arguments)
        .into_iter()
        .filter_map(|index| Rule::parse(&arguments[index]))
        .all(|rule| rule.names_a_node() == rule.node.is_some() && !rule.depends_on_the_node())
}

/// The arguments, with every rule that names all nodes (`__node:=x`, written by launch files for `name=`) limited to
/// the node `name`. `None` if no change is needed.
pub fn name_one_node(arguments: &[String], name: &str) -> Option<Vec<String>> {
    let mut changed = arguments.to_vec();
    for index in rules(arguments) {
        let rule = Rule::parse(&arguments[index]);
        if rule.is_some_and(|rule| rule.node.is_none() && rule.names_a_node()) {
            changed[index] = format!("{name}:{}", arguments[index]);
        }
    }
    (changed != arguments).then_some(changed)
}

/// The arguments without those of `--ros-args`, except the enclave: for a process with a node of another name and
/// without parameters.
pub(super) fn without_nodes(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut kept = Vec::new();
    let mut enclave = None;
    let mut inside = false;
    let mut next_is_enclave = false;
    for argument in arguments {
        match argument.to_str() {
            _ if std::mem::take(&mut next_is_enclave) => enclave = Some(argument),
            Some("--ros-args") => inside = true,
            Some("--") if inside => inside = false,
            Some("-e" | "--enclave") if inside => next_is_enclave = true,
            _ if inside => {}
            _ => kept.push(argument),
        }
    }
    if let Some(enclave) = enclave {
        kept.extend(["--ros-args".into(), "--enclave".into(), enclave]);
    }
    kept
}

/// Restarts the program under the same process id if its arguments name all nodes (`__node:=x`), with arguments that
/// name only `name`; then it does not return. rcl applies such a rule to every node of a process, and with r2r a node
/// cannot have its own arguments. Call it first, before there is a thread or an open file.
pub fn keep_for(name: &str) {
    let own: Option<Vec<String>> = std::env::args_os()
        .map(|argument| argument.into_string().ok())
        .collect();
    let Some(changed) = own.and_then(|own| name_one_node(&own, name)) else {
        return;
    };
    let Some((program, arguments)) = changed.split_first() else {
        return;
    };
    let error = match std::env::current_exe() {
        Ok(file) => Command::new(file).arg0(program).args(arguments).exec(),
        Err(error) => error,
    };
    tracing::debug!("process not restarted: {error}; one node has the subscriptions and the services");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_ascii_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn rules_of_one_node_are_told_from_names_with_a_scheme() {
        let parsed = |text| Rule::parse(text).map(|rule| (rule.node, rule.from));
        assert_eq!(parsed("/tf:=/robot/tf"), Some((None, "/tf")));
        assert_eq!(
            parsed("navigator:/tf:=/robot/tf"),
            Some((Some("navigator"), "/tf"))
        );
        assert_eq!(
            parsed("navigator:__node:=other"),
            Some((Some("navigator"), "__node"))
        );
        assert_eq!(parsed("rostopic:///tf:=/x"), Some((None, "/tf")));
        assert_eq!(
            parsed("navigator:rosservice://~/x:=/y"),
            Some((Some("navigator"), "~/x"))
        );
        assert_eq!(parsed("nonsense"), None);
    }

    #[test]
    fn a_second_node_needs_a_name_and_topics_of_its_own() {
        let allowed = |text| allow_a_second_node(&words(text));
        assert!(allowed("navtree run"));
        assert!(allowed(
            "navtree --ros-args -r __ns:=/robot -r /tf:=tf --params-file x.yaml"
        ));
        assert!(allowed("navtree --ros-args -r bt_navigator:__node:=navigator"));
        assert!(allowed("navtree -r __node:=x"), "not an argument of ROS");
        assert!(!allowed("navtree --ros-args -r __node:=navigator"));
        assert!(!allowed("navtree --ros-args --remap bt_navigator:/tf:=/robot/tf"));
        assert!(!allowed("navtree --ros-args -r ~/goal:=/goal"));
        assert!(!allowed("navtree --ros-args -r rostopic://~/goal:=/goal"));
        assert!(!allowed("navtree --ros-args -r /odom:=~/odom"));
        assert!(!allowed("navtree --ros-args -r /odom:=/{node}/odom"));
    }

    #[test]
    fn a_name_rule_for_all_nodes_becomes_a_rule_for_one_node() {
        let named = |text| name_one_node(&words(text), "bt_navigator").map(|words| words.join(" "));
        assert_eq!(
            named("navtree --ros-args -r __ns:=/a --remap __node:=navigator -- -r __node:=x").as_deref(),
            Some("navtree --ros-args -r __ns:=/a --remap bt_navigator:__node:=navigator -- -r __node:=x")
        );
        assert_eq!(
            named("navtree --ros-args -r bt_navigator:__node:=navigator"),
            None
        );
        assert_eq!(named("navtree --ros-args -r /a:=/b"), None);
    }

    #[test]
    fn only_the_enclave_of_the_arguments_of_ros_is_kept() {
        let kept = |text: &str| {
            let kept = without_nodes(text.split_ascii_whitespace().map(OsString::from));
            kept.join(" ".as_ref()).into_string().unwrap()
        };
        assert_eq!(kept("navtree run"), "navtree run");
        assert_eq!(
            kept("navtree --ros-args -r __ns:=/a -p x:=1 -- run --ros-args --params-file -- -e y"),
            "navtree run -e y"
        );
        assert_eq!(
            kept("navtree --ros-args -r a:=b -e /robot --log-level debug"),
            "navtree --ros-args --enclave /robot"
        );
    }
}
