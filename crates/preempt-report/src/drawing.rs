//! Drawings of states: an SVG file of the user's, in which texts, classes and places follow expressions.
//!
//! An attribute that begins with `data-` has expressions of the model, [`ATTRIBUTES`] says which there are. What is
//! drawn is the file's shapes and texts only: the file is read here, once, into a tree of elements that are known
//! to show and to do nothing else, and the pages build their elements from that tree and never from the file. So a
//! drawing cannot run a script, load anything, or change the page around it. What the tree cannot have is a mistake with
//! its line, not something that is left out silently; elements and attributes of other namespaces, which editors of
//! drawings write for themselves, are the exception.

use crate::Drawn;
use crate::plain_json::{PlainJson, plain_object, to_text};
use preempt_core::{Trace, Value};
use roxmltree::{Document, Node};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The script that shows a drawing, which both pages use: `drawing.open(element, scene)` gives a function that shows
/// values.
pub const SCRIPT: &str = include_str!("../assets/drawing.js");

/// Where the drawing of a model is, if it has one: `NAME.drawing.svg` beside `NAME.pml`.
pub fn beside(model: &Path) -> PathBuf {
    model.with_extension("drawing.svg")
}

/// Attributes that follow expressions, and what they do.
pub const ATTRIBUTES: [(&str, &str); 6] = [
    ("data-text", "the text of the element is the value"),
    ("data-class", "`NAME: EXPRESSION; …`: the element has the class where the value is not 0"),
    ("data-show", "the element is drawn where the value is not 0"),
    ("data-move-x", "the element is moved to the right by the value"),
    ("data-move-y", "the element is moved down by the value"),
    (
        "data-x, -y, -cx, -cy, -r, -x1, -y1, -x2, -y2, -width, -height, -opacity",
        "the attribute of that name has the value",
    ),
];

/// Attributes of SVG that may follow an expression.
const NUMBERS: [&str; 12] =
    ["x", "y", "cx", "cy", "r", "x1", "y1", "x2", "y2", "width", "height", "opacity"];

/// What a drawing consists of.
const ELEMENTS: [&str; 23] = [
    "circle",
    "clipPath",
    "defs",
    "desc",
    "ellipse",
    "g",
    "line",
    "linearGradient",
    "marker",
    "mask",
    "path",
    "pattern",
    "polygon",
    "polyline",
    "radialGradient",
    "rect",
    "stop",
    "svg",
    "symbol",
    "text",
    "title",
    "tspan",
    "use",
];

/// More expressions are no drawing.
const MOST_EXPRESSIONS: usize = 1000;
/// Deeper nesting is not needed.
const DEEPEST: usize = 100;
const SVG: &str = "http://www.w3.org/2000/svg";
const XLINK: &str = "http://www.w3.org/1999/xlink";

/// A drawing, read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Drawing {
    /// The expressions that it follows, each once, with the line of the first attribute that has it.
    pub expressions: Vec<(String, u32)>,
    /// The tree of elements as JSON, for the script.
    pub scene: String,
}

/// What is wrong with a drawing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DrawingError {
    /// One sentence.
    pub message: String,
    /// The line, from 1.
    pub line: u32,
}

/// What the script builds.
struct Scene {
    style: String,
    root: Element,
}

struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    /// What follows an expression, and the number of the expression.
    follows: Vec<(String, usize)>,
    children: Vec<Child>,
}

enum Child {
    Element(Element),
    Text(String),
}

plain_object!(Scene { style, root });
plain_object!(Element { name, attributes, follows, children });

impl PlainJson for Child {
    fn write(&self, out: &mut String) {
        match self {
            Child::Element(element) => element.write(out),
            Child::Text(text) => text.write(out),
        }
    }
}

