//! Tests with the real middleware.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Instant;

use r2r::{QosProfile, WrappedTypesupport, rcl_interfaces, std_msgs};

use super::{Client, Context, Node, Publisher, Serialized, Service, Subscription};
use crate::ros::node::Group;
use crate::ros::ready::{Haste, Mark, Ready};
use crate::ros::retry::Retry;
use crate::ros::{Probe, RosError, RosNode};

#[path = "../../../test/ros/harness.rs"]
#[allow(dead_code, reason = "the tests with a peer use the rest")]
pub(in crate::ros) mod harness;

use harness::{TIMEOUT, alone, eventually};

type Text = std_msgs::msg::String;
type Ask = rcl_interfaces::srv::GetParameters::Service;
type Question = rcl_interfaces::srv::GetParameters::Request;
type Answer = rcl_interfaces::srv::GetParameters::Response;

fn node(name: &str) -> Node {
    Node::new(&Context::of_process().unwrap().0, name, "/").unwrap()
}

fn text(data: &str) -> Text {
    Text {
        data: data.to_owned(),
    }
}

fn question(name: &str) -> Question {
    Question {
        names: vec![name.to_owned()],
    }
}

/// Sleeps until there are events, and returns the marked entities.
fn next(ready: &Ready) -> Vec<u32> {
    let until = Instant::now() + TIMEOUT;
    ready.sleep_until(until);
    assert!(Instant::now() < until, "no event");
    let mut marked = Vec::new();
    ready.take(&mut marked);
    marked
}

fn take_all<T>(ready: &Ready, mark: &Mark, count: usize, mut take: impl FnMut() -> Option<T>) -> Vec<T> {
    let mut taken = Vec::new();
    while taken.len() < count {
        next(ready);
        taken.extend((0..mark.take()).filter_map(|_| take()));
    }
    taken
}

#[test]
fn a_message_marks_its_subscription_also_if_it_arrived_before() {
    alone(
        "ros::rcl::tests::a_message_marks_its_subscription_also_if_it_arrived_before",
        || {
            let node = node("tested");
            let publisher = Publisher::<Text>::new(&node, "text", QosProfile::default()).unwrap();
            let subscription = Subscription::<Text>::new(&node, "text", QosProfile::default()).unwrap();
            eventually("the subscription", || {
                (publisher.subscriptions() == 1).then_some(())
            });
            publisher.publish(&text("early")).unwrap();
            let first = eventually("the first message", || subscription.take());
            assert_eq!(first.data, "early");
            publisher.publish(&text("unread")).unwrap();

            let ready = Ready::default();
            let mark = Arc::new(Mark::new(&ready, 7, Haste::Always));
            subscription.listen(Arc::clone(&mark)).unwrap();
            publisher.publish(&text("late")).unwrap();
            let texts = take_all(&ready, &mark, 2, || subscription.take());
            assert_eq!(texts, [text("unread"), text("late")]);
        },
    );
}

#[test]
fn a_message_of_a_type_known_at_run_time_has_the_bytes_of_that_type() {
    alone(
        "ros::rcl::tests::a_message_of_a_type_known_at_run_time_has_the_bytes_of_that_type",
        || {
            let node = node("tested");
            let latched = || QosProfile::default().keep_last(1).transient_local();
            let publisher =
                Publisher::<Serialized>::untyped(&node, "text", Text::get_ts(), latched()).unwrap();
            let typed = Subscription::<Text>::new(&node, "text", latched()).unwrap();
            let raw = Subscription::<Serialized>::untyped(&node, "text", Text::get_ts(), latched()).unwrap();
            let bytes = text("abc").to_serialized_bytes().unwrap();
            publisher.publish_serialized(&bytes).unwrap();
            assert_eq!(eventually("the message", || typed.take()), text("abc"));
            assert_eq!(eventually("its bytes", || raw.take_serialized()), bytes);
        },
    );
}

