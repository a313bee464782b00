//! The palette for Groot: a `TreeNodesModel`.

use std::fmt::Write;

use crate::bt::{Manifest, Registry};
use crate::xml::escape;

/// All node types, sorted by ID.
pub fn palette(registry: &Registry) -> String {
    let mut out = "<root BTCPP_format=\"4\">\n  <TreeNodesModel>\n".to_owned();
    write_models(registry.manifests(), &mut out);
    out.push_str("  </TreeNodesModel>\n</root>\n");
    out
}

/// The elements of node types.
pub(in crate::monitor) fn write_models<'m>(manifests: impl Iterator<Item = &'m Manifest>, out: &mut String) {
    for manifest in manifests {
        write_model(manifest, out);
    }
}

fn write_model(manifest: &Manifest, out: &mut String) {
    let kind = manifest.kind.name();
    if manifest.ports.is_empty() {
        let _ = writeln!(out, "    <{kind} ID=\"{}\"/>", escape(&manifest.id));
        return;
    }
    let _ = writeln!(out, "    <{kind} ID=\"{}\">", escape(&manifest.id));
    for port in &manifest.ports {
        let element = port.direction.element();
        let default = port
            .default
            .as_ref()
            .map_or_else(String::new, |text| format!(" default=\"{}\"", escape(text)));
        let unit = if port.unit.is_empty() {
            String::new()
        } else {
            format!(" [{}]", port.unit)
        };
        let _ = writeln!(
            out,
            "      <{element} name=\"{}\" type=\"{}\"{default}>{}{unit}</{element}>",
            escape(&port.name),
            escape(port.info.cpp_name),
            escape(&port.doc)
        );
    }
    let _ = writeln!(out, "    </{kind}>");
}
