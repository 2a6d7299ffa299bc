"""The demo market behaves like one: stylised facts with figures, computed from what the service answers.

The figures are those of the specification of the demo (docs/local-service.md, "The demo market"); each is looked at for
several seeds, coins and years.
"""

import itertools
from contextlib import ExitStack

import numpy as np
import pytest

import marketpoints as mp

NOW = 1_790_000_000
DAY = 86_400
SEEDS = (0, 1, 7)
COINS = ("BTC", "ETH", "SOL", "XRP", "DOGE", "LTC")
MONTHS = ("2018-02-01", "2022-06-01", "2026-04-06")
VENUES = ["BINANCE_FUTURES", "BYBIT", "OKEX_SWAP", "HYPERLIQUID_FUTURES", "BINANCE", "COINBASE", "OKEX", "BITSTAMP"]


@pytest.fixture(scope="module")
def clients():
    """A client of the demo market of each seed."""
    with ExitStack() as stack:
        services = {
            seed: stack.enter_context(mp.LocalService(now=NOW, seed=seed, any_block_size=True)) for seed in SEEDS
        }
        yield {seed: stack.enter_context(service.client("unlimited")) for seed, service in services.items()}


def returns(candles):
    """Logarithmic returns from close to close, and the volume of the candle that each ends with."""
    return np.diff(np.log(candles["close"])), candles["volume"][1:]


def unix(time):
    return time.astype("datetime64[s]").astype(int)


def correlation(one, other):
    return np.corrcoef(one, other)[0, 1]


def kurtosis(values):
    centred = values - values.mean()
    return (centred**4).mean() / (centred**2).mean() ** 2


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("month", MONTHS)
def test_minutes_have_heavy_tails_and_clustered_volatility(clients, seed, month):
    for exchange, symbol in [("BINANCE_FUTURES", "BTCUSDT"), ("COINBASE", "ETH-USD"), ("BYBIT", "DOGEUSDT")]:
        minutes = clients[seed].candles(exchange, symbol, "1m", start=month, period=28 * DAY)
        assert len(minutes.timestamps) == 28 * 1440
        moves, volume = returns(minutes)
        sizes = np.abs(moves)
        assert 15 < kurtosis(moves) < 400, symbol
        lags = [correlation(sizes[lag:], sizes[:-lag]) for lag in range(1, 11)]
        assert min(lags) > 0.2, (symbol, lags)
        assert correlation(sizes[60:], sizes[:-60]) > 0.05, symbol
        assert correlation(sizes, volume) > 0.4, symbol
        # What clusters is the size, not the direction.
        assert abs(correlation(moves[1:], moves[:-1])) < 0.12, symbol


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("start", ["2017-06-01", "2021-03-01", "2026-05-01"])
def test_coins_move_together(clients, seed, start):
    hours = {
        coin: clients[seed].candles("BINANCE", f"{coin}USDT", "1h", start=start, period=90 * DAY) for coin in COINS
    }
    moves = {coin: returns(candles)[0] for coin, candles in hours.items()}
    pairs = {pair: correlation(moves[pair[0]], moves[pair[1]]) for pair in itertools.combinations(COINS, 2)}
    assert all(0.5 <= value <= 0.9 for value in pairs.values()), pairs
    assert pairs["BTC", "ETH"] == max(value for pair, value in pairs.items() if "BTC" in pair)


