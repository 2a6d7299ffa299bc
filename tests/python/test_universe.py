"""Universes: what they are made of, what they cost, and what becomes of their series."""

import asyncio
import json
import shutil

import numpy as np
import pytest

import marketpoints as mp
from support.archives import END, HOUR, content, part_files

DAY = 24 * HOUR
#: Ten days of hours of two markets and two types: four series of 240 points, each of one request that weighs 1.
SMALL = {
    "type": ["candles", "open_interest"],
    "exchange": "BINANCE_FUTURES",
    "symbol": ["BTCUSDT", "ETHUSDT"],
    "interval": "1h",
    "start": END - 10 * DAY,
    "end": END,
}


#: More series than are asked at once.
SEVERAL = {**SMALL, "symbol": ["BTCUSDT", "ETHUSDT", "SOLUSDT", "XRPUSDT", "DOGEUSDT", "BNBUSDT"]}


def cut(path):
    path.write_bytes(path.read_bytes()[:-7])


@pytest.fixture
def service():
    with mp.LocalService(now=END + 900) as running:
        yield running


@pytest.fixture
def client(service):
    with service.client("unlimited") as made:
        yield made


def points(service):
    """The requests for points that the service answered or refused."""
    return [one for one in service.requests if one.path == "/v1/points"]


def test_every_series_of_the_product_is_kept_and_paid_once(service, client, tmp_path):
    archive = mp.Archive(tmp_path)
    plan = archive.plan_all(client, SMALL)
    assert (len(plan.series), plan.requests, plan.weight, plan.points) == (4, 4, 4, 4 * 240)
    assert service.spent == 0 and not points(service)
    report = archive.sync_all(client, SMALL)
    assert report and len(report.complete) == len(report.series) == 4
    assert (report.requests, report.weight, report.rows) == (4, 4, 4 * 240)
    service.assert_spent(4)
    for kind in SMALL["type"]:
        for symbol in SMALL["symbol"]:
            query = (kind, "BINANCE_FUTURES", symbol, "1h")
            window = {"start": SMALL["start"], "end": END}
            assert content(archive.read(*query, **window)) == content(client.points(*query, **window))


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b""), cut])
def test_a_file_that_is_gone_or_cut_is_asked_again(client, tmp_path, damage):
    archive = mp.Archive(tmp_path)
    archive.sync_all(client, SMALL)
    query = (SMALL["type"][0], "BINANCE_FUTURES", "BTCUSDT", "1h")
    expected = content(archive.read(*query))
    damage(next(path for path in part_files(tmp_path) if "symbol=BTCUSDT" in str(path) and "TRADE" in str(path)))
    plan = archive.plan_all(client, SMALL)
    assert plan.requests > 0 and [one.status for one in plan.series].count("planned") == 1
    report = archive.sync_all(client, SMALL)
    assert report and report.requests == plan.requests and archive.verify()
    assert content(archive.read(*query)) == expected


@pytest.mark.parametrize("goes", [shutil.rmtree, lambda moved: moved])
def test_a_folder_that_goes_during_a_run_is_no_success_and_nothing_is_kept_in_its_place(client, tmp_path, goes):
    folder = tmp_path / "archive"
    seen = []

    def progress(done, total):
        if not seen:
            goes(folder.rename(tmp_path / "moved"))  # at once, whatever is being written
        seen.append((done, total))

    report = mp.Archive(folder).sync_all(client, SEVERAL, progress=progress)
    assert not report and "removed or moved while this wrote to it" in repr(report)
    assert not mp.Archive(folder).contents()
    assert mp.Archive(folder).sync_all(client, SMALL)


def test_what_is_kept_costs_nothing_and_a_day_later_the_day_alone_is_asked(service, tmp_path):
    archive, universe = mp.Archive(tmp_path), {**SMALL, "end": None}
    with service.client("unlimited") as client:
        archive.sync_all(client, universe)
        service.clear_requests()
        again = archive.sync_all(client, universe)
        assert again and len(again.complete) == 4 and again.requests == 0
        assert not archive.plan_all(client, universe)
        assert not points(service)
        service.advance(DAY)
        assert archive.plan_all(client, universe).points == 4 * 24
        daily = archive.sync_all(client, universe)
        assert (daily.requests, daily.weight, daily.rows) == (4, 4, 4 * 24)
    asked = {(int(one.query["from"]), int(one.query["period"])) for one in points(service)}
    assert asked == {(END, DAY)}


