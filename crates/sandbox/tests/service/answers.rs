//! Requests and their responses: the documented operations, tokens, versions, lists, the rate limit, starting.

use crate::{Service, limited, start, table, text_of};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::io::{ErrorKind, Read as _};
use std::net::TcpListener;
use std::thread::sleep;
use std::time::{Duration, Instant};
use talentdata_sandbox::{Options, Sandbox, lists};

#[test]
fn every_operation_is_served_as_documented() {
    let service = start(|_| ());
    let text = include_str!("../../../../spec/openapi.json");
    let document: Value = serde_json::from_str(text).unwrap();
    let paths = document["paths"].as_object().unwrap().iter();
    let operations = paths.flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(move |(method, operation)| (method.to_uppercase(), path, operation))
    });
    let mut called = 0;
    for (method, path, operation) in operations {
        let path = path.replace(['{', '}'], "");
        let line = format!("{method} {path}");
        let security = operation["security"].as_array().unwrap();
        let needed = !security.is_empty() && !security.contains(&json!({}));
        for (bearer, refused) in [(None, needed), (Some("Bearer wrong"), !security.is_empty())] {
            let mut headers = vec![("content-type", "application/json")];
            headers.extend(bearer.map(|bearer| ("authorization", bearer)));
            // The token request itself is refused because of its body.
            let reply = service.send(&line, &headers, "[0]");
            assert_eq!(reply.status == 401, refused, "{bearer:?} {line}");
        }
        let reply = service.ask(&format!("PROPFIND {path}"), "");
        let allowed = reply.header("allow").unwrap_or_default();
        let allowed = allowed.split(", ").any(|one| one == method);
        assert!(reply.status == 405 && allowed, "{line}");
        let nothing = service.ask(&format!("{line}/1/2/3/4"), "");
        assert_eq!(nothing.status, 404, "{line}");
        let required = |one: &Value| one["required"] == true;
        let mut parameters = operation["parameters"].as_array().into_iter().flatten();
        if !parameters.any(required) && !required(&operation["requestBody"]) {
            let reply = service.ask(&line, "");
            assert!((200..300).contains(&reply.status), "{line}");
            let documented = &operation["responses"][reply.status.to_string()]["content"];
            let kind = reply.header("content-type").unwrap_or_default();
            assert!(documented[kind].is_object(), "{line} {kind}");
            called += 1;
        }
    }
    assert!(called > 0);
}

/// The status, the request, the token, the body, and words of the message.
type Request = (u16, String, String, Value, String);

#[test]
fn wrong_requests_are_refused_with_the_reason() {
    let service = start(|_| ());
    let (id, secret) = (service.client_id(), service.client_secret());
    let right = format!("Bearer {}", service.token);
    let Options { limit, window, .. } = Options::default();
    let limit = format!("{limit};w={}", window.as_secs());
    for case in table::<Vec<Request>>("requests") {
        let (status, line, bearer, body, reason) = &case;
        let mut headers = vec![("content-type", "application/json; charset=utf-8")];
        match bearer.as_str() {
            "right" => headers.push(("authorization", &right)),
            "wrong" => headers.push(("authorization", "Bearer wrong")),
            "basic" => headers.push(("authorization", "Basic c2FuZGJveDpzYW5kYm94")),
            _ => {}
        }
        let body = text_of(body).replace("ID", id).replace("SECRET", secret);
        let reply = service.send(line, &headers, &body);
        assert_eq!(reply.status, *status, "{case:?}");
        assert_eq!(reply.header("x-ratelimit-limit"), Some(limit.as_str()));
        assert!(reply.header("x-ratelimit-remaining").is_some());
        assert!(reply.header("x-ratelimit-reset").is_some());
        assert_eq!(reply.header("x-talentdata-sandbox"), Some("sample data"));
        assert_eq!(reply.header("content-type"), Some("application/json"));
        let challenge = (*status == 401).then_some("Bearer");
        assert_eq!(reply.header("www-authenticate"), challenge, "{case:?}");
        let message = reply.json()["error"]["message"].to_string();
        let message = message.replace('\\', "");
        assert!(message.contains(reason), "{case:?}: {message}");
        assert_eq!(message == "null", *status == 200, "{case:?}");
        assert!(!message.contains(secret), "{message}");
    }
    let plain = [("content-type", "text/plain")];
    let reply = service.send("POST /v1/oauth/token", &plain, &service.credentials());
    assert_eq!(reply.status, 415);
    let stats = service.stats();
    assert_eq!((stats.token_posts, stats.requests_by_path["other"]), (8, 3));
}

