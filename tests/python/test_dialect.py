"""A dialect: a deployment that publishes other names gives the same answers, and never sees a neutral one."""

import asyncio
import copy
import dataclasses
import pickle
import re

import numpy as np
import pytest

import marketpoints as mp
from support.children import run
from support.deployment import Names, deployed
from support.scripted import scripted
from support.sockets import playing

ACME = Names(
    key_header="X-Acme-Token",
    analytics_prefix="/v1/acme/analytics",
    types={"VENUE_LIQUIDATION_AGG": "ACME_LIQUIDATION_AGG"},
    exchanges={"PREDICTION_VENUE": "ACME"},
    fields={"srcMarketcapRank": "acmeMarketcapRank"},
)
# As much as can be: names that change places, fields of every shape, of identities, listings and analytics.
STRANGE = Names(
    key_header="Authorization",
    analytics_prefix="/stats",
    types={
        "VENUE_LIQUIDATION_AGG": "LIQUIDATION_AGG",
        "LIQUIDATION_AGG": "VENUE_LIQUIDATION_AGG",
        "TRADE_SIDE_AGNOSTIC_AGG": "BARS",
        "TPO_AGG": "ACME&MORE",
        "TOKEN_SUPPLY_AGG": "SUPPLY",
        "BLOCK_BOOK_SNAPSHOT_AGG": "BOOK",
        "VOLUME_PROFILE_AGG": "PROFILE",
        "FUNDING_RATE_AGG": "RATE",
    },
    exchanges={"PREDICTION_VENUE": "BYBIT", "BYBIT": "PREDICTION_VENUE", "BINANCE_FUTURES": "BF", "DERIBIT": "D"},
    fields=dict(
        re.findall(
            r"(\w+):(\w+)",
            """
        open:close close:open high:max firstTimestamp:began timestamp:at bids:asks asks:bids levels:rungs price:rung
        block_ids:blocks profile:rows type:kind exchange:venue rawSymbol:ticker coin:asset exchanges:venues
        lastPrice:last nextOffset:next predictionMarkets:questions conditionId:condition wallet_address:wallet
        traderProfiles:traders remaining:left srcMarketcapRank:rank
        """,
        )
    ),
)
DEPLOYMENTS = {"acme": ACME, "strange": STRANGE}

DAY = {"start": 1_789_862_400, "end": 1_789_948_800}
MARKET = ("BINANCE_FUTURES", "BTCUSDT")

# Stands for the condition of a prediction market of the demo.
CONDITION = object()
# Method, arguments.
CALLS = [
    ("candles", (*MARKET, "1h"), DAY),
    ("side_candles", (*MARKET, "4h"), DAY),
    ("liquidations", (*MARKET, "1h"), DAY),
    ("liquidations", ("BINANCE_FUTURES", "NOBODY", "1h"), DAY),
    ("candles", ("PREDICTION_VENUE", CONDITION, "4h"), DAY),
    ("funding_rate", ("BYBIT", "BTCUSDT", "1h"), DAY),
    ("open_interest", (["BYBIT", "BINANCE_FUTURES"], None, "1h"), {"coin": "BTC", **DAY}),
    ("liquidation_heatmap", (), {"interval": "4h", "coin": "BTC", **DAY}),
    ("liquidation_heatmap", ("BYBIT", None, "4h"), {"coin": "BTC", "extra": {"exchange": "BINANCE_FUTURES"}, **DAY}),
    ("orderbook_heatmap", (*MARKET, "4h"), {"block_size": 50, "max_depth": 20, **DAY}),
    ("volume_profile", (*MARKET, "4h"), DAY),
    ("tpo", (*MARKET, "1d"), {"session": "daily", "block_minutes": 60, **DAY}),
    ("token_supply", (), {"interval": "1d", "coin": "BTC", **DAY}),
    ("markets", (), {}),
    ("markets", (), {"exchange": "PREDICTION_VENUE", "type": "TRADE_SIDE_AGNOSTIC_AGG"}),
    ("exchanges", (), {}),
    ("types", (), {"exchange": "BYBIT"}),
    ("coins", (), {"type": "VENUE_LIQUIDATION_AGG"}),
    ("symbols", (), {"type": ["VENUE_LIQUIDATION_AGG", "TPO_AGG"], "exchange": "BINANCE_FUTURES"}),
    ("block_sizes", (), {"type": "TPO_AGG", "exchange": "BINANCE_FUTURES", "raw_symbol": "BTCUSDT"}),
    ("leaderboard", (), {"limit": 7}),
    ("positions", (), {"condition_id": CONDITION, "limit": 3}),
    ("market_summary", (), {"condition_id": CONDITION}),
]


