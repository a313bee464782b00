//! The search for action servers with goals of an earlier run of this node.
//!
//! A tree opens the servers that it uses. After the death of a node and its guardian (a power cut, the end of a
//! container), a goal may execute on a server that no tree of the new run has opened. The search subscribes to the
//! status of every action server on the graph. It opens those with such a goal, so that the GoalTracker cancels the
//! goal ([`Command::Adopt`](crate::goal::Command::Adopt)).

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use r2r::{QosProfile, action_msgs};

use super::goal_tracker::guarded;
use super::interfaces::knows_action;
use super::rcl::{Context, Node, Subscription};
use super::{Endpoints, RosError, RosHandle, arguments, is_name};
use crate::goal::{GoalId, GoalStatus};
use crate::robot_name;

const THREAD: &str = "ros-search";
const STATUS: &str = "/_action/status";
const FEEDBACK: &str = "/_action/feedback";
/// The type of a feedback topic is the type of its action and this.
const FEEDBACK_SUFFIX: &str = "_FeedbackMessage";

/// The length of a search. Participants of Fast DDS repeat their announcement every three seconds.
const LENGTH: Duration = Duration::from_secs(30);
/// The period of the checks for servers and their goals.
const LOOK: Duration = Duration::from_millis(250);
/// The maximum number of servers in a search, and how many more for each further robot. Servers in the namespaces of the
/// robots come first.
const MAX_SERVERS: usize = 256;
const SERVERS_PER_ROBOT: usize = 16;

/// Time for the end of the thread when the node is deactivated.
const JOIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The search of a node. It ends after 30 s or on drop. One thread searches for all nodes of the process, with a node and
/// a participant of its own: what it discovers and subscribes to ends with it.
#[derive(Debug)]
pub struct EarlierGoals {
    number: u64,
}

/// A node that searches.
struct Searcher {
    number: u64,
    endpoints: Endpoints,
    robot: Option<Arc<str>>,
    until: Instant,
    /// The servers that were opened for it, or whose goals cannot be cancelled.
    found: HashSet<String>,
}

struct Searches {
    searchers: Vec<Searcher>,
    last_number: u64,
    has_thread: bool,
}

/// All searches of the process.
static SEARCHES: Mutex<Searches> = Mutex::new(Searches {
    searchers: Vec::new(),
    last_number: 0,
    has_thread: false,
});
/// Notified when a search ends, and when the thread ends.
static CHANGED: Condvar = Condvar::new();

fn searches() -> MutexGuard<'static, Searches> {
    SEARCHES.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut searches = searches();
        searches.last_number += 1;
        let number = searches.last_number;
        searches.searchers.push(Searcher {
            number,
            endpoints: endpoints.clone(),
            robot: robot_name::current(),
            until: Instant::now() + LENGTH,
            found: HashSet::new(),
        });
        if !searches.has_thread {
            match std::thread::Builder::new().name(THREAD.to_owned()).spawn(run) {
                Ok(_) => searches.has_thread = true,
                Err(error) => {
                    searches.searchers.clear();
                    report_failure(&format!("thread {THREAD} not started: {error}"));
                    return None;
                }
            }
        }
        Some(Self { number })
    }

    /// Ends the search without waiting for its thread. The drop waits.
    pub fn stop(&mut self) {
        searches()
            .searchers
            .retain(|searcher| searcher.number != self.number);
        CHANGED.notify_all();
    }
}

impl Drop for EarlierGoals {
    fn drop(&mut self) {
        self.stop();
        let is_ending = |searches: &mut Searches| searches.has_thread && searches.searchers.is_empty();
        let (searches, _) = CHANGED
            .wait_timeout_while(searches(), JOIN_TIMEOUT, |searches| is_ending(searches))
            .unwrap_or_else(PoisonError::into_inner);
        if searches.has_thread && searches.searchers.is_empty() {
            tracing::error!("{THREAD} did not end within {JOIN_TIMEOUT:?}");
        }
    }
}

fn report_failure(reason: &str) {
    tracing::error!("goals of an earlier run are cancelled only on servers that a tree uses: {reason}");
}

/// A discovery server of Fast DDS reports a topic only to participants that use it, or that are super clients.
fn is_filtered_by_a_discovery_server(is_set: impl Fn(&str) -> bool) -> bool {
    is_set("ROS_DISCOVERY_SERVER") && !is_set("ROS_SUPER_CLIENT")
}

