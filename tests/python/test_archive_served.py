"""An archive served offline answers the bodies of the service that it is of, with its weights, walls and errors."""

import json
import urllib.error
import urllib.parse
import urllib.request

import numpy as np
import pytest

import marketpoints as mp

NOW = 1_776_880_830
DAY, HOUR = 86_400, 3_600
FIRST = NOW // DAY * DAY - 20 * DAY
PAIR = ("BINANCE_FUTURES", "BTCUSDT")
#: Of each type a sync by the client, and the request of the wire that asks the same; both sides of every shape.
ASKED = [
    ("candles", PAIR, "1m", {}),
    ("candles", PAIR, "1h", {"usd": True}),
    ("side_candles", PAIR, "1h", {}),
    ("liquidations", PAIR, "1h", {}),
    ("funding_rate", PAIR, "1h", {}),
    ("open_interest", PAIR, "1h", {}),
    ("orderbook_heatmap", PAIR, "1h", {"block_size": 130, "max_depth": 40}),
    ("volume_profile", PAIR, "1h", {}),
    ("tpo", PAIR, "30m", {"session": "daily"}),
    ("liquidation_heatmap", (None, None), "1h", {"coin": "BTC", "usd": True}),
    ("candles", (["BINANCE_FUTURES", "BYBIT"], None), "1h", {"coin": "BTC", "group_by": "sum"}),
    ("skew", ("DERIBIT", "BTC_25"), "1h", {"coin": "BTC", "tenor": "ONE_M"}),
    ("implied_volatility", ("DERIBIT", "BTC_ATM"), "1h", {"coin": "BTC", "tenor": "ONE_M"}),
    ("token_supply", (None, None), "1d", {"coin": "BTC", "token_name": "Bitcoin"}),
]
WINDOW = {"start": FIRST, "end": FIRST + 2 * DAY}