impl Drawing {
    /// Reads the text of an SVG file.
    pub fn read(text: &str) -> Result<Drawing, DrawingError> {
        let document = Document::parse(text).map_err(|error| DrawingError {
            message: format!("this is no SVG: {error}"),
            line: error.pos().row,
        })?;
        let mut reader =
            Reader { document: &document, expressions: Vec::new(), style: String::new() };
        let root = document.root_element();
        if !root.has_tag_name((SVG, "svg")) {
            return Err(reader.refuse(root, format!("a drawing is an `svg` element of {SVG}")));
        }
        let root = reader.element(root, 0)?;
        if reader.expressions.is_empty() {
            let known: Vec<&str> = ATTRIBUTES.iter().map(|(name, _)| *name).collect();
            let message =
                format!("nothing in this drawing follows the model: see {}", known.join(", "));
            return Err(DrawingError { message, line: 1 });
        }
        let scene = to_text(&Scene { style: reader.style, root });
        Ok(Drawing { expressions: reader.expressions, scene })
    }
}

impl Drawing {
    /// What it shows along an execution of which the variables are known, and nothing else.
    pub fn of_variables(&self, trace: &Trace) -> Drawn {
        let mut now: HashMap<&str, &Value> =
            trace.initial.iter().map(|(name, value)| (name.as_str(), value)).collect();
        let shown = |now: &HashMap<&str, &Value>| -> Vec<Option<Value>> {
            let value = |(text, _): &(String, u32)| now.get(text.as_str()).map(|v| (*v).clone());
            self.expressions.iter().map(value).collect()
        };
        let mut values = vec![shown(&now)];
        for step in &trace.steps {
            for change in &step.changes {
                match &change.to {
                    Some(value) => now.insert(&change.name, value),
                    None => now.remove(change.name.as_str()),
                };
            }
            values.push(shown(&now));
        }
        Drawn { scene: self.scene.clone(), values }
    }
}

struct Reader<'a> {
    document: &'a Document<'a>,
    expressions: Vec<(String, u32)>,
    style: String,
}

impl Reader<'_> {
    fn refuse(&self, node: Node<'_, '_>, message: String) -> DrawingError {
        DrawingError { message, line: self.document.text_pos_at(node.range().start).row }
    }

    fn element(&mut self, node: Node<'_, '_>, depth: usize) -> Result<Element, DrawingError> {
        let name = node.tag_name().name();
        if depth > DEEPEST {
            return Err(self.refuse(node, "the elements are nested too deeply".into()));
        }
        let mut element = Element {
            name: name.to_string(),
            attributes: Vec::new(),
            follows: Vec::new(),
            children: Vec::new(),
        };
        for attribute in node.attributes() {
            let (key, value) = (attribute.name(), attribute.value());
            let line = self.document.text_pos_at(attribute.range().start).row;
            let wrong = |message: String| DrawingError { message, line };
            let is_reference = key == "href";
            if attribute.namespace().is_some_and(|space| !(is_reference && space == XLINK)) {
                continue;
            }
            if let Some(what) = key.strip_prefix("data-") {
                for (what, expression) in following(what, value).map_err(wrong)? {
                    let at = self.number(expression, line)?;
                    element.follows.push((what, at));
                }
            } else if key.starts_with("on") {
                return Err(wrong(format!("a drawing has no scripts such as `{key}`")));
            } else if is_reference && !value.trim_start().starts_with('#') || loads(value) {
                return Err(wrong(format!("a drawing loads nothing, as `{key}` does here")));
            } else {
                element.attributes.push((key.to_string(), value.to_string()));
            }
        }
        for child in node.children() {
            let space = child.tag_name().namespace();
            match (child.is_element(), child.tag_name().name()) {
                (false, _) => {
                    let text = child.text().filter(|_| child.is_text()).unwrap_or_default();
                    let text = if holds_text(name) { text } else { "" };
                    element.children.extend((!text.is_empty()).then(|| Child::Text(text.into())));
                }
                (true, _) if space != Some(SVG) => {}
                (true, "metadata") => {}
                (true, "style") => {
                    let text: String = child.children().filter_map(|part| part.text()).collect();
                    if loads(&text) || text.contains('@') {
                        let message = "the style of a drawing loads nothing and has no `@` rules";
                        return Err(self.refuse(child, message.into()));
                    }
                    self.style.push_str(&text);
                }
                (true, known) if ELEMENTS.contains(&known) => {
                    element.children.push(Child::Element(self.element(child, depth + 1)?));
                }
                (true, other) => {
                    let message = format!("a drawing has shapes and texts, and no `{other}`");
                    return Err(self.refuse(child, message));
                }
            }
        }
        Ok(element)
    }

    /// The number of an expression.
    fn number(&mut self, text: &str, line: u32) -> Result<usize, DrawingError> {
        let known = self.expressions.iter().position(|(known, _)| known == text);
        if known.is_none() {
            self.expressions.push((text.to_string(), line));
        }
        if self.expressions.len() > MOST_EXPRESSIONS {
            let message = format!("a drawing has at most {MOST_EXPRESSIONS} expressions");
            return Err(DrawingError { message, line });
        }
        Ok(known.unwrap_or(self.expressions.len() - 1))
    }
}

