"""Shares of the crypto market (specification, section 2.3: TOKEN_SUPPLY_AGG)."""

from typing import TYPE_CHECKING

from ..common.signatures import hinted_keywords
from ..errors import SelectionError
from .series import Series
from .sets import SeriesSet, as_set

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["altcoin_dominance"]

BITCOIN = "BTC"
SUPPLY, SHARE = "TOKEN_SUPPLY_AGG", "marketcap_dominance_percent"


@hinted_keywords
def altcoin_dominance(supply: Series | SeriesSet) -> "npt.NDArray[np.float64]":
    """Share of all coins but Bitcoin in the crypto market's capitalization, in percent.

    Args:
        supply: Token supply of Bitcoin: ``client.token_supply(interval="1d", coin="BTC", …)``, or a set of one such.

    Returns:
        100 − ``marketcap_dominance_percent``, a value a row: float64 (rows,), NaN where the service sends none.

    Raises:
        SelectionError: It is a series of something else, or a set of none or several.
        InvalidRequest: It is no series.
    """
    series = as_set(supply, "supply").only
    identity = series.id
    if identity.type != SUPPLY or (identity.coin or "").upper() != BITCOIN:
        raise SelectionError(f"{identity}: altcoin dominance needs {SUPPLY} of the coin {BITCOIN}")
    if SHARE not in series:
        raise SelectionError(f"{identity}: the series has no column {SHARE}")
    rest: npt.NDArray[np.float64] = 100.0 - series[SHARE]
    return rest
