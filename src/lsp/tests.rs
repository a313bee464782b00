//! Every request at every place of every beginning of a file.

use std::path::Path;
use std::str::FromStr;

use lsp_types::{Position, Range, Uri};

use crate::xml::Levels;

use super::workspace::{Project, Projects, Workspace};

struct NoProject;

impl Projects for NoProject {
    fn of(&self, _path: &Path) -> Result<Project, String> {
        Ok(Project {
            registry: crate::nav::registry(),
            levels: Levels::new(),
            directory: None,
        })
    }
}

const FILE: &str = r#"<root BTCPP_format="4" main_tree_to_execute="Main">
  <include path="other.xml"/>
  <!-- über 🙂 -->
  <BehaviorTree ID="Main">
    <ReactiveSequence name="a &lt; 🙂">
      <Script code="speed := 1; x += @y"/>
      <ComputePathToPose goal="{goal}" path="{path}"/>
      <SubTree ID="Go" way="{path}" _autoremap="true"/>
      <Action ID="Wait" wait_duration='{speed}' _skipIf="x > 1"></Action>
    </ReactiveSequence>
  </BehaviorTree>
  <BehaviorTree ID="Go"><FollowPath path="{way}"/></BehaviorTree>
  <TreeNodesModel><SubTree ID="Go"><input_port name="way">text</input_port></SubTree></TreeNodesModel>
</root>
"#;

/// Asks for everything at one place.
fn ask(workspace: &Workspace<'_>, uri: &Uri, position: Position) -> usize {
    let view = workspace.view(uri).unwrap();
    let range = Range::new(Position::new(0, 0), Position::new(u32::MAX, 0));
    let mut count = super::completion::of(&view, position).len();
    count += usize::from(super::hover::of(&view, position).is_some());
    count += super::definition::of(&view, position).len();
    count += super::references::of(&view, position).len();
    count += super::references::highlights(&view, position).len();
    count += usize::from(matches!(super::rename::of(&view, position, "other"), Ok(Some(_))));
    count += super::inlay_hint::of(&view, range).len();
    count += super::folding::of(view.file()).len();
    count += super::outline::of(view.file()).len();
    count + usize::from(super::format::formatted(&view.file().text, "  ").is_some())
}

#[test]
fn no_beginning_of_a_file_is_too_much() {
    let mut workspace = Workspace::new(&NoProject);
    let directory = std::env::temp_dir().join(format!("navtree-lsp-{}", std::process::id()));
    let path = directory.join("cut.xml");
    let uri = super::uri::of(&path).unwrap();
    let everything = Range::new(Position::new(0, 0), Position::new(u32::MAX, 0));
    let mut answers = 0;
    for cut in (0..=FILE.len()).filter(|cut| FILE.is_char_boundary(*cut)) {
        // What follows the cursor is cut off, or on the next lines.
        let rest: String = FILE[cut..].split_inclusive('\n').skip(1).collect();
        for text in [FILE[..cut].to_owned(), format!("{}\n{rest}", &FILE[..cut])] {
            workspace.set(&uri, 1, text.clone());
            let end = super::position::Lines::new(&text).position(&text, cut);
            answers += ask(&workspace, &uri, end);
            if cut % 7 == 0 {
                assert!(super::diagnostics::of(&workspace, &path).is_some());
                answers += super::code_action::of(&workspace, &path, everything).len();
            }
        }
    }
    assert!(answers > 1000, "{answers}");
}

