//! The macros that declare an interface once, in one place.
//!
//! A declaration gives the ROS type and the fields with their Rust types:
//!
//! ```text
//! action! {
//!     nav2_msgs/action/UndockRobot
//!
//!     codes {
//!         /// The drive failed.
//!         FAILED_TO_CONTROL = 905,
//!     }
//!
//!     /// The goal.
//!     goal UndockRobotGoal {
//!         /// The dock plugin.
//!         dock_type: String,
//!         /// Maximum time, seconds.
//!         max_undocking_time: f32 = 30.0,
//!     }
//!     …
//! }
//! ```
//!
//! The declaration is used twice:
//!
//! - Here, it makes the structs with their default values and their JSON form. For an action or a service, it implements
//!   [`Action`](super::Action) or [`Service`](super::Service).
//! - In room `ros`, it makes the conversion to r2r's structs and the entry in the registry. This room must not use room
//!   `ros`. Therefore the declaration also defines a macro `fields!`, which contains the names of the structs and fields.
//!   Room `ros` defines `convert_action!`, `convert_service!` and `convert_messages!`, and then calls `fields!`, which
//!   calls one of them.
//!
//! A field without `= value` has the default value of its type. Its type decides how it is converted (`Convert` in
//! `src/ros/convert`). `omits { field: value, }` after a struct gives the fields of the interface that the struct does not
//! have, with the values that are sent. Room `ros` evaluates these values. It has the package `std_msgs` in scope.