@pytest.fixture(scope="module", params=DEPLOYMENTS)
def live(request, demo):
    """A deployment of the demo: the service, its names, its address and what it was asked."""
    names = DEPLOYMENTS[request.param]
    with deployed(demo, names) as (url, heads):
        yield demo, names, url, heads


@pytest.fixture(scope="module")
def condition(demo):
    with demo.client("unlimited") as client:
        return client.markets(exchange="PREDICTION_VENUE", limit=1)[0].raw_symbol


def speaking(live, **settings):
    service, names, url, _ = live
    return service.client("unlimited", base_url=url, dialect=mp.Dialect(**names.parts()), **settings)


def bits(answer):
    """All of an answer, its arrays as bytes."""
    if isinstance(answer, mp.SeriesSet):
        return [(str(one.id), one.id.extra, one.columns, [bits(one[name]) for name in one.columns]) for one in answer]
    if isinstance(answer, mp.Ragged):
        return bits(answer.offsets), bits(answer.values)
    if isinstance(answer, mp.Nested):
        return bits(answer.offsets), [(name, bits(part)) for name, part in answer.fields.items()]
    if isinstance(answer, np.ndarray):
        return answer.tolist() if answer.dtype.kind == "O" else (answer.dtype.str, answer.shape, answer.tobytes())
    if isinstance(answer, mp.Records) and isinstance(answer[0], mp.Market):
        # The clock runs on and prices with it: what a market is, and that it has a price.
        return sorted(map(market, answer))
    return [whole(one) for one in answer] if isinstance(answer, mp.Records) else whole(answer)


def market(one):
    names = ("exchange", "raw_symbol", "normalized_symbol", "coin", "category", "coin_name", "full_name")
    inner = [(asked.condition_id, asked.question, sorted(asked.extra)) for asked in one.prediction_markets]
    return (
        [getattr(one, name) for name in names],
        str(one.available_since),
        one.last_price > 0,
        sorted(one.extra),
        inner,
    )


def whole(record):
    """All that a record holds, in words."""
    if not dataclasses.is_dataclass(record):
        return repr(record)
    return [(field.name, repr(getattr(record, field.name))) for field in dataclasses.fields(record)]


@pytest.mark.parametrize(("method", "place", "options"), CALLS)
def test_answers_are_the_same_and_no_neutral_name_is_sent(live, condition, method, place, options):
    service, names, url, heads = live
    before = len(heads)

    def ask(client):
        known = [condition if one is CONDITION else one for one in place]
        named = {name: condition if one is CONDITION else one for name, one in options.items()}
        return getattr(client, method)(*known, **named)

    look = {"check_symbols": "NOBODY" not in place}

    async def awaited():
        settings = {"base_url": url, "dialect": mp.Dialect(**names.parts()), **look}
        async with service.async_client("unlimited", **settings) as client:
            return await ask(client)

    with service.client("unlimited", **look) as plain, speaking(live, **look) as client:
        wanted, answer = ask(plain), ask(client)
    assert bits(answer) == bits(wanted) == bits(asyncio.run(awaited()))
    assert answer is not None and (not hasattr(answer, "__len__") or len(answer) > 0)
    asked = heads[before:]
    assert len(asked) >= 2
    for head in asked:
        assert not [name for name in names.hidden() if name.lower() in head.lower()], head
        assert f"{names.key_header.lower()}: {service.keys['unlimited']}".lower() in head.lower()


