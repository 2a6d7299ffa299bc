"""Dumps as they are delivered, made of random rows that are the same in every run."""

import gzip
import math
import random
from datetime import datetime, timezone

from support import independent


def write_dump(path, header, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join([header, *lines]) + "\n"
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)


def day_start(day):
    return int(datetime.fromisoformat(day).replace(tzinfo=timezone.utc).timestamp()) * 1_000_000


DAY = "2024-03-01"
START = day_start(DAY) // 1_000_000
CHAIN = (
    "exchange,symbol,timestamp,local_timestamp,type,strike_price,expiration,open_interest,last_price,bid_price,"
    "bid_amount,bid_iv,ask_price,ask_amount,ask_iv,mark_price,mark_iv,underlying_index,underlying_price,delta,gamma,"
    "vega,theta,rho"
)


def make_trades(folder, exchange, symbol, seed):
    """Two days of trades, one file plain and one gzip; equal timestamps, quiet hours, one-sided minutes."""
    rng = random.Random(seed)
    for day, name in (("2024-03-01", "2024-03-01.csv"), ("2024-03-02", "2024-03-02.csv.gz")):
        time, price, lines = day_start(day) + 5_000, 100.0, []
        while time < day_start(day) + 86_400_000_000 - 1:
            price = round(max(1.0, price + rng.gauss(0, 0.3)), 2)
            amount = rng.choice([1, 250, round(rng.expovariate(1), 6), 0.000001])
            side = rng.choice(["buy", "sell", "buy"])
            lines.append(f"{exchange.lower()},{symbol},{time},{time + 9},{len(lines)},{side},{price},{amount}")
            time += rng.choice([0, 0, 1, 900_000, 47_000_000, 61_000_000, 900_000_000])
        header = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount"
        write_dump(folder / "trades" / exchange / symbol / name, header, lines)


def make_book(folder, exchange, symbol, seed):
    """Ten minutes of a book: a snapshot, deltas with deletions, a second snapshot, a silent minute."""
    rng = random.Random(seed)
    start, lines = day_start("2024-03-01"), []

    def line(time, snapshot, side, index, amount):
        price = f"{index / 100:.2f}"
        lines.append(f"{exchange.lower()},{symbol},{time},{time + 1},{str(snapshot).lower()},{side},{price},{amount}")

    for at in (start + 7, start + 360_000_000):
        for offset in range(1, 80):
            line(at, True, "bid", 10_000 - offset, rng.randint(1, 999) / 8)
            line(at, True, "ask", 10_000 + offset, rng.randint(1, 999) / 8)
        for step in range(400):
            time = at + 600_000 * (step + 1)
            if time // 60_000_000 == (start + 120_000_000) // 60_000_000:
                continue  # a minute without any event
            side = rng.choice(["bid", "ask"])
            index = 10_000 + rng.randint(1, 90) * (1 if side == "ask" else -1)
            line(time, False, side, index, rng.choice([0, rng.randint(1, 999) / 8]))
    header = "exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price,amount"
    write_dump(folder / "incremental_book_L2" / exchange / symbol / "2024-03-01.csv.gz", header, lines)


def make_snapshots(folder, depth, seed):
    """Rows of whole books: levels come and go, some books are short, rows swap places, two minutes are silent."""
    rng = random.Random(seed)
    header = "exchange,symbol,timestamp,local_timestamp," + ",".join(
        f"{side}[{level}].{part}" for level in range(depth) for side in ("asks", "bids") for part in ("price", "amount")
    )
    lines, middle, time = [], 10_000, START * 10**6 + 300_000
    while time < (START + 900) * 10**6:
        middle += rng.choice([0, 0, 0, -1, 1])
        sides = {}
        for side, sign in (("asks", 1), ("bids", -1)):
            count = rng.choice([depth, depth, depth, depth - 1, 1, 0])
            ticks = sorted(rng.sample(range(1, 3 * depth), count))
            sides[side] = [(f"{(middle + sign * tick) / 100:.2f}", rng.randint(1, 999) / 8) for tick in ticks]
        fields = []
        for level in range(depth):
            for side in ("asks", "bids"):
                fields += map(str, sides[side][level]) if level < len(sides[side]) else ["", ""]
        lines.append(f"bybit,XRPUSDT,{time},{time + 9},{','.join(fields)}")
        time += rng.choice([0, 100_000, 900_000, 7_000_000])
        if time // 60_000_000 % 15 in (4, 5):
            time += 120_000_000
    for index in range(0, len(lines) - 9, 10):  # late by a few rows
        lines[index], lines[index + 3] = lines[index + 3], lines[index]
    path = folder / f"book_snapshot_{depth}" / "BYBIT" / "XRPUSDT" / f"{DAY}.csv.gz"
    write_dump(path, header, lines)
    return path