#[test]
fn every_place_of_a_whole_file_has_its_answers() {
    let mut workspace = Workspace::new(&NoProject);
    let uri = Uri::from_str("file:///nowhere/whole.xml").unwrap();
    workspace.set(&uri, 1, FILE.to_owned());
    let lines = super::position::Lines::new(FILE);
    let at = |part: &str, more: usize| lines.position(FILE, FILE.find(part).unwrap() + more);
    let view = workspace.view(&uri).unwrap();
    let labels = |position| -> Vec<String> {
        let items = super::completion::of(&view, position);
        items.into_iter().map(|item| item.label).collect()
    };
    let has = |position, wanted: &[&str]| {
        let labels = labels(position);
        for label in wanted {
            assert!(labels.iter().any(|found| found == label), "{label} in {labels:?}");
        }
    };
    has(
        at("ComputePathToPose", 7),
        &["ComputePathToPose", "Sequence", "SubTree"],
    );
    has(at(" goal=", 1), &["start", "goal", "_skipIf"]);
    has(at("{goal}", 1), &["{path}", "{speed}"]);
    has(at("ID=\"Go\" way", 4), &["Main", "Go"]);
    has(at(" way=", 1), &["way", "name", "_skipIf"]);
    has(at("x > 1", 1), &["speed", "true"]);
    has(at("\"true\"/>", 1), &["true", "false"]);
    has(at("<BehaviorTree", 1), &["BehaviorTree", "include"]);
    assert_eq!(labels(at("über", 0)), [""; 0]);

    let hover = |position| match super::hover::of(&view, position).unwrap().contents {
        lsp_types::HoverContents::Markup(markup) => markup.value,
        other => panic!("{other:?}"),
    };
    assert!(hover(at("ComputePathToPose", 3)).starts_with("**ComputePathToPose** (Action)"));
    assert!(hover(at("wait_duration", 3)).starts_with("`wait_duration`"));
    assert!(hover(at("{speed}", 2)).contains("written by Script, line 6"));
    assert!(hover(at("ID=\"Wait\"", 5)).starts_with("**Wait**"));

    let found = |locations: Vec<lsp_types::Location>| -> Vec<(u32, u32)> {
        let place = |location: lsp_types::Location| {
            (location.range.start.line + 1, location.range.start.character + 1)
        };
        locations.into_iter().map(place).collect()
    };
    let definition = |position| found(super::definition::of(&view, position));
    let references = |position| found(super::references::of(&view, position));
    assert_eq!(definition(at("ID=\"Go\" way", 5)), [(12, 21)]);
    assert_eq!(definition(at("{speed}", 2)), [(6, 21)]);
    assert_eq!(definition(at("\"Main\">\n  <inc", 2)), [(4, 21)]);
    // The key of the subtree: the attribute that sets it, its use and its model.
    assert_eq!(references(at("{way}", 2)), [(8, 24), (12, 44), (13, 54)]);
    assert_eq!(
        references(at("BehaviorTree ID=\"Go\"", 18)),
        [(12, 21), (8, 20), (13, 32)]
    );

    let range = Range::new(Position::new(0, 0), Position::new(99, 0));
    let hints = super::inlay_hint::of(&view, range);
    let label = |hint: &lsp_types::InlayHint| match &hint.label {
        lsp_types::InlayHintLabel::String(text) => format!("{} {text}", hint.position.line + 1),
        other @ lsp_types::InlayHintLabel::LabelParts(_) => panic!("{other:?}"),
    };
    let hints: Vec<String> = hints.iter().map(label).collect();
    assert!(
        hints.contains(&"8 ← ComputePathToPose, line 7".to_owned()),
        "{hints:?}"
    );
    assert!(hints.contains(&"9 ← Script, line 6".to_owned()), "{hints:?}");

    let outline = super::outline::of(view.file());
    assert_eq!(outline.len(), 2);
    let nodes = outline[0].children.as_ref().unwrap()[0]
        .children
        .as_ref()
        .unwrap();
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["Script", "ComputePathToPose", "Go", "Wait"]);
    assert!(super::folding::of(view.file()).len() >= 3);

    let rename = |position, name: &str| super::rename::of(&view, position, name);
    let edits = rename(at("{way}", 2), "route").unwrap().unwrap().changes.unwrap();
    assert_eq!(edits[&uri].len(), 3);
    assert!(rename(at("{way}", 2), "not a key").is_err());
    assert!(rename(at("ID=\"Go\" way", 5), "Sequence").is_err());
    assert!(rename(at("ID=\"Go\" way", 5), "Main").is_err());
    assert_eq!(rename(at("über", 0), "x"), Ok(None));
}

