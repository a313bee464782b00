//! The robots of a site. A request chooses one by its query, `?robot=NAME`; without it, the first one. An act on one of several
//! must name it.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::feed::Feed;
use super::site::Controls;

/// One robot of a site: a node, or a recording or tree.
pub struct Robot {
    /// The full name of the node: `/robot1/bt_navigator`. It tells the robots of a site apart.
    pub name: String,
    /// The run.
    pub feed: Feed,
    /// The node; `None` for a recording.
    pub controls: Option<Arc<dyn Controls>>,
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
pub struct Robots(Arc<Shared>);

#[derive(Default, Debug)]
struct Shared {
    present: Mutex<Present>,
    /// Counts the open pages, of whichever robot: an operator looks at one after the other.
    pages: watch::Sender<()>,
}

#[derive(Default, Debug)]
struct Present {
    robots: Vec<Arc<Robot>>,
    /// There were several at some time.
    have_been_several: bool,
}

impl Robots {
    /// Adds a robot. It takes the place of one with the same name, whose feed ends.
    pub fn add(&self, robot: Robot) {
        let mut present = self.lock();
        present.remove(|other| other.name == robot.name);
        let robots = &mut present.robots;
        let place = robots.partition_point(|other| other.name < robot.name);
        robots.insert(place, Arc::new(robot));
        present.have_been_several |= present.robots.len() > 1;
    }

    /// Removes the robot with this feed, which ends. A later run of the robot stays.
    #[cfg(any(feature = "ros", test))]
    pub(super) fn remove(&self, feed: &Feed) {
        self.lock().remove(|robot| robot.feed.is(feed));
    }

    /// The robot that a query names; `None`: there is no such robot.
    pub(super) fn chosen(&self, query: Option<&str>) -> Option<Arc<Robot>> {
        let robots = &self.lock().robots;
        let Some(name) = named(query) else {
            return robots.first().cloned();
        };
        // The only character of a ROS name that clients encode.
        let name = name.replace("%2F", "/").replace("%2f", "/");
        robots.iter().find(|robot| robot.name == name).cloned()
    }

    /// Whether a query must name a robot to act on it, and does not. Also if all others have failed: the client may mean
    /// one of those.
    pub(super) fn is_ambiguous(&self, query: Option<&str>) -> bool {
        named(query).is_none() && self.lock().have_been_several
    }

    /// The names of all robots, as JSON.
    pub(super) fn names(&self) -> String {
        let robots = &self.lock().robots;
        let names: Vec<&str> = robots.iter().map(|robot| &*robot.name).collect();
        serde_json::to_string(&names).unwrap_or_default()
    }

    /// Whether a page is open, which can end a pause. Other readers, such as `navtree top`, cannot.
    #[cfg(any(feature = "ros", test))]
    pub(super) fn has_page(&self) -> bool {
        self.0.pages.receiver_count() > 0
    }

    /// A page is open until the drop of the result.
    pub(super) fn begin_page(&self) -> watch::Receiver<()> {
        self.0.pages.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Present> {
        self.0.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Present {
    /// Removes the robots for which `is` holds. Their feeds end.
    fn remove(&mut self, is: impl Fn(&Robot) -> bool) {
        self.robots.retain(|robot| {
            let is_removed = is(robot);
            if is_removed {
                robot.feed.end();
            }
            !is_removed
        });
    }
}

/// The name of a robot in a query.
fn named(query: Option<&str>) -> Option<&str> {
    let mut pairs = query.unwrap_or_default().split('&');
    pairs.find_map(|pair| pair.strip_prefix("robot="))
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
        let first = robots.chosen(None).unwrap();
        robots.remove(&first.feed);
        assert_eq!(name(None).as_deref(), Some("/r2/bt_navigator"));
        robots.add(robot("/r2/bt_navigator"));
        assert_eq!(robots.names(), r#"["/r2/bt_navigator"]"#, "it is the same robot");
    }
}
