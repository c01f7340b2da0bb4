//! Generated Rust of `crates/types`: what is known of an operation, and the options of a call.

use crate::models;
use crate::names;
use crate::rust::{operation_name, option, sentence};
use crate::spec::Operation;
use crate::spec::api::{Api, Body, Field, Model, Parameter, TokenUse, Type};
use heck::ToUpperCamelCase;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use std::collections::BTreeSet;

/// The options of a call, where it has any.
pub(crate) fn options(operation: &Operation) -> TokenStream {
    if operation.optional().next().is_none() {
        return TokenStream::new();
    }
    let name = format_ident!("{}", names::options(operation));
    let doc = format!(" What {} can do without.", operation.title());
    let fields = operation.optional().map(|one| {
        let (field, doc) = (argument(one), format!(" {}", one.description));
        let kind = match one.kind.present() {
            Type::Array(_) => models::kind(one.kind.present()),
            kind => {
                let kind = models::kind(kind);
                quote!(::std::option::Option<#kind>)
            }
        };
        quote!(#[doc = #doc] pub #field: #kind)
    });
    quote! {
        #[doc = #doc]
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct #name { #(#fields),* }
    }
}

/// A parameter as an argument.
pub(crate) fn argument(parameter: &Parameter) -> Ident {
    format_ident!("{}", names::argument(parameter))
}

pub(crate) fn constant(api: &Api, operation: &Operation) -> TokenStream {
    let constant = operation_name(operation);
    let doc = format!(
        " {}. {}",
        sentence(&operation.summary),
        operation.description
    );
    let Operation {
        id,
        path,
        group,
        summary,
        description,
        idempotent,
        deprecated,
        ..
    } = operation;
    let (name, command) = (names::snake(&operation.name), names::command(operation));
    let method = format_ident!("{}", operation.method.to_upper_camel_case());
    let token = match operation.token {
        TokenUse::Never => quote!(TokenUse::Never),
        TokenUse::Always => quote!(TokenUse::Always),
        TokenUse::WhenThereIsOne => quote!(TokenUse::WhenThereIsOne),
    };
    let (answers, callable) = (operation.response.is_some(), operation.is_call());
    let parameters = match operation.is_generated() {
        true => operation
            .taken()
            .map(|one| parameter(api, operation, one))
            .collect(),
        false => Vec::new(),
    };
    let body = option(operation.body.as_ref().map(|body| {
        let fields = body_fields(api, operation, body);
        let required = body.required;
        quote!(RequestBody { required: #required, fields: &[#(#fields),*] })
    }));
    quote! {
        #[doc = #doc]
        pub const #constant: &Operation = &Operation {
            id: #id,
            name: #name,
            command: #command,
            method: Method::#method,
            path: #path,
            group: #group,
            summary: #summary,
            description: #description,
            token: #token,
            idempotent: #idempotent,
            deprecated: #deprecated,
            answers: #answers,
            callable: #callable,
            parameters: &[#(#parameters),*],
            body: #body,
        };
    }
}

fn parameter(api: &Api, operation: &Operation, one: &Parameter) -> TokenStream {
    let location = format_ident!("{}", one.location.to_upper_camel_case());
    let told = Told {
        wire: &one.name,
        argument: names::argument(one),
        location: quote!(Location::#location),
        required: one.required,
        kind: one.kind.present(),
        description: &one.description,
    };
    told.tokens(api, operation)
}

/// The fields of a body that can be arguments: all but secrets, which would be seen; none where one of them would be
/// taken for a parameter.
fn body_fields(api: &Api, operation: &Operation, body: &Body) -> Vec<TokenStream> {
    let Some(model) = body_model(api, operation, body) else {
        return Vec::new();
    };
    let fields = model.fields.iter().filter(|one| one.kind != Type::Secret);
    let field = |one: &Field| {
        let told = Told {
            wire: &one.wire,
            argument: names::body_argument(&one.wire),
            location: quote!(Location::Body),
            required: one.required && body.required,
            kind: one.kind.present(),
            description: api.about(one).unwrap_or("Not described."),
        };
        told.tokens(api, operation)
    };
    fields.map(field).collect()
}

/// The model of a body whose fields are arguments of their own: each has a name that nothing else has.
pub(crate) fn body_model<'a>(
    api: &'a Api,
    operation: &Operation,
    body: &Body,
) -> Option<&'a Model> {
    let Type::Model(name) = &body.kind else {
        return None;
    };
    let model = api.model(name)?;
    let mut names: BTreeSet<String> = operation.taken().map(names::argument).collect();
    let mut fields = model.fields.iter();
    let distinct = fields.all(|one| names.insert(names::body_argument(&one.wire)));
    distinct.then_some(model)
}

/// What the table says of a parameter, or of a field of a body.
struct Told<'a> {
    wire: &'a str,
    argument: String,
    location: TokenStream,
    required: bool,
    kind: &'a Type,
    description: &'a str,
}

impl Told<'_> {
    fn tokens(&self, api: &Api, operation: &Operation) -> TokenStream {
        let Told {
            wire,
            argument,
            location,
            required,
            description,
            ..
        } = self;
        let held = match self.kind {
            Type::Array(held) if held.present().is_scalar() => Some(held.present()),
            _ => None,
        };
        let repeated = held.is_some();
        let flag = names::flag(wire);
        let positional = operation.positional.as_deref() == Some(wire);
        let nonblank = operation.nonblank.iter().any(|one| one == wire);
        let (kind, known) = kind_of(api, held.unwrap_or(self.kind));
        quote! {
            Parameter {
                name: #wire,
                argument: #argument,
                flag: #flag,
                location: #location,
                required: #required,
                repeated: #repeated,
                positional: #positional,
                nonblank: #nonblank,
                kind: FieldKind::#kind,
                known_values: &[#(#known),*],
                description: #description,
            }
        }
    }
}

/// The JSON type of a value, and the values that are documented.
pub(crate) fn kind_of<'a>(api: &'a Api, kind: &Type) -> (TokenStream, &'a [String]) {
    match kind {
        Type::Enum(name) => (
            quote!(Text),
            api.enumeration(name).map_or(&[][..], |known| &known.values),
        ),
        Type::Text | Type::Secret => (quote!(Text), &[]),
        Type::Integer | Type::Unsigned => (quote!(Integer), &[]),
        Type::Number => (quote!(Number), &[]),
        Type::Boolean => (quote!(Boolean), &[]),
        _ => (quote!(Json), &[]),
    }
}