#[test]
fn tokens_are_new_each_time_and_end_as_configured() {
    let permissions = "GET /v1/oauth/token/permissions";
    for (tokens, first) in [("all", 200), ("newest", 401)] {
        let tokens = tokens.parse().unwrap();
        let service = start(|options| options.tokens = tokens);
        let reply = service.ask("POST /v1/oauth/token", &service.credentials());
        let reply = reply.json();
        assert!(reply["token_type"] == "Bearer" && reply["expires_in"] == 3600);
        let token = reply["access_token"].as_str().unwrap();
        assert_ne!(token, service.token);
        assert_eq!(service.ask(permissions, "").status, first);
        // A refused request issues no token, so no token ends.
        assert_eq!(service.ask("POST /v1/oauth/token", "{}").status, 400);
        let headers = [("authorization", &*format!("bearer {token}"))];
        let body = service.send(permissions, &headers, "").json();
        assert!(!body["roles"].as_array().unwrap().is_empty());
        let permissions = body["permissions"].as_array().unwrap().iter();
        let mut actions = permissions.map(|one| one.as_str().unwrap().split_once(':').unwrap().0);
        assert!(actions.all(|action| ["read", "write"].contains(&action)));
    }
    let token_lifetime = Duration::from_millis(500);
    let service = start(|options| options.token_lifetime = token_lifetime);
    let reply = service.ask("POST /v1/oauth/token", &service.credentials());
    assert_eq!(reply.json()["expires_in"].to_string(), "0.5");
    sleep(token_lifetime);
    assert_eq!(service.ask("GET /v1/contacts", "").status, 401);
}

#[test]
fn versions_are_reported_and_checked() {
    let service = start(|_| ());
    let report = service.get("/v1/version");
    assert!(report["version"] == "1.8.2" && report["apiStatus"] == "operational");
    let entries = report["endpoints"].as_object().unwrap().iter();
    // The status of a category, the first number of its version, and whether it names versions of a model and its
    // service.
    let facts = entries.map(|(name, entry)| {
        let models = ["model_version", "service_version"].map(|one| entry[one].is_string());
        assert_eq!(models[0], models[1], "{name}");
        let version = entry["version"].as_str().unwrap();
        json!([name, entry["status"], version[..1], models[0]])
    });
    let facts: HashSet<Value> = facts.collect();
    assert_eq!(facts, table("versions"));
    for (version, compatible, supported) in [
        ("1.8.2", true, true),
        ("1.4", true, true),
        ("1.3.9", true, false),
        ("2.0.0", false, false),
        ("new", false, false),
    ] {
        let asked = ["matching", "corecrm", "astrology"];
        let asked = json!({"clientVersion": version, "endpoints": asked}).to_string();
        let body = service.ask("POST /v1/version/check", &asked).json();
        let mut entries: Map<String, Value> = table("compatibility");
        for (name, entry) in &mut entries {
            entry["compatible"] = json!(compatible && name != "astrology");
        }
        let expected = json!({"compatible": compatible, "supported": supported, "endpointCompatibility": entries});
        assert_eq!(body, expected, "{version}");
    }
}

/// Returns the records of a page: the only array in the response.
fn records(body: &Value) -> &Vec<Value> {
    let members = body.as_object().unwrap().values();
    let arrays: Vec<_> = members.filter_map(Value::as_array).collect();
    assert_eq!(arrays.len(), 1);
    arrays[0]
}

fn sized(name: &str, size: u64) -> impl Fn(&mut Options) {
    let sizes = [(name.to_owned(), size)];
    move |options| options.records = sizes.clone().into()
}

#[test]
fn each_list_holds_different_records_on_pages_of_its_own_size() {
    let service = start(|_| ());
    for list in lists() {
        let (mut count, mut ids) = (0, HashSet::new());
        loop {
            let body = service.get(&format!("{}?limit=90&offset={count}", list.path));
            count += records(&body).len() as u64;
            ids.extend(records(&body).iter().map(|record| record["id"].to_string()));
            if body["pagination"]["hasMore"] == false {
                assert_eq!(body["pagination"]["total"], count);
                break;
            }
        }
        let counts = (count, ids.len() as u64);
        assert_eq!(counts, (list.default_size(), count), "{}", list.name);
        let most = list.max_limit;
        for (query, most) in [
            (String::new(), list.default_limit),
            (format!("?limit={most}"), most),
            (format!("?limit={}", most + 1), most),
        ] {
            let body = service.get(&format!("{}{query}", list.path));
            assert_eq!(records(&body).len() as u64, most.min(count), "{query}");
        }
    }
    let body = service.get("/v1/contacts");
    assert_eq!(body["success"], true);
    for contact in body["contacts"].as_array().unwrap() {
        for field in ["id", "firstName", "lastName", "email"] {
            assert!(contact[field].is_string(), "{field} in {contact}");
        }
    }
}

#[test]
fn the_pagination_object_describes_the_page() {
    let service = start(|options| {
        sized("contacts", 250)(options);
        options.max_limit = Some(90);
    });
    for (query, offset, returned, more) in table::<Vec<(String, u64, usize, bool)>>("pages") {
        let body = service.get(&format!("/v1/contacts?{query}"));
        assert_eq!(records(&body).len(), returned, "{query}");
        let expected = json!({"total": 250, "limit": returned, "offset": offset, "hasMore": more});
        assert_eq!(body["pagination"], expected, "{query}");
    }
}

