"""Cards in notebooks: small, escaped, of any colour of ground, made without asking anybody."""

import asyncio
import html.parser
import pickle
import re

import numpy as np
import pytest

import marketpoints as mp
from marketpoints.common.sparks import HIGH, meter, spark
from support import NOW
from support.bodies import BOOK, CANDLES, START, body, candles, heatmap, stamp
from support.children import run

HOUR = 3600
MARKET = ("BINANCE_FUTURES", "BTCUSDT")
WINDOW = {"start": "2026-01-01", "end": "2026-01-03"}


class Tags(html.parser.HTMLParser):
    """Whether tags are closed in order, and which there are."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.append((tag, dict(attrs)))

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def sound(text):
    """A card's texts; nothing in it is fetched or run, and no colour is of one ground alone."""
    tags = Tags(text)
    names = {tag for tag, _ in tags.seen}
    assert names <= {"div", "b", "table", "tr", "td", "th", "svg", "path", "rect", "title"}
    for _, attrs in tags.seen:
        assert not {name for name in attrs if name.startswith("on") or name in ("src", "href")}
        assert "url(" not in (attrs.get("style") or "")
        assert attrs.get("fill", "currentColor") == "currentColor"
    assert not re.search(r"(?<!&)#[0-9a-f]{3}(?:[0-9a-f]{3})?\b(?![0-9a-f])", re.sub("#8884", "", text))
    return tags.texts


def points_of(path):
    return [tuple(map(float, pair.split())) for pair in re.findall(r"[\d.]+ [\d.]+", path)]


def line(text):
    return points_of(re.search(r' d="([^"]*)"', text)[1])


def test_a_line_has_the_lowest_and_the_highest_however_many_there_are():
    values = np.sin(np.arange(1_000_000) / 1e5)
    values[123_456], values[654_321] = 50.0, -30.0
    text = spark(values, name="close")
    sound(text)
    assert "close -30 to 50" in text and len(text) < 8_000
    heights = [y for _, y in line(text)]
    assert min(heights) == pytest.approx(1) and max(heights) == pytest.approx(HIGH - 1)


@pytest.mark.parametrize("values", [[], [1.0], [np.nan] * 9, [np.nan, 3.0]])
def test_fewer_than_two_values_are_no_line(values):
    assert spark(values) == ""


@pytest.mark.parametrize("values", [[1.0, 1.0], [0.0, 1e-300], [-1e308, 1e308], [1.0, np.nan, 2.0], [np.inf, 1.0, 2.0]])
def test_every_two_values_are_a_line(values):
    text = spark(values)
    sound(text)
    assert all(0 <= y <= HIGH for _, y in line(text)) and len(line(text)) >= 2


def test_far_gaps_break_the_line():
    places = np.array([*range(50), *range(200, 250)])
    path = re.search(r' d="([^"]*)"', spark(np.ones(100), places))[1]
    assert path.count("M") == 2
    assert re.search(r' d="([^"]*)"', spark(np.ones(50), places[:50]))[1].count("M") == 1


@pytest.mark.parametrize(("share", "width"), [(0.5, "80.0"), (2.0, "160.0"), (-1, "0.0"), (float("nan"), "0.0")])
def test_a_meter_stays_within_its_bounds(share, width):
    text = meter(share, "left <b>")
    sound(text)
    assert f'<rect width="{width}"' in text and "&lt;b&gt;" in text


def test_a_series_tells_its_window_rows_gaps_and_line(client):
    answer = client.candles(*MARKET, "1h", **WINDOW)
    text = answer._repr_html_()
    texts = sound(text)
    assert {"rows", "48", "asked", "2026-01-01 00:00 to 2026-01-03 00:00 UTC", "gaps", "none"} <= set(texts)
    close = answer["close"]
    assert f"close {close.min():,.6g} to {close.max():,.6g}" in texts
    assert len(text) < 24_000


def test_what_is_closed_has_a_card():
    service = mp.LocalService(now=NOW)
    client = service.client("unlimited")
    client.close()
    service.stop()
    assert {"state", "closed"} <= set(sound(client._repr_html_()))
    sound(service._repr_html_())


def test_numbers_have_the_digits_that_say_something():
    from marketpoints.common.display import cell

    values = (0.1 + 0.2, 62688.217000000004, 1e-9, 1e22, 89500.0, 1234567890123.0, np.nan, -np.inf)
    shown = ["0.3", "62688.217", "1e-09", "1e+22", "89500.0", "1234567890123.0", "nan", "-inf"]
    assert [cell(np.float64(value)) for value in values] == shown
    assert [cell(np.int64(2**62)), cell(True), cell(np.ones(1)), cell(np.ones(2))] == [
        str(2**62),
        "True",
        "1 value",
        "2 values",
    ]


def paid_in(shown):
    """What a card says that was paid."""
    texts = sound(shown._repr_html_())
    return texts[texts.index("weight paid") + 1] if "weight paid" in texts else None


