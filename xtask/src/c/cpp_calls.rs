//! `calls.hpp`: request bodies as structs, and the methods of a C++ client that call the operations.

use super::calls::{name, takes_text};
use super::cpp::{CLOSE, HEAD, OPEN};
use super::cpp_bodies::{request, sent, struct_of};
use super::shapes::{Response, models, response};
use crate::names;
use crate::rust::sentence;
use crate::spec::Spec;
use crate::spec::api::{Operation, Parameter, Type};

/// The file.
pub(crate) fn file(spec: &Spec) -> Result<String, String> {
    let calls: Vec<&Operation> = spec
        .api
        .operations
        .iter()
        .filter(|one| one.is_call())
        .collect();
    let mut out = format!(
        "{HEAD}\n//\n// Request bodies, options, and the calls of a client. Included by talentdata.hpp.\n#pragma once\n\n\
         #include <talentdata/json.hpp>\n#include <talentdata/models.hpp>\n\n{OPEN}"
    );
    for model in sent(spec) {
        out += &request(spec, model);
    }
    for call in &calls {
        out += &options(call);
    }
    for (list, _) in spec.lists() {
        out += &list_options(list);
    }
    out += "namespace detail {\n\n/// The calls of `Client`, which says where its handle is and how a result is taken.\n\
            template <class Client>\nclass calls {\n public:\n";
    for call in &calls {
        out += &attempt(spec, call);
    }
    out += "#if defined(__cpp_exceptions)\n";
    for call in &calls {
        out += &thrower(spec, call);
    }
    out += "#endif\n\n private:\n  const Client &self() const noexcept { return static_cast<const Client &>(*this); }\n};\n\n\
            }  // namespace detail\n";
    Ok(out + CLOSE)
}

/// A parameter as a member of a struct, where it may be left out.
fn member(one: &Parameter) -> String {
    let kind = match one.kind.present() {
        Type::Array(held) => format!("std::vector<{}>", scalar(held.present(), "std::string")),
        kind => format!("std::optional<{}>", scalar(kind, "std::string")),
    };
    let needed = if one.required { " Required." } else { "" };
    let (about, name) = (&one.description, names::argument(one));
    format!("  /// {about}{needed}\n  {kind} {name}{{}};\n")
}

/// The parameters of a list, as a struct that becomes `list_parameters`; what it lacks is refused by the library.
fn list_options(operation: &Operation) -> String {
    let (mut fields, mut adds) = (String::new(), String::new());
    for one in operation.taken() {
        fields += &member(one);
        adds += &format!("    out.add(\"{}\", {});\n", one.name, names::argument(one));
    }
    match fields.is_empty() {
        true => String::new(),
        false => format!(
            "/// The parameters of {}, beside limit and offset.\nstruct {} {{\n{fields}\n  \
             operator list_parameters() const {{\n    list_parameters out;\n{adds}    return out;\n  }}\n}};\n\n",
            operation.title(),
            names::snake(&names::options(operation))
        ),
    }
}

fn options(operation: &Operation) -> String {
    let fields: String = operation.optional().map(member).collect();
    match fields.is_empty() {
        true => String::new(),
        false => format!(
            "/// What {} can do without.\nstruct {} {{\n{fields}}};\n\n",
            operation.title(),
            names::snake(&names::options(operation))
        ),
    }
}

fn scalar<'a>(kind: &Type, text: &'a str) -> &'a str {
    match kind {
        Type::Integer => "std::int64_t",
        Type::Unsigned => "std::uint64_t",
        Type::Number => "double",
        Type::Boolean => "bool",
        _ => text,
    }
}

/// What a method takes, and how it passes each to the C function.
struct Taken {
    takes: Vec<String>,
    names: Vec<String>,
    /// Lines before the call.
    before: String,
    passes: Vec<String>,
}

