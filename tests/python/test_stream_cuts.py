"""A stream whose connections break at random moments: every event once, and every break reported."""

import random
import socket
import threading

import numpy as np
import pytest

import marketpoints as mp
from support.broken import cutting
from support.sockets import DATE_SECOND, framed, playing

MARKET = {"exchange": "BINANCE_FUTURES", "symbol": "BTCUSDT"}
CHANNEL = mp.Channel(type="TRADE", **MARKET)
CUTS = 1_000


def trade(number):
    """A trade of its own second: in the service's spelling, every seventh in another that means the same."""
    side = "BUY" if number % 3 else "SELL"
    series = f'{{"type":"TRADE","exchange":"BINANCE_FUTURES","symbol":"BTCUSDT","side":"{side}"}}'
    time = f'{{"seconds":{DATE_SECOND + number},"nanoseconds":{number}}}'
    key = '"trade" :' if number % 7 == 0 else '"trade":'
    return f'{{"series":{series},{key}{{"id":"{number}","price":{number}.5,"amount":2,"timestamp":{time}}}}}'


def rows(items):
    """Identifier, time, price and side of every trade, and the places of the gaps among them."""
    found, gaps = [], []
    for item in items:
        if isinstance(item, mp.StreamGap):
            gaps.append((len(found), item))
        elif isinstance(item, mp.TradeBatch):
            sides = np.where(item.sides > 0, "BUY", "SELL").tolist()
            found += zip(item.ids.tolist(), item.times.tolist(), item.prices.tolist(), sides, strict=True)
            assert {item.markets[code] for code in item.market_codes} == {tuple(MARKET.values())}
        else:
            found.append((item.id, item.time.astype(int), item.price, item.side))
    return found, gaps


def expected(number):
    nanoseconds = (DATE_SECOND + number) * 10**9 + number
    return str(number), nanoseconds, number + 0.5, "BUY" if number % 3 else "SELL"


@pytest.mark.parametrize("batches", [False, True])
def test_a_thousand_random_cuts_lose_and_double_nothing(batches):
    """A service that replays some of what it sent, or none, or goes on later; cut within frames as well as between."""
    chance = random.Random(18 + batches)
    sent, breaks = [], []  # every event that left as a whole, by its number; after how many each connection ended
    following, ended = [0], threading.Event()

    def cut(peer):
        peer.grant(), peer.grant()
        first = max(0, following[0] - chance.randint(-3, 5))
        count = chance.randint(1, 12)
        data, ends = b"", []
        while count > 0:
            several = min(count, chance.randint(1, 4))
            points = [trade(first + len(ends) + place) for place in range(several)]
            data += framed(f'{{"points":[{",".join(points)}]}}')
            ends += [len(data)] * several
            count -= several
        # At least an event, so that each connection is one that served.
        at = chance.randint(ends[0], len(data))
        peer.connection.sendall(data[:at])
        whole = [first + place for place, end in enumerate(ends) if end <= at]
        # What was sent already is a replay; what was left out before may come late.
        sent.extend(number for number in whole if number not in sent)
        following[0] = max(following[0], whole[-1] + 1)
        breaks.append(len(sent))
        peer.connection.shutdown(socket.SHUT_WR)

    def last(peer):
        peer.grant(), peer.grant()
        sent.append(following[0] + 10)
        ended.set()
        peer.connection.sendall(framed(f'{{"points":[{trade(sent[-1])}]}}'))
        peer.stay()

    with playing(*[cut] * CUTS, last) as (url, _):
        client = mp.Client("key", url, check_symbols=False)
        with client.stream(CHANNEL, backoff=(1e-6, 1e-6), batches=batches) as stream:
            items = []
            for item in stream:
                items.append(item)
                if ended.is_set() and str(sent[-1]) in {row[0] for row in rows([item])[0]}:
                    break
            assert stream.reconnects == CUTS
    received, gaps = rows(items)
    assert received == [expected(number) for number in sent]
    # One for each cut, after all that its connection sent and before what the next one did.
    assert [place for place, _ in gaps] == breaks
    assert {gap.attempts for _, gap in gaps} == {1}


@pytest.mark.parametrize("batches", [False, True])
def test_cuts_of_the_local_service_are_reported_and_what_is_missing_lies_in_them(batches):
    """It replays nothing: what it sent while no connection stood is missing, and a gap says so."""
    cuts = 20
    with mp.LocalService(now="2026-04-22T18:00:00", speed=0) as service:
        key = service.keys["unlimited"]
        settings = {"clock": service.now, "check_symbols": False}
        with (
            cutting(service.url, random.Random(7), cuts) as url,
            mp.Client(key, service.url, **settings).stream(CHANNEL, queue=1_000_000) as uncut,
            mp.Client(key, url, **settings).stream(CHANNEL, backoff=(1e-6, 1e-6), batches=batches) as stream,
        ):
            items = []
            while stream.reconnects < cuts:
                if stream.state == "open":
                    service.advance(60)
                items += stream.poll(0.2)
            # Both send what comes now: the end of what is compared.
            service.advance(60)
            end = (service.now() - 1) * 1e9
            everything = []
            while not everything or everything[-1].time.astype(int) < end - 30e9:
                everything += uncut.poll(60)
            last = everything[-1].id
            while last not in {row[0] for row in rows(items[-3:])[0]}:
                items += stream.poll(60)
    received, gaps = rows(items)
    whole = [(one.id, one.time.astype(int), one.price, one.side) for one in everything]
    received = received[: [row[0] for row in received].index(last) + 1]
    assert len(gaps) == cuts and len({row[0] for row in received}) == len(received)
    came = {row[0] for row in received}
    assert [row for row in whole if row[0] in came] == received
    missing = [row for row in whole if row[0] not in came]
    spans = [(gap.start.astype(int), gap.end.astype(int)) for _, gap in gaps]
    assert missing and all(any(start <= row[1] <= end for start, end in spans) for row in missing)
