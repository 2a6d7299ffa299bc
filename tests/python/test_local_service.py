"""Settings of `LocalService`: its clock, its keys and who may read them, its log, whom it is open to."""

import datetime as dt
import hashlib
import os
import time
import warnings

import numpy as np
import pytest

import marketpoints as mp
from support.wire import get

NOW = "2024-05-06T12:00:30"


@pytest.mark.parametrize(
    "settings",
    [{"port": 99_999}, {"port": -1}, {"port": "80"}, {"seed": -1}, {"host": None}, {"host": 7}, {"access_log": 1}],
)
def test_settings_of_a_service_are_checked(settings):
    with pytest.raises(mp.InvalidRequest, match=next(iter(settings))):
        mp.LocalService(**settings)


@pytest.mark.parametrize("tier", [None, [], 1, "pro"])
def test_a_client_is_of_a_key_or_tier(service, tier):
    with pytest.raises(mp.InvalidRequest, match="tier: "):
        service.client(tier)


def test_the_clock_does_not_run_over_its_end():
    with mp.LocalService(now=NOW) as service:
        before = service.now()
        with pytest.raises(mp.InvalidRequest, match="2261"):
            service.advance(9.1e9)
        assert before <= service.now() < before + 60


@pytest.mark.parametrize("hour", [3600, 3600.0, "1h", "60min", dt.timedelta(hours=1), np.timedelta64(1, "h")])
def test_the_clock_moves_by_any_duration(hour):
    with mp.LocalService(now=NOW, speed=0) as service:
        before = service.now()
        service.advance(hour)
        assert service.now() == before + 3600


@pytest.mark.parametrize("wrong", [None, "soon", "1x", -1, float("nan"), float("inf"), True, 10**400, [1]])
def test_the_clock_moves_by_nothing_else(wrong):
    with mp.LocalService(now=NOW, speed=0) as service:
        before = service.now()
        with pytest.raises(mp.InvalidRequest):
            service.advance(wrong)
        assert service.now() == before


@pytest.mark.parametrize("size", ["1e-15", "1e-300", "5e-324", "1e-9"])
def test_a_step_too_fine_for_doubles_is_refused(size):
    with mp.LocalService(now=1_776_881_400, any_block_size=True) as service:
        book = {"type": "BLOCK_BOOK_SNAPSHOT_AGG", "exchange": "BINANCE_FUTURES", "rawSymbol": "BTCUSDT"}
        key = service.keys["unlimited"]
        refused = get(service, "/v1/points", key, **book, interval="MINUTE", period=60, blockSize=size)
        assert refused.status == 400 and "too fine" in refused.body.decode()


def test_the_hash_of_no_key_is_no_key():
    with pytest.raises(mp.Error, match="empty"):
        mp.LocalService(keys={"nobody": ("free", f"sha256:{hashlib.sha256(b'').hexdigest()}")})


@pytest.mark.parametrize("entry", ["my-secret", ("free",), ("free", "my-secret", 1), ("free", 7), None])
def test_an_entry_of_keys_that_is_none_is_refused_without_the_key(entry):
    with pytest.raises(mp.InvalidRequest, match="'lab' needs a tier and a key") as error:
        mp.LocalService(keys={"lab": entry})
    assert "my-secret" not in str(error.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_log_that_nobody_reads_does_not_hold_the_stop_up(tmp_path):
    pipe = tmp_path / "log"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # opens it, and never reads
    try:
        service = mp.LocalService(access_log=pipe, grace=0.1)
        for _ in range(600):  # more than a pipe holds
            assert get(service, "/v1/coins", service.keys["free"], coin="B" * 200).status == 200
        begun = time.monotonic()
        service.stop()
        assert time.monotonic() - begun < 10
    finally:
        os.close(reader)


# faults.md row 54
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_keys_file_that_others_may_read_is_warned_of(tmp_path, mode):
    keys = tmp_path / "keys"
    keys.write_text("lab advanced mp-lab-key-1\n")
    keys.chmod(mode)
    with pytest.warns(mp.ExposedKeysWarning, match="chmod 600") as caught:
        mp.LocalService(keys=keys).stop()
    assert len(caught) == 1 and ("every user" in str(caught[0].message)) == bool(mode & 0o004)
    assert "mp-lab-key-1" not in str(caught[0].message)
    # A program that takes the warning for an error has no service that nobody can stop.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(mp.ExposedKeysWarning):
            mp.LocalService(keys=keys)


def test_keys_that_only_their_owner_reads_and_hashes_are_no_matter(tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("lab advanced mp-lab-key-1\n")
    keys.chmod(0o600)
    mp.LocalService(keys=keys).stop()
    keys.write_text(f"lab advanced sha256:{'5f' * 32}\n")
    keys.chmod(0o644)
    mp.LocalService(keys=str(keys)).stop()


# faults.md row 54
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "::ffff:0.0.0.0"])
def test_a_service_that_other_machines_reach_is_warned_of(host):
    try:
        with pytest.warns(mp.ExposedServiceWarning, match="open to other machines"):
            mp.LocalService(host=host).stop()
    except mp.Error as error:
        if ":" not in host:
            raise
        pytest.skip(f"no such addresses here: {error}")


# faults.md row 54
@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "127.255.3.4", "::1"])
def test_every_loopback_address_is_this_machine(host):
    try:
        service = mp.LocalService(host=host)  # a warning would be an error
    except mp.Error as error:
        if ":" not in host:
            raise
        pytest.skip(f"no such addresses here: {error}")
    with service, service.client("free") as client:
        assert client.usage().limit > 0
