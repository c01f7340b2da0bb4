//! Core's checked settings, and the setters of its builder.

use super::table::{Kind, PROFILE, Setting};
use super::{SOURCE, description, lines, sentence};
use crate::rust::print_from;
use crate::spec::Spec;
use heck::ToUpperCamelCase;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};

/// A documentation comment of the width of the sources.
const WIDTH: usize = 100;

/// `crates/core`: `Config`, and a setter per setting.
pub(crate) fn settings(spec: &Spec) -> Result<String, String> {
    // What selects the profile has done so when a `Config` is made.
    let kept = spec.settings.iter().filter(|one| one.name != PROFILE);
    let choices = spec.settings.iter().filter_map(choice);
    let (fields, reads) = (kept.clone().map(field), kept.map(read));
    let setters = spec.settings.iter().map(setter);
    print_from(
        SOURCE,
        quote! {
            use crate::error::Result;
            use crate::settings::{BaseUrl, BudgetHome, Builder, Found, Proxy, #(#choices),*};
            use std::time::Duration;
            use talentdata_types::Secret;

            /// Checked settings; a [`Builder`] makes them.
            #[derive(Clone, Debug)]
            pub struct Config {
                #(#fields)*
            }

            impl Config {
                /// Checks each value.
                pub(crate) fn read(found: &Found) -> Result<Self> {
                    Ok(Config { #(#reads)* })
                }
            }

            /// A setter per setting. Each returns the builder, so that calls can be chained.
            impl Builder {
                #(#setters)*
            }
        },
    )
}

fn field(setting: &Setting) -> TokenStream {
    let (name, doc) = (format_ident!("{}", setting.name), doc(setting.what));
    let kind = match setting.kind {
        Kind::BaseUrl => quote!(BaseUrl),
        Kind::Text => quote!(Option<String>),
        Kind::Secret => quote!(Option<Secret>),
        Kind::Proxy => quote!(Proxy),
        Kind::Budget => quote!(BudgetHome),
        Kind::Choice(_) => choice(setting).into_token_stream(),
        Kind::Duration(_) => quote!(Duration),
        Kind::Integer(_) => quote!(u32),
        Kind::Number(_) => quote!(f64),
        Kind::Boolean(_) => quote!(bool),
    };
    quote!(#doc pub(crate) #name: #kind,)
}

/// The type of a setting that is one of a few names, which core has by hand.
fn choice(setting: &Setting) -> Option<Ident> {
    matches!(setting.kind, Kind::Choice(_))
        .then(|| format_ident!("{}", setting.name.to_upper_camel_case()))
}

fn read(setting: &Setting) -> TokenStream {
    let (text, name) = (setting.name, format_ident!("{}", setting.name));
    let read = format_ident!(
        "{}",
        match setting.kind {
            Kind::BaseUrl => "base_url",
            Kind::Text => "text",
            Kind::Secret => "secret",
            Kind::Proxy => "proxy",
            Kind::Budget => "budget",
            Kind::Choice(_) => "choice",
            Kind::Duration(_) => "duration",
            Kind::Integer(_) => "integer",
            Kind::Number(_) => "number",
            Kind::Boolean(_) => "boolean",
        }
    );
    quote!(#name: found.#read(#text)?,)
}

fn setter(setting: &Setting) -> TokenStream {
    let (text, name) = (setting.name, format_ident!("{}", setting.name));
    let doc = doc(&format!("Sets {}", description(setting)));
    let (kind, value) = match setting.kind {
        Kind::Duration(_) => (quote!(Duration), quote!(value)),
        Kind::Integer(_) => (quote!(u32), quote!(value)),
        Kind::Number(_) => (quote!(f64), quote!(value)),
        Kind::Boolean(_) => (quote!(bool), quote!(value)),
        Kind::BaseUrl
        | Kind::Text
        | Kind::Secret
        | Kind::Proxy
        | Kind::Budget
        | Kind::Choice(_) => (quote!(impl Into<String>), quote!(value.into())),
    };
    quote! {
        #doc
        pub fn #name(&mut self, value: #kind) -> &mut Self {
            self.set(#text, #value)
        }
    }
}

fn doc(words: &str) -> TokenStream {
    // A bare address draws a warning from rustdoc.
    let marked = words.split(' ').map(|word| match word.starts_with("http") {
        true => {
            let url = word.trim_end_matches(['.', ',', ';']);
            word.replacen(url, &format!("`{url}`"), 1)
        }
        false => word.to_owned(),
    });
    let words = sentence(&marked.collect::<Vec<_>>().join(" "));
    let lines = lines(&format!("{}.", words.trim_end_matches('.')), WIDTH);
    let lines = lines.iter().map(|line| format!(" {line}"));
    quote!(#(#[doc = #lines])*)
}
