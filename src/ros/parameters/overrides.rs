//! The parameter values for a node from the command line and from parameter files.
//!
//! r2r reads them too, but supports only `name:`, `/ns/name:` and `/**:`. Here the keys are those of rcl and rclcpp,
//! with `ns/name:` (nested keys have this form too), `/*` for one level and `/**` for any number of levels.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;

use r2r_rcl as rcl;

use super::ParameterValue;
use crate::ros::RosError;

/// The values for a node with this full name (`/robot1/bt_navigator`), from the arguments of the process. A parameter
/// may appear more than once; its last value counts.
///
/// # Errors
/// [`RosError::Context`] if rcl cannot read the arguments.
pub(in crate::ros) fn overrides(full_name: &str) -> Result<Vec<(String, ParameterValue)>, RosError> {
    let arguments: Vec<String> = std::env::args_os()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    Ok(chosen(read(&arguments)?, full_name))
}

/// One key of a parameter file, or `/**` of the command line, and its values.
struct Section {
    key: String,
    values: Vec<(String, ParameterValue)>,
}

/// The values for one node. A bare name matches the node in any namespace, as in r2r and unlike rclcpp. It has the
/// lowest priority, so a file for two robots can give them different values.
fn chosen(sections: Vec<Section>, full_name: &str) -> Vec<(String, ParameterValue)> {
    let name = full_name.rsplit('/').next().unwrap_or_default();
    let (exact, other): (Vec<Section>, Vec<Section>) = sections
        .into_iter()
        .partition(|section| fits(&section.key, full_name));
    other
        .into_iter()
        .filter(|section| section.key == name)
        .chain(exact)
        .flat_map(|section| section.values)
        .collect()
}

/// Whether a key matches a node.
fn fits(key: &str, full_name: &str) -> bool {
    fn levels(text: &str) -> Vec<&str> {
        text.split('/').filter(|level| !level.is_empty()).collect()
    }
    fn follow(key: &[&str], name: &[&str]) -> bool {
        match (key, name) {
            ([], []) => true,
            (["**", rest @ ..], _) => {
                follow(rest, name) || name.split_first().is_some_and(|(_, name)| follow(key, name))
            }
            ([level, key @ ..], [own, name @ ..]) => (*level == "*" || level == own) && follow(key, name),
            _ => false,
        }
    }
    follow(&levels(key), &levels(full_name))
}

/// Reads the values for all nodes from the arguments.
fn read(arguments: &[String]) -> Result<Vec<Section>, RosError> {
    let fault = |what: &str| RosError::Context(format!("parameters not read: {what}"));
    let arguments: Vec<CString> = arguments
        .iter()
        .map(|argument| CString::new(argument.as_str()))
        .collect::<Result<_, _>>()
        .map_err(|_| fault("an argument contains a zero byte"))?;
    let pointers: Vec<*const c_char> = arguments.iter().map(|argument| argument.as_ptr()).collect();
    let count = c_int::try_from(pointers.len()).map_err(|_| fault("too many arguments"))?;
    let mut parsed = Parsed::default();
    // SAFETY: `pointers` contains `count` strings that outlive the call, and `parsed.arguments` is initialized for rcl.
    let code = unsafe {
        rcl::rcl_parse_arguments(
            count,
            pointers.as_ptr(),
            rcl::rcutils_get_default_allocator(),
            &raw mut parsed.arguments,
        )
    };
    if code != 0 {
        return Err(fault(&format!("rcl_parse_arguments returned {code}")));
    }
    parsed.parsed = true;
    // SAFETY: the arguments were parsed, and the pointer is null, as rcl requires.
    let code = unsafe {
        rcl::rcl_arguments_get_param_overrides(&raw const parsed.arguments, &raw mut parsed.parameters)
    };
    if code != 0 {
        return Err(fault(&format!(
            "rcl_arguments_get_param_overrides returned {code}"
        )));
    }
    // SAFETY: null without parameters, otherwise a structure that `parsed` owns until it is dropped.
    let Some(parameters) = (unsafe { parsed.parameters.as_ref() }) else {
        return Ok(Vec::new());
    };
    // SAFETY: rcl allocates both arrays with `num_nodes` elements, and for each node its two arrays with `num_params`.
    // Names are strings. One of a variant's pointers is not null and points to a value of its type.
    unsafe {
        let keys = slice(parameters.node_names, parameters.num_nodes);
        let nodes = slice(parameters.params, parameters.num_nodes);
        Ok(keys
            .iter()
            .zip(nodes)
            .map(|(key, node)| Section {
                key: text(*key),
                values: slice(node.parameter_names, node.num_params)
                    .iter()
                    .zip(slice(node.parameter_values, node.num_params))
                    .map(|(name, variant)| (text(*name), value(variant)))
                    .collect(),
            })
            .collect())
    }
}

/// The memory that rcl has allocated, freed on drop.
struct Parsed {
    arguments: rcl::rcl_arguments_t,
    parameters: *mut rcl::rcl_params_t,
    parsed: bool,
}

impl Default for Parsed {
    fn default() -> Self {
        Self {
            // SAFETY: takes no argument and returns a plain structure.
            arguments: unsafe { rcl::rcl_get_zero_initialized_arguments() },
            parameters: ptr::null_mut(),
            parsed: false,
        }
    }
}

impl Drop for Parsed {
    fn drop(&mut self) {
        // SAFETY: each is freed once, by rcl's function for it, and not used afterwards.
        unsafe {
            if !self.parameters.is_null() {
                rcl::rcl_yaml_node_struct_fini(self.parameters);
            }
            if self.parsed {
                rcl::rcl_arguments_fini(&raw mut self.arguments);
            }
        }
    }
}

