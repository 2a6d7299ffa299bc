"""The archive in an object store: the same guarantees as in a folder, against a real S3 server."""

import asyncio
import itertools
import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading

import polars
import pyarrow
import pyarrow.parquet
import pytest

import marketpoints as mp
from support import children
from support.archives import END, HOUR, MARKET, between, content, part_files, spent
from support.object_store import ACCESS_KEY, SECRET_KEY, running

DAY = 24 * HOUR
WINDOW = {"start": END - 45 * DAY, "end": END}
numbers = itertools.count()
#: Three requests of a thousand books each, in three files.
BOOKS = ("orderbook_heatmap", "BINANCE_FUTURES", "BTCUSDT", "1m")
BOOK = {"block_size": 200.0, "start": END - 3_000 * 60, "end": END}


@pytest.fixture(scope="module")
def store():
    with running() as server:
        yield server


@pytest.fixture
def environment_of(monkeypatch):
    """Points the environment's variables to a server."""

    def point(server):
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            monkeypatch.delenv(name)
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)

    return point


@pytest.fixture
def bucket(store, environment_of):
    environment_of(store)
    return store.bucket(f"archive-{next(numbers)}")


def test_it_keeps_what_a_folder_keeps(demo, client, bucket, tmp_path):
    far, near = mp.Archive(bucket.url), mp.Archive(tmp_path)
    for query, window in [
        (("side_candles", *MARKET), WINDOW),
        (("orderbook_heatmap", *MARKET), {"block_size": 100.0, "max_depth": 20, "start": END - DAY, "end": END}),
    ]:
        assert far.sync(client, *query, **window) == near.sync(client, *query, **window)
        again = far.sync(client, *query, **window)
        assert (again.requests, again.weight) == (0, 0)
    assert content(far.read("side_candles", *MARKET)) == content(client.side_candles(*MARKET, **WINDOW))
    assert list(far.contents()) == list(near.contents())
    assert far.source == near.source
    assert far.verify() and far.verify().bytes == near.verify().bytes
    # The files themselves are the same, byte for byte.
    local = {str(path.relative_to(tmp_path)): path.read_bytes() for path in part_files(tmp_path)}
    assert {name: bucket.read(name) for name in bucket.parts()} == local
    with pytest.raises(mp.NotArchivedError) as caught:
        far.read("side_candles", *MARKET, start=END - 46 * DAY, end=END)
    assert caught.value.missing == [between(END - 46 * DAY, END - 45 * DAY)]
    assert content(caught.value.results) == content(near.read("side_candles", *MARKET))


def test_some_columns_or_a_window_are_read_without_the_rest(demo, client, bucket, store, tmp_path):
    far, near = mp.Archive(bucket.url), mp.Archive(tmp_path)
    minutes = (("candles", *MARKET[:2], "1m"), {}, {"start": END - 40 * DAY, "end": END})
    books = (BOOKS, {"block_size": 10.0}, {"start": END - DAY, "end": END})
    for query, more, window in (minutes, books):
        far.sync(client, *query, **more, **window)
        near.sync(client, *query, **more, **window)
    hour = {"start": END - 2 * HOUR, "end": END - HOUR}
    for (query, more, _), some, most in [
        (minutes, {"columns": ["close"]}, 0.3),
        (minutes, {"columns": ["close"], **hour}, 0.3),
        (books, hour, 0.7),
    ]:
        store.sent()
        whole = far.read(*query, **more)
        of_whole = store.sent()
        part = far.read(*query, **more, **some)
        of_part = store.sent()
        assert len(whole) and content(part) == content(near.read(*query, **more, **some))
        assert sum(of_part) < most * sum(of_whole), (query, some, of_part, of_whole)
        files = len(of_whole)
        assert len(of_part) <= 4 * files


