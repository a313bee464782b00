//! Converts between the messages of room `msg` and those of r2r, once, at the boundary.

mod action;
mod message;
mod service;
mod topic;

use std::sync::Arc;
use std::time::Duration;

use r2r::{WrappedActionTypeSupport, WrappedServiceTypeSupport, WrappedTypesupport};

use super::checked::Texts;
use crate::msg::duration::RosDuration;
use crate::msg::{Action, Service, Stamp};

pub use topic::{Flag, Goals, PoseArray, SimulatedTime, Text, TopicType, Transforms};

/// A struct with a counterpart on the wire. Implementations write all fields of r2r's structs: their `Default` calls C
/// and allocates.
pub trait Convert: Sized {
    /// The counterpart.
    type Wire;
    /// Copies the value into its counterpart.
    fn to_wire(&self) -> Self::Wire;
    /// Converts the counterpart back.
    fn from_wire(wire: Self::Wire) -> Self;
    /// Whether a text contains a zero byte. r2r panics on one, so [`Convert::to_wire`] replaces it with `␀`: acceptable
    /// in texts for people, but not in a goal or a request.
    fn has_zero_byte(&self) -> bool {
        false
    }
}

/// A text that r2r can send, with `␀` for each zero byte.
pub(in crate::ros) fn wire_text(text: &str) -> String {
    if text.contains('\0') {
        text.replace('\0', "␀")
    } else {
        text.to_owned()
    }
}

/// An action type that this room supports.
pub trait ActionType:
    Action<
        Goal: Convert<Wire = <Self::Wire as WrappedActionTypeSupport>::Goal>,
        Result: Convert<Wire = <Self::Wire as WrappedActionTypeSupport>::Result>,
        Feedback: Convert<Wire = <Self::Wire as WrappedActionTypeSupport>::Feedback>,
    >
{
    /// The type in r2r.
    type Wire: ActionWire;
}

/// The requirements for r2r's action types beyond their trait, for use across threads.
pub trait ActionWire:
    WrappedActionTypeSupport<
        Goal: Send,
        Result: Send,
        Feedback: Send,
        FeedbackMessage: WrappedTypesupport + Send + 'static,
        SendGoal: ServiceWire,
        GetResult: ServiceWire,
    > + 'static
{
}

impl<T> ActionWire for T where
    T: WrappedActionTypeSupport<
            Goal: Send,
            Result: Send,
            Feedback: Send,
            FeedbackMessage: WrappedTypesupport + Send + 'static,
            SendGoal: ServiceWire,
            GetResult: ServiceWire,
        > + 'static
{
}

/// An action type with a server here: the texts of its goals can be checked.
pub trait ServedAction:
    ActionType<Wire: WrappedActionTypeSupport<SendGoal: WrappedServiceTypeSupport<Request: Texts>>>
{
}

impl<T> ServedAction for T where
    T: ActionType<Wire: WrappedActionTypeSupport<SendGoal: WrappedServiceTypeSupport<Request: Texts>>>
{
}

/// The requirements for r2r's service types beyond their trait, for use across threads.
pub trait ServiceWire:
    WrappedServiceTypeSupport<Request: Send + 'static, Response: Send + 'static> + Send + 'static
{
}

impl<T> ServiceWire for T where
    T: WrappedServiceTypeSupport<Request: Send + 'static, Response: Send + 'static> + Send + 'static
{
}

/// A service type that this room supports.
pub trait ServiceType:
    Service<
        Request: Convert<Wire = <Self::Wire as WrappedServiceTypeSupport>::Request>,
        Response: Convert<Wire = <Self::Wire as WrappedServiceTypeSupport>::Response>,
    >
{
    /// The type in r2r.
    type Wire: ServiceWire;
}

/// Implements the conversion of fields with the same names on both sides; `plus` sets the other fields of the wire
/// type.
macro_rules! convert {
    ($ours:ty = $wire:ty { $($field:ident),* $(,)? } $(plus { $($extra:ident : $value:expr),* $(,)? })?) => {
        impl $crate::ros::convert::Convert for $ours {
            type Wire = $wire;
            fn to_wire(&self) -> $wire {
                type W = $wire;
                W {
                    $($field: $crate::ros::convert::Convert::to_wire(&self.$field),)*
                    $($($extra: $value,)*)?
                }
            }
            #[allow(unused_variables, reason = "some interfaces have no fields")]
            fn from_wire(wire: $wire) -> Self {
                Self { $($field: $crate::ros::convert::Convert::from_wire(wire.$field),)* }
            }
            fn has_zero_byte(&self) -> bool {
                false $(|| $crate::ros::convert::Convert::has_zero_byte(&self.$field))*
            }
        }
    };
}
use convert;

