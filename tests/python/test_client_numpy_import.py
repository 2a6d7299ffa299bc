"""The engine imports NumPy at its first arrays. A signal may come meanwhile."""

import signal
import subprocess
import sys
import textwrap

import pytest

from support.children import run

#: A signal comes in the midst of NumPy's import, or as the engine is about to read its table of C functions.
FIRST_ARRAYS = """
    import signal, sys
    import marketpoints as mp

    def interrupt():
        interrupts.append(1)
        signal.raise_signal(signal.{name})

    interrupts, rows = [], []
    {when}
    with mp.LocalService(now="2026-06-01T12:00") as service, service.client(check_symbols=False) as client:
        ask = lambda: len(client.candles("BINANCE_FUTURES", "BTCUSDT", "1m", period=3600).only)
        signal.signal(signal.SIGUSR1, lambda *_: rows.append(ask()))
        assert interrupts == []
        try:
            rows.append(ask())
        except KeyboardInterrupt:
            print("interrupted")
            rows.append(ask())
    print(rows, interrupts)
"""
MOMENTS = {
    "while NumPy is imported": """
    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == "numpy.linalg":
                interrupt()

    sys.meta_path.insert(0, Finder())
""",
    "while its version is read": """
    import numpy.lib

    version = numpy.lib.NumpyVersion
    numpy.lib.NumpyVersion = lambda text: interrupt() or version(text)
""",
}


@pytest.mark.parametrize("when", MOMENTS.values(), ids=MOMENTS)
@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="there is no such signal here")
def test_a_handler_of_a_signal_may_ask(when):
    assert run(FIRST_ARRAYS.format(name="SIGUSR1", when=when)) == "[60, 60] [1]\n"


@pytest.mark.parametrize("when", MOMENTS.values(), ids=MOMENTS)
def test_ctrl_c_is_a_keyboard_interrupt_and_the_next_call_works(when):
    assert run(FIRST_ARRAYS.format(name="SIGINT", when=when)) == "interrupted\n[60] [1]\n"


def test_without_numpys_c_functions_the_error_says_so():
    code = """
        import numpy.lib
        import marketpoints as mp

        numpy.lib.NumpyVersion = None
        with mp.LocalService(now="2026-06-01T12:00") as service, service.client(check_symbols=False) as client:
            try:
                client.candles("BINANCE_FUTURES", "BTCUSDT", "1m", period=3600)
            except ImportError as error:
                print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "NumPy's C functions cannot be found\n"), done.stderr


def test_in_the_midst_of_its_own_import_of_numpy_a_thread_gets_no_arrays():
    code = """
        import sys
        import marketpoints as mp

        class Finder:
            def find_spec(self, name, path=None, target=None):
                if name == "numpy.linalg":
                    try:
                        client.candles("BINANCE_FUTURES", "BTCUSDT", "1m", period=3600)
                    except ImportError as error:
                        print(error)

        with mp.LocalService(now="2026-06-01T12:00") as service, service.client(check_symbols=False) as client:
            assert "numpy" not in sys.modules
            sys.meta_path.insert(0, Finder())
            import numpy
            sys.meta_path.pop(0)
            print(len(client.candles("BINANCE_FUTURES", "BTCUSDT", "1m", period=3600).only))
    """
    assert run(code) == "NumPy is not imported yet: a handler of a signal came while it was\n60\n"


def test_a_module_that_asks_while_it_is_imported_is_not_waited_for(tmp_path):
    (tmp_path / "strategy.py").write_text("from __main__ import ask\n\nROWS = ask()\n", "utf-8")
    code = f"""
        import sys
        import marketpoints as mp

        class Finder:
            def find_spec(self, name, path=None, target=None):
                if name == "numpy.linalg":
                    import strategy  # as NumPy does if the user's module has the name of one that it needs

        sys.path.insert(0, {str(tmp_path)!r})
        sys.meta_path.insert(0, Finder())
        with mp.LocalService(now="2026-06-01T12:00") as service, service.client(check_symbols=False) as client:
            ask = lambda: len(client.candles("BINANCE_FUTURES", "BTCUSDT", "1m", period=3600).only)
            import strategy
            print(strategy.ROWS)
    """
    assert run(code) == "60\n"
