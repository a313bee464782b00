//! The catalogue of diagnostics: one row for each, the source of `docs/diagnostics.md`.

use std::fmt;
use std::str::FromStr;

use super::examples::Advice;

/// The severity of a problem.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// Information only; it never changes an exit code.
    Note,
    /// The tree runs, but probably not as intended. Can be silenced.
    Warning,
    /// The tree does not load. Cannot be silenced.
    Error,
}

impl Severity {
    /// `note`, `warning` or `error`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

macro_rules! codes {
    ($($section:literal { $($number:literal $name:ident $severity:ident $explanation:literal)+ })+) => {
        /// A kind of problem. Its number never changes and is never reused; the number of a removed kind stays unused.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[doc = $explanation] $name = $number,)+)+
        }

        impl Code {
            /// All kinds, by section.
            pub const SECTIONS: &'static [(&'static str, &'static [Self])] =
                &[$(($section, &[$(Self::$name),+])),+];

            /// The default severity.
            pub fn severity(self) -> Severity {
                match self { $($(Self::$name => Severity::$severity,)+)+ }
            }

            /// One sentence for people.
            pub fn explanation(self) -> &'static str {
                match self { $($(Self::$name => $explanation,)+)+ }
            }
        }
    };
}

codes! {
"Files and includes" {
    1 UnreadableFile Error "The file does not exist or cannot be read."
    2 NotUtf8 Error "The file is not UTF-8 text; save it as UTF-8."
    3 FileTooLarge Error "The file, or a file with all that it includes, exceeds the size limit."
    4 TooManyElements Error "The file has more elements or attributes, or one element more attributes, than the limit allows."
    5 TooDeep Error "Elements are nested deeper than 256 nodes in one tree."
    6 TooManyProblems Note "Too many problems were found; only the first are listed."
    7 IncludeWithoutPath Error "`<include>` needs a `path`."
    8 IncludeCycle Error "A file includes itself, directly or through others."
    9 UnknownPackage Error "The package named by `ros_pkg` is in no prefix of AMENT_PREFIX_PATH."
    10 PackageIgnored Warning "`ros_pkg` has no effect because the path is absolute."
    11 TooManyFiles Error "More files are included than the limit allows."
}
"XML" {
    101 MalformedMarkup Error "The text is not well-formed XML."
    102 MissingEndTag Error "An element is opened and never closed."
    103 UnexpectedEndTag Error "An end tag closes no open element."
    104 SeveralRoots Error "A document has one outermost element; this is another one."
    105 TextOutsideRoot Error "Text stands behind the outermost element, or before an XML declaration."
    106 NoRoot Error "The file holds no element."
    107 DoctypeRefused Error "Document type definitions are refused: no tree needs one, and they can be abused."
    108 DuplicateAttribute Error "An attribute is given twice; only one value can count."
    109 MalformedAttribute Error "An attribute is not of the form `name=\"value\"`."
    110 LessThanInValue Warning "A `<` inside an attribute value is read as it stands, as BehaviorTree.CPP does; XML wants `&lt;`. Often a quote is missing before it."
    111 UnknownEntity Warning "A `&` that begins none of `&lt; &gt; &amp; &quot; &apos;` and `&#number;` is read as it stands, as BehaviorTree.CPP does; XML wants `&amp;`."
    112 InvalidCharacter Error "A control character that XML does not allow."
    113 InvalidName Error "The name of an element or attribute has characters that XML does not allow."
    114 OtherEncoding Warning "The file declares another encoding, but is read as UTF-8."
    115 IgnoredText Warning "Text between elements, or before the outermost one, has no meaning in a tree file and \
                             is ignored. Write a comment as `<!-- … -->`."
}
"Document structure" {
    201 WrongRoot Error "The outermost element of a tree file must be `<root>`."
    202 MissingFormat Warning "`<root>` has no `BTCPP_format`; the version was decided by the content."
    203 UnknownFormat Warning "`BTCPP_format` is neither \"3\" nor \"4\"; the file is read as version 4."
    204 UnknownAllow Warning "A `navtree: allow(…)` comment names no known code or is misspelt."
    205 IgnoredElement Warning "An element has no meaning directly under `<root>` and is ignored."
    206 SeveralModels Error "A file may have one `<TreeNodesModel>` only."
    207 ModelWithoutId Error "An entry of a model needs an `ID`."
    208 BadModelPort Error "A port of a subtree's model has no name, or one that cannot be a port's."
    209 MissingId Error "An element of the explicit form, or a `<SubTree>`, needs an `ID`."
    210 TreeWithoutId Error "A `<BehaviorTree>` needs an `ID` unless it stands alone in its file."
    211 BadTreeName Warning "The name of a tree or node type has a space or another special character, or is `root`. \
                             BehaviorTree.CPP 4.10 refuses it; versions up to 4.8 take it."
    212 NameClash Error "A tree has the name of a node type."
    213 DuplicateTree Warning "Two trees have the same ID; one of them has no effect."
    214 TreeChildren Error "A `<BehaviorTree>` has exactly one child."
    215 NoMainTree Error "It is not clear which tree to run, or it does not exist."
    216 EmptyMainTree Warning "`main_tree_to_execute` is empty; the only tree is run."
    217 SeveralTrees Note "A file has several trees that no other tree uses, and does not say which to run. A program has to name one."
}
"Nodes" {
    301 UnknownNode Error "No node type of this ID is registered."
    302 ChildCount Error "A node has too few or too many children."
    303 IdOnCompactNode Error "A node written by its own name has no attribute `ID`."
    304 BadInstanceName Error "The name of a node has a control character."
    305 KindMismatch Warning "A node is written as one kind (`<Action ID=…>`) and registered as another."
    306 MisspeltDirective Warning "An attribute looks like a condition script, or like a key for a subtree, but its name makes it metadata, which has no effect."
    307 OtherVersion Warning "Something that exists only in the other version of the format, and has no effect here."
    308 Refused Error "A node rejects its configuration."
    309 SubTreeChildren Error "A `<SubTree>` has no children; it stands for a whole tree."
    310 NoChildren Warning "A reactive node of a version 3 file has no children. BehaviorTree.CPP 3.8 runs it; version 4 refuses it."
    311 ReplacedNode Note "A palette declares a node with the name of one of navtree's nodes, and with other ports. The palette counts."
}
"Ports and keys" {
    401 UnknownPort Error "The node has no port of this name."
    402 MissingPort Error "A port without default is not given."
    403 BadLiteral Error "A value is not of the port's type."
    404 TypeClash Error "Two uses of one blackboard key have types that do not convert into each other."
    405 BadKey Error "A blackboard key is empty or has a second `@`."
    406 NeverWritten Warning "A blackboard key is read but never written, or assigned by `=` but never created."
    407 Unsupported Warning "A port is set that this build does not support, because its interface has no such \
                             field."
    408 Unserved Error "A node uses an interface, a field or a value that this build does not have or cannot send. \
                        Only builds with ROS check this."
    409 TrailingText Warning "A number is followed by other text, which is ignored: `12abc` is 12."
    410 LiteralOutput Error "An output port is given text instead of a blackboard key in braces: what the node writes would be lost."
    411 UnreadableArgument Warning "A value given to a subtree is not of the type of the port that reads it there: the node fails when it is ticked, unless a condition keeps it from that."
    412 UnfitNumber Warning "A script writes a number into a key whose ports are of another type, as 0.5 for an `int`: the key takes it, as in BehaviorTree.CPP; a node whose port cannot read it fails, or takes its default."
    413 EmptyInput Warning "An optional port of a version 3 file is empty. It counts as not given; version 4 refuses it."
    414 BareOutput Warning "An output port of a version 3 file is given a key without braces. Version 3 takes the text as the key; version 4 refuses it."
    415 FormerPort Warning "An earlier version of the node had this port. The value has no effect."
    416 MissingInput Error "A port is not set, and the node always fails without it. `navtree check` reports an error; the node runs the tree with a warning, as Nav2 does."
    417 OutOfRange Warning "A number makes no sense at this port, as a rate of 0 or a negative duration."
    418 MistypedKey Warning "A key is written but never read, and a key of almost the same name is read but not written by the tree."
}
"Subtrees" {
    501 UnknownTree Error "No file defines a tree of this ID."
    502 Recursion Error "A tree contains itself, directly or through others."
    503 DuplicatePath Error "Two instances of subtrees have the same path; loggers could not tell them apart."
    504 MissingModelPort Error "A port that the model of a subtree declares without default is not given."
    505 TreeTooLarge Error "With all subtrees in place the tree exceeds the limit on nodes, nesting or text."
}
"Scripts" {
    601 BadScript Error "A script cannot be compiled."
    602 EmptyScript Warning "A `<Script code=\"\"/>` does nothing and succeeds."
    603 LineContinuation Warning "A script has a `\\` before the end of a line. BehaviorTree.CPP 4.5 to 4.8 ignore it; other versions refuse it."
    604 DoubleQuotes Warning "A script has a text in double quotes. BehaviorTree.CPP up to 4.8 takes it; later versions refuse it."
}
"Behaviour" {
    701 Unreachable Warning "A child is never ticked, because one before it always decides."
    702 NeverFires Warning "A condition that remembers a reference is reset at every tick by its reactive parent and can never fire."
    703 TwoAsynchronous Warning "Two children of a reactive node run on; each tick the first halts the second."
}
"Conversion" {
    801 ConversionNote Note "A change by the conversion from version 3 to version 4 that is more than a renaming, \
                             and the condition under which the meaning stays the same."
    802 NotConverted Error "Something in a version 3 file has no counterpart in version 4."
}
"Mocks" {
    901 UnusedMock Warning "A key of the mocks matches no leaf of the tree that runs by path, name or ID."
}
}