def test_damage_is_noticed_where_it_is_read(client, bucket, store):
    archive = mp.Archive(bucket.url)
    query = ("candles", *MARKET[:2], "1m")
    archive.sync(client, *query, start=END - 20 * DAY, end=END)
    expected = content(archive.read(*query, columns=["close"]))
    name = bucket.parts()[-1]
    whole = bucket.read(name)
    footer = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(whole)).metadata.row_group(0)
    chunks = [footer.column(place) for place in range(footer.num_columns)]
    places = {chunk.path_in_schema: chunk.data_page_offset + chunk.total_compressed_size // 2 for chunk in chunks}
    for column in ("open", "close", "time"):
        place = places[column]
        bucket.write(name, whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        if column == "open":
            assert content(archive.read(*query, columns=["close"])) == expected
        else:
            with pytest.raises(mp.DamagedFileError):
                archive.read(*query, columns=["close"])
        with pytest.raises(mp.DamagedFileError):
            archive.read(*query)
        assert not archive.verify()
    for body in (whole[:-1], whole + b"more", whole[:100], b""):
        bucket.write(name, body)
        with pytest.raises(mp.DamagedFileError):
            archive.read(*query, columns=["close"])
    bucket.delete(name)
    with pytest.raises(mp.DamagedFileError):
        archive.read(*query, columns=["close"])
    bucket.write(name, whole)
    assert content(archive.read(*query, columns=["close"])) == expected


def test_asked_and_empty_is_kept_too(service, bucket):
    with service.client("unlimited") as client:
        archive = mp.Archive(bucket.url)
        query = ("candles", "BINANCE_FUTURES", "BTCUSDT", "1h")
        window = {"start": 0, "end": 10 * HOUR}
        cost, _ = spent(service, client, lambda: archive.sync(client, *query, **window))
        assert cost > 0
        assert bucket.parts() == []
        cost, done = spent(service, client, lambda: archive.sync(client, *query, **window))
        assert (cost, done.weight) == (0, 0)
        assert len(archive.read(*query, **window)) == 0 or len(archive.read(*query, **window).timestamps) == 0


def test_a_client_reads_through_it_and_pays_once(service, bucket):
    with service.client("unlimited", archive=bucket.url) as client:
        cost, first = spent(service, client, lambda: client.candles(*MARKET, **WINDOW))
        assert cost > 0
        cost, second = spent(service, client, lambda: client.candles(*MARKET, **WINDOW))
        assert cost == 0
        assert client.plan("candles", *MARKET, **WINDOW).weight == 0
        assert content(first) == content(second)


def test_an_async_client_syncs_refreshes_and_verifies_it(service, bucket):
    async def work():
        async with service.async_client("unlimited") as client:
            archive = mp.Archive(bucket.url)
            done = await archive.sync(client, "candles", *MARKET, **WINDOW)
            changed = await archive.refresh(client, "candles", *MARKET, **WINDOW)
            same = await archive.verify(client, "candles", *MARKET, **WINDOW)
            return done, changed, same, await client.candles(*MARKET, **WINDOW), archive.read("candles", *MARKET)

    done, changed, same, answer, kept = asyncio.run(work())
    assert done.rows == changed.rows == 45 * 24
    assert not changed.revisions and not same.revisions
    assert content(answer) == content(kept)


def test_other_programs_read_it(client, bucket, store):
    mp.Archive(bucket.url).sync(client, "side_candles", *MARKET, **WINDOW)
    options = {
        "aws_endpoint_url": store.url,
        "aws_allow_http": "true",
        "aws_region": "us-east-1",
        "aws_access_key_id": ACCESS_KEY,
        "aws_secret_access_key": SECRET_KEY,
    }
    pattern = f"{bucket.url}/type=TRADE_AGG/**/*.parquet"
    frame = polars.scan_parquet(pattern, hive_partitioning=True, storage_options=options).collect()
    for series in client.side_candles(*MARKET, **WINDOW):
        side = frame.filter(side=series.id.side).sort("time")
        assert side["close"].to_numpy().tobytes() == series["close"].tobytes()


CHILD = """
import os, signal, sys
import marketpoints as mp

url, service, key, kill_after, kill = *sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5])
client = mp.Client(key, service, archive_source="twin", clock=lambda: {now})

def progress(done, total):
    print(done, flush=True)
    if done == kill_after:
        os.kill(os.getpid(), kill)

done = mp.Archive(url, lease=1).sync(client, *{books!r}, **{book!r}, progress=progress)
print("weight", done.weight, flush=True)
"""


@pytest.fixture
def twin(service):
    def start(bucket, kill_after=0, kill=signal.SIGKILL):
        code = textwrap.dedent(CHILD).format(now=service.now(), books=BOOKS, book=BOOK)
        arguments = [bucket.url, service.url, service.keys["unlimited"], str(kill_after), str(int(kill))]
        command = [sys.executable, "-c", code, *arguments]
        own = {"MARKETPOINTS_CACHE_DIR"}
        environment = {k: v for k, v in os.environ.items() if k in own or not k.startswith("MARKETPOINTS_")}
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return start


# faults.md row 48
@pytest.mark.parametrize("kill_after", [1, 2])
def test_a_killed_sync_resumes_without_paying_twice(service, twin, bucket, kill_after):
    with service.client("unlimited", archive_source="twin") as client:
        child = twin(bucket, kill_after)
        child.communicate(timeout=100)
        assert child.returncode == -signal.SIGKILL
        archive = mp.Archive(bucket.url, lease=1)
        kept = sum(one.buckets for one in archive.contents())
        assert kept >= kill_after * 1_000
        assert archive.verify()
        cost, done = spent(service, client, lambda: archive.sync(client, *BOOKS, **BOOK))
        # Each thousand books weighs 10: only what was not kept is paid for.
        assert cost == done.weight == (3_000 - kept) // 100
        assert content(archive.read(*BOOKS, block_size=200.0)) == content(client.orderbook_heatmap(*BOOKS[1:], **BOOK))
        assert archive.verify()


def test_a_writer_that_slept_while_another_took_over_undoes_nothing(service, twin, bucket):
    with service.client("unlimited", archive_source="twin") as client:
        expected = content(client.orderbook_heatmap(*BOOKS[1:], **BOOK))
        child = twin(bucket, 1, signal.SIGSTOP)
        assert child.stdout.readline() == "1\n"
        os.waitpid(child.pid, os.WUNTRACED)  # until it sleeps, in the middle of its sync
        archive = mp.Archive(bucket.url, lease=1)
        kept = sum(one.buckets for one in archive.contents())
        assert kept >= 1_000
        # Waits for as long as the sleeper's lock says, then goes on without it.
        done = archive.sync(client, *BOOKS, **BOOK)
        assert done.weight == (3_000 - kept) // 100
        child.send_signal(signal.SIGCONT)
        out, err = child.communicate(timeout=60)
        assert (err, child.returncode, out.split("\n")[-2]) == ("", 0, "weight 30")
        assert content(archive.read(*BOOKS, block_size=200.0)) == expected
        assert archive.verify()


def test_a_reader_sees_whole_files_while_a_writer_writes(service, twin, bucket):
    with service.client("unlimited", archive_source="twin") as client:
        expected = dict(rows(client.orderbook_heatmap(*BOOKS[1:], **BOOK)))
        archive = mp.Archive(bucket.url)
        child = twin(bucket)
        looks = 0
        while child.poll() is None:
            try:
                seen = archive.read(*BOOKS, **BOOK)
            except mp.NotArchivedError as error:
                seen = error.results
            assert all(expected[start] == book for start, book in rows(seen))
            looks += 1
        assert looks > 0
        assert child.communicate()[1] == ""
        assert dict(rows(archive.read(*BOOKS, block_size=200.0))) == expected


def rows(books):
    for series in books:
        for index, start in enumerate(series.timestamps.astype("int64")):
            yield int(start), series.snapshot(index).tobytes()


# faults.md row 46
def test_two_processes_that_sync_the_same_pay_once(service, twin, bucket):
    def both():
        children = [twin(bucket), twin(bucket)]
        outputs = [child.communicate(timeout=100) for child in children]
        assert [err for _, err in outputs] == ["", ""]
        return [line for out, _ in outputs for line in out.split("\n") if line.startswith("weight")]

    with service.client("unlimited", archive_source="twin") as client:
        cost, weights = spent(service, client, both)
        assert cost == 30
        assert sorted(weights) == ["weight 0", "weight 30"]
        kept = mp.Archive(bucket.url).read(*BOOKS, block_size=200.0)
        assert content(kept) == content(client.orderbook_heatmap(*BOOKS[1:], **BOOK))


# faults.md row 46
def test_writers_of_different_windows_lose_nothing(demo, client, bucket):
    """Each with an archive of its own, all in the same files."""
    failures = []

    def write(number):
        try:
            start = END - (number + 1) * 2 * DAY
            with demo.client("unlimited") as own:
                mp.Archive(bucket.url).sync(own, "candles", *MARKET, start=start, end=start + 2 * DAY)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    archive = mp.Archive(bucket.url)
    window = {"start": END - 8 * DAY, "end": END}
    assert content(archive.read("candles", *MARKET)) == content(client.candles(*MARKET, **window))
    assert archive.verify()


@pytest.fixture
def archive(client, bucket):
    """An archive of two queries in several objects."""
    made = mp.Archive(bucket.url)
    made.sync(client, "side_candles", *MARKET, **WINDOW)
    made.sync(client, "orderbook_heatmap", *MARKET, block_size=100.0, max_depth=20, start=END - 2 * DAY, end=END)
    return made


def foreign():
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table({"time": [1], "close": [2.0]}), sink)
    return sink.getvalue().to_pybytes()


def newer(body):
    table = pyarrow.parquet.read_table(pyarrow.BufferReader(body))
    about = dict(pyarrow.parquet.read_metadata(pyarrow.BufferReader(body)).metadata.items())
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table.replace_schema_metadata(about | {b"marketpoints.version": b"2"}), sink)
    return sink.getvalue().to_pybytes()