def test_a_plan_tells_what_each_tier_takes(service, tmp_path):
    # 365 days of minutes are 525,600 candles: 526 thousands, of weight 1 each (section 8.2); 20 markets of the demo.
    symbols = service.client("unlimited").symbols(type="candles", exchange="BINANCE_FUTURES")[:4]
    universe = {"type": "candles", "exchange": "BINANCE_FUTURES", "symbol": symbols, "interval": "1m", "period": "6d"}
    with service.client("basic") as client:
        plan = mp.Archive(tmp_path).plan_all(client, universe)
    weight = len(symbols) * 9  # 8,640 minutes
    assert plan.weight == weight and plan.weight_by_tier == dict.fromkeys(mp.TIERS, weight)
    # From a full bucket: (weight - burst) / rate; the bucket holds two minutes' weight (section 8.1).
    for name, tier in mp.TIERS.items():
        expected = max(0, weight - tier.burst) / tier.weight_per_minute * 60
        assert plan.eta_by_tier[name] == pytest.approx(expected)
    assert plan.eta == pytest.approx(0 if weight <= 100 else (weight - 100) / 50 * 60)
    assert plan.refused_by_tier == {}


def test_a_cap_on_a_days_weight_takes_days(service, client, tmp_path):
    # 7 days of books by the minute are 10,080 snapshots: 11 thousands of weight 10 (section 8.4), for each of 20 sizes.
    universe = {
        "type": "orderbook_heatmap",
        "exchange": "BINANCE_FUTURES",
        "symbol": "BTCUSDT",
        "interval": "1m",
        "start": END - 6 * DAY,
    }
    blocks = [{**universe, "block_size": 20.0 * (1 + size), "max_depth": 100} for size in range(20)]
    plan = mp.Archive(tmp_path).plan_all(client, blocks)
    weight = 20 * 90  # 8,640 + 15 minutes: 9 thousands
    assert plan.weight == plan.weight_by_tier["free"] == weight
    # A thousand on the first day; of the other 800 the bucket holds 20 and refills 10 a minute.
    assert plan.eta_by_tier["free"] == pytest.approx(DAY + (800 - 20) / 10 * 60)
    assert plan.eta_by_tier["advanced"] == pytest.approx((weight - 1_500) / 750 * 60)


def test_walls_refuse_series_by_tier_and_are_reported_before_anything_is_sent(service, tmp_path):
    universe = {"start": END - 20 * DAY, "exchange": "BINANCE_FUTURES", "interval": "1h"}
    blocks = [
        {**universe, "type": "candles", "symbol": "BTCUSDT"},
        {**universe, "type": "candles", "symbol": "ETHUSDT", "start": END - DAY},
    ]
    with service.client("free") as client:
        archive = mp.Archive(tmp_path)
        plan = archive.plan_all(client, blocks)
        assert plan.refused_by_tier == {"free": 1}  # a week of history
        (refused,) = plan.refused
        assert "history goes back 7 days" in refused.reason and refused.symbol == "BTCUSDT"
        report = archive.sync_all(client, blocks)
    assert not report
    assert [one.status for one in report.series] == ["refused", "complete"]
    assert len(points(service)) == 1


def test_the_table_of_types_refuses_by_name_and_sends_nothing(service, client, tmp_path):
    universe = {**SMALL, "type": ["candles", "funding_rate", "liquidation_heatmap"], "symbol": "BTCUSDT", "usd": True}
    report = mp.Archive(tmp_path).sync_all(client, universe)
    assert [one.status for one in report.series] == ["complete", "refused", "refused"]
    assert "usd" in report.refused[0].reason
    assert report.refused[1].type == "VENUE_LIQUIDATION_AGG" and "coin" in report.refused[1].reason
    assert {one.query["type"] for one in points(service)} == {"TRADE_SIDE_AGNOSTIC_AGG"}


def test_a_symbol_that_is_not_listed_is_refused_before_it_is_paid(service, client, tmp_path):
    report = mp.Archive(tmp_path).sync_all(client, {**SMALL, "type": "candles", "symbol": ["BTCUSDT", "BTCUSDTT"]})
    assert [(one.symbol, one.status) for one in report.series] == [("BTCUSDT", "complete"), ("BTCUSDTT", "refused")]
    assert "did you mean BTCUSDT" in report.refused[0].reason
    service.assert_spent(1)


