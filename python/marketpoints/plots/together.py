"""Several results on one time axis: prices with layers over them, and everything else below."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..common.data_types import role
from ..common.protocols import Drawable
from ..common.sequence import ReadOnlySequence
from ..errors import InvalidRequest, SelectionError
from . import axes, bars, candles, labels, lines, overlays, profiles

__all__ = ["Result", "flattened", "same_market", "together"]

Result: TypeAlias = Drawable | Iterable[Drawable | Iterable[Drawable]]

LEVELS = "levels"
#: Heights of panels in inches, and the highest figure.
PRICES, BOOK, VOLUME, BELOW, HIGHEST = 4.2, 5.0, 1.1, 1.6, 76.8


@dataclass
class PricePanel:
    """A panel of prices: its market, and the series drawn on it.

    Attributes:
        base: The lowest layer: a heatmap, market profiles, candles (both sides of one), a volume profile.
        candles: Candles over a heatmap.
        liquidations: Liquidations of the market, by side.
        profiles: Volume profiles at the side.
    """

    base: list[Drawable]
    candles: list[Drawable] = field(default_factory=list)
    liquidations: list[Drawable] = field(default_factory=list)
    profiles: list[Any] = field(default_factory=list)

    def is_of(self, one: Drawable) -> bool:
        """Whether something is of the same market, as far as both are known."""
        return same_market(self.base[0], one)

    @property
    def priced(self) -> list[Drawable]:
        """The candles, on the panel's base or over it."""
        return self.candles or [one for one in self.base if candles.is_candles(one)]


def flattened(results: Iterable[object]) -> list[Drawable]:
    """The series of results, sets of them and lists of either.

    Raises:
        InvalidRequest: Something is no result, or there are none.
        SelectionError: Something has no time axis.
    """
    found: list[Drawable] = []
    for one in results:
        if isinstance(one, (list, tuple)):
            found += flattened(one) if one else []
        elif isinstance(one, ReadOnlySequence) or hasattr(one, "_table"):
            inner = list(one) if isinstance(one, ReadOnlySequence) else []
            if hasattr(one, "_table"):
                what = f"{type(one).__name__} ({one!r})"[:80]
                raise SelectionError(f"{what} has no time axis to share; draw it alone, with its own plot()")
            found += inner
        elif hasattr(one, "timestamps") and hasattr(one, "id"):
            found.append(one)  # type: ignore[arg-type]
        else:
            raise InvalidRequest(
                f"a {type(one).__name__} is no result; give what series methods return, such as client.candles(…)"
            )
    return found


def together(results: Sequence[Drawable], ax: Any, volume: bool) -> Any:
    """Draws results on one time axis; returns the first panel's axes.

    Raises:
        InvalidRequest: There is nothing to draw.
        SelectionError: There is more than fits into one figure.
    """
    if not results:
        raise InvalidRequest("there is nothing to draw; give results, such as mp.plot(candles, liquidations)")
    markets, below = sorted_out(results)
    is_one = all(same_market(results[0], one) for one in results[1:])
    heights: list[float] = []
    headed: list[bool] = []
    for market in markets:
        heights.append(BOOK if LEVELS in market.base[0] else PRICES)
        headed.append(not is_one)
        if _has_volume(market, volume):
            heights.append(VOLUME)
            headed.append(False)
    heights += [max(BELOW, _height(group)) for group in below]
    headed += [not is_one or (not bars.is_bars(group[0]) and len(lines.panels_of(group[0])) > 1) for group in below]
    if sum(heights) > HIGHEST:
        raise SelectionError(
            f"{len(heights)} panels do not fit into one figure; give fewer results, or pick with sel(…)"
        )
    ax = axes.make(ax, max(4.5, sum(heights) + 0.6))
    panels = axes.panels(ax, heights, headed=headed)
    rest = iter(panels)
    for market in markets:
        _market(market, next(rest), next(rest) if _has_volume(market, volume) else None)
    notes: dict[Any, str] = {}
    for group in below:
        panel = next(rest)
        notes[panel] = "" if bars.is_bars(group[0]) else lines.left_out(group, panel).removeprefix(": ")
        _group(group, panel)
    _titles(results, panels, notes, is_one)
    axes.stacked(panels)
    axes.aligned(panels)
    return panels[0]


def same_market(one: Drawable, other: Drawable) -> bool:
    """Whether two results are of one market, as far as their identities are known."""
    left, right = labels.identity_of(one), labels.identity_of(other)
    if left.raw_symbol and right.raw_symbol and left.exchange and right.exchange:
        return (left.exchange, left.raw_symbol) == (right.exchange, right.raw_symbol)
    coins = [each.coin or (each.normalized_symbol or "").partition("-")[0] for each in (left, right)]
    return not all(coins) or coins[0] == coins[1]


