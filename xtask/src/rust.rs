//! Generated Rust that the table of operations yields: the lists and their methods.

use crate::names;
use crate::rust_operations::{constant, kind_of, options};
use crate::spec::api::{Api, Field, Model};
use crate::spec::{List, Operation, Spec};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

/// `crates/types`: every operation as a static, the lists as an enum with a shape each.
pub(crate) fn operations(spec: &Spec) -> Result<String, String> {
    let variants: Vec<Ident> = spec.lists().map(|(_, list)| variant(list)).collect();
    let docs = spec
        .lists()
        .map(|(operation, _)| format!(" {} (`{}`).", sentence(&operation.summary), operation.path));
    let operations = spec.api.operations.iter();
    let constants = operations.clone().map(|one| constant(&spec.api, one));
    let ids = operations.clone().map(operation_name);
    let options = operations.filter(|one| one.is_call()).map(options);
    let shapes = spec
        .lists()
        .map(|(operation, list)| shape(spec, operation, list));
    let count = variants.len();
    print(quote! {
        #![allow(unused_imports, reason = "which are needed depends on the spec")]
        use crate::{
            Field, FieldKind, ListShape, Location, Method, Operation, Parameter, RequestBody, TokenUse,
        };

        /// A paginated list of the service (section 4).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Resource {
            #(#[doc = #docs] #variants,)*
        }

        impl Resource {
            /// Every list, in the spec's order.
            pub const ALL: [Resource; #count] = [#(Resource::#variants),*];

            /// What the spec says of this list.
            pub fn shape(self) -> &'static ListShape {
                match self {
                    #(Resource::#variants => #shapes,)*
                }
            }
        }

        #(#options)*
        #(#constants)*

        /// Every operation, in the spec's order.
        pub static OPERATIONS: &[&Operation] = &[#(#ids),*];
    })
}

fn shape(spec: &Spec, operation: &Operation, list: &List) -> TokenStream {
    let name = &list.name;
    let operation = operation_name(operation);
    let key = option(list.records.as_ref().map(|records| &records.key));
    let max = option(list.max_limit);
    let model = list.model().and_then(|model| spec.api.model(model));
    let fields = model.map(|model| fields(&spec.api, model));
    let fields = fields.unwrap_or_default();
    quote! {
        &ListShape {
            name: #name,
            operation: #operation,
            record_key: #key,
            max_limit: #max,
            fields: &[#(#fields),*],
        }
    }
}

/// The documented fields of a record, in the spec's order.
fn fields(api: &Api, model: &Model) -> Vec<TokenStream> {
    let field = |field: &Field| {
        let (kind, known) = kind_of(api, &field.kind);
        let (name, needed) = (&field.wire, field.required);
        quote!(Field { name: #name, kind: FieldKind::#kind, required: #needed, known_values: &[#(#known),*] })
    };
    model.fields.iter().map(field).collect()
}

/// `crates/core`: a method of the client per list.
pub(crate) fn client_lists(spec: &Spec) -> Result<String, String> {
    let methods = spec.lists().map(|(operation, list)| {
        let name = format_ident!("{}", names::rust_list(&list.name, &spec.taken));
        let variant = variant(list);
        let doc = format!(
            " {} (`{}`, section 4).",
            sentence(&operation.summary),
            operation.path
        );
        let record = format_ident!("{}", list.model().unwrap_or("Record"));
        quote! {
            #[doc = #doc]
            pub fn #name(&self) -> List<talentdata_types::#record> {
                List::typed(self, Resource::#variant)
            }
        }
    });
    print(quote! {
        use crate::client::Client;
        use crate::list::List;
        use talentdata_types::Resource;

        impl Client {
            #(#methods)*
        }
    })
}

pub(crate) fn option<T: quote::ToTokens>(value: Option<T>) -> TokenStream {
    value.map_or_else(|| quote!(None), |value| quote!(Some(#value)))
}

pub(crate) fn operation_name(operation: &Operation) -> Ident {
    format_ident!("{}", names::operation(&operation.id))
}

fn variant(list: &List) -> Ident {
    format_ident!("{}", names::list_variant(&list.name))
}

/// The summary with a capital first letter.
pub(crate) fn sentence(summary: &str) -> String {
    let mut letters = summary.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

/// Formats a file that the spec yields, and gives it the line that names its command.
pub(crate) fn print(tokens: TokenStream) -> Result<String, String> {
    print_from(crate::spec::FILE, tokens)
}

/// The same for a file that another source yields.
pub(crate) fn print_from(source: &str, tokens: TokenStream) -> Result<String, String> {
    let file: syn::File =
        syn::parse2(tokens).map_err(|error| format!("generated Rust: {error}"))?;
    Ok(format!(
        "//! Generated by `cargo xtask generate` from {source}; do not edit.\n\n{}",
        prettyplease::unparse(&file)
    ))
}
