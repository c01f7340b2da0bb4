//! The project's own commands; `cargo xtask` lists them.

fn main() {}
