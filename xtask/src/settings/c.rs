//! The setters of C, in Rust; cbindgen makes the header from them.

use super::table::{Kind, PROFILE, Setting};
use super::{SOURCE, description, lines};
use crate::rust::print_from;
use crate::spec::Spec;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

/// The width of the comments of the header.
const WIDTH: usize = 100;

/// Said of each setter of a text.
const TEXT: &str = "text that is not UTF-8, or more than 8 MiB";

/// `crates/ffi-c`: a setter per setting, two where the value is a text.
pub(crate) fn functions(spec: &Spec) -> Result<String, String> {
    let functions = spec.settings.iter().map(functions_of);
    print_from(
        SOURCE,
        quote! {
            use crate::boundary::{guard, terminated, text};
            use crate::config::{Config, set};
            use crate::error::Error;
            use std::ffi::c_char;

            #(#functions)*
        },
    )
}

/// The name of the function that sets a setting.
pub(super) fn function(setting: &Setting) -> String {
    let unit = match setting.kind {
        Kind::Duration(_) => "_ms",
        _ => "",
    };
    format!("talentdata_config_set_{}{unit}", setting.name)
}

fn functions_of(setting: &Setting) -> TokenStream {
    let (name, variable, plain) = (setting.name, setting.variable(), function(setting));
    let then = match name {
        PROFILE => "",
        _ => ", then the profile file",
    };
    let about = format!(
        "Sets {} If it is not called, {variable} applies{then}.",
        description(setting)
    );
    let scalar = |parameter: &str, kind: TokenStream, values: &str, value: TokenStream| {
        let name = format_ident!("{parameter}");
        let doc =
            format!("{about}\n\n@param config the settings to change\n@param {parameter} {values}");
        exported(setting, &plain, &doc, "", quote!(#name: #kind), value)
    };
    match setting.kind {
        Kind::Duration(bounds) => scalar(
            "milliseconds",
            quote!(i64),
            &format!("from {} to {}", bounds.min * 1e3, bounds.max * 1e3),
            quote!(milliseconds as f64 / 1e3),
        ),
        Kind::Integer(_) => scalar(
            "value",
            quote!(i64),
            &setting.values(),
            quote!(value as f64),
        ),
        Kind::Number(_) => scalar("value", quote!(f64), &setting.values(), quote!(value)),
        Kind::Boolean(_) => scalar("value", quote!(bool), &setting.values(), quote!(value)),
        Kind::BaseUrl
        | Kind::Text
        | Kind::Secret
        | Kind::Proxy
        | Kind::Budget
        | Kind::Choice(_) => {
            let text = format_ident!("{name}");
            let one = exported(
                setting,
                &plain,
                &format!(
                    "{about}\n\n@param config the settings to change\n@param {name} NUL-terminated UTF-8 text\nOwnership: the text is copied."
                ),
                TEXT,
                quote!(#text: *const c_char),
                quote!(terminated(&#text, #name)?),
            );
            let other = exported(
                setting,
                &format!("{plain}_n"),
                &format!(
                    "Like {plain}, for text of `length` bytes that need not end with a NUL.\n\n@param config the settings to change\n@param {name} UTF-8 text\n@param length its length in bytes\nOwnership: the text is copied."
                ),
                TEXT,
                quote!(#text: *const c_char, length: usize),
                quote!(text(&#text, length, #name)?),
            );
            quote!(#one #other)
        }
    }
}

/// An exported function that sets a setting; `refused` is what it refuses besides NULL.
fn exported(
    setting: &Setting,
    function: &str,
    doc: &str,
    refused: &str,
    parameters: TokenStream,
    value: TokenStream,
) -> TokenStream {
    let (function, name) = (format_ident!("{function}"), setting.name);
    let comma = if refused.is_empty() { "" } else { ", " };
    let doc = format!(
        "{doc}\nThreads: one at a time per config.\n\
         Errors: INVALID_ARGUMENT for NULL{comma}{refused}; talentdata_client_new checks the value."
    );
    let lines = doc.lines().flat_map(|line| lines(line, WIDTH));
    let lines = lines.map(|line| {
        if line.is_empty() {
            line
        } else {
            format!(" {line}")
        }
    });
    quote! {
        #(#[doc = #lines])*
        #[must_use]
        #[unsafe(no_mangle)]
        pub extern "C" fn #function(config: Option<&mut Config>, #parameters) -> Option<Box<Error>> {
            guard(|| set(config, #name, #value))
        }
    }
}
