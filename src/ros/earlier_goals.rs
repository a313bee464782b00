//! The search for action servers with goals of an earlier run of this node.
//!
//! A tree opens the servers that it uses. After the death of a node and its guardian (a power cut, the end of a
//! container), a goal may execute on a server that no tree of the new run has opened. The search subscribes to the
//! status of every action server on the graph. It opens those with such a goal, so that the GoalTracker cancels the
//! goal ([`Command::Adopt`](crate::goal::Command::Adopt)).

use std::collections::HashMap;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use r2r::{QosProfile, action_msgs};
use rustc_hash::FxHashSet;

use super::executor::second_node;
use super::goal_tracker::guarded;
use super::interfaces::knows_action;
use super::link::Endpoints;
use super::node_thread::NodeThread;
use super::{RosError, RosNode, is_name};
use crate::goal::{GoalId, GoalStatus};

const THREAD: &str = "ros-search";
const STATUS: &str = "/_action/status";
const FEEDBACK: &str = "/_action/feedback";
/// The type of a feedback topic is the type of its action and this.
const FEEDBACK_SUFFIX: &str = "_FeedbackMessage";

/// The length of a search. Participants of Fast DDS repeat their announcement every three seconds.
const LENGTH: Duration = Duration::from_secs(30);
/// The maximum number of servers in a search. Servers in the node's namespace come first.
const MOST_SERVERS: usize = 256;

/// Searches while the cancels of such goals are allowed, for [`LENGTH`].
pub(super) struct EarlierGoals {
    endpoints: Endpoints,
    /// The first bytes of the ids of this node's goals.
    mark: u32,
    search: Search,
}

enum Search {
    NotStarted,
    Running(Running),
    Over,
}

/// A search. r2r destroys no subscription before its node, so a search has a node of its own.
struct Running {
    node: NodeThread,
    thread: Option<JoinHandle<()>>,
    until: Instant,
    servers: FxHashSet<String>,
}

impl EarlierGoals {
    pub(super) fn new(endpoints: Endpoints, mark: u32) -> Self {
        Self {
            endpoints,
            mark,
            search: Search::NotStarted,
        }
    }

    /// Starts, continues or ends the search. Call it on the node's thread, again and again. A new search starts when
    /// the cancels are allowed again.
    pub(super) fn search(&mut self, graph: &r2r::Node, is_allowed: bool, now: Instant) {
        match &mut self.search {
            _ if !is_allowed => self.search = Search::NotStarted,
            Search::Over => {}
            Search::NotStarted => {
                self.search = match Running::start(&self.endpoints, now + LENGTH) {
                    Ok(running) => Search::Running(running),
                    Err(error) => {
                        tracing::warn!(
                            "goals of an earlier run are cancelled only on servers that a tree uses: {error}"
                        );
                        Search::Over
                    }
                };
            }
            Search::Running(running) if now >= running.until => self.search = Search::Over,
            Search::Running(running) => {
                // r2r panics on a name of another program that is not UTF-8.
                let topics = match guarded("the list of topics", || graph.get_topic_names_and_types()) {
                    Some(Ok(topics)) => topics,
                    Some(Err(_)) => return,
                    None => {
                        self.search = Search::Over;
                        return;
                    }
                };
                for (name, type_name) in action_servers(&topics, self.endpoints.ros().namespace()) {
                    running.add(name, type_name, self.mark, &self.endpoints);
                }
            }
        }
    }
}

impl Running {
    fn start(endpoints: &Endpoints, until: Instant) -> Result<Self, RosError> {
        let (node, thread) = second_node(endpoints.ros(), "search", THREAD)?;
        Ok(Self {
            node,
            thread: Some(thread),
            until,
            servers: FxHashSet::default(),
        })
    }

