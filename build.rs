//! Link flags of the library.

fn main() {
    // The linker would drop the section from which pgrx writes the extension's
    // SQL. cargo-pgrx prevents that with flags on the command line, which
    // count for every crate and so make it compile all of them a second time;
    // the scripts switch those off (CARGO_ENCODED_RUSTFLAGS) and rely on this.
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-link-arg-cdylib=-Wl,--no-gc-sections");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
