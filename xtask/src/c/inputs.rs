//! What a C function that calls an operation takes, and how each argument is read.

use crate::rust_operations::argument;
use crate::spec::api::{Operation, Parameter, Type};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

/// An argument of a function: what C passes, what is said of it, and what is done with it.
pub(super) struct Input {
    pub(super) passed: Vec<(Ident, TokenStream, String)>,
    pub(super) done: TokenStream,
}

/// A parameter.
pub(super) fn input(one: &Parameter, sized: bool) -> Input {
    let name = argument(one);
    let (wire, said) = (&one.name, name.to_string());
    let doc = one.description.trim_end_matches('.').to_owned();
    let scalar = |kind: TokenStream| Input {
        passed: vec![(name.clone(), kind, doc.clone())],
        done: quote!(call.add(#wire, &format!("{:?}", #name))?;),
    };
    match one.kind.present() {
        Type::Integer => scalar(quote!(i64)),
        Type::Unsigned => scalar(quote!(u64)),
        Type::Number => scalar(quote!(f64)),
        Type::Boolean => scalar(quote!(bool)),
        Type::Array(_) => {
            let count = format_ident!("{name}_count");
            let (kind, read, end) = match sized {
                true => (
                    quote!(*const Text),
                    quote!(text(&one.data, one.length, #said)?),
                    "",
                ),
                false => (
                    quote!(*const *const c_char),
                    quote!(terminated(one, #said)?),
                    ", each NUL-terminated",
                ),
            };
            Input {
                passed: vec![
                    (name.clone(), kind, format!("{doc}: an array of texts{end}")),
                    (count.clone(), quote!(usize), "how many these are".into()),
                ],
                done: quote! {
                    for one in array(&#name, #count, #said)? {
                        call.add(#wire, #read)?;
                    }
                },
            }
        }
        _ => {
            let (passed, read) = text_input(&name, &doc, sized);
            Input {
                passed,
                done: quote!(call.add(#wire, #read)?;),
            }
        }
    }
}

/// A text that C passes, and how it is read.
fn text_input(
    name: &Ident,
    doc: &str,
    sized: bool,
) -> (Vec<(Ident, TokenStream, String)>, TokenStream) {
    let said = name.to_string();
    let pointer = quote!(*const c_char);
    match sized {
        true => {
            let length = format_ident!("{}_length", said.trim_end_matches('_'));
            let passed = vec![
                (name.clone(), pointer, doc.to_owned()),
                (length.clone(), quote!(usize), "its length in bytes".into()),
            ];
            (passed, quote!(text(&#name, #length, #said)?))
        }
        false => {
            let doc = format!("{doc}, NUL-terminated");
            (
                vec![(name.clone(), pointer, doc)],
                quote!(terminated(&#name, #said)?),
            )
        }
    }
}

/// The body that C passes.
pub(super) fn body(operation: &Operation, sized: bool) -> Option<Input> {
    let body = operation.body.as_ref()?;
    let name = format_ident!("body");
    let what = match &body.kind {
        Type::Model(model) => format!("the request body as JSON, a {model}"),
        other => format!("the request body as JSON: {other}"),
    };
    let (mut passed, read) = text_input(&name, &what, sized);
    let done = match body.required {
        true => quote!(call.body(#read);),
        false => {
            if let Some((_, _, doc)) = passed.first_mut() {
                *doc += ", or NULL";
            }
            quote! {
                if !body.is_null() {
                    call.body(#read);
                }
            }
        }
    };
    Some(Input { passed, done })
}