#[test]
fn each_client_gets_its_own_answers_among_those_to_others() {
    alone(
        "ros::rcl::tests::each_client_gets_its_own_answers_among_those_to_others",
        || {
            const ROUNDS: usize = 20;
            let node = node("tested");
            let ready = Ready::default();
            let qos = || QosProfile::services_default().keep_last(1000);
            let service = Service::<Ask>::new(&node, "ask", qos()).unwrap();
            let clients = [0, 1].map(|_| Client::<Ask>::new(&node, "ask", qos()).unwrap());
            let marks = [0, 1, 2].map(|entity| Arc::new(Mark::new(&ready, entity, Haste::Always)));
            service.listen(Arc::clone(&marks[2])).unwrap();
            for (client, mark) in clients.iter().zip(&marks) {
                client.listen(Arc::clone(mark)).unwrap();
                eventually("the server", || client.is_available()?.then_some(()));
            }
            let mut sent = [vec![], vec![]];
            for _ in 0..ROUNDS {
                for (client, sent) in clients.iter().zip(&mut sent) {
                    sent.push(client.send(&question("a")).unwrap());
                }
            }
            let requests = take_all(&ready, &marks[2], 2 * ROUNDS, || service.take());
            for (request, reply) in requests {
                assert_eq!(request, question("a"));
                eventually("the response leaves", || reply.send(&Answer::default()).ok());
            }
            let mut answered = [vec![], vec![]];
            while answered.iter().any(|numbers| numbers.len() < ROUNDS) {
                for entity in next(&ready) {
                    let index = entity as usize;
                    let (client, mark) = (&clients[index], &marks[index]);
                    let responses = (0..mark.take()).filter_map(|_| client.take());
                    answered[index].extend(responses.map(|(number, _)| number));
                }
            }
            for (sent, mut answered) in sent.into_iter().zip(answered) {
                answered.sort_unstable();
                assert_eq!(sent, answered);
            }
        },
    );
}

#[test]
fn an_entity_may_be_dropped_while_messages_arrive() {
    alone(
        "ros::rcl::tests::an_entity_may_be_dropped_while_messages_arrive",
        || {
            let (node, ready) = (node("tested"), Ready::default());
            let qos = || QosProfile::default().keep_last(10);
            let publisher = Publisher::<Text>::new(&node, "text", qos()).unwrap();
            let sender = publisher.clone();
            let ended = Arc::new(std::sync::atomic::AtomicBool::new(false));
            let end = Arc::clone(&ended);
            let thread = std::thread::spawn(move || {
                while !end.load(std::sync::atomic::Ordering::Relaxed) {
                    sender.publish(&text("x")).unwrap();
                }
            });
            for _ in 0..100 {
                let subscription = Subscription::<Text>::new(&node, "text", qos()).unwrap();
                let mark = Arc::new(Mark::new(&ready, 0, Haste::Always));
                subscription.listen(Arc::clone(&mark)).unwrap();
                let taken = take_all(&ready, &mark, 1, || subscription.take());
                assert_eq!(taken.first(), Some(&text("x")));
                drop(subscription);
                mark.take();
                assert_eq!(Arc::strong_count(&mark), 1, "nothing of the entity is left");
                ready.take(&mut Vec::new());
            }
            ended.store(true, std::sync::atomic::Ordering::Relaxed);
            thread.join().unwrap();
            eventually("no subscription is left", || {
                (publisher.subscriptions() == 0).then_some(())
            });
        },
    );
}

#[test]
fn entities_end_with_their_node_although_they_have_owners() {
    alone(
        "ros::rcl::tests::entities_end_with_their_node_although_they_have_owners",
        || {
            let (node, other) = (node("tested"), node("other"));
            let publisher = Publisher::<Text>::new(&node, "text", QosProfile::default()).unwrap();
            let service = Service::<Ask>::new(&node, "ask", QosProfile::services_default()).unwrap();
            let client = Client::<Ask>::new(&other, "ask", QosProfile::services_default()).unwrap();
            eventually("the server", || client.is_available()?.then_some(()));
            client.send(&question("a")).unwrap();
            let (_, reply) = eventually("the request", || service.take());
            let count = |topic: &str| other.publishers(topic, false).unwrap().len();
            eventually("the publisher", || (count("/text") == 1).then_some(()));
            assert_eq!(other.nodes().unwrap().len(), 2);

            drop(node);
            assert_eq!(publisher.publish(&text("x")), Err(RosError::Down));
            assert_eq!(reply.send(&Answer::default()), Err(RosError::Down));
            assert_eq!(publisher.subscriptions(), 0);
            eventually("they leave the graph", || {
                (count("/text") == 0
                    && client.is_available() == Some(false)
                    && other.nodes().unwrap().len() == 1)
                    .then_some(())
            });
        },
    );
}

