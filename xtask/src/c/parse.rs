//! Reads the functions and constants back from the generated C header.

/// The macro before functions whose result must not be ignored.
pub(crate) const NODISCARD: &str = "TALENTDATA_NODISCARD";

/// A function of the header.
pub(crate) struct Function {
    pub(crate) result: String,
    pub(crate) name: String,
    pub(crate) parameters: Vec<Parameter>,
    /// Whether the compiler warns when the result is ignored.
    pub(crate) nodiscard: bool,
    /// The comment before it.
    pub(crate) doc: String,
}

/// A parameter: its type without spaces at the end, and its name.
pub(crate) struct Parameter {
    pub(crate) kind: String,
    pub(crate) name: String,
}

impl Parameter {
    /// A pointer, or a callback, that must not be NULL.
    pub(crate) fn is_pointer(&self) -> bool {
        (self.kind.ends_with('*') || self.kind.ends_with("_callback"))
            && !["user_data", "release"].contains(&self.name.as_str())
    }

    /// Where a result is written.
    pub(crate) fn is_out(&self) -> bool {
        self.name.ends_with("_out")
    }
}

impl Function {
    pub(crate) fn can_fail(&self) -> bool {
        self.result == "talentdata_error *"
    }

    /// Whether the documentation says that this parameter may be NULL.
    pub(crate) fn allows_null(&self, parameter: &Parameter) -> bool {
        let start = format!("@param {} ", parameter.name);
        let line = self.doc.lines().find(|line| line.contains(&start));
        line.is_some_and(|line| line.contains("or NULL"))
    }

    pub(crate) fn frees(&self) -> bool {
        self.name.ends_with("_free")
    }
}

/// Every function, in the header's order.
pub(crate) fn functions(header: &str) -> Result<Vec<Function>, String> {
    let mut out = Vec::new();
    let mut rest = header;
    let mut doc = String::new();
    while let Some(start) = rest.find(|letter: char| !letter.is_whitespace()) {
        rest = &rest[start..];
        if let Some(comment) = rest.strip_prefix("/*") {
            let end = comment.find("*/").ok_or("a comment without an end")?;
            doc = comment[..end].to_owned();
            rest = &comment[end + 2..];
        } else if rest.starts_with('#')
            || rest.starts_with("extern \"C\" {")
            || rest.starts_with('}')
        {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
        } else {
            let declaration = whole(rest);
            rest = &rest[declaration.len()..];
            if let Some(function) = function(declaration, std::mem::take(&mut doc))? {
                out.push(function);
            }
        }
    }
    if out.is_empty() {
        return Err("the header declares no functions".into());
    }
    Ok(out)
}

/// The declaration at the beginning, up to the semicolon that is not within braces.
fn whole(text: &str) -> &str {
    let mut depth = 0_i32;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return &text[..=at],
            _ => {}
        }
    }
    text
}

fn function(declaration: &str, doc: String) -> Result<Option<Function>, String> {
    let text = declaration.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.starts_with("typedef") || text.starts_with("enum") || text.starts_with("struct") {
        return Ok(None);
    }
    let unclear = || format!("not a function: {text}");
    let unmarked = text.strip_prefix(&format!("{NODISCARD} "));
    let nodiscard = unmarked.is_some();
    let (head, parameters) = unmarked
        .unwrap_or(&text)
        .strip_suffix(");")
        .and_then(|text| text.split_once('('))
        .ok_or_else(unclear)?;
    let (result, name) = split(head).ok_or_else(unclear)?;
    let parameters = parameters.split(", ").filter(|one| *one != "void");
    let parameters: Option<Vec<Parameter>> = parameters
        .map(|one| split(one).map(|(kind, name)| Parameter { kind, name }))
        .collect();
    let parameters = parameters.ok_or_else(unclear)?;
    Ok(Some(Function {
        result,
        name,
        parameters,
        nodiscard,
        doc,
    }))
}

/// A type and the name behind it.
fn split(text: &str) -> Option<(String, String)> {
    let at = text.rfind([' ', '*'])? + 1;
    Some((text[..at].trim_end().to_owned(), text[at..].to_owned()))
}

/// Every constant of an enum: its name and number.
pub(crate) fn constants(header: &str) -> Result<Vec<(String, u32)>, String> {
    let lines = header.lines().filter_map(|line| {
        let (name, number) = line.trim().strip_suffix(',')?.split_once(" = ")?;
        name.starts_with("TALENTDATA_").then_some((name, number))
    });
    let pairs = lines.map(|(name, text)| match text.parse() {
        Ok(number) => Ok((name.to_owned(), number)),
        Err(_) => Err(format!("{name} is {text}, which is no plain number")),
    });
    pairs.collect()
}