def test_a_window_that_no_time_tells_is_refused(client, tmp_path):
    for window in ({"start": None, "period": "999999d"}, {"start": "1600-01-01"}):
        plan = mp.Archive(tmp_path).plan_all(client, {**SMALL, "type": "candles", "coin": None, **window})
        assert [one.status for one in plan.series] == ["refused", "refused"] and plan.weight == 0
        assert all("1677 to 2262" in one.reason for one in plan.series)


def test_what_the_service_has_no_row_of_is_empty(tmp_path):
    with mp.LocalService(now=END, strict_symbols=False) as service, service.client(check_symbols=False) as client:
        universe = {**SMALL, "type": "candles", "symbol": ["BTCUSDT", "NOSUCHCOIN"]}
        archive = mp.Archive(tmp_path)
        for paid in (2, 0):
            report = archive.sync_all(client, universe)
            assert [one.status for one in report.series] == ["complete", "empty"]
            assert report and report.weight == paid


def test_a_window_that_is_still_to_come_is_empty_and_says_so(service, client, tmp_path):
    archive = mp.Archive(tmp_path)
    archive.sync_all(client, {**SMALL, "type": "candles"})
    universe = {**SMALL, "type": "candles", "start": END + DAY, "end": END + 3 * DAY}
    plan, report = archive.plan_all(client, universe), archive.sync_all(client, universe)
    why = "no bucket of its window has closed yet"
    assert [(one.status, one.reason) for one in plan.series] == [("kept", why)] * 2
    assert [(one.status, one.reason) for one in report.series] == [("empty", why)] * 2
    assert report and report.weight == 0


def test_markets_come_by_filters(service, client, tmp_path):
    filters = {
        "exchange": "BINANCE_FUTURES",
        "category": "PERPETUAL",
        "sort_by": "VOLUME_24H",
        "sort_direction": "desc",
        "limit": 3,
    }
    universe = {"type": "candles", "interval": "1d", "period": "30d", "markets": filters}
    plan = mp.Archive(tmp_path).plan_all(client, universe)
    expected = [one.raw_symbol for one in client.markets(**filters)]
    assert [one.symbol for one in plan.series] == expected and len(expected) == 3
    with pytest.raises(mp.InvalidRequest, match=r"^markets: no market passes the filters$"):
        mp.Archive(tmp_path).plan_all(
            client, {**universe, "markets": {"exchange": "BINANCE_FUTURES", "coin": "NOSUCH"}}
        )


def test_a_coin_is_one_series_of_all_exchanges_and_a_symbol_one_of_each(client, tmp_path):
    exchanges = ["BINANCE_FUTURES", "BYBIT"]
    whole = {"type": "candles", "interval": "1h", "period": "1d", "exchange": exchanges}
    plan = mp.Archive(tmp_path).plan_all(
        client, {**whole, "series": [{"symbol": ["BTCUSDT"]}, {"coin": ["BTC", "ETH"]}]}
    )
    assert [(one.exchange, one.symbol, one.coin) for one in plan.series] == [
        ("BINANCE_FUTURES", "BTCUSDT", ""),
        ("BYBIT", "BTCUSDT", ""),
        ("BINANCE_FUTURES+BYBIT", "", "BTC"),
        ("BINANCE_FUTURES+BYBIT", "", "ETH"),
    ]


def test_lists_that_pair_go_by_position(service, client, tmp_path):
    universe = {
        "type": "orderbook_heatmap",
        "exchange": "BINANCE_FUTURES",
        "symbol": ["BTCUSDT", "ETHUSDT"],
        "block_size": [20.0, 1.0],
        "interval": "1h",
        "period": "2h",
    }
    with service.client(any_block_size=True) as client:
        mp.Archive(tmp_path).sync_all(client, universe)
    assert {(one.query["rawSymbol"], float(one.query["blockSize"])) for one in points(service)} == {
        ("BTCUSDT", 20.0),
        ("ETHUSDT", 1.0),
    }


def test_what_two_blocks_name_is_planned_and_paid_once(service, client, tmp_path):
    blocks = [
        {**SMALL, "type": "candles"},
        {**SMALL, "symbol": "BTCUSDT", "start": END - 20 * DAY, "end": END - 5 * DAY},
    ]
    archive = mp.Archive(tmp_path)
    plan = archive.plan_all(client, blocks)
    assert len(plan.series) == 3  # BTC candles are one series of twenty days
    assert plan.points == 480 + 240 + 15 * 24
    report = archive.sync_all(client, blocks)
    assert report.weight == plan.weight == 3
    service.assert_spent(3)


