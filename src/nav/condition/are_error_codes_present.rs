//! `AreErrorCodesPresent`: checks whether an error code is in a list.

use std::sync::Arc;

use super::verdict;
use crate::bt::{Behavior, Context, Input, List, Node, NodeKind, Ports, Tick};

/// Compares an error code with a list.
#[derive(Debug)]
pub struct AreErrorCodesPresent {
    error_code: Input<u16>,
    codes: Input<Arc<List<i64>>>,
}

/// The port `error_code` of this node and of nodes with a fixed list.
pub(super) fn error_code(ports: &mut Ports<'_>) -> Input<u16> {
    ports
        .input("error_code")
        .doc("Error code. A code that has not been written is in no list.")
        .bind()
}

/// The ports of a node with a fixed list. Nav2 declares `error_codes_to_check` for these nodes too and ignores it.
pub(super) fn fixed_list(ports: &mut Ports<'_>) -> Input<u16> {
    let code = error_code(ports);
    let codes = ports
        .input::<Arc<List<i64>>>("error_codes_to_check")
        .doc("No effect: the list of this node is fixed.")
        .bind();
    if codes.is_set() {
        ports.warn_of(
            "error_codes_to_check",
            "error_codes_to_check has no effect: the list of this node is fixed",
        );
    }
    code
}

/// Whether a code is in a fixed list.
pub(super) fn is_one_of(cx: &Context<'_>, port: &Input<u16>, codes: &[u16]) -> Tick {
    Ok(verdict(port.get(cx).is_ok_and(|code| codes.contains(&code))))
}

impl Node for AreErrorCodesPresent {
    const ID: &'static str = "AreErrorCodesPresent";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str = "SUCCESS if the error code is in the list.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            error_code: error_code(ports),
            codes: ports
                .input("error_codes_to_check")
                .doc("List of error codes: a;b;c.")
                .bind(),
        }
    }
}

impl Behavior for AreErrorCodesPresent {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let Ok(code) = self.error_code.get(cx) else {
            return Ok(verdict(false));
        };
        let codes = self.codes.get(cx);
        Ok(verdict(
            codes.is_ok_and(|codes| codes.0.contains(&i64::from(code))),
        ))
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::nav::testing::Bench;

    #[test]
    fn test_are_error_codes_present() {
        let mut bench =
            Bench::new("<AreErrorCodesPresent error_code=\"{code}\" error_codes_to_check=\"100;107;105\"/>");
        assert_eq!(bench.tick(), Failure, "not written yet");
        for (code, status) in [(0_u16, Failure), (100, Success), (107, Success), (104, Failure)] {
            bench.set("code", code);
            assert_eq!(bench.tick(), status, "{code}");
        }
    }

    #[test]
    fn commas_do_not_separate_codes() {
        let xml = "<root BTCPP_format=\"4\"><BehaviorTree ID=\"T\">\n<AreErrorCodesPresent error_code=\"1\" \
                   error_codes_to_check=\"1,2,3\"/></BehaviorTree></root>";
        let registry = crate::nav::registry();
        let loaded = crate::xml::Loader::new(&registry)
            .load_text("t.xml", xml, std::path::Path::new("."), None)
            .unwrap();
        let warnings: Vec<_> = loaded
            .warnings
            .iter()
            .map(|it| it.one_line(&loaded.sources))
            .collect();
        assert_eq!(
            warnings,
            ["t.xml:2:60: warning[NT0409]: port `error_codes_to_check`: `,2,3` is ignored"]
        );
    }

    #[test]
    fn test_would_a_recovery_help() {
        for (id, helps, does_not) in [
            (
                "Controller",
                &[100, 104, 105, 106][..],
                &[0, 101, 102, 103, 107][..],
            ),
            (
                "Planner",
                &[200, 207, 208, 300, 307, 308],
                &[0, 201, 202, 203, 204, 205, 206, 309],
            ),
            ("Smoother", &[500, 502, 503, 504], &[0, 501, 505]),
            ("Route", &[400, 404, 405], &[0, 401, 402, 403, 406, 407]),
        ] {
            let mut bench = Bench::new(&format!("<WouldA{id}RecoveryHelp error_code=\"{{code}}\"/>"));
            for (codes, status) in [(helps, Success), (does_not, Failure)] {
                for code in codes {
                    bench.set("code", *code as u16);
                    assert_eq!(bench.tick(), status, "{id} {code}");
                }
            }
        }
    }
}
