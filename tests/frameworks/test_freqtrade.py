"""freqtrade itself over files that were written for it: its own loader, and a backtest of futures with funding."""

import crossing
import numpy as np
import pandas as pd
import pytest
from freqtrade.data.history import load_pair_history
from freqtrade.data.history.datahandlers import get_datahandler
from freqtrade.enums import CandleType, RunMode, TradingMode
from freqtrade.optimize.backtesting import Backtesting
from freqtrade.resolvers import ExchangeResolver

from marketpoints import adapters

MARKET = ("BINANCE_FUTURES", "BTCUSDT")
WEEK = {"start": "2026-01-01", "end": "2026-01-08"}
PAIR, SPOT = "BTC/USDT:USDT", "BTC/USDT"
STAKE, FEE, LOT = 10_000.0, 0.0004, 0.001

# Buys when the hour of 05:00 is over, sells when that of 21:00 is.
CLOCK = """
from freqtrade.strategy import IStrategy


class Clock(IStrategy):
    timeframe = "1h"
    minimal_roi = {}
    stoploss = -0.99
    startup_candle_count = 0

    def populate_indicators(self, dataframe, metadata):
        return dataframe

    def populate_entry_trend(self, dataframe, metadata):
        dataframe.loc[dataframe["date"].dt.hour == 5, "enter_long"] = 1
        return dataframe

    def populate_exit_trend(self, dataframe, metadata):
        dataframe.loc[dataframe["date"].dt.hour == 21, "exit_long"] = 1
        return dataframe
"""

CROSSING = f"""
from freqtrade.strategy import IStrategy


class Crossing(IStrategy):
    timeframe = "1h"
    minimal_roi = {{}}
    stoploss = -0.99
    startup_candle_count = 0

    def populate_indicators(self, dataframe, metadata):
        means = [dataframe["close"].rolling(length).mean() for length in ({crossing.FAST}, {crossing.SLOW})]
        dataframe["want"] = (means[0] > means[1]) & (dataframe.index >= {crossing.SLOW})
        return dataframe

    def populate_entry_trend(self, dataframe, metadata):
        dataframe["enter_long"] = dataframe["want"].astype(int)
        return dataframe

    def populate_exit_trend(self, dataframe, metadata):
        dataframe["exit_long"] = (~dataframe["want"]).astype(int)
        return dataframe
"""

# What the exchange would tell; there is no network here.
LISTED = {
    "id": "BTCUSDT",
    "symbol": PAIR,
    "base": "BTC",
    "quote": "USDT",
    "settle": "USDT",
    "baseId": "BTC",
    "quoteId": "USDT",
    "settleId": "USDT",
    "type": "swap",
    "spot": False,
    "margin": False,
    "swap": True,
    "future": False,
    "option": False,
    "contract": True,
    "linear": True,
    "inverse": False,
    "active": True,
    "contractSize": 1.0,
    "taker": FEE,
    "maker": FEE,
    "percentage": True,
    "precision": {"amount": LOT, "price": 0.1},
    "limits": {
        "amount": {"min": LOT, "max": 1000},
        "price": {"min": 0.1, "max": 1e7},
        "cost": {"min": 5, "max": None},
        "leverage": {"min": 1, "max": 100},
    },
    "info": {},
}
TIER = {"minNotional": 0, "maxNotional": 1e9, "maintenanceMarginRate": 0.004, "maxLeverage": 125, "maintAmt": 0}


@pytest.fixture(scope="module")
def funding(client):
    return client.funding_rate(*MARKET, "1h", **WEEK)


@pytest.fixture(scope="module")
def interest(client):
    coins, usd = (client.open_interest(*MARKET, "1h", usd=usd, **WEEK) for usd in (False, True))
    return coins + usd


def loaded(folder, pair, kind, file_format="feather"):
    return load_pair_history(
        pair, "1h", folder, data_format=file_format, candle_type=CandleType(kind), fill_up_missing=False
    )


def starts(frame):
    return frame["date"].dt.tz_localize(None).to_numpy().astype("datetime64[ns]")


