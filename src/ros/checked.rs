//! Messages whose texts are checked as they arrived. r2r replaces a text that is not UTF-8 by an empty one, which often
//! means a default, and cuts a text at its first zero byte.

use std::marker::PhantomData;

use r2r::nav2_msgs::action::NavigateThroughPoses::SendGoal::Request as NavigateThroughPoses;
use r2r::nav2_msgs::action::NavigateToPose::SendGoal::Request as NavigateToPose;
use r2r::{
    WrappedServiceTypeSupport, WrappedTypesupport, geometry_msgs, nav_msgs, rcl_interfaces, rosgraph_msgs,
    std_msgs, tf2_msgs,
};
use r2r_rcl as rcl;
use serde::{Deserialize, Serialize};

use super::convert::TopicType;

/// A message type whose texts can be checked.
pub trait Texts: WrappedTypesupport {
    /// The error in the first text of a rosidl message that r2r does not convert unchanged.
    fn fault(native: &Self::CStruct) -> Option<String>;
}

/// A message, and the error in its texts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Checked<M> {
    pub(in crate::ros) message: M,
    pub(in crate::ros) fault: Option<String>,
}

impl<M: Texts> WrappedTypesupport for Checked<M> {
    type CStruct = M::CStruct;

    fn get_ts() -> &'static rcl::rosidl_message_type_support_t {
        M::get_ts()
    }

    fn create_msg() -> *mut Self::CStruct {
        M::create_msg()
    }

    fn destroy_msg(native: *mut Self::CStruct) {
        M::destroy_msg(native);
    }

    fn from_native(native: &Self::CStruct) -> Self {
        Self {
            message: M::from_native(native),
            fault: M::fault(native),
        }
    }

    fn copy_to_native(&self, native: &mut Self::CStruct) {
        self.message.copy_to_native(native);
    }
}

/// A service whose requests are [`Checked`].
#[derive(Clone, Debug)]
pub(super) struct CheckedService<S>(PhantomData<fn() -> S>);

impl<S: WrappedServiceTypeSupport<Request: Texts>> WrappedServiceTypeSupport for CheckedService<S> {
    type Request = Checked<S::Request>;
    type Response = S::Response;

    fn get_ts() -> &'static rcl::rosidl_service_type_support_t {
        S::get_ts()
    }
}

/// Passes on the messages of a topic whose texts arrived unchanged. Drops the others, with one warning.
pub(super) fn whole<T: TopicType>(
    topic: &str,
    mut receiver: impl FnMut(T::Payload) + Send + 'static,
) -> impl FnMut(Checked<T::Wire>) + Send + 'static {
    let topic = topic.to_owned();
    let mut is_told = false;
    move |Checked { message, fault }| match fault {
        None => receiver(T::from_wire(message)),
        Some(fault) if !is_told => {
            is_told = true;
            tracing::warn!(
                "{topic}: message dropped: {fault}; more such messages are dropped without a warning"
            );
        }
        Some(_) => {}
    }
}

/// The error in a text; `name` is its name in the error.
///
/// # Safety
/// The text was made by rosidl.
unsafe fn fault_of(name: &str, text: &rcl::rosidl_runtime_c__String) -> Option<String> {
    // SAFETY: see above.
    let bytes = unsafe { elements(text, text.data.cast::<u8>(), text.size) };
    if bytes.contains(&0) {
        Some(format!("{name} has a zero byte"))
    } else if std::str::from_utf8(bytes).is_err() {
        Some(format!("{name} is not UTF-8"))
    } else {
        None
    }
}

/// # Safety
/// `data` is null, or points to `size` elements that exist as long as their owner.
unsafe fn elements<O, T>(_owner: &O, data: *const T, size: usize) -> &[T] {
    if data.is_null() {
        return &[];
    }
    // SAFETY: see above.
    unsafe { std::slice::from_raw_parts(data, size) }
}

impl Texts for NavigateToPose {
    fn fault(native: &Self::CStruct) -> Option<String> {
        let goal = &native.goal;
        // SAFETY: the message was made by rosidl.
        unsafe {
            fault_of("behavior_tree", &goal.behavior_tree)
                .or_else(|| fault_of("the pose's frame_id", &goal.pose.header.frame_id))
        }
    }
}