#[test]
fn a_change_of_the_graph_is_counted_for_all_nodes_of_a_context() {
    alone(
        "ros::rcl::tests::a_change_of_the_graph_is_counted_for_all_nodes_of_a_context",
        || {
            let (node, other) = (node("tested"), node("other"));
            let peer = Node::new(&Context::new(std::env::args_os()).unwrap(), "peer", "/").unwrap();
            let count = || node.publishers("/text", false).unwrap().len();
            let quiet = || {
                eventually("a quiet graph", || {
                    let changes = node.graph_changes();
                    (0..1000)
                        .all(|_| other.graph_changes() == changes)
                        .then_some(changes)
                })
            };
            let before = quiet();
            let publisher = Publisher::<Text>::new(&peer, "text", QosProfile::default()).unwrap();
            eventually("the publisher", || (count() == 1).then_some(()));
            assert!(other.graph_changes() > before, "the change is on the graph");
            let before = quiet();
            drop(publisher);
            eventually("its end", || (count() == 0).then_some(()));
            assert!(node.graph_changes() > before);
        },
    );
}

#[test]
fn a_name_that_is_not_valid_is_refused_with_a_reason() {
    alone(
        "ros::rcl::tests::a_name_that_is_not_valid_is_refused_with_a_reason",
        || {
            let context = Context::of_process().unwrap().0;
            let refused = |name: &str, namespace: &str| match Node::new(&context, name, namespace) {
                Err(RosError::Node { reason, .. }) => reason,
                other => panic!("{}", other.is_ok()),
            };
            assert!(refused("a b", "/").contains("201"), "{}", refused("a b", "/"));
            assert!(refused("a\0b", "/").contains("zero byte"));
            let node = node("tested");
            for name in ["a b", "a\0b", ""] {
                let made = Publisher::<Text>::new(&node, name, QosProfile::default());
                assert!(
                    matches!(
                        made,
                        Err(RosError::Entity {
                            what: "publisher",
                            ..
                        })
                    ),
                    "{name}"
                );
            }
        },
    );
}

#[test]
fn a_flood_on_one_topic_holds_up_no_other() {
    alone("ros::rcl::tests::a_flood_on_one_topic_holds_up_no_other", || {
        const FLOOD: usize = 60;
        let node = node("tested");
        let latched = || QosProfile::default().keep_last(100).transient_local();
        let flood = Publisher::<Text>::new(&node, "flood", latched()).unwrap();
        let other = Publisher::<Text>::new(&node, "other", latched()).unwrap();
        for number in 0..FLOOD {
            flood.publish(&text(&number.to_string())).unwrap();
        }
        other.publish(&text("x")).unwrap();

        let mut node = RosNode::new(node);
        let (sender, taken) = channel();
        let to = sender.clone();
        node.subscribe("flood", latched(), move |message: Text| {
            to.send(message.data).unwrap();
        })
        .unwrap();
        node.subscribe("other", latched(), move |message: Text| {
            sender.send(message.data).unwrap();
        })
        .unwrap();
        let mut rounds = Vec::new();
        while rounds.iter().map(Vec::len).sum::<usize>() < FLOOD + 1 {
            node.ready().sleep_until(Instant::now() + TIMEOUT);
            node.run_once();
            rounds.push(taken.try_iter().collect::<Vec<_>>());
        }
        assert!(rounds.iter().all(|round| round.len() <= 17), "{rounds:?}");
        let all: Vec<_> = rounds.concat().into_iter().filter(|one| one != "x").collect();
        assert_eq!(
            all,
            (0..FLOOD).map(|number| number.to_string()).collect::<Vec<_>>()
        );
    });
}