def test_series_take_turns_by_the_weight_that_they_were_given(service, tmp_path):
    # One series asks four requests of a hundred thousand minutes; ten others a day each.
    service.clear_requests()
    symbols = service.client().symbols(type="candles", exchange="BINANCE_FUTURES")[:11]
    day = {"type": "candles", "exchange": "BINANCE_FUTURES", "interval": "1m", "start": END - DAY, "end": END}
    blocks = [{**day, "symbol": symbols[0], "start": END - 350 * DAY}, {**day, "symbol": symbols[1:]}]
    with service.client("unlimited") as client:
        assert mp.Archive(tmp_path).sync_all(client, blocks)
    order = [one.query["rawSymbol"] for one in points(service)]
    first, *_, last = (at for at, symbol in enumerate(order) if symbol == symbols[0])
    assert len(order) == 6 + len(symbols) - 1 >= 6 + 8
    # The second request of the long one waits until every other has had its first (eight are under way at once).
    starts = [int(one.query["from"]) for one in points(service) if one.query["rawSymbol"] == symbols[0]]
    assert starts[0] == min(starts)  # the oldest first
    second = [at for at, symbol in enumerate(order) if symbol == symbols[0]][1]
    assert second >= 8 and last == len(order) - 1 and first < 10


def test_one_series_that_fails_does_not_end_the_others_and_the_next_start_goes_on(service, tmp_path):
    archive = mp.Archive(tmp_path)
    with service.client("unlimited", retries=0) as client:
        archive.plan_all(client, SMALL)  # the lists are known
        service.faults.set(status=503, path="/v1/points", count=1)
        report = archive.sync_all(client, SMALL)
        assert sorted(one.status for one in report.series) == ["complete", "complete", "complete", "failed"]
        assert "503" in report.failed[0].reason and not report
        service.assert_spent(3)
        service.clear_requests()
        mended = archive.sync_all(client, SMALL)
        assert mended and mended.weight == 1
        service.assert_spent(1)


def test_a_service_that_is_down_is_left_alone(service, tmp_path):
    symbols = service.client().symbols(type="candles", exchange="BINANCE_FUTURES")
    universe = {**SMALL, "type": ["candles", "open_interest", "liquidations", "funding_rate"], "symbol": symbols[:10]}
    with service.client("unlimited", retries=0) as client:
        archive = mp.Archive(tmp_path)
        archive.plan_all(client, universe)
        service.faults.set(status=503, path="/v1/points")
        report = archive.sync_all(client, universe)
    assert len(report.failed) == len(report.series) == 40
    assert any("not sent" in one.reason for one in report.failed)
    assert len(points(service)) <= 2 * 8 + 3


def test_a_wrong_key_is_reported_before_anything_is_paid(service, tmp_path):
    for tier in (None, "basic"):
        client = mp.Client("mp-wrong", service.url, tier=tier, clock=service.now)
        with client, pytest.raises(mp.AuthenticationError):
            mp.Archive(tmp_path).sync_all(client, SMALL)


def test_what_cannot_be_weighed_is_not_paid_under_a_bound(service, client, tmp_path):
    archive = mp.Archive(tmp_path)
    block = {"type": "candles", "exchange": "BYBIT", "symbol": "BTCUSDT", "interval": "1h", "start": END - 5 * DAY}
    block["end"] = END
    archive.sync_all(client, block)
    (ledger,) = tmp_path.glob("_marketpoints/ledger/*")
    ledger.write_bytes(ledger.read_bytes()[:-5])
    before = service.spent
    with pytest.raises(mp.InvalidRequest, match=r"BYBIT BTCUSDT 1h .*ledger cannot be read.*leave max_weight=1 out"):
        archive.sync_all(client, block, max_weight=1)
    assert service.spent == before
    assert archive.sync_all(client, block) and archive.verify()


def test_max_weight_ends_it_before_paying(service, client, tmp_path):
    with pytest.raises(mp.InvalidRequest, match="weighs 4 in 4 requests, more than max_weight=3"):
        mp.Archive(tmp_path).sync_all(client, SMALL, max_weight=3)
    assert not points(service)
    assert mp.Archive(tmp_path).sync_all(client, SMALL, max_weight=4)


