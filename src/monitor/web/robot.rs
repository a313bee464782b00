//! The robots of a site. A request chooses one by its query, `?robot=NAME`; without it, the first one.

use std::fmt;

use super::feed::Feed;
use super::site::Controls;

/// One robot of a site: a node, or a recording or tree.
pub struct Robot {
    /// The full name of the node: `/robot1/bt_navigator`. It tells the robots of a site apart.
    pub name: String,
    /// The run.
    pub feed: Feed,
    /// The node; `None` for a recording.
    pub controls: Option<Box<dyn Controls>>,
}

impl fmt::Debug for Robot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Robot")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The robot that a query names; `None`: there is no such robot.
pub(super) fn chosen<'r>(robots: &'r [Robot], query: Option<&str>) -> Option<&'r Robot> {
    let pairs = query.unwrap_or_default().split('&');
    let Some(name) = pairs.filter_map(|pair| pair.strip_prefix("robot=")).next() else {
        return robots.first();
    };
    // The only character of a ROS name that clients encode.
    let name = name.replace("%2F", "/").replace("%2f", "/");
    robots.iter().find(|robot| robot.name == name)
}

/// The names of all robots, as JSON.
pub(super) fn names(robots: &[Robot]) -> String {
    let names: Vec<&str> = robots.iter().map(|robot| &*robot.name).collect();
    serde_json::to_string(&names).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_chooses_a_robot() {
        let robot = |name: &str| Robot {
            name: name.to_owned(),
            feed: Feed::new(1 << 10),
            controls: None,
        };
        let robots = [robot("/r1/bt_navigator"), robot("/r2/bt_navigator")];
        let name = |query| chosen(&robots, query).map(|robot| &*robot.name);
        for first in [None, Some(""), Some("x=1"), Some("robot=/r1/bt_navigator")] {
            assert_eq!(name(first), Some("/r1/bt_navigator"), "{first:?}");
        }
        for second in ["robot=/r2/bt_navigator", "a&robot=%2Fr2%2fbt_navigator&b=c"] {
            assert_eq!(name(Some(second)), Some("/r2/bt_navigator"), "{second}");
        }
        assert_eq!(name(Some("robot=")), None);
        assert_eq!(name(Some("robot=/r3")), None);
        assert_eq!(names(&robots), r#"["/r1/bt_navigator","/r2/bt_navigator"]"#);
    }
}
