"""Trades and liquidations of a stream as columns: row by row what single events are."""

import json

import numpy as np
import pytest

import marketpoints as mp
from support.sockets import DATE_SECOND, playing

SYMBOLS = ("BTCUSDT", "ETHUSDT")
MARKETS = [{"exchange": "BINANCE_FUTURES", "symbol": symbol} for symbol in SYMBOLS]
CHANNELS = [{"type": kind, **market} for kind in ("TRADE", "LIQUIDATION") for market in MARKETS]


def trade(name, payload="trade", symbol="BTCUSDT", **more):
    series = {"type": payload.upper(), "exchange": "BINANCE_FUTURES", "symbol": symbol, "side": "SELL"}
    values = {"id": name, "price": 1.5, "amount": 2, "timestamp": {"seconds": DATE_SECOND}}
    return {"series": series | more.pop("of", {}), payload: values | more}


def played(*frames, **settings):
    """What a stream of batches makes of these frames, to the first event whose id is ``last``; errors are among it."""

    def script(peer):
        peer.grant(), peer.grant()
        for frame in (*frames, {"points": [trade("last")]}):
            # As the service spells it, and as it does not.
            peer.say(frame if isinstance(frame, str) else json.dumps(frame, separators=(",", ":")))
        peer.stay()

    found = []
    with playing(script) as (url, _):
        client = mp.Client("key", url, check_symbols=False, **settings)
        with client.stream(CHANNELS[0], batches=True) as stream:
            while True:
                try:
                    found.append(next(stream))
                except mp.Error as problem:
                    found.append(problem)
                else:
                    if isinstance(found[-1], mp.TradeBatch) and "last" in found[-1].ids:
                        return found


def flat(items):
    """Rows of batches, and everything else as it is."""
    for item in items:
        if isinstance(item, mp.TradeBatch):
            yield from zip([item.name] * len(item), item.ids.tolist(), strict=True)
        else:
            yield item


def test_batches_hold_what_single_events_say():
    with (
        mp.LocalService(now="2026-04-22T18:00:00") as service,
        service.client("unlimited") as client,
        client.stream(CHANNELS) as single,
        client.stream(CHANNELS, batches=True) as together,
    ):
        service.advance(1800)
        end = np.datetime64("2026-04-22T18:29", "ns")
        events, batches = [], []
        while not events or events[-1].time < end:
            events += single.poll(60)
        while not batches or batches[-1].times[-1] < events[-1].time:
            batches += together.poll(60)
    assert all(type(one) is mp.TradeBatch for one in batches)
    assert {type(one) for one in events} == {mp.TradeEvent, mp.LiquidationEvent}
    assert len(batches) < len(events) / 3
    rows = []
    for batch in batches:
        assert len(batch) == len(batch.times) > 0 and batch.time == batch.times[0]
        kinds = {"trade": "TRADE", "liquidation": "LIQUIDATION"}
        assert batch.type == kinds[batch.name]
        for row in range(len(batch)):
            series = batch.all_series[batch.series_codes[row]]
            market = batch.markets[batch.market_codes[row]]
            assert market == (series["exchange"], series["symbol"])
            side = {1: "BUY", -1: "SELL"}[batch.sides[row]]
            numbers = (batch.times[row], batch.prices[row], batch.amounts[row])
            rows.append((series["type"], *market, side, str(batch.ids[row]), *numbers, dict(series)))
    names = ("type", "exchange", "symbol", "side", "id", "time", "price", "amount", "series")
    assert [tuple(getattr(one, name) for name in names) for one in events] == rows[: len(events)]


def test_columns_have_their_types():
    without_time = trade("", of={"side": "x"})
    del without_time["trade"]["timestamp"]
    (batch,) = played({"points": [trade("é7", of={"side": "BUY"}), without_time]})
    types = {
        "times": "datetime64[ns]",
        "prices": "float64",
        "amounts": "float64",
        "sides": "int8",
        "ids": "<U4",
        "market_codes": "int32",
        "series_codes": "int32",
    }
    for name, kind in types.items():
        column = getattr(batch, name)
        assert (str(column.dtype).replace("str128", "<U4"), column.shape) == (kind, (3,)), name
        assert not column.flags.writeable
    assert batch.ids.tolist() == ["é7", "", "last"] and batch.sides.tolist() == [1, 0, -1]
    assert np.isnat(batch.times).tolist() == [False, True, False]
    assert batch.series_codes.tolist() == [0, 1, 2] and batch.market_codes.tolist() == [0, 0, 0]
    whole = "<TradeBatch of 3 trade rows: BINANCE_FUTURES BTCUSDT, from 2026-04-22T18:00:00.000000000>"
    assert repr(batch) == whole