macro_rules! same_on_the_wire {
    ($($type:ty),*) => {
        $(impl Convert for $type {
            type Wire = Self;
            fn to_wire(&self) -> Self {
                self.clone()
            }
            fn from_wire(wire: Self) -> Self {
                wire
            }
        })*
    };
}

same_on_the_wire!(bool, i8, u8, i16, u16, i32, u32, i64, f32, f64);

impl Convert for String {
    type Wire = Self;
    fn to_wire(&self) -> Self {
        wire_text(self)
    }
    fn from_wire(wire: Self) -> Self {
        wire
    }
    fn has_zero_byte(&self) -> bool {
        self.contains('\0')
    }
}

impl<T: Convert> Convert for Vec<T> {
    type Wire = Vec<T::Wire>;
    fn to_wire(&self) -> Self::Wire {
        self.iter().map(T::to_wire).collect()
    }
    fn from_wire(wire: Self::Wire) -> Self {
        wire.into_iter().map(T::from_wire).collect()
    }
    fn has_zero_byte(&self) -> bool {
        self.iter().any(T::has_zero_byte)
    }
}

impl<T: Convert> Convert for Arc<T> {
    type Wire = T::Wire;
    fn to_wire(&self) -> Self::Wire {
        T::to_wire(self)
    }
    fn from_wire(wire: Self::Wire) -> Self {
        Self::new(T::from_wire(wire))
    }
    fn has_zero_byte(&self) -> bool {
        T::has_zero_byte(self)
    }
}

impl Convert for Arc<str> {
    type Wire = String;
    fn to_wire(&self) -> String {
        wire_text(self)
    }
    fn from_wire(wire: String) -> Self {
        wire.into()
    }
    fn has_zero_byte(&self) -> bool {
        self.contains('\0')
    }
}

impl Convert for Stamp {
    type Wire = r2r::builtin_interfaces::msg::Time;
    fn to_wire(&self) -> Self::Wire {
        Self::Wire {
            sec: self.sec,
            nanosec: self.nanosec,
        }
    }
    fn from_wire(wire: Self::Wire) -> Self {
        Self {
            sec: wire.sec,
            nanosec: wire.nanosec,
        }
    }
}

impl Convert for crate::goal::Stamp {
    type Wire = r2r::builtin_interfaces::msg::Time;
    fn to_wire(&self) -> Self::Wire {
        let (sec, nanosec) = self.to_parts();
        Self::Wire { sec, nanosec }
    }
    fn from_wire(wire: Self::Wire) -> Self {
        Self::from_parts(wire.sec, wire.nanosec)
    }
}

impl Convert for Duration {
    type Wire = r2r::builtin_interfaces::msg::Duration;
    fn to_wire(&self) -> Self::Wire {
        let RosDuration { sec, nanosec } = (*self).into();
        Self::Wire { sec, nanosec }
    }
    fn from_wire(wire: Self::Wire) -> Self {
        RosDuration {
            sec: wire.sec,
            nanosec: wire.nanosec,
        }
        .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msg::action::{ComputePathToPoseGoal, FollowPathGoal};
    use crate::msg::{Header, Path, Pose};

    #[test]
    fn g8_a_zero_byte_is_found_in_every_text_and_replaced_on_the_wire() {
        let mut goal = ComputePathToPoseGoal::default();
        assert!(!goal.has_zero_byte());
        goal.goal.header.frame_id = "ma\0p".into();
        assert!(goal.has_zero_byte());
        let wire = goal.to_wire();
        assert_eq!(wire.goal.header.frame_id, "ma␀p");
        // r2r does the same when it sends.
        drop(r2r::NativeMsg::from(&wire));
        let mut path = Path::through(Header::in_frame("map"), [Pose::default(), Pose::default()]);
        path.poses[1].header.frame_id = "\0".into();
        let goal = FollowPathGoal {
            path: Arc::new(path),
            ..FollowPathGoal::default()
        };
        assert!(goal.has_zero_byte());
        assert_eq!(goal.to_wire().path.poses[1].header.frame_id, "␀");
    }

    #[test]
    fn g8_every_topic_of_text_replaces_a_zero_byte() {
        assert_eq!(Text::to_wire(&"a\0".to_owned()).data, "a␀");
    }
}
