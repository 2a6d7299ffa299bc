//! The demo's wallets and their positions on the prediction venue.

use super::events::{EventTraits, PredictionEvents, hexadecimal};
use super::odds::quote;
use crate::clock::{SECONDS_PER_DAY, UnixSecond};
use crate::market::demo::noise::{mix, normal, place, uniform};
use crate::market::query::rounding::round;
use crate::market::raw::{OutcomeToken, Position, PositionCounts, PositionTable};

const WALLETS: usize = 500;
/// Positions that they take in the markets of a year.
const POSITIONS: usize = 10_000;
/// Keeps the hashes of the wallets apart from those of the markets.
const TRADERS: u64 = 0x5741_4c4c;
/// One of this many wallets gets its tokens by transfer and merges them, as arbitrageurs do: no entry price, exit near ½.
const MERGING: u64 = 40;
/// One of this many wallets is a whale.
const WHALES: u64 = 60;

/// A wallet's habits.
#[derive(Debug)]
struct Trader {
    seed: u64,
    /// Typical size of a position in tokens.
    scale: f64,
    /// Whether it buys at the better or the worse of two random times.
    patient: bool,
    merges: bool,
}

/// Random numbers of one position, one after the other.
struct RandomDraws(u64);

impl RandomDraws {
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

    /// A count of a rare event.
    fn rare(&mut self, chance: f64) -> i64 {
        if self.uniform() < chance { self.count() } else { 0 }
    }
}

/// Sale, merge or redemption that ends a position, or a part of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::market) struct PositionExit {
    /// Time of the exit.
    pub(in crate::market) at: UnixSecond,
    /// Tokens sold, merged or redeemed.
    pub(in crate::market) size: f64,
    /// Average price.
    pub(in crate::market) price: f64,
    /// Events of the exit.
    pub(in crate::market) counts: PositionCounts,
}

/// A wallet's position in an outcome from its beginning to its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::market) struct PositionHistory {
    pub(in crate::market) wallet: usize,
    pub(in crate::market) outcome: usize,
    /// Tokens.
    pub(in crate::market) size: f64,
    /// Average entry price.
    pub(in crate::market) avg_price: f64,
    /// When it was entered.
    pub(in crate::market) entered: UnixSecond,
    /// Events of the entry.
    pub(in crate::market) counts: PositionCounts,
    /// The exit. Tokens that it does not cover are never sold.
    pub(in crate::market) exit: Option<PositionExit>,
}

impl PositionHistory {
    /// The position as of a second; `None` before it is entered.
    fn position(&self, now: UnixSecond) -> Option<Position> {
        if self.entered > now {
            return None;
        }
        let held = Position {
            wallet: self.wallet,
            outcome: self.outcome,
            unrealized_size: self.size,
            avg_price: self.avg_price,
            latest_open_ts: self.entered,
            last_trade: self.entered,
            counts: self.counts,
            ..Position::default()
        };
        let Some(exit) = self.exit.filter(|exit| exit.at <= now) else { return Some(held) };
        let unrealized_size = micro(self.size - exit.size);
        let open = exit.size < self.size && unrealized_size > 0.0;
        Some(Position {
            unrealized_size: if open { unrealized_size } else { 0.0 },
            realized_size: exit.size,
            avg_exit_price: exit.price,
            realized_pnl: exit.size * (exit.price - self.avg_price),
            latest_open_ts: if open { self.entered } else { UnixSecond(0) },
            prev_hold_duration: if open { 0 } else { exit.at.0 - self.entered.0 },
            last_trade: exit.at,
            counts: PositionCounts {
                sell: exit.counts.sell,
                merge: exit.counts.merge,
                transfer_out: self.counts.transfer_out + exit.counts.transfer_out,
                ..self.counts
            },
            ..held
        })
    }
}

/// The wallets of a seed.
#[derive(Debug)]
pub(in crate::market) struct Traders(Vec<Trader>);

impl Traders {
    pub(in crate::market) fn new(seed: u64) -> Self {
        Self((0..WALLETS as u64).map(|wallet| trader(place(&[seed, TRADERS, wallet]))).collect())
    }

