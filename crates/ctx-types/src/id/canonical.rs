//! Canonical JSON written as values serialise: no tree in between, because hashing is a good part of planning.
//!
//! An object's members are written as they come and put in order when it ends; nothing else is ever moved.

use super::IdError;
use serde::ser::{self, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// Why a value cannot be written.
#[derive(Debug)]
pub(super) enum Failure {
    /// It holds a float.
    Float(String),
    /// Its own words, or JSON has no such thing.
    Other(String),
}

impl Failure {
    pub(super) fn of(self, kind: &str) -> IdError {
        match self {
            Failure::Float(value) => IdError::Float { kind: kind.to_owned(), value },
            Failure::Other(cause) => IdError::NotJson { kind: kind.to_owned(), cause },
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Float(text) | Failure::Other(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for Failure {}

impl ser::Error for Failure {
    fn custom<T: fmt::Display>(message: T) -> Failure {
        Failure::Other(message.to_string())
    }
}

/// The text of `value`.
pub(super) fn text(value: &impl Serialize) -> Result<String, Failure> {
    let mut out = String::with_capacity(1024);
    value.serialize(Writer { out: &mut out })?;
    Ok(out)
}

/// Writes one value at the end of `out`.
struct Writer<'a> {
    out: &'a mut String,
}

impl Writer<'_> {
    fn plain(self, value: impl fmt::Display) -> Result<(), Failure> {
        use fmt::Write;
        write!(self.out, "{value}").map_err(|e| Failure::Other(e.to_string()))
    }
}

/// Nearly every string needs no escape.
fn write_string(text: &str, out: &mut String) {
    if text.bytes().any(|b| b < 0x20 || b == b'"' || b == b'\\') {
        out.push_str(&serde_json::Value::String(text.to_owned()).to_string());
    } else {
        out.push('"');
        out.push_str(text);
        out.push('"');
    }
}

/// An array under way. `close` ends it.
struct Items<'a> {
    out: &'a mut String,
    empty: bool,
    close: &'static str,
}

impl<'a> Items<'a> {
    fn open(out: &'a mut String, close: &'static str) -> Items<'a> {
        out.push('[');
        Items { out, empty: true, close }
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
        if !std::mem::replace(&mut self.empty, false) {
            self.out.push(',');
        }
        value.serialize(Writer { out: self.out })
    }

    fn finish(self) -> Result<(), Failure> {
        self.out.push_str(self.close);
        Ok(())
    }
}

/// An object under way: places of its members' keys, and of members whole.
struct Members<'a> {
    out: &'a mut String,
    start: usize,
    places: Vec<(Cow<'static, str>, Range<usize>)>,
    close: &'static str,
}

impl<'a> Members<'a> {
    fn open(out: &'a mut String, members: usize, close: &'static str) -> Members<'a> {
        out.push('{');
        Members { start: out.len(), out, places: Vec::with_capacity(members), close }
    }

    fn member<T: Serialize + ?Sized>(&mut self, key: Cow<'static, str>, value: &T) -> Result<(), Failure> {
        if !self.places.is_empty() {
            self.out.push(',');
        }
        let start = self.out.len();
        write_string(&key, self.out);
        self.out.push(':');
        value.serialize(Writer { out: self.out })?;
        self.places.push((key, start..self.out.len()));
        Ok(())
    }

    fn finish(mut self) -> Result<(), Failure> {
        let sorted = self.places.is_sorted_by(|a, b| a.0 <= b.0);
        if !sorted {
            self.places.sort_by(|a, b| a.0.cmp(&b.0));
            let mut ordered = String::with_capacity(self.out.len() - self.start);
            for (at, (_, place)) in self.places.iter().enumerate() {
                if at > 0 {
                    ordered.push(',');
                }
                ordered.push_str(&self.out[place.clone()]);
            }
            self.out.truncate(self.start);
            self.out.push_str(&ordered);
        }
        self.out.push_str(self.close);
        Ok(())
    }
}

/// A map under way, with the key whose value comes next.
struct Map<'a> {
    members: Members<'a>,
    key: Option<Cow<'static, str>>,
}

