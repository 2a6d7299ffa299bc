//! The demo's wallets and their positions on the prediction venue.

use super::events::{EventTraits, LAST, events, hexadecimal, tape_seed};
use super::noise::{mix, normal, place, uniform};
use super::odds::quote;
use crate::market::analytics::{Counts, Outcome, Position, PositionTable};

const WALLETS: usize = 500;
const POSITIONS: usize = 10_000;
/// Keeps the hashes of the wallets apart from those of the markets.
const TRADERS: u64 = 0x5741_4c4c;
/// One wallet in so many gets its tokens by transfer and merges them, as arbitrageurs do: no entry price, exit near ½.
const MERGING: u64 = 40;
/// One wallet in so many is a whale.
const WHALES: u64 = 60;

/// A wallet's habits.
struct Trader {
    seed: u64,
    /// Typical size of a position in tokens.
    scale: f64,
    /// Whether it buys at the better of two chances, or at the worse.
    patient: bool,
    merges: bool,
}

/// Random numbers of one position, one after the other.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = mix(self.0);
        self.0
    }

    fn uniform(&mut self) -> f64 {
        uniform(self.next())
    }

    fn normal(&mut self) -> f64 {
        normal(self.next())
    }

    /// A count from 1 up, mostly small.
    fn count(&mut self) -> i64 {
        (1.1 * self.normal().abs()).exp() as i64
    }

    /// A count of an event that is rare.
    fn rare(&mut self, chance: f64) -> i64 {
        if self.uniform() < chance { self.count() } else { 0 }
    }
}

/// The table of a seed: 25 markets, 500 wallets, 10,000 positions, none with an event after 2025.
pub(super) fn table(seed: u64) -> PositionTable {
    let (events, traits, outcomes) = events(seed);
    let traders: Vec<Trader> = (0..WALLETS as u64).map(|wallet| trader(place(&[seed, TRADERS, wallet]))).collect();
    let mut positions = Vec::with_capacity(POSITIONS);
    for (wallet, many) in spread(&traders, outcomes.len()).into_iter().enumerate() {
        for outcome in choose(&traders[wallet], &outcomes, many) {
            let place = outcomes[outcome].event;
            let first = |at: i64| quote(&traits[place], tape_seed(seed, place), at);
            let price = |at: i64| if outcome.is_multiple_of(2) { first(at) } else { 1.0 - first(at) };
            let position = position(&traders[wallet], outcome, &outcomes[outcome], &traits[place], price);
            positions.push(Position { wallet, outcome, ..position });
        }
    }
    let wallets = traders.iter().map(|trader| hexadecimal(trader.seed, 40)).collect();
    PositionTable::new(wallets, events, outcomes, positions)
}

fn trader(seed: u64) -> Trader {
    let whale = place(&[seed, 1]).is_multiple_of(WHALES);
    Trader {
        seed,
        scale: (5.5 + 1.6 * normal(place(&[seed, 2]))).exp() * if whale { 300.0 } else { 1.0 },
        patient: normal(place(&[seed, 3])) > 0.0,
        merges: place(&[seed, 4]).is_multiple_of(MERGING),
    }
}

/// How many positions each wallet has: few for most, never more than there are outcomes, all of them together
/// [`POSITIONS`].
fn spread(traders: &[Trader], outcomes: usize) -> Vec<usize> {
    let most = outcomes as f64 - 4.0;
    let mut counts: Vec<usize> =
        traders.iter().map(|trader| 4 + (most * uniform(place(&[trader.seed, 5])).powi(2)) as usize).collect();
    let mut total: usize = counts.iter().sum();
    // The law is right on average; what is missing or too much is shared out one by one.
    for turn in 0.. {
        let count = &mut counts[turn % traders.len()];
        if total < POSITIONS && *count < outcomes {
            *count += 1;
            total += 1;
        } else if total > POSITIONS && *count > 1 {
            *count -= 1;
            total -= 1;
        } else if total == POSITIONS {
            break;
        }
    }
    counts
}

