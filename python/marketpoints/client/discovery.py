"""The methods of discovery and of the budget (specification, section 4.2); every call weighs 0."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar

from .. import _engine
from ..common.arguments import Extra, Names, data_type, flag, names, pairs, rows, text
from ..common.signatures import checked_keywords, hinted_keywords
from ..common.suggest import did_you_mean
from ..errors import InvalidRequest
from ..records.markets import Market
from ..records.plan import Usage, numbers
from ..records.tables import Records
from .base import Connection, settled
from .empty_answers import why_no_market

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["DiscoveryMethods"]

#: The categories of the supplement, section 1.
CATEGORIES = _engine.vocabulary()["category"]
# Most letters that a typo of one adds.
SLIP = 2
MarketsAnswer = TypeVar("MarketsAnswer", covariant=True)
NamesAnswer = TypeVar("NamesAnswer", covariant=True)
SizesAnswer = TypeVar("SizesAnswer", covariant=True)
UsageAnswer = TypeVar("UsageAnswer", covariant=True)


class ListFilters(TypedDict, total=False):
    """The filters that every list takes (section 4.2); :meth:`marketpoints.Client.coins` says what each is."""

    type: Names
    exchange: Names
    category: Names
    coin: Names
    raw_symbol: Names
    normalized_symbol: Names
    extra: Extra


class DiscoveryMethods(Connection, Generic[MarketsAnswer, NamesAnswer, SizesAnswer, UsageAnswer]):
    """Discovery, and the budget."""

    def usage(self) -> UsageAnswer:
        """The service's own account of the budget (``/v1/usage``, section 2.4).

        Raises:
            AuthenticationError: The service does not know the key.
            TransportError: No complete answer arrived.
        """
        answer: UsageAnswer = self._ask("usage", dict, lambda record: numbers(record, Usage))
        return answer

    @hinted_keywords
    def markets(
        self,
        *,
        exchange: Names = None,
        coin: Names = None,
        category: Names = None,
        type: Names = None,  # noqa: A002 - the wire's own name
        symbol_filter: str | None = None,
        sort_by: str | None = None,
        sort_direction: str | None = None,
        distinct: bool = False,
        limit: int | None = None,
        extra: Extra = None,
    ) -> MarketsAnswer:
        """The markets that pass the filters (``/v1/markets``, section 4.2), page by page.

        Args:
            exchange: Exchange identifiers.
            coin: Base assets.
            category: ``SPOT``, ``PERPETUAL`` and so on.
            type: Data types that a market must have, by wire name or by a series method's.
            symbol_filter: Text to look for in symbols, coin names and titles, in any case.
            sort_by: VOLUME_24H, PRICE_CHANGE_24H, PCT_FROM_ATH, MARKET_SYMBOL_OI_CHANGE_24H, MARKET_SYMBOL_ATR_PERCENT,
                MARKET_SYMBOL_MARKETCAP or AVAILABLE_SINCE, in any case; None leaves the order to the service.
            sort_direction: ``"asc"``, ``"desc"`` or a wire name; None leaves it to the service.
            distinct: One market for each normalized symbol, that of the highest ranked exchange.
            limit: Most markets to return; None returns all.
            extra: Further parameters by wire name, passed through.

        Raises:
            InvalidRequest: An argument is not valid; nothing was sent, or the service answered 400.
        """

        def filters() -> dict[str, Any]:
            return {
                "exchanges": names(exchange, "exchange"),
                "coins": names(coin, "coin"),
                "categories": _categories(category),
                "types": _types(type),
                "symbol_filter": text(symbol_filter, "symbol_filter"),
                "sort_by": text(sort_by, "sort_by"),
                "sort_direction": text(sort_direction, "sort_direction"),
                "distinct": flag(distinct, "distinct"),
                "limit": rows(limit),
                "extra": pairs(extra),
            }

        given = settled(filters)

        def read(entries: Sequence[Mapping[str, Any]]) -> Records[Market]:
            return Records([Market.from_wire(entry) for entry in entries], Market, why_empty=why_no_market(given()))

        answer: MarketsAnswer = self._ask("markets", lambda: {"filters": given()}, read)
        return answer

    @checked_keywords(ListFilters)
    def coins(  # noqa: D417 - its arguments stand in ListFilters
        self, **filters: "Unpack[ListFilters]"
    ) -> NamesAnswer:
        """Base assets (``/v1/coins``).

        Args:
            type: Only what has one of these data types, by wire name or by a series method's.
            exchange: Only what trades on one of these exchanges.
            category: Only markets of these categories.
            coin: Only these base assets.
            raw_symbol: Only these exchange-native symbols.
            normalized_symbol: Only these cross-exchange symbols.
            extra: Further parameters by wire name, passed through.

        Raises:
            InvalidRequest: An argument is not valid; nothing was sent, or the service answered 400.
        """
        answer: NamesAnswer = self._discovered("coins", filters, list)
        return answer

    @checked_keywords(ListFilters)
    def symbols(self, **filters: "Unpack[ListFilters]") -> NamesAnswer:
        """Exchange-native symbols (``/v1/symbols``); ``type`` is required.

        Filters and errors as in :meth:`coins`.
        """
        answer: NamesAnswer = self._discovered("symbols", filters, list)
        return answer

    @checked_keywords(ListFilters)
    def normalized_symbols(self, **filters: "Unpack[ListFilters]") -> NamesAnswer:
        """Cross-exchange symbols such as ``BTC-USDT`` (``/v1/normalized-symbols``); ``type`` is required.

        Filters and errors as in :meth:`coins`.
        """
        answer: NamesAnswer = self._discovered("normalized-symbols", filters, list)
        return answer

    @checked_keywords(ListFilters)
    def block_sizes(self, **filters: "Unpack[ListFilters]") -> SizesAnswer:
        """Recommended heights of a heatmap's price block in the market's quote (``/v1/block-sizes``).

        For pictures of 4K; those of HD take five times as much. ``[0.0]`` where the service has no data.

        Filters and errors as in :meth:`coins`.
        """
        answer: SizesAnswer = self._discovered("block-sizes", filters, _sizes)
        return answer

    @checked_keywords(ListFilters)
    def tenors(self, **filters: "Unpack[ListFilters]") -> NamesAnswer:
        """Tenors of option summaries (``/v1/tenors``).

        Filters and errors as in :meth:`coins`.
        """
        answer: NamesAnswer = self._discovered("tenors", filters, list)
        return answer

    @checked_keywords(ListFilters)
    def exchanges(self, **filters: "Unpack[ListFilters]") -> NamesAnswer:
        """Exchange identifiers (``/v1/exchanges``).

        Filters and errors as in :meth:`coins`.
        """
        answer: NamesAnswer = self._discovered("exchanges", filters, list)
        return answer

    @checked_keywords(ListFilters)
    def categories(self, **filters: "Unpack[ListFilters]") -> NamesAnswer:
        """Categories of markets, such as ``SPOT`` (``/v1/categories``).

        Filters and errors as in :meth:`coins`.
        """
        answer: NamesAnswer = self._discovered("categories", filters, list)
        return answer

    @checked_keywords(ListFilters)
    def types(self, **filters: "Unpack[ListFilters]") -> NamesAnswer:
        """Data types (``/v1/types``).

        Filters and errors as in :meth:`coins`.
        """
        answer: NamesAnswer = self._discovered("types", filters, list)
        return answer

    def _discovered(self, name: str, filters: ListFilters, read: Callable[[Any], Any]) -> Any:
        return self._ask("discover", settled(lambda: {"list": name, "filters": _filters(filters)}), read)


def _filters(given: ListFilters) -> list[tuple[str, str]]:
    """The common filters (section 4.2) by wire name."""
    wire = {
        "type": _types(given.get("type")),
        "exchange": names(given.get("exchange"), "exchange"),
        "category": _categories(given.get("category")),
        "coin": names(given.get("coin"), "coin"),
        "rawSymbol": names(given.get("raw_symbol"), "raw_symbol"),
        "normalizedSymbol": names(given.get("normalized_symbol"), "normalized_symbol"),
    }
    return pairs(wire) + pairs(given.get("extra"))


def _types(type: Names) -> list[str]:  # noqa: A002 - the wire's own name
    return [data_type(name) for name in names(type, "type")]


def _categories(category: Names) -> list[str]:
    """Categories, of which the service adds some: only misspelt known ones are refused (supplement, section 1)."""
    given = names(category, "category")
    for name in given:
        if name in CATEGORIES:
            continue
        near = _engine.closest(name, CATEGORIES)
        # A longer name that starts like a known one, such as OPTION_COMBO, may be new; a shorter one is half of it.
        if near is not None and len(name) <= len(near) + SLIP:
            raise InvalidRequest(f"category {name!r} is not known{did_you_mean(near)}")
    return given


def _sizes(sizes: Sequence[float]) -> list[float]:
    return [float(size) for size in sizes]
