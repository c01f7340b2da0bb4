//! Generated Rust of `crates/core`: a method of either client per operation, and what its body and response must be.

use crate::models::kind;
use crate::names;
use crate::rust::{operation_name, print, sentence};
use crate::rust_operations::argument;
use crate::spec::api::{Parameter, Type};
use crate::spec::{Operation, Spec};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

/// `crates/core/src/generated/calls.rs`.
pub(crate) fn calls(spec: &Spec) -> Result<String, String> {
    let calls: Vec<Call> = spec
        .api
        .operations
        .iter()
        .filter(|one| one.is_call())
        .map(|one| Call::of(one))
        .collect();
    let methods = calls.iter().map(Call::method);
    let blocking = calls.iter().map(Call::blocking);
    let arguments = calls.iter().map(Call::arguments);
    let bodies = spec.api.operations.iter().filter(|one| one.is_call());
    let bodies = bodies.filter_map(|one| Some(check(one, &one.body.as_ref()?.kind)));
    let responses = spec.api.operations.iter().filter(|one| one.is_call());
    let responses = responses.filter_map(|one| Some(check(one, one.response.as_ref()?)));
    print(quote! {
        #![allow(unused_variables, clippy::match_single_binding, reason = "the spec may have no bodies")]
        #![allow(unused_imports, reason = "which are needed depends on the spec")]
        #![allow(clippy::too_many_arguments, reason = "the spec has that many parameters")]
        use crate::request::response::fits;
        use crate::blocking;
        use crate::arguments::Arguments;
        use crate::client::Client;
        use crate::error::Result;
        use talentdata_types as types;

        impl Client {
            #(#methods)*
        }

        impl blocking::Client {
            #(#blocking)*
        }

        #(#arguments)*

        /// Whether a request body is what the document says of it.
        pub(crate) fn check_body(operation: &types::Operation, json: &str) -> Result<()> {
            match operation.id {
                #(#bodies)*
                _ => Ok(()),
            }
        }

        /// Whether a response is what the document says of it.
        pub(crate) fn check_response(operation: &types::Operation, json: &str) -> Result<()> {
            match operation.id {
                #(#responses)*
                _ => Ok(()),
            }
        }
    })
}

