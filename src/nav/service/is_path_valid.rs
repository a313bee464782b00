//! `IsPathValid`: checks whether a path is free. Jazzy's name of [`ValidatePath`].

use super::ValidatePath;
use crate::bt::{Context, NodeStatus, Ports, Thrown, Tick};
use crate::msg::service as services;
use crate::nav::service_node::{RequestOf, ResponseOf, ServiceNode};

/// Sends a path to the planner server for a check. Also accepts the ports of its successor, because trees are converted
/// step by step.
#[derive(Debug)]
pub struct IsPathValid(ValidatePath);

impl ServiceNode for IsPathValid {
    type Service = services::IsPathValid;
    const ID: &'static str = "IsPathValid";
    const DOC: &'static str = "Checks whether a path is free. RUNNING until the response arrives. FAILURE \
        without response in time.";
    const SERVER: &'static str = "is_path_valid";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self(ValidatePath::bind(ports))
    }

    fn request(
        &self,
        cx: &mut Context<'_>,
    ) -> Result<Result<services::IsPathValidRequest, NodeStatus>, Thrown> {
        self.0.request(cx)
    }

    fn answered(&self, cx: &mut Context<'_>, request: &RequestOf<Self>, response: &ResponseOf<Self>) -> Tick {
        self.0.answered(cx, request, response)
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

    #[test]
    fn ports_of_validate_path_are_accepted_and_those_without_effect_are_reported() {
        let text = "<root BTCPP_format=\"4\"><BehaviorTree ID=\"T\"><IsPathValid path=\"{path}\" max_cost=\"100\" \
             stop_at_first_collision=\"true\" collision_poses=\"{poses}\"/></BehaviorTree></root>";
        let registry = crate::nav::registry();
        let loader = crate::xml::Loader::new(&registry);
        let loaded = loader.load_text("t.xml", text, std::path::Path::new("."), None);
        let loaded = loaded.unwrap();
        let reports = loaded
            .warnings
            .iter()
            .map(|warning| warning.one_line(&loaded.sources));
        let reports: Vec<String> = reports.filter(|line| line.contains("NT0407")).collect();
        assert!(
            reports.len() == 1 && reports[0].contains("max_cost has no effect"),
            "{reports:?}"
        );
        let mut bench = Bench::new(text);
        bench.set("path", std::sync::Arc::new(crate::msg::Path::default()));
        bench.service::<IsPathValid>("is_path_valid", |_| Some(IsPathValidResponse::default()));
        assert_eq!(bench.run(3), Failure);
        assert!(bench.object::<crate::msg::Goals>("poses").is_some());
    }
}
