//! `crates/ffi-c`: handles, accessors and enums for what the spec documents.

use super::shapes::{Field, Model, Shape, enums, models};
use crate::normalise::OpenEnum;
use crate::rust::print;
use crate::spec::Spec;
use heck::{ToSnakeCase, ToUpperCamelCase};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

/// The file; the exported functions are in the spec's order.
pub(crate) fn file(spec: &Spec) -> Result<String, String> {
    let models = models(spec);
    let resources = resources(spec);
    let enums = enums(spec, &models);
    let enums = enums.iter().map(open_enum);
    let optionals = optionals(&models);
    let items = models.iter().map(|model| {
        if model.is_record() {
            record(model)
        } else {
            answer(model)
        }
    });
    print(quote! {
        #![allow(unused_imports, reason = "which are needed depends on the spec")]
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

fn resources(spec: &Spec) -> TokenStream {
    let rows = spec
        .lists()
        .zip(1_u32..)
        .map(|((operation, list), number)| {
            let name = format_ident!("{}", list.name.to_upper_camel_case());
            let doc = format!(" {} (`{}`).", operation.summary, operation.path);
            quote!(#[doc = #doc] #name = #number)
        });
    let names: Vec<Ident> = spec
        .lists()
        .map(|(_, list)| format_ident!("{}", list.name.to_upper_camel_case()))
        .collect();
    let count = names.len();
    quote! {
        /// The paginated lists of the service (section 4).
        #[derive(Clone, Copy)]
        #[repr(u32)]
        pub enum Resource { #(#rows),* }

        impl Resource {
            /// Every list by its number.
            pub(crate) const ALL: [(Resource, Lists); #count] = [#((Resource::#names, Lists::#names)),*];
        }
    }
}

fn open_enum(known: &OpenEnum) -> TokenStream {
    let name = format_ident!("{}", known.name);
    let doc = format!(" {}", known.description);
    let variants: Vec<Ident> = known
        .values
        .iter()
        .map(|value| format_ident!("{}", value.to_upper_camel_case()))
        .collect();
    let rows = known
        .values
        .iter()
        .zip(&variants)
        .zip(1_u32..)
        .map(|((value, variant), number)| {
            let doc = format!(" `{value}`");
            quote!(#[doc = #doc] #variant = #number)
        });
    quote! {
        #[doc = #doc]
        #[derive(Clone, Copy)]
        #[repr(u32)]
        pub enum #name {
            /// A value that the document does not show; the text tells it.
            Other = 0,
            #(#rows),*
        }

        impl #name {
            fn of(known: &types::#name) -> Self {
                match known {
                    #(types::#name::#variants => #name::#variants,)*
                    _ => #name::Other,
                }
            }
        }
    }
}

/// An exported function that reads one thing of a handle.
struct Accessor<'a> {
    model: &'a Model,
    name: String,
    doc: String,
    /// Where the text or handle that is given ends, if any is.
    lends: bool,
    /// Further inputs: name, type, documentation.
    inputs: Vec<(&'static str, TokenStream, &'static str)>,
    out: (&'static str, TokenStream, String),
    read: TokenStream,
    errors: &'static str,
}

impl Accessor<'_> {
    fn tokens(&self) -> TokenStream {
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
                "Ownership: `*{out}` is lent until the {} is freed.",
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
            false => self.model.name.to_snake_case().replace('_', " "),
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
            format_ident!("{}", model.name.to_snake_case()),
            format_ident!("{}", model.name),
        ),
    }
}

/// A record model has no handle of its own: its accessors read the record when they are asked.
fn record(model: &Model) -> TokenStream {
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
        let text = || {
            let read = quote!(record.text(#lists, #wire, #required));
            accessor(field.name.clone(), quote!(Text), "text_out", read)
        };
        let typed = || {
            let read = match required {
                true => quote! {{
                    let raw = record.of(#lists)?;
                    raw.typed_field(#wire)?.ok_or_else(|| raw.missing_field(#wire))
                }},
                false => quote!(Ok(record.of(#lists)?.typed_field(#wire)?.into())),
            };
            accessor(field.name.clone(), scalar(field), "value_out", read)
        };
        match &field.shape {
            Shape::Text => vec![text()],
            Shape::Integer | Shape::Number | Shape::Boolean => vec![typed()],
            Shape::Enum(name) => {
                let known = format_ident!("{name}");
                let read = quote! {{
                    let text = record.of(#lists)?.text_field(#wire)?.unwrap_or_default();
                    Ok(#known::of(&types::#known::from(&*text)))
                }};
                let mut named = text();
                named.name += "_text";
                vec![accessor(field.name.clone(), quote!(#known), "value_out", read), named]
            }
            _ => {
                let read = quote! {{
                    let raw = record.of(#lists)?;
                    match raw.field(#wire) {
                        None if #required => Err(raw.missing_field(#wire)),
                        found => Ok(Text::of_option(found)),
                    }
                }};
                vec![accessor(format!("{}_json", field.name), quote!(Text), "json_out", read)]
            }
        }
    });
    let accessors: Vec<TokenStream> = accessors.map(|accessor| accessor.tokens()).collect();
    quote!(#(#accessors)*)
}

/// Any other model is a handle that was read and checked when the answer came.
fn answer(model: &Model) -> TokenStream {
    let name = format_ident!("{}", model.name);
    let own = format_ident!("{}", model.name.to_snake_case());
    let (mut children, mut made) = (Vec::new(), Vec::new());
    for field in &model.fields {
        let child = format_ident!("{}", field.name);
        let value = if field.required {
            quote!(model.#child)
        } else {
            quote!(model.#child.clone().unwrap_or_default())
        };
        let (kind, make) = match &field.shape {
            Shape::Map(held) => {
                let held = format_ident!("{held}");
                (
                    quote!(Vec<(String, #held)>),
                    quote!(named(&#value, #held::new)?),
                )
            }
            Shape::Models(held) => {
                let held = format_ident!("{held}");
                (
                    quote!(Vec<#held>),
                    quote!(each(&#value, |one| #held::new(one.clone()))?),
                )
            }
            Shape::Items => (quote!(Vec<String>), quote!(each(&#value, json)?)),
            Shape::Model(held) if field.required => {
                let held = format_ident!("{held}");
                (quote!(#held), quote!(#held::new(model.#child.clone())?))
            }
            Shape::Model(held) => {
                let held = format_ident!("{held}");
                (
                    quote!(Option<#held>),
                    quote!(model.#child.clone().map(#held::new).transpose()?),
                )
            }
            Shape::Json => (quote!(String), quote!(json(&model.#child)?)),
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
        doc: "All fields as JSON, also those that the document does not show.".into(),
        lends: true,
        inputs: Vec::new(),
        out: ("json_out", quote!(Text), "the JSON text".into()),
        read: quote!(Ok(Text::of(&#own.json))),
        errors: "",
    };
    let whole = whole.tokens();
    let free = model.root.then(|| {
        let free = format_ident!("{}_free", model.prefix());
        let owned = format!(" Ownership: takes `{own}`, and with it all that it lent.");
        quote! {
            /// Frees the handle; nothing happens when it is NULL.
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
        true => format!("Freed by {}_free.", model.prefix()),
        false => "Lent by the handle that holds it.".to_owned(),
    };
    let doc = format!(" {} Immutable. {freed}", model.description);
    quote! {
        #[doc = #doc]
        pub struct #name {
            model: types::#name,
            json: String,
            #(#children),*
        }

        impl #name {
            pub(crate) fn new(model: types::#name) -> Result<Self> {
                Ok(Self { json: json(&model)?, #(#made,)* model })
            }
        }

        #(#accessors)*
        #whole
        #free
    }
}

fn fields<'a>(model: &'a Model, field: &Field) -> Vec<Accessor<'a>> {
    let own = format_ident!("{}", model.name.to_snake_case());
    let name = format_ident!("{}", field.name);
    let accessor = |suffix: &str, out: (&'static str, TokenStream, String), read: TokenStream| {
        let lends = lends(&out.1);
        Accessor {
            model,
            name: format!("{}{suffix}", field.name),
            doc: sentence(field),
            lends,
            inputs: Vec::new(),
            out,
            read,
            errors: "",
        }
    };
    let index = |mut one: Accessor<'a>| {
        one.inputs = vec![("index", quote!(usize), "which, from 0")];
        one.errors = " or an index that there is not";
        one
    };
    let count = |_: ()| {
        accessor(
            "_count",
            ("count_out", quote!(usize), "how many".into()),
            quote!(Ok(#own.#name.len())),
        )
    };
    let text = |suffix: &str| {
        let read = match field.required {
            true => quote!(Ok(Text::of(#own.model.#name.as_str()))),
            false => quote!(Ok(Text::of_option(#own.model.#name.as_ref().map(|one| one.as_str())))),
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
                quote!(#own.#name)
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
                    quote!(at(&#own.#name, index)),
                )),
            ]
        }
        Shape::Model(held) => {
            let held = format_ident!("{held}");
            let (kind, read) = match field.required {
                true => (quote!(&'a #held), quote!(Ok(&#own.#name))),
                false => (quote!(Option<&'a #held>), quote!(Ok(#own.#name.as_ref()))),
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
                    "the value; NULL when there is none of that name".into(),
                ),
                quote!(Ok(find(&#own.#name, terminated(&name, "name")?))),
            );
            found.inputs = vec![("name", quote!(*const c_char), "UTF-8 text, ended by a NUL")];
            found.errors = " or text that is not UTF-8";
            let mut sized = accessor(
                "_find_n",
                (
                    "item_out",
                    quote!(Option<&'a #held>),
                    "the value; NULL when there is none of that name".into(),
                ),
                quote!(Ok(find(&#own.#name, text(&name, length, "name")?))),
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
                    quote!(Ok(Text::of(&at(&#own.#name, index)?.0))),
                ),
                pair(
                    "_at",
                    ("item_out", quote!(&'a #held), "the value".into()),
                    quote!(Ok(&at(&#own.#name, index)?.1)),
                ),
                found,
                sized,
            ]
        }
        Shape::Json => vec![accessor(
            "_json",
            ("json_out", quote!(Text), "the JSON text".into()),
            quote!(Ok(Text::of(&#own.#name))),
        )],
    }
}

/// Whether a value of this type points into its handle.
fn lends(kind: &TokenStream) -> bool {
    let text = kind.to_string();
    text == "Text" || text.contains('&')
}

/// The type of a number or a truth value; where it is optional, one that says whether it is there.
fn scalar(field: &Field) -> TokenStream {
    match (&field.shape, field.required) {
        (Shape::Integer, true) => quote!(i64),
        (Shape::Number, true) => quote!(f64),
        (_, true) => quote!(bool),
        (Shape::Integer, false) => quote!(OptionalInteger),
        (Shape::Number, false) => quote!(OptionalNumber),
        (_, false) => quote!(OptionalBoolean),
    }
}

/// The types of optional numbers and truth values, where the spec has such fields.
fn optionals(models: &[Model]) -> TokenStream {
    let wanted = |wanted: fn(&Shape) -> bool| {
        let mut fields = models.iter().flat_map(|model| &model.fields);
        fields.any(|field| !field.required && wanted(&field.shape))
    };
    let kinds = [
        (
            wanted(|shape| matches!(shape, Shape::Integer)),
            "OptionalInteger",
            quote!(i64),
        ),
        (
            wanted(|shape| matches!(shape, Shape::Number)),
            "OptionalNumber",
            quote!(f64),
        ),
        (
            wanted(|shape| matches!(shape, Shape::Boolean)),
            "OptionalBoolean",
            quote!(bool),
        ),
    ];
    let types = kinds
        .into_iter()
        .filter(|(used, ..)| *used)
        .map(|(_, name, kind)| {
            let name = format_ident!("{name}");
            quote! {
                /// A value that need not be there.
                #[repr(C)]
                #[derive(Clone, Copy)]
                pub struct #name {
                    /// Whether it is there.
                    pub present: bool,
                    /// The value; zero where it is not there.
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

fn sentence(field: &Field) -> String {
    let description = field.description.trim_end_matches('.');
    format!("{description}: the field `{}`.", field.wire)
}

fn meaning(field: &Field) -> String {
    match (&field.shape, field.required) {
        (_, true) => "its value".into(),
        (Shape::Enum(_), _) => {
            "its value; OTHER when the field is absent, and then the text is absent, too".into()
        }
        (Shape::Model(_), _) => "its value; NULL when the field is absent".into(),
        _ => "its value; absent when the service sends none".into(),
    }
}
