//! `crates/ffi-c`: handles, accessors and enums for what the spec documents.

use super::numbers::Numbers;
use super::of_answer::answer;
use super::of_record::record;
use super::shapes::{Model, enums, models};
use crate::names;
use crate::rust::print;
use crate::spec::Spec;
use crate::spec::api::Enum;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};

/// The file; the exported functions are in the spec's order.
pub(crate) fn file(spec: &Spec) -> Result<String, String> {
    let models = models(spec);
    let numbers = Numbers::given(&spec.root)?;
    let resources = resources(spec, &numbers);
    let enums = enums(spec, models);
    let enums = enums.iter().map(|known| open_enum(known, &numbers));
    let optionals = optionals(models);
    let items = models.iter().map(|model| {
        if model.is_record() {
            record(model)
        } else {
            answer(model)
        }
    });
    print(quote! {
        #![allow(unused_imports, dead_code, reason = "which are needed depends on the spec")]
        #![allow(clippy::enum_variant_names, reason = "the spec names them")]
        use crate::boundary::{get, guard_or, terminated, text};
        use crate::error::Error;
        use crate::model::{at, each, find, json, named};
        use crate::record::Record;
        use crate::text::Text;
        use std::ffi::c_char;
        use std::mem::MaybeUninit;
        use talentdata_core::types::{self, Resource as Lists};
        use talentdata_core::Result;

        #resources
        #optionals
        #(#enums)*
        #(#items)*
    })
}

fn resources(spec: &Spec, numbers: &Numbers) -> TokenStream {
    let variants = spec
        .lists()
        .map(|(_, list)| names::list_variant(&list.name));
    let variants: Vec<String> = variants.collect();
    let names: Vec<Ident> = variants
        .iter()
        .map(|name| format_ident!("{name}"))
        .collect();
    let numbers = numbers.of("Resource", &variants);
    let rows = spec
        .lists()
        .zip(&names)
        .zip(numbers)
        .map(|(((operation, _), name), number)| {
            let number = Literal::u32_unsuffixed(number);
            let doc = format!(" {} (`{}`).", operation.summary, operation.path);
            quote!(#[doc = #doc] #name = #number)
        });
    let count = names.len();
    quote! {
        /// The paginated lists of the service.
        #[derive(Clone, Copy)]
        #[repr(u32)]
        pub enum Resource { #(#rows),* }

        impl Resource {
            /// Every list by its number.
            pub(crate) const ALL: [(Resource, Lists); #count] = [#((Resource::#names, Lists::#names)),*];
        }
    }
}

fn open_enum(known: &Enum, numbers: &Numbers) -> TokenStream {
    let name = format_ident!("{}", known.name);
    let all = format_ident!("{}", crate::models::known_name(known));
    let doc = format!(" {}", known.description);
    let texts = known.values.iter().map(|value| names::value_variant(value));
    let texts: Vec<String> = texts.collect();
    let variants: Vec<Ident> = texts.iter().map(|name| format_ident!("{name}")).collect();
    let rows = known
        .values
        .iter()
        .zip(&variants)
        .zip(numbers.of(&known.name, &texts))
        .map(|((value, variant), number)| {
            let number = Literal::u32_unsuffixed(number);
            let doc = format!(" `{value}`");
            quote!(#[doc = #doc] #variant = #number)
        });
    quote! {
        #[doc = #doc]
        #[derive(Clone, Copy)]
        #[repr(u32)]
        pub enum #name {
            /// A value that is not documented; the text holds it.
            Other = 0,
            #(#rows),*
        }

        impl #name {
            fn of(known: &types::#name) -> Self {
                match known {
                    #(types::Open::Known(types::#all::#variants) => #name::#variants,)*
                    _ => #name::Other,
                }
            }
        }
    }
}

/// The types of optional numbers and truth values, where the spec has such fields.
fn optionals(models: &[Model]) -> TokenStream {
    let types = super::shapes::optionals(models).map(|one| {
        let (name, kind) = (format_ident!("{}", one.name), format_ident!("{}", one.rust));
        quote! {
            /// A value that may be absent.
            #[repr(C)]
            #[derive(Clone, Copy)]
            pub struct #name {
                /// Whether there is a value.
                pub present: bool,
                /// The value; zero where there is none.
                pub value: #kind,
            }

            impl From<Option<#kind>> for #name {
                fn from(value: Option<#kind>) -> Self {
                    #name { present: value.is_some(), value: value.unwrap_or_default() }
                }
            }
        }
    });
    quote!(#(#types)*)
}