DAMAGES = {
    "empty": (mp.DamagedFileError, "damaged", lambda _body: b""),
    "truncated": (mp.DamagedFileError, "damaged", lambda body: body[: len(body) // 2]),
    "one bit": (mp.DamagedFileError, "damaged", lambda body: body[:200] + bytes([body[200] ^ 1]) + body[201:]),
    "gone": (mp.DamagedFileError, "missing", None),
    "text": (mp.ForeignFileError, "foreign", lambda _body: b"time,close\n"),
    "of another program": (mp.ForeignFileError, "foreign", lambda _body: foreign()),
    "newer": (mp.NewerFormatError, "newer", newer),
}


# faults.md row 47
@pytest.mark.parametrize("how", DAMAGES)
def test_what_is_not_what_was_written_is_told_apart_and_never_data(archive, demo, client, bucket, how):
    error, state, damage = DAMAGES[how]
    victim = next(name for name in bucket.parts() if "TRADE_AGG" in name)
    expected = content(archive.read("side_candles", *MARKET))
    if damage is None:
        bucket.delete(victim)
    else:
        bucket.write(victim, damage(bucket.read(victim)))
    harmed = None if damage is None else bucket.read(victim)
    with pytest.raises(error) as caught:
        archive.read("side_candles", *MARKET)
    assert caught.value.path == victim
    assert [(one.path, one.state) for one in archive.verify().problems] == [(victim, state)]
    with demo.client("unlimited", archive=archive) as through:
        if how == "newer":
            with pytest.raises(error):
                through.side_candles(*MARKET, **WINDOW)
            assert bucket.read(victim) == harmed
            return
        assert content(through.side_candles(*MARKET, **WINDOW)) == expected
    assert archive.verify()
    assert content(archive.read("side_candles", *MARKET)) == expected
    aside = [name for name in bucket.names() if "/quarantine/" in name]
    assert [bucket.read(name) for name in aside] == ([] if damage is None else [harmed])
    assert not any(name.endswith(".parquet") for name in aside)


def test_a_message_names_the_call_that_mends_what_has_its_length(archive, client, bucket):
    victim = next(name for name in bucket.parts() if "TRADE_AGG" in name)
    whole = bucket.read(victim)
    bucket.write(victim, whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])
    with pytest.raises(mp.DamagedFileError, match="; a refresh fetches it again"):
        archive.read("side_candles", *MARKET)
    assert archive.refresh(client, "side_candles", *MARKET, **WINDOW).mended
    assert archive.verify()


@pytest.mark.parametrize("how", ["gone", "truncated"])
def test_a_lost_ledger_is_made_anew_without_paying(archive, client, bucket, how):
    expected = content(archive.read("side_candles", *MARKET))
    for name in bucket.names():
        if "/ledger/" in name:
            if how == "gone":
                bucket.delete(name)
            else:
                bucket.write(name, bucket.read(name)[:50])
    with pytest.raises(mp.ArchiveError):
        archive.read("side_candles", *MARKET)
    done = archive.sync(client, "side_candles", *MARKET, **WINDOW)
    assert (done.requests, done.weight) == (0, 0)
    assert content(archive.read("side_candles", *MARKET)) == expected


def test_a_newer_archive_and_another_services_are_left_alone(archive, demo, client, bucket):
    name = "_marketpoints/archive.json"
    about = json.loads(bucket.read(name))
    with (
        demo.client("unlimited", archive_source="another") as other,
        pytest.raises(mp.ArchiveError, match="another"),
    ):
        archive.sync(other, "side_candles", *MARKET, **WINDOW)
    bucket.write(name, json.dumps(about | {"version": 2, "check": "of that version"}).encode())
    with pytest.raises(mp.NewerFormatError):
        archive.sync(client, "side_candles", *MARKET, **WINDOW)


# faults.md row 45
def test_answers_of_the_store_that_are_lost_lose_nothing(demo, client, environment_of):
    with running("lossy") as lossy:
        environment_of(lossy)
        bucket = lossy.bucket("archive")
        archive = mp.Archive(bucket.url)
        for days in (2, 20, 45):
            archive.sync(client, "side_candles", *MARKET, start=END - days * DAY, end=END)
        assert content(archive.read("side_candles", *MARKET)) == content(client.side_candles(*MARKET, **WINDOW))
        assert archive.verify()


def test_a_store_that_forgets_conditions_is_refused(service, environment_of):
    with running("forgetful") as forgetful, service.client("unlimited") as client:
        environment_of(forgetful)
        bucket = forgetful.bucket("archive")

        def sync(**settings):
            with pytest.raises(mp.UnsupportedStoreError, match="conditions") as caught:
                mp.Archive(bucket.url, **settings).sync(client, "candles", *MARKET, **WINDOW)
            assert caught.value.path.startswith(bucket.url)

        cost, _ = spent(service, client, sync)
        assert cost == 0
        sync(storage_options={"conditional_put": "disabled"})
        assert bucket.parts() == []


def refused(service, archive):
    """What a sync and a read say, and that nothing was paid."""
    with service.client("unlimited") as client:

        def sync():
            with pytest.raises(mp.ArchiveError) as caught:
                archive.sync(client, "candles", *MARKET, **WINDOW)
            return caught.value

        cost, error = spent(service, client, sync)
        assert cost == 0
    with pytest.raises(mp.ArchiveError) as caught:
        archive.read("candles", *MARKET)
    for one in (error, caught.value):
        assert not isinstance(one, mp.NotArchivedError)
        assert one.path.startswith(archive.path)
        text = f"{one} {one!r} {one.__dict__}"
        assert archive.path in text
        assert ACCESS_KEY not in text and SECRET_KEY not in text and "hush" not in text
    return str(error)


def test_wrong_credentials_say_so(service, store, bucket):
    store.demand_credentials(True)
    try:
        archive = mp.Archive(bucket.url, storage_options={"access_key_id": "hush-hush-id", "secret_access_key": "hush"})
        message = refused(service, archive)
        assert "refuses the credentials" in message and "AWS_ACCESS_KEY_ID" in message
        assert "InvalidAccessKeyId" in message
    finally:
        store.demand_credentials(False)


def test_a_missing_bucket_says_so(service, bucket):
    message = refused(service, mp.Archive("s3://nobody-made-this/archive"))
    assert "no such bucket" in message


def test_a_store_that_is_not_there_says_so(service, bucket):
    archive = mp.Archive(bucket.url, storage_options={"AWS_ENDPOINT_URL": "http://127.0.0.1:9"})
    assert "onnect" in refused(service, archive)


def test_without_certificates_of_the_system_it_says_so_and_what_helps(bucket, tmp_path):
    code = f"""
        import os
        import marketpoints as mp
        try:
            mp.Archive({bucket.url!r})
        except mp.InvalidRequest as error:
            print(error)
        os.environ["AWS_DISABLE_SYSTEM_CERTIFICATES"] = "true"
        print(len(mp.Archive({bucket.url!r}).contents()))
    """
    message, entries = children.run(code, children.without_certificates(tmp_path)).splitlines()
    assert "No CA certificates" in message and "ca-certificates" in message
    assert "disable_system_certificates=true" in message and SECRET_KEY not in message
    assert entries == "0"


def test_an_endpoint_without_tls_must_be_allowed(service, bucket, monkeypatch):
    monkeypatch.delenv("AWS_ALLOW_HTTP")
    assert "allow_http" in refused(service, mp.Archive(bucket.url))


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_tls_and_a_certificate_that_nobody_signed(service, client, environment_of):
    with running("tls") as tls:
        environment_of(tls)
        bucket = tls.bucket("archive")
        assert "certificate" in refused(service, mp.Archive(bucket.url, storage_options={"allow_http": False}))
        trusting = mp.Archive(bucket.url, storage_options={"allow_http": False, "allow_invalid_certificates": True})
        trusting.sync(client, "candles", *MARKET, **WINDOW)
        assert content(trusting.read("candles", *MARKET)) == content(client.candles(*MARKET, **WINDOW))


def test_no_credentials_at_all_say_so(service, bucket, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    # Where a machine of the cloud would be asked who it is.
    archive = mp.Archive(bucket.url, storage_options={"metadata_endpoint": "http://127.0.0.1:9"})
    message = refused(service, archive)
    assert "no credentials" in message and "AWS_ACCESS_KEY_ID" in message


def test_addresses_and_options_that_cannot_be_right(bucket, tmp_path):
    for wrong in ("http://host/archive", "ftp://host/archive", "s3://", "s3:///archive", "s3://bucket/a//b"):
        with pytest.raises(mp.InvalidRequest):
            mp.Archive(wrong)
    with pytest.raises(mp.InvalidRequest) as caught:
        mp.Archive("s3://hush:hush@bucket/archive")
    assert "hush" not in str(caught.value)
    with pytest.raises(mp.InvalidRequest, match="acces_key") as caught:
        mp.Archive(bucket.url, storage_options={"acces_key": "hush"})
    assert "hush" not in str(caught.value)
    for options in ("endpoint", {"endpoint": None}, {1: "endpoint"}):
        with pytest.raises(mp.InvalidRequest):
            mp.Archive(bucket.url, storage_options=options)
    with pytest.raises(mp.InvalidRequest, match="local folder"):
        mp.Archive(tmp_path, storage_options={"region": "r"})
    for lease in (-1, 0, 1e9, "long", None, float("nan")):
        with pytest.raises(mp.InvalidRequest, match="lease"):
            mp.Archive(bucket.url, lease=lease)
    assert mp.Archive(bucket.url + "/").path == bucket.url


def test_no_credential_is_shown_or_written(client, bucket, caplog):
    options = {"access_key_id": ACCESS_KEY, "secret_access_key": SECRET_KEY, "session_token": "hush-hush-hush"}
    archive = mp.Archive(bucket.url, storage_options=options)
    with caplog.at_level(logging.DEBUG):
        archive.sync(client, "candles", *MARKET, **WINDOW)
    assert repr(archive) == f"<Archive {bucket.url}>"
    shown = [repr(archive), str(vars(archive)), caplog.text, repr(client), str(archive.contents())]
    shown += [bucket.read(name).decode("latin-1") for name in bucket.names()]
    for secret in options.values():
        assert not any(secret in text for text in shown)
    with pytest.raises(TypeError, match="credentials"):
        pickle.dumps(archive)


def test_it_can_be_pickled_where_the_environment_has_the_credentials(demo, client, bucket, store, monkeypatch):
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    archive = mp.Archive(bucket.url, storage_options={"endpoint_url": store.url}, lease=5)
    archive.sync(client, "candles", *MARKET, **WINDOW)
    pickled = pickle.dumps(archive)
    assert SECRET_KEY.encode() not in pickled and ACCESS_KEY.encode() not in pickled
    expected = content(archive.read("candles", *MARKET))
    assert content(pickle.loads(pickled).read("candles", *MARKET)) == expected
    monkeypatch.setenv("MARKETPOINTS_API_KEY", demo.keys["unlimited"])
    settings = {"base_url": demo.url, "archive": archive, "archive_source": "local demo, seed 0"}
    with mp.Client(**settings) as made, pickle.loads(pickle.dumps(made)) as copy:
        assert content(copy.candles(*MARKET, **WINDOW)) == expected


# faults.md row 38
@pytest.mark.parametrize(
    "call",
    [
        "archive.contents()",
        "mp.Client('k', 'http://127.0.0.1:9', archive=archive).plan('candles', *market, period='1d')",
        "archive.plan_all(mp.Client('k', 'http://127.0.0.1:9', tier='advanced'), universe)",
        "archive.sync_all(mp.Client('k', 'http://127.0.0.1:9', tier='advanced'), universe)",
        "mp.LocalService(archive)",
    ],
)
def test_ctrl_c_ends_the_waiting_for_a_silent_store(bucket, call):
    # The interrupt comes when the store was asked: one that hits an import within ends the process by the signal.
    code = f"""
import os, signal, socket, threading
import marketpoints as mp
silent = socket.create_server(("127.0.0.1", 0))
def interrupt():
    asked.append(silent.accept())
    os.kill(os.getpid(), signal.SIGINT)
asked = []
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Thread(target=interrupt, daemon=True).start()
options = {{"endpoint_url": f"http://127.0.0.1:{{silent.getsockname()[1]}}"}}
archive = mp.Archive({bucket.url!r}, storage_options=options)
market = "BINANCE_FUTURES", "BTCUSDT", "1h"
candles = dict(type="candles", exchange=market[0], symbol=market[1], interval=market[2], period="1d")
universe = dict(series=[candles])
try:
    {call}
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("interrupted\n", "", 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_reads_and_writes_it(demo, bucket):
    code = f"""
import os, sys
import marketpoints as mp
archive = mp.Archive({bucket.url!r})
query = ("candles", "BINANCE_FUTURES", "BTCUSDT", "1h")
def sync(days):
    client = mp.Client({demo.keys["unlimited"]!r}, {demo.url!r}, archive_source="twin", clock=lambda: {END} + 60)
    return archive.sync(client, *query, start={END} - days * 86400, end={END})
sync(1)
child = os.fork()
if child == 0:
    sync(2)
    os._exit(len(archive.read(*query).timestamps))
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), len(archive.read(*query).timestamps), bool(archive.verify()))
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("48 48 True\n", "")
