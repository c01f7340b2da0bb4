//! Values that fit one of several schemas: known texts, one type in several forms, or anything.

use super::api::Type;
use super::findings::Topic;
use super::references;
use super::types::Types;
use super::view::Form;
use serde_json::{Map, Value};

impl Types<'_> {
    /// One of several schemas: their type where they share it, else any value.
    pub(super) fn choice(&mut self, choices: &[Value], at: &str, name: &str) -> Type {
        let mut kinds = Vec::new();
        for (index, choice) in choices.iter().enumerate() {
            let is_scalar = choice.get("$ref").is_some()
                || !["object", "array"]
                    .iter()
                    .any(|kind| choice["type"] == *kind);
            let has_fields = choice.get("properties").is_some() || choice.get("allOf").is_some();
            if is_scalar && !has_fields {
                kinds.push(Some(self.of(choice, &format!("{at}/{index}"), name).kind));
            } else {
                kinds.push(None);
            }
        }
        if let [Some(first), others @ ..] = kinds.as_slice()
            && others.iter().all(|other| other.as_ref() == Some(first))
        {
            return first.clone();
        }
        let text = format!("{at}: one of {} schemas", choices.len());
        self.findings.note(Topic::Raw, text);
        Type::Json
    }

    /// The values of an enum: a closed list, `anyOf` of a list and any text, or a list in several parts.
    pub(super) fn open_enum(&mut self, map: &Map<String, Value>, at: &str) -> Option<OpenEnum> {
        if let Some(values) = map.get("enum").and_then(Value::as_array) {
            return Some(OpenEnum::of(values));
        }
        let choices = map.get("anyOf").or_else(|| map.get("oneOf"))?.as_array()?;
        let (mut texts, mut lists, mut kind) = (Vec::new(), 0, Type::Text);
        for choice in choices {
            let resolved = references::resolve(self.document(), choice);
            if resolved.get("properties").is_some() {
                return None;
            }
            match choice.get("$ref").and_then(Value::as_str) {
                Some(reference) => match self.referred(&references::step(reference), at).kind {
                    Type::Enum(name) => {
                        let known = self.api.enumeration(&name);
                        texts.extend(known.into_iter().flat_map(|known| known.values.clone()));
                        (lists, kind) = (lists + 1, Type::Enum(name));
                    }
                    Type::Text => {}
                    _ => return None,
                },
                None => {
                    let view = self.viewer.view(choice, at, self.findings);
                    let Form::Keywords(map) = view.form else {
                        return None;
                    };
                    match map.get("enum").and_then(Value::as_array) {
                        Some(values) => {
                            lists += 1;
                            texts.extend(OpenEnum::of(values).texts);
                        }
                        None if map.get("type")? == "string" => {}
                        None => return None,
                    }
                }
            }
        }
        if lists == 0 {
            return None;
        }
        texts.dedup();
        let kind = if lists == 1 { kind } else { Type::Text };
        Some(OpenEnum { texts, kind })
    }
}

/// Known values, and the enum that has them already, if any.
pub(super) struct OpenEnum {
    pub(super) texts: Vec<String>,
    pub(super) kind: Type,
}

impl OpenEnum {
    fn of(values: &[Value]) -> Self {
        let texts = values.iter().filter_map(Value::as_str).map(str::to_owned);
        OpenEnum {
            texts: texts.collect(),
            kind: Type::Text,
        }
    }
}
