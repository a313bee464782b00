//! The complete `main` of a robot with custom nodes: all commands and the ROS node know them.
//!
//! Built with the feature `ros`, this program is a `bt_navigator`. `own_main check my_tree.xml` checks a tree with these
//! nodes, and `own_main models` writes their palette.

use std::process::ExitCode;

use navtree::bt::{NodeStatus, Registry, RegistryError};

/// Registers all nodes that the trees may use.
fn registry() -> Result<Registry, RegistryError> {
    let mut registry = navtree::nav::registry();
    registry.condition("IsDoorOpen", |_| NodeStatus::Success)?;
    registry.action("RingTheBell", |_| Ok(NodeStatus::Success))?;
    // The keys that this program writes to the blackboard; without them, `check` warns that no node writes them.
    registry.provide_key("door");
    Ok(registry)
}

fn main() -> ExitCode {
    match registry() {
        Ok(registry) => navtree::cli::main_with(std::env::args_os(), registry),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[test]
fn runs() {
    let file = std::env::temp_dir().join(format!("own_main_{}.xml", std::process::id()));
    let tree = "<root BTCPP_format='4'><BehaviorTree ID='Main'><Sequence><IsDoorOpen/><RingTheBell/></Sequence>\
        </BehaviorTree></root>";
    std::fs::write(&file, tree).unwrap();
    let arguments = ["own_main".into(), "check".into(), file.clone().into_os_string()];
    let code = navtree::cli::main_with(arguments, registry().unwrap());
    std::fs::remove_file(file).unwrap();
    assert_eq!(code, ExitCode::SUCCESS);
}
