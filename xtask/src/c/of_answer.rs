//! Handles and accessors of what single calls answer.

use super::accessor::{Accessor, lends, meaning, scalar, sentence};
use super::shapes::{Field, Model, Shape};
use crate::names;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

/// Any other model is a handle that was read and checked when the response came.
pub(super) fn answer(model: &Model) -> TokenStream {
    let name = format_ident!("{}", model.name);
    let own = format_ident!("{}", names::parameter(&model.name));
    let (mut children, mut made) = (Vec::new(), Vec::new());
    for field in &model.fields {
        let child = format_ident!("{}", names::rust_child(&field.wire));
        let value = format_ident!("{}", names::rust_field(&field.wire));
        let (kind, make) = match &field.shape {
            Shape::Map(held) => {
                let held = format_ident!("{held}");
                (
                    quote!(Vec<(String, #held)>),
                    quote!(named(&model.#value, #held::new)?),
                )
            }
            Shape::Models(held) => {
                let held = format_ident!("{held}");
                (
                    quote!(Vec<#held>),
                    quote!(each(&model.#value, |one| #held::new(one.clone()))?),
                )
            }
            Shape::Items => (quote!(Vec<String>), quote!(each(&model.#value, json)?)),
            Shape::Model(held) if field.required => {
                let held = format_ident!("{held}");
                (quote!(#held), quote!(#held::new(model.#value.clone())?))
            }
            Shape::Model(held) => {
                let held = format_ident!("{held}");
                (
                    quote!(Option<#held>),
                    quote!(model.#value.clone().map(#held::new).transpose()?),
                )
            }
            Shape::Json => (quote!(String), quote!(json(&model.#value)?)),
            _ => continue,
        };
        children.push(quote!(#child: #kind));
        made.push(quote!(#child: #make));
    }
    let accessors: Vec<TokenStream> = model
        .fields
        .iter()
        .flat_map(|field| fields(model, field))
        .map(|one| one.tokens())
        .collect();
    let whole = Accessor {
        model,
        name: "json".into(),
        doc: "All fields as JSON, including undocumented ones.".into(),
        lends: true,
        inputs: Vec::new(),
        out: ("json_out", quote!(Text), "the JSON text".into()),
        read: quote!(Ok(Text::of(&#own.json))),
        errors: "",
    };
    let whole = whole.tokens();
    let free = model.root.then(|| {
        let free = format_ident!("{}_free", model.prefix());
        let owned =
            format!(" Ownership: `{own}` and everything read from it must not be used any more.");
        quote! {
            /// Frees the handle; does nothing when it is NULL.
            ///
            #[doc = #owned]
            /// Threads: one at a time per handle.
            #[unsafe(no_mangle)]
            pub extern "C" fn #free(#own: Option<Box<#name>>) {
                guard_or((), || drop(#own));
            }
        }
    });
    let freed = match model.root {
        true => format!("Freed with {}_free.", model.prefix()),
        false => "It belongs to the handle it was read from.".to_owned(),
    };
    let doc = format!(" {} Read-only. {freed}", model.description);
    // Where every field has a child, nothing reads the model any more.
    let read = format!("{own} . model .");
    let read = accessors.iter().any(|one| one.to_string().contains(&read));
    let (kept, given) = match read {
        true => (quote!(model: types::#name,), quote!(model)),
        false => (TokenStream::new(), TokenStream::new()),
    };
    quote! {
        #[doc = #doc]
        pub struct #name {
            #kept
            json: String,
            #(#children),*
        }

        impl #name {
            pub(crate) fn new(model: types::#name) -> Result<Self> {
                Ok(Self { json: json(&model)?, #(#made,)* #given })
            }
        }

        #(#accessors)*
        #whole
        #free
    }
}

fn fields<'a>(model: &'a Model, field: &Field) -> Vec<Accessor<'a>> {
    let own = format_ident!("{}", names::parameter(&model.name));
    let name = format_ident!("{}", names::rust_field(&field.wire));
    let child = format_ident!("{}", names::rust_child(&field.wire));
    let accessor = |suffix: &str, out: (&'static str, TokenStream, String), read: TokenStream| {
        let lends = lends(&out.1);
        Accessor {
            model,
            name: field.function(suffix),
            doc: sentence(field),
            lends,
            inputs: Vec::new(),
            out,
            read,
            errors: "",
        }
    };
    let index = |mut one: Accessor<'a>| {
        one.inputs = vec![("index", quote!(usize), "from 0")];
        one.errors = " or an index out of range";
        one
    };
    let count = |_: ()| {
        accessor(
            "_count",
            ("count_out", quote!(usize), "the number".into()),
            quote!(Ok(#own.#child.len())),
        )
    };
    let text = |suffix: &str| {
        let read = match (field.required, &field.shape) {
            (true, _) => quote!(Ok(Text::of(#own.model.#name.as_str()))),
            (false, Shape::Enum(_)) => {
                quote!(Ok(Text::of_option(#own.model.#name.as_ref().map(|one| one.as_str()))))
            }
            (false, _) => quote!(Ok(Text::of_option(#own.model.#name.as_deref()))),
        };
        accessor(suffix, ("text_out", quote!(Text), meaning(field)), read)
    };
    let scalar = || {
        let read = match field.required {
            true => quote!(Ok(#own.model.#name)),
            false => quote!(Ok(#own.model.#name.into())),
        };
        accessor("", ("value_out", scalar(field), meaning(field)), read)
    };
    match &field.shape {
        Shape::Text => vec![text("")],
        Shape::Integer | Shape::Number | Shape::Boolean => vec![scalar()],
        Shape::Enum(known) => {
            let known = format_ident!("{known}");
            let read = match field.required {
                true => quote!(Ok(#known::of(&#own.model.#name))),
                false => quote!(Ok(#own.model.#name.as_ref().map_or(#known::Other, #known::of))),
            };
            vec![
                accessor("", ("value_out", quote!(#known), meaning(field)), read),
                text("_text"),
            ]
        }
        Shape::Texts | Shape::Items => {
            let json = matches!(field.shape, Shape::Items);
            let (out, what) = if json {
                ("json_out", "the item as JSON")
            } else {
                ("text_out", "the item")
            };
            let items = if json {
                quote!(#own.#child)
            } else {
                quote!(#own.model.#name)
            };
            let mut counted = count(());
            counted.read = quote!(Ok(#items.len()));
            vec![
                counted,
                index(accessor(
                    "_at",
                    (out, quote!(Text), what.into()),
                    quote!(Ok(Text::of(at(&#items, index)?))),
                )),
            ]
        }
        Shape::Models(held) => {
            let held = format_ident!("{held}");
            vec![
                count(()),
                index(accessor(
                    "_at",
                    ("item_out", quote!(&'a #held), "the item".into()),
                    quote!(at(&#own.#child, index)),
                )),
            ]
        }
        Shape::Model(held) => {
            let held = format_ident!("{held}");
            let (kind, read) = match field.required {
                true => (quote!(&'a #held), quote!(Ok(&#own.#child))),
                false => (quote!(Option<&'a #held>), quote!(Ok(#own.#child.as_ref()))),
            };
            vec![accessor("", ("item_out", kind, meaning(field)), read)]
        }
        Shape::Map(held) => {
            let held = format_ident!("{held}");
            let pair = |suffix, out, read| index(accessor(suffix, out, read));
            let mut found = accessor(
                "_find",
                (
                    "item_out",
                    quote!(Option<&'a #held>),
                    "the value; NULL when there is none with that name".into(),
                ),
                quote!(Ok(find(&#own.#child, terminated(&name, "name")?))),
            );
            found.inputs = vec![("name", quote!(*const c_char), "NUL-terminated UTF-8 text")];
            found.errors = " or text that is not UTF-8";
            let mut sized = accessor(
                "_find_n",
                (
                    "item_out",
                    quote!(Option<&'a #held>),
                    "the value; NULL when there is none with that name".into(),
                ),
                quote!(Ok(find(&#own.#child, text(&name, length, "name")?))),
            );
            sized.inputs = vec![
                ("name", quote!(*const c_char), "UTF-8 text"),
                ("length", quote!(usize), "its length in bytes"),
            ];
            sized.errors = " or text that is not UTF-8";
            vec![
                count(()),
                pair(
                    "_name",
                    ("text_out", quote!(Text), "the name".into()),
                    quote!(Ok(Text::of(&at(&#own.#child, index)?.0))),
                ),
                pair(
                    "_at",
                    ("item_out", quote!(&'a #held), "the value".into()),
                    quote!(Ok(&at(&#own.#child, index)?.1)),
                ),
                found,
                sized,
            ]
        }
        Shape::Json => vec![accessor(
            "_json",
            ("json_out", quote!(Text), "the JSON text".into()),
            quote!(Ok(Text::of(&#own.#child))),
        )],
    }
}
