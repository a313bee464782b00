//! The search for action servers with goals of an earlier run of this node.
//!
//! A tree opens the servers that it uses. After the death of a node and its guardian (a power cut, the end of a
//! container), a goal may execute on a server that no tree of the new run has opened. The search subscribes to the
//! status of every action server on the graph. It opens those with such a goal, so that the GoalTracker cancels the
//! goal ([`Command::Adopt`](crate::goal::Command::Adopt)).

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use r2r::{QosProfile, action_msgs};

use super::goal_tracker::guarded;
use super::interfaces::knows_action;
use super::rcl::{Context, Node, Subscription};
use super::{Endpoints, RosError, arguments, is_name};
use crate::goal::{GoalId, GoalStatus};

const THREAD: &str = "ros-search";
const STATUS: &str = "/_action/status";
const FEEDBACK: &str = "/_action/feedback";
/// The type of a feedback topic is the type of its action and this.
const FEEDBACK_SUFFIX: &str = "_FeedbackMessage";

/// The length of a search. Participants of Fast DDS repeat their announcement every three seconds.
const LENGTH: Duration = Duration::from_secs(30);
/// The period of the checks for servers and their goals.
const LOOK: Duration = Duration::from_millis(250);
/// The maximum number of servers in a search. Servers in the node's namespace come first.
const MAX_SERVERS: usize = 256;

/// Time for the end of the thread when the node is deactivated.
const JOIN_TIMEOUT: Duration = Duration::from_secs(1);

/// A search on a thread of its own, with a node and a participant of its own: what it discovers and subscribes to ends
/// with it. It ends after 30 s or on drop.
#[derive(Debug)]
pub struct EarlierGoals {
    end: Option<Sender<()>>,
    /// Disconnected at the end of the thread.
    has_ended: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl EarlierGoals {
    /// Starts a search when the node becomes active. `None` if goals of an earlier run are not cancelled.
    pub fn search(endpoints: &Endpoints) -> Option<Self> {
        if !endpoints.adopts_goals() {
            return None;
        }
        if is_filtered_by_a_discovery_server(|name| {
            std::env::var_os(name).is_some_and(|value| !value.is_empty())
        }) {
            tracing::warn!(
                "goals of an earlier run are cancelled only on servers that a tree uses: the discovery server does \
                 not report the other servers; set ROS_SUPER_CLIENT=TRUE"
            );
        }
        let (end, ended) = channel();
        let (ending, has_ended) = channel();
        let endpoints = endpoints.clone();
        let run = move || {
            let _ending = ending;
            if let Some(Err(error)) = guarded("the search", || search(&endpoints, &ended)) {
                tracing::error!(
                    "goals of an earlier run are cancelled only on servers that a tree uses: {error}"
                );
            }
        };
        match std::thread::Builder::new().name(THREAD.to_owned()).spawn(run) {
            Ok(thread) => Some(Self {
                end: Some(end),
                has_ended,
                thread: Some(thread),
            }),
            Err(error) => {
                tracing::error!(
                    "goals of an earlier run are cancelled only on servers that a tree uses: thread {THREAD} not \
                     started: {error}"
                );
                None
            }
        }
    }

    /// Ends the search without waiting for its thread. The drop waits.
    pub fn stop(&mut self) {
        self.end = None;
    }
}

impl Drop for EarlierGoals {
    fn drop(&mut self) {
        self.stop();
        if self.has_ended.recv_timeout(JOIN_TIMEOUT) == Err(RecvTimeoutError::Timeout) {
            tracing::error!("{THREAD} did not end within {JOIN_TIMEOUT:?}");
        } else if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A discovery server of Fast DDS reports a topic only to participants that use it, or that are super clients.
fn is_filtered_by_a_discovery_server(is_set: impl Fn(&str) -> bool) -> bool {
    is_set("ROS_DISCOVERY_SERVER") && !is_set("ROS_SUPER_CLIENT")
}

type StatusList = action_msgs::msg::GoalStatusArray;

/// The state of a server in the search.
enum Server {
    Watched(Subscription<StatusList>),
    Done,
}

/// Searches until the end. A call that fails is tried again: perhaps the earlier run was killed because the machine had
/// no memory left, and memory is still short.
///
/// # Errors
/// The last failure, if the search could not begin.
fn search(endpoints: &Endpoints, ended: &Receiver<()>) -> Result<(), RosError> {
    let until = Instant::now() + LENGTH;
    let goes_on = || Instant::now() < until && ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout);
    let name = format!("_{}_search", endpoints.ros().name());
    let arguments = arguments::without_nodes(std::env::args_os());
    let mut failure = None;
    while goes_on() {
        let context = Context::new(arguments.iter().cloned());
        match context.and_then(|context| Node::new(&context, &name, endpoints.ros().namespace())) {
            Ok(node) => {
                watch_servers(&node, endpoints, goes_on);
                return Ok(());
            }
            Err(error) => failure = Some(error),
        }
    }
    failure.map_or(Ok(()), Err)
}

fn watch_servers(node: &Node, endpoints: &Endpoints, goes_on: impl Fn() -> bool) {
    let (namespace, mark) = (endpoints.ros().namespace(), endpoints.goal_tracker().mark());
    let mut servers: BTreeMap<String, Server> = BTreeMap::new();
    while goes_on() {
        // A failure is tried again at the next look.
        let topics = node.topics().unwrap_or_default();
        for (name, type_name) in action_servers(&topics, namespace) {
            if !servers.contains_key(&name) && servers.len() < MAX_SERVERS {
                let qos = QosProfile::default().keep_last(1).transient_local();
                if let Ok(subscription) = Subscription::new(node, &format!("{name}{STATUS}"), qos) {
                    servers.insert(name.clone(), Server::Watched(subscription));
                }
            }
            let Some(server) = servers.get_mut(&name) else {
                continue;
            };
            let Server::Watched(subscription) = server else {
                continue;
            };
            let list: Option<StatusList> = subscription.take();
            if !list.is_some_and(|list| list.status_list.iter().any(|goal| is_ours_and_active(goal, mark))) {
                continue;
            }
            *server = Server::Done;
            if knows_action(&type_name, true) {
                endpoints.open_action(&name, &type_name);
            } else {
                tracing::error!(
                    "{name}: a goal of an earlier run executes there and is not cancelled: this build has no \
                     {type_name}; cancel it with another program"
                );
            }
        }
    }
    if servers.len() >= MAX_SERVERS {
        tracing::warn!(
            "goals of an earlier run were searched on {MAX_SERVERS} action servers; there may be more"
        );
    }
}

fn is_ours_and_active(entry: &action_msgs::msg::GoalStatus, mark: u32) -> bool {
    GoalId::from_slice(&entry.goal_info.goal_id.uuid).is_some_and(|goal| goal.mark() == mark)
        && GoalStatus::from_wire(entry.status).is_active()
}

/// The action servers among topics with their types: full name and type of each. Those in `namespace` come first.
fn action_servers(topics: &[(String, Vec<String>)], namespace: &str) -> Vec<(String, String)> {
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
        let topics = [
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
        .map(|(name, type_name)| (name.to_owned(), vec![type_name.to_owned()]));
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

    #[test]
    fn g3_a_discovery_server_hides_servers_from_all_but_super_clients() {
        let hides = |set: &[&str]| is_filtered_by_a_discovery_server(|name| set.contains(&name));
        assert!(!hides(&[]));
        assert!(hides(&["ROS_DISCOVERY_SERVER"]));
        assert!(!hides(&["ROS_DISCOVERY_SERVER", "ROS_SUPER_CLIENT"]));
    }
}
