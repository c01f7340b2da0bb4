//! The log of requests, the counts, and access to the test endpoints.

use crate::{Reply, Service, faulty, hear, request, table, text_of};
use serde_json::{Value, json};
use std::io::Write as _;

fn requests(service: &Service) -> Vec<Value> {
    let body = service.get("/__requests");
    assert_eq!(body["dropped"], 0);
    body["requests"].as_array().unwrap().clone()
}

#[test]
fn requests_are_logged_with_everything_that_was_received() {
    let rule = json!({"match": {"path": "/v1/contacts"}, "reply": {"status": 500}});
    let service = faulty(&json!([{"match": {"nth": 99}, "reply": {}}, rule]));
    service.new_token();
    let twice = [("x-a", "1"), ("x-a", "2")];
    let first = request("GET /v1/contacts?limit=5&offset=10", &twice, "");
    let last = request("GET /v1/version", &[("connection", "close")], "");
    let heard = hear(&mut service.begin(&(first + &last)));
    heard.end.unwrap();
    // A changed response does not cost the connection.
    let heard = String::from_utf8(heard.bytes).unwrap();
    assert!(
        heard.starts_with("HTTP/1.1 500 ") && heard.contains("HTTP/1.1 200 "),
        "{heard}"
    );
    let [token, page, version] = requests(&service).try_into().unwrap();
    assert!(token["method"] == "POST" && token["path"] == "/v1/oauth/token");
    let masked = json!({"clientId": service.client_id(), "clientSecret": "[redacted]"});
    assert_eq!(token["body"], masked.to_string());
    assert_eq!(token["headers"]["content-type"], "application/json");
    assert_eq!((&token["fault"], &page["fault"]), (&Value::Null, &json!(1)));
    assert_eq!(page["query"], "limit=5&offset=10");
    assert_eq!(page["headers"]["x-a"], "1, 2");
    assert!(page["at_ms"].as_u64() >= token["at_ms"].as_u64());
    assert_ne!(page["connection"], token["connection"]);
    assert_eq!(page["connection"], version["connection"]);
    service.ask("DELETE /__faults", "");
    assert!(requests(&service).is_empty());
}

#[test]
fn no_secret_is_logged_at_any_place() {
    let service = faulty(&json!([]));
    let secret = service.client_secret();
    // The third one comes from a client that was made for another service.
    for (line, header, body) in table::<Vec<(String, String, Value)>>("secret") {
        let [line, header, body] =
            [line, header, text_of(&body)].map(|text| text.replace("SECRET", secret));
        let headers: Vec<(&str, &str)> = header.split_once(": ").into_iter().collect();
        service.send(&line, &headers, &body);
    }
    let logged = json!(requests(&service));
    let text = logged.to_string();
    assert!(!text.contains(secret) && !text.contains("real"), "{logged}");
    assert_eq!(logged[3]["query"], "limit=5&access_token=[redacted]");
    assert_eq!(logged[4]["headers"]["authorization"], "Bearer [redacted]");
}

#[test]
fn web_pages_cannot_use_the_endpoints_of_a_test() {
    let service = faulty(&json!([]));
    let port = service.base_url().rsplit_once(':').unwrap().1;
    for (status, host, header) in [
        (200, "127.0.0.1:PORT", ""),
        (200, "localhost:PORT", ""),
        (403, "evil.example:PORT", ""),
        (403, "127.0.0.1", ""),
        (403, "127.0.0.1:1", ""),
        (403, "127.0.0.1:PORT", "origin: https://evil.example\r\n"),
        (403, "127.0.0.1:PORT", "origin: null\r\n"),
    ] {
        let host = host.replace("PORT", port);
        for line in ["GET /__requests", "POST /__faults", "DELETE /__faults"] {
            let text = request(line, &[("connection", "close")], r#"{"rules":[]}"#);
            let text = text.replace("host: HOST\r\n", &format!("host: {host}\r\n{header}"));
            let reply = Reply::parse(&hear(&mut service.begin(&text)).bytes);
            assert_eq!(reply.status, status, "{line} {host} {header}");
        }
    }
}

#[test]
fn a_body_that_is_too_large_is_refused_before_it_fills_the_memory() {
    let service = faulty(&json!([]));
    let length = 81 << 20;
    let head = "POST /__faults HTTP/1.1\r\nhost: HOST\r\n";
    let mut socket = service.begin(&format!("{head}content-length: {length}\r\n\r\n"));
    // The connection may end before everything is written.
    let _ = socket.write_all(&vec![b' '; length]);
    assert!(hear(&mut socket).bytes.is_empty());
    assert_eq!(service.version().status, 200);
}
