//! The ROS parameters: declared from the table, checked by the settings.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::ros::{Declaration, ParameterStore, ParameterValue, Wake, is_name};
use crate::sim::faults::ActionFaults;
use crate::sim::fleet::Fleet;
use crate::sim::setting::{Parameter, Value};
use crate::sim::settings::Settings;
use crate::sim::world::load_map;

use super::NodeError;

/// The current settings. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct SharedSettings(Arc<Mutex<Settings>>);

impl SharedSettings {
    /// A copy of the current settings.
    pub(super) fn get(&self) -> Settings {
        self.lock().clone()
    }

    /// A copy of the current faults of an action server.
    pub(super) fn action_faults(&self, server: &str) -> ActionFaults {
        self.lock().action_faults(server)
    }

    fn lock(&self) -> MutexGuard<'_, Settings> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Declares all parameters, with the values of the command line and of parameter files. A later change is refused if
/// the settings refuse it; otherwise the new settings are sent to `changes` and the simulation is woken.
///
/// # Errors
/// All invalid parameters, with the reasons.
pub(super) fn declare(
    store: &ParameterStore,
    changes: Sender<Settings>,
    wake: &Wake,
) -> Result<SharedSettings, NodeError> {
    let settings = SharedSettings::default();
    let mut errors = Vec::new();
    for parameter in Settings::parameters() {
        let name = parameter.name.clone();
        match store.declare(declaration(parameter, &settings)) {
            Ok(value) => {
                // The validator has just checked it; a default needs no check.
                if let Some(value) = to_setting_value(&value) {
                    let _ = settings.lock().set(&name, &value);
                }
            }
            Err(error) => errors.push(error.to_string()),
        }
    }
    if !errors.is_empty() {
        return Err(NodeError::Parameters(errors.join("\n")));
    }
    let (shared, wake) = (settings.clone(), wake.clone());
    let changes = Mutex::new(changes);
    store.on_change(move |name, value| {
        let mut settings = shared.lock();
        let Some(value) = to_setting_value(value) else {
            return;
        };
        if settings.set(name, &value).is_ok() {
            let changes = changes.lock().unwrap_or_else(PoisonError::into_inner);
            // At the end of the process there is no receiver.
            let _ = changes.send(settings.clone());
            wake.notify();
        }
    });
    Ok(settings)
}

fn declaration(parameter: Parameter, settings: &SharedSettings) -> Declaration {
    let default = match parameter.default {
        Value::Bool(value) => ParameterValue::Bool(value),
        Value::Int(value) => ParameterValue::Integer(value),
        Value::Double(value) => ParameterValue::Double(value),
        Value::Text(value) => ParameterValue::String(value),
        Value::Texts(values) => ParameterValue::StringArray(values),
    };
    let (name, settings) = (parameter.name.clone(), settings.clone());
    let check = move |value: &ParameterValue| {
        let mut settings = settings.get();
        let value =
            to_setting_value(value).ok_or_else(|| format!("`{name}` cannot have a value of that type"))?;
        settings.set(&name, &value).map_err(|error| error.to_string())?;
        if name.starts_with("map_") {
            load_map(&settings.base).map_err(|error| format!("`{name}`: {error}"))?;
        }
        if let Some(robot) = settings.fleet.robots.iter().find(|robot| !is_namespace(robot)) {
            return Err(format!(
                "`{name}`: `{robot}` is not a namespace; write a name such as `r1`"
            ));
        }
        Ok(())
    };
    let declaration = Declaration::new(&parameter.name, default, parameter.description).validated("", check);
    // Robots and servers are created at start. A server that may vanish has a separate node.
    let is_of_start = Fleet::table().iter().any(|row| row.name == parameter.name);
    if is_of_start || parameter.name.ends_with(".vanish_goals") {
        declaration.read_only()
    } else {
        declaration
    }
}

/// Whether this is a namespace below that of the node.
fn is_namespace(name: &str) -> bool {
    is_name(name) && !name.starts_with(['/', '~'])
}

fn to_setting_value(value: &ParameterValue) -> Option<Value> {
    match value {
        ParameterValue::Bool(value) => Some(Value::Bool(*value)),
        ParameterValue::Integer(value) => Some(Value::Int(*value)),
        ParameterValue::Double(value) => Some(Value::Double(*value)),
        ParameterValue::String(value) => Some(Value::Text(value.clone())),
        ParameterValue::StringArray(values) => Some(Value::Texts(values.clone())),
        _ => None,
    }
}