def test_weights_walls_and_near_misses_go_by_neutral_names(live):
    service, names, url, heads = live
    dialect = mp.Dialect(**names.parts())
    before = len(heads)
    with service.client("advanced") as plain, service.client("advanced", base_url=url, dialect=dialect) as client:
        place = {"coin": "BTC", "interval": "1m", "max_depth": 4000, "period": 3_000_000}
        plan, wanted = client.plan("VENUE_LIQUIDATION_AGG", **place), plain.plan("VENUE_LIQUIDATION_AGG", **place)
        # 5 a started thousand points, and two further bands of depth: 7 (sections 8.2 to 8.4).
        assert plan.weight == wanted.weight == 50 * 7
        assert [one.weight for one in plan.requests] == [one.weight for one in wanted.requests]
        published = names.types["VENUE_LIQUIDATION_AGG"]
        assert all(one.url.startswith(f"{url}/v1/points?type={published}&") for one in plan.requests)
        board = client.plan("leaderboard", limit=150)
        assert board.weight == 120
        assert all(one.url.startswith(f"{url}{names.prefix}/leaderboard?") for one in board.requests)
        with pytest.raises(mp.InvalidRequest, match="did you mean BINANCE_FUTURES"):
            client.candles("BINANCE_FUTURE", "BTCUSDT", "1h", period=3600)
        with pytest.raises(mp.InvalidRequest, match="did you mean VENUE_LIQUIDATION_AGG"):
            client.plan("VENUE_LIQUIDATON_AGG", coin="BTC", interval="1h", period=3600)
    with service.client("basic", base_url=url, dialect=dialect) as basic:
        with pytest.raises(mp.TierError, match="VENUE_LIQUIDATION_AGG needs the tier advanced"):
            basic.liquidation_heatmap(interval="1h", coin="BTC", period=3600)
        with pytest.raises(mp.TierError, match="need the tier advanced"):
            basic.leaderboard()
    assert len(heads) == before


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.plan("ACME_LIQUIDATION_AGG", None, None, "1h", coin="BTC", period=3600),
        lambda client: client.points("ACME_LIQUIDATION_AGG", None, None, "1h", coin="BTC", period=3600),
        lambda client: client.coins(type="ACME_LIQUIDATION_AGG"),
        lambda client: client.markets(type="ACME_LIQUIDATION_AGG"),
        lambda client: client.stream({"type": "ACME_LIQUIDATION_AGG", "exchange": "BYBIT", "symbol": "X"}),
        lambda client: mp.Archive("none").sync(client, "ACME_LIQUIDATION_AGG", coin="BTC", interval="1h", period=3600),
    ],
)
def test_a_published_name_is_no_argument_since_its_weight_would_be_wrong(call):
    dialect = mp.Dialect(**ACME.parts())
    wanted = "published name of VENUE_LIQUIDATION_AGG in this client's dialect; give VENUE_LIQUIDATION_AGG"
    client = mp.Client("key", "http://127.0.0.1:9", retries=0, dialect=dialect, tier="advanced")
    with client, pytest.raises(mp.InvalidRequest, match=wanted):
        call(client)


def test_texts_of_errors_are_left_alone():
    message = "ACME_LIQUIDATION_AGG on ACME has no acmeMarketcapRank"
    refusal = (400, {}, {"error": "INVALID_PARAMS", "message": message})
    with scripted(lambda _: refusal) as (url, asked):
        client = mp.Client("key", url, dialect=mp.Dialect(**ACME.parts()), tier="advanced")
        with client, pytest.raises(mp.InvalidRequest, match=message) as caught:
            client.liquidation_heatmap(interval="1h", coin="BTC", start="2026-01-01", period=3600)
        assert caught.value.code == "INVALID_PARAMS"
        assert caught.value.request == url + asked[0] and "type=ACME_LIQUIDATION_AGG" in asked[0]