/// The outcomes that a wallet trades, in the order of the markets.
fn choose(trader: &Trader, outcomes: &[Outcome], many: usize) -> Vec<usize> {
    let lot = |outcome: usize| place(&[trader.seed, 6, outcome as u64]);
    let mut order: Vec<usize> = (0..outcomes.len()).collect();
    order.sort_by_key(|&outcome| lot(outcome));
    order.truncate(many);
    order.sort_unstable();
    order
}

/// A wallet's position in an outcome; the caller fills in whose and where. `price` is that of the outcome at a Unix second:
/// wallets buy and sell on the market's tape.
fn position(
    trader: &Trader,
    index: usize,
    outcome: &Outcome,
    event: &EventTraits,
    price: impl Fn(i64) -> f64,
) -> Position {
    let mut draw = Draw(place(&[trader.seed, 7, index as u64]));
    let size = micro(1.0 + trader.scale * draw.normal().exp());
    let end = event.ends.min(LAST);
    let mut chance = || event.opened + ((end - event.opened) as f64 * 0.8 * draw.uniform()) as i64;
    let (one, two) = (chance(), chance());
    let (cheap, dear) = if price(one) <= price(two) { (one, two) } else { (two, one) };
    let opened = if trader.patient { cheap } else { dear };
    if trader.merges {
        return merged(&mut draw, size, opened, end);
    }
    let avg_price = micro(size * price(opened)) / size;
    let mut counts = Counts {
        buy: draw.count(),
        split: draw.rare(0.05),
        transfer_in: draw.rare(0.03),
        transfer_out: draw.rare(0.02),
        conversion_in: draw.rare(0.03),
        conversion_out: draw.rare(0.01),
        ..Counts::default()
    };
    let fate = draw.uniform();
    let (sold_at, part) = (opened + ((end - opened) as f64 * draw.uniform()) as i64, draw.uniform());
    let held = |counts| Position {
        unrealized_size: size,
        avg_price,
        latest_open_ts: opened,
        last_trade: opened,
        counts,
        ..Position::default()
    };
    let redeemed = outcome.resolved_price.filter(|_| fate < 0.55);
    // Tokens of a resolved market that nobody redeemed are still held.
    let kept = if outcome.resolved_price.is_some() { fate >= 0.93 } else { fate < 0.5 };
    if kept {
        return held(counts);
    }
    let (realized, exit, closed) = match redeemed {
        Some(price) => (size, price, (event.ends + (part * 86_400.0) as i64).min(LAST)),
        None => {
            counts.sell = draw.count();
            counts.merge = draw.rare(0.05);
            let partly = outcome.resolved_price.is_none() && fate < 0.65;
            (if partly { micro(size * (0.1 + 0.8 * part)) } else { size }, price(sold_at), sold_at)
        }
    };
    let avg_exit_price = if redeemed.is_some() { exit } else { micro(realized * exit) / realized };
    let (unrealized, open) = (micro(size - realized), realized < size);
    Position {
        unrealized_size: unrealized,
        realized_size: realized,
        avg_price,
        avg_exit_price,
        realized_pnl: realized * (avg_exit_price - avg_price),
        latest_open_ts: if open { opened } else { 0 },
        prev_hold_duration: if open { 0 } else { closed - opened },
        counts,
        last_trade: closed,
        ..Position::default()
    }
}

/// Tokens that came by transfer, at no price that the venue knows, and were merged into collateral.
fn merged(draw: &mut Draw, size: f64, opened: i64, end: i64) -> Position {
    let closed = opened + ((end - opened) as f64 * draw.uniform()) as i64;
    let exit = micro(size * (0.5 + 0.006 * draw.normal())) / size;
    Position {
        realized_size: size,
        avg_exit_price: exit,
        realized_pnl: size * exit,
        prev_hold_duration: closed - opened,
        counts: Counts {
            merge: 3 * draw.count(),
            transfer_in: 5 * draw.count(),
            transfer_out: draw.rare(0.6),
            ..Counts::default()
        },
        last_trade: closed,
        ..Position::default()
    }
}

