//! What a node knows of the other nodes.

use std::ffi::CStr;

use r2r_rcl as rcl;

use super::graph_changes::GraphChanges;
use super::node::text;
use super::{Node, c_string, check};
use crate::ros::RosError;

/// An endpoint of a topic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::ros) struct Endpoint {
    /// The name of its node.
    pub(in crate::ros) node: String,
    /// The namespace of its node.
    pub(in crate::ros) namespace: String,
    pub(in crate::ros) type_name: String,
    /// Its unique id, never used again.
    pub(in crate::ros) gid: Box<[u8]>,
}

impl Node {
    /// The number of changes of the graph that the node's context has noticed. A graph with an equal number has not
    /// changed; several changes between two calls count as one. Each reading of the graph walks through all of it, so
    /// what repeats a reading asks here first.
    pub(in crate::ros) fn graph_changes(&self) -> u64 {
        // SAFETY: rcl made the node, in this context.
        self.with_graph_changes(|changes| unsafe { changes.count(self.as_ptr()) })
    }

    /// The [number of changes](Node::graph_changes) a moment ago, for checks that come again soon.
    pub(in crate::ros) fn recent_graph_changes(&self) -> u64 {
        // SAFETY: rcl made the node, in this context.
        self.with_graph_changes(|changes| unsafe { changes.recent_count(self.as_ptr()) })
    }

    /// Calls `count` with the counter of the node's context. 0 if the context has ended.
    fn with_graph_changes(&self, count: impl FnOnce(&mut GraphChanges) -> u64) -> u64 {
        let context = self.handle().context();
        let changes = context.as_ref().map(|context| context.graph_changes());
        changes
            .and_then(|mut changes| Some(count(changes.as_mut()?)))
            .unwrap_or(0)
    }

    /// Reads the graph in the turn of this thread; `read` gets the [number of changes](Node::graph_changes). `None` if
    /// another thread of the process has the turn, or had it just now: what can wait asks again later.
    pub(in crate::ros) fn read_in_turn<T>(&self, read: impl FnOnce(u64) -> T) -> Option<T> {
        let context = self.handle().context()?;
        let _turn = context.graph_turns.begin()?;
        Some(read(self.graph_changes()))
    }

    /// The full names of all topics on the graph, each with its types.
    ///
    /// # Errors
    /// [`RosError::Context`].
    pub(in crate::ros) fn topics(&self) -> Result<Vec<(String, Vec<String>)>, RosError> {
        // SAFETY: rcl made the node; it fills the lists with `size` C strings each, one list of types for each name.
        unsafe {
            let mut allocator = rcl::rcutils_get_default_allocator();
            let mut found = rcl::rmw_get_zero_initialized_names_and_types();
            let code =
                rcl::rcl_get_topic_names_and_types(self.as_ptr(), &raw mut allocator, false, &raw mut found);
            check("rcl_get_topic_names_and_types", code)?;
            let names = strings(&found.names);
            let topics = (0..names.len())
                .map(|index| strings(&*found.types.add(index)))
                .zip(names)
                .map(|(types, name)| (name, types))
                .collect();
            rcl::rmw_names_and_types_fini(&raw mut found);
            Ok(topics)
        }
    }

    /// The publishers of a topic. `is_dds_name`: the topic is a name of DDS, not one of ROS.
    ///
    /// # Errors
    /// [`RosError::Context`].
    pub(in crate::ros) fn publishers(
        &self,
        topic: &str,
        is_dds_name: bool,
    ) -> Result<Vec<Endpoint>, RosError> {
        let topic = c_string(topic)?;
        // SAFETY: rcl made the node; it fills the list with `size` endpoints, whose texts are C strings; the list is freed
        // once, after they were copied, whether the call has filled it or not.
        unsafe {
            let mut allocator = rcl::rcutils_get_default_allocator();
            let mut found = rcl::rmw_get_zero_initialized_topic_endpoint_info_array();
            let code = rcl::rcl_get_publishers_info_by_topic(
                self.as_ptr(),
                &raw mut allocator,
                topic.as_ptr(),
                is_dds_name,
                &raw mut found,
            );
            let result = check("rcl_get_publishers_info_by_topic", code);
            let endpoints = (0..found.size)
                .map(|index| {
                    let info = &*found.info_array.add(index);
                    Endpoint {
                        node: text(info.node_name),
                        namespace: text(info.node_namespace),
                        type_name: text(info.topic_type),
                        gid: Box::from(info.endpoint_gid),
                    }
                })
                .collect();
            rcl::rmw_topic_endpoint_info_array_fini(&raw mut found, &raw mut allocator);
            result.map(|()| endpoints)
        }
    }

    /// The nodes on the graph, each with its namespace and its name.
    ///
    /// # Errors
    /// [`RosError::Context`].
    pub(in crate::ros) fn nodes(&self) -> Result<Vec<(String, String)>, RosError> {
        // SAFETY: rcl made the node; it fills both lists with C strings; each list is freed once.
        unsafe {
            let mut names = rcl::rcutils_get_zero_initialized_string_array();
            let mut namespaces = rcl::rcutils_get_zero_initialized_string_array();
            let allocator = rcl::rcutils_get_default_allocator();
            let code = rcl::rcl_get_node_names(self.as_ptr(), allocator, &raw mut names, &raw mut namespaces);
            let result = check("rcl_get_node_names", code);
            let nodes = strings(&namespaces).into_iter().zip(strings(&names)).collect();
            rcl::rcutils_string_array_fini(&raw mut names);
            rcl::rcutils_string_array_fini(&raw mut namespaces);
            result.map(|()| nodes)
        }
    }
}

/// # Safety
/// The array has `size` C strings.
unsafe fn strings(array: &rcl::rcutils_string_array_t) -> Vec<String> {
    (0..array.size)
        // SAFETY: promised by the caller.
        .map(|index| unsafe { CStr::from_ptr(*array.data.add(index)) })
        .map(|text| text.to_string_lossy().into_owned())
        .collect()
}
