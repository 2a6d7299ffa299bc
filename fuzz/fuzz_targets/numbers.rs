//! A list of tokens: all kernels agree, and with the standard library on every number.
#![no_main]

use marketpoints::columns::Column;

libfuzzer_sys::fuzz_target!(|tokens: &[u8]| {
    // Other bytes would be structure, or refused at once.
    if !tokens.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E' | b',' | b' ')) {
        return;
    }
    let mut body = br#"{"series":[{"points":[{"Point":{"timestamp":{"s":1},"x":[0,"#.to_vec();
    body.extend_from_slice(tokens);
    body.extend_from_slice(b"]}}]}]}");
    let Ok(series) = marketpoints_fuzz::agree(&body) else { return };
    let Some(Column::List(list)) = series[0].column("x") else { panic!("a list of numbers") };
    let text = std::str::from_utf8(tokens).expect("ASCII");
    let expected: Vec<u64> = text.split(',').map(|token| token.trim().parse::<f64>().unwrap().to_bits()).collect();
    let found: Vec<u64> = list.values[1..].iter().map(|value| value.to_bits()).collect();
    assert_eq!(found, expected);
});