type StatusList = action_msgs::msg::GoalStatusArray;

/// A server in the search.
struct Server {
    status: Subscription<StatusList>,
    /// The marks of the active goals in its last status.
    marks: Vec<u32>,
}

/// The thread: searches until all searches have ended.
fn run() {
    loop {
        match guarded("the search", search) {
            Some(Ok(())) => {}
            Some(Err(error)) => end_all(&error.to_string()),
            None => end_all("it has panicked"),
        }
        let mut searches = searches();
        if searches.searchers.is_empty() {
            searches.has_thread = false;
            CHANGED.notify_all();
            return;
        }
        // Another search began while the node of the last one was ending.
    }
}

fn end_all(reason: &str) {
    searches().searchers.clear();
    report_failure(reason);
}

/// Waits until the next look. False if all searches have ended.
fn goes_on() -> bool {
    let (mut searches, _) = CHANGED
        .wait_timeout_while(searches(), LOOK, |searches| !searches.searchers.is_empty())
        .unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    searches.searchers.retain(|searcher| searcher.until > now);
    !searches.searchers.is_empty()
}

/// Searches until the end. A call that fails is tried again: perhaps the earlier run was killed because the machine had
/// no memory left, and memory is still short.
///
/// # Errors
/// The last failure, if the search could not begin.
fn search() -> Result<(), RosError> {
    let arguments = arguments::without_nodes(std::env::args_os());
    let mut failure = None;
    while goes_on() {
        let Some((name, namespace)) = names_of_first() else {
            return Ok(());
        };
        let context = Context::new(arguments.iter().cloned());
        match context.and_then(|context| Node::new(&context, &name, &namespace)) {
            Ok(node) => {
                watch_servers(&node);
                return Ok(());
            }
            Err(error) => failure = Some(error),
        }
    }
    failure.map_or(Ok(()), Err)
}

/// The name and the namespace of the node of the search: those of the first node that searches.
fn names_of_first() -> Option<(String, String)> {
    let searches = searches();
    let ros = searches.searchers.first()?.endpoints.ros();
    Some((format!("_{}_search", ros.name()), ros.namespace().to_owned()))
}

fn watch_servers(node: &Node) {
    let mut servers: BTreeMap<String, Server> = BTreeMap::new();
    let mut is_full = false;
    while goes_on() {
        // A failure is tried again at the next look.
        let topics = node.topics().unwrap_or_default();
        let (namespaces, max_servers) = scope();
        for (name, type_name) in action_servers(&topics, &namespaces) {
            if !servers.contains_key(&name) && is_opened_by_its_robot(&name) {
                continue;
            }
            if !servers.contains_key(&name) && servers.len() < max_servers {
                let qos = QosProfile::default().keep_last(1).transient_local();
                if let Ok(status) = Subscription::new(node, &format!("{name}{STATUS}"), qos) {
                    let marks = Vec::new();
                    servers.insert(name.clone(), Server { status, marks });
                }
            }
            let Some(server) = servers.get_mut(&name) else {
                is_full = true;
                continue;
            };
            if let Some(list) = server.status.take() {
                server.marks = active_marks(&list);
            }
            if !server.marks.is_empty() {
                open_for_searchers(&name, &type_name, &server.marks);
            }
        }
    }
    if is_full {
        tracing::warn!(
            "goals of an earlier run were searched on {} action servers; there may be more",
            servers.len()
        );
    }
}

/// The namespaces of the nodes that search, and the maximum number of servers.
fn scope() -> (Vec<String>, usize) {
    let searches = searches();
    let robots = searches.searchers.iter();
    let namespaces: Vec<String> = robots
        .map(|searcher| searcher.endpoints.ros().namespace().to_owned())
        .collect();
    let further = namespaces.len().saturating_sub(1);
    (namespaces, MAX_SERVERS + SERVERS_PER_ROBOT * further)
}

/// Whether a server in the namespace of one of several robots is open there: the robot finds its goals itself.
fn is_opened_by_its_robot(name: &str) -> bool {
    let searches = searches();
    let has_opened = |searcher: &Searcher| {
        searcher.robot.is_some()
            && is_inside(name, searcher.endpoints.ros().namespace())
            && searcher.endpoints.has_action(name)
    };
    searches.searchers.iter().any(has_opened)
}