/// Records are computed on request, so a list larger than any memory is served at once, at both ends.
#[test]
fn records_depend_on_the_seed_and_the_size_of_a_list_costs_nothing() {
    let first = |service: Service| service.get("/v1/contacts?limit=10&offset=50");
    let small = first(start(|_| ()));
    let large = first(start(sized("contacts", 90_000)));
    let seeded = first(start(|options| options.seed = 1));
    assert_eq!(records(&small), records(&large));
    assert_ne!(records(&small), records(&seeded));
    let size = 1 << 60;
    let service = start(sized("pools", size));
    for offset in [0, size / 2, size - 100] {
        let body = service.get(&format!("/v1/pools?limit=100&offset={offset}"));
        assert_eq!(records(&body).len(), 100);
        assert_eq!(body["pagination"]["total"], size);
    }
}

#[test]
fn requests_count_take_the_latency_and_get_429_beyond_the_limit() {
    let latency = Duration::from_millis(20);
    let mut service = limited(|options| {
        options.faults = true;
        options.limit = 6;
        options.latency = latency;
        options.window = Duration::from_secs(u64::MAX);
    });
    service.token = service.new_token();
    for (status, remaining, line) in [
        (200, "4", "GET /v1/contacts"),
        (200, "3", "GET /v1/version"),
        (404, "2", "GET /v1/nothing"),
        (400, "1", "POST /v1/oauth/token"),
        (200, "0", "GET /v1/ja/skills"),
        (429, "0", "GET /v1/contacts"),
        (429, "0", "GET /v1/nothing"),
        (429, "0", "POST /v1/oauth/token"),
        // Without the option there is no such test endpoint.
        (429, "0", "GET /__faults"),
    ] {
        let start = Instant::now();
        let reply = service.ask(line, "");
        assert!(start.elapsed() >= latency);
        let header = reply.header("x-ratelimit-remaining");
        assert_eq!((reply.status, header), (status, Some(remaining)), "{line}");
        let limit = format!("6;w={}", u64::MAX);
        assert_eq!(reply.header("x-ratelimit-limit"), Some(limit.as_str()));
        assert_eq!(reply.json()["error"].is_object(), status != 200);
        service.set_rules(&json!([]));
    }
    let logged = service.get("/__requests")["requests"].take();
    assert_eq!(logged.as_array().unwrap().len(), 10);
    let expected = json!({
        "requests": 10,
        "token_posts": 3,
        "limited": 4,
        "requests_by_path": {"/v1/contacts": 2, "/v1/ja/skills": 1, "/v1/oauth/token": 3, "/v1/version": 1, "other": 3},
    });
    assert_eq!(service.get("/__stats"), expected);
}

#[test]
fn responses_are_compressed_only_if_both_sides_want_it() {
    for (gzip, accept, expected) in [
        (true, "gzip, deflate", Some("gzip")),
        (true, "identity", None),
        (false, "gzip", None),
    ] {
        let service = limited(|options| options.gzip = gzip);
        let reply = service.send("GET /v1/version", &[("accept-encoding", accept)], "");
        assert_eq!(reply.header("content-encoding"), expected);
        let mut text = String::new();
        match expected {
            Some(_) => flate2::read::GzDecoder::new(&reply.body[..]).read_to_string(&mut text),
            None => (&reply.body[..]).read_to_string(&mut text),
        }
        .unwrap();
        assert!(text.contains("apiStatus"));
    }
}

#[test]
fn it_listens_on_loopback_with_its_own_credentials_until_dropped() {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.unwrap();
    // Inside or outside an async runtime.
    let [one, other]: [Service; 2] = [start(|_| ()), runtime.block_on(async { start(|_| ()) })];
    assert!(one.base_url().starts_with("http://127.0.0.1:"));
    assert_ne!(one.client_id(), other.client_id());
    assert_ne!(one.client_secret(), other.client_secret());
    assert!(!format!("{:?}", one.sandbox).contains(one.client_secret()));
    let bearer = format!("Bearer {}", one.token);
    let reply = other.send("GET /v1/contacts", &[("authorization", &bearer)], "");
    assert_eq!(reply.status, 401);
    let mut open = other.connect();
    runtime.block_on(async { drop(other) });
    // Another sandbox may listen there by now, but it does not serve this connection.
    let gone = match open.read(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    };
    assert!(gone);
}

#[test]
fn a_port_can_be_chosen_and_impossible_options_are_errors() {
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let start = |set: &dyn Fn(&mut Options)| {
        let mut options = Options::default();
        set(&mut options);
        Sandbox::start(options)
    };
    start(&|options| options.port = port).unwrap_err();
    drop(taken);
    let sandbox = start(&|options| options.port = port).unwrap();
    assert_eq!(sandbox.base_url(), format!("http://127.0.0.1:{port}"));
    let error = start(&sized("kontakte", 1)).unwrap_err().to_string();
    assert!(error.contains("`kontakte`") && error.contains("contacts"));
}
