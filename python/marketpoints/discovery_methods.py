"""The methods of discovery and of the budget (specification, section 4.2); every call weighs 0."""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from .arguments import Extra, Names, count, names, pairs, text
from .connection import Connection
from .records import Market, Records, Usage, numbers

__all__ = ["DiscoveryMethods"]

MarketsAnswer = TypeVar("MarketsAnswer", covariant=True)
NamesAnswer = TypeVar("NamesAnswer", covariant=True)
SizesAnswer = TypeVar("SizesAnswer", covariant=True)
UsageAnswer = TypeVar("UsageAnswer", covariant=True)


class DiscoveryMethods(Connection, Generic[MarketsAnswer, NamesAnswer, SizesAnswer, UsageAnswer]):
    """What there is to ask for, and what asking may still cost."""

    def usage(self) -> UsageAnswer:
        """The service's own account of the budget (``/v1/usage``, section 2.4).

        Raises:
            AuthenticationError: The service does not know the key.
            TransportError: No complete answer arrived.
        """
        answer: UsageAnswer = self._ask("usage", {}, lambda record: numbers(record, Usage))
        return answer

    def markets(
        self,
        *,
        exchange: Names = None,
        coin: Names = None,
        category: Names = None,
        type: Names = None,  # noqa: A002 - the wire's own name
        symbol_filter: str | None = None,
        limit: int | None = None,
        extra: Extra = None,
    ) -> MarketsAnswer:
        """The markets that pass the filters (``/v1/markets``, section 4.2), page by page.

        Args:
            exchange: Exchange identifiers.
            coin: Base assets.
            category: ``SPOT``, ``PERPETUAL`` and so on.
            type: Data types that a market must have.
            symbol_filter: Text to look for in symbols, coin names and titles, in any case.
            limit: Most markets to return; None returns all.
            extra: Further parameters by wire name, passed through.
        """
        filters = {
            "exchanges": names(exchange, "exchange"),
            "coins": names(coin, "coin"),
            "categories": names(category, "category"),
            "types": names(type, "type"),
            "symbol_filter": text(symbol_filter, "symbol_filter"),
            "limit": count(limit, "limit"),
            "extra": pairs(extra),
        }
        answer: MarketsAnswer = self._ask("markets", filters, _markets)
        return answer


def _markets(entries: Sequence[Mapping[str, Any]]) -> Records[Market]:
    return Records([Market.from_wire(entry) for entry in entries])