def test_what_was_paid_is_shown_where_it_is_known(service, tmp_path):
    month = {"start": "2026-01-01", "end": "2026-02-01"}
    with service.client("unlimited", archive=tmp_path / "kept") as client, service.client("unlimited") as other:
        # In one request and in several, of one series and of two, of none.
        for ask in (
            lambda: other.candles(*MARKET, "1m", **month),
            lambda: other.liquidations(*MARKET, "1h", **WINDOW),
            lambda: other.candles(MARKET[0], ["BTCUSDT", "ETHUSDT"], "1h", **WINDOW),
            lambda: other.candles(*MARKET, "1h", progress=lambda *_: None, **WINDOW),
            lambda: other.token_supply(coin="BTC", interval="1d", start="2001-01-01", end="2001-01-03"),
            lambda: client.candles(*MARKET, "1m", **month),
        ):
            service.clear_requests()
            answer = ask()
            assert answer.weight == service.spent > 0 and paid_in(answer) == f"{service.spent:,}"
        service.clear_requests()
        again = client.candles(*MARKET, "1m", **month)
        assert (service.spent, again.weight, paid_in(again)) == (0, 0, "0")
        half = client.candles(*MARKET, "1m", start="2026-01-16", end="2026-02-16")
        assert half.weight == service.spent > 0
    kept = mp.Archive(tmp_path / "kept").read("candles", *MARKET, "1m")
    assert kept.weight == 0 and paid_in(kept) == "0"
    # Of a part of an answer and of a body nobody can tell.
    for one in (answer.head(), answer[:1], answer.only, answer + answer, mp.decode_points(body(candles(CANDLES)))):
        assert paid_in(one) is None
    assert pickle.loads(pickle.dumps(half)).weight == half.weight


def test_an_awaited_answer_tells_what_was_paid(service, tmp_path):
    async def ask():
        async with service.async_client("unlimited") as plain:
            first = await plain.candles(*MARKET, "1h", **WINDOW)
        async with service.async_client("unlimited", archive=tmp_path / "kept") as reading:
            second, third = [await reading.candles(*MARKET, "1h", **WINDOW) for _ in range(2)]
        return first.weight, second.weight, third.weight

    first, second, third = asyncio.run(ask())
    assert first == second > 0 == third and service.spent == first + second


def test_gaps_are_counted():
    rows = [candles(CANDLES)["points"][at] for at in (0, 2)]
    texts = sound(mp.decode_points(body(candles(CANDLES) | {"points": rows}))._repr_html_())
    assert "1 bucket" in texts


def test_several_series_are_one_small_card(client):
    answer = client.liquidations(["BINANCE_FUTURES", "BYBIT"], None, "1h", coin="BTC", **WINDOW)
    text = answer._repr_html_()
    texts = sound(text)
    assert "SeriesSet of 4" in texts and text.count("<svg") == 4 and len(text) < 30_000
    assert "the sides are in no fixed order: pick one with sel(side=…), not by its position" in texts


def test_every_result_has_a_card(client, demo, tmp_path):
    wallet = client.leaderboard(limit=3)[0].wallet_address
    positions = client.positions(user_wallet=wallet)
    results = [
        client.side_candles(*MARKET, "1h", **WINDOW),
        client.funding_rate(*MARKET, "1h", **WINDOW),
        client.open_interest(*MARKET, "1h", **WINDOW),
        client.volume_profile(*MARKET, "1h", start="2026-01-01", end="2026-01-01T06:00"),
        client.orderbook_heatmap(*MARKET, "1m", start="2026-01-01", end="2026-01-01T01:00", block_size=10),
        client.liquidation_heatmap(None, None, "1h", coin="BTC", start="2026-01-01", end="2026-01-01T06:00"),
        client.tpo(*MARKET, "1d", session="daily", block_size=100, start="2026-01-01", end="2026-01-04"),
        client.token_supply(coin="BTC", interval="1d", start="2026-01-01", end="2026-01-10"),
    ]
    for result in results:
        assert result._repr_html_().count("<svg") == len(result)
    plan = client.plan("TRADE_AGG", *MARKET, "1h", **WINDOW)
    market = client.market_summary(condition_id=positions[0].condition_id)
    more = [positions, positions[0], market, client.usage(), client.budget, plan, client, demo, mp.Archive(tmp_path)]
    more += [client.markets(exchange="BINANCE_FUTURES"), mp.Archive(tmp_path).contents(), market.distributions]
    for result in [*results, *more]:
        text = result._repr_html_() if result is not None else ""
        sound(text)
        assert len(text) < 40_000, type(result)
    for key in demo.keys.values():
        assert all(key not in one._repr_html_() for one in (client, demo))


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_rows_or_none(rows):
    sound(mp.decode_points(body(candles(CANDLES[:rows])))._repr_html_())
    sound(mp.decode_points(body(heatmap(BOOK[:rows])))._repr_html_())
    sound(mp.decode_points(b"{}")._repr_html_())


def test_names_of_others_are_escaped_everywhere():
    evil = '<img src=x onerror="alert(1)">'
    points = [{"Point": {evil: 1.0 + at, "timestamp": stamp(START + HOUR * at)}} for at in range(3)]
    one = {"id": {"type": evil, "rawSymbol": evil, "exchange": evil, "interval": "HOUR"}, "points": points}
    other = one | {"id": one["id"] | {"rawSymbol": "x"}}
    for answer in (mp.decode_points(body(one)), mp.decode_points(body(one, other))):
        sound(answer._repr_html_())


def test_a_card_imports_nothing_heavy_and_asks_nobody():
    code = """
import sys, marketpoints as mp
with mp.LocalService(now=1_790_000_000) as service, service.client("unlimited") as client:
    answer = client.candles("BINANCE_FUTURES", "BTCUSDT", "1h", period="1d")
    before = service.faults.seen
    used = client.usage().used
    for one in (answer, client, service, client.budget): one and one._repr_html_()
    print(client.usage().used == used, sorted(set(sys.modules) & {"pandas", "polars", "pyarrow", "matplotlib"}))
"""
    assert run(code).splitlines()[-1] == "True []"
