"""The awaited client under an event loop that is not asyncio's own: uvloop's, where it is installed."""

import asyncio
import threading

import pytest

import marketpoints as mp
from support.children import silent_server

uvloop = pytest.importorskip("uvloop")
MARKET = ("BINANCE_FUTURES", "BTCUSDT")
WINDOW = {"start": "2026-01-01", "end": "2026-01-02"}


@pytest.fixture
def run():
    """Runs a coroutine in uvloop's event loop."""
    loop = uvloop.new_event_loop()

    def work(main):
        return loop.run_until_complete(asyncio.wait_for(main, 60))

    yield work
    loop.close()


def test_calls_answer_the_same(demo, client, run):
    reported = []

    async def main():
        assert type(asyncio.get_running_loop()).__module__.startswith("uvloop")
        async with demo.async_client("unlimited") as awaited:
            return await asyncio.gather(
                awaited.candles(*MARKET, "1h", progress=lambda *how_far: reported.append(how_far), **WINDOW),
                awaited.orderbook_heatmap(*MARKET, "4h", block_size=50, **WINDOW),
                awaited.markets(limit=2),
                awaited.leaderboard(limit=3),
            )

    candles, book, markets, traders = run(main())
    assert candles.only == client.candles(*MARKET, "1h", **WINDOW).only
    assert book.only == client.orderbook_heatmap(*MARKET, "4h", block_size=50, **WINDOW).only
    assert (len(markets), len(traders), reported) == (2, 3, [(1, 1)])


def test_errors_and_cancelling(demo, run):
    async def main(url, asked):
        async with mp.AsyncClient("nonsense", demo.url) as client:
            with pytest.raises(mp.AuthenticationError):
                await client.usage()
        async with mp.AsyncClient("key", url, timeout=60, retries=0) as client:
            task = asyncio.ensure_future(client.usage())
            # Waits in a thread, so that the loop goes on.
            assert await asyncio.get_running_loop().run_in_executor(None, asked.wait, 30)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with silent_server() as (url, asked):
        run(main(url, asked))


def test_a_stream(service, run):
    async def main():
        async with service.async_client("unlimited") as client:
            channel = mp.Channel(type="TRADE", exchange="BINANCE_FUTURES", symbol="BTCUSDT")
            async with client.stream(channel) as stream:
                service.advance(60)
                return await anext(aiter(stream))

    event = run(main())
    assert isinstance(event, mp.TradeEvent) and event.symbol == "BTCUSDT"


def test_loops_of_both_kinds_share_a_client(demo, run):
    awaited = demo.async_client("unlimited")
    counts = [len(run(awaited.candles(*MARKET, "1h", **WINDOW)).only)]
    thread = threading.Thread(
        target=lambda: counts.append(len(asyncio.run(awaited.candles(*MARKET, "1h", **WINDOW)).only))
    )
    thread.start()
    counts.append(len(run(awaited.candles(*MARKET, "1h", **WINDOW)).only))
    thread.join(60)
    assert counts == [24, 24, 24]


def test_the_blocking_client_goes_by_threads_of_trio(demo):
    trio = pytest.importorskip("trio")
    rows, ticks = [], []

    async def fetch(client, number):
        def call():
            return client.candles(*MARKET, "1h", period=3_600 * number)

        rows.append(len((await trio.to_thread.run_sync(call)).only))

    async def main(url, asked):
        with demo.client("unlimited") as client:
            async with trio.open_nursery() as nursery:
                for number in (10, 20, 30):
                    nursery.start_soon(fetch, client, number)
        # While a call waits, trio's loop goes on.
        with mp.Client("key", url, timeout=0.5, retries=0) as client, trio.move_on_after(30):
            async with trio.open_nursery() as nursery:

                async def ask():
                    with pytest.raises(mp.TimeoutError):
                        await trio.to_thread.run_sync(client.usage)
                    nursery.cancel_scope.cancel()

                nursery.start_soon(ask)
                while True:
                    await trio.lowlevel.checkpoint()
                    if asked.is_set():
                        ticks.append(1)

    with silent_server() as (url, asked):
        trio.run(main, url, asked)
    assert sorted(rows) == [10, 20, 30]
    assert len(ticks) > 10