/// Opens a server for the nodes that have left goals there.
fn open_for_searchers(name: &str, type_name: &str, marks: &[u32]) {
    for searcher in &mut searches().searchers {
        let mark = searcher.endpoints.goal_tracker().mark();
        if !marks.contains(&mark) || !searcher.found.insert(name.to_owned()) {
            continue;
        }
        robot_name::with(searcher.robot.as_ref(), || {
            let obstacle = match remapped_part(searcher.endpoints.ros(), name) {
                // A tree uses the server under another name, so the GoalTracker finds the goal.
                Some(_) if searcher.endpoints.has_action(name) => return,
                Some((part, mapped)) => format!("a remap rule of this node makes {part} {mapped}"),
                None if !knows_action(type_name, true) => format!("this build has no {type_name}"),
                None => return searcher.endpoints.open_action(name, type_name),
            };
            tracing::error!(
                "{name}: a goal of an earlier run executes there and is not cancelled: {obstacle}; cancel it with \
                 another program"
            );
        });
    }
}

/// The part of an action that the node would not open under its name on the graph, and what it would open instead: the
/// node applies its remap rules once more.
fn remapped_part(ros: &RosHandle, name: &str) -> Option<(String, String)> {
    let part = |part: &str| format!("{name}/_action/{part}");
    let mapped = [
        (name.to_owned(), ros.topic(name)),
        (part("send_goal"), ros.action_service(name, "send_goal")),
        (part("cancel_goal"), ros.action_service(name, "cancel_goal")),
        (part("status"), ros.topic(&part("status"))),
    ];
    mapped.into_iter().find(|(part, mapped)| part != mapped)
}

/// The marks of the active goals.
fn active_marks(list: &StatusList) -> Vec<u32> {
    let active = list
        .status_list
        .iter()
        .filter(|entry| GoalStatus::from_wire(entry.status).is_active());
    active
        .filter_map(|entry| GoalId::from_slice(&entry.goal_info.goal_id.uuid))
        .map(GoalId::mark)
        .collect()
}

fn is_inside(name: &str, namespace: &str) -> bool {
    let inside = name.strip_prefix(namespace.trim_end_matches('/'));
    inside.is_some_and(|rest| rest.starts_with('/'))
}

/// The action servers among topics with their types: full name and type of each. Those in the namespaces come first.
fn action_servers(topics: &[(String, Vec<String>)], namespaces: &[String]) -> Vec<(String, String)> {
    let mut servers: Vec<(String, String)> = topics
        .iter()
        .filter_map(|(topic, types)| {
            let name = topic.strip_suffix(FEEDBACK).filter(|name| is_name(name))?;
            let type_name = types.iter().find_map(|name| name.strip_suffix(FEEDBACK_SUFFIX))?;
            Some((name.to_owned(), type_name.to_owned()))
        })
        .collect();
    servers.sort_by_cached_key(|(name, _)| {
        let is_outside = !namespaces.iter().any(|namespace| is_inside(name, namespace));
        (is_outside, name.clone())
    });
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
        let found = |namespace: &str| action_servers(&topics, &[namespace.to_owned()]);
        let spin = |robot: &str| (format!("/{robot}/spin"), "nav2_msgs/action/Spin".to_owned());
        assert_eq!(found("/"), [spin("robot1"), spin("robot2")]);
        assert_eq!(found("/robot2"), [spin("robot2"), spin("robot1")]);
    }

    #[test]
    fn g3_only_active_goals_are_found() {
        let entry = |first: u8, status: i8| {
            let mut entry = action_msgs::msg::GoalStatus {
                status,
                ..Default::default()
            };
            entry.goal_info.goal_id.uuid = vec![first; 16];
            entry
        };
        let (executing, canceling, succeeded) = (2, 3, 4);
        let status_list = vec![
            entry(7, executing),
            entry(8, succeeded),
            entry(9, canceling),
            entry(6, succeeded),
        ];
        let list = StatusList { status_list };
        assert_eq!(active_marks(&list), [0x0707_0707, 0x0909_0909]);
    }

    #[test]
    fn g3_a_discovery_server_hides_servers_from_all_but_super_clients() {
        let hides = |set: &[&str]| is_filtered_by_a_discovery_server(|name| set.contains(&name));
        assert!(!hides(&[]));
        assert!(hides(&["ROS_DISCOVERY_SERVER"]));
        assert!(!hides(&["ROS_DISCOVERY_SERVER", "ROS_SUPER_CLIENT"]));
    }
}
