"""marketpoints: market data as NumPy arrays and frames, with a budget that is known before it is spent.

>>> import marketpoints as mp
>>> with mp.LocalService() as service:
...     client = service.client()
...     candles = client.candles("BINANCE_FUTURES", "BTCUSDT", "1h", start="2026-01-01", end="2026-02-01")
...     frame = candles.to_pandas()
"""

import atexit

import lazy_loader

from ._engine import __version__ as __version__, shutdown

# Loading everything takes longer than many a script; what a name needs is loaded when it is first looked up.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

# The engine's threads end before the interpreter does, so that no call in flight touches what is gone.
atexit.register(shutdown)
