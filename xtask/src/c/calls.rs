//! `crates/ffi-c`: a function per operation, and for those that take texts one more that takes their lengths.

use super::inputs::{Input, body, input};
use super::shapes::{Response, response};
use crate::names;
use crate::rust::{operation_name, print, sentence};
use crate::spec::Spec;
use crate::spec::api::{Operation, Parameter, Type};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

/// The file; the exported functions are in the spec's order.
pub(crate) fn file(spec: &Spec) -> Result<String, String> {
    let calls = spec.api.operations.iter().filter(|one| one.is_call());
    let functions = calls.flat_map(|one| {
        let forms = [false, true]
            .into_iter()
            .filter(|sized| !sized || takes_text(one));
        forms.map(|sized| function(spec, one, sized))
    });
    print(quote! {
        #![allow(unused_imports, reason = "which are needed depends on the spec")]
        #![allow(clippy::too_many_arguments, reason = "the spec has that many parameters")]
        use crate::boundary::{array, get, guard, lent, terminated, text};
        use crate::call::Call;
        use crate::client::Client;
        use crate::error::Error;
        use crate::generated::models::*;
        use crate::json_text::JsonText;
        use crate::parameters::Parameters;
        use crate::record::Record;
        use crate::text::Text;
        use std::ffi::c_char;
        use std::mem::MaybeUninit;
        use talentdata_core::types::{self, Resource as Lists};

        #(#functions)*
    })
}

/// Whether a call has a form for texts that need not end with a NUL.
pub(super) fn takes_text(operation: &Operation) -> bool {
    let is_text = |one: &Parameter| match one.kind.present() {
        Type::Array(_) => true,
        kind => is_text(kind),
    };
    operation.body.is_some() || operation.required().any(is_text)
}

fn is_text(kind: &Type) -> bool {
    matches!(kind, Type::Text | Type::Enum(_))
}

/// The name of a function.
pub(super) fn name(operation: &Operation, sized: bool) -> String {
    let end = if sized { "_n" } else { "" };
    format!("talentdata_client_{}{end}", names::c_call(operation))
}

fn function(spec: &Spec, operation: &Operation, sized: bool) -> TokenStream {
    let function = format_ident!("{}", name(operation, sized));
    let constant = operation_name(operation);
    let mut inputs: Vec<Input> = operation.required().map(|one| input(one, sized)).collect();
    inputs.extend(body(operation, sized));
    let (given, parameters) = parameters(operation);
    let mut doc = head(operation, sized);
    doc.push("@param client the client".to_owned());
    let passed = inputs.iter().flat_map(|one| &one.passed);
    doc.extend(
        passed
            .clone()
            .map(|(name, _, doc)| format!("@param {name} {doc}")),
    );
    doc.extend(given.iter().map(|(_, doc)| doc.clone()));
    let takes = passed.map(|(name, kind, _)| quote!(#name: #kind,));
    let parameter = given.map(|(tokens, _)| tokens);
    let done = inputs.iter().map(|one| &one.done);
    let changed = (!inputs.is_empty()).then(|| quote!(mut));
    let call = quote! {
        let #changed call = Call::new(types::#constant, #parameters)?;
        #(#done)*
    };
    let out = Out::of(spec, operation);
    let (slot, body) = match &out {
        None => (
            TokenStream::new(),
            quote! {
                guard(|| {
                    let client = lent(client, "client")?;
                    #call
                    call.send(client)
                })
            },
        ),
        Some(out) => {
            let (kind, make) = (&out.kind, &out.make);
            doc.push("@param response_out the response".to_owned());
            doc.push(format!(
                "Ownership: the caller frees `*response_out` with {}.",
                out.freed_with
            ));
            (
                quote!(response_out: Option<&mut MaybeUninit<Box<#kind>>>,),
                quote! {
                    get((client, "client"), (response_out, "response_out"), |client| {
                        #call
                        #make
                    })
                },
            )
        }
    };
    doc.push("Threads: any; waits for the service.".to_owned());
    doc.push(
        "Errors: INVALID_ARGUMENT for NULL and for what cannot be sent, naming it; those of a call.".to_owned(),
    );
    let doc = doc.iter().map(|line| match line.is_empty() {
        true => String::new(),
        false => format!(" {line}"),
    });
    quote! {
        #(#[doc = #doc])*
        #[must_use]
        #[unsafe(no_mangle)]
        pub extern "C" fn #function(
            client: Option<&Client>,
            #(#takes)*
            #parameter
            #slot
        ) -> Option<Box<Error>> {
            #body
        }
    }
}

/// What the function does, in the words of the document.
fn head(operation: &Operation, sized: bool) -> Vec<String> {
    let mut doc = match sized {
        true => vec![format!(
            "Like {}, for texts that need not end with a NUL.",
            name(operation, false)
        )],
        false => vec![format!(
            "{}. {}",
            sentence(&operation.summary),
            operation.description
        )],
    };
    if operation.deprecated {
        doc.push("Deprecated: the service document advises against it.".to_owned());
    }
    doc.push(String::new());
    doc
}

/// The handle with what the call can do without, where there is anything, and how the call gets it.
fn parameters(operation: &Operation) -> (Option<(TokenStream, String)>, TokenStream) {
    let optional: Vec<&str> = operation.optional().map(|one| one.name.as_str()).collect();
    if optional.is_empty() {
        return (None, quote!(None));
    }
    let doc = format!("@param parameters any of {}, or NULL", optional.join(", "));
    let tokens = quote!(parameters: Option<&Parameters>,);
    (Some((tokens, doc)), quote!(parameters))
}

/// What a function gives.
struct Out {
    kind: TokenStream,
    freed_with: String,
    make: TokenStream,
}

impl Out {
    fn of(spec: &Spec, operation: &Operation) -> Option<Self> {
        Some(match response(spec, operation) {
            Response::None => return None,
            Response::Handle(model) => {
                let name = format_ident!("{model}");
                Out {
                    kind: quote!(#name),
                    freed_with: format!("talentdata_{}_free", names::snake(&model)),
                    make: quote!(Ok(Box::new(#name::new(call.read(client)?)?))),
                }
            }
            Response::Record(lists) => {
                let list = match lists.first() {
                    Some(list) => {
                        let list = format_ident!("{list}");
                        quote!(Some(Lists::#list))
                    }
                    None => quote!(None),
                };
                Out {
                    kind: quote!(Record),
                    freed_with: "talentdata_record_free".to_owned(),
                    make: quote!(Ok(Box::new(call.record(client, #list)?))),
                }
            }
            Response::Json => Out {
                kind: quote!(JsonText),
                freed_with: "talentdata_json_text_free".to_owned(),
                make: quote!(Ok(Box::new(JsonText::new(call.json(client)?)))),
            },
        })
    }
}
