//! Generated Rust of `crates/core`: the methods of a client that give its lists, with values of their parameters.

use crate::names;
use crate::rust::{print, sentence, variant};
use crate::rust_calls::{borrowed, optional_value, value};
use crate::rust_operations::argument;
use crate::spec::{List, Operation, Spec};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

/// `crates/core/src/generated/lists.rs`.
pub(crate) fn lists(spec: &Spec) -> Result<String, String> {
    let methods = spec.lists().map(|(one, list)| method(one, list));
    let filters = spec.lists().map(|(one, list)| filter(one, list));
    let options = spec.lists().map(|(one, _)| options(one));
    print(quote! {
        #![allow(unused_imports, reason = "which are needed depends on the spec")]
        #![allow(clippy::too_many_arguments, reason = "the spec has that many parameters")]
        use crate::arguments::Arguments;
        use crate::client::Client;
        use crate::list::List;
        use talentdata_types as types;
        use talentdata_types::Resource;

        impl Client {
            #(#methods #filters)*
        }

        #(#options)*
    })
}

/// The list with the parameters that it cannot do without.
fn method(operation: &Operation, list: &List) -> TokenStream {
    let name = format_ident!("{}", names::rust_list(&list.name));
    let variant = variant(list);
    let doc = format!(
        " {} (`{}`, section 4).",
        sentence(&operation.summary),
        operation.path
    );
    let record = format_ident!("{}", list.model().unwrap_or("Record"));
    let (takes, adds) = (takes(operation), adds(operation));
    let with = operation.required().next().is_some();
    let with = with.then(|| quote!(.with(Arguments::default() #adds)));
    quote! {
        #[doc = #doc]
        pub fn #name(&self, #takes) -> List<types::#record> {
            List::typed(self, Resource::#variant) #with
        }
    }
}

/// The list with those that it can do without, if it has any.
fn filter(operation: &Operation, list: &List) -> Option<TokenStream> {
    operation.optional().next()?;
    let name = format_ident!("{}", names::rust_list_with(&list.name));
    let (variant, options) = (variant(list), names::options(operation));
    let doc = [
        format!(" {} with these options.", sentence(&operation.summary)),
        String::new(),
        " They are checked before anything is sent, and sent with every page.".to_owned(),
    ];
    let record = format_ident!("{}", list.model().unwrap_or("Record"));
    let options = format_ident!("{options}");
    let (takes, adds) = (takes(operation), adds(operation));
    Some(quote! {
        #(#[doc = #doc])*
        pub fn #name(&self, #takes options: &types::#options) -> List<types::#record> {
            List::typed(self, Resource::#variant).with(Arguments::from(options) #adds)
        }
    })
}

fn takes(operation: &Operation) -> TokenStream {
    let takes = operation.required().map(|one| {
        let (name, kind) = (argument(one), borrowed(one.kind.present()));
        quote!(#name: #kind,)
    });
    takes.collect()
}

fn adds(operation: &Operation) -> TokenStream {
    let adds = operation.required().map(|one| {
        let (name, wire) = (argument(one), &one.name);
        let value = value(one, &quote!(#name));
        quote!(.with(#wire, #value))
    });
    adds.collect()
}

/// The options as arguments, for whoever names the list at run time.
fn options(operation: &Operation) -> Option<TokenStream> {
    operation.optional().next()?;
    let options = format_ident!("{}", names::options(operation));
    let adds = operation.optional().map(|one| {
        let (wire, value) = (&one.name, optional_value(one));
        quote!(.with(#wire, #value))
    });
    Some(quote! {
        impl From<&types::#options> for Arguments {
            fn from(options: &types::#options) -> Self {
                Arguments::default() #(#adds)*
            }
        }
    })
}