def test_the_key_under_its_published_header_stays_within_the_origin():
    with scripted(lambda _: {}) as (elsewhere, asked_elsewhere):
        moved = (302, {"Location": f"{elsewhere}/v1/usage"}, {})
        with scripted(lambda _: moved) as (url, asked):
            client = mp.Client("key", url, retries=0, dialect=mp.Dialect(key_header="X-Acme-Token"))
            with client, pytest.raises(mp.ServerError, match="another origin"):
                client.usage()
            assert len(asked) == 1
        assert asked_elsewhere == []


def test_limits_are_learnt_in_the_names_that_are_given():
    usage = {"budget": 50, "left": 60, "used": 40, "reset": 5, "window_seconds": 60}
    dialect = mp.Dialect(fields={"limit": "budget", "remaining": "left"}, types={"OPEN_INTEREST_AGG": "OI"})
    with scripted(lambda path: usage if path == "/v1/usage" else {}) as (url, asked):
        client = mp.Client("key", url, dialect=dialect, budget="process")
        assert (client.usage().limit, client.usage().remaining) == (50, 60)
        client.open_interest(*MARKET, "1h", start="2026-01-01", period=86_400)
        assert (client.budget.limit, client.budget.remaining) == (50, 59)
        client.close()
    assert [path.split("&")[0] for path in asked] == ["/v1/usage"] * 3 + ["/v1/points?type=OI"]


def test_an_archive_is_kept_by_neutral_names(live, tmp_path):
    service, *_ = live
    query = {"interval": "1h", "coin": "BTC", **DAY}
    archive = mp.Archive(tmp_path)
    with speaking(live) as client, service.client("unlimited") as plain:
        # The address is part of the key; the local service's clients share a name for theirs.
        assert archive.sync(client, "liquidation_heatmap", **query).weight > 0
        assert archive.sync(plain, "liquidation_heatmap", **query).weight == 0
        wanted = plain.liquidation_heatmap(**query)
    assert bits(archive.read("liquidation_heatmap", **query)) == bits(wanted)
    assert [one.type for one in archive.contents()] == ["VENUE_LIQUIDATION_AGG"]


def test_a_stream_speaks_it_too():
    fields = {"price": "rate", "trade": "deal"}
    names = Names("X-Acme-Token", "/a", {"TRADE": "DEAL"}, {"PREDICTION_VENUE": "ACME"}, fields)
    series = {"type": "DEAL", "exchange": "ACME", "symbol": "0xab", "side": "BUY"}
    deal = {"id": "7", "rate": 0.5, "amount": 2, "timestamp": {"seconds": 5}}
    requests = []

    def script(peer):
        requests.extend([peer.head, peer.grant(), peer.grant()])
        peer.say({"points": [{"series": series, "deal": deal}]})
        peer.stay()

    channel = mp.Channel(type="TRADE", exchange="PREDICTION_VENUE", symbol="0xab")
    settings = {"dialect": mp.Dialect(**names.parts()), "check_symbols": False}
    with playing(script) as (url, _), mp.Client("key", url, **settings) as client:
        opened = client.stream([channel])
        event = next(opened)
        opened.close()
    assert isinstance(event, mp.TradeEvent)
    assert (event.type, event.exchange, event.symbol, event.price) == ("TRADE", "PREDICTION_VENUE", "0xab", 0.5)
    channels = requests[2]["params"]["channels"]
    assert channels == [{"type": "DEAL", "exchange": "ACME", "symbol": "0xab", "category": "*"}]
    assert b"/nonbook/ws" in requests[0] and b"x-service-key" not in requests[0].lower()