fn taken(spec: &Spec, operation: &Operation) -> Taken {
    let mut out = Taken {
        takes: Vec::new(),
        names: Vec::new(),
        before: String::new(),
        passes: Vec::new(),
    };
    for one in operation.required() {
        out.parameter(one);
    }
    if let Some(body) = &operation.body {
        let kind = match &body.kind {
            Type::Model(name) => struct_of(spec, name),
            _ => "raw_json".to_owned(),
        };
        let (kind, json) = match body.required {
            true => (kind, "detail::to_json(body)"),
            false => (
                format!("std::optional<{kind}>"),
                "body ? detail::to_json(*body) : std::string()",
            ),
        };
        out.takes.push(format!("const {kind} &body"));
        out.names.push("body".to_owned());
        out.before += &format!("    const std::string json = {json};\n");
        let pointer = match body.required {
            true => "json.data()",
            false => "body ? json.data() : nullptr",
        };
        out.passes
            .extend([pointer.to_owned(), "json.size()".to_owned()]);
    }
    if operation.optional().next().is_some() {
        let kind = names::snake(&names::options(operation));
        out.takes.push(format!("const {kind} &options = {{}}"));
        out.names.push("options".to_owned());
        out.before += "    detail::parameter_set parameters;\n";
        for one in operation.optional() {
            let member = names::argument(one);
            out.before += &format!("    parameters.add(\"{}\", options.{member});\n", one.name);
        }
        out.before += "    if (parameters.failed()) return *parameters.failed();\n";
        out.passes.push("parameters.get()".to_owned());
    }
    out
}

impl Taken {
    fn parameter(&mut self, one: &Parameter) {
        let name = names::argument(one);
        match one.kind.present() {
            Type::Array(held) => {
                let is_text = matches!(held.present(), Type::Text | Type::Enum(_));
                let kind = scalar(held.present(), "std::string_view");
                self.takes
                    .push(format!("const std::vector<{kind}> &{name}"));
                let made = match is_text {
                    true => format!("detail::texts({name})"),
                    false => {
                        self.before += &format!(
                            "    std::vector<std::string> {name}_written;\n    \
                             for (const {kind} one : {name}) {name}_written.push_back(detail::to_json(one));\n"
                        );
                        format!("detail::texts({name}_written)")
                    }
                };
                self.before += &format!("    const auto {name}_texts = {made};\n");
                self.passes.extend([
                    format!("{name}_texts.data()"),
                    format!("{name}_texts.size()"),
                ]);
            }
            Type::Text | Type::Enum(_) => {
                self.takes.push(format!("std::string_view {name}"));
                self.passes
                    .extend([format!("detail::data({name})"), format!("{name}.size()")]);
            }
            kind => {
                self.takes.push(format!("{} {name}", scalar(kind, "")));
                self.passes.push(name.clone());
            }
        }
        self.names.push(name);
    }
}

/// The class of the response; none where there is none.
fn given(spec: &Spec, operation: &Operation) -> Option<String> {
    Some(match response(spec, operation) {
        Response::None => return None,
        Response::Handle(model) => format!("talentdata::{}", names::cpp_class(&model)),
        Response::Record(lists) => {
            let models = models(spec);
            let model = models
                .iter()
                .find(|one| !lists.is_empty() && one.lists == lists);
            model.map_or("talentdata::record".to_owned(), |model| {
                format!("talentdata::{}", names::cpp_class(&model.name))
            })
        }
        Response::Json => "talentdata::json_text".to_owned(),
    })
}

fn doc(operation: &Operation) -> String {
    let deprecated = match operation.deprecated {
        true => " Deprecated: the service document advises against it.",
        false => "",
    };
    format!(
        "  /// {}. {}{deprecated}\n",
        sentence(&operation.summary),
        operation.description
    )
}

/// The method that gives a result.
fn attempt(spec: &Spec, operation: &Operation) -> String {
    let Taken {
        takes,
        before,
        mut passes,
        ..
    } = taken(spec, operation);
    let (method, function) = (
        names::cpp_call(operation),
        name(operation, takes_text(operation)),
    );
    passes.insert(0, "self().raw()".to_owned());
    let takes = takes.join(", ");
    let body = match given(spec, operation) {
        None => {
            let passes = passes.join(", ");
            format!(
                "  std::optional<error> try_{method}({takes}) const {{\n{before}    \
                 if (talentdata_error *cause = {function}({passes})) return error(cause);\n    return std::nullopt;\n  }}\n"
            )
        }
        Some(class) => {
            passes.push("out".to_owned());
            let passes = passes.join(", ");
            format!(
                "  result<{class}> try_{method}({takes}) const {{\n{before}    \
                 return Client::template owned<{class}>([&](auto **out) {{ return {function}({passes}); }});\n  }}\n"
            )
        }
    };
    doc(operation) + &body
}

/// The method that throws.
fn thrower(spec: &Spec, operation: &Operation) -> String {
    let Taken { takes, names, .. } = taken(spec, operation);
    let method = crate::names::cpp_call(operation);
    let (takes, names) = (takes.join(", "), names.join(", "));
    let class = given(spec, operation).unwrap_or_else(|| "void".to_owned());
    format!("  {class} {method}({takes}) const {{ return self().taken(try_{method}({names})); }}\n")
}