fn check(operation: &Operation, of: &Type) -> TokenStream {
    let (id, kind) = (&operation.id, typed(of));
    quote!(#id => fits::<#kind>(json),)
}

/// A type from outside the crate of the types.
fn typed(of: &Type) -> TokenStream {
    match of {
        Type::Enum(name) | Type::Model(name) => {
            let name = format_ident!("{name}");
            quote!(types::#name)
        }
        Type::Array(held) => {
            let held = typed(held);
            quote!(Vec<#held>)
        }
        Type::Map(held) => {
            let held = typed(held);
            quote!(std::collections::BTreeMap<String, #held>)
        }
        Type::Nullable(held) => {
            let held = typed(held);
            quote!(Option<#held>)
        }
        plain => kind(plain),
    }
}

/// One operation as both clients call it.
struct Call<'a> {
    operation: &'a Operation,
    method: Ident,
    constant: Ident,
    /// The function that makes the arguments.
    made_by: Ident,
    /// Names and types of the arguments.
    takes: Vec<(Ident, TokenStream)>,
    gives: TokenStream,
}

impl<'a> Call<'a> {
    fn of(operation: &'a Operation) -> Self {
        let method = names::rust_call(operation);
        let mut takes: Vec<(Ident, TokenStream)> = operation
            .required()
            .map(|one| (argument(one), borrowed(one.kind.present())))
            .collect();
        if let Some(body) = &operation.body {
            let kind = borrowed(&body.kind);
            let kind = match body.required {
                true => kind,
                false => quote!(Option<#kind>),
            };
            takes.push((format_ident!("body"), kind));
        }
        if operation.optional().next().is_some() {
            let options = format_ident!("{}", names::options(operation));
            takes.push((format_ident!("options"), quote!(&types::#options)));
        }
        let gives = operation.response.as_ref().map(typed);
        Call {
            operation,
            made_by: format_ident!("arguments_of_{}", names::snake(&operation.name)),
            method: format_ident!("{method}"),
            constant: operation_name(operation),
            takes,
            gives: gives.unwrap_or_else(|| quote!(())),
        }
    }

    fn names(&self) -> Vec<&Ident> {
        self.takes.iter().map(|(name, _)| name).collect()
    }

    fn takes(&self) -> impl Iterator<Item = TokenStream> {
        self.takes.iter().map(|(name, kind)| quote!(#name: #kind))
    }

    /// The function of the async client that makes the call.
    fn verb(&self) -> Ident {
        match self.operation.response {
            Some(_) => format_ident!("invoke_as"),
            None => format_ident!("invoke_without"),
        }
    }

    fn deprecated(&self) -> Option<TokenStream> {
        let deprecated = self.operation.deprecated;
        deprecated.then(|| quote!(#[deprecated = "the service document advises against it"]))
    }

    fn method(&self) -> TokenStream {
        let Call {
            method,
            constant,
            made_by,
            gives,
            operation,
            ..
        } = self;
        let doc = [
            format!(
                " {} (`{} {}`). {}",
                sentence(&operation.summary),
                operation.method.to_uppercase(),
                operation.path,
                operation.description
            ),
            String::new(),
            " # Errors".to_owned(),
            " `InvalidArgument` for an argument that cannot be sent; those of the connection; those of the status,".to_owned(),
            " such as `NotFound`; `Decode` or `Schema` for a response that is not as documented.".to_owned(),
        ];
        let (takes, names, deprecated) = (self.takes(), self.names(), self.deprecated());
        let verb = self.verb();
        quote! {
            #(#[doc = #doc])*
            #deprecated
            pub async fn #method(&self, #(#takes),*) -> Result<#gives> {
                self.#verb(types::#constant, #made_by(#(#names),*)?).await
            }
        }
    }

    fn blocking(&self) -> TokenStream {
        let Call {
            method,
            constant,
            made_by,
            gives,
            ..
        } = self;
        let doc = [
            format!(" See [`Client::{method}`]."),
            String::new(),
            " # Errors".to_owned(),
            " As there.".to_owned(),
        ];
        let (takes, names, deprecated) = (self.takes(), self.names(), self.deprecated());
        let verb = self.verb();
        quote! {
            #(#[doc = #doc])*
            #deprecated
            pub fn #method(&self, #(#takes),*) -> Result<#gives> {
                let arguments = #made_by(#(#names),*)?;
                self.run(|client| async move { client.#verb(types::#constant, arguments).await })
            }
        }
    }

    fn arguments(&self) -> TokenStream {
        let (made_by, takes) = (&self.made_by, self.takes());
        let required = self.operation.required().map(|one| {
            let (name, wire) = (argument(one), &one.name);
            let value = value(one, &quote!(#name));
            quote!(.with(#wire, #value))
        });
        let body = self
            .operation
            .body
            .as_ref()
            .map(|body| match body.required {
                true => quote!(.with_body(body)),
                false => quote!(.with_optional_body(body)),
            });
        let optional = self.operation.optional().map(|one| {
            let (wire, value) = (&one.name, optional_value(one));
            quote!(.with(#wire, #value))
        });
        let optional: Vec<TokenStream> = optional.collect();
        let made = match (&body, optional.is_empty()) {
            (Some(body), true) => quote!(Arguments::default() #(#required)* #body),
            (Some(body), false) => {
                quote!(Ok(Arguments::default() #(#required)* #body? #(#optional)*))
            }
            (None, _) => quote!(Ok(Arguments::default() #(#required)* #(#optional)*)),
        };
        quote! {
            fn #made_by(#(#takes),*) -> Result<Arguments> {
                #made
            }
        }
    }
}

/// A member of the options as the value of a parameter.
pub(crate) fn optional_value(parameter: &Parameter) -> TokenStream {
    let name = argument(parameter);
    match parameter.kind.present() {
        Type::Array(_) => value(parameter, &quote!(options.#name)),
        Type::Enum(_) => quote!(options.#name.as_ref().map(|one| one.as_str())),
        Type::Text => quote!(options.#name.as_deref()),
        _ => quote!(options.#name),
    }
}

/// The type of an argument.
pub(crate) fn borrowed(of: &Type) -> TokenStream {
    match of {
        Type::Text => quote!(&str),
        Type::Integer | Type::Unsigned | Type::Number | Type::Boolean => kind(of),
        Type::Array(held) => {
            let held = typed(held.present());
            quote!(&[#held])
        }
        other => {
            let other = typed(other);
            quote!(&#other)
        }
    }
}

/// An argument as the value of a parameter.
pub(crate) fn value(parameter: &Parameter, name: &TokenStream) -> TokenStream {
    match parameter.kind.present() {
        Type::Enum(_) => quote!(#name.as_str()),
        Type::Array(held) if matches!(held.present(), Type::Enum(_)) => {
            quote!(#name.iter().map(|one| one.as_str().to_owned()).collect::<Vec<String>>())
        }
        Type::Array(_) => quote!(#name.to_vec()),
        _ => quote!(#name),
    }
}