def get(service, target, tier="unlimited"):
    """Status, body and headers of an answer."""
    asked = urllib.request.Request(service.url + target, headers={"X-Service-Key": service.keys[tier]})
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read(), error.headers


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A demo service, an archive of it, and a service over that archive alone, as of the same moment."""
    archive = mp.Archive(tmp_path_factory.mktemp("archive"))
    with mp.LocalService(now=NOW, speed=0, any_block_size=True) as live:
        targets = []
        with live.client("unlimited") as client:
            for method, place, interval, more in ASKED:
                archive.sync(client, method, *place, interval, **WINDOW, **more)
                planned = client.plan(method, *place, interval, **WINDOW, **more)
                targets += [one.url.removeprefix(live.url) for one in planned.requests]
        with mp.LocalService(archive, now=NOW, speed=0, any_block_size=True) as offline:
            yield live, offline, archive, targets


def test_bodies_and_weights_are_those_of_the_service_that_was_asked(both):
    live, offline, _, targets = both
    assert len(targets) >= len(ASKED)
    for target in targets:
        for more in ("", "&sort=DESC", "&flatten=true"):
            if more == "&flatten=true" and "HEATMAP" not in target and "BOOK" not in target and "VENUE" not in target:
                continue
            live.clear_requests()
            offline.clear_requests()
            expected, answer = get(live, target + more), get(offline, target + more)
            assert answer[0] == expected[0], (target, answer[1])
            if expected[0] != 200:
                continue
            assert answer[1] == expected[1], target + more
            assert offline.spent == live.spent > 0
    assert sum(1 for target in targets if get(offline, target)[0] == 200) == len(targets)


def test_a_part_of_a_window_is_answered_as_well(both):
    live, offline, _, _ = both
    query = {"type": "TRADE_SIDE_AGNOSTIC_AGG", "exchange": PAIR[0], "rawSymbol": PAIR[1], "interval": "MINUTE"}
    for first, length in [(0, HOUR), (90, 1_000), (2 * DAY - 60, 60), (2 * DAY - 60, 0), (30, 20)]:
        target = "/v1/points?" + urllib.parse.urlencode(query | {"from": FIRST + first, "period": length})
        assert get(offline, target)[:2] == get(live, target)[:2], (first, length)


def test_clients_read_it_as_the_service(both):
    live, offline, _, _ = both
    with live.client("unlimited", any_block_size=True) as one, offline.client("unlimited") as other:
        for method, place, interval, more in ASKED:
            expected, answer = (
                getattr(client, method)(*place, **({"interval": interval} | WINDOW | more)) for client in (one, other)
            )
            assert len(expected) == len(answer) > 0, method
            for left, right in zip(expected, answer, strict=True):
                assert left.id == right.id
                assert np.array_equal(left.timestamps, right.timestamps)


def test_what_was_never_asked_is_reported_and_costs_nothing(both):
    _, offline, _, _ = both
    with offline.client("advanced", check_symbols=False) as client:
        offline.clear_requests()
        with pytest.raises(mp.NotArchivedError) as caught:
            client.candles(*PAIR, "1m", start=FIRST + DAY, end=FIRST + 3 * DAY)
        error = caught.value
        assert (error.status, error.code) == (404, "NOT_ARCHIVED")
        missing = [
            np.datetime64(second, "s").astype(str).replace("T", " ") for second in (FIRST + 2 * DAY, FIRST + 3 * DAY)
        ]
        assert (
            "does not hold TRADE_SIDE_AGNOSTIC_AGG BINANCE_FUTURES BTCUSDT MINUTE: "
            f"{missing[0]} UTC to {missing[1]} UTC; of the window it holds" in str(error)
        )
        for other in ({"usd": True}, {"gapfill": True}):
            with pytest.raises(mp.NotArchivedError, match="nothing of this query was ever asked"):
                client.candles(*PAIR, "1m", **WINDOW, **other)
        with pytest.raises(mp.NotArchivedError, match="nothing of this query was ever asked"):
            client.candles("BYBIT", "BTCUSDT", "1h", **WINDOW)
        has = "an archive keeps points alone; a service of the demo market or of a store of dumps has them"
        for analytics in (client.leaderboard, lambda: client.trader_profile("0xf1")):
            with pytest.raises(mp.NotArchivedError, match=has):
                analytics()
        channel = mp.Channel(type="TRADE", exchange=PAIR[0], symbol=PAIR[1])
        with pytest.raises(mp.Error, match="the live stream: an archive keeps points alone"):
            client.stream([channel]).open()
        assert offline.spent == 0 and client.usage().used == 0


def test_asked_and_empty_is_empty(tmp_path):
    archive = mp.Archive(tmp_path)
    with (
        mp.LocalService(now=NOW, strict_symbols=False) as live,
        live.client("unlimited", check_symbols=False) as client,
    ):
        archive.sync(client, "candles", "BYBIT", "NOSUCHCOIN", "1h", **WINDOW)
    with mp.LocalService(tmp_path, now=NOW) as offline, offline.client("unlimited", check_symbols=False) as client:
        assert len(client.candles("BYBIT", "NOSUCHCOIN", "1h", **WINDOW).only) == 0
        offline.assert_spent(1)
        with pytest.raises(mp.NotArchivedError):
            client.candles("BYBIT", "NOSUCHCOIN", "1h", start=FIRST - HOUR, end=FIRST + HOUR)


def test_walls_budgets_and_mistakes_are_those_of_always(both):
    live, offline, _, targets = both
    for target, tier in [
        *((target, "free") for target in targets),
        *((target, "basic") for target in targets),
        ("/v1/points?type=TRADE_AG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=HOUR&period=3600", "advanced"),
        ("/v1/points?type=TRADE_AGG&exchange=BYBITT&rawSymbol=BTCUSDT&interval=HOUR&period=3600", "advanced"),
        ("/v1/points?type=TRADE_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=1h&period=3600", "advanced"),
        ("/v1/points?type=TRADE_AGG&exchange=BYBIT&interval=HOUR&period=3600", "advanced"),
        ("/v1/points?type=TRADE_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=HOUR&perod=3600", "advanced"),
        ("/v1/points?type=TRADE_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=MINUTE&period=60000000", "unlimited"),
        ("/v1/symbols", "advanced"),
    ]:
        expected, answer = get(live, target, tier), get(offline, target, tier)
        if expected[0] == 200:
            continue
        assert answer[0] == expected[0], (target, tier, answer[1])
        assert json.loads(answer[1])["error"] == json.loads(expected[1])["error"], (target, tier)
    # History goes back seven days: the archive's data are older.
    assert get(offline, targets[0], "free")[0] == 403
    # The budget: 1,500 weight, then 429 with the wait.
    statuses = []
    for _ in range(2_000):
        status, _, headers = get(offline, targets[0], "advanced")
        statuses.append(status)
        if status == 429:
            assert int(headers["Retry-After"]) >= 1
            break
    assert statuses[-1] == 429


def test_headers_tell_the_budget_as_the_service_does(both):
    _, _, archive, targets = both
    # Services of their own, whose clocks stand: nobody else has spent anything, and nothing refills.
    with (
        mp.LocalService(now=NOW, speed=0, any_block_size=True) as asked,
        mp.LocalService(archive, now=NOW, speed=0, any_block_size=True) as offline,
    ):
        left = mp.TIERS["advanced"].burst
        for target in targets:
            answers = [get(service, target, "advanced")[2] for service in (asked, offline)]
            told = [
                {name.lower(): value for name, value in one.items() if "ratelimit" in name.lower()} for one in answers
            ]
            assert told[0] == told[1], target
            left -= offline.requests[-1].weight
            assert told[1]["x-ratelimit-limit"] == "750"
            assert int(told[1]["x-ratelimit-remaining"]) == left, target
        assert left == mp.TIERS["advanced"].burst - offline.spent


def test_discovery_lists_what_the_archive_holds(both):
    _, offline, _, _ = both

    def listed(path):
        status, body, _ = get(offline, path)
        assert status == 200, body
        return next(iter(json.loads(body).values()), [])

    assert listed("/v1/exchanges") == ["BINANCE_FUTURES", "BYBIT", "DERIBIT"]
    assert listed("/v1/symbols?type=TRADE_SIDE_AGNOSTIC_AGG") == ["BTCUSDT"]
    assert listed("/v1/coins") == ["BTC"]
    assert listed("/v1/normalized-symbols?type=TRADE_AGG") == ["BTC-USDT"]
    assert listed("/v1/tenors") == ["ONE_M"]
    assert listed("/v1/types?exchange=BYBIT") == ["TRADE_SIDE_AGNOSTIC_AGG"]
    assert set(listed("/v1/types")) == {
        "TRADE_SIDE_AGNOSTIC_AGG", "TRADE_AGG", "LIQUIDATION_AGG", "FUNDING_RATE_AGG", "OPEN_INTEREST_AGG",
        "BLOCK_BOOK_SNAPSHOT_AGG", "VOLUME_PROFILE_AGG", "TPO_AGG", "VENUE_LIQUIDATION_AGG", "SKEW_OPTION_SUMMARY_AGG",
        "IMPLIED_VOLATILITY_OPTION_SUMMARY_AGG", "TOKEN_SUPPLY_AGG",
    }  # fmt: skip
    with offline.client("unlimited") as client:
        (market, *others) = client.markets()
        assert (market.exchange, market.raw_symbol, market.normalized_symbol, market.coin, market.category) == (
            "BINANCE_FUTURES", "BTCUSDT", "BTC-USDT", "BTC", "PERPETUAL",
        )  # fmt: skip
        assert all(one.raw_symbol for one in others)
        with pytest.raises(mp.InvalidRequest, match="ETHUSDT"):
            client.candles("BINANCE_FUTURES", "ETHUSDT", "1h", **WINDOW)


def test_nothing_of_the_future_is_answered(both):
    live, _, archive, _ = both
    moment = FIRST + DAY + 90
    with mp.LocalService(archive, now=moment, speed=0) as offline, offline.client("unlimited") as client:
        known = client.candles(*PAIR, "1m", start=FIRST, include_forming=True).only
        # The minute that holds the moment is in no archive: it had not closed.
        assert known.timestamps[-1] == np.datetime64(FIRST + DAY, "s")
        with live.as_of(moment) as then, then.client("unlimited") as other:
            assert np.array_equal(known["close"], other.candles(*PAIR, "1m", start=FIRST).only["close"])
        with offline.as_of(FIRST + HOUR) as earlier, earlier.client("unlimited") as other:
            assert len(other.candles(*PAIR, "1h", start=FIRST, usd=True).only) == 1


def test_it_is_found_by_its_folder_and_tells_when_it_ends(both, tmp_path):
    _, _, archive, _ = both
    with (
        pytest.warns(mp.OutdatedDataWarning, match=rf"the data of {archive.path} end on"),
        mp.LocalService(str(archive.path)) as offline,
    ):
        assert repr(offline).startswith(f"<LocalService {offline.url}, archive {archive.path}, ")
    with pytest.raises(mp.InvalidRequest, match="no store"):
        mp.LocalService(tmp_path)
    with pytest.raises(mp.InvalidRequest, match="no archive, or an empty one: sync something first"):
        mp.LocalService(mp.Archive(tmp_path))


def test_what_is_synced_later_is_answered_and_a_damaged_file_is_reported(tmp_path):
    archive = mp.Archive(tmp_path / "archive")
    with mp.LocalService(now=NOW, speed=0) as live, live.client("unlimited") as client:
        archive.sync(client, "candles", *PAIR, "1h", **WINDOW)
        with (
            mp.LocalService(archive, now=NOW, speed=0) as offline,
            offline.client("unlimited", check_symbols=False) as other,
        ):
            later = {"start": FIRST + 2 * DAY, "end": FIRST + 3 * DAY}
            with pytest.raises(mp.NotArchivedError):
                other.candles(*PAIR, "1h", **later)
            archive.sync(client, "candles", *PAIR, "1h", **later)
            assert len(other.candles(*PAIR, "1h", **later).only) == 24
            # Reading through the same archive: what is served is known by the name of the service it came from.
            with offline.client("unlimited", archive=archive) as reading:
                offline.clear_requests()
                assert len(reading.candles(*PAIR, "1h", **WINDOW).only) == 48
                assert offline.spent == 0
            for file in (tmp_path / "archive").rglob("part.parquet"):
                file.write_bytes(file.read_bytes()[:-7])
            with (
                offline.client("unlimited", check_symbols=False, retries=0) as another,
                pytest.raises(mp.ServerError, match=r"part\.parquet"),
            ):
                another.candles(*PAIR, "1h", **later)