#[test]
fn a_node_waits_for_entities_that_another_thread_closes() {
    alone(
        "ros::rcl::tests::a_node_waits_for_entities_that_another_thread_closes",
        || {
            let _context = Context::of_process().unwrap().0;
            for _ in 0..50 {
                let node = node("tested");
                let service = Service::<Ask>::new(&node, "ask", QosProfile::services_default()).unwrap();
                let client = Client::<Ask>::new(&node, "ask", QosProfile::services_default()).unwrap();
                let closing = std::thread::spawn(move || drop((service, client)));
                drop(node);
                closing.join().unwrap();
            }
        },
    );
}

#[test]
fn g6_all_answers_of_a_server_are_handled_before_its_absence() {
    alone(
        "ros::rcl::tests::g6_all_answers_of_a_server_are_handled_before_its_absence",
        || {
            const ANSWERS: u64 = 20;
            let (server, node) = (node("server"), node("tested"));
            let service = Service::<Ask>::new(&server, "ask", QosProfile::services_default()).unwrap();
            let mut node = RosNode::new(node);
            let mut caller = node.client::<Ask>("ask").unwrap();
            let real = caller.take_probe().unwrap();
            eventually("the server", || (real.is_available)()?.then_some(()));
            let (is_there, (sender, told)) = (Arc::new(AtomicBool::new(true)), channel());
            let (there, to) = (Arc::clone(&is_there), sender.clone());
            let probe = Probe {
                is_available: Box::new(move || Some(there.load(Ordering::Relaxed))),
                // The endpoints of the real server stay.
                replies: "rr/no_serviceReply".to_owned(),
            };
            node.watch([probe], move |present| to.send(present.to_string()).unwrap());
            let mut all = Vec::new();
            eventually("the server, and no message", || {
                node.run_once();
                all.extend(told.try_iter());
                (all == ["true"] && node.waiting() == 0).then_some(())
            });
            for number in 0..ANSWERS {
                let to = sender.clone();
                let done = move |_| to.send("answer".to_owned()).unwrap();
                caller.call(number, &question("a"), done).unwrap();
                let (_, reply) = eventually("the request", || service.take());
                reply.send(&Answer::default()).unwrap();
            }
            eventually("the answers", || (node.waiting() as u64 == ANSWERS).then_some(()));
            is_there.store(false, Ordering::Relaxed);
            node.check_servers_soon();
            let mut all = Vec::new();
            // On a busy machine, the graph is read in a later turn.
            eventually("the absence", || {
                node.run_once();
                all.extend(told.try_iter());
                all.iter().any(|what| what == "false").then_some(())
            });
            let mut expected = vec!["answer"; ANSWERS as usize];
            expected.push("false");
            assert_eq!(all, expected);
        },
    );
}

#[test]
fn a_server_does_not_count_as_alone_on_a_graph_that_cannot_be_read() {
    alone(
        "ros::rcl::tests::a_server_does_not_count_as_alone_on_a_graph_that_cannot_be_read",
        || {
            let node = RosNode::new(node("tested"));
            assert!(node.has_one_server("ask"));
            // The graph has no answer for a name with a zero byte.
            assert!(!node.has_one_server("a\0b"));
        },
    );
}

#[test]
fn g6_nothing_is_left_of_a_last_attempt_that_fails() {
    alone(
        "ros::rcl::tests::g6_nothing_is_left_of_a_last_attempt_that_fails",
        || {
            let mut node = RosNode::new(node("tested"));
            let create = |node: &mut RosNode| {
                node.subscribe("text", QosProfile::default(), |_: Text| {})
                    .unwrap();
                Err("no memory".to_owned())
            };
            node.attempt(Retry::new("text", Group(1), Instant::now(), create).last());
            assert_eq!(format!("{node:?}"), "RosNode { entities: 0, .. }");
        },
    );
}
