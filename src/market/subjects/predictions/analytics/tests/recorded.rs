//! The recorded answers of the live service: keys, order, omission and spelling.

use std::path::PathBuf;

use serde_json::Value;

use super::{PROFILES, ROWS, open};
use crate::encode;
use crate::protocol::AnalyticsAnswer;
use crate::protocol::analytics::UserPosition;

/// A recorded answer of the live service, where the shared folder is at hand.
fn recorded(name: &str) -> Option<String> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let shared = std::env::var_os("MARKETPOINTS_SHARED").map_or_else(beside, PathBuf::from);
    std::fs::read_to_string(shared.join("recorded").join(name)).ok()
}

/// In the recordings' style, for machines that have none.
const POSITIONS: &str = r#"{"userPositions":[{"wallet_address":"0xf1302aaf","asset_id":"11129964277510813514811352347226065118851025564304633785522169918533975538869","realized_size":1.1522234023042003e+07,"avg_exit_price":0.49816723910035415,"realized_pnl":5.739999511527001e+06,"resolved_price":1,"prev_hold_duration":15957182,"merge_count":153,"transfer_in_count":379,"transfer_out_count":24,"market_name":"Who wins?","outcome_name":"Plains","category":"Politics","sub_category":"Elections","condition_id":"0xe0658c4b"}]}"#;
const PROFILE: &str = r#"{"traderProfile":{"wallet_address":"0xf1302aaf","total_position_count":1047,"closed_position_count":1047,"total_size":1.9327389717371872e+08,"total_realized_pnl":9.49165202155992e+07,"win_rate_by_positions":80.70678127984718,"largest_win":5.740012643231001e+06,"largest_loss":-48.26,"avg_holding_duration":3429946,"total_closed_pos_value":1.9327389717371872e+08}}"#;

#[test]
fn recorded_answers_are_written_back_byte_for_byte() {
    let recordings = ["pm_positions_wallet.json", "pm_trader_profile.json"].into_iter().filter_map(recorded);
    for text in recordings.chain([POSITIONS.to_owned(), PROFILE.to_owned()]) {
        let read: AnalyticsAnswer = serde_json::from_str(&text).unwrap();
        assert_eq!(String::from_utf8(encode::record(&read).unwrap()).unwrap(), text);
    }
}

/// Keys of a JSON object in the order in which its text has them.
fn keys(text: &str) -> Vec<String> {
    let object: Value = serde_json::from_str(text).unwrap();
    let mut keys: Vec<String> = object.as_object().unwrap().keys().cloned().collect();
    keys.sort_by_key(|key| text.find(&format!("\"{key}\":")));
    keys
}

#[test]
fn a_wallet_like_the_recorded_one_is_answered_with_the_same_keys() {
    // Like the recorded account: everything came by transfer and was merged, nothing is open. It never lost.
    let place = ROWS
        .iter()
        .position(|rows| rows.iter().all(|row| row.avg_price == 0.0 && !open(row) && row.realized_pnl > 0.0))
        .unwrap();
    let text = |record: Vec<u8>| String::from_utf8(record).unwrap();
    let profile = recorded("pm_trader_profile.json").unwrap_or_else(|| PROFILE.to_owned());
    let inner = |text: &str| text[text.find(":{").unwrap() + 1..text.len() - 1].to_owned();
    let mut known = keys(&inner(&profile));
    known.retain(|key| key != "largest_loss");
    assert_eq!(keys(&text(encode::record(&PROFILES[place]).unwrap())), known);

    let rows = recorded("pm_positions_wallet.json").unwrap_or_else(|| POSITIONS.to_owned());
    let first = &rows[rows.find(":[").unwrap() + 2..=rows.find('}').unwrap()];
    let like = |row: &&UserPosition| row.avg_price == 0.0 && row.realized_pnl > 0.0;
    let won =
        ROWS.iter().flatten().filter(like).find(|row| row.resolved_price == 1.0 && row.transfer_out_count > 0).unwrap();
    assert_eq!(keys(&text(encode::record(won).unwrap())), keys(first));
}
