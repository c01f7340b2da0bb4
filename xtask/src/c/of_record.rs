//! Accessors of the records of a list.

use super::accessor::{Accessor, lends, meaning, scalar, sentence};
use super::shapes::{Model, Shape};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

/// A record model has no handle of its own: its accessors read the record when they are asked.
pub(super) fn record(model: &Model) -> TokenStream {
    let lists = model.lists.iter().map(|list| format_ident!("{list}"));
    let lists = quote!(&[#(Lists::#lists),*]);
    let accessors = model.fields.iter().flat_map(|field| {
        let (wire, required) = (&field.wire, field.required);
        let accessor = |name: String, kind: TokenStream, out: &'static str, read| Accessor {
            model,
            name,
            doc: sentence(field),
            lends: lends(&kind),
            inputs: Vec::new(),
            out: (out, kind, meaning(field)),
            read,
            errors: ", and for a record of another list; SCHEMA when the field is not as documented",
        };
        let text = |suffix: &str| {
            let read = quote!(record.text(#lists, #wire, #required));
            accessor(field.function(suffix), quote!(Text), "text_out", read)
        };
        let typed = || {
            let read = match required {
                true => quote! {{
                    let raw = record.of(#lists)?;
                    raw.typed_field(#wire)?.ok_or_else(|| raw.missing_field(#wire))
                }},
                false => quote!(Ok(record.of(#lists)?.typed_field(#wire)?.into())),
            };
            accessor(field.function(""), scalar(field), "value_out", read)
        };
        match &field.shape {
            Shape::Text => vec![text("")],
            Shape::Integer | Shape::Number | Shape::Boolean => vec![typed()],
            Shape::Enum(name) => {
                let known = format_ident!("{name}");
                let read = quote! {{
                    let text = record.of(#lists)?.text_field(#wire)?.unwrap_or_default();
                    Ok(#known::of(&types::#known::from(&*text)))
                }};
                let known = accessor(field.function(""), quote!(#known), "value_out", read);
                vec![known, text("_text")]
            }
            _ => {
                let read = quote! {{
                    let raw = record.of(#lists)?;
                    match raw.field(#wire) {
                        None if #required => Err(raw.missing_field(#wire)),
                        found => Ok(Text::of_option(found)),
                    }
                }};
                vec![accessor(field.function("_json"), quote!(Text), "json_out", read)]
            }
        }
    });
    let accessors: Vec<TokenStream> = accessors.map(|accessor| accessor.tokens()).collect();
    quote!(#(#accessors)*)
}
