//! The tests of the crate from outside, in one program: linking each file by itself took longer than running it.

#[macro_use]
#[path = "support/coins_only.rs"]
mod coins_only;

mod client_analytics;
mod client_faults;
mod client_listing;
mod client_meets_service;
mod discovery_of_a_store;
mod faults_tls;
mod faults_transport;
mod market_corners;
mod profiles_of_a_store;
mod stream_faults;
mod stream_meets_service;
mod stream_way;
mod support;

#[test]
fn every_file_of_tests_is_a_module() {
    let named = include_str!("integration.rs");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let sources: Vec<String> = files.filter_map(|name| name.strip_suffix(".rs").map(str::to_owned)).collect();
    assert!(sources.len() > 10, "{sources:?}");
    for name in sources.iter().filter(|name| *name != "integration") {
        assert!(named.contains(&format!("\nmod {name};\n")), "tests/{name}.rs is not in tests/integration.rs");
    }
}
