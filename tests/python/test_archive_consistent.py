"""Whether what is kept agrees with itself: hours with their minutes, days with their hours."""

import random

import numpy as np
import pytest

import marketpoints as mp
from support import NOW
from support.archives import END, HOUR, MARKET, between, part_files
from support.scripted import scripted

DAY = 24 * HOUR
SECONDS = {"MINUTE": 60, "FIFTEEN_MINUTES": 900, "HOUR": HOUR}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("candles", {}),
        ("candles", {"usd": True}),
        ("side_candles", {}),
        ("liquidations", {}),
        ("open_interest", {}),
        ("funding_rate", {}),
    ],
)
def test_the_demo_market_agrees_with_itself(demo, client, tmp_path, name, arguments):
    archive, midnight = mp.Archive(tmp_path), END - END % DAY
    for interval in ("1m", "15m", "1h", "1d"):
        archive.sync(client, name, *MARKET[:2], interval, start=midnight - 2 * DAY, end=midnight, **arguments)
    verified = archive.verify(consistent=True)
    assert list(verified.inconsistencies) == []
    assert verified
    # Quarters, hours and days with each finer interval.
    assert verified.compared == 2 * (96 + 2 * 24 + 3)
    assert not archive.verify().compared


class Corrupt:
    """Candles of random trades, and what of their buckets is answered otherwise."""

    def __init__(self):
        draw = random.Random(5)
        self.trades = [
            (second, float(draw.randrange(90, 111)), draw.random())
            for second in sorted(draw.sample(range(END - 6 * HOUR, END), 600))
        ]
        self.wrong = {}

    def row(self, start, length):
        trades = [trade for trade in self.trades if start <= trade[0] < start + length]
        if not trades:
            return None
        prices = [price for _, price, _ in trades]
        row = {"open": prices[0], "high": max(prices), "low": min(prices), "close": prices[-1]}
        row |= {"volume": sum(amount for *_, amount in trades), "timestamp": {"s": start}}
        row |= {"firstTimestamp": {"s": trades[0][0]}, "lastTimestamp": {"s": trades[-1][0]}}
        return row | self.wrong.get((start, length), {})

    def answer(self, path):
        asked = dict(pair.split("=") for pair in path.partition("?")[2].split("&"))
        length = SECONDS[asked["interval"]]
        starts = range(int(asked["from"]), int(asked["from"]) + int(asked["period"]), length)
        rows = [self.row(start, length) for start in starts if self.wrong.get((start, length)) != "gone"]
        identity = {"type": "TRADE_SIDE_AGNOSTIC_AGG", "exchange": "BYBIT", "rawSymbol": "BTCUSDT"}
        points = [{"Point": row} for row in rows if row]
        return {"series": [{"id": identity | {"interval": asked["interval"]}, "points": points}]}


def test_the_bucket_that_differs_is_reported(tmp_path):
    market = Corrupt()
    with scripted(market.answer) as (url, _):
        client = mp.Client("key", url, tier="advanced", clock=lambda: NOW)
        archive = mp.Archive(tmp_path)
        window = {"start": END - 6 * HOUR, "end": END}
        for interval in ("1m", "1h"):
            archive.sync(client, "candles", "BYBIT", "BTCUSDT", interval, **window)
        verified = archive.verify(consistent=True)
        assert (bool(verified), verified.compared) == (True, 6)
        # A sum may differ by how it was added; a price may not, and a row may not be gone.
        second, third, fourth = END - 5 * HOUR, END - 4 * HOUR, END - 3 * HOUR
        volume = market.row(second, HOUR)["volume"]
        kept = market.row(third, HOUR)
        market.wrong = {
            (second, HOUR): {"volume": volume * (1 + 1e-12)},
            (third, HOUR): {"high": kept["high"] + 1, "volume": kept["volume"] * 1.001},
            (fourth, HOUR): "gone",
        }
        archive.refresh(client, "candles", "BYBIT", "BTCUSDT", "1h", **window)
        verified = archive.verify(consistent=True)
        assert not verified
        assert not verified.problems
        [high, volume, *rest] = verified.inconsistencies
        assert (high.time, high.column, high.kept, high.made) == (
            between(third, 0).start,
            "high",
            kept["high"] + 1,
            kept["high"],
        )
        assert (volume.column, volume.kept) == ("volume", kept["volume"] * 1.001)
        assert volume.made == pytest.approx(kept["volume"], rel=1e-12)
        assert (high.id.raw_symbol, high.id.interval, high.finer) == ("BTCUSDT", "HOUR", "MINUTE")
        assert high.key in {one.key for one in archive.contents()}
        assert {one.time for one in rest} == {between(fourth, 0).start}
        assert {one.kept for one in rest} == {None}
        columns = ["open", "high", "low", "close", "volume", "first_timestamp", "last_timestamp"]
        assert [one.column for one in rest] == columns
        assert rest[-1].made == np.datetime64([t for t, *_ in market.trades if t < END - 2 * HOUR][-1], "s")
        assert len(verified.inconsistencies.to_pandas()) == 9
        # Only buckets whose finer ones were all asked are compared.
        archive.sync(client, "candles", "BYBIT", "BTCUSDT", "15m", start=END - 2 * HOUR - 900, end=END - HOUR)
        assert archive.verify(consistent=True).compared == 6 + 5 + 1


def test_what_is_damaged_is_reported_as_such_and_not_compared(client, tmp_path):
    archive = mp.Archive(tmp_path)
    for interval in ("1m", "1h"):
        archive.sync(client, "candles", *MARKET[:2], interval, start=END - 4 * HOUR, end=END)
    [file] = [file for file in part_files(tmp_path) if "interval=MINUTE" in str(file)]
    file.write_bytes(file.read_bytes()[:-1])
    verified = archive.verify(consistent=True)
    assert (len(verified.problems), verified.compared, len(verified.inconsistencies)) == (1, 0, 0)
    # That nothing could be compared is seen.
    assert verified.consistent and "compared 0" in repr(verified) and "compared" not in repr(archive.verify())
    with pytest.raises(mp.InvalidRequest, match="consistent: what is kept is compared with itself"):
        archive.verify(client, "candles", *MARKET, consistent=True)