def test_what_is_no_row_comes_at_its_place():
    other = {"series": {"type": "FUNDING_RATE", **MARKETS[0]}, "fundingRate": {"fundingRate": 1}}
    received = played(
        {"points": [trade("1"), trade("2", "liquidation")]},
        {"points": [trade("3", fee=1)]},
        {"points": [trade("4"), other]},
        '{"points": [' + json.dumps(trade("5")) + "]}",
        "{nonsense",
        {"points": [trade("6", price="much")]},
        {"points": [trade("7")], "seq": 9},
        {"notice": "hello"},
        {"points": []},
        {"points": [trade("8", of={"deep": {"er": 1}})]},
    )
    rows = list(flat(received))
    names = [row if isinstance(row, tuple) else type(row).__name__ for row in rows]
    assert names == [
        ("trade", "1"),
        ("liquidation", "2"),
        "TradeEvent",
        ("trade", "4"),
        "FundingRateEvent",
        ("trade", "5"),
        "DecodeError",
        "DecodeError",
        ("trade", "7"),
        "StreamEvent",
        ("trade", "8"),
        ("trade", "last"),
    ]
    assert rows[2].values["fee"] == 1 and rows[9].values["notice"] == "hello"
    assert {"er": 1} in [series.get("deep") for series in received[-1].all_series]


def test_an_event_is_known_again_however_it_is_spelt():
    again = [trade("1"), trade("2", "liquidation"), trade("3", fee=1)]
    received = played({"points": again}, {"points": again[:2]}, json.dumps({"points": again}), {"points": [again[1]]})
    rows = list(flat(received))
    assert [row for row in rows if isinstance(row, tuple)] == [("trade", "1"), ("liquidation", "2"), ("trade", "last")]
    assert [row.id for row in rows if not isinstance(row, tuple)] == ["3"]


def test_a_dialect_is_understood():
    # Other names come as events that are translated, and become rows then.
    dialect = mp.Dialect(exchanges={"BINANCE_FUTURES": "BNF"})
    (batch,) = played({"points": [trade("1", of={"exchange": "BNF"})]}, dialect=dialect)
    assert set(batch.markets) == {("BINANCE_FUTURES", "BTCUSDT")}


def test_too_many_are_dropped_by_the_batch_where_that_is_asked():
    def script(peer):
        peer.grant(), peer.grant()
        for first in range(0, 1_000, 5):
            points = [trade(str(number)) for number in range(first, first + 5)]
            peer.say(json.dumps({"points": points}, separators=(",", ":")))
        peer.say({"points": [trade("last")]})
        peer.stay()

    with playing(script) as (url, _):
        client = mp.Client("key", url, check_symbols=False)
        with client.stream(CHANNELS[0], queue=10, overflow="drop", batches=True) as stream:
            while stream.dropped < 985:
                pass
            left, ids = [], []
            while "last" not in ids:
                left += stream.poll(30)
                ids = [name for batch in left for name in batch.ids.tolist()]
    assert len(ids) + stream.dropped == 1_001 and ids == [*map(str, range(1_000)), "last"][-len(ids) :]


def test_batches_are_recorded_as_events_are(tmp_path):
    frame = {"points": [trade(str(number), timestamp={"seconds": DATE_SECOND + number}) for number in range(5)]}

    def script(peer):
        peer.grant(), peer.grant()
        peer.say(frame)
        peer.stay()

    rows = {}
    for batches in (False, True):
        with playing(script) as (url, _):
            client = mp.Client("key", url, check_symbols=False)
            folder = tmp_path / str(batches)
            with client.stream(CHANNELS[0], record=folder, batches=batches) as stream:
                count = 0
                while count < 5:
                    count += len(next(stream)) if batches else bool(next(stream))
                assert stream.recorded == 5
            text = (folder / "trades/BINANCE_FUTURES/BTCUSDT/2026-04-22.csv").read_text()
            # Without the time at which each came.
            rows[batches] = [[*line.split(",")[:3], *line.split(",")[4:]] for line in text.splitlines()]
    assert rows[True] == rows[False] and len(rows[True]) == 6


def test_the_setting_is_a_flag(demo):
    with pytest.raises(mp.InvalidRequest, match="batches"):
        demo.client("unlimited").stream(CHANNELS, batches=7)
