//! Generated models: typify makes them from plain JSON Schema, and one pass gives them the names of the registry.

use crate::generation::Spec;
use crate::names;
use crate::render::render_file;
use crate::spec::api::{Enum, Model, Type};
use minijinja::context;
use quote::{ToTokens, format_ident};
use serde_json::{Map, Value, json};
use std::error::Error;
use syn::{Attribute, Item, parse_quote};
use typify::{TypeSpace, TypeSpaceImpl, TypeSpaceSettings};

/// Returns the models of `crates/types`: a struct per model, an open enum per enum, and the schemas of both.
pub(crate) fn models(spec: &Spec, path: &str) -> Result<String, String> {
    let (models, enums) = (&spec.api.models, &spec.api.enums);
    let mut file = typified(models, enums).map_err(|error| format!("typify: {error}"))?;
    file.items.retain_mut(|item| match item {
        Item::Struct(item) => {
            let model = models.iter().find(|one| item.ident == one.name);
            model.inspect(|model| named_struct(item, model)).is_some()
        }
        Item::Enum(item) => {
            let known = enums.iter().find(|one| item.ident == known_name(one));
            known.inspect(|known| named_enum(item, known)).is_some()
        }
        _ => false,
    });
    let types = prettyplease::unparse(&file);
    render_file(path, context! { types, ..spec.data.clone() })
}

/// Returns the models and enums as typify makes them.
fn typified(models: &[Model], enums: &[Enum]) -> Result<syn::File, Box<dyn Error>> {
    let mut definitions = Map::new();
    let mut settings = TypeSpaceSettings::default();
    settings
        .with_derive("PartialEq".to_owned())
        .with_derive("::schemars::JsonSchema".to_owned())
        .with_map_type("::std::collections::BTreeMap")
        .with_replacement("Secret", "crate::Secret", std::iter::empty());
    definitions.insert("Secret".to_owned(), json!({"type": "string"}));
    for known in enums {
        let name = known_name(known);
        let open = format!("crate::Open<{name}>");
        let open_impls = [TypeSpaceImpl::Display, TypeSpaceImpl::FromStr];
        settings.with_replacement(&known.name, open, open_impls.into_iter());
        definitions.insert(known.name.clone(), json!({"type": "string"}));
        // Its own names of variants would differ, so they are replaced later.
        let values: Vec<String> = (0..known.values.len()).map(numbered).collect();
        definitions.insert(name, json!({"type": "string", "enum": values}));
    }
    let objects = models.iter().map(|one| (one.name.clone(), object(one)));
    definitions.extend(objects);
    let definitions: schemars08::Map<String, schemars08::schema::Schema> =
        serde_json::from_value(Value::Object(definitions))?;
    let mut space = TypeSpace::new(&settings);
    space.add_ref_types(definitions)?;
    Ok(syn::parse2(space.to_stream())?)
}

/// Returns the schema of a model. In responses it keeps the fields that are not documented.
fn object(model: &Model) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (index, field) in model.fields.iter().enumerate() {
        let name = numbered(index);
        required.extend(field.required.then(|| name.clone()));
        properties.insert(name, schema(&field.kind));
    }
    let mut schema = json!({"type": "object", "properties": properties, "required": required});
    if model.in_responses {
        schema["additionalProperties"] = json!({});
    }
    schema
}

/// Returns the plain schema of a type.
fn schema(of: &Type) -> Value {
    let reference = |name: &str| json!({"$ref": format!("#/definitions/{name}")});
    match of {
        Type::Text => json!({"type": "string"}),
        Type::Secret => reference("Secret"),
        Type::Integer => json!({"type": "integer", "format": "int64"}),
        Type::Unsigned => json!({"type": "integer", "format": "uint64"}),
        Type::Number => json!({"type": "number", "format": "double"}),
        Type::Boolean => json!({"type": "boolean"}),
        Type::Enum(name) | Type::Model(name) => reference(name),
        Type::Array(held) => json!({"type": "array", "items": schema(held)}),
        Type::Map(held) => json!({"type": "object", "additionalProperties": schema(held)}),
        Type::Object => json!({"type": "object", "additionalProperties": true}),
        Type::Json => json!({}),
        Type::Nullable(held) => json!({"oneOf": [schema(held), {"type": "null"}]}),
    }
}

/// Gives a struct the documentation of the spec, and its fields the names of the registry.
fn named_struct(item: &mut syn::ItemStruct, model: &Model) {
    document(&mut item.attrs, &model.description);
    if model.in_responses {
        item.attrs.push(parse_quote!(#[non_exhaustive]));
    }
    // typify keeps the order of the names, and puts the undocumented fields last.
    // If none of a model's fields can be named, it is a map, without names in it.
    let fields = item.fields.iter_mut().filter(|field| field.ident.is_some());
    for (index, field) in fields.enumerate() {
        let Some(one) = model.fields.get(index) else {
            document(&mut field.attrs, "Fields that the document does not show.");
            field.ident = Some(format_ident!("{}", names::EXTRA_FIELD));
            continue;
        };
        if has_integer(&one.kind) {
            let has_reader = |attribute: &Attribute| {
                attribute
                    .to_token_stream()
                    .to_string()
                    .contains("deserialize_with")
            };
            // The reader by typify only makes the field required, as ours does.
            field.attrs.retain(|attribute| !has_reader(attribute));
            field
                .attrs
                .push(parse_quote!(#[serde(deserialize_with = "crate::whole::read")]));
            let is_default = |attribute: &Attribute| {
                attribute.path().is_ident("serde")
                    && attribute.to_token_stream().to_string().contains("default")
            };
            if !one.required && !field.attrs.iter().any(is_default) {
                field.attrs.push(parse_quote!(#[serde(default)]));
            }
        }
        let (name, wire) = (names::name(&one.name, &names::RUST_FIELD), &one.wire);
        if name != *wire {
            field.attrs.push(parse_quote!(#[serde(rename = #wire)]));
        }
        document(&mut field.attrs, &one.description);
        field.ident = Some(format_ident!("{name}"));
    }
}

/// Returns whether values of this type contain integers, which may be written as `1.0`.
fn has_integer(of: &Type) -> bool {
    match of {
        Type::Integer | Type::Unsigned => true,
        Type::Array(held) | Type::Map(held) | Type::Nullable(held) => has_integer(held),
        _ => false,
    }
}

/// Documents the variants of the known values of an enum.
fn named_enum(item: &mut syn::ItemEnum, known: &Enum) {
    let name = &known.name;
    document(
        &mut item.attrs,
        &format!("The values of [`{name}`] that the document shows."),
    );
    item.attrs.push(parse_quote!(#[non_exhaustive]));
    // typify keeps the order of the values.
    for (value, variant) in known.values.iter().zip(&mut item.variants) {
        variant.ident = format_ident!("{}", names::variant(value, &names::VALUE));
        variant.attrs.retain(|one| !one.path().is_ident("serde"));
        document(&mut variant.attrs, &format!("`{value}`"));
        variant.attrs.push(parse_quote!(#[serde(rename = #value)]));
    }
}

/// Returns the temporary name of a field or a variant.
fn numbered(index: usize) -> String {
    format!("a{index:06}")
}

/// Returns the name of the enum of the known values.
pub(crate) fn known_name(known: &Enum) -> String {
    format!("Known{}", known.name)
}

/// Replaces the documentation.
fn document(attributes: &mut Vec<Attribute>, text: &str) {
    attributes.retain(|one| !one.path().is_ident("doc"));
    let text = format!(" {text}");
    attributes.insert(0, parse_quote!(#[doc = #text]));
}
