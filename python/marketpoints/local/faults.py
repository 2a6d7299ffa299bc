"""Fault injection: a local service that is slow, refuses, breaks off or lies, for tests of error handling."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from .. import _engine
from ..common.arguments import between, count as positive, flag, names, number, text
from ..common.display import safe_repr
from ..common.signatures import hinted_keywords
from ..errors import InvalidRequest

__all__ = ["FaultRule", "Faults"]


class FaultRule:
    """One fault that was set. A context manager: leaving it removes the fault."""

    def __init__(self, rule: _engine.FaultRule, text: str) -> None:
        self._rule = rule
        self._text = text

    @property
    def seen(self) -> int:
        """Requests that this rule has hit."""
        return self._rule.seen

    @property
    def active(self) -> bool:
        """Whether it can still hit: False after its ``count``, :meth:`remove` or :meth:`Faults.clear`."""
        return self._rule.active

    def remove(self) -> None:
        """Removes it. A second call does nothing."""
        self._rule.remove()

    def __enter__(self) -> "FaultRule":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    @safe_repr
    def __repr__(self) -> str:
        return f"<FaultRule {self._text}, {self.seen} seen, {'active' if self.active else 'gone'}>"


class Faults:
    """Injected faults in the answers of one :class:`~marketpoints.LocalService`; none until :meth:`set`.

    Only this object switches them: no request that comes over the network does.

    >>> import marketpoints as mp
    >>> with mp.LocalService() as service:
    ...     refused = service.faults.set(status=503, path="/v1/points", count=2)
    ...     client = service.client()  # retries, so that the caller sees nothing of it
    ...     _ = client.candles("BINANCE_FUTURES", "BTCUSDT", "1h", period=3600)
    ...     refused.seen
    2
    """

    def __init__(self, faults: _engine.Faults) -> None:
        self._faults = faults

    @hinted_keywords
    def set(
        self,
        *,
        path: str = "",
        latency: float | None = None,
        status: int | None = None,
        retry_after: int | None = None,
        cut_body: int | None = None,
        drop: bool = False,
        headers: Mapping[str, str | None] | None = None,
        probability: float = 1.0,
        count: int | None = None,
        seed: int | None = None,
    ) -> FaultRule:
        """Adds a fault, after those that are set.

        Of ``status``, ``cut_body``, ``drop`` and ``headers`` a rule has one, with or without ``latency``. Of the rules
        that hit a request every latency counts, and of the other faults the one that was set first.

        Args:
            path: Start of the paths it concerns, such as ``/v1/points``; all by default. One that starts no path of the
                service is refused: it would never hit.
            latency: Seconds that a request waits before it is served or has its fault.
            status: Answers 429 or 500 to 599 with an error body; nothing is charged.
            retry_after: Seconds that a 429 asks to wait (default: 1).
            cut_body: The request is served and charged, but the connection ends after so many bytes of the body, and
                in any case before its last one.
            drop: Closes the connection without an answer; nothing is served or charged.
            headers: The request is served and charged; these headers then take the place of the answer's own. None as
                a value leaves the header out.
            probability: Of each request to be hit, 0 to 1.
            count: Requests to hit; then the rule is gone. Without it there is no end.
            seed: Starts the random sequence of all rules anew. The same seed, rules and requests in the same order give
                the same faults; a service starts with seed 0.

        Returns:
            The rule: it counts what it hits, and can be removed.

        Raises:
            InvalidRequest: An argument is not valid, or nothing, or too much at once, is to go wrong.
        """
        if retry_after is not None and status != 429:
            raise InvalidRequest("retry_after goes with status=429")
        replaced = None if headers is None else _header_texts(headers)
        delay, chance = number(latency, "latency"), number(probability, "probability")
        rule = self._faults.add(
            text(path, "path") or "",
            probability=1.0 if chance is None else chance,
            count=positive(count, "count"),
            latency=0.0 if delay is None else delay,
            status=None if status is None else _status(status),
            retry_after=1 if retry_after is None else between(retry_after, "retry_after", 0, 2**32 - 1),
            cut_body=None if cut_body is None else between(cut_body, "cut_body", 0, 2**63 - 1),
            drop=flag(drop, "drop"),
            headers=replaced,
        )
        if seed is not None:
            self.seed(seed)
        shown: dict[str, Any] = {"path": path, "latency": latency, "status": status, "retry_after": retry_after}
        shown |= {"cut_body": cut_body, "drop": drop, "headers": headers, "probability": probability, "count": count}
        words = ", ".join(f"{name}={value!r}" for name, value in shown.items() if value not in (None, False, "", 1.0))
        return FaultRule(rule, words)

    def seed(self, seed: int) -> None:
        """Starts the random sequence of ``probability`` anew."""
        self._faults.seed(between(seed, "seed", 0, 2**64 - 1))

    def clear(self) -> None:
        """Removes every rule; the service answers as it should again."""
        self._faults.clear()

    @property
    def seen(self) -> int:
        """Requests that were hit since the service started, by any rule."""
        return self._faults.seen

    @safe_repr
    def __repr__(self) -> str:
        return f"<Faults, {self.seen} seen>"


def _status(status: int) -> int:
    """A status that a fault may have.

    Raises:
        InvalidRequest: It is none of them.
    """
    try:
        return 429 if status == 429 else between(status, "status", 500, 599)
    except InvalidRequest:
        raise InvalidRequest(f"status: {status!r} is neither 429 nor one of 500 to 599") from None


def _header_texts(headers: object) -> list[tuple[str, str | None]]:
    """Headers by name; None for one that is left out.

    Raises:
        InvalidRequest: They are no mapping of names to texts.
    """
    if not isinstance(headers, Mapping):
        raise InvalidRequest(f"headers: a {type(headers).__name__} is no mapping of names to texts")
    named = [(names([name], "headers")[0], value) for name, value in headers.items()]
    return [(name, text(value, "headers")) for name, value in named]
