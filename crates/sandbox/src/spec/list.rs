//! The paginated lists, as documented (sections 2, 4 and 8).

use super::{DocumentedOperation, ServiceSpec, Success};
use crate::samples::{self, hash};
use crate::schema::{Direction, Schemas};
use serde_json::Value;

/// The maximum number of records on a page if none is documented.
const USUAL_MAX_LIMIT: u64 = 100;

/// The members of the pagination object (section 2).
pub(crate) const PAGINATION: [&str; 4] = ["total", "limit", "offset", "hasMore"];

/// A paginated list of the service (section 4).
#[derive(Debug, Clone)]
pub struct ServedList {
    /// The path after `/v1/`, with `_` for `/` and `-`.
    pub name: String,
    /// The whole path.
    pub path: String,
    /// The member that contains the records, if it is documented.
    pub record_key: Option<String>,
    /// The number of records on a page without a `limit`: as documented, otherwise 20 to 50, a different number for
    /// most lists (section 8). The number is the sandbox's choice.
    pub default_limit: u64,
    /// The maximum number of records on a page, regardless of `limit`: as documented, otherwise 100.
    pub max_limit: u64,
    /// The response that contains a page.
    pub(crate) success: Success,
}

/// Returns all paginated lists, in the order of the API description.
pub fn lists() -> &'static [ServedList] {
    &ServiceSpec::embedded().lists
}

/// Returns the list that an operation reads: a `GET` with `limit` and `offset` whose response has the pagination
/// object.
pub(crate) fn list(schemas: &Schemas, operation: &DocumentedOperation) -> Option<ServedList> {
    if operation.method != "GET" || operation.path.contains('{') {
        return None;
    }
    let [limit, _] = ["limit", "offset"].map(|name| {
        let mut all = operation.parameters.iter();
        let found = all.find(|one| one.is_of_page() && one.name == name)?;
        schemas.shape(&found.schema).is("integer").then_some(found)
    });
    let schema = &limit?.schema;
    let limit = schemas.shape(schema);
    let page = schemas.shape(&operation.success.schema);
    let pagination = page.property("pagination")?;
    let pagination = schemas.shape(&pagination);
    let required: Vec<&str> = pagination.required().collect();
    if !PAGINATION.iter().all(|name| required.contains(name)) {
        return None;
    }
    let is_records = |name: &&str| {
        let schema = page.property(name).unwrap_or_default();
        let shape = schemas.shape(&schema);
        shape.is("array") && schemas.shape(&shape.items()).is("object")
    };
    let name = name(&operation.path);
    // The bound itself may be excluded.
    let excluded = |most| !schemas.accepts(schema, &Value::from(most), Direction::Request);
    let most = limit.range()[1].map(|most| most.floor() as u64);
    let most = most.map(|most| most.saturating_sub(excluded(most).into()));
    let max_limit = most.filter(|most| *most > 0).unwrap_or(USUAL_MAX_LIMIT);
    let mut defaults = limit.values("default").filter_map(|one| one.as_u64());
    let chosen = (20 + hash(&name) % 7 * 5).min(max_limit);
    Some(ServedList {
        path: operation.path.clone(),
        record_key: page.names().into_iter().find(is_records).map(str::to_owned),
        default_limit: defaults.find(|one| *one > 0).unwrap_or(chosen),
        max_limit,
        success: operation.success.clone(),
        name,
    })
}

/// Returns the name of a list, for example `ja_skills` for `/v1/ja/skills`.
fn name(path: &str) -> String {
    let mut name = String::new();
    for letter in path.trim_start_matches("/v1/").chars() {
        let separator = matches!(letter, '/' | '-' | '_');
        let after = name.ends_with(|last: char| last.is_ascii_lowercase());
        if after && (separator || letter.is_uppercase()) {
            name.push('_');
        }
        if !separator {
            name.extend(letter.to_lowercase());
        }
    }
    name
}

impl ServedList {
    /// Returns the number of records in the list unless [`Options::records`](crate::Options::records) sets another one.
    pub fn default_size(&self) -> u64 {
        samples::default_size(&self.name)
    }

    /// Returns the member that contains the records. If it is not documented, the sandbox chooses one of three names,
    /// so that a client must find it in the response.
    pub(crate) fn served_key(&self) -> &str {
        let last = self.path.rsplit('/').next().unwrap_or(&self.name);
        let chosen = match hash(&self.name) % 3 {
            0 => last,
            1 => "data",
            _ => "items",
        };
        self.record_key.as_deref().unwrap_or(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::table;
    use serde_json::json;

    /// Returns the lists of an API description with one operation whose pages have these properties.
    fn read(path: &str, limit: &Value, properties: &Value) -> Vec<ServedList> {
        let mut get: Value = table("list");
        get["parameters"][0]["schema"] = limit.clone();
        let content = &mut get["responses"]["200"]["content"]["application/json"];
        let page = content["schema"]["properties"].as_object_mut().unwrap();
        page.extend(properties.as_object().unwrap().clone());
        ServiceSpec::read(json!({"paths": {path: {"get": get}}})).lists
    }

    #[test]
    fn limits_are_documented_or_chosen() {
        for list in lists() {
            let (default, most) = (list.default_limit, list.max_limit);
            assert!((1..=most).contains(&default), "{} {default}", list.name);
            assert!((40..=2500).contains(&list.default_size()), "{}", list.name);
        }
        for (limit, max, least, most) in table::<Vec<(Value, u64, u64, u64)>>("limits") {
            let list = &read("/v1/ja/levels", &limit, &json!({}))[0];
            assert_eq!(list.max_limit, max, "{limit}");
            let default = list.default_limit;
            assert!((least..=most).contains(&default), "{limit}");
        }
    }

    #[test]
    fn the_record_key_is_documented_or_must_be_found() {
        let limit = json!({"type": "integer"});
        let keys = ["one", "two", "three", "four", "five", "six"].map(|group| {
            let list = read(&format!("/v1/{group}/last"), &limit, &json!({})).remove(0);
            list.served_key().to_owned()
        });
        for key in ["last", "data", "items"] {
            assert!(keys.iter().any(|one| one == key), "{keys:?}");
        }
        let properties = json!({
            "tags": {"type": "array", "items": {"type": "string"}},
            "people": {"type": "array", "items": {"properties": {"id": {}}}},
        });
        let list = &read("/v1/one", &limit, &properties)[0];
        assert_eq!(list.served_key(), "people");
    }

    #[test]
    fn a_list_pages_by_limit_and_offset_and_has_the_name_of_its_path() {
        let limit = json!({"type": "integer"});
        for (path, name) in [
            ("/v1/contacts", "contacts"),
            ("/v1/ja/skills", "ja_skills"),
            ("/v1/teamMembers", "team_members"),
            ("/v1/taxonomy/a-b", "taxonomy_a_b"),
        ] {
            let list = &read(path, &limit, &json!({}))[0];
            assert_eq!(list.name, name);
        }
        assert!(read("/v1/a", &json!({"type": "string"}), &json!({})).is_empty());
        assert!(read("/v1/a/{b}", &limit, &json!({})).is_empty());
        assert!(read("/v1/a", &limit, &json!({"pagination": {}})).is_empty());
    }
}
