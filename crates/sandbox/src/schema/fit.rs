//! Changes a value that was made by hand as little as a changed document asks for.

use serde_json::Value;

use super::{Maker, Way, all_of};

impl Maker<'_> {
    /// The value as the schema has it: missing members are made, others are replaced where they are wrong.
    pub(crate) fn fit(&mut self, schema: &Value, value: Value) -> Value {
        let schemas = self.schemas;
        if schemas.accepts(schema, &value, Way::Response) {
            return value;
        }
        let shape = schemas.shape(schema);
        let additional = shape.additional();
        let fitted = match value {
            Value::Object(mut members) => {
                let documented = |name: &str| !shape.property(name).is_empty();
                if shape.is_closed() && shape.choices.is_empty() {
                    members.retain(|name, _| documented(name));
                }
                for (name, member) in &mut members {
                    let schema = match &additional {
                        Some(additional) if !documented(name) => additional.clone(),
                        _ => all_of(shape.property(name)),
                    };
                    *member = self.fit(&schema, member.take());
                }
                for name in shape.required() {
                    let schema = all_of(shape.property(name));
                    if !members.contains_key(name) && !Way::Response.lacks(schemas, &schema) {
                        members.insert(name.to_owned(), self.make(&schema));
                    }
                }
                Value::Object(members)
            }
            Value::Array(items) => {
                let schema = shape.items();
                items
                    .into_iter()
                    .map(|item| self.fit(&schema, item))
                    .collect()
            }
            other => other,
        };
        match schemas.accepts(schema, &fitted, Way::Response) {
            true => fitted,
            false => self.make(schema),
        }
    }

    /// Gives an object a member, if the schema documents it and allows the value.
    pub(crate) fn put(&mut self, schema: &Value, object: &mut Value, name: &str, value: Value) {
        let documented = self.schemas.shape(schema).property(name);
        let fits = !documented.is_empty()
            && self
                .schemas
                .accepts(&all_of(documented), &value, Way::Response);
        if let Some(members) = object.as_object_mut().filter(|_| fits) {
            members.insert(name.to_owned(), value);
        }
    }
}