def test_the_decoder_alone_takes_one():
    dialect = mp.Dialect(**STRANGE.parts())
    body = b"""{"series":[{"id":{"kind":"BARS","venue":"BF","interval":"HOUR"},
        "points":[{"Point":{"close":1,"max":3,"low":0.5,"open":2,"at":{"s":3600},"began":{"s":3601}}}]}]}"""
    bar = mp.decode_points(body, dialect=dialect)
    assert (bar.id.type, bar.id.exchange) == ("TRADE_SIDE_AGNOSTIC_AGG", "BINANCE_FUTURES")
    assert [bar[name][0] for name in ("open", "high", "low", "close")] == [1.0, 3.0, 0.5, 2.0]
    assert bar["first_timestamp"][0] == np.datetime64(3601, "s")
    assert mp.decode_points(b"{}", dialect=dialect).ids == ()


TOML = """
key_header = "X-Acme-Token"
analytics_prefix = "/v1/acme/analytics"
base_url = "{url}"

[types]
VENUE_LIQUIDATION_AGG = "ACME_LIQUIDATION_AGG"

[exchanges]
PREDICTION_VENUE = "ACME"

[fields]
srcMarketcapRank = "acmeMarketcapRank"
"""


@pytest.fixture
def acme(demo, tmp_path):
    """A deployment, and the file that one line of code needs: yields service, address and path."""
    with deployed(demo, ACME) as (url, _):
        path = tmp_path / "acme.toml"
        path.write_text(TOML.format(url=url), "utf-8")
        yield demo, url, path


def test_one_line_or_one_variable_makes_a_client_of_a_deployment(acme, monkeypatch):
    service, url, path = acme
    monkeypatch.setenv("MARKETPOINTS_API_KEY", service.keys["unlimited"])
    for name in ("MARKETPOINTS_BASE_URL", "MARKETPOINTS_TIER", "MARKETPOINTS_DIALECT"):
        monkeypatch.delenv(name, raising=False)
    for given in (path, str(path), mp.Dialect.from_toml(path), mp.Dialect(base_url=url, **ACME.parts())):
        with mp.Client(dialect=given) as client:
            assert client.base_url == url and client.dialect == mp.Dialect.from_toml(path)
            assert client.exchanges() and "ACME" not in client.exchanges()
    # What is said in the call goes before the environment.
    monkeypatch.setenv("MARKETPOINTS_BASE_URL", "http://127.0.0.1:9")
    with mp.Client(dialect=path) as client:
        assert client.base_url == url
    with mp.Client(base_url=f"{url}/", dialect=path) as client:
        assert client.base_url == f"{url}/"
    monkeypatch.setenv("MARKETPOINTS_DIALECT", str(path))
    with mp.Client() as client:
        assert client.base_url == "http://127.0.0.1:9" and client.dialect.key_header == "X-Acme-Token"
    monkeypatch.delenv("MARKETPOINTS_BASE_URL")
    with mp.Client() as client:
        assert client.base_url == url and client.usage().limit > 0
        # In another process the names come along, not the file.
        path.unlink()
        with pickle.loads(pickle.dumps(client)) as other:
            assert (other.base_url, other.dialect) == (url, client.dialect)
            assert "PREDICTION_VENUE" in other.exchanges()


def test_the_local_service_keeps_its_own_names_whatever_the_environment_says(acme, monkeypatch):
    service, url, path = acme
    monkeypatch.setenv("MARKETPOINTS_DIALECT", str(path))
    with service.client("unlimited") as client:
        assert client.usage().limit > 0 and client.dialect == mp.Dialect()
    with mp.Client(service.keys["unlimited"], service.url, dialect=mp.Dialect()) as client:
        assert "PREDICTION_VENUE" in client.exchanges()
    monkeypatch.setenv("MARKETPOINTS_DIALECT", str(path.with_name("none.toml")))
    with pytest.raises(mp.InvalidRequest, match=r"none\.toml: it cannot be read"):
        mp.Client("key", url)


