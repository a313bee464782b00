//! The messages of room `msg` and those of r2r: each converted once, here, at the boundary.

mod action;
mod service;
mod structs;
mod topic;

use std::sync::Arc;
use std::time::Duration;

use r2r::{WrappedActionTypeSupport, WrappedServiceTypeSupport, WrappedTypesupport};

use crate::msg::duration::RosDuration;
use crate::msg::{Action, Service, Stamp};

pub use topic::{Flag, Goals, PoseArray, SimulatedTime, Text, TopicType, Transforms};

/// A struct that has a counterpart on the wire. r2r's structs are written out in full wherever one is made: their
/// `Default` goes through C and allocates.
pub trait Mirror: Sized {
    /// The counterpart.
    type Wire;
    /// Copies it into its counterpart.
    fn to_wire(&self) -> Self::Wire;
    /// Takes it out of its counterpart.
    fn from_wire(wire: Self::Wire) -> Self;
}

/// An action type that can be carried.
pub trait ActionType:
    Action<
        Goal: Mirror<Wire = <Self::Wire as WrappedActionTypeSupport>::Goal>,
        Result: Mirror<Wire = <Self::Wire as WrappedActionTypeSupport>::Result>,
        Feedback: Mirror<Wire = <Self::Wire as WrappedActionTypeSupport>::Feedback>,
    >
{
    /// r2r's name for it.
    type Wire: ActionWire;
}

/// What is asked of r2r's action types beyond their trait, so that they may cross threads.
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

/// The same for service types.
pub trait ServiceWire:
    WrappedServiceTypeSupport<Request: Send + 'static, Response: Send + 'static> + Send + 'static
{
}

impl<T> ServiceWire for T where
    T: WrappedServiceTypeSupport<Request: Send + 'static, Response: Send + 'static> + Send + 'static
{
}

/// A service type that can be carried.
pub trait ServiceType:
    Service<
        Request: Mirror<Wire = <Self::Wire as WrappedServiceTypeSupport>::Request>,
        Response: Mirror<Wire = <Self::Wire as WrappedServiceTypeSupport>::Response>,
    >
{
    /// r2r's name for it.
    type Wire: ServiceWire;
}

/// The same fields on both sides, and what the wire has beyond them.
macro_rules! mirror {
    ($ours:ty = $wire:ty { $($field:ident),* $(,)? } $(plus { $($extra:ident : $value:expr),* $(,)? })?) => {
        impl $crate::ros::mirror::Mirror for $ours {
            type Wire = $wire;
            fn to_wire(&self) -> $wire {
                type W = $wire;
                W {
                    $($field: $crate::ros::mirror::Mirror::to_wire(&self.$field),)*
                    $($($extra: $value,)*)?
                }
            }
            #[allow(unused_variables, reason = "some interfaces have no fields")]
            fn from_wire(wire: $wire) -> Self {
                Self { $($field: $crate::ros::mirror::Mirror::from_wire(wire.$field),)* }
            }
        }
    };
}
use mirror;

macro_rules! same_on_the_wire {
    ($($type:ty),*) => {
        $(impl Mirror for $type {
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

same_on_the_wire!(bool, u8, i16, u16, i32, i64, f32, f64, String);

impl<T: Mirror> Mirror for Vec<T> {
    type Wire = Vec<T::Wire>;
    fn to_wire(&self) -> Self::Wire {
        self.iter().map(T::to_wire).collect()
    }
    fn from_wire(wire: Self::Wire) -> Self {
        wire.into_iter().map(T::from_wire).collect()
    }
}

impl<T: Mirror> Mirror for Arc<T> {
    type Wire = T::Wire;
    fn to_wire(&self) -> Self::Wire {
        T::to_wire(self)
    }
    fn from_wire(wire: Self::Wire) -> Self {
        Self::new(T::from_wire(wire))
    }
}

impl Mirror for Arc<str> {
    type Wire = String;
    fn to_wire(&self) -> String {
        self.as_ref().to_owned()
    }
    fn from_wire(wire: String) -> Self {
        wire.into()
    }
}

impl Mirror for Stamp {
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

impl Mirror for crate::goal::Stamp {
    type Wire = r2r::builtin_interfaces::msg::Time;
    fn to_wire(&self) -> Self::Wire {
        let (sec, nanosec) = self.to_parts();
        Self::Wire { sec, nanosec }
    }
    fn from_wire(wire: Self::Wire) -> Self {
        Self::from_parts(wire.sec, wire.nanosec)
    }
}

impl Mirror for Duration {
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
