//! One exported function that reads one thing of a handle: its documentation, signature and body.

use super::shapes::{Field, Model, Shape};
use crate::names;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

/// An exported function that reads one thing of a handle.
pub(super) struct Accessor<'a> {
    pub(super) model: &'a Model,
    pub(super) name: String,
    pub(super) doc: String,
    /// Where the text or handle that is given ends, if any is.
    pub(super) lends: bool,
    /// Further inputs: name, type, documentation.
    pub(super) inputs: Vec<(&'static str, TokenStream, &'static str)>,
    pub(super) out: (&'static str, TokenStream, String),
    pub(super) read: TokenStream,
    pub(super) errors: &'static str,
}

impl Accessor<'_> {
    pub(super) fn tokens(&self) -> TokenStream {
        let function = format_ident!("{}_{}", self.model.prefix(), self.name);
        let (handle, kind) = handle(self.model);
        let (out, out_type, out_doc) = (format_ident!("{}", self.out.0), &self.out.1, &self.out.2);
        let inputs = self.inputs.iter().map(|(name, kind, _)| {
            let name = format_ident!("{name}");
            quote!(#name: #kind,)
        });
        let mut doc = vec![
            self.doc.clone(),
            String::new(),
            format!("@param {handle} the {}", self.noun()),
        ];
        doc.extend(
            self.inputs
                .iter()
                .map(|(name, _, doc)| format!("@param {name} {doc}")),
        );
        doc.push(format!("@param {out} {out_doc}"));
        if self.lends {
            doc.push(format!(
                "Ownership: `*{out}` is valid until the {} is freed.",
                self.owner()
            ));
        }
        doc.push("Threads: any.".into());
        doc.push(format!("Errors: INVALID_ARGUMENT for NULL{}.", self.errors));
        let doc = doc.iter().map(|line| {
            if line.is_empty() {
                String::new()
            } else {
                format!(" {line}")
            }
        });
        let (handle_name, out_name, read) = (handle.to_string(), out.to_string(), &self.read);
        let lifetime = out_type.to_string().contains("'a").then(|| quote!(<'a>));
        let lent = lifetime.as_ref().map(|_| quote!('a));
        quote! {
            #(#[doc = #doc])*
            #[must_use]
            #[unsafe(no_mangle)]
            pub extern "C" fn #function #lifetime(
                #handle: Option<&#lent #kind>,
                #(#inputs)*
                #out: Option<&mut MaybeUninit<#out_type>>,
            ) -> Option<Box<Error>> {
                get((#handle, #handle_name), (#out, #out_name), |#handle| #read)
            }
        }
    }

    fn noun(&self) -> String {
        match self.model.is_record() {
            true => "record".into(),
            false => names::snake(&self.model.name).replace('_', " "),
        }
    }

    fn owner(&self) -> &'static str {
        match (self.model.is_record(), self.model.root) {
            (true, _) => "record",
            (false, true) => "handle",
            (false, false) => "handle that holds it",
        }
    }
}

/// Argument name and type of a model's handle.
fn handle(model: &Model) -> (Ident, Ident) {
    match model.is_record() {
        true => (format_ident!("record"), format_ident!("Record")),
        false => (
            format_ident!("{}", names::parameter(&model.name)),
            format_ident!("{}", model.name),
        ),
    }
}

/// Whether a value of this type points into its handle.
pub(super) fn lends(kind: &TokenStream) -> bool {
    let text = kind.to_string();
    text == "Text" || text.contains('&')
}

/// The type of a number or a truth value; where it is optional, one that says whether it is there.
pub(super) fn scalar(field: &Field) -> TokenStream {
    match (&field.shape, field.required) {
        (Shape::Integer, true) => quote!(i64),
        (Shape::Number, true) => quote!(f64),
        (_, true) => quote!(bool),
        (Shape::Integer, false) => quote!(OptionalInteger),
        (Shape::Number, false) => quote!(OptionalNumber),
        (_, false) => quote!(OptionalBoolean),
    }
}

/// What the spec says of a field, and its name on the wire.
pub(super) fn sentence(field: &Field) -> String {
    let description = field.description.trim_end_matches('.');
    format!("The field `{}`: {description}.", field.wire)
}

/// What an out slot of the field holds.
pub(super) fn meaning(field: &Field) -> String {
    match (&field.shape, field.required) {
        (_, true) => "its value".into(),
        (Shape::Enum(_), _) => {
            "its value; OTHER when the field is absent, in which case the text is absent as well"
                .into()
        }
        (Shape::Model(_), _) => "its value; NULL when the field is absent".into(),
        _ => "its value; absent when the service sends none".into(),
    }
}