impl Texts for NavigateThroughPoses {
    fn fault(native: &Self::CStruct) -> Option<String> {
        let goal = &native.goal;
        // SAFETY: the message was made by rosidl.
        unsafe {
            let poses = elements(goal, goal.poses.data, goal.poses.size);
            let mut frames = poses.iter().map(|pose| &pose.header.frame_id);
            fault_of("behavior_tree", &goal.behavior_tree)
                .or_else(|| frames.find_map(|frame| fault_of("a pose's frame_id", frame)))
        }
    }
}

/// Messages whose texts control nothing: their texts are not checked.
macro_rules! taken_as_they_are {
    ($($message:ty),* $(,)?) => {
        $(impl $crate::ros::checked::Texts for $message {
            fn fault(_: &Self::CStruct) -> Option<String> {
                None
            }
        })*
    };
}

/// The goals of an action. The texts of a navigation are checked above. Only the simulated robot has servers of the
/// other actions: their texts are not checked.
macro_rules! goal_texts {
    ($package:ident NavigateToPose) => {};
    ($package:ident NavigateThroughPoses) => {};
    ($package:ident $action:ident) => {
        $crate::ros::checked::taken_as_they_are!(r2r::$package::action::$action::SendGoal::Request);
    };
}

/// A message of room `msg`. The frame of a pose is checked below.
macro_rules! message_texts {
    (geometry_msgs PoseStamped) => {};
    ($package:ident $message:ident) => {
        $crate::ros::checked::taken_as_they_are!(r2r::$package::msg::$message);
    };
}
pub(super) use {goal_texts, message_texts, taken_as_they_are};

taken_as_they_are!(
    nav_msgs::msg::Odometry,
    nav_msgs::msg::Path,
    rosgraph_msgs::msg::Clock,
    std_msgs::msg::Bool,
    tf2_msgs::msg::TFMessage,
);

macro_rules! parameters {
    ($($service:ident)*) => {
        $(impl Texts for rcl_interfaces::srv::$service::Request {
            fn fault(native: &Self::CStruct) -> Option<String> {
                // SAFETY: the message was made by rosidl.
                unsafe {
                    let parameters = elements(native, native.parameters.data, native.parameters.size);
                    parameters.iter().find_map(|parameter| {
                        let (value, list) = (&parameter.value, &parameter.value.string_array_value);
                        let texts = elements(list, list.data, list.size);
                        fault_of("the name of a parameter", &parameter.name)
                            .or_else(|| fault_of("the value of a parameter", &value.string_value))
                            .or_else(|| texts.iter().find_map(|text| fault_of("the value of a parameter", text)))
                    })
                }
            }
        })*
    };
}

parameters!(SetParameters SetParametersAtomically);

impl Texts for std_msgs::msg::String {
    fn fault(native: &Self::CStruct) -> Option<String> {
        // SAFETY: the message was made by rosidl.
        unsafe { fault_of("the text", &native.data) }
    }
}

macro_rules! of_one_frame {
    ($($message:ident)*) => {
        $(impl Texts for geometry_msgs::msg::$message {
            fn fault(native: &Self::CStruct) -> Option<String> {
                // SAFETY: the message was made by rosidl.
                unsafe { fault_of("the frame_id", &native.header.frame_id) }
            }
        })*
    };
}

of_one_frame!(PoseArray PoseStamped);

