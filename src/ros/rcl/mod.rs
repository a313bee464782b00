//! rcl's context, node and entities, as types that destroy them when they are dropped.
//!
//! r2r generates the messages and their type support; its node is not used, because it hides its handles, destroys no
//! entity, and waits on a set of all entities. An entity tells a [`Mark`](super::ready::Mark) how many messages have
//! arrived. Take as often as that, also after a take that returns nothing: a client also receives the responses to other clients,
//! and a take that finds such a one returns nothing.
//!
//! An entity exists until its last owner drops it, and not longer than its [`Node`]: the node closes those that are
//! left, so that other programs see them disappear.

mod client;
mod context;
mod entity;
mod graph;
mod graph_changes;
mod graph_turn;
mod node;
mod publisher;
mod service;
mod subscription;
#[cfg(test)]
pub(in crate::ros) mod tests;

pub(in crate::ros) use client::Client;
pub(in crate::ros) use context::Context;
pub(in crate::ros) use node::Node;
pub use publisher::Publisher;
pub(in crate::ros) use publisher::Serialized;
pub use service::Reply;
pub(in crate::ros) use service::Service;
pub(in crate::ros) use subscription::Subscription;

use std::ffi::{CStr, CString};

use r2r_rcl as rcl;

use super::RosError;

/// Converts the return code of an rcl call.
fn check(call: &str, code: rcl::rcl_ret_t) -> Result<(), RosError> {
    reason(call, code).map_or(Ok(()), |reason| Err(RosError::Context(reason)))
}

/// Why a call of rcl failed; `None` if it did not. Resets rcl's record of the error, which would otherwise warn about
/// the next one.
fn reason(call: &str, code: rcl::rcl_ret_t) -> Option<String> {
    if code == 0 {
        return None;
    }
    // SAFETY: both only use the memory of this thread; the text ends with a zero byte.
    let text = unsafe {
        let error = rcl::rcutils_get_error_string();
        let text = CStr::from_ptr(error.str_.as_ptr()).to_string_lossy().into_owned();
        let is_set = rcl::rcutils_error_is_set();
        rcl::rcutils_reset_error();
        is_set.then_some(text)
    };
    Some(match text {
        Some(text) => format!("{call} returned {code}: {text}"),
        None => format!("{call} returned {code}"),
    })
}

/// Whether a take has brought a message. Resets rcl's record of an error.
fn is_taken(code: rcl::rcl_ret_t) -> bool {
    if code != 0 {
        // SAFETY: it only uses the memory of this thread.
        unsafe { rcl::rcutils_reset_error() };
    }
    code == 0
}

fn c_string(text: impl Into<Vec<u8>>) -> Result<CString, RosError> {
    CString::new(text).map_err(|_| RosError::Context("a name contains a zero byte".to_owned()))
}
