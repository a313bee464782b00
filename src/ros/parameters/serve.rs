//! The ROS interface of the parameters: six services and a topic.

use std::sync::{Mutex, PoisonError};

use r2r::rcl_interfaces::{msg, srv};
use r2r::{QosProfile, WrappedServiceTypeSupport};

use super::store::Change;
use super::{Declaration, ParameterStore, ParameterType, ParameterValue};
use crate::ros::checked::{Checked, CheckedService};
use crate::ros::convert::Convert;
use crate::ros::{Clock, RosError, RosHandle, RosNode, answers};
use crate::worker::{Refused, Worker};

/// A task of the thread `parameters`.
type Job = Box<dyn FnOnce() + Send>;

/// The thread that answers.
const THREAD: &str = "parameters";

/// The maximum number of waiting requests, the same as the depth of the services. Further requests are dropped without
/// an answer, as the middleware does.
const MAX_WAITING: usize = 1000;

/// Serves the node's parameters: get, set, set atomically, list, describe, types, and `/parameter_events`. It answers on
/// the thread `parameters`, because a validator may read a file and the node's thread must not wait. The thread exists
/// while there are requests.
///
/// # Errors
/// [`RosError::Entity`].
pub fn serve(
    node: &mut RosNode,
    ros: &RosHandle,
    store: &ParameterStore,
    clock: &Clock,
) -> Result<(), RosError> {
    let jobs = Worker::new(
        THREAD,
        MAX_WAITING,
        ros.fail_on_panic(THREAD),
        |job: Option<Job>| {
            if let Some(job) = job {
                job();
            }
            None
        },
    );
    publish_changes(node, ros, store, clock)?;
    answer::<srv::GetParameters::Service>(node, "get_parameters", store, &jobs, |store, request| {
        let values = request
            .names
            .iter()
            .map(|name| to_wire(store.declared(name).unwrap_or_default()))
            .collect();
        srv::GetParameters::Response { values }
    })?;
    answer::<srv::GetParameterTypes::Service>(
        node,
        "get_parameter_types",
        store,
        &jobs,
        |store, request| {
            let types = request
                .names
                .iter()
                .map(|name| store.declared(name).unwrap_or_default().parameter_type() as u8)
                .collect();
            srv::GetParameterTypes::Response { types }
        },
    )?;
    answer::<CheckedService<srv::SetParameters::Service>>(
        node,
        "set_parameters",
        store,
        &jobs,
        |store, Checked { message, fault }| {
            let set_one = |parameter| set(store, vec![parameter], fault.as_deref());
            srv::SetParameters::Response {
                results: message.parameters.into_iter().map(set_one).collect(),
            }
        },
    )?;
    answer::<CheckedService<srv::SetParametersAtomically::Service>>(
        node,
        "set_parameters_atomically",
        store,
        &jobs,
        |store, Checked { message, fault }| srv::SetParametersAtomically::Response {
            result: set(store, message.parameters, fault.as_deref()),
        },
    )?;
    answer::<srv::ListParameters::Service>(node, "list_parameters", store, &jobs, |store, request| {
        let (names, prefixes) = store.list(&request.prefixes, request.depth);
        srv::ListParameters::Response {
            result: msg::ListParametersResult { names, prefixes },
        }
    })?;
    answer::<srv::DescribeParameters::Service>(node, "describe_parameters", store, &jobs, |store, request| {
        let descriptors = request
            .names
            .iter()
            .map(|name| describe(name, store.declaration(name).as_ref()))
            .collect();
        srv::DescribeParameters::Response { descriptors }
    })
}

/// Publishes each change of a parameter on `/parameter_events`.
fn publish_changes(
    node: &mut RosNode,
    ros: &RosHandle,
    store: &ParameterStore,
    clock: &Clock,
) -> Result<(), RosError> {
    let events =
        node.publisher::<msg::ParameterEvent>("/parameter_events", QosProfile::parameter_events())?;
    let events = Mutex::new(events);
    let (clock, name) = (clock.clone(), ros.full_name());
    store.publish_with(Box::new(move |changes| {
        let events = events.lock().unwrap_or_else(PoisonError::into_inner);
        // There may be no subscriber; the client that sets a parameter receives the service's answer.
        let _ = events.publish(&event(&name, &clock, changes));
    }));
    Ok(())
}

fn answer<S>(
    node: &mut RosNode,
    name: &str,
    store: &ParameterStore,
    jobs: &Worker<Job>,
    handler: fn(&ParameterStore, S::Request) -> S::Response,
) -> Result<(), RosError>
where
    S: WrappedServiceTypeSupport + Send + 'static,
    S::Request: Send,
    S::Response: Send,
{
    let (store, jobs) = (store.clone(), jobs.clone());
    node.serve::<S>(
        &format!("~/{name}"),
        QosProfile::parameters(),
        move |request, reply| {
            let store = store.clone();
            let job = Box::new(move || {
                let response = handler(&store, request);
                answers::answer(reply, response);
            });
            put(&jobs, job);
        },
    )
}

fn put(jobs: &Worker<Job>, job: Job) {
    match jobs.put(job) {
        Ok(()) => {}
        Err(Refused::Full(_)) => {
            tracing::warn!("parameter request dropped: {MAX_WAITING} parameter requests already wait");
        }
        Err(Refused::NoThread(_, error)) => {
            tracing::error!("parameter request dropped: thread `{THREAD}` not started: {error}");
        }
    }
}

