"""Values with as many digits as an instrument's prices and sizes have."""

from decimal import ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import InvalidRequest

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Instrument", "digits", "rounded", "units"]

#: Digits behind the point that NautilusTrader's numbers have at most.
MOST = 16


class Instrument(Protocol):
    """The attributes needed of a framework's instrument."""

    @property
    def price_precision(self) -> int:
        """Digits after the point of a price."""

    @property
    def size_precision(self) -> int:
        """Digits after the point of a size."""


def digits(instrument: Any) -> tuple[int, int]:
    """Digits after the point of an instrument's prices and sizes.

    Raises:
        InvalidRequest: It does not have them.
    """
    precisions = [getattr(instrument, name, None) for name in ("price_precision", "size_precision")]
    if not all(isinstance(one, int) and 0 <= one <= MOST for one in precisions):
        raise InvalidRequest(
            f"instrument: a {type(instrument).__name__} has no price_precision and size_precision from 0 to {MOST}"
        )
    return precisions[0], precisions[1]  # type: ignore[return-value]


def units(values: "npt.NDArray[np.float64]", places: int) -> "npt.NDArray[np.int64]":
    """Values in integer units of the last digit: the nearest to the decimal numbers that they print as, ties to even.

    Raises:
        InvalidRequest: One is no number, or has too many digits for 64 bits.
    """
    import numpy as np

    scaled = values * 10.0**places
    if not (np.abs(scaled) < 2.0**62).all():
        raise InvalidRequest(f"instrument: a value has no {places} digits behind the point in 64 bits")
    whole = np.rint(scaled)
    # The product is not exact: what lies next to the middle of two units is rounded digit by digit.
    near = np.flatnonzero(np.abs(np.abs(scaled - whole) - 0.5) <= 4 * np.spacing(np.abs(scaled)))
    for place in near.tolist():
        exact = Decimal(repr(float(values[place]))).scaleb(places)
        whole[place] = float(exact.to_integral_value(ROUND_HALF_EVEN))
    return whole.astype(np.int64)


def rounded(values: "npt.NDArray[np.float64]", places: int) -> "npt.NDArray[np.float64]":
    """Values rounded to so many decimal digits, as the nearest doubles."""
    made: npt.NDArray[np.float64] = units(values, places) / 10.0**places
    return made
