//! Estimates the memory that parsed frames take: a small text can hold very many values.

/// Most bytes of one frame's values.
pub(super) const MOST_OF_A_FRAME: usize = 128 << 20;
/// Most bytes of the events in the queue.
pub(super) const MOST_WAITING: usize = 256 << 20;
/// Size of a value, and of the first fields of an object.
const VALUE: usize = 32;
pub(super) const OBJECT: usize = 640;

/// Approximate size of a JSON text's values. Commas and braces in strings are counted too, which matters only to a
/// frame full of them.
pub(super) fn of_text(text: &[u8]) -> usize {
    let count = |letter: u8| text.iter().map(|byte| usize::from(*byte == letter)).sum::<usize>();
    text.len() + VALUE * count(b',') + OBJECT * count(b'{')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_small_values_cost_more_than_their_text() {
        assert_eq!(of_text(b"[1,2,3]"), 7 + 2 * 32);
        assert_eq!(of_text(br#"{"a":{},"b":"x"}"#), 16 + 32 + 2 * 640);
        // Five thousand trades in one frame, and a book of a hundred thousand levels, are far from the bound.
        let trade = br#"{"series":{"type":"TRADE"},"trade":{"id":"1","price":1,"timestamp":{"seconds":1}}},"#;
        assert!(of_text(&trade.repeat(5_000)) < MOST_OF_A_FRAME / 8);
        assert!(of_text(&b"90000.5,1.25,".repeat(100_000)) < MOST_OF_A_FRAME / 8);
    }
}