/// The project of this test is a file on disk, so that other files count.
#[test]
fn a_rename_changes_all_files_that_belong_together() {
    let directory = std::env::temp_dir().join(format!("navtree-lsp-set-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let directory = directory.canonicalize().unwrap();
    let tree = |content: &str| format!("<root BTCPP_format=\"4\">{content}</root>");
    let main = tree("<BehaviorTree ID=\"M\"><SubTree ID=\"Part\" goal=\"{home}\"/></BehaviorTree>");
    let part = tree("<BehaviorTree ID=\"Part\"><ComputePathToPose goal=\"{goal}\"/></BehaviorTree>");
    let other = tree("<BehaviorTree ID=\"M\"><ComputePathToPose goal=\"{goal}\"/></BehaviorTree>");
    for (name, text) in [("main.xml", &main), ("part.xml", &part), ("other.xml", &other)] {
        std::fs::write(directory.join(name), text).unwrap();
    }
    let mut workspace = Workspace::new(&NoProject);
    let uri = |name: &str| super::uri::of(&directory.join(name)).unwrap();
    workspace.set(&uri("part.xml"), 1, part.clone());
    let view = workspace.view(&uri("part.xml")).unwrap();
    let rename = |part_of: &str, name| {
        let column = part.find(part_of).unwrap() + 1;
        let at = Position::new(0, u32::try_from(column).unwrap());
        let changes = super::rename::of(&view, at, name)
            .unwrap()
            .unwrap()
            .changes
            .unwrap();
        let counts = ["main.xml", "part.xml", "other.xml"];
        counts.map(|name| changes.get(&uri(name)).map_or(0, Vec::len))
    };
    assert_eq!(rename("{goal}", "target"), [1, 1, 0]);
    assert_eq!(rename("Part\"", "Whole"), [1, 1, 0]);
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Each text, the place of a key in it, and the text after a rename of the key to `new`.
#[test]
fn a_rename_of_a_key_keeps_what_else_the_file_says() {
    let tree = |content: &str| {
        format!(
            "<root BTCPP_format=\"4\"><BehaviorTree ID=\"M\"><Sequence>{content}</Sequence></BehaviorTree></root>"
        )
    };
    let two = |content: &str, part: &str| {
        tree(content).replace(
            "</root>",
            &format!("<BehaviorTree ID=\"P\">{part}</BehaviorTree></root>"),
        )
    };
    let tables = [
        // `{=}` is the key with the name of the port.
        (
            tree("<Wait wait_duration=\"{=}\"/><Script code=\"wait_duration := 1\"/>"),
            "wait_duration :=",
            tree("<Wait wait_duration=\"{new}\"/><Script code=\"new := 1\"/>"),
        ),
        (
            tree("<Wait wait_duration=\" = \"/><Script code=\"wait_duration := 1\"/>"),
            "wait_duration :=",
            tree("<Wait wait_duration=\"{new}\"/><Script code=\"new := 1\"/>"),
        ),
        // The key in the subtree gets another name, and the key of the calling tree does not.
        (
            two(
                "<Script code=\"way := 1\"/><SubTree ID=\"P\" way=\"{=}\"/>",
                "<FollowPath path=\"{way}\"/>",
            ),
            "way}",
            two(
                "<Script code=\"way := 1\"/><SubTree ID=\"P\" new=\"{way}\"/>",
                "<FollowPath path=\"{new}\"/>",
            ),
        ),
        (
            two(
                "<Script code=\"way := 1\"/><SubTree ID=\"P\" way=\"{=}\"/>",
                "<FollowPath path=\"{way}\"/>",
            ),
            "way :=",
            two(
                "<Script code=\"new := 1\"/><SubTree ID=\"P\" way=\"{new}\"/>",
                "<FollowPath path=\"{way}\"/>",
            ),
        ),
        // Entities.
        (
            tree(
                "<FollowPath path=\"{w&#97;y}\"/><FollowPath path=\"&#123;way}\"/><Script code=\"&#x77;ay := 1; b := 1 &lt; way\"/>",
            ),
            "way}",
            tree(
                "<FollowPath path=\"{new}\"/><FollowPath path=\"&#123;new}\"/><Script code=\"new := 1; b := 1 &lt; new\"/>",
            ),
        ),
        (
            tree("<FollowPath path=\"{&#64;way}\"/><FollowPath path=\"{@way}\"/>"),
            "way}\"/></Seq",
            tree("<FollowPath path=\"{@new}\"/><FollowPath path=\"{@new}\"/>"),
        ),
    ];
    let mut workspace = Workspace::new(&NoProject);
    let uri = Uri::from_str("file:///nowhere/rename.xml").unwrap();
    for (text, part, expected) in tables {
        workspace.set(&uri, 1, text.clone());
        let view = workspace.view(&uri).unwrap();
        let lines = super::position::Lines::new(&text);
        let at = lines.position(&text, text.find(part).unwrap());
        let changes = super::rename::of(&view, at, "new")
            .unwrap()
            .unwrap()
            .changes
            .unwrap();
        let mut edits = changes[&uri].clone();
        edits.sort_by_key(|edit| std::cmp::Reverse(edit.range.start));
        let mut renamed = text.clone();
        for edit in edits {
            let place = |position| lines.offset(&text, position);
            renamed.replace_range(place(edit.range.start)..place(edit.range.end), &edit.new_text);
        }
        assert_eq!(renamed, expected);
    }
}

#[test]
fn the_cursor_stands_in_the_quotes_of_a_new_attribute() {
    let mut workspace = Workspace::new(&NoProject);
    let uri = Uri::from_str("file:///nowhere/new.xml").unwrap();
    let text = "<root BTCPP_format=\"4\"><BehaviorTree ID=\"M\"><Wait ";
    let end = Position::new(0, u32::try_from(text.len()).unwrap());
    for (snippets, expected) in [(true, "wait_duration=\"$1\""), (false, "wait_duration=\"\"")] {
        workspace.snippets = snippets;
        workspace.set(&uri, 1, text.to_owned());
        let view = workspace.view(&uri).unwrap();
        let items = super::completion::of(&view, end);
        let item = items.iter().find(|item| item.label == "wait_duration").unwrap();
        let Some(lsp_types::CompletionTextEdit::Edit(edit)) = &item.text_edit else {
            panic!("{item:?}");
        };
        assert_eq!(edit.new_text, expected);
    }
}