impl Code {
    /// All kinds, by number.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::SECTIONS.iter().flat_map(|(_, codes)| codes.iter().copied())
    }

    /// The stable number.
    pub fn number(self) -> u16 {
        self as u16
    }

    /// What to do about a problem that has no help of its own.
    pub(super) fn usual_help(self) -> Option<&'static str> {
        Some(match self {
            Self::UnexpectedEndTag => "remove it, or correct its name",
            Self::NoRoot => "a tree file begins with `<root BTCPP_format=\"4\">`",
            Self::OtherEncoding => "save the file as UTF-8, and write `encoding=\"UTF-8\"`",
            Self::IgnoredText => "remove it, or write a remark as `<!-- … -->`",
            Self::UnknownAllow => "write a code, for example `navtree: allow(NT0406)`",
            Self::SeveralModels => "put all entries into the first one",
            Self::ModelWithoutId | Self::MissingId => "add `ID=\"…\"`, the name of the node or of the tree",
            Self::BadModelPort => "a port has a `name`: a letter, then letters, digits and `_`",
            Self::NameClash => "give the tree another ID, here and where it is used",
            Self::DuplicateTree => "give one of them another ID, or remove it",
            Self::BadInstanceName => "remove the control character",
            Self::Unsupported => "remove the attribute",
            Self::Recursion => {
                "to do something again, put `Repeat` or `KeepRunningUntilFailure` around the nodes"
            }
            Self::MissingModelPort => "add the port to the `<SubTree>`",
            Self::EmptyScript => "remove the node, or write a script",
            Self::Unreachable => "remove it, or put it before the child that decides",
            _ => return None,
        })
    }

    /// The page that explains all codes. It is generated from this catalogue, so both always agree.
    pub fn reference() -> String {
        let mut page = String::from(
            "# Diagnostics\n\n\
             Every problem has a stable code. `-A CODE` silences a warning or a note, and `-D CODE` makes it an error.\n\
             `<!-- navtree: allow(CODE) -->` in the file silences it for the next element. Before the first tree, this\n\
             comment applies to the whole file. Errors cannot be silenced. `navtree explain CODE` shows what this page says\n\
             about a code. An example without `<root>` stands in a tree of version 4.\n\n\
             This page is generated from `src/xml/code.rs`; `NAVTREE_BLESS=1 cargo test --no-default-features --lib xml::code` \
             writes it again.\n",
        );
        for (section, codes) in Self::SECTIONS {
            page.push_str(&format!(
                "\n## {section}\n\n| code | severity | meaning |\n|---|---|---|\n"
            ));
            for code in *codes {
                let explanation = code.explanation().replace('|', "\\|");
                page.push_str(&format!("| {code} | {} | {explanation} |\n", code.severity()));
            }
            for code in *codes {
                page.push_str(&format!("\n### {code}\n\n{}", part_of(*code)));
            }
        }
        page
    }
}