def test_the_recipe_of_the_documents_is_found_by_it(recipes, candles, funding, interest, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recipes("freqtrade", candles=candles, funding=funding, interest=interest)
    folder = tmp_path / "user_data" / "data" / "binance"
    found = get_datahandler(folder, "feather").ohlcv_get_available_data(folder, TradingMode.FUTURES)
    kinds = ["funding_rate", "futures", "mark", "open_interest"]
    assert sorted(found) == [(PAIR, "1h", CandleType(kind)) for kind in kinds]
    assert not list(folder.rglob("*unfinished*"))


@pytest.mark.parametrize("file_format", ["feather", "parquet"])
@pytest.mark.parametrize(("pair", "kind"), [(SPOT, "spot"), (PAIR, "futures"), (PAIR, "mark")])
def test_candles_are_loaded_by_their_start(candles, tmp_path, pair, kind, file_format):
    adapters.freqtrade(candles, tmp_path, pair, kind=kind, file_format=file_format)
    frame = loaded(tmp_path, pair, kind, file_format)
    np.testing.assert_array_equal(starts(frame), candles.timestamps)
    for name in ("open", "high", "low", "close", "volume"):
        np.testing.assert_array_equal(frame[name], candles[name])
    mode = TradingMode.SPOT if kind == "spot" else TradingMode.FUTURES
    found = get_datahandler(tmp_path, file_format).ohlcv_get_available_data(tmp_path, mode)
    assert found == [(pair, "1h", CandleType(kind))]


def test_every_interval_has_its_name(client, tmp_path):
    for interval in ("1m", "5m", "15m", "30m", "1h", "4h", "1d", "1w"):
        result = client.candles(*MARKET, interval, start="2026-01-05", end="2026-01-19")
        adapters.freqtrade(result, tmp_path, SPOT)
        frame = load_pair_history(SPOT, interval, tmp_path, fill_up_missing=True)
        np.testing.assert_array_equal(starts(frame), result.timestamps)


def test_rates_have_a_row_a_payment(funding, tmp_path):
    adapters.freqtrade(funding, tmp_path, PAIR)
    frame = loaded(tmp_path, PAIR, "funding_rate")
    hours = funding.timestamps.astype("datetime64[h]").astype(int) % 24
    paid = np.isin(hours, [0, 8, 16])
    np.testing.assert_array_equal(starts(frame), funding.timestamps[paid])
    np.testing.assert_array_equal(frame["funding_rate"], funding["rate_open"][paid])


def test_open_interest_in_coins_and_in_usd(interest, tmp_path):
    adapters.freqtrade(interest, tmp_path, PAIR)
    frame = loaded(tmp_path, PAIR, "open_interest")
    np.testing.assert_array_equal(frame["open_interest_amount"], interest[0]["close"])
    np.testing.assert_array_equal(frame["open_interest_value"], interest[1]["close"])


@pytest.fixture
def backtest(tmp_path):
    """Runs a strategy of the framework over files, with the market that it would ask the exchange for."""
    made = []

    def run(candles, funding, name, code):
        data = tmp_path / "data"
        adapters.freqtrade(candles, data, PAIR)
        adapters.freqtrade(candles, data, PAIR, kind="mark")
        adapters.freqtrade(funding, data, PAIR)
        (tmp_path / f"{name.lower()}.py").write_text(code)
        made.append(framework(tmp_path, data, name))
        made[0].start()
        return made[0].all_bt_content[name]

    yield run
    made[0].cleanup()


def framework(folder, data, strategy):
    pricing = {"price_side": "same", "use_order_book": False}
    config = {
        "runmode": RunMode.BACKTEST,
        "dry_run": True,
        "exchange": {"name": "binance", "key": "", "secret": "", "pair_whitelist": [PAIR]},
        "pairlists": [{"method": "StaticPairList"}],
        "stake_currency": "USDT",
        "stake_amount": STAKE,
        "max_open_trades": 1,
        "dry_run_wallet": 100_000,
        "trading_mode": "futures",
        "margin_mode": "isolated",
        "strategy": strategy,
        "strategy_path": str(folder),
        "user_data_dir": folder,
        "datadir": data,
        "exportdirectory": folder / "results",
        "export": "none",
        "timeframe": "1h",
        "dataformat_ohlcv": "feather",
        "dataformat_trades": "feather",
        "fee": FEE,
        "entry_pricing": pricing,
        "exit_pricing": pricing,
        "unfilledtimeout": {},
        "internals": {},
        "original_config": {},
    }
    exchange = ExchangeResolver.load_exchange(config, validate=False, load_leverage_tiers=False)
    for api in (exchange._api, exchange._api_async):
        api.set_markets([LISTED])
    exchange._markets, exchange._leverage_tiers = exchange._api.markets, {PAIR: [TIER]}
    return Backtesting(config, exchange)


def test_trades_funding_and_equity_are_those_of_an_independent_computation(candles, funding, backtest):
    report = backtest(candles, funding, "Clock", CLOCK)
    trades = report["results"]
    opens = candles["open"].reshape(7, 24)  # a row a day
    rates = funding["rate_open"].reshape(7, 24)
    bought, sold = opens[:, 6], opens[:, 22]  # the next hour's open
    amounts = np.floor(STAKE / bought / LOT + 1e-9) * LOT
    # A long position pays where the rate is positive, at 08:00 and at 16:00, on its worth at that moment.
    paid = sum(-amounts * opens[:, hour] * rates[:, hour] for hour in (8, 16))
    profits = amounts * (sold - bought) - FEE * amounts * (sold + bought) + paid
    days = pd.date_range("2026-01-01", periods=7, tz="UTC")
    assert trades["open_date"].tolist() == (days + pd.Timedelta(hours=6)).tolist()
    assert trades["close_date"].tolist() == (days + pd.Timedelta(hours=22)).tolist()
    assert trades["open_rate"].tolist() == pytest.approx(bought) and trades["close_rate"].tolist() == pytest.approx(
        sold
    )
    assert trades["amount"].tolist() == pytest.approx(amounts)
    assert trades["funding_fees"].tolist() == pytest.approx(paid) and (paid != 0).all()
    assert trades["profit_abs"].tolist() == pytest.approx(profits, abs=1e-6)
    assert report["final_balance"] == pytest.approx(100_000 + profits.sum())


def test_a_crossing_of_means_trades_as_computed(client, crossed, backtest):
    funding = client.funding_rate(*MARKET, "1h", start="2026-01-01", end="2026-01-15").only
    report = backtest(crossed, funding, "Crossing", CROSSING)
    trades, expected = report["results"], crossing.expected(crossed, "open", FEE)
    for name, moments in (("open_date", expected.times[0::2]), ("close_date", expected.times[1::2])):
        assert trades[name].dt.tz_localize(None).to_numpy().astype("datetime64[ns]").tolist() == moments.tolist()
    assert trades["open_rate"].tolist() == pytest.approx(expected.bought)
    assert trades["close_rate"].tolist() == pytest.approx(expected.sold)
    # It stakes an amount of money, so that coins differ; funding is on top.
    coins = np.floor(STAKE / expected.bought / LOT + 1e-9) * LOT
    gained = coins * (expected.sold - expected.bought) - FEE * coins * (expected.sold + expected.bought)
    assert (trades["profit_abs"] - trades["funding_fees"]).tolist() == pytest.approx(gained, abs=1e-6)