macro_rules! whole_numbers {
    ($($method:ident: $kind:ty),*) => { $(fn $method(self, value: $kind) -> Result<(), Failure> { self.plain(value) })* };
}

impl<'a> ser::Serializer for Writer<'a> {
    type Ok = ();
    type Error = Failure;
    type SerializeSeq = Items<'a>;
    type SerializeTuple = Items<'a>;
    type SerializeTupleStruct = Items<'a>;
    type SerializeTupleVariant = Items<'a>;
    type SerializeMap = Map<'a>;
    type SerializeStruct = Members<'a>;
    type SerializeStructVariant = Members<'a>;

    whole_numbers!(
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128, serialize_bool: bool
    );

    fn serialize_f32(self, value: f32) -> Result<(), Failure> {
        Err(Failure::Float(value.to_string()))
    }

    fn serialize_f64(self, value: f64) -> Result<(), Failure> {
        Err(Failure::Float(value.to_string()))
    }

    fn serialize_char(self, value: char) -> Result<(), Failure> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Failure> {
        write_string(value, self.out);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Failure> {
        value.serialize(self)
    }

    fn serialize_none(self) -> Result<(), Failure> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Failure> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Failure> {
        self.out.push_str("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Failure> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Failure> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Failure> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Failure> {
        let mut members = Members::open(self.out, 1, "}");
        members.member(Cow::Borrowed(variant), value)?;
        members.finish()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'a>, Failure> {
        Ok(Items::open(self.out, "]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Items<'a>, Failure> {
        Ok(Items::open(self.out, "]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Items<'a>, Failure> {
        Ok(Items::open(self.out, "]"))
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, variant: &'static str, _: usize) -> Result<Items<'a>, Failure> {
        self.out.push('{');
        write_string(variant, self.out);
        self.out.push(':');
        Ok(Items::open(self.out, "]}"))
    }

    fn serialize_map(self, members: Option<usize>) -> Result<Map<'a>, Failure> {
        Ok(Map { members: Members::open(self.out, members.unwrap_or(0), "}"), key: None })
    }

    fn serialize_struct(self, _: &'static str, members: usize) -> Result<Members<'a>, Failure> {
        Ok(Members::open(self.out, members, "}"))
    }

    fn serialize_struct_variant(self, _: &'static str, _: u32, variant: &'static str, members: usize) -> Result<Members<'a>, Failure> {
        self.out.push('{');
        write_string(variant, self.out);
        self.out.push(':');
        Ok(Members::open(self.out, members, "}}"))
    }
}

macro_rules! arrays {
    ($($kind:ident::$method:ident),*) => { $(
        impl ser::$kind for Items<'_> {
            type Ok = ();
            type Error = Failure;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
                self.item(value)
            }

            fn end(self) -> Result<(), Failure> {
                self.finish()
            }
        }
    )* };
}

arrays!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

macro_rules! objects {
    ($($kind:ident),*) => { $(
        impl ser::$kind for Members<'_> {
            type Ok = ();
            type Error = Failure;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Failure> {
                self.member(Cow::Borrowed(key), value)
            }

            fn end(self) -> Result<(), Failure> {
                self.finish()
            }
        }
    )* };
}

objects!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Map<'_> {
    type Ok = ();
    type Error = Failure;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Failure> {
        let mut text = String::new();
        key.serialize(Writer { out: &mut text })?;
        // A key is a string; what is a number or a flag is written as one, as JSON has no other keys.
        let key = match serde_json::from_str::<String>(&text) {
            Ok(key) => key,
            Err(_) if text.starts_with(['{', '[']) || text == "null" => {
                return Err(Failure::Other("a key must be a string".to_owned()));
            }
            Err(_) => text,
        };
        self.key = Some(Cow::Owned(key));
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
        let key = self.key.take().ok_or_else(|| Failure::Other("a value without a key".to_owned()))?;
        self.members.member(key, value)
    }

    fn end(self) -> Result<(), Failure> {
        self.members.finish()
    }
}
