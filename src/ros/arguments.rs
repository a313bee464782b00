//! The remapping rules in the process's arguments.

use std::ffi::OsString;

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

/// What `-r __node:=…` and `-r __ns:=…` rename.
pub(super) const NODE: [&str; 2] = ["__node", "__name"];
pub(super) const NAMESPACE: [&str; 1] = ["__ns"];

/// The name, or the namespace, that the first rule for it gives to a node with this default name.
pub(super) fn remapped<'a>(arguments: &'a [String], what: &[&str], node: &str) -> Option<&'a str> {
    rules(arguments)
        .into_iter()
        .filter_map(|index| Rule::parse(arguments.get(index)?))
        .find(|rule| what.contains(&rule.from) && rule.node.is_none_or(|of| of == node))
        .map(|rule| rule.to)
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn the_first_rule_names_the_node_and_its_namespace() {
        let arguments: Vec<String> =
            "navtree -r __ns:=/x --ros-args -r other:__ns:=/y -r __ns:=/a -r __ns:=/b -r nav:__node:=c"
                .split(' ')
                .map(str::to_owned)
                .collect();
        assert_eq!(remapped(&arguments, &NAMESPACE, "nav"), Some("/a"));
        assert_eq!(remapped(&arguments, &NAMESPACE, "other"), Some("/y"));
        assert_eq!(remapped(&arguments, &NODE, "nav"), Some("c"));
        assert_eq!(remapped(&arguments, &NODE, "other"), None);
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
