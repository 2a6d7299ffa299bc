"""One strategy, computed without a framework: what each of them must agree with.

When the mean of 5 closes is above that of 20 at the end of an hour, hold one coin. A framework buys and sells then,
either at that very close or at the next hour's open; both are at the same moment, the end of the hour.
"""

from dataclasses import dataclass

import numpy as np

FAST, SLOW = 5, 20
CASH, FEE = 1_000_000.0, 0.0005


@dataclass
class Expected:
    rows: np.ndarray
    """The bar at whose end something is traded, ascending: bought, sold, bought, …"""
    times: np.ndarray
    """That end, datetime64[ns]."""
    prices: np.ndarray
    """What each trade costs or brings."""
    equity: np.ndarray
    """Cash and what the coin is worth at each bar's close, fees paid."""

    @property
    def bought(self):
        return self.prices[0::2]

    @property
    def sold(self):
        return self.prices[1::2]


def wanted(closes):
    """Whether the coin is wanted at the end of each bar, from the first one that has a bar before its means."""
    above = [
        bar >= SLOW and closes[bar + 1 - FAST : bar + 1].mean() > closes[bar + 1 - SLOW : bar + 1].mean()
        for bar in range(len(closes))
    ]
    return np.array(above)


def expected(candles, at, fee=FEE):
    """What comes of it when trades are made ``at`` the "close" of the bar or the "open" of the next one."""
    opens, closes, ends = candles["open"], candles["close"], candles.closes_at
    assert (candles.timestamps[1:] == ends[:-1]).all()  # no gaps: the next open is at the end of the bar
    want = wanted(closes)
    cash, coins, rows, prices, equity = CASH, 0, [], [], []
    for bar in range(len(closes)):
        # At the open of this bar what was decided at the end of the one before; at the close what is decided now.
        decided = bar - 1 if at == "open" else bar
        price = opens[bar] if at == "open" else closes[bar]
        if decided >= 0 and want[decided] != bool(coins):
            cash += (price if coins else -price) - fee * price
            coins = 1 - coins
            rows.append(decided)
            prices.append(price)
        equity.append(cash + coins * closes[bar])
    assert len(rows) >= 6 and len(rows) % 2 == 0 and want[-1] == want[-2]  # nothing is open at the end
    return Expected(np.array(rows), ends[rows], np.array(prices), np.array(equity))
