//! Gives the shared library its name and keeps it loaded, by arguments to the linker.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = |name: &str| std::env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    if target("OS") != "linux" {
        return;
    }
    // Before 1.0 a minor version may break what was built against it.
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let parts: Vec<&str> = version.split('.').collect();
    let number = match parts.as_slice() {
        ["0", minor, ..] => format!("0.{minor}"),
        [major, ..] => (*major).to_owned(),
        [] => return,
    };
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtalentdata.so.{number}");
    // Threads of a client may still run when somebody closes the library.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
