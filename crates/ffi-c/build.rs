//! Passes linker arguments that name a shared library and keep it loaded. Both C libraries use this script.

/// The version number of the exported functions, which changes only with them and not with the spec or a release.
const ABI: &str = include_str!("abi");

fn main() {
    println!("cargo:rerun-if-changed=../ffi-c/build.rs");
    println!("cargo:rerun-if-changed=../ffi-c/abi");
    let is_sandbox = std::env::var("CARGO_PKG_NAME").as_deref() == Ok("talentdata-ffi-sandbox");
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if is_sandbox && system == "macos" {
        // The program provides the functions of libtalentdata that the sandbox calls.
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
