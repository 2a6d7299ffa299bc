//! The tests of the crate from outside, in one program: linking each file by itself took longer than running it.

#[macro_use]
#[path = "support/coins_only.rs"]
mod coins_only;

mod client_analytics;
mod client_faults;
mod client_listing;
mod client_meets_service;
mod decode_fuzz_seeds;
mod faults_tls;
mod faults_transport;
mod market_discovery;
mod market_ingest;
mod market_profiles;
mod market_transforms;
mod stream_faults;
mod stream_meets_service;
mod stream_tls_and_proxies;
mod support;

/// Names of what lies in a folder of the repository.
fn names(folder: &str) -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The files of tests beside this one, without their endings.
fn sources() -> Vec<String> {
    let files = names("tests").into_iter().filter_map(|name| name.strip_suffix(".rs").map(str::to_owned));
    let sources: Vec<String> = files.filter(|name| name != "integration").collect();
    assert!(sources.len() > 10, "{sources:?}");
    sources
}

#[test]
fn every_file_of_tests_is_a_module() {
    let named = include_str!("integration.rs");
    for name in sources() {
        assert!(named.contains(&format!("\nmod {name};\n")), "tests/{name}.rs is not in tests/integration.rs");
    }
}

#[test]
fn every_file_of_tests_is_named_after_a_room_or_a_chapter() {
    let rooms = names("src").into_iter().filter(|name| !name.contains('.'));
    let chapters = names("docs").into_iter().filter_map(|name| name.strip_suffix(".md").map(str::to_owned));
    let known: Vec<String> = rooms.chain(chapters).collect();
    for name in sources() {
        let first = name.split('_').next().unwrap_or_default();
        assert!(known.iter().any(|one| one == first), "tests/{name}.rs: {first} is no folder of src, no page of docs");
    }
}