@pytest.mark.parametrize("seed", SEEDS)
def test_days_and_weeks_have_a_rhythm(clients, seed):
    hours = clients[seed].candles("BINANCE_FUTURES", "BTCUSDT", "1h", start="2025-09-01", period=52 * 7 * DAY)
    moves, volume = returns(hours)
    starts = hours.timestamps[1:].astype("datetime64[h]").astype(int)
    hour, weekday = starts % 24, (starts // 24 + 3) % 7
    by_hour = np.array([volume[hour == which].mean() for which in range(24)])
    assert 1.5 < by_hour.max() / by_hour.min() < 6
    assert 12 <= by_hour.argmax() <= 18 and by_hour[13:17].mean() > 1.3 * by_hour[2:6].mean()
    sizes = np.array([np.abs(moves[hour == which]).mean() for which in range(24)])
    assert sizes[13:17].mean() > 1.1 * sizes[2:6].mean()
    weekend = weekday >= 5
    assert 0.5 < volume[weekend].mean() / volume[~weekend].mean() < 0.9
    assert 0.6 < np.abs(moves[weekend]).mean() / np.abs(moves[~weekend]).mean() < 0.98


@pytest.mark.parametrize("seed", SEEDS)
def test_funding_follows_the_basis(clients, seed):
    client, window = clients[seed], {"start": "2026-01-05", "period": 90 * DAY}
    for coin, exchange in [("BTC", "BINANCE_FUTURES"), ("SOL", "BYBIT")]:
        perpetual = client.candles(exchange, f"{coin}USDT", "1h", **window)
        spot = client.candles("BINANCE", f"{coin}USDT", "1h", **window)
        basis = (perpetual["close"] / spot["close"] - 1).reshape(-1, 8).mean(axis=1)
        rates = client.funding_rate(exchange, f"{coin}USDT", "1h", **window)
        assert len(rates.timestamps) == 90 * 24
        settled = rates["rate_open"].reshape(-1, 8)
        assert (settled == settled[:, :1]).all(), "a rate holds for 8 hours"
        # What is settled at the end of 8 hours follows the basis of these hours.
        assert correlation(basis[:-1], settled[1:, 0]) > 0.6, coin
        assert np.abs(basis).max() < 2e-3 and 0.2e-4 < rates["rate_open"].mean() < 2e-4
        slope = np.polyfit(basis[:-1], settled[1:, 0], 1)[0]
        assert 0.2 < slope < 1.2


def test_hyperliquid_settles_every_hour(clients):
    window = {"start": "2026-03-01", "period": 30 * DAY}
    rates = clients[0].funding_rate("HYPERLIQUID_FUTURES", "BTC", "1h", **window)["rate_open"]
    others = clients[0].funding_rate("BYBIT", "BTCUSDT", "1h", **window)["rate_open"]
    assert (np.diff(rates) != 0).mean() > 0.9 and (np.diff(others) != 0).mean() < 0.15
    # Both are rates for 8 hours: they are alike.
    assert correlation(rates, others) > 0.7 and 0.5 < rates.mean() / others.mean() < 2


@pytest.mark.parametrize("seed", SEEDS)
def test_bitcoin_is_traded_more_than_ether(clients, seed):
    for start in ("2015-03-01", "2018-01-01", "2021-05-01", "2022-01-01", "2026-07-01"):
        volume = {
            coin: clients[seed].candles(
                VENUES, None, "1d", coin=coin, start=start, period=5 * DAY, usd=True, group_by="sum"
            )["volume"]
            for coin in ("BTC", "ETH")
        }
        assert (volume["BTC"] > volume["ETH"]).all(), start


CORRIDORS = {
    "BTC": [
        *[(2015, 150, 600), (2016, 300, 1_300), (2017, 600, 20_000), (2018, 3_000, 20_000)],
        *[(2019, 2_500, 18_000), (2020, 4_000, 40_000), (2021, 20_000, 80_000), (2022, 13_000, 65_000)],
        *[(2023, 13_000, 55_000), (2024, 33_000, 125_000), (2025, 60_000, 150_000), (2026, 45_000, 180_000)],
    ],
    "ETH": [(2016, 0.6, 25), (2017, 5, 1_100), (2020, 80, 1_100), (2021, 500, 6_000), (2025, 1_500, 6_500)],
    "SOL": [(2021, 1, 400), (2022, 7, 260), (2025, 80, 400)],
    "DOGE": [(2015, 5e-5, 6e-4), (2021, 0.003, 0.6), (2025, 0.1, 0.7)],
    "XRP": [(2016, 0.003, 0.015), (2018, 0.25, 3.5), (2025, 1, 4.5)],
}


@pytest.mark.parametrize("seed", SEEDS)
def test_prices_have_the_sizes_of_their_years(clients, seed):
    """The year's whole range for one seed, for the others that of every month's first and sixteenth day."""
    client = clients[seed]
    for coin, years in CORRIDORS.items():
        market = ("BINANCE", f"{coin}USDT")
        for year, low, high in years:
            if seed == SEEDS[0]:
                end = f"{year + 1}-01-01" if year < 2026 else "2026-09-01"
                looked = [client.candles(*market, "1w", start=f"{year}-01-01", end=end)]
            else:
                days = [f"{year}-{month:02}-{day}" for month in range(1, 9) for day in ("01", "16")]
                looked = [client.candles(*market, "1d", start=day, period=DAY) for day in days]
            assert sum(len(candles.timestamps) for candles in looked) > 12
            for candles in looked:
                assert low < candles["low"].min() and candles["high"].max() < high, (coin, year)
    year = clients[seed].candles("BINANCE", "BTCUSDT", "1d", start="2024-01-01", end="2025-01-01")
    assert 0.2 < returns(year)[0].std() * np.sqrt(365) < 1.2


@pytest.mark.parametrize(
    ("exchange", "symbol", "tick"),
    [("BINANCE", "BTCUSDT", 0.1), ("COINBASE", "DOGE-USD", 1e-7), ("OKEX_SWAP", "XRP-USDT-SWAP", 1e-6)],
)
@pytest.mark.parametrize("start", ["2016-05-05T12:00", "2026-05-05T12:00"])
def test_books_have_no_holes_at_the_touch(clients, exchange, symbol, tick, start):
    client, window = clients[0], {"start": start, "period": 1_200}
    closes = client.candles(exchange, symbol, "1m", **window)["close"]
    book = client.orderbook_heatmap(exchange, symbol, "1m", block_size=tick, max_depth=50, **window)
    assert len(book.timestamps) == len(closes) == 20
    for snapshot, close in enumerate(closes):
        levels, split = book.snapshot(snapshot), book.split[snapshot]
        bids, asks = levels[:split, 0], levels[split:, 0]
        assert len(bids) == len(asks) == 50 and (levels[:, 1] > 0).all()
        assert bids[-1] < close < asks[0] and asks[0] - bids[-1] < 2.5 * tick
        for side in (bids, asks):
            assert np.allclose(np.diff(side), tick, rtol=1e-3), "every tick has orders"


@pytest.mark.parametrize("coin", COINS)
def test_recommended_blocks_are_full_near_the_price(clients, coin):
    client = clients[0]
    (block,) = client.block_sizes(exchange="BINANCE", raw_symbol=f"{coin}USDT")
    book = client.orderbook_heatmap(
        "BINANCE", f"{coin}USDT", "1m", block_size=block, max_depth=300, start=NOW - 1_200, end=NOW
    )
    for snapshot in range(len(book.timestamps)):
        prices = book.snapshot(snapshot)[:, 0]
        assert len(prices) >= 590 and np.diff(prices).max() < 2.5 * block


def test_wallets_go_on_trading():
    last = {}
    for now in ("2025-07-01", "2026-01-01", "2026-09-01", "2028-06-01"):
        with mp.LocalService(now=now) as service, service.client("unlimited") as client:
            seconds = service.now()
            board = client.leaderboard(limit=100, sort_by="TOTAL_POSITION_COUNT")
            last[now] = {row.wallet_address: row.total_position_count for row in board}
            opened = [unix(row.latest_open_position_ts) for row in board if not np.isnat(row.latest_open_position_ts)]
            assert len(board) == 100 and max(opened) <= seconds, "nothing of the future"
            assert seconds - max(opened) < 3 * DAY, "somebody traded within days"
            quiet = client.leaderboard(limit=100, extra={"timeSinceLastTrade": 60 * DAY})
            assert len(quiet) < 100, "most wallets traded within two months"
    counts = [max(board.values()) for board in last.values()]
    assert counts == sorted(counts) and counts[0] < counts[-1]


@pytest.mark.parametrize("seed", SEEDS)
def test_closed_prediction_markets_end_at_what_came_true(clients, seed):
    client = clients[seed]
    listed = client.markets(exchange="PREDICTION_VENUE", limit=200)
    inner = [row.prediction_markets[0] for row in listed]
    closed = [market for market in inner if market.closed]
    assert len(closed) >= 15 and all(
        (market.available_to <= np.datetime64(NOW, "s")) == market.closed for market in inner
    )
    for market in closed:
        paid = {
            row.outcome_name
            for row in client.positions(condition_id=market.condition_id, limit=100)
            if row.resolved_price == 1
        }
        first = market.outcomes[0] in paid
        assert paid == {market.outcomes[0 if first else 1]}
        assert (market.last_price > 0.995) if first else (market.last_price < 0.005), market.question
    # What is asked of a price, the candles decide.
    high = client.candles("BINANCE", "BTCUSDT", "1d", start="2025-01-01", period=364 * DAY)["high"].max()
    for thousands in (120, 150, 200):
        (market,) = (one for one in closed if one.question == f"Will Bitcoin trade above ${thousands}k in 2025?")
        assert (market.last_price > 0.5) == (high > thousands * 1_000)


def test_the_listing_tells_icons_prices_and_sports(clients):
    client = clients[0]
    for row in client.markets(coin=["BTC", "DOGE"], type="TRADE_AGG", limit=100):
        assert row.icon_url == f"https://icons.example/coins/{row.coin.lower()}.svg"
        assert len(row.prices) == 24 and row.prices[-1] == row.last_price
        for back in (1, 5, 23):
            # The service's clock runs on from NOW.
            then = client.candles(row.exchange, row.raw_symbol, "1m", start=NOW - back * 3600 - 60, period=660)
            assert then["low"].min() <= row.prices[-1 - back] <= then["high"].max()
    inner = [row.prediction_markets[0] for row in client.markets(exchange="PREDICTION_VENUE", limit=200)]
    assert all(len(market.prices) == 24 and market.prices[-1] == market.last_price for market in inner)
    sports = {
        market.question: (market.sports_market_type, market.line) for market in inner if market.sports_market_type
    }
    assert sports["Will the cup final have more than 2.5 goals?"] == ("totals", 2.5)
    assert sports["Will the top seed win on clay?"][0] == "moneyline"
    assert all(row.icon_url for row in client.markets(exchange="PREDICTION_VENUE", limit=200))
