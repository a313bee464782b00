//! The XML schema of tree files in their compact form, for editors.

use std::fmt::Write;

use crate::bt::{Direction, Family, Manifest, NodeKind, PortDecl, Registry};
use crate::xml::escape;

const HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" elementFormDefault="qualified">
  <xs:simpleType name="pointer"><xs:restriction base="xs:string"><xs:pattern value=" *\{.*\} *|="/></xs:restriction></xs:simpleType>
  <xs:simpleType name="boolean"><xs:union memberTypes="pointer xs:boolean"><xs:simpleType><xs:restriction base="xs:string"><xs:pattern value="[Tt]rue|TRUE|[Ff]alse|FALSE"/></xs:restriction></xs:simpleType></xs:union></xs:simpleType>
  <xs:simpleType name="integer"><xs:union memberTypes="pointer xs:integer xs:NCName"/></xs:simpleType>
  <xs:simpleType name="decimal"><xs:union memberTypes="pointer xs:double xs:NCName"/></xs:simpleType>
  <xs:attributeGroup name="common">
    <xs:attribute name="name" type="xs:string"/>
    <xs:attribute name="_failureIf" type="xs:string"/>
    <xs:attribute name="_successIf" type="xs:string"/>
    <xs:attribute name="_skipIf" type="xs:string"/>
    <xs:attribute name="_while" type="xs:string"/>
    <xs:attribute name="_onHalted" type="xs:string"/>
    <xs:attribute name="_onFailure" type="xs:string"/>
    <xs:attribute name="_onSuccess" type="xs:string"/>
    <xs:attribute name="_post" type="xs:string"/>
    <xs:attribute name="_description" type="xs:string"/>
  </xs:attributeGroup>
  <xs:element name="root">
    <xs:complexType>
      <xs:choice minOccurs="0" maxOccurs="unbounded">
        <xs:element name="include"><xs:complexType><xs:attribute name="path" type="xs:string" use="required"/><xs:attribute name="ros_pkg" type="xs:string"/></xs:complexType></xs:element>
        <xs:element name="BehaviorTree"><xs:complexType><xs:group ref="node"/><xs:attribute name="ID" type="xs:string"/><xs:anyAttribute processContents="skip"/></xs:complexType></xs:element>
        <xs:element name="TreeNodesModel"><xs:complexType><xs:sequence><xs:any processContents="skip" minOccurs="0" maxOccurs="unbounded"/></xs:sequence></xs:complexType></xs:element>
      </xs:choice>
      <xs:attribute name="BTCPP_format" type="xs:string"/>
      <xs:attribute name="main_tree_to_execute" type="xs:string"/>
      <xs:anyAttribute processContents="skip"/>
    </xs:complexType>
  </xs:element>
"#;

/// The schema of files with these node types.
pub fn xsd(registry: &Registry) -> String {
    let mut out = HEAD.to_owned();
    out.push_str("  <xs:group name=\"node\">\n    <xs:choice>\n");
    for manifest in registry.manifests() {
        let id = escape(&manifest.id);
        let _ = writeln!(out, "      <xs:element name=\"{id}\" type=\"{id}Type\"/>");
    }
    out.push_str("      <xs:element name=\"SubTree\" type=\"SubTreeType\"/>\n");
    for kind in ["Action", "Condition", "Control", "Decorator"] {
        let _ = writeln!(out, "      <xs:element name=\"{kind}\" type=\"ExplicitType\"/>");
    }
    out.push_str("    </xs:choice>\n  </xs:group>\n");
    out.push_str(
        "  <xs:complexType name=\"SubTreeType\"><xs:attribute name=\"ID\" type=\"xs:string\" use=\"required\"/>\
         <xs:anyAttribute processContents=\"skip\"/></xs:complexType>\n  <xs:complexType name=\"ExplicitType\">\
         <xs:group ref=\"node\" minOccurs=\"0\" maxOccurs=\"unbounded\"/><xs:attribute name=\"ID\" \
         type=\"xs:string\" use=\"required\"/><xs:anyAttribute processContents=\"skip\"/></xs:complexType>\n",
    );
    for manifest in registry.manifests() {
        write_type(manifest, &mut out);
    }
    out.push_str("</xs:schema>\n");
    out
}

fn write_type(manifest: &Manifest, out: &mut String) {
    let _ = writeln!(out, "  <xs:complexType name=\"{}Type\">", escape(&manifest.id));
    let (least, most) = manifest.children;
    if most > 0 {
        let most = if most == usize::MAX {
            "unbounded".to_owned()
        } else {
            most.to_string()
        };
        let _ = writeln!(
            out,
            "    <xs:group ref=\"node\" minOccurs=\"{least}\" maxOccurs=\"{most}\"/>"
        );
    }
    for port in &manifest.ports {
        write_attribute(port, &port.name, out);
        if let Some(alias) = port.alias {
            write_attribute(port, alias, out);
        }
    }
    out.push_str("    <xs:attributeGroup ref=\"common\"/>\n");
    // Metadata (`_uid`, `_fullpath`) and, for controls and decorators, attributes of user tools.
    out.push_str("    <xs:anyAttribute processContents=\"skip\"/>\n");
    debug_assert!(
        manifest.kind != NodeKind::SubTree,
        "subtrees are written by hand above"
    );
    out.push_str("  </xs:complexType>\n");
}

fn write_attribute(port: &PortDecl, name: &str, out: &mut String) {
    let kind = match (port.direction, port.info.family) {
        (Direction::Output, _) => "pointer",
        _ if port.script.is_some() => "xs:string",
        (_, Family::Bool) => "boolean",
        (_, Family::Integer { .. }) if port.info.name != "NodeStatus" => "integer",
        (_, Family::Real) => "decimal",
        _ => "xs:string",
    };
    let usage = match &port.default {
        Some(text) => format!(" default=\"{}\"", escape(text)),
        // The alias may be set instead.
        None if port.required && port.alias.is_none() => " use=\"required\"".to_owned(),
        None => String::new(),
    };
    let _ = writeln!(
        out,
        "    <xs:attribute name=\"{}\" type=\"{kind}\"{usage}/>",
        escape(name)
    );
}