    /// The positions that the wallets ever take in the markets of a year. `first` says whether the first outcome of a market
    /// comes true.
    pub(in crate::market) fn histories(
        &self,
        events: &PredictionEvents,
        year: usize,
        first: impl Fn(usize) -> bool,
    ) -> Vec<PositionHistory> {
        let of_year = |outcome: &usize| events.traits[events.outcomes[*outcome].event].year == year;
        let outcomes: Vec<usize> = (0..events.outcomes.len()).filter(of_year).collect();
        let mut histories = Vec::with_capacity(POSITIONS);
        for (wallet, many) in spread(&self.0, year, outcomes.len()).into_iter().enumerate() {
            for outcome in choose(&self.0[wallet], &outcomes, many) {
                let place = events.outcomes[outcome].event;
                let (event, side, first) = (&events.traits[place], outcome % 2, first(place));
                let price =
                    |at: UnixSecond| if side == 0 { quote(event, first, at) } else { 1.0 - quote(event, first, at) };
                let history =
                    history(&self.0[wallet], outcome, event, f64::from(u8::from(first == (side == 0))), price);
                histories.push(PositionHistory { wallet, ..history });
            }
        }
        histories
    }
}

/// The table of positions as of a second, of the markets that have opened.
pub(in crate::market) fn table<'a>(
    traders: &Traders,
    events: &PredictionEvents,
    histories: impl Iterator<Item = &'a PositionHistory>,
    now: UnixSecond,
    first: impl Fn(usize) -> bool,
) -> PositionTable {
    let opened = events.traits.partition_point(|event| event.opened <= now);
    let outcome = |(index, outcome): (usize, &OutcomeToken)| {
        let paid = || f64::from(u8::from(first(outcome.event) == index.is_multiple_of(2)));
        let resolved_price = (events.traits[outcome.event].ends <= now).then(paid);
        OutcomeToken { resolved_price, ..outcome.clone() }
    };
    let wallets = traders.0.iter().map(|trader| hexadecimal(trader.seed, 40)).collect();
    let outcomes = events.outcomes[..2 * opened].iter().enumerate().map(outcome).collect();
    let positions = histories.filter_map(|history| history.position(now)).collect();
    PositionTable::new(wallets, events.events[..opened].to_vec(), outcomes, positions)
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

/// Number of positions of each wallet in a year: few for most, never more than there are outcomes, [`POSITIONS`] in total.
fn spread(traders: &[Trader], year: usize, outcomes: usize) -> Vec<usize> {
    let most = outcomes as f64 - 4.0;
    let mut counts: Vec<usize> = traders
        .iter()
        .map(|trader| 4 + (most * uniform(place(&[trader.seed, 5, year as u64])).powi(2)) as usize)
        .collect();
    let mut total: usize = counts.iter().sum();
    // The law is right on average; the difference to the total is shared out one by one.
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

/// Chooses the outcomes that a wallet trades, in the order of the markets.
fn choose(trader: &Trader, outcomes: &[usize], many: usize) -> Vec<usize> {
    let mut order = outcomes.to_vec();
    order.sort_by_cached_key(|&outcome| place(&[trader.seed, 6, outcome as u64]));
    order.truncate(many);
    order.sort_unstable();
    order
}

/// A wallet's position in an outcome that pays `paid`; the caller fills in whose. `price` is that of the outcome at a
/// second: wallets buy and sell on the market's tape.
fn history(
    trader: &Trader,
    outcome: usize,
    event: &EventTraits,
    paid: f64,
    price: impl Fn(UnixSecond) -> f64,
) -> PositionHistory {
    let mut draw = RandomDraws(place(&[trader.seed, 7, outcome as u64]));
    let size = micro(1.0 + trader.scale * draw.normal().exp());
    let length = (event.ends.0 - event.opened.0) as f64;
    let mut chance = || UnixSecond(event.opened.0 + (length * 0.8 * draw.uniform()) as i64);
    let (one, two) = (chance(), chance());
    let (cheap, dear) = if price(one) <= price(two) { (one, two) } else { (two, one) };
    let entered = if trader.patient { cheap } else { dear };
    let left = (event.ends.0 - entered.0) as f64;
    let wallet = 0;
    if trader.merges {
        // Tokens that came by transfer, at no price that the venue knows, and are merged into collateral.
        let at = UnixSecond(entered.0 + (left * draw.uniform()) as i64);
        let price = micro(size * (0.5 + 0.006 * draw.normal())) / size;
        let merge =
            PositionCounts { merge: 3 * draw.count(), transfer_out: draw.rare(0.6), ..PositionCounts::default() };
        let counts = PositionCounts { transfer_in: 5 * draw.count(), ..PositionCounts::default() };
        let exit = Some(PositionExit { at, size, price, counts: merge });
        return PositionHistory { wallet, outcome, size, avg_price: 0.0, entered, counts, exit };
    }
    let avg_price = micro(size * price(entered)) / size;
    let counts = PositionCounts {
        buy: draw.count(),
        split: draw.rare(0.05),
        transfer_in: draw.rare(0.03),
        transfer_out: draw.rare(0.02),
        conversion_in: draw.rare(0.03),
        conversion_out: draw.rare(0.01),
        ..PositionCounts::default()
    };
    let fate = draw.uniform();
    let (sold_at, part) = (UnixSecond(entered.0 + (left * draw.uniform()) as i64), draw.uniform());
    let exit = if fate < 0.5 {
        // Redeemed within a day of the end.
        Some(PositionExit {
            at: UnixSecond(event.ends.0 + (part * SECONDS_PER_DAY as f64) as i64),
            size,
            price: paid,
            counts: PositionCounts::default(),
        })
    } else if fate < 0.93 {
        let size = if fate < 0.85 { size } else { micro(size * (0.1 + 0.8 * part)) };
        let counts = PositionCounts { sell: draw.count(), merge: draw.rare(0.05), ..PositionCounts::default() };
        Some(PositionExit { at: sold_at, size, price: micro(size * price(sold_at)) / size, counts })
    } else {
        None // Nobody redeems these: they are still held when the market is over.
    };
    PositionHistory { wallet, outcome, size, avg_price, entered, counts, exit }
}

/// Rounded to a millionth: the venue's tokens and dollars have six decimals.
fn micro(amount: f64) -> f64 {
    round(amount, 6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const NEW_YEAR: i64 = 1_767_225_600; // 2026-01-01
    const DAY: i64 = 86_400;

    fn first(place: usize) -> bool {
        place.is_multiple_of(3)
    }

    fn year(seed: u64, year: usize) -> (Traders, PredictionEvents, Vec<PositionHistory>) {
        let (traders, events) = (Traders::new(seed), PredictionEvents::new(seed));
        let histories = traders.histories(&events, year, first);
        (traders, events, histories)
    }

    fn table_at(seed: u64, now: i64) -> PositionTable {
        let (traders, events, histories) = year(seed, 0);
        table(&traders, &events, histories.iter(), UnixSecond(now), first)
    }

    #[test]
    fn every_year_has_its_positions_and_they_are_the_same_every_time() {
        let (_, events, histories) = year(0, 0);
        assert_eq!(events.traits.iter().filter(|event| event.year == 0).count(), 25);
        for (seed, of) in [(0, 0), (0, 3), (1, 0)] {
            let (_, _, histories) = year(seed, of);
            assert_eq!(histories.len(), 10_000);
            let pairs: HashSet<_> = histories.iter().map(|history| (history.wallet, history.outcome)).collect();
            assert_eq!(pairs.len(), 10_000, "one position for each wallet and outcome");
            assert_eq!(
                histories.iter().map(|history| history.wallet).collect::<HashSet<_>>().len(),
                500,
                "every wallet trades"
            );
        }
        assert_eq!(histories, year(0, 0).2);
        assert_ne!(histories[0], year(1, 0).2[0]);
        assert_ne!(table_at(0, NEW_YEAR).wallets()[0], table_at(1, NEW_YEAR).wallets()[0]);
    }

    #[test]
    fn identifiers_look_as_the_venue_has_them() {
        let (_, all, _) = year(0, 0);
        let table = table_at(0, NEW_YEAR);
        let hexadecimal = |text: &str, digits: usize| {
            text.len() == digits + 2
                && text.starts_with("0x")
                && text[2..].bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        assert!(table.wallets().iter().all(|wallet| hexadecimal(wallet, 40)));
        assert!(all.events.iter().all(|event| hexadecimal(&event.condition_id, 64)));
        let most = "115792089237316195423570985008687907853269984665640564039457584007913129639935"; // 2^256 - 1
        for outcome in &all.outcomes {
            let id = &outcome.asset_id;
            assert!((60..=78).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit()) && &id[..1] != "0");
            assert!(id.len() < 78 || id.as_str() < most, "{id}");
        }
        let ids = all.outcomes.iter().map(|one| &one.asset_id).collect::<HashSet<_>>();
        assert_eq!(ids.len(), 2 * all.events.len());
        let names = all.events.iter().map(|event| &event.market_name).collect::<HashSet<_>>();
        assert_eq!(names.len(), all.events.len(), "no question twice");
    }

    #[test]
    fn positions_are_sound_and_nothing_of_them_is_known_early() {
        for now in [NEW_YEAR - 100 * DAY, NEW_YEAR] {
            let table = table_at(0, now);
            let (mut open, mut partly, mut unredeemed, mut merging) = (0, 0, 0, 0);
            for row in table.positions() {
                let outcome = &table.outcomes()[row.outcome];
                assert!(row.size() >= 1.0 && row.unrealized_size >= 0.0 && row.realized_size >= 0.0);
                assert!((0.0..=1.0).contains(&row.avg_price) && (0.0..=1.0).contains(&row.avg_exit_price));
                let gain = row.realized_size * (row.avg_exit_price - row.avg_price);
                assert!((row.realized_pnl - gain).abs() <= 1e-9 * row.size());
                assert!(row.last_trade <= UnixSecond(now) && row.prev_hold_duration >= 0);
                assert_eq!(row.latest_open_ts > UnixSecond(0), row.is_open());
                assert!(row.latest_open_ts <= row.last_trade);
                assert!(row.counts.buy > 0 || row.counts.transfer_in > 0);
                open += usize::from(row.is_open());
                partly += usize::from(row.is_open() && row.realized_size > 0.0);
                unredeemed += usize::from(row.is_open() && outcome.resolved_price.is_some());
                merging += usize::from(row.avg_price == 0.0);
            }
            for (kind, count) in [("open", open), ("partly", partly), ("unredeemed", unredeemed), ("merging", merging)]
            {
                assert!((50..7_000).contains(&count), "{count} {kind} positions");
            }
            let mut sizes: Vec<f64> = table.positions().iter().map(Position::size).collect();
            sizes.sort_by(f64::total_cmp);
            assert!(sizes[sizes.len() - 1] > 1e6 && sizes[sizes.len() / 2] < 1e4, "a heavy tail");
        }
    }

    #[test]
    fn what_is_redeemed_pays_what_the_market_was_resolved_to() {
        let table = table_at(0, NEW_YEAR);
        let mut redeemed = 0;
        for row in table.positions().iter().filter(|row| row.counts.sell + row.counts.merge == 0 && !row.is_open()) {
            assert_eq!(table.outcomes()[row.outcome].resolved_price, Some(row.avg_exit_price));
            redeemed += 1;
        }
        assert!(redeemed > 1_000, "{redeemed}");
    }

    #[test]
    fn a_resolved_market_has_one_winner_and_an_open_one_none() {
        let table = table_at(0, NEW_YEAR);
        let paid = |event: usize| -> Vec<Option<f64>> {
            table.outcomes().iter().filter(|one| one.event == event).map(|one| one.resolved_price).collect()
        };
        let all = table.events().len();
        let resolved = (0..all).filter(|&event| paid(event).iter().flatten().sum::<f64>() == 1.0).count();
        let open = (0..all).filter(|&event| paid(event) == [None, None]).count();
        assert!(resolved >= 5 && open >= 5 && resolved + open == all, "{resolved} resolved, {open} open");
    }
}
