//! The types of topics. A topic should have one type, but the middleware reports no conflict.
//!
//! Within one node, a second type for a topic is refused when its entity is created, on a thread where no leaf is
//! notified. Between nodes it is accepted, but no messages arrive. This module keeps the known types: those with which
//! this node has opened topics, and those of other publishers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{RosHandle, rcl};
use crate::nav::{Form, LinkError, TopicSpec};

/// The period of the checks of the publishers on the trees' topics.
const CHECK_PERIOD: Duration = Duration::from_millis(500);
/// Maximum time for the node's thread to check a topic when a tree is tried.
const PATIENCE: Duration = Duration::from_millis(500);

/// The types of the topics that trees use. Clones share them.
#[derive(Clone, Default)]
pub(super) struct TopicTypes(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    /// The type with which this node opened each topic that is open.
    own: HashMap<String, Arc<str>>,
    /// Topics whose publishers are checked, and the type of one of them if none has the expected one.
    watched: HashMap<(String, Arc<str>), Option<String>>,
    looking: bool,
}

impl TopicTypes {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves a topic for a type, before an entity is created.
    ///
    /// # Errors
    /// [`LinkError::OtherType`] if the node has opened it with another type. What other nodes publish is a
    /// [`TopicTypes::clash`], which may end.
    pub(super) fn take(&self, ros: &RosHandle, spec: &TopicSpec) -> Result<(), LinkError> {
        let topic = ros.topic(&spec.name);
        self.check_own_type(&topic, spec)?;
        let mut inner = self.lock();
        inner
            .own
            .entry(topic.clone())
            .or_insert_with(|| Arc::clone(&spec.type_name));
        drop(inner);
        if spec.form == Form::Json {
            self.watch(ros, topic, spec);
        }
        Ok(())
    }

    /// Forgets a topic, by its full name: no endpoint on it is open any more.
    pub(super) fn release(&self, topic: &str) {
        let mut inner = self.lock();
        inner.own.remove(topic);
        inner.watched.retain(|(watched, _), _| watched != topic);
    }

    /// Checks the publishers of a topic, soon and periodically from then on.
    fn watch(&self, ros: &RosHandle, topic: String, spec: &TopicSpec) {
        let mut inner = self.lock();
        let key = (topic, Arc::clone(&spec.type_name));
        if inner.watched.contains_key(&key) {
            return;
        }
        inner.watched.insert(key, None);
        let began = std::mem::replace(&mut inner.looking, true);
        let types = self.clone();
        let own = (ros.namespace().to_owned(), ros.name().to_owned());
        ros.post(move |node| {
            types.check_types(node.rcl(), &own);
            if !began {
                let mut seen = None;
                node.every_with_node(CHECK_PERIOD, move |node| {
                    let changes = Some(node.graph_changes());
                    if std::mem::replace(&mut seen, changes) != changes {
                        types.check_types(node, &own);
                    }
                });
            }
        });
    }

    fn check_own_type(&self, topic: &str, spec: &TopicSpec) -> Result<(), LinkError> {
        match self.lock().own.get(topic) {
            Some(own) if *own != spec.type_name => Err(LinkError::OtherType {
                topic: topic.to_owned(),
                has: own.to_string(),
                wanted: spec.type_name.to_string(),
            }),
            _ => Ok(()),
        }
    }

    /// The known conflict with a topic of this type, if any.
    pub(super) fn clash(&self, ros: &RosHandle, spec: &TopicSpec) -> Option<LinkError> {
        let topic = ros.topic(&spec.name);
        let key = (topic, Arc::clone(&spec.type_name));
        let other = self.lock().watched.get(&key)?.clone()?;
        Some(LinkError::OtherType {
            topic: key.0,
            has: other,
            wanted: key.1.to_string(),
        })
    }

    /// Whether a tree may open a topic. Queries the node if the calling thread may wait, unless it is the node's own
    /// thread. `is_in_use`: an endpoint of another type has a user; one without is closed when the tree opens the topic.
    ///
    /// # Errors
    /// [`LinkError::OtherType`], as for [`TopicTypes::take`] or, for a topic in JSON, if all known publishers use another
    /// type.
    pub(super) fn try_on(&self, ros: &RosHandle, spec: &TopicSpec, is_in_use: bool) -> Result<(), LinkError> {
        let topic = ros.topic(&spec.name);
        if is_in_use {
            self.check_own_type(&topic, spec)?;
        }
        self.clash(ros, spec).map_or(Ok(()), Err)?;
        if spec.form == Form::Plain {
            return Ok(());
        }
        if ros.is_this_thread() {
            // The result is known when the first goal comes, and then the leaf fails.
            self.watch(ros, topic, spec);
            return Ok(());
        }
        let own = (ros.namespace().to_owned(), ros.name().to_owned());
        let (name, wanted) = (topic.clone(), Arc::clone(&spec.type_name));
        let other =
            ros.with_node_blocking(PATIENCE, move |node| other_type(node.rcl(), &own, &name, &wanted));
        match other {
            Ok(Some(has)) => Err(LinkError::OtherType {
                topic,
                has,
                wanted: spec.type_name.to_string(),
            }),
            _ => Ok(()),
        }
    }

    fn check_types(&self, node: &rcl::Node, own: &(String, String)) {
        let keys: Vec<(String, Arc<str>)> = self.lock().watched.keys().cloned().collect();
        for key in keys {
            let other = other_type(node, own, &key.0, &key.1);
            if let Some(known) = self.lock().watched.get_mut(&key) {
                *known = other;
            }
        }
    }
}

/// The type with which other nodes publish a topic; `None` if there are none, or if one of them uses the wanted type.
fn other_type(node: &rcl::Node, own: &(String, String), topic: &str, wanted: &str) -> Option<String> {
    let publishers = node.publishers(topic, false).ok()?;
    let mut others = publishers
        .into_iter()
        .filter(|one| (&one.namespace, &one.node) != (&own.0, &own.1))
        .map(|one| one.type_name)
        .peekable();
    let first = others.peek()?.clone();
    (!others.any(|type_name| type_name == wanted)).then_some(first)
}
