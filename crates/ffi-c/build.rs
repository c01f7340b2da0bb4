//! Gives the shared library its name and keeps it loaded, by arguments to the linker.

/// The version number of the exported functions. They change neither with the spec nor with every release.
const ABI: &str = include_str!("abi");

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=abi");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    let number = ABI.trim();
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtalentdata.so.{number}");
    // Threads of a client may still run when the program closes the library.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
