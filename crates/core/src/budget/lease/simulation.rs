//! Members, the server that keeps their budget, and the service with its limit, on virtual time.

mod goals;
mod properties;
mod scenario;
#[path = "../../../tests/gate/server.rs"]
#[allow(dead_code, reason = "the tests of the gate need more of it")]
mod server;
mod world;
