//! Gives a shared library its name and keeps it loaded, by arguments to the linker; both C libraries are built with it.

/// The version number of the exported functions. They change neither with the spec nor with every release.
const ABI: &str = include_str!("abi");

fn main() {
    println!("cargo:rerun-if-changed=../ffi-c/build.rs");
    println!("cargo:rerun-if-changed=../ffi-c/abi");
    let is_sandbox = std::env::var("CARGO_PKG_NAME").as_deref() == Ok("talentdata-ffi-sandbox");
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if is_sandbox && system == "macos" {
        // The program has the functions of libtalentdata that the sandbox calls.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-undefined,dynamic_lookup");
    }
    if system != "linux" {
        return;
    }
    let name = if is_sandbox {
        "libtalentdata_sandbox"
    } else {
        "libtalentdata"
    };
    let number = ABI.trim();
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{name}.so.{number}");
    // Threads of a client or of a sandbox may still run when the program closes the library.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
