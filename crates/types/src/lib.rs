//! Models and operations of the talent data service, generated from `spec/openapi.json`.