def test_the_command_line_speaks_it(acme, environment):
    service, url, path = acme
    settings = environment | {"MARKETPOINTS_DIALECT": str(path), "MARKETPOINTS_API_KEY": service.keys["unlimited"]}
    del settings["MARKETPOINTS_BASE_URL"]
    code = """
        from marketpoints.cli import main
        assert main(["usage"]) == 0
        window = ["--start", "2026-01-01", "--end", "2026-01-02"]
        assert main(["plan", "liquidation_heatmap", "-", "-", "1h", "--coin", "BTC", *window]) == 0
    """
    shown = run(code, settings)
    assert "full again" in shown
    assert f"{url}/v1/points?type=ACME_LIQUIDATION_AGG&coin=BTC" in shown


def test_a_dialect_is_a_value():
    dialect = mp.Dialect(base_url="https://acme.example", **ACME.parts())
    assert eval(repr(dialect), {"Dialect": mp.Dialect}) == dialect
    assert pickle.loads(pickle.dumps(dialect)) == dialect == copy.deepcopy(dialect)
    assert hash(dialect) == hash(copy.copy(dialect))
    assert dialect != mp.Dialect() and dialect != "acme"
    assert repr(mp.Dialect()) == "Dialect()" == repr(mp.Dialect(types={"TPO_AGG": "TPO_AGG"}))
    assert dialect.types == ACME.types and dialect.exchanges == ACME.exchanges and dialect.fields == ACME.fields
    assert (dialect.key_header, dialect.base_url) == ("X-Acme-Token", "https://acme.example")
    assert dialect.analytics_prefix == "/v1/acme/analytics"
    dialect.types["TPO_AGG"] = "X"
    assert dialect.types == ACME.types


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"key_header": "X Acme"}, "key_header: .* is no name of a header"),
        ({"key_header": ""}, "key_header: the name is empty"),
        ({"key_header": "Content-Length"}, "cannot carry a key"),
        ({"base_url": "acme.example"}, "base_url: it must be http"),
        ({"analytics_prefix": "v1/acme"}, "analytics_prefix: .* starts with /"),
        ({"types": {"TPO_AGG": "X", "TRADE_AGG": "X"}}, r"types\.TRADE_AGG: .* published name of TPO_AGG"),
        ({"types": {"TPO_AGG": "TRADE_AGG"}}, r"types\.TPO_AGG: .* is itself a neutral name"),
        ({"exchanges": {"PREDICTION_VENU": "X"}}, "did you mean PREDICTION_VENUE"),
        ({"fields": {"srcMarketcapRank": ""}}, r"fields\.srcMarketcapRank: the published name is empty"),
        ({"fields": {"series": "rows"}}, "series holds answers together"),
        ({"types": ["TPO_AGG"]}, "types: .* is not a mapping"),
        ({"types": {"TPO_AGG": 5}}, r"types\.TPO_AGG: 5 of type int is not a text"),
        ({"key_header": 5}, "key_header: 5 of type int is not a text"),
    ],
)
def test_what_cannot_be_right_is_refused(parts, problem):
    with pytest.raises(mp.InvalidRequest, match=problem):
        mp.Dialect(**parts)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("key_heder = 'X'", "key_heder: unknown; .*did you mean key_header"),
        ("[types]\nTPO_AGG = 5", r"types\.TPO_AGG: a text is wanted"),
        ("[types]\nTPO_AGG = 'X'\nTRADE_AGG = 'X'", r"types\.TRADE_AGG: "),
        ("\n[types", "line 2: the file is not valid TOML"),
    ],
)
def test_a_file_that_cannot_be_right_is_named_with_the_place(tmp_path, text, problem):
    path = tmp_path / "acme.toml"
    path.write_text(text, "utf-8")
    for make in (mp.Dialect.from_toml, lambda path: mp.Client("key", "http://127.0.0.1:9", dialect=path)):
        with pytest.raises(mp.InvalidRequest, match=f"acme.toml: {problem}"):
            make(path)
    with pytest.raises(mp.InvalidRequest, match="neither a Dialect nor the path"):
        mp.Client("key", "http://127.0.0.1:9", dialect={"types": {}})
