//! Generated models: a struct per model, an open enum per enum, and the schemas of both.

use crate::names;
use crate::open_enums;
use crate::rust::print;
use crate::spec::Spec;
use crate::spec::api::{Field, Model, Type};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

/// `crates/types`: a struct per model, an open enum per enum, and the schemas of both.
pub(crate) fn models(spec: &Spec) -> Result<String, String> {
    let (models, enums) = (&spec.api.models, &spec.api.enums);
    let names = models.iter().map(|model| &model.name);
    let names: Vec<&String> = names.chain(enums.iter().map(|known| &known.name)).collect();
    let idents = names.iter().map(|name| format_ident!("{name}"));
    let enums = enums.iter().map(open_enums::tokens);
    let mut sorted: Vec<&Model> = models.iter().collect();
    sorted.sort_by_key(|model| &model.name);
    let models = sorted.into_iter().map(model);
    print(quote! {
        #(#enums)*
        #(#models)*
        /// The JSON Schema of every model and open enum, by name.
        pub fn json_schemas() -> ::std::vec::Vec<(&'static str, ::schemars::Schema)> {
            ::std::vec![#((#names, ::schemars::schema_for!(#idents))),*]
        }
    })
}

/// A struct; in responses it keeps the fields that the document does not show.
fn model(model: &Model) -> TokenStream {
    let name = format_ident!("{}", model.name);
    let doc = format!(" {}", model.description);
    let fields = model.fields.iter().map(|one| field(one, model.answered));
    let unknown = model.answered.then(|| {
        // A documented field may bear the name of the map, too.
        let taken = model.field("extra").is_some();
        let name = format_ident!("{}", if taken { "unknown_fields" } else { "extra" });
        quote! {
            #[serde(flatten)]
            /// Fields that the document does not show.
            pub #name: ::serde_json::Map<::std::string::String, ::serde_json::Value>,
        }
    });
    quote! {
        #[doc = #doc]
        #[derive(
            ::schemars::JsonSchema,
            ::serde::Deserialize,
            ::serde::Serialize,
            Clone,
            Debug,
            PartialEq
        )]
        pub struct #name {
            #(#fields,)*
            #unknown
        }
    }
}

fn field(field: &Field, answered: bool) -> TokenStream {
    let rust = names::rust_field(&field.wire);
    let doc = match &field.description {
        Some(text) => format!(" {text}"),
        None => format!(" The {}.", names::snake(&field.wire).replace('_', " ")),
    };
    let rename = (rust != field.wire).then(|| {
        let wire = &field.wire;
        quote!(rename = #wire)
    });
    let (kind, absent) = held(field, answered);
    let settings: Vec<TokenStream> = rename.into_iter().chain(absent).collect();
    let serde = (!settings.is_empty()).then(|| quote!(#[serde(#(#settings),*)]));
    let name = format_ident!("{rust}");
    quote! {
        #[doc = #doc]
        #serde
        pub #name: #kind
    }
}

/// The type of a field, and what serde does where it is absent.
fn held(field: &Field, answered: bool) -> (TokenStream, Option<TokenStream>) {
    let kind = kind(&field.kind);
    // An absent array or map is an empty one, but a request can leave out or send either.
    let empty = match &field.kind {
        Type::Array(_) => Some("::std::vec::Vec::is_empty"),
        Type::Map(_) => Some("::std::collections::BTreeMap::is_empty"),
        Type::Object => Some("::serde_json::Map::is_empty"),
        _ => None,
    };
    let empty = empty.filter(|_| answered || !field.nullable);
    match (field.required && !field.nullable, empty) {
        (true, _) => (kind, None),
        (false, Some(empty)) => (kind, Some(quote!(default, skip_serializing_if = #empty))),
        (false, None) => {
            let absent = (!field.required)
                .then(|| quote!(skip_serializing_if = "::std::option::Option::is_none"));
            (quote!(::std::option::Option<#kind>), absent)
        }
    }
}

/// The name and type that code of a user rests on.
pub(crate) fn signature(field: &Field, answered: bool) -> String {
    let kind = held(field, answered).0;
    format!("{}: {kind}", names::rust_field(&field.wire))
}

/// The type of a value.
pub(crate) fn kind(of: &Type) -> TokenStream {
    match of {
        Type::Text => quote!(::std::string::String),
        Type::Secret => quote!(crate::Secret),
        Type::Integer => quote!(i64),
        Type::Unsigned => quote!(u64),
        Type::Number => quote!(f64),
        Type::Boolean => quote!(bool),
        Type::Enum(name) => {
            let name = format_ident!("{name}");
            quote!(crate::#name)
        }
        Type::Model(name) => {
            let name = format_ident!("{name}");
            quote!(#name)
        }
        Type::Array(held) => {
            let held = kind(held);
            quote!(::std::vec::Vec<#held>)
        }
        Type::Map(held) => {
            let held = kind(held);
            quote!(::std::collections::BTreeMap<::std::string::String, #held>)
        }
        Type::Object => quote!(::serde_json::Map<::std::string::String, ::serde_json::Value>),
        Type::Json => quote!(::serde_json::Value),
        Type::Nullable(held) => {
            let held = kind(held);
            quote!(::std::option::Option<#held>)
        }
    }
}
