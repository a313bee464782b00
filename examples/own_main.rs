//! The whole `main` of a robot with nodes of its own: every command knows them, and so does the ROS node.
//!
//! Built with the feature `ros`, this program is a `bt_navigator`; `own_main check my_tree.xml` checks a tree with its
//! nodes, and `own_main models` writes their palette.

use std::process::ExitCode;

use navtree::bt::{NodeStatus, Registry, RegistryError};

/// Every node that our trees may use.
fn registry() -> Result<Registry, RegistryError> {
    let mut registry = navtree::nav::registry();
    registry.condition("IsDoorOpen", |_| NodeStatus::Success)?;
    registry.action("RingTheBell", |_| Ok(NodeStatus::Success))?;
    // What our program writes to the blackboard, so that nobody is warned of a key that nothing writes.
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
