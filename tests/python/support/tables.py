"""CSV tables of prediction markets, as they are delivered: positions of wallets."""

import csv
import io
import random

from support import independent
from support.dumps import write_dump

#: A moment after all of them.
NOW = 1_767_000_000
CONDITIONS = [f"0x{digit * 64}" for digit in "abcde"]
COUNTS = [
    f"{name}_count" for name in ("buy", "sell", "split", "merge", "transfer_in", "transfer_out", "conversion_in")
] + ["conversion_out_count"]


def write_table(path, rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    header, *lines = text.getvalue().splitlines()
    write_dump(path, header, lines)
    return list(independent.rows(path))


def asset(market, outcome):
    return f"{'1234567890' * 7}{market}{outcome}"


def make_positions(path, wallets=30, seed=3):
    rng = random.Random(seed)
    rows = []
    for wallet in range(wallets):
        for market, condition in enumerate(CONDITIONS):
            for outcome in range(2):
                if rng.random() < 0.4:
                    continue
                still, price, out = rng.random() < 0.5, rng.randint(0, 100) / 100, rng.randint(0, 100) / 100
                realized = 0 if still and rng.random() < 0.7 else rng.randint(1, 9_999) / 4
                counts = {name: rng.choice(["", 1, 7]) for name in COUNTS}
                rows.append(
                    {
                        "wallet_address": f"0x{wallet:040x}",
                        "asset_id": asset(market, outcome),
                        "condition_id": condition,
                        "unrealized_size": rng.randint(1, 9_999) / 8 if still else 0,
                        "realized_size": realized,
                        "avg_price": price,
                        "avg_exit_price": out if realized else "",
                        "realized_pnl": realized * (out - price),
                        "resolved_price": 1 if (market, outcome) == (1, 0) else "",
                        "latest_open_ts": NOW - rng.randint(1_000, 9_000_000),
                        "prev_hold_duration": "" if still else rng.randint(1, 900_000),
                        "market_name": f"Market {market}, or not?",
                        "outcome_name": ["Yes", "No"][outcome],
                        "category": ["Politics ", "Sports"][market % 2],
                        "sub_category": "",
                        "event_id": f"event {market // 2}",
                    }
                    | counts
                )
    return write_table(path, rows)