    /// Subscribes to the status of a server, once.
    fn add(&mut self, name: String, type_name: String, mark: u32, endpoints: &Endpoints) {
        if self.servers.len() >= MOST_SERVERS || !self.servers.insert(name.clone()) {
            return;
        }
        if self.servers.len() == MOST_SERVERS {
            tracing::warn!(
                "more than {MOST_SERVERS} action servers are on the graph: goals of an earlier run are searched on \
                 the first {MOST_SERVERS} only"
            );
        }
        let endpoints = endpoints.clone();
        self.node.give(Some(Box::new(move |node: &mut RosNode| {
            let server = name.clone();
            let mut is_found = false;
            let subscribed = node.subscribe::<action_msgs::msg::GoalStatusArray>(
                &format!("{name}{STATUS}"),
                QosProfile::default().keep_last(1).transient_local(),
                move |list| {
                    if is_found || !list.status_list.iter().any(|goal| is_ours_and_active(goal, mark)) {
                        return;
                    }
                    is_found = true;
                    if knows_action(&type_name, true) {
                        endpoints.open_action(&name, &type_name);
                    } else {
                        tracing::error!(
                            "{name}: a goal of an earlier run executes there and is not cancelled: this build has \
                             no {type_name}; cancel it with another program"
                        );
                    }
                },
            );
            if let Err(error) = subscribed {
                tracing::error!("goals of an earlier run are not searched on {server}: {error}");
            }
        })));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.node.give(None);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn is_ours_and_active(entry: &action_msgs::msg::GoalStatus, mark: u32) -> bool {
    GoalId::from_slice(&entry.goal_info.goal_id.uuid).is_some_and(|goal| goal.mark() == mark)
        && GoalStatus::from_wire(entry.status).is_active()
}

/// The action servers among topics with their types: full name and type of each. Those in `namespace` come first.
fn action_servers(topics: &HashMap<String, Vec<String>>, namespace: &str) -> Vec<(String, String)> {
    let mut servers: Vec<(String, String)> = topics
        .iter()
        .filter_map(|(topic, types)| {
            let name = topic.strip_suffix(FEEDBACK).filter(|name| is_name(name))?;
            let type_name = types.iter().find_map(|name| name.strip_suffix(FEEDBACK_SUFFIX))?;
            Some((name.to_owned(), type_name.to_owned()))
        })
        .collect();
    let inside = format!("{}/", namespace.trim_end_matches('/'));
    servers.sort_unstable_by_key(|(name, _)| (!name.starts_with(&inside), name.clone()));
    servers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g3_action_servers_are_found_by_their_feedback_topics() {
        let topics: HashMap<String, Vec<String>> = [
            ("/tf", "tf2_msgs/msg/TFMessage"),
            (
                "/robot2/spin/_action/feedback",
                "nav2_msgs/action/Spin_FeedbackMessage",
            ),
            (
                "/robot1/spin/_action/feedback",
                "nav2_msgs/action/Spin_FeedbackMessage",
            ),
            ("/robot1/spin/_action/status", "action_msgs/msg/GoalStatusArray"),
            ("/other/_action/feedback", "std_msgs/msg/String"),
            (
                "/no name/_action/feedback",
                "nav2_msgs/action/Spin_FeedbackMessage",
            ),
        ]
        .map(|(name, type_name)| (name.to_owned(), vec![type_name.to_owned()]))
        .into();
        let found = |namespace| action_servers(&topics, namespace);
        let spin = |robot: &str| (format!("/{robot}/spin"), "nav2_msgs/action/Spin".to_owned());
        assert_eq!(found("/"), [spin("robot1"), spin("robot2")]);
        assert_eq!(found("/robot2"), [spin("robot2"), spin("robot1")]);
    }

    #[test]
    fn g3_only_active_goals_with_the_mark_of_this_node_are_found() {
        let entry = |first: u8, status: i8| {
            let mut entry = action_msgs::msg::GoalStatus {
                status,
                ..Default::default()
            };
            entry.goal_info.goal_id.uuid = vec![first; 16];
            entry
        };
        let (executing, canceling, succeeded) = (2, 3, 4);
        assert!(is_ours_and_active(&entry(7, executing), 0x0707_0707));
        assert!(is_ours_and_active(&entry(7, canceling), 0x0707_0707));
        assert!(!is_ours_and_active(&entry(7, succeeded), 0x0707_0707));
        assert!(!is_ours_and_active(&entry(8, executing), 0x0707_0707));
    }
}
