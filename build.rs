//! Lists the action and service types that r2r makes bindings for, so that trees can name any of them (`src/ros/interfaces`).
//!
//! r2r tells the fields of messages by name; of services and actions it has Rust types only. They are found here as r2r
//! finds them: in the resource index of every prefix, through `IDL_PACKAGE_FILTER` where that is set.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    for variable in [
        "AMENT_PREFIX_PATH",
        "CMAKE_PREFIX_PATH",
        "CMAKE_IDL_PACKAGES",
        "IDL_PACKAGE_FILTER",
    ] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    let found = |kind: &str| {
        if std::env::var_os("CARGO_FEATURE_ROS").is_some() {
            interfaces(kind)
        } else {
            BTreeSet::new()
        }
    };
    write("json_actions.rs", found("action"), |package, name| {
        format!(
            "&Entry::<Json<r2r::{package}::action::{name}::Action>> {{ name: \"{package}/action/{name}\", codec: PhantomData }}"
        )
    });
    write("json_services.rs", found("srv"), |package, name| {
        format!(
            "&Entry::<Json<r2r::{package}::srv::{name}::Service>> {{ name: \"{package}/srv/{name}\", codec: PhantomData }}"
        )
    });
}

/// Writes a slice of one item an interface.
fn write(file: &str, found: BTreeSet<(String, String)>, item: impl Fn(&str, &str) -> String) {
    let mut list = String::from("&[\n");
    for (package, name) in found {
        let _ = writeln!(list, "    {},", item(&package, &name));
    }
    list.push_str("]\n");
    let Some(folder) = std::env::var_os("OUT_DIR") else {
        return;
    };
    if let Err(error) = std::fs::write(PathBuf::from(folder).join(file), list) {
        println!("cargo::error=cannot write {file}: {error}");
    }
}

/// Package and name of each interface of a kind: `action` or `srv`.
fn interfaces(kind: &str) -> BTreeSet<(String, String)> {
    let filter = std::env::var("IDL_PACKAGE_FILTER").ok();
    let wanted = |package: &str| {
        filter
            .as_ref()
            .is_none_or(|filter| filter.split(';').any(|name| name == package))
    };
    let mut found = if let Ok(packages) = std::env::var("CMAKE_IDL_PACKAGES") {
        packages
            .split(':')
            .filter_map(|cmake| Path::new(cmake).parent())
            .flat_map(|share| in_share(share, kind))
            .collect()
    } else {
        let prefixes =
            ["AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH"].map(|name| std::env::var(name).unwrap_or_default());
        prefixes
            .iter()
            .flat_map(|paths| paths.split(':'))
            .filter(|prefix| !prefix.is_empty())
            .flat_map(|prefix| in_index(Path::new(prefix), kind))
            .collect::<BTreeSet<_>>()
    };
    // r2r leaves this one out too.
    found.retain(|(package, _)| wanted(package) && package != "libstatistics_collector");
    found
}

/// From the resource index of a prefix.
fn in_index(prefix: &Path, kind: &str) -> Vec<(String, String)> {
    let index = prefix.join("share/ament_index/resource_index/rosidl_interfaces");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(index).into_iter().flatten().flatten() {
        let package = entry.file_name().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        let names = text.lines().filter_map(|line| {
            let file = line.strip_prefix(kind)?.strip_prefix('/')?;
            file.strip_suffix(".idl")
                .or_else(|| file.strip_suffix(kind)?.strip_suffix('.'))
        });
        found.extend(names.map(|name| (package.clone(), name.to_owned())));
    }
    found
}

/// From the share folder of a package.
fn in_share(share: &Path, kind: &str) -> Vec<(String, String)> {
    let Some(package) = share.file_name().map(|name| name.to_string_lossy().into_owned()) else {
        return Vec::new();
    };
    let files = std::fs::read_dir(share.join(kind))
        .into_iter()
        .flatten()
        .flatten();
    let names = files.filter_map(|file| {
        let name = file.file_name().to_string_lossy().into_owned();
        name.strip_suffix(".idl").map(str::to_owned)
    });
    names.map(|name| (package.clone(), name)).collect()
}