/// What an attribute with this name behind `data-` makes follow which expressions.
fn following<'v>(what: &str, value: &'v str) -> Result<Vec<(String, &'v str)>, String> {
    let whole = value.trim();
    let mut list = match what {
        "class" => whole
            .split(';')
            .filter(|part| !part.trim().is_empty())
            .map(|part| match part.split_once(':') {
                Some((name, expression)) if is_name(name.trim()) => {
                    Ok((format!("class {}", name.trim()), expression.trim()))
                }
                _ => Err(format!(
                    "`data-class` is `NAME: EXPRESSION; …`, and here `{}`",
                    part.trim()
                )),
            })
            .collect::<Result<Vec<_>, _>>()?,
        "text" | "show" | "move-x" | "move-y" => vec![(what.to_string(), whole)],
        number if NUMBERS.contains(&number) => vec![(number.to_string(), whole)],
        _ => {
            let known: Vec<&str> = ATTRIBUTES.iter().map(|(name, _)| *name).collect();
            return Err(format!("there is no `data-{what}`; there are {}", known.join(", ")));
        }
    };
    if list.is_empty() {
        list.push((what.to_string(), ""));
    }
    match list.iter().any(|(_, expression)| expression.is_empty()) {
        true => Err(format!("`data-{what}` has no expression")),
        false => Ok(list),
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
}

/// Whether white space and text inside an element is shown.
fn holds_text(element: &str) -> bool {
    matches!(element, "text" | "tspan" | "title" | "desc")
}

/// Whether a style or an attribute names something outside the file. A backslash could hide that it does.
fn loads(text: &str) -> bool {
    let small = text.to_ascii_lowercase();
    let outside = small
        .split("url(")
        .skip(1)
        .any(|rest| !rest.trim_start_matches([' ', '\'', '"']).starts_with('#'));
    outside
        || small.contains("image-set")
        || small.contains('\\')
        || small.trim_start().starts_with("javascript:")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(inside: &str) -> Result<Drawing, DrawingError> {
        Drawing::read(&format!("<svg xmlns=\"{SVG}\" xmlns:xlink=\"{XLINK}\">\n{inside}\n</svg>"))
    }

    #[test]
    fn expressions_are_numbered_once_and_the_tree_names_them() {
        let drawing = read(
            r##"<style>.on { fill: red }</style>
            <g data-move-x="10 * turn"><rect width="3" data-class="on: wants[0]; off: !wants[0]" fill="url(#a)"/></g>
            <text data-text="turn">?</text><use xlink:href="#a" data-show="wants[0]"/>"##,
        )
        .unwrap();
        let texts: Vec<&str> = drawing.expressions.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(texts, ["10 * turn", "wants[0]", "!wants[0]", "turn"]);
        assert_eq!(drawing.expressions[3].1, 4);
        for part in [
            r#""style":".on { fill: red }""#,
            r#""follows":[["move-x",0]]"#,
            r#""attributes":[["width","3"],["fill","url(#a)"]],"follows":[["class on",1],["class off",2]]"#,
            r#""name":"text","attributes":[],"follows":[["text",3]],"children":["?"]"#,
            r##""name":"use","attributes":[["href","#a"]],"follows":[["show",1]]"##,
        ] {
            assert!(drawing.scene.contains(part), "{part}\n{}", drawing.scene);
        }
    }

    #[test]
    fn what_could_do_more_than_show_is_refused_with_its_line() {
        let shown = r#"<text data-text="x"/>"#;
        for (bad, word) in [
            ("<script>alert(1)</script>", "script"),
            ("<foreignObject/>", "foreignObject"),
            ("<image href=\"a.png\"/>", "image"),
            ("<a href=\"#a\"/>", "`a`"),
            ("<animate attributeName=\"href\" to=\"javascript:alert(1)\"/>", "animate"),
            ("<set attributeName=\"onclick\"/>", "set"),
            ("<rect onclick=\"alert(1)\"/>", "onclick"),
            ("<use href=\"other.svg#a\"/>", "href"),
            ("<use xlink:href=\"data:image/svg+xml,x\"/>", "href"),
            ("<rect fill=\"url(http://example.org/a)\"/>", "fill"),
            ("<rect style=\"fill: u\\72l(http://example.org)\"/>", "style"),
            ("<style>@import 'a.css';</style>", "style"),
            ("<style>rect { fill: URL( 'a.svg' ) }</style>", "style"),
            ("<rect data-colour=\"x\"/>", "data-colour"),
            ("<rect data-class=\"x\"/>", "NAME: EXPRESSION"),
            ("<rect data-class=\"\"/>", "no expression"),
            ("<rect data-x=\" \"/>", "no expression"),
            ("<rect", "no SVG"),
        ] {
            let error = read(&format!("{shown}\n{bad}")).unwrap_err();
            assert!(error.message.contains(word), "{bad}: {error:?}");
            assert!(error.line >= 3, "{bad}: {error:?}");
        }
        assert!(read("<rect/>").unwrap_err().message.contains("data-text"));
        assert!(Drawing::read("<html/>").is_err());
        let deep = "<g>".repeat(300) + &"</g>".repeat(300);
        assert!(read(&format!("{shown}{deep}")).is_err());
        let many: String = (0..1100).map(|n| format!("<text data-text=\"x + {n}\"/>")).collect();
        assert!(read(&many).unwrap_err().message.contains("at most"));
    }

    #[test]
    fn what_editors_write_for_themselves_is_left_out() {
        let drawing = Drawing::read(&format!(
            "<svg xmlns='{SVG}' xmlns:i='http://example.org/editor' i:version='1'><metadata/><i:view><script/></i:view><text i:label='a' data-text='x'/></svg>"
        ));
        assert!(!drawing.unwrap().scene.contains("label"));
    }

    #[test]
    fn variables_are_followed_along_an_execution() {
        use preempt_core::{Change, Switch, TraceStep};
        let change = |to| Change { name: "x".into(), from: None, to };
        let step = |to| TraceStep {
            process: "P".into(),
            pid: 0,
            partner: None,
            file: String::new(),
            line: 1,
            text: String::new(),
            switch: Switch::None,
            changes: vec![change(to)],
            output: String::new(),
        };
        let trace = Trace {
            initial: vec![("x".into(), Value::Int(1))],
            steps: vec![step(Some(Value::Int(2))), step(None)],
            ..Trace::default()
        };
        let drawn =
            read(r#"<text data-text="x"/><text data-text="y"/>"#).unwrap().of_variables(&trace);
        let x = |n| vec![Some(Value::Int(n)), None];
        assert_eq!(drawn.values, [x(1), x(2), vec![None, None]]);
    }
}
