//! The shape of the state, which may only change together with its version: every field and every variant, as they are read.

#![allow(clippy::unwrap_used, reason = "clippy knows tests by cfg(test) alone")]

use crate::gate::SharedGate;
use serde::Deserialize;
use serde::de::value::{Error, U32Deserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// More than any enum has variants, also one within another.
const READINGS: usize = 100;

#[test]
fn the_state_has_the_shape_of_its_version() {
    let version = super::PREFIX.trim_matches(|letter: char| !letter.is_ascii_digit());
    let mark = String::from_utf8(super::image::MARK.to_vec()).unwrap();
    assert!(mark.ends_with(&format!("budg{version}")), "{mark:?}");
    let shape = shape();
    assert!(shape.contains("PriorityClass::2 Background\n") && shape.contains("InFlight {"));
    let path = format!("src/budget/host/state-{version}.txt");
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join(&path);
    let kept = std::fs::read_to_string(kept).unwrap_or_default();
    assert!(
        shape == kept,
        "what SharedGate holds is not what {path} says. If only names have changed, its bytes mean the same as before: give \
         the file the content below. Else processes of both versions would take the state of the other for their own: \
         raise the version in PREFIX (host.rs) and in MARK (image.rs), and give the file the name of the new version and \
         this content:\n{shape}"
    );
}

#[test]
fn the_encoding_is_that_of_all_versions() {
    let state = (Some(300_u32), Duration::new(1, 2), [true, false].to_vec());
    let bytes = postcard::to_stdvec(&(state, 0.5_f64, None::<u8>, "a")).unwrap();
    let half = [0, 0, 0, 0, 0, 0, 0xe0, 0x3f];
    let wanted = [&[1, 0xac, 2, 1, 2, 2, 1, 0][..], &half, &[0, 1, b'a']].concat();
    assert_eq!(bytes, wanted);
}

/// The types of the state, one a line.
fn shape() -> String {
    let mut types = Types::default();
    // Each reading sees the next variant of each enum.
    for _ in 0..READINGS {
        SharedGate::deserialize(&mut types).unwrap();
        types.name.clear();
    }
    types.lines.into_iter().map(|line| line + "\n").collect()
}

/// Stands in for a state: hands out some value of whichever type is asked for, and notes the type.
#[derive(Default)]
struct Types {
    lines: BTreeSet<String>,
    /// The type that was read last.
    name: String,
    /// How many variants of each enum were seen.
    variants: BTreeMap<&'static str, usize>,
}

impl Types {
    /// What `read` notes by itself, while what was noted before is kept.
    fn apart<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<(T, String), Error> {
        let before = std::mem::take(&mut self.name);
        let value = read(self)?;
        Ok((value, std::mem::replace(&mut self.name, before)))
    }
}

macro_rules! plain {
    ($($method:ident $visit:ident $value:expr,)+) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.name += stringify!($method).trim_start_matches("deserialize_");
            visitor.$visit($value)
        })+
    };
}

impl<'de> Deserializer<'de> for &mut Types {
    type Error = Error;

    plain! {
        deserialize_bool visit_bool true,
        deserialize_u8 visit_u8 1,
        deserialize_u16 visit_u16 1,
        deserialize_u32 visit_u32 1,
        deserialize_u64 visit_u64 1,
        deserialize_i32 visit_i32 1,
        deserialize_i64 visit_i64 1,
        deserialize_f64 visit_f64 1.0,
        deserialize_string visit_str "",
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let (value, name) = self.apart(|types| visitor.visit_some(types))?;
        self.name += &format!("Option<{name}>");
        Ok(value)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let (value, name) = self.apart(|types| visitor.visit_seq(Items::new(types, &[""])))?;
        self.name += &format!("[{name}]");
        Ok(value)
    }

    /// It is written as what it holds.
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        let fields = vec![""; length];
        let (value, name) = self.apart(|types| visitor.visit_seq(Items::new(types, &fields)))?;
        self.name += &format!("({name})");
        Ok(value)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let (value, inner) = self.apart(|types| visitor.visit_seq(Items::new(types, fields)))?;
        self.lines.insert(format!("{name} {{ {inner} }}"));
        self.name += name;
        Ok(value)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let seen = self.variants.entry(name).or_default();
        let number = *seen % variants.len();
        *seen += 1;
        let (value, inner) = self.apart(|types| visitor.visit_enum(Variant { types, number }))?;
        let variant = variants[number];
        self.lines
            .insert(format!("{name}::{number} {variant}{inner}"));
        self.name += name;
        Ok(value)
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i128 u128 f32 char str bytes byte_buf unit unit_struct tuple_struct map identifier ignored_any
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let unknown = Unexpected::Other("a type that this test does not know");
        Err(serde::de::Error::invalid_type(unknown, &visitor))
    }
}

/// Elements of these names, as far as they have any.
struct Items<'a> {
    types: &'a mut Types,
    names: std::vec::IntoIter<String>,
}

impl<'a> Items<'a> {
    fn new(types: &'a mut Types, names: &[&str]) -> Self {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Items {
            types,
            names: names.into_iter(),
        }
    }
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        let Some(name) = self.names.next() else {
            return Ok(None);
        };
        if !self.types.name.is_empty() {
            self.types.name += ", ";
        }
        if !name.is_empty() {
            self.types.name += &format!("{name}: ");
        }
        seed.deserialize(&mut *self.types).map(Some)
    }
}

/// One variant of an enum.
struct Variant<'a> {
    types: &'a mut Types,
    number: usize,
}

impl<'de> EnumAccess<'de> for Variant<'_> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), Error> {
        let number: U32Deserializer<Error> = (self.number as u32).into_deserializer();
        Ok((seed.deserialize(number)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        let (value, name) = self.types.apart(|types| seed.deserialize(types))?;
        self.types.name += &format!("({name})");
        Ok(value)
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Error> {
        self.types.deserialize_tuple(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let (value, inner) = self
            .types
            .apart(|types| visitor.visit_seq(Items::new(types, fields)))?;
        self.types.name += &format!(" {{ {inner} }}");
        Ok(value)
    }
}
