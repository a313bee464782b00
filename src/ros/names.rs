//! ROS names.

/// Whether `name` can be the name of a topic, a service or an action: parts of letters, digits and underscores that
/// do not begin with a digit, between single slashes; a leading `/` or `~/` is allowed. As rcl has it, without
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

/// The full name, before remapping, of what a node of this namespace and name calls `name`.
pub(super) fn expand(name: &str, namespace: &str, node: &str) -> String {
    let namespace = namespace.trim_end_matches('/');
    match (name.strip_prefix("~/"), name.starts_with('/')) {
        (Some(rest), _) => format!("{namespace}/{node}/{rest}"),
        (None, true) => name.to_owned(),
        (None, false) => format!("{namespace}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{expand, is_name};

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
