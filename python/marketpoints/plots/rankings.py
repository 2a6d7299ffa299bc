"""Pictures of the prediction markets' records: leaderboards, positions, categories, a market's distributions."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..common.optional import load
from ..errors import SelectionError
from ..printable import printable
from .axes import amounts, blank, kept_width, legend, make, room_between
from .bounds import check
from .colours import DOWN, LINE, QUIET, UP, text_colour
from .labels import plain, short

__all__ = ["KINDS", "rankings"]

#: Rows that one picture has, the largest by amount; height of a row in inches; characters of a label.
ROWS, ROW, LABEL = 25, 0.3, 40
#: Pixels, at 100 to the inch, that a row of given axes needs; what a title in several lines takes of those this narrow.
LEAST, TITLE, NARROW = 15, 50, 400
#: Accounts are counted by cent.
CENTS = 101


def rankings(kind: str, records: Sequence[Any], ax: Any) -> Any:
    """Draws records of a kind; returns the first panel's axes.

    Raises:
        SelectionError: There is no picture of such records.
    """
    draw = KINDS.get(kind)
    if draw is None:
        raise SelectionError(
            f"there is no picture of {kind or 'these'} records, but of {', '.join(KINDS)}; "
            "to_pandas() has their columns"
        )
    return draw(records, ax)


def _money(ax: Any, what: str) -> None:
    formatter = load("matplotlib.ticker").FuncFormatter(lambda value, _: short(value) if value else "0")
    ax.xaxis.set_major_formatter(formatter)
    ax.set_xlabel(what)


def _cut(text: str) -> str:
    text = printable(" ".join(text.split()))  # a name may end in spaces or hold line breaks
    return plain(text if len(text) <= LABEL else f"{text[: LABEL - 1]}…")


def _wallet(address: str) -> str:
    return f"{address[:8]}…{address[-4:]}" if len(address) > 16 else address


def _largest(records: Sequence[Any], of: Callable[[Any], float], ax: Any) -> list[Any]:
    """The largest amounts, gains first, as many as fit into the axes."""
    room = ROWS if ax is None else max(1, min(ROWS, _rows_in(ax)))
    known = [one for one in records if of(one) == of(one)]
    return sorted(sorted(known, key=lambda one: -abs(of(one)))[:room], key=lambda one: -of(one))


def _rows_in(ax: Any) -> int:
    """How many rows given axes have room for."""
    width, height = (length * 100 / ax.figure.dpi for length in (ax.bbox.width, ax.bbox.height))
    return int((height - (TITLE if width < NARROW else 0)) // LEAST)


def _bars(ax: Any, names: Sequence[str], values: Sequence[float], notes: Sequence[str], what: str) -> None:
    """Horizontal bars, the first at the top, in the colour of their sign, each with a note."""
    check(what, values, lambda at: f" of {_cut(names[at])}")
    places = list(range(len(values)))
    ax.barh(places, values, color=[UP if value >= 0 else DOWN for value in values], height=0.72)
    ax.set_yticks(places, [_cut(name) for name in names], fontsize="small")
    ax.set_ylim(len(values) - 0.4, -0.6)
    style = {"va": "center", "fontsize": "x-small", "color": text_colour(ax)}
    # A bar to the left has its note at the right of its foot, where nothing is, and not over the name.
    texts = [
        ax.text(max(value, 0.0), place, f" {note}", **style)
        for place, value, note in zip(places, values, notes, strict=True)
    ]
    low, high = min(0.0, *values), max(0.0, *values)
    margin = ((high - low) or 1.0) * 0.02
    ax.set_xlim(low - margin, _end_of_notes(ax, texts, low - margin, high + margin))
    ax.axvline(0, color=text_colour(ax), linewidth=0.6)
    ax.grid(visible=True, axis="x", color=QUIET, alpha=0.15, linewidth=0.6)
    ax.set_axisbelow(True)
    for edge in ("top", "right", "left"):
        ax.spines[edge].set_visible(False)
    ax.tick_params(axis="y", length=0)
    _money(ax, what)


def _end_of_notes(ax: Any, texts: Sequence[Any], low: float, high: float) -> float:
    """The end of an axis of amounts at which the notes beside its bars lie within it."""
    names = max((name.get_window_extent().width for name in ax.get_yticklabels()), default=0.0)
    # What labels take of the axes: of lone ones now, of others when a layout engine draws.
    width = max(min(ax.bbox.width, ax.bbox.x1 - ax.figure.bbox.x0 - names), 1.0) * kept_width(ax)
    ends = [high]
    for text in texts:
        share = min(text.get_window_extent().width / width, 0.8)
        ends.append(low + (text.get_position()[0] - low) / (1 - share))
    return max(ends)


def _height(count: int) -> float:
    return 1.3 + ROW * max(3, min(count, ROWS))


def _title(what: str, shown: int, count: int, of: str) -> str:
    return f"{what}: {_many(count, of)}" if shown == count else f"{what}: the {shown} largest of {count:,} {of}"


def _many(count: int, of: str) -> str:
    one = {"categories": "category"}.get(of, of.removesuffix("s"))
    return f"{count:,} {one if count == 1 else of}"


def leaderboard(records: Sequence[Any], ax: Any) -> Any:
    """Realized profit and loss of each wallet, with the share of positions won."""
    some = _largest(records, lambda one: one.total_realized_pnl, ax)
    ax = make(ax, _height(len(some)))
    one_wallet = len(records) == 1
    title = "trader profile" if one_wallet else _title("leaderboard", len(some), len(records), "wallets")
    ax.set_title(title, loc="left")
    if not some:
        return blank(ax, "no wallets")
    values = [one.total_realized_pnl for one in some]
    notes = [f"{short(one.total_realized_pnl)} · {one.win_rate_by_positions:.0f} % won" for one in some]
    _bars(ax, [_wallet(one.wallet_address) for one in some], values, notes, "realized profit and loss (USD)")
    return ax


def positions(records: Sequence[Any], ax: Any) -> Any:
    """Realized profit and loss of each position, with its entry and exit price beside it."""
    some = _largest(records, lambda one: one.realized_pnl, ax)
    ax = make(ax, _height(len(some)))
    ax.set_title(_title("positions", len(some), len(records), "positions"), loc="left")
    if not some:
        return blank(ax, "no positions")
    room = max(14, min(LABEL, int(ax.bbox.width * 100 / ax.figure.dpi / 15)))
    names = [_of_outcome(one.market_name or one.asset_id, one.outcome_name, room) for one in some]
    values = [one.realized_pnl for one in some]
    place = ax.get_subplotspec()
    beside = None
    if place is not None and ax.bbox.width * 100 / ax.figure.dpi > 420:
        grid = place.subgridspec(1, 2, width_ratios=(2.4, 1), wspace=0.04)
        ax.set_subplotspec(grid[0])
        beside = ax.figure.add_subplot(grid[1], sharey=ax)
    # Beside each other each has two lines, lest the one runs into the other.
    what = "realized profit and loss (USD)" if beside is None else "realized profit\nand loss (USD)"
    _bars(ax, names, values, [short(value) for value in values], what)
    if beside is not None:
        _entries(beside, some)
    return ax


def _of_outcome(market: str, outcome: str, letters: int) -> str:
    """A market's name, shortened if long, and the outcome's."""
    market, room = printable(" ".join(market.split())), max(8, letters - len(outcome) - 3)
    return f"{market if len(market) <= room else market[: room - 1] + '…'} · {outcome}"


def _entries(ax: Any, some: Sequence[Any]) -> None:
    """A line from the mean entry price to the mean exit price; a dot if it is still open."""
    for place, one in enumerate(some):
        sold = one.realized_size > 0
        colour = UP if one.realized_pnl >= 0 else DOWN
        if sold:
            ax.plot([one.avg_price, one.avg_exit_price], [place, place], color=colour, linewidth=1.6)
            ax.plot([one.avg_exit_price], [place], marker="o", color=colour, markersize=5)
        ax.plot([one.avg_price], [place], marker="o", color=colour, markersize=5, markerfacecolor="none")
    ax.set_xlim(-0.02, 1.02)
    ax.xaxis.set_major_formatter(load("matplotlib.ticker").PercentFormatter(1.0))
    ax.set_xlabel("mean price:\nentry ○, exit ●")
    ax.tick_params(axis="y", labelleft=False, length=0)
    ax.grid(visible=True, axis="x", color=QUIET, alpha=0.15, linewidth=0.6)
    for edge in ("top", "right", "left"):
        ax.spines[edge].set_visible(False)


def categories(records: Sequence[Any], ax: Any) -> Any:
    """Realized profit and loss of each category, with its number of positions."""
    rows = [row for one in records for row in getattr(one, "category_breakdown", [one])]
    some = _largest(rows, lambda one: one.realized_pnl, ax)
    ax = make(ax, _height(len(some)))
    ax.set_title(_title("categories", len(some), len(rows), "categories"), loc="left")
    if not some:
        return blank(ax, "no categories")
    names = [f"{row.market_category.strip()} · {row.market_sub_category}" for row in some]
    notes = [_many(row.count, "positions") for row in some]
    _bars(ax, names, [row.realized_pnl for row in some], notes, "realized profit and loss (USD)")
    return ax


def outcomes(records: Sequence[Any], ax: Any) -> Any:
    """Accounts by their mean price of entry and of exit, by outcome."""
    ax = make(ax, 3.6)
    ax.set_title("accounts by mean price", loc="left")
    _outcomes(records, ax)
    return ax


def _outcomes(records: Sequence[Any], ax: Any) -> None:
    import numpy as np

    edges, top = np.arange(CENTS + 1) / 100, 0.0
    for number, one in enumerate(records):
        kinds = (
            ("open, entry", one.open_pos_avg_price_distribution, "-"),
            ("closed, exit", one.closed_pos_avg_exit_price_distribution, "--"),
        )
        for what, counts, style in kinds:
            if not len(counts) or len(counts) > CENTS:
                continue
            check("accounts", counts)
            name = f"{_cut(one.outcome_name or one.token_id)}: {what}"
            look = {"linestyle": style, "color": f"C{number % 10}", "linewidth": 1.2, "label": name}
            ax.stairs(counts, edges[: len(counts) + 1], fill=False, **look)
            top = max(top, float(np.nanmax(counts, initial=0.0)))
    if not ax.patches:
        blank(ax, "no distributions of prices")
        return
    ax.set_xlim(0, 1.01)
    ax.set_ylim(0, 1.05 * top or 1.0)
    is_wide = top > 50  # most exits are at 0 and 1: one account elsewhere is to be seen as well
    if is_wide:
        ax.set_yscale("symlog", linthresh=1)
    ax.xaxis.set_major_formatter(load("matplotlib.ticker").PercentFormatter(1.0))
    ax.set_xlabel("mean price")
    amounts(ax, "accounts")
    _plain(ax)
    legend(ax)
    if is_wide:
        ax.set_yticks(_powers(ax, top, least=0))
    else:
        ax.yaxis.set_major_locator(load("matplotlib.ticker").MaxNLocator("auto", integer=True, min_n_ticks=1))


def _plain(ax: Any) -> None:
    ax.grid(visible=True, color=QUIET, alpha=0.15, linewidth=0.6)
    ax.set_axisbelow(True)
    for edge in ("top", "right"):
        ax.spines[edge].set_visible(False)


def summary(records: Sequence[Any], ax: Any) -> Any:
    """The percentiles of realized profit and loss, and accounts by mean price below them."""
    import numpy as np

    if len(records) != 1:
        raise SelectionError(f"{len(records)} market summaries are drawn one by one: summaries[0].plot()")
    one = records[0]
    ax = make(ax, 6.5)
    place = ax.get_subplotspec()
    below = None
    if place is not None:
        room = room_between(ax, 2)
        grid = place.subgridspec(2, 1, hspace=0.06 if room is None else room)
        ax.set_subplotspec(grid[0])
        below = ax.figure.add_subplot(grid[1])
    closed = f"{one.total_closed_positions:,} closed positions, {one.win_rate:.1f} % won"
    ax.set_title(f"{_cut(one.event_id) or 'market'} · {closed}", loc="left")
    values = one.realized_pnl_distribution
    check("realized profit and loss (USD)", values)
    if len(values) and np.isfinite(values).any():
        places = np.arange(len(values))
        for colour, some in ((UP, values >= 0), (DOWN, values < 0)):
            ax.bar(places[some], values[some], width=1.0, color=colour, linewidth=0)
        inner = np.abs(values[np.isfinite(values) & (values != 0)])
        if len(inner) and inner.max() > 100 * np.median(inner):  # a few gains would blank the rest
            ax.set_yscale("symlog", linthresh=max(float(np.quantile(inner, 0.2)), 1e-9))
            ax.set_yticks(_powers(ax, float(inner.max())))
        formatter = load("matplotlib.ticker").FuncFormatter(lambda value, _: short(value) if value else "0")
        ax.yaxis.set_major_formatter(formatter)
        ax.axhline(0, color=text_colour(ax), linewidth=0.6)
        ax.axvline(len(values) / 2 - 0.5, color=LINE, linewidth=0.8, linestyle=":", label="median")
        ax.set_xlim(-0.5, len(values) - 0.5)
        ax.set_xlabel("percentile of closed positions")
        ax.set_ylabel("realized profit\nand loss (USD)")
        _plain(ax)
    else:
        blank(ax, "no distribution of profit and loss")
    if below is not None:
        _outcomes(list(one.outcome_pricing), below)
    return ax


def _powers(ax: Any, largest: float, least: int = -9) -> list[float]:
    """Zero and those powers of ten above and below it whose numbers do not run into each other."""
    low, high = ax.get_ylim()
    powers = [10.0**exponent for exponent in range(least, math.ceil(math.log10(largest)) + 1)]
    found = [0.0]
    for sign in (1.0, -1.0):
        last = 0.0
        for tick in (sign * power for power in powers):
            (_, start), (_, end) = ax.transData.transform([(0.0, last), (0.0, tick)])
            # Axes become lower when their texts are fitted in.
            if abs(end - start) * 100 / ax.figure.dpi >= 1.5 * LEAST:
                last = tick
                found.append(tick)
    return sorted(tick for tick in found if low <= tick <= high)


#: The picture of each kind of record.
KINDS: dict[str, Callable[[Sequence[Any], Any], Any]] = {
    "TraderProfile": leaderboard,
    "UserPosition": positions,
    "CategoryRow": categories,
    "UserCategories": categories,
    "OutcomePricing": outcomes,
    "MarketSummary": summary,
}
