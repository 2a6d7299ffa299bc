"""Named pipes, sockets, folders and devices where files belong: refused at once, never waited for and never removed."""

import os
import socket
import stat

import pytest

import marketpoints as mp
from support.archives import END, HOUR, MARKET, content, part_files
from support.children import run

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")

WINDOW = {"start": END - 24 * HOUR, "end": END}
MORE = {"start": END - 48 * HOUR, "end": END}
URL = "http://127.0.0.1:9"
#: What stands where a file belongs, and the words for it.
KINDS = {"pipe": "a named pipe", "socket": "a socket", "folder": "a folder"}


@pytest.fixture
def client(demo):
    with demo.client("unlimited") as made:
        yield made


def put(path, kind):
    """Puts what is no file there."""
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        # The name of a socket is short: from within its folder.
        before = os.open(".", os.O_RDONLY)
        os.chdir(path.parent)
        try:
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(path.name)
        finally:
            os.fchdir(before)
            os.close(before)


def is_still(path, kind):
    found = os.lstat(path).st_mode
    return {"pipe": stat.S_ISFIFO, "socket": stat.S_ISSOCK, "folder": stat.S_ISDIR}[kind](found)


def a_place(folder, place):
    own = folder / "_marketpoints"
    if place == "data":
        return part_files(folder)[0]
    if place == "archive.json":
        return own / place
    return next((own / place).iterdir())


# faults.md row 47
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", ["data", "ledger", "archive.json"])
def test_what_is_no_file_in_an_archive_is_reported_and_left_alone(demo, client, tmp_path, place, kind):
    archive = mp.Archive(tmp_path)
    archive.sync(client, "candles", *MARKET, **WINDOW)
    path = a_place(tmp_path, place)
    put(path, kind)
    words = f"{KINDS[kind]}, not a file; move it away"
    with pytest.raises(mp.ForeignFileError, match=words):
        archive.read("candles", *MARKET)
    with pytest.raises(mp.ForeignFileError, match=words):
        archive.sync(client, "candles", *MARKET, **MORE)
    with demo.client("unlimited", archive=archive) as through, pytest.raises(mp.ForeignFileError, match=words):
        through.candles(*MARKET, **MORE)
    if place != "archive.json":
        assert not archive.verify()
    assert is_still(path, kind)


def test_a_pipe_in_the_place_of_a_lock_is_refused(client, tmp_path):
    archive = mp.Archive(tmp_path)
    archive.sync(client, "candles", *MARKET, **WINDOW)
    put(a_place(tmp_path, "lock"), "pipe")
    with pytest.raises(mp.ArchiveError, match="a named pipe, not a file"):
        archive.sync(client, "candles", *MARKET, **MORE)


# faults.md row 47
@pytest.mark.parametrize("kind", KINDS)
def test_settings_that_are_no_files_are_refused_at_once(tmp_path, kind):
    path = tmp_path / "settings"
    put(path, kind)
    words = f"{KINDS[kind]}, not a file"
    makers = [
        lambda: mp.LocalService(keys=path),
        lambda: mp.Dialect.from_toml(path),
        lambda: mp.Client("key", URL, dialect=path),
        lambda: mp.Client("key", URL, ca_certs=path),
        lambda: mp.LocalService(access_log=path),
    ]
    for make in makers:
        with pytest.raises(mp.InvalidRequest, match=words):
            make()
    assert is_still(path, kind)


def test_keys_come_through_a_pipe_that_a_shell_opened():
    code = """
        import os
        import marketpoints as mp

        reads, writes = os.pipe()
        os.write(writes, b"lab advanced a-key\\n")
        os.close(writes)
        with mp.LocalService(keys=f"/dev/fd/{reads}") as service:
            print(service.keys)
    """
    assert run(code) == "{'lab': 'a-key'}\n"


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_dumps_that_are_no_files_are_problems_of_the_ingest(tmp_path, kind):
    folder = tmp_path / "dumps" / "trades" / "BINANCE_FUTURES" / "BTCUSDT"
    folder.mkdir(parents=True)
    put(folder / "2026-01-01.csv", kind)
    (folder / "2026-01-02.csv").write_text(
        "timestamp,side,price,amount\n1767312000000000,buy,100.5,1\n1767312060000000,sell,100.25,2\n"
    )
    report = mp.ingest(tmp_path / "dumps", tmp_path / "store")
    problems = [str(problem) for problem in report.problems]
    assert any("2026-01-01.csv" in text and "no file" in text for text in problems), problems
    assert report.rows == 2
    assert is_still(folder / "2026-01-01.csv", kind)


def test_a_budget_in_a_pipe_is_the_process_own(demo, tmp_path, caplog):
    budget = tmp_path / "budget"
    with demo.client("advanced", budget=str(budget)) as client:
        client.candles(*MARKET, **WINDOW)
    [file] = budget.iterdir()
    put(file, "pipe")
    with demo.client("advanced", budget=str(budget)) as client:
        assert len(client.candles(*MARKET, **WINDOW)[0]) == 24
    assert "no file" in caplog.text
    assert is_still(file, "pipe")


# faults.md row 47
def test_foreign_files_among_the_ledgers_are_named_and_stay(client, tmp_path):
    archive = mp.Archive(tmp_path)
    archive.sync(client, "candles", *MARKET, **WINDOW)
    kept = list(archive.contents())
    foreign = tmp_path / "_marketpoints" / "ledger" / "foo.json"
    foreign.write_text('{"of": "another program"}')
    with pytest.warns(mp.ForeignFileWarning, match=r"ledger/foo\.json: .*left alone; move it away"):
        assert list(archive.contents()) == kept
    archive.sync(client, "candles", *MARKET, **MORE)
    assert content(archive.read("candles", *MARKET)) == content(client.candles(*MARKET, **MORE))
    assert foreign.read_text() == '{"of": "another program"}'
    assert [problem.path for problem in archive.verify().problems] == ["_marketpoints/ledger/foo.json"]


# faults.md row 47
def test_no_flipped_byte_of_archive_json_hides_what_is_kept(client, tmp_path):
    archive = mp.Archive(tmp_path)
    archive.sync(client, "candles", *MARKET, **WINDOW)
    expected = content(archive.read("candles", *MARKET))
    about = tmp_path / "_marketpoints" / "archive.json"
    whole = about.read_bytes()
    for place in range(len(whole)):
        about.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert content(archive.read("candles", *MARKET)) == expected, place
    place = whole.index(b"local demo")
    about.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    [problem] = archive.verify().problems
    assert (problem.path, problem.state) == ("_marketpoints/archive.json", "damaged")
    assert "the next sync writes it anew" in problem.problem
    [mended] = archive.sync(client, "candles", *MARKET, **WINDOW).mended
    assert "damaged; written anew" in mended
    assert about.read_bytes() == whole
    assert archive.verify()