/// Declares an action: the marker type, its error codes, goal, result and feedback.
///
/// The error functions of [`Action`](super::Action) use the fields `error_code`, `error_msg` and `success` of the result.
/// Each of them may be missing.
macro_rules! action {
    (
        $package:ident / action / $action:ident
        $(codes { $($(#[$code_meta:meta])* $code:ident = $number:literal,)* })?
        $(#[$goal_meta:meta])* goal $goal:ident {
            $($(#[$goal_field_meta:meta])* $goal_field:ident: $goal_type:ty $(= $goal_default:expr)?,)*
        } $(omits { $($goal_omitted:ident: $goal_value:expr,)* })?
        $(#[$result_meta:meta])* result $result:ident {
            $($(#[$result_field_meta:meta])* $result_field:ident: $result_type:ty $(= $result_default:expr)?,)*
        } $(omits { $($result_omitted:ident: $result_value:expr,)* })?
        $(#[$feedback_meta:meta])* feedback $feedback:ident {
            $($(#[$feedback_field_meta:meta])* $feedback_field:ident: $feedback_type:ty $(= $feedback_default:expr)?,)*
        } $(omits { $($feedback_omitted:ident: $feedback_value:expr,)* })?
    ) => {
        #[doc = concat!("The action `", stringify!($package), "/action/", stringify!($action), "`.")]
        #[derive(Clone, Copy, Debug)]
        pub struct $action;

        $(impl $action {
            $($(#[$code_meta])* pub const $code: u16 = $number;)*
        })?

        impl $crate::msg::Action for $action {
            type Goal = $goal;
            type Result = $result;
            type Feedback = $feedback;
            const TYPE: &'static str = concat!(stringify!($package), "/action/", stringify!($action));
            const ERROR_CODES: &'static [(u16, &'static str)] = &[$($(($number, stringify!($code))),*)?];

            #[allow(unused_variables, reason = "some results have no error fields")]
            fn error_code(result: &$result) -> u16 {
                $crate::msg::declare::action!(@code result $($result_field)*)
            }

            #[allow(unused_variables, reason = "some results have no error fields")]
            fn error_message(result: &$result) -> &str {
                $crate::msg::declare::action!(@message result $($result_field)*)
            }

            #[allow(unused_mut, unused_variables, reason = "some results have no error fields")]
            fn failure(code: u16, message: &str) -> $result {
                let mut result = $result::default();
                $($crate::msg::declare::action!(@fail result code message $result_field);)*
                result
            }
        }

        $crate::msg::declare::plain_struct! {
            $(#[$goal_meta])* $goal {
                $($(#[$goal_field_meta])* $goal_field: $goal_type $(= $goal_default)?,)*
            }
        }
        $crate::msg::declare::plain_struct! {
            $(#[$result_meta])* $result {
                $($(#[$result_field_meta])* $result_field: $result_type $(= $result_default)?,)*
            }
        }
        $crate::msg::declare::plain_struct! {
            $(#[$feedback_meta])* $feedback {
                $($(#[$feedback_field_meta])* $feedback_field: $feedback_type $(= $feedback_default)?,)*
            }
        }

        #[cfg(feature = "ros")]
        macro_rules! fields {
            () => {
                convert_action! {
                    $package $action;
                    $goal { $($goal_field),* } plus { $($($goal_omitted: $goal_value),*)? }
                    $result { $($result_field),* } plus { $($($result_omitted: $result_value),*)? }
                    $feedback { $($feedback_field),* } plus { $($($feedback_omitted: $feedback_value),*)? }
                }
            };
        }
        #[cfg(feature = "ros")]
        pub(crate) use fields;
    };

    (@code $result:ident error_code $($field:ident)*) => { $result.error_code };
    (@code $result:ident $other:ident $($field:ident)*) => {
        $crate::msg::declare::action!(@code $result $($field)*)
    };
    (@code $result:ident) => { 0 };

    (@message $result:ident error_msg $($field:ident)*) => { &$result.error_msg };
    (@message $result:ident $other:ident $($field:ident)*) => {
        $crate::msg::declare::action!(@message $result $($field)*)
    };
    (@message $result:ident) => { "" };

    (@fail $result:ident $code:ident $message:ident error_code) => { $result.error_code = $code; };
    (@fail $result:ident $code:ident $message:ident error_msg) => { $result.error_msg = $message.to_owned(); };
    (@fail $result:ident $code:ident $message:ident success) => { $result.success = false; };
    (@fail $result:ident $code:ident $message:ident $other:ident) => {};
}

/// Declares a service: the marker type, the request and the response.
macro_rules! service {
    (
        $package:ident / srv / $service:ident
        $(#[$request_meta:meta])* request $request:ident {
            $($(#[$request_field_meta:meta])* $request_field:ident: $request_type:ty $(= $request_default:expr)?,)*
        } $(omits { $($request_omitted:ident: $request_value:expr,)* })?
        $(#[$response_meta:meta])* response $response:ident {
            $($(#[$response_field_meta:meta])* $response_field:ident: $response_type:ty $(= $response_default:expr)?,)*
        } $(omits { $($response_omitted:ident: $response_value:expr,)* })?
    ) => {
        #[doc = concat!("The service `", stringify!($package), "/srv/", stringify!($service), "`.")]
        #[derive(Clone, Copy, Debug)]
        pub struct $service;

        impl $crate::msg::Service for $service {
            type Request = $request;
            type Response = $response;
            const TYPE: &'static str = concat!(stringify!($package), "/srv/", stringify!($service));
        }

        $crate::msg::declare::plain_struct! {
            $(#[$request_meta])* $request {
                $($(#[$request_field_meta])* $request_field: $request_type $(= $request_default)?,)*
            }
        }
        $crate::msg::declare::plain_struct! {
            $(#[$response_meta])* $response {
                $($(#[$response_field_meta])* $response_field: $response_type $(= $response_default)?,)*
            }
        }

        #[cfg(feature = "ros")]
        #[allow(unused_macros, reason = "some services are not in Jazzy")]
        macro_rules! fields {
            () => {
                convert_service! {
                    $package $service;
                    $request { $($request_field),* } plus { $($($request_omitted: $request_value),*)? }
                    $response { $($response_field),* } plus { $($($response_omitted: $response_value),*)? }
                }
            };
        }
        #[cfg(feature = "ros")]
        #[allow(unused_imports, reason = "some services are not in Jazzy")]
        pub(crate) use fields;
    };
}

/// Declares the messages of a file, which are in one package. The name of a struct is that of its message.
macro_rules! messages {
    (
        $package:ident
        $(
            $(#[$meta:meta])* struct $name:ident {
                $($(#[$field_meta:meta])* $field:ident: $type:ty $(= $default:expr)?,)*
            } $(omits { $($omitted:ident: $value:expr,)* })?
        )+
    ) => {
        $(
            $crate::msg::declare::plain_struct! {
                $(#[$meta])* $name {
                    $($(#[$field_meta])* $field: $type $(= $default)?,)*
                }
            }

            impl $name {
                /// The ROS type, as `ros2 topic list -t` prints it.
                pub const ROS_TYPE: &'static str = concat!(stringify!($package), "/msg/", stringify!($name));
            }
        )+

        #[cfg(feature = "ros")]
        macro_rules! fields {
            () => {
                convert_messages! {
                    $package;
                    $($name { $($field),* } plus { $($($omitted: $value),*)? })+
                }
            };
        }
        #[cfg(feature = "ros")]
        pub(crate) use fields;
    };
}

/// Declares a struct with public fields, default values, and a JSON form in which every field may be missing.
macro_rules! plain_struct {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$field_meta:meta])* $field:ident: $type:ty $(= $default:expr)?,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(default)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl Default for $name {
            /// The defaults of the interface.
            fn default() -> Self {
                Self { $($field: $crate::msg::declare::plain_struct!(@default $($default)?),)* }
            }
        }
    };
    (@default) => { Default::default() };
    (@default $value:expr) => { $value };
}

pub(in crate::msg) use {action, messages, plain_struct, service};

#[cfg(test)]
#[allow(
    unreachable_pub,
    unused_imports,
    unused_macros,
    reason = "only the tests use this action"
)]
mod tests {
    use super::action;
    use crate::msg::Action;

    action! {
        test_msgs/action/Count

        /// The goal.
        goal CountGoal {
            /// The last number.
            to: u8 = 3,
            /// The first number.
            from: u8,
        }

        /// The result.
        result CountResult {}

        /// The feedback.
        feedback CountFeedback {}
    }

    #[test]
    fn a_declaration_gives_the_type_name_the_defaults_and_the_json_form() {
        assert_eq!(Count::TYPE, "test_msgs/action/Count");
        let json = serde_json::to_string(&CountGoal::default()).unwrap();
        assert_eq!(json, r#"{"to":3,"from":0}"#);
        assert_eq!(
            serde_json::from_str::<CountGoal>(r#"{"from":0}"#).unwrap(),
            CountGoal::default()
        );
    }

    #[test]
    fn the_result_of_an_action_may_have_no_error_fields() {
        let result = Count::failure(7, "no");
        assert_eq!(
            (Count::error_code(&result), Count::error_message(&result)),
            (0, "")
        );
        assert_eq!(Count::ERROR_CODES, []);
    }
}
