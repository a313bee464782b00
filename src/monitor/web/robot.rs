//! The robots of a site. A request chooses one by its query, `?robot=NAME`; without it, the first one.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// The robots of a site, by name. They come and go while the site is served: a robot of a process that has failed starts
/// again. Clones share them.
#[derive(Clone, Default, Debug)]
pub struct Robots(Arc<Mutex<Vec<Arc<Robot>>>>);

impl Robots {
    /// Adds a robot. It takes the place of one with the same name.
    pub fn add(&self, robot: Robot) {
        let mut robots = self.lock();
        robots.retain(|other| other.name != robot.name);
        let place = robots.partition_point(|other| other.name < robot.name);
        robots.insert(place, Arc::new(robot));
    }

    /// Removes the robot with this name.
    #[cfg(any(feature = "ros", test))]
    pub(super) fn remove(&self, name: &str) {
        self.lock().retain(|robot| robot.name != name);
    }

    /// The robot that a query names; `None`: there is no such robot.
    pub(super) fn chosen(&self, query: Option<&str>) -> Option<Arc<Robot>> {
        let robots = self.lock();
        let pairs = query.unwrap_or_default().split('&');
        let Some(name) = pairs.filter_map(|pair| pair.strip_prefix("robot=")).next() else {
            return robots.first().cloned();
        };
        // The only character of a ROS name that clients encode.
        let name = name.replace("%2F", "/").replace("%2f", "/");
        robots.iter().find(|robot| robot.name == name).cloned()
    }

    /// The names of all robots, as JSON.
    pub(super) fn names(&self) -> String {
        let robots = self.lock();
        let names: Vec<&str> = robots.iter().map(|robot| &*robot.name).collect();
        serde_json::to_string(&names).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Robot>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FromIterator<Robot> for Robots {
    fn from_iter<I: IntoIterator<Item = Robot>>(robots: I) -> Self {
        let all = Self::default();
        robots.into_iter().for_each(|robot| all.add(robot));
        all
    }
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
        let robots: Robots = ["/r2/bt_navigator", "/r1/bt_navigator"]
            .map(robot)
            .into_iter()
            .collect();
        let name = |query| robots.chosen(query).map(|robot| robot.name.clone());
        for first in [None, Some(""), Some("x=1"), Some("robot=/r1/bt_navigator")] {
            assert_eq!(name(first).as_deref(), Some("/r1/bt_navigator"), "{first:?}");
        }
        for second in ["robot=/r2/bt_navigator", "a&robot=%2Fr2%2fbt_navigator&b=c"] {
            assert_eq!(
                name(Some(second)).as_deref(),
                Some("/r2/bt_navigator"),
                "{second}"
            );
        }
        assert_eq!(name(Some("robot=")), None);
        assert_eq!(name(Some("robot=/r3")), None);
        assert_eq!(robots.names(), r#"["/r1/bt_navigator","/r2/bt_navigator"]"#);
        robots.remove("/r1/bt_navigator");
        assert_eq!(name(None).as_deref(), Some("/r2/bt_navigator"));
        robots.add(robot("/r2/bt_navigator"));
        assert_eq!(robots.names(), r#"["/r2/bt_navigator"]"#, "it is the same robot");
    }
}
