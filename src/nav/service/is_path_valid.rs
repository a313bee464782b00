//! `IsPathValid`: asks whether a path is still free. Jazzy's name of [`ValidatePath`](super::ValidatePath).

use std::sync::Arc;

use crate::bt::{Context, Input, NodeStatus, PortError, Ports, Thrown, Tick};
use crate::msg::Path;
use crate::msg::service as services;
use crate::nav::service_leaf::{ResponseOf, ServiceNode};

/// Asks the planner server about a path.
#[derive(Debug)]
pub struct IsPathValid {
    path: Input<Arc<Path>>,
}

/// The path to ask about; one that was never written is asked about as an empty one.
pub(super) fn path_of(cx: &mut Context<'_>, port: &Input<Arc<Path>>) -> Result<Arc<Path>, Thrown> {
    match port.get(cx) {
        Err(PortError::Absent | PortError::Unwritten) => Ok(Arc::default()),
        _ => port.require(cx),
    }
}

impl ServiceNode for IsPathValid {
    type Service = services::IsPathValid;
    const ID: &'static str = "IsPathValid";
    const DOC: &'static str = "Asks whether a path is still free; RUNNING until the answer is there. No answer in time \
        is a failure.";
    const SERVER: &'static str = "is_path_valid";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            path: ports.input("path").doc("The path.").bind(),
        }
    }

    fn request(
        &self,
        cx: &mut Context<'_>,
    ) -> Result<Result<services::IsPathValidRequest, NodeStatus>, Thrown> {
        Ok(Ok(services::IsPathValidRequest {
            path: path_of(cx, &self.path)?,
        }))
    }

    fn answered(&self, _cx: &mut Context<'_>, response: &ResponseOf<Self>) -> Tick {
        Ok(if response.is_valid {
            NodeStatus::Success
        } else {
            NodeStatus::Failure
        })
    }
}

#[cfg(test)]
mod tests {
    use super::services::{IsPathValid, IsPathValidResponse};
    use crate::bt::NodeStatus::{Failure, Running, Success};
    use crate::nav::testing::Bench;

    #[test]
    fn test_is_path_valid_asks_without_holding_up_the_tick() {
        let mut bench = Bench::new("<IsPathValid path=\"{path}\" server_timeout=\"50\"/>");
        for valid in [true, false] {
            bench.service::<IsPathValid>("is_path_valid", move |_| {
                Some(IsPathValidResponse {
                    is_valid: valid,
                    ..Default::default()
                })
            });
            assert_eq!(bench.tick(), Running);
            assert_eq!(bench.tick(), if valid { Success } else { Failure });
        }
        bench.service::<IsPathValid>("is_path_valid", |_| None);
        assert_eq!(bench.run(10), Failure);
    }
}
