//! Leaves with faults, to try out how the node handles them: a leaf that panics, one that returns late, one that never
//! returns, one whose job does not end when it is cancelled, one whose job cleans up when it is cancelled, one whose
//! creation waits for a file while its tree is loaded, and one that writes a text that no ROS message can contain.
//!
//! Built with the feature `ros`, this program is a `bt_navigator`. A goal whose tree has one of these leaves fails with
//! the leaf's path in its result, or the watchdog reports that the leaf blocks. The robot stops, the node accepts the
//! next goal, and shuts down when it is told to.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use navtree::bt::{Behavior, Context, NodeKind, NodeStatus, Output, Registry, RegistryError, Text, Tick};
use navtree::job::{self, Threads};

fn registry() -> Result<Registry, RegistryError> {
    let mut registry = navtree::nav::registry();
    #[expect(clippy::panic, reason = "what this example is about")]
    registry.action("Panics", |_| panic!("the gripper has no fingers"))?;
    registry.action("Dawdles", |_| {
        std::thread::sleep(DAWDLING);
        Ok(NodeStatus::Success)
    })?;
    registry.action("Hangs", |_| {
        sleep_for_ever();
        Ok(NodeStatus::Success)
    })?;
    registry.register_with("IsMadeLate", NodeKind::Condition, (0, 0), "", |ports| {
        let until = ports.input::<Text>("until");
        let _ = until
            .doc("The file that it needs when it is made")
            .required()
            .bind();
        if let Some(path) = ports.raw("until") {
            wait_for(Path::new(&path));
        }
        Box::new(Done)
    })?;
    registry.register_with("WritesZeroByte", NodeKind::Action, (0, 0), "", |ports| {
        Box::new(WritesZeroByte {
            text: ports.output("text").doc("The text").bind(),
        })
    })?;
    job::register_function(&mut registry, "HangsInItsJob", Threads, |_cancel| async {
        sleep_for_ever();
        NodeStatus::Success
    })?;
    job::register_function(&mut registry, "CleansUpInItsJob", Threads, |cancel| async move {
        cancel.cancelled().await;
        std::thread::sleep(CLEANING_UP);
        eprintln!("CleansUpInItsJob has cleaned up");
        NodeStatus::Success
    })?;
    Ok(registry)
}

/// Simulates an arm that is brought to rest.
const CLEANING_UP: Duration = Duration::from_millis(500);

/// Simulates a blocking wait for a device, much longer than a tick.
const DAWDLING: Duration = Duration::from_secs(3);

struct WritesZeroByte {
    text: Output<Text>,
}

impl Behavior for WritesZeroByte {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let text = "Grid\0Based";
        tracing::info!("WritesZeroByte has written `{text}`");
        self.text.set(cx, Text::from(text))?;
        Ok(NodeStatus::Success)
    }
}

struct Done;

impl Behavior for Done {
    fn tick(&self, _: &mut Context<'_>) -> Tick {
        Ok(NodeStatus::Success)
    }
}

/// Simulates a map that a leaf reads from a slow disk when it is created.
fn wait_for(path: &Path) {
    if !path.exists() {
        eprintln!("IsMadeLate waits for {}", path.display());
    }
    while !path.exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Simulates a device that does not answer.
fn sleep_for_ever() {
    loop {
        std::thread::park();
    }
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
fn a_panic_is_an_error_of_the_tree() {
    use navtree::bt::{Time, Tree, builder, compile};
    let forest = builder::forest([builder::tree("Main", builder::leaf("Panics"))]);
    let mut tree = Tree::new(compile(&forest, "Main", &registry().unwrap()).unwrap().def);
    let error = tree.tick(Time::ZERO).unwrap_err();
    assert!(error.panicked);
    assert_eq!(&*error.path, "Panics::1");
}