impl Texts for nav_msgs::msg::Goals {
    fn fault(native: &Self::CStruct) -> Option<String> {
        // SAFETY: the message was made by rosidl.
        unsafe {
            let poses = elements(native, native.goals.data, native.goals.size);
            let mut frames = poses.iter().map(|pose| &pose.header.frame_id);
            fault_of("the frame_id", &native.header.frame_id)
                .or_else(|| frames.find_map(|frame| fault_of("a pose's frame_id", frame)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use r2r::NativeMsg;

    /// The bytes of a text, and the fault that is found.
    const TEXTS: [(&[u8], &str); 3] = [
        (b"\xff\xfe.xml", "is not UTF-8"),
        (b"\0x", "has a zero byte"),
        (b"a", ""),
    ];

    fn assign(text: &mut rcl::rosidl_runtime_c__String, bytes: &[u8]) {
        // SAFETY: the text was made by rosidl, and the length is that of the bytes.
        let done =
            unsafe { rcl::rosidl_runtime_c__String__assignn(text, bytes.as_ptr().cast(), bytes.len()) };
        assert!(done);
    }

    /// The errors found when the texts are put into a message.
    fn found<M: Texts + 'static>(message: &M, put: impl Fn(&mut M::CStruct, &[u8])) -> Vec<String> {
        let faults = TEXTS.map(|(bytes, _)| {
            let mut native = NativeMsg::<M>::from(message);
            put(&mut native, bytes);
            Checked::<M>::from_native(&native).fault.unwrap_or_default()
        });
        faults.to_vec()
    }

    fn faults(name: &str) -> Vec<String> {
        TEXTS
            .iter()
            .map(|(_, fault)| {
                if fault.is_empty() {
                    String::new()
                } else {
                    format!("{name} {fault}")
                }
            })
            .collect()
    }

    #[test]
    fn g8_a_pose_whose_frame_r2r_cuts_is_not_taken_for_one_in_another_frame() {
        let (taken, poses) = std::sync::mpsc::channel();
        let mut take = whole::<crate::msg::PoseStamped>("goal_pose", move |pose| {
            taken.send(pose.header.frame_id.to_string()).unwrap();
        });
        let frames: [&[u8]; 3] = [b"map\0_floor2", b"map", b"map\0"];
        for frame in frames {
            let mut native = NativeMsg::<geometry_msgs::msg::PoseStamped>::from(
                &geometry_msgs::msg::PoseStamped::default(),
            );
            assign(&mut native.header.frame_id, frame);
            take(Checked::<geometry_msgs::msg::PoseStamped>::from_native(&native));
        }
        assert_eq!(poses.try_iter().collect::<Vec<_>>(), ["map"]);
    }

    #[test]
    fn g8_a_text_that_r2r_empties_or_cuts_is_found_in_goals_parameters_and_topics() {
        let to_pose = NavigateToPose::default();
        let tree = found(&to_pose, |native, bytes| {
            assign(&mut native.goal.behavior_tree, bytes);
        });
        assert_eq!(tree, faults("behavior_tree"));
        let frame = found(&to_pose, |native, bytes| {
            assign(&mut native.goal.pose.header.frame_id, bytes);
        });
        assert_eq!(frame, faults("the pose's frame_id"));

        let mut through = NavigateThroughPoses::default();
        through.goal.poses = vec![Default::default(); 2];
        let tree = found(&through, |native, bytes| {
            assign(&mut native.goal.behavior_tree, bytes);
        });
        assert_eq!(tree, faults("behavior_tree"));
        let frame = found(&through, |native, bytes| {
            // SAFETY: there are two poses.
            let pose = unsafe { &mut *native.goal.poses.data.add(1) };
            assign(&mut pose.header.frame_id, bytes);
        });
        assert_eq!(frame, faults("a pose's frame_id"));

        let mut parameters = rcl_interfaces::srv::SetParameters::Request {
            parameters: vec![Default::default()],
        };
        parameters.parameters[0].value.string_array_value = vec![String::new()];
        // SAFETY: there is one parameter, with one text in its list.
        let name = found(&parameters, |native, bytes| unsafe {
            assign(&mut (*native.parameters.data).name, bytes);
        });
        assert_eq!(name, faults("the name of a parameter"));
        // SAFETY: as above.
        let value = found(&parameters, |native, bytes| unsafe {
            assign(&mut (*native.parameters.data).value.string_value, bytes);
        });
        assert_eq!(value, faults("the value of a parameter"));
        // SAFETY: as above.
        let value = found(&parameters, |native, bytes| unsafe {
            assign(
                &mut *(*native.parameters.data).value.string_array_value.data,
                bytes,
            );
        });
        assert_eq!(value, faults("the value of a parameter"));

        let text = found(&std_msgs::msg::String::default(), |native, bytes| {
            assign(&mut native.data, bytes);
        });
        assert_eq!(text, faults("the text"));
    }
}