/// Rounded to a millionth: the venue's tokens and dollars have six decimals.
fn micro(amount: f64) -> f64 {
    (amount * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_table_has_its_size_and_is_the_same_every_time() {
        let one = table(0);
        assert_eq!((one.events().len(), one.outcomes().len(), one.wallets().len()), (25, 50, 500));
        assert_eq!(one.positions().len(), 10_000);
        assert_eq!(one.positions(), table(0).positions());
        assert_ne!(one.positions()[0], table(1).positions()[0]);
        assert_ne!(one.wallets()[0], table(1).wallets()[0]);
        let pairs: HashSet<_> = one.positions().iter().map(|row| (row.wallet, row.outcome)).collect();
        assert_eq!(pairs.len(), 10_000, "one position for each wallet and outcome");
        assert!(one.wallets().iter().collect::<HashSet<_>>().len() == 500);
        let traders: HashSet<_> = one.positions().iter().map(|row| row.wallet).collect();
        assert_eq!(traders.len(), 500, "every wallet trades");
    }

    #[test]
    fn identifiers_look_as_the_venue_has_them() {
        let table = table(0);
        let hexadecimal = |text: &str, digits: usize| {
            text.len() == digits + 2
                && text.starts_with("0x")
                && text[2..].bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        assert!(table.wallets().iter().all(|wallet| hexadecimal(wallet, 40)));
        assert!(table.events().iter().all(|event| hexadecimal(&event.condition_id, 64)));
        let most = "115792089237316195423570985008687907853269984665640564039457584007913129639935"; // 2^256 - 1
        for outcome in table.outcomes() {
            let id = &outcome.asset_id;
            assert!((60..=78).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit()) && &id[..1] != "0");
            assert!(id.len() < 78 || id.as_str() < most, "{id}");
        }
        assert!(table.outcomes().iter().map(|one| &one.asset_id).collect::<HashSet<_>>().len() == 50);
    }

    #[test]
    fn positions_are_sound() {
        let table = table(0);
        let (mut open, mut partly, mut unredeemed, mut merging) = (0, 0, 0, 0);
        for row in table.positions() {
            let outcome = &table.outcomes()[row.outcome];
            assert!(row.size() >= 1.0 && row.unrealized_size >= 0.0 && row.realized_size >= 0.0);
            assert!((0.0..=1.0).contains(&row.avg_price) && (0.0..=1.0).contains(&row.avg_exit_price));
            let gain = row.realized_size * (row.avg_exit_price - row.avg_price);
            assert!((row.realized_pnl - gain).abs() <= 1e-9 * row.size());
            assert!(row.last_trade <= LAST && row.prev_hold_duration >= 0);
            assert_eq!(row.latest_open_ts > 0, row.is_open());
            assert!(row.latest_open_ts <= row.last_trade);
            assert!(row.counts.buy > 0 || row.counts.transfer_in > 0);
            open += usize::from(row.is_open());
            partly += usize::from(row.is_open() && row.realized_size > 0.0);
            unredeemed += usize::from(row.is_open() && outcome.resolved_price.is_some());
            merging += usize::from(row.avg_price == 0.0);
        }
        for (kind, count) in [("open", open), ("partly", partly), ("unredeemed", unredeemed), ("merging", merging)] {
            assert!((50..5_000).contains(&count), "{count} {kind} positions");
        }
        let mut sizes: Vec<f64> = table.positions().iter().map(Position::size).collect();
        sizes.sort_by(f64::total_cmp);
        assert!(sizes[9_999] > 1e6 && sizes[5_000] < 1e4, "a heavy tail: {} {}", sizes[5_000], sizes[9_999]);
    }

    #[test]
    fn a_resolved_market_has_one_winner_and_an_open_one_none() {
        let table = table(0);
        let paid = |event: usize| -> Vec<Option<f64>> {
            table.outcomes().iter().filter(|one| one.event == event).map(|one| one.resolved_price).collect()
        };
        let resolved = (0..25).filter(|&event| paid(event).iter().flatten().sum::<f64>() == 1.0).count();
        let open = (0..25).filter(|&event| paid(event) == [None, None]).count();
        assert!(resolved >= 5 && open >= 5 && resolved + open == 25, "{resolved} resolved, {open} open");
    }
}