def sorted_out(results: Sequence[Drawable]) -> tuple[list[PricePanel], list[list[Drawable]]]:
    """The panels of prices, and the groups of series below them."""
    roles: dict[str, list[Drawable]] = {"candles": [], "profile": [], "base": [], "other": []}
    for one in results:
        roles[_role(one)].append(one)
    of_prices, volumes, bases, others = roles.values()
    markets = [PricePanel([one]) for one in bases]
    for one in of_prices:
        books = [
            market
            for market in markets
            if market.is_of(one) and hasattr(market.base[0], "split") and len(market.base[0]["levels"])
        ]
        both = [
            market
            for market in markets
            if candles.is_candles(market.base[0])
            and market.is_of(one)
            and len(market.base) == 1
            and {market.base[0].id.side, one.id.side} == {"BUY", "SELL"}
            and candles.same_prices([market.base[0], one])
        ]
        if both:
            both[0].base.append(one)
        elif books and not books[0].candles:
            books[0].candles.append(one)
        else:
            markets.append(PricePanel([one]))
    for one in volumes:
        beside = [market for market in markets if market.is_of(one) and role(market.base[0].id.type) != "sessions"]
        if beside:
            beside[0].profiles.append(one)
        else:
            markets.append(PricePanel([one]))
    below: list[list[Drawable]] = []
    for one in others:
        at = [market for market in markets if market.is_of(one) and overlays.has_prices(market.base, market.candles)]
        if bars.is_bars(one) and at:
            at[0].liquidations.append(one)
            continue
        for group in below:
            if group[0].id.type == one.id.type and _is_one(group[0], one):
                group.append(one)
                break
        else:
            below.append([one])
    return markets, below


def _role(one: Drawable) -> str:
    if candles.is_candles(one):
        return "candles"
    if role(one.id.type) == "profile":
        return "profile"
    return "base" if LEVELS in one else "other"


def _is_one(first: Drawable, other: Drawable) -> bool:
    """Whether two of one type go on one axis: sides of one market's liquidations, lines of one unit."""
    if bars.is_bars(first):
        return same_market(first, other) and first.id.side != other.id.side
    return lines.share_units([first, other])


def _has_volume(market: PricePanel, wanted: bool) -> bool:
    return wanted and any(len(one) and "volume" in one for one in market.priced)


def _height(group: Sequence[Drawable]) -> float:
    if bars.is_bars(group[0]):
        return BELOW
    return BELOW * max(1, len(lines.panels_of(group[0])))


def _market(market: PricePanel, ax: Any, below: Any) -> None:
    base = market.base[0]
    if candles.is_candles(base):
        candles.draw_prices(ax, market.base, base)
    elif role(base.id.type) == "profile":
        profile: Any = base
        profiles.profile(profile, ax, None, None, None, 3.0)
    else:
        base.plot(ax=ax)
        for one in market.candles:
            overlays.candles_over(ax, one)
    marks = [mark for one in market.profiles for mark in profiles.aside(ax, one)]
    over, note = overlays.bubbles(ax, market.liquidations, market.base, market.candles)
    overlays.add_to_legend(ax, [*marks[:1], *over], note)
    if below is not None:
        candles.draw_volume(below, market.priced)


def _group(group: Sequence[Drawable], ax: Any) -> None:
    if bars.is_bars(group[0]):
        bars.of_sides(group, ax)
    else:
        lines.lines(group, ax)


def _titles(results: Sequence[Drawable], panels: Sequence[Any], notes: Mapping[Any, str], is_one: bool) -> None:
    """One title for all panels of one market; the axes' labels name the quantities, the notes what is missing.

    Those of several markets keep theirs, and the interval stands in the first if it is that of all.
    """
    if len(panels) == 1:
        return
    intervals = {labels.interval_of(labels.identity_of(one)) for one in results}
    if not is_one:
        for panel in panels[1:] if len(intervals) == 1 else ():
            text = panel.get_title("left").replace("\n", " ")
            panel.set_title(text.replace(f" · {next(iter(intervals))}", ""), loc="left")
        return
    named = next((one for one in results if one.id.raw_symbol or one.id.normalized_symbol), results[0])
    parts = [labels.market_of(labels.identity_of(named)), *(intervals if len(intervals) == 1 else [])]
    panels[0].set_title(" · ".join(part for part in parts if part), loc="left")
    for panel in panels[1:]:
        if panel.get_ylabel():
            panel.set_title(notes.get(panel, ""), loc="left")