def make_chain(folder, seed):
    """Two underlyings over two hours: expiries around three of the four tenors, moving forwards, gaps, late rows."""
    rng = random.Random(seed)
    lines = []
    for root, middle, expiries in (("BTC", 60_000, (2, 6, 9, 27, 55, 118)), ("SOL_USDC", 120, (5, 33, 70))):
        for second in range(-90, 7_200, 1):
            if rng.random() < 0.6 or (root == "SOL_USDC" and 600 < second < 5_400):
                continue  # the second underlying is silent for longer than a quote counts
            days = rng.choice(expiries)
            kind = rng.choice(["call", "put"])
            forward = middle * (1 + 0.0002 * days + 0.01 * math.sin(second / 900))
            strike = middle * rng.choice([0.5, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.4, 2.0])
            money = math.log(strike / forward) / math.sqrt(days / 365)
            iv = 55 + 0.04 * days - 6 * money + 9 * money**2 + rng.gauss(0, 0.2)
            delta = 0.5 * (1 + math.erf((-money / (iv / 100) + iv / 100 * math.sqrt(days / 365) / 2) / math.sqrt(2)))
            delta = round(delta - (kind == "put"), 5)
            time = (START + second) * 10**6 + rng.randint(0, 999_999)
            fields = [f"{iv:.2f}", "SYN", f"{forward:.4f}", str(delta)]
            for place, chance in ((0, 0.03), (2, 0.05), (3, 0.05)):
                if rng.random() < chance:
                    fields[place] = ""
            if rng.random() < 0.02:
                fields[3] = "0"  # how the venue spells a delta that it did not compute
            expiry = (START + days * 86_400 + 28_800) * 10**6
            late = rng.choice([0, 0, 0, 40_000_000, 150_000_000])
            row = f"deribit,{root}-X-{strike:g}-{kind[0].upper()},{time},{time + late},{kind},{strike:g},{expiry},1,"
            lines.append((time + late, f"{row},,,,,,,0.01,{','.join(fields)},0,0,0,0"))
    lines.sort(key=lambda line: line[0])  # dumps are in order of arrival
    path = folder / "options_chain" / "DERIBIT" / "OPTIONS" / f"{DAY}.csv.gz"
    write_dump(path, CHAIN, [text for _, text in lines])
    return list(independent.rows(path))


SUPPLY_FIELDS = {
    "marketcap": "marketcap",
    "first_marketcap": "firstMarketcap",
    "marketcap_dominance_percent": "marketcapDominancePercent",
    "circulating_supply": "circulatingSupply",
    "total_supply": "totalSupply",
    "max_supply": "maxSupply",
    "total_value_locked": "totalValueLocked",
    "fully_diluted_valuation": "fullyDilutedValuation",
    "chain": "chain",
    "contract_address": "contractAddress",
    "src_marketcap_rank": "srcMarketcapRank",
    "total_volume": "totalVolume",
    "usd_price": "usdPrice",
}


def make_supply(path):
    """Nine days of two coins, one of them on two chains; a day is missing, some figures are unknown."""
    rng = random.Random(11)
    lines = []
    for day in (0, 1, 2, 4, 5, 8):
        at = (START + 86_400 * day + 1_800) * 10**6
        cap = 1e12 + day * 1e9
        dominance = "" if day == 4 else f"{50 + day / 8}"
        lines.append(
            f'BTC,"Bitcoin, the coin",{at},{cap},,{dominance},19700000,19700000,21000000,4e9,1.9e12,1,3e10,'
            f"{60000 + day},BITCOIN,"
        )
        for chain, contract in (("ETHEREUM", "0x51"), ("ARBITRUM", "0xf9")):
            locked = rng.randint(1, 9) * 1e6
            lines.append(f"LINK,Chainlink,{at},1e10,8e9,0.5,6e8,,1e9,{locked},,15,4e8,18.5,{chain},{contract}")
    columns = [name for name in SUPPLY_FIELDS if name not in ("chain", "contract_address")]
    write_dump(path, f"coin,token_name,timestamp,{','.join(columns)},chain,contract_address", lines)
    return list(independent.rows(path))
