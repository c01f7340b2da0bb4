//! Generated text: one template per file, which looks like the resulting file.

use crate::generation::Spec;
use crate::{names, text};
use minijinja::{Environment, Value, path_loader};

/// Renders a file with the template of its name.
pub(crate) fn template(spec: &Spec, path: &str) -> Result<String, String> {
    render_file(path, spec.data.clone())
}

/// Renders a file with the template of its name and this data. Rust is formatted.
pub(crate) fn render_file(path: &str, data: Value) -> Result<String, String> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let text = render(path, &format!("{name}.j2"), data)?;
    if !path.ends_with(".rs") {
        return Ok(text);
    }
    let (title, code) = text.split_once('\n').unwrap_or_default();
    let file = syn::parse_file(code).map_err(|error| {
        let at = error.span().start().line;
        let line = code.lines().nth(at.saturating_sub(1)).unwrap_or_default();
        format!("{path}: {error} in {line:?}")
    })?;
    Ok(format!("{title}\n\n{}", prettyplease::unparse(&file)))
}

/// Renders a template. `path` is the path of the resulting file.
pub(crate) fn render(path: &str, template: &str, data: Value) -> Result<String, String> {
    let mut environment = Environment::new();
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_keep_trailing_newline(true);
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::SemiStrict);
    environment.add_filter("lit", |text: String| format!("{text:?}"));
    environment.add_filter("q", |text: String| {
        text.replace('\\', "\\\\").replace('"', "\\\"")
    });
    environment.add_filter("constant", |text: String| names::constant(&text));
    environment.add_filter("sentence", |text: String| text::sentence(&text));
    environment.add_filter("snake", |text: String| names::snake(&text));
    environment.add_filter("wrap", |text: String, width: usize| wrap(&text, width));
    environment.set_loader(path_loader(
        crate::workspace::root().join("xtask/src/templates"),
    ));
    let text = environment.get_template(template);
    let text = text.and_then(|template| template.render(data));
    text.map_err(|error| format!("{path}: {error:#}"))
}

/// Returns the lines of a text, with at most `width` characters each if words allow it.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() < width => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