/// # Safety
/// `data` is null, or points to `length` elements that exist as long as the result.
unsafe fn slice<'s, T>(data: *const T, length: usize) -> &'s [T] {
    if data.is_null() {
        return &[];
    }
    // SAFETY: see above.
    unsafe { std::slice::from_raw_parts(data, length) }
}

/// # Safety
/// `pointer` is null or a C string.
unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: see above.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// # Safety
/// The variant's pointers are null or point to a value of their type; rcl's parser makes them so.
unsafe fn value(variant: &rcl::rcl_variant_t) -> ParameterValue {
    // SAFETY: see above; `values` of an array has `size` elements.
    unsafe {
        if let Some(value) = variant.bool_value.as_ref() {
            ParameterValue::Bool(*value)
        } else if let Some(value) = variant.integer_value.as_ref() {
            ParameterValue::Integer(*value)
        } else if let Some(value) = variant.double_value.as_ref() {
            ParameterValue::Double(*value)
        } else if !variant.string_value.is_null() {
            ParameterValue::String(text(variant.string_value))
        } else if let Some(array) = variant.byte_array_value.as_ref() {
            ParameterValue::ByteArray(slice(array.values, array.size).to_vec())
        } else if let Some(array) = variant.bool_array_value.as_ref() {
            ParameterValue::BoolArray(slice(array.values, array.size).to_vec())
        } else if let Some(array) = variant.integer_array_value.as_ref() {
            ParameterValue::IntegerArray(slice(array.values, array.size).to_vec())
        } else if let Some(array) = variant.double_array_value.as_ref() {
            ParameterValue::DoubleArray(slice(array.values, array.size).to_vec())
        } else if let Some(array) = variant.string_array_value.as_ref() {
            let items = slice(array.data, array.size).iter();
            ParameterValue::StringArray(items.map(|item| text(*item)).collect())
        } else {
            ParameterValue::NotSet
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROBOT: &str = "/robot1/bt_navigator";

    #[test]
    fn keys_are_those_of_rcl() {
        for key in [
            "/robot1/bt_navigator",
            "robot1/bt_navigator",
            "/**",
            "**",
            "/**/bt_navigator",
            "/*/bt_navigator",
            "/robot1/*",
            "/robot1/**",
            "/robot1/**/bt_navigator",
            "/*/*",
        ] {
            assert!(fits(key, ROBOT), "{key}");
        }
        for key in [
            "bt_navigator",
            "/bt_navigator",
            "/robot2/bt_navigator",
            "/robot1",
            "/*",
            "/robot1/*/bt_navigator",
            "/**/controller_server",
            "/robot1/bt_navigator/rclcpp_node",
            "",
        ] {
            assert!(!fits(key, ROBOT), "{key}");
        }
        for key in ["bt_navigator", "/bt_navigator", "/*", "/**", "/**/bt_navigator"] {
            assert!(fits(key, "/bt_navigator"), "{key}");
        }
    }

    #[test]
    fn a_bare_name_serves_any_namespace_where_nothing_else_does() {
        let sections = |keys: &[&str]| {
            let section = |(index, key): (usize, &&str)| Section {
                key: (*key).to_owned(),
                values: vec![("x".to_owned(), ParameterValue::Integer(index as i64))],
            };
            chosen(keys.iter().enumerate().map(section).collect(), ROBOT)
        };
        let last = |keys: &[&str]| sections(keys).last().map(|(_, value)| value.clone());
        assert_eq!(last(&["bt_navigator"]), Some(ParameterValue::Integer(0)));
        assert_eq!(
            last(&["robot1/bt_navigator", "bt_navigator"]),
            Some(ParameterValue::Integer(0))
        );
        assert_eq!(
            last(&["/**", "robot1/bt_navigator"]),
            Some(ParameterValue::Integer(1))
        );
        assert_eq!(
            last(&["robot1/bt_navigator", "/**"]),
            Some(ParameterValue::Integer(1))
        );
        assert_eq!(last(&["/bt_navigator", "other"]), None);
    }

    #[test]
    fn rcl_reads_every_type_from_the_command_line() {
        let words = [
            "navtree",
            "--ros-args",
            "-p",
            "flag:=true",
            "-p",
            "whole:=7",
            "-p",
            "real:=0.5",
            "-p",
            "word:=map",
            "-p",
            "flags:=[true, false]",
            "-p",
            "wholes:=[1, 2]",
            "-p",
            "reals:=[1.5]",
            "-p",
            "words:=[a, b]",
            "-p",
            "other_node:word:=no",
            "-r",
            "__ns:=/robot1",
        ];
        let sections = read(&words.map(str::to_owned)).unwrap();
        let values = chosen(sections, ROBOT);
        let of = |name: &str| {
            values
                .iter()
                .find(|(of, _)| of == name)
                .map(|(_, value)| value.clone())
        };
        assert_eq!(of("flag"), Some(true.into()));
        assert_eq!(of("whole"), Some(7_i64.into()));
        assert_eq!(of("real"), Some(0.5.into()));
        assert_eq!(of("word"), Some("map".into()));
        assert_eq!(of("flags"), Some(ParameterValue::BoolArray(vec![true, false])));
        assert_eq!(of("wholes"), Some(vec![1_i64, 2].into()));
        assert_eq!(of("reals"), Some(vec![1.5].into()));
        assert_eq!(of("words"), Some(vec!["a".to_owned(), "b".to_owned()].into()));
        assert!(read(&["navtree".to_owned()]).unwrap().is_empty());
        assert!(read(&["navtree", "--ros-args", "-p", "x"].map(str::to_owned)).is_err());
    }
}