/// What the page tells about one code.
fn part_of(code: Code) -> String {
    let explanation = code.explanation();
    match code.advice() {
        Advice::Example { wrong, right } => {
            format!("{explanation}\n\n```xml\n{wrong}```\n\nInstead:\n\n```xml\n{right}```\n")
        }
        Advice::Words(words) => format!("{explanation}\n\n{words}"),
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NT{:04}", self.number())
    }
}

/// A text that is not the name of a [`Code`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is not a diagnostic code")]
pub struct UnknownCode(pub String);

impl FromStr for Code {
    type Err = UnknownCode;

    fn from_str(text: &str) -> Result<Self, UnknownCode> {
        let number = text
            .strip_prefix("NT")
            .filter(|digits| digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|digits| digits.parse().ok());
        Self::all()
            .find(|code| Some(code.number()) == number)
            .ok_or_else(|| UnknownCode(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ascend_and_names_round_trip() {
        let all: Vec<_> = Code::all().collect();
        assert!(all.windows(2).all(|pair| pair[0].number() < pair[1].number()));
        for code in all {
            assert_eq!(code.to_string().parse(), Ok(code));
            assert!(code.explanation().ends_with('.'), "{code}");
        }
        assert_eq!("NT9999".parse::<Code>(), Err(UnknownCode("NT9999".into())));
    }

    #[test]
    fn the_reference_page_is_current() {
        crate::golden_file::check("docs/diagnostics.md", &Code::reference());
    }
}
