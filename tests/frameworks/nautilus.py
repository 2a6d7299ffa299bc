"""What the tests of both major versions of NautilusTrader share."""

from decimal import ROUND_HALF_EVEN, Decimal

import pytest

try:
    from nautilus_trader.test_kit.providers import TestInstrumentProvider
except ImportError:  # the second one
    from nautilus_trader.testkit.providers import TestInstrumentProvider

__all__ = ["given", "instrument", "shown"]


@pytest.fixture(scope="module")
def instrument():
    return TestInstrumentProvider.btcusdt_perp_binance()


@pytest.fixture
def given(book, instrument, tmp_path):
    """Names that the documents' recipes take beside ``candles``."""
    return {"book": book, "instrument": instrument, "folder": str(tmp_path)}


def shown(value, digits):
    """Rounded as a decimal number; ties to the even digit."""
    return str(Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN))
