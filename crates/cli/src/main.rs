//! The `talentdata` program.

fn main() {}