/// `fault`: the error in the texts of the request. With an error, no parameter is set.
fn set(
    store: &ParameterStore,
    parameters: Vec<msg::Parameter>,
    fault: Option<&str>,
) -> msg::SetParametersResult {
    if let Some(fault) = fault {
        return msg::SetParametersResult {
            successful: false,
            reason: format!("{fault}: no parameter of this request was set; send text in UTF-8"),
        };
    }
    let values = parameters
        .into_iter()
        .map(|parameter| (parameter.name, from_wire(parameter.value)))
        .collect();
    match store.set_together(values) {
        Ok(()) => msg::SetParametersResult {
            successful: true,
            reason: String::new(),
        },
        Err(error) => msg::SetParametersResult {
            successful: false,
            // It may quote the content of a tree file.
            reason: error.to_string().to_wire(),
        },
    }
}

fn describe(name: &str, declaration: Option<&Declaration>) -> msg::ParameterDescriptor {
    let range = declaration.and_then(|declaration| declaration.range);
    let parameter_type = declaration.map_or(ParameterType::NotSet, Declaration::parameter_type);
    let (mut integer_range, mut floating_point_range) = (Vec::new(), Vec::new());
    if let Some(range) = range {
        if parameter_type == ParameterType::Integer {
            integer_range.push(msg::IntegerRange {
                from_value: range.from as i64,
                to_value: range.to as i64,
                step: range.step as u64,
            });
        } else {
            floating_point_range.push(msg::FloatingPointRange {
                from_value: range.from,
                to_value: range.to,
                step: range.step,
            });
        }
    }
    msg::ParameterDescriptor {
        name: name.to_owned(),
        type_: parameter_type as u8,
        description: declaration.map(description).unwrap_or_default(),
        additional_constraints: declaration
            .map(|declaration| declaration.constraints.clone())
            .unwrap_or_default(),
        read_only: declaration.is_some_and(|declaration| declaration.read_only),
        dynamic_typing: false,
        floating_point_range,
        integer_range,
    }
}

/// The description with the default, which the descriptor has no field for.
fn description(declaration: &Declaration) -> String {
    match declaration.default.to_string().as_str() {
        "" => declaration.description.clone(),
        default => format!("{} Default: {default}.", declaration.description),
    }
}

fn event(node: &str, clock: &Clock, changes: &[Change]) -> msg::ParameterEvent {
    let wire = |new: bool| {
        changes
            .iter()
            .filter(|change| change.new == new)
            .map(|change| msg::Parameter {
                name: change.name.clone(),
                value: to_wire(change.value.clone()),
            })
            .collect()
    };
    msg::ParameterEvent {
        stamp: clock.stamp().to_wire(),
        node: node.to_owned(),
        new_parameters: wire(true),
        changed_parameters: wire(false),
        deleted_parameters: Vec::new(),
    }
}

fn to_wire(value: ParameterValue) -> msg::ParameterValue {
    let mut wire = msg::ParameterValue {
        type_: value.parameter_type() as u8,
        bool_value: false,
        integer_value: 0,
        double_value: 0.0,
        string_value: String::new(),
        byte_array_value: Vec::new(),
        bool_array_value: Vec::new(),
        integer_array_value: Vec::new(),
        double_array_value: Vec::new(),
        string_array_value: Vec::new(),
    };
    match value {
        ParameterValue::NotSet => {}
        ParameterValue::Bool(value) => wire.bool_value = value,
        ParameterValue::Integer(value) => wire.integer_value = value,
        ParameterValue::Double(value) => wire.double_value = value,
        ParameterValue::String(value) => wire.string_value = value.to_wire(),
        ParameterValue::ByteArray(value) => wire.byte_array_value = value,
        ParameterValue::BoolArray(value) => wire.bool_array_value = value,
        ParameterValue::IntegerArray(value) => wire.integer_array_value = value,
        ParameterValue::DoubleArray(value) => wire.double_array_value = value,
        ParameterValue::StringArray(value) => wire.string_array_value = value.to_wire(),
    }
    wire
}

/// A type that is not in the definition means no value.
fn from_wire(wire: msg::ParameterValue) -> ParameterValue {
    match wire.type_ {
        1 => ParameterValue::Bool(wire.bool_value),
        2 => ParameterValue::Integer(wire.integer_value),
        3 => ParameterValue::Double(wire.double_value),
        4 => ParameterValue::String(wire.string_value),
        5 => ParameterValue::ByteArray(wire.byte_array_value),
        6 => ParameterValue::BoolArray(wire.bool_array_value),
        7 => ParameterValue::IntegerArray(wire.integer_array_value),
        8 => ParameterValue::DoubleArray(wire.double_array_value),
        9 => ParameterValue::StringArray(wire.string_array_value),
        _ => ParameterValue::NotSet,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_the_wire() {
        for value in [
            ParameterValue::NotSet,
            true.into(),
            7_i64.into(),
            0.5.into(),
            "x".into(),
            vec!["a".to_owned()].into(),
            ParameterValue::ByteArray(vec![1]),
            ParameterValue::BoolArray(vec![true]),
            vec![1_i64].into(),
            vec![1.5].into(),
        ] {
            assert_eq!(from_wire(to_wire(value.clone())), value);
        }
    }

    #[test]
    fn descriptions_carry_ranges() {
        let rate = Declaration::new("rate", 100.0, "ticks a second").within(1.0, 1000.0);
        let wire = describe("rate", Some(&rate));
        assert_eq!((wire.type_, wire.floating_point_range.len()), (3, 1));
        assert_eq!(describe("x", None).type_, 0);
    }
}
