//! The robots of a process: one node for each, in a namespace of its own.

use super::parameters::{ParameterValue, overrides};
use super::{RosError, arguments, is_name};

/// The parameter that names the robots.
const PARAMETER: &str = "robots";

/// The nodes of the robots of this process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Robots {
    /// The name of each node, after remapping.
    node: String,
    /// The names of the robots, as chosen. Empty: one robot, whose namespace is that of the command line.
    names: Vec<String>,
    namespaces: Vec<String>,
}

impl Robots {
    /// Reads the names of the robots: `chosen`, or else the parameter `robots` that the arguments of the process set for
    /// a node with the default name `node`. A relative name is below the namespace of the process.
    ///
    /// # Errors
    /// [`RosError::Context`]: the arguments cannot be read, or a name is not valid or is there twice.
    pub fn of_process(node: &str, chosen: &[String]) -> Result<Self, RosError> {
        let arguments: Vec<String> = std::env::args_os()
            .map(|argument| argument.to_string_lossy().into_owned())
            .collect();
        let name = arguments::remapped(&arguments, &arguments::NODE, node).unwrap_or(node);
        let base = arguments::remapped(&arguments, &arguments::NAMESPACE, node).unwrap_or("/");
        let names = if chosen.is_empty() {
            let mut given = overrides(&full_name(base, name))?.into_iter();
            // The last value counts.
            let value = given.rfind(|(of, _)| of == PARAMETER);
            let value = value.map_or(ParameterValue::NotSet, |(_, value)| value);
            value.as_strings().unwrap_or_default().to_vec()
        } else {
            chosen.to_vec()
        };
        Self::new(name, base, names)
    }

    fn new(node: &str, base: &str, names: Vec<String>) -> Result<Self, RosError> {
        let mut namespaces: Vec<String> = Vec::new();
        for name in &names {
            let wrong = |reason: &str| RosError::Context(format!("robots: `{name}` {reason}"));
            if !is_name(name) || name.starts_with('~') {
                return Err(wrong("is not a valid namespace"));
            }
            let namespace = if name.starts_with('/') {
                name.clone()
            } else {
                full_name(base, name)
            };
            if namespaces.contains(&namespace) {
                return Err(wrong("is there twice"));
            }
            namespaces.push(namespace);
        }
        Ok(Self {
            node: node.to_owned(),
            names,
            namespaces,
        })
    }

    /// The number of robots.
    pub fn count(&self) -> usize {
        self.names.len().max(1)
    }

    /// The names of the robots, as chosen; empty for one robot without a name.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The namespace of a robot. `None`: that of the command line.
    pub fn namespace(&self, index: usize) -> Option<&str> {
        self.namespaces.get(index).map(String::as_str)
    }

    /// The full name of the node of a robot with a name.
    pub fn full_name(&self, index: usize) -> Option<String> {
        Some(full_name(self.namespace(index)?, &self.node))
    }
}

fn full_name(namespace: &str, name: &str) -> String {
    format!("{}/{name}", namespace.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespaces(base: &str, names: &[&str]) -> Result<Vec<String>, String> {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let robots = Robots::new("bt_navigator", base, names).map_err(|error| error.to_string())?;
        Ok(robots.namespaces)
    }

    #[test]
    fn relative_names_are_below_the_namespace_of_the_process() {
        assert_eq!(namespaces("/", &["r1", "/a/b"]).unwrap(), ["/r1", "/a/b"]);
        assert_eq!(
            namespaces("/fleet", &["r1", "a/b", "/c"]).unwrap(),
            ["/fleet/r1", "/fleet/a/b", "/c"]
        );
        assert!(namespaces("/", &[]).unwrap().is_empty());
    }

    #[test]
    fn a_wrong_name_is_refused() {
        for names in [&["1"][..], &[""], &["~/a"], &["a b"], &["r1", "/r1"]] {
            assert!(namespaces("/", names).is_err(), "{names:?}");
        }
        assert!(namespaces("/fleet", &["r1", "/r1"]).is_ok());
    }

    #[test]
    fn a_robot_without_a_name_has_the_names_of_the_command_line() {
        let robots = Robots::new("bt_navigator", "/a", Vec::new()).unwrap();
        assert_eq!((robots.count(), robots.full_name(0)), (1, None));
        let robots = Robots::new("nav", "/", vec!["r1".to_owned(), "r2".to_owned()]).unwrap();
        assert_eq!(
            (robots.count(), robots.full_name(1)),
            (2, Some("/r2/nav".to_owned()))
        );
    }
}
