//! Writes open enums: a variant per value the document shows, and `Other` for the rest.

use crate::names;
use crate::spec::api::Enum;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

pub(crate) fn tokens(known: &Enum) -> TokenStream {
    let name = format_ident!("{}", known.name);
    let text = &known.name;
    let doc = format!(" {}", known.description);
    let values = &known.values;
    let variants: Vec<_> = values
        .iter()
        .map(|value| format_ident!("{}", names::value_variant(value)))
        .collect();
    let docs: Vec<_> = values.iter().map(|value| format!(" `{value}`")).collect();
    quote! {
        #[doc = #doc]
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum #name {
            #(#[doc = #docs] #variants,)*
            /// A value that the document does not show, as received.
            Other(::std::string::String),
        }

        impl #name {
            /// The values that the document shows.
            pub const KNOWN: &'static [&'static str] = &[#(#values),*];

            /// The value on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    #(Self::#variants => #values,)*
                    Self::Other(text) => text,
                }
            }
        }

        impl ::std::convert::From<&str> for #name {
            fn from(text: &str) -> Self {
                match text {
                    #(#values => Self::#variants,)*
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl ::std::fmt::Display for #name {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                formatter.write_str(self.as_str())
            }
        }

        impl ::serde::Serialize for #name {
            fn serialize<S: ::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> ::serde::Deserialize<'de> for #name {
            fn deserialize<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                let text = <::std::string::String as ::serde::Deserialize>::deserialize(deserializer)?;
                Ok(Self::from(text.as_str()))
            }
        }

        impl ::schemars::JsonSchema for #name {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                #text.into()
            }

            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                ::schemars::json_schema!({
                    "anyOf": [{"type": "string", "enum": Self::KNOWN}, {"type": "string"}]
                })
            }
        }
    }
}