def test_progress_counts_requests_up_to_all_and_can_end_the_run(client, tmp_path):
    reported = []
    mp.Archive(tmp_path / "a").sync_all(client, SMALL, progress=lambda done, total: reported.append((done, total)))
    assert [done for done, _ in reported] == sorted({done for done, _ in reported}) and reported[-1] == (4, 4)

    class Enough(BaseException):
        pass

    def enough(done, total):
        raise Enough

    with pytest.raises(Enough):
        mp.Archive(tmp_path / "b").sync_all(client, SMALL, progress=enough)


def test_a_bar_tells_what_is_under_way(client, tmp_path, capsys):
    mp.Archive(tmp_path).sync_all(client, SMALL, progress=True)
    output = capsys.readouterr().err
    assert "weight 4/4" in output and "4/4 requests" in output
    assert "BINANCE_FUTURES" in output


def test_reports_are_tables_and_json(client, tmp_path):
    archive = mp.Archive(tmp_path)
    plan, report = archive.plan_all(client, SMALL), archive.sync_all(client, SMALL)
    parsed = json.loads(plan.to_json())
    assert (parsed["planned"], parsed["kept"], parsed["refused"]) == (4, 0, 0)
    assert parsed["weight"] == 4 and parsed["eta_by_tier"].keys() == mp.TIERS.keys()
    done = json.loads(report.to_json())
    assert (done["complete"], done["empty"], done["refused"], done["failed"]) == (4, 0, 0, 0)
    first = done["series"][0]
    assert (first["type"], first["symbol"], first["status"]) == ("TRADE_SIDE_AGNOSTIC_AGG", "BTCUSDT", "complete")
    assert np.datetime64(first["start"].removesuffix("Z")) == np.datetime64(END - 10 * DAY, "s")
    frame = report.to_pandas()
    assert list(frame["rows"]) == [240] * 4 and str(frame["start"].dtype).startswith("datetime64")
    assert "complete 4" in repr(report) and "advanced 0 s" in repr(plan)
    assert "complete" in report._repr_html_() and "by tier" in plan._repr_html_()


def test_the_async_client_does_the_same(service, tmp_path):
    async def run():
        async with service.async_client("unlimited") as client:
            archive = mp.Archive(tmp_path)
            plan = await archive.plan_all(client, SMALL)
            dry = await archive.sync_all(client, SMALL, dry_run=True)
            report = await archive.sync_all(client, SMALL)
            again = await archive.sync_all(client, SMALL)
            return plan, dry, report, again

    plan, dry, report, again = asyncio.run(run())
    assert plan.weight == dry.weight == report.weight == 4 and again.weight == 0
    assert report and len(again.complete) == 4
    service.assert_spent(4)


def test_cancelling_the_async_run_ends_it(service, tmp_path):
    async def run():
        async with service.async_client("unlimited") as client:
            archive = mp.Archive(tmp_path)
            await archive.plan_all(client, SMALL)
            service.faults.set(latency=60, path="/v1/points", count=3)  # of four requests
            loop, answered = asyncio.get_running_loop(), asyncio.Event()
            run = archive.sync_all(client, SMALL, progress=lambda *_: loop.call_soon_threadsafe(answered.set))
            task = asyncio.ensure_future(run)
            await asyncio.wait_for(answered.wait(), 30)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(task, 10)

    asyncio.run(run())
    service.faults.clear()


def test_a_key_without_a_tier_is_asked_for_its_budget_first(service, tmp_path):
    with mp.Client(service.keys["basic"], service.url, clock=service.now, archive_source="twin") as client:
        assert client.budget is None
        plan = mp.Archive(tmp_path).plan_all(client, {**SMALL, "start": END - DAY})
        assert plan.weight == 4 and client.budget.limit == 50
    assert not points(service)


def test_what_the_service_refuses_is_refused_and_the_others_go_on(service, tmp_path):
    # Without a tier the client does not know the walls.
    old = {**SMALL, "type": "candles", "symbol": "BTCUSDT", "start": END - 20 * DAY, "end": END - 19 * DAY}
    new = {**SMALL, "type": "candles", "symbol": "ETHUSDT", "start": END - DAY}
    with mp.Client(service.keys["free"], service.url, clock=service.now, archive_source="twin") as client:
        report = mp.Archive(tmp_path).sync_all(client, [old, new])
    assert [one.status for one in report.series] == ["refused", "complete"]
    assert "7 days" in report.refused[0].reason
