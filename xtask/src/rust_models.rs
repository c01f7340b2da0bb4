//! Generated models: a struct per schema by typify, an open enum per enum, and the schemas of both.

use crate::names;
use crate::normalise::normalise;
use crate::open_enums;
use crate::rust::print;
use crate::spec::Spec;
use quote::{format_ident, quote};
use serde_json::json;
use syn::parse_quote;
use typify::{TypeSpace, TypeSpaceImpl, TypeSpaceSettings};

/// `crates/types`: a struct per model, an open enum per enum, and the schemas of both.
pub(crate) fn models(spec: &Spec) -> Result<String, String> {
    let normalised = normalise(spec);
    let mut settings = TypeSpaceSettings::default();
    settings
        .with_derive("PartialEq".into())
        .with_derive("::schemars::JsonSchema".into())
        .with_map_type("::std::collections::BTreeMap".to_owned());
    let secret = serde_json::from_value(json!({"type": "string", "format": "password"}))
        .map_err(|error| error.to_string())?;
    settings.with_conversion(secret, "crate::Secret", std::iter::empty::<TypeSpaceImpl>());
    for known in &normalised.enums {
        let path = format!("crate::{}", known.name);
        settings.with_replacement(&known.name, path, std::iter::empty::<TypeSpaceImpl>());
    }
    let mut space = TypeSpace::new(&settings);
    let mut definitions = Vec::new();
    for (name, schema) in &normalised.models {
        let schema: schemars08::schema::Schema = serde_json::from_value(schema.clone())
            .map_err(|error| format!("schema {name}: {error}"))?;
        definitions.push((name.clone(), schema));
    }
    for known in &normalised.enums {
        definitions.push((known.name.clone(), schemars08::schema::Schema::Bool(true)));
    }
    space
        .add_ref_types(definitions)
        .map_err(|error| format!("typify: {error}"))?;
    let mut file: syn::File =
        syn::parse2(space.to_stream()).map_err(|error| format!("typify's output: {error}"))?;
    file.items.retain(is_model);
    for item in &mut file.items {
        in_the_specs_order(item, spec);
        document(item);
    }
    let enums = normalised.enums.iter().map(open_enums::tokens);
    let names = normalised.models.iter().map(|(name, _)| name);
    let names: Vec<&String> = names
        .chain(normalised.enums.iter().map(|known| &known.name))
        .collect();
    let idents = names.iter().map(|name| format_ident!("{name}"));
    print(quote! {
        #(#enums)*
        #file
        /// The JSON Schema of every model and open enum, by name.
        pub fn json_schemas() -> ::std::vec::Vec<(&'static str, ::schemars::Schema)> {
            ::std::vec![#((#names, ::schemars::schema_for!(#idents))),*]
        }
    })
}

/// Typify's error module and its `From<&T> for T` clones serve nothing here.
fn is_model(item: &syn::Item) -> bool {
    matches!(
        item,
        syn::Item::Struct(_) | syn::Item::Enum(_) | syn::Item::Type(_)
    )
}

/// Names every field by our rule, and puts them in the order of the document; typify sorts by name.
fn in_the_specs_order(item: &mut syn::Item, spec: &Spec) {
    let syn::Item::Struct(syn::ItemStruct {
        ident,
        fields: syn::Fields::Named(fields),
        ..
    }) = item
    else {
        return;
    };
    let schema = spec.schema(&ident.to_string());
    let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
    let wires: Vec<&String> = properties.into_iter().flat_map(|all| all.keys()).collect();
    let mut sorted = Vec::new();
    for mut field in std::mem::take(&mut fields.named) {
        let wire = wire_name(&field);
        let position = wires.iter().position(|known| **known == wire);
        if position.is_some() && !is_map_of_unknown(&field) {
            let name = names::rust_field(&wire);
            if name != wire && !field.attrs.iter().any(is_rename) {
                field.attrs.push(parse_quote!(#[serde(rename = #wire)]));
            }
            field.ident = Some(format_ident!("{name}"));
        }
        sorted.push((position.unwrap_or(usize::MAX), field));
    }
    sorted.sort_by_key(|(position, _)| *position);
    fields.named = sorted.into_iter().map(|(_, field)| field).collect();
}

/// The name that serde is told, or else that of the field.
fn wire_name(field: &syn::Field) -> String {
    let mut wire = field
        .ident
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    for attribute in field
        .attrs
        .iter()
        .filter(|one| one.path().is_ident("serde"))
    {
        // What is no rename is passed over: only its value is read.
        let _ = attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("rename") {
                return meta
                    .value()
                    .and_then(|value| value.parse::<syn::Lit>())
                    .map(drop);
            }
            wire = meta.value()?.parse::<syn::LitStr>()?.value();
            Ok(())
        });
    }
    wire
}

fn is_rename(attribute: &syn::Attribute) -> bool {
    quote!(#attribute).to_string().contains("rename =")
}

/// The flattened map of what the document does not show.
fn is_map_of_unknown(field: &syn::Field) -> bool {
    let mut attributes = field.attrs.iter();
    attributes.any(|one| quote!(#one).to_string().contains("flatten"))
}

/// Documents every field, and drops the JSON schema that typify pastes into the documentation.
fn document(item: &mut syn::Item) {
    let syn::Item::Struct(model) = item else {
        return;
    };
    model.attrs.iter_mut().for_each(tidy_doc);
    let names: Vec<String> = model
        .fields
        .iter()
        .filter_map(|field| field.ident.as_ref())
        .map(ToString::to_string)
        .collect();
    for field in &mut model.fields {
        field.attrs.iter_mut().for_each(tidy_doc);
        if is_map_of_unknown(field) {
            field
                .attrs
                .push(parse_quote!(#[doc = " Fields that the document does not show."]));
            // A documented field may bear the name of the map, too.
            if names.iter().filter(|name| *name == "extra").count() > 1 {
                field.ident = Some(format_ident!("unknown_fields"));
            }
        } else if !field.attrs.iter().any(|one| one.path().is_ident("doc")) {
            let name = field
                .ident
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default();
            let doc = format!(" The {}.", name.replace('_', " "));
            field.attrs.insert(0, parse_quote!(#[doc = #doc]));
        }
    }
}

fn tidy_doc(attribute: &mut syn::Attribute) {
    let syn::Meta::NameValue(pair) = &mut attribute.meta else {
        return;
    };
    let syn::Expr::Lit(syn::ExprLit {
        lit: syn::Lit::Str(text),
        ..
    }) = &mut pair.value
    else {
        return;
    };
    let whole = text.value();
    let kept = whole.split("\n<details>").next().unwrap_or_default().trim();
    *text = syn::LitStr::new(&format!(" {kept}"), text.span());
}
