"""A constructor that fails leaves no secret behind: not in the locals of a frame, not in a message, not in a repr."""

import importlib
import inspect
import pickle
import pkgutil
import traceback
from pathlib import Path

import pytest

import marketpoints as mp
from marketpoints import _engine
from marketpoints.common.secrets import Hidden

PACKAGE = Path(mp.__file__).parent
SECRET = "mp-very-secret-5f0c2a"
URL = "http://127.0.0.1:9"


def package_frames(error):
    """The frames of the package on the tracebacks of an error, its causes and contexts."""
    seen, waiting = set(), [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        waiting += [one.__cause__, one.__context__, *(getattr(one, "failures", None) or ())]
        for frame, _ in traceback.walk_tb(one.__traceback__):
            if Path(frame.f_code.co_filename).is_relative_to(PACKAGE):
                yield frame


def deep_repr(value, depth=3):
    """What error reporters show of a value: its repr, and those of its parts and attributes."""
    shown = [repr(value)]
    if depth and isinstance(value, dict):
        shown += [deep_repr(part, depth - 1) for pair in value.items() for part in pair]
    elif depth and isinstance(value, (list, tuple, set)):
        shown += [deep_repr(part, depth - 1) for part in value]
    elif depth and type(value).__module__.startswith("marketpoints"):
        slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
        parts = {**getattr(value, "__dict__", {}), **{name: getattr(value, name, None) for name in slots}}
        shown += [deep_repr(part, depth - 1) for part in parts.values()]
    return " ".join(shown)


def everything_that_is_shown(error):
    frames = list(package_frames(error))
    assert frames, "the error passed through no frame of the package"
    shown = ["".join(traceback.format_exception(error)), repr(error)]
    shown += [deep_repr(value) for frame in frames for value in frame.f_locals.values()]
    # As error reporters ask for it; it must not say that a repr failed.
    report = traceback.TracebackException.from_exception(error, capture_locals=True)
    while report is not None:
        shown += [repr(one.locals) for one in report.stack if Path(one.filename).is_relative_to(PACKAGE)]
        report = report.__cause__ or report.__context__
    text = " ".join(shown)
    assert "repr() failed" not in text
    return text


BAD_SETTINGS = [
    {"api_key": SECRET.encode()},
    {"api_key": [SECRET]},
    {"api_key": f"{SECRET} with a space"},
    {"api_key": f"{SECRET}\n"},
    {"base_url": ""},
    {"base_url": "ftp://host"},
    {"base_url": f"https://user:{SECRET}@host"},
    {"base_url": f"https://host/#{SECRET}"},
    {"base_url": [f"https://user:{SECRET}@host"]},
    {"tier": "platinum"},
    {"tier": 7},
    {"tier": SECRET},
    {"timeout": "soon"},
    {"timeout": -1},
    {"read_timeout": -1},
    {"total_timeout": -1},
    {"retries": -1},
    {"max_wait": -5},
    {"max_body": 0},
    {"max_memory": "much"},
    {"budget": "nobody"},
    {"budget": f"redis://:{SECRET}@host:port"},
    {"budget": SECRET.encode()},
    {"proxy": f"http://user:{SECRET}@"},
    {"proxy": f"nonsense://user:{SECRET}@host:1:2"},
    {"proxy": {"https": SECRET}},
    {"ca_certs": 7},
    {"ca_certs": "/nowhere/at-all.pem"},
    {"clock": None, "archive": 7},
    {"archive": "nowhere://bucket"},
    {"archive": f"s3://key:{SECRET}@bucket/prefix"},
    {"archive": f"{SECRET}@s3://bucket/prefix"},
    {"archive": f"file://user:{SECRET}@host/folder"},
    {"archive_source": 7},
    {"dialect": 7},
    {"dialect": "/nowhere/at-all.toml"},
    {"check_symbols": "no"},
]


# faults.md row 36
@pytest.mark.parametrize("bad", BAD_SETTINGS, ids=lambda bad: ", ".join(f"{name}={bad[name]!r}" for name in bad))
@pytest.mark.parametrize("kind", [mp.Client, mp.AsyncClient])
def test_a_client_that_cannot_be_made_leaves_no_secret_in_any_frame(kind, bad, monkeypatch):
    # Of the environment, too.
    monkeypatch.setenv("MARKETPOINTS_BUDGET", f"redis://:{SECRET}@127.0.0.1:1")
    if bad.get("base_url") == "":
        monkeypatch.delenv("MARKETPOINTS_BASE_URL", raising=False)
    settings = {"api_key": SECRET, "base_url": URL, "proxy": f"http://user:{SECRET}@127.0.0.1:1", **bad}
    with pytest.raises((mp.Error, TypeError)) as caught:
        kind(**settings)
    assert SECRET not in everything_that_is_shown(caught.value)


def test_a_client_that_lacks_an_address_leaves_the_environments_key_in_no_frame(monkeypatch):
    monkeypatch.setenv("MARKETPOINTS_API_KEY", SECRET)
    for name in ("BASE_URL", "DIALECT"):
        monkeypatch.delenv(f"MARKETPOINTS_{name}", raising=False)
    with pytest.raises(mp.InvalidRequest, match="no address") as caught:
        mp.Client()
    assert SECRET not in everything_that_is_shown(caught.value)


@pytest.mark.parametrize(
    "bad",
    [
        {"queue": 0},
        {"overflow": "burst"},
        {"backoff": (-1.0, 2.0)},
        {"reconnects": -1},
        {"ping_after": -1.0},
        {"channels": 7},
        {"channels": {"channel": "nonsense", "more": 1}},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [mp.Client, mp.AsyncClient])
def test_a_stream_that_cannot_be_made_leaves_no_secret_in_any_frame(kind, bad):
    settings = {"channels": [mp.Channel(type="TRADE", exchange="BINANCE_FUTURES", symbol="BTCUSDT")], **bad}
    client = kind(SECRET, URL, proxy=f"http://user:{SECRET}@127.0.0.1:1")
    with pytest.raises((mp.Error, TypeError)) as caught:
        client.stream(**settings)
    assert SECRET not in everything_that_is_shown(caught.value)


def test_a_stream_that_is_refused_leaves_no_secret_in_any_frame(service):
    stream = mp.Client(SECRET, service.url).stream(
        [mp.Channel(type="TRADE", exchange="BINANCE_FUTURES", symbol="BTCUSDT")]
    )
    with pytest.raises(mp.AuthenticationError) as caught:
        stream.open()
    assert SECRET not in everything_that_is_shown(caught.value)


# faults.md row 36
@pytest.mark.parametrize(
    "bad",
    [
        {"data": "/nowhere/at-all"},
        {"data": 7},
        {"now": "yesterday"},
        {"port": -1},
        {"host": "nowhere"},
        {"host": 7},
        {"seed": -1},
        {"grace": -1},
        {"grace": "long"},
        {"strict_symbols": "no"},
        {"any_block_size": 1},
        {"access_log": "/nowhere/at/all"},
        {"keys": {"lab": SECRET}},
        {"keys": {"lab": ("platinum", SECRET)}},
        {"keys": {"lab": ("free", f"{SECRET} more")}},
        {"keys": {"lab": ("free", SECRET), "other": ("free", SECRET)}},
        {"keys": {"lab": ("free", SECRET), 7: ("free", "x")}},
        {"keys": [("lab", "free", SECRET)]},
        {"keys": 7},
    ],
    ids=str,
)
def test_a_service_that_cannot_be_made_leaves_no_secret_in_any_frame(bad):
    settings = {"keys": {"lab": ("advanced", SECRET)}, **bad}
    with pytest.raises((mp.Error, TypeError)) as caught:
        mp.LocalService(**settings)
    assert SECRET not in everything_that_is_shown(caught.value)


def test_a_taken_port_leaves_no_secret_in_any_frame(service):
    port = int(service.url.rpartition(":")[2])
    with pytest.raises(mp.Error) as caught:
        mp.LocalService(port=port, keys={"lab": ("advanced", SECRET)})
    assert SECRET not in everything_that_is_shown(caught.value)


@pytest.mark.parametrize("make", ["client", "async_client"])
def test_a_client_of_a_service_that_cannot_be_made_leaves_no_secret_in_any_frame(make):
    with mp.LocalService(keys={"lab": ("advanced", SECRET)}) as service:
        for tier, bad in [("lab", {"timeout": -1}), ("nobody", {}), ("lab", {"api_key": [SECRET]})]:
            with pytest.raises(mp.InvalidRequest) as caught:
                getattr(service, make)(tier, **bad)
            assert SECRET not in everything_that_is_shown(caught.value)


# faults.md row 36
@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("s3://bucket/a", {"aws_secret_access_key": SECRET, "no_such_option": "1"}),
        ("s3://bucket/a", {"aws_secret_access_key": [SECRET]}),
        ("s3://bucket/a", {"aws_secret_access_key": SECRET, 7: SECRET}),
        ("s3://bucket/a", [("aws_secret_access_key", SECRET)]),
        ("folder", {"aws_secret_access_key": SECRET}),
        (f"s3://key:{SECRET}@bucket/a", None),
        (f"s3://bucket/a?secret={SECRET}", None),
        (f"s3://bucket/a//{SECRET}", None),
        (f"{SECRET}://bucket/a", None),
        (f"file://{SECRET}@host/a", None),
        ("s3://bucket/a", {SECRET: "aws_secret_access_key"}),
        ("s3://bucket/a", SECRET),
        (7, {"aws_secret_access_key": SECRET}),
    ],
)
def test_an_archive_that_cannot_be_named_leaves_no_secret_in_any_frame(path, options):
    with pytest.raises(mp.InvalidRequest) as caught:
        mp.Archive(path, storage_options=options)
    assert SECRET not in everything_that_is_shown(caught.value)
    with pytest.raises(mp.InvalidRequest) as caught:
        mp.Archive("s3://bucket/a", storage_options={"aws_secret_access_key": SECRET}, lease="long")
    assert SECRET not in everything_that_is_shown(caught.value)


MAKERS = [mp.Client, mp.AsyncClient, mp.LocalService, mp.Archive, mp.Dialect]


# faults.md row 36
@pytest.mark.parametrize(
    ("make", "name"),
    [(make, name) for make in MAKERS for name in inspect.signature(make).parameters],
    ids=lambda one: getattr(one, "__name__", one),
)
def test_a_secret_in_any_argument_is_not_shown(make, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some take it for a name of a file
    monkeypatch.setenv("MARKETPOINTS_API_KEY", "another-key-1")
    monkeypatch.setenv("MARKETPOINTS_BASE_URL", URL)
    settings = {"path": "s3://bucket/a"} if make is mp.Archive else {}
    for value in (
        SECRET,
        SECRET.encode(),
        [SECRET],
        {SECRET: SECRET},
        {"lab": SECRET},
        f"\ud800{SECRET}",
        Path(SECRET),
    ):
        try:
            made = make(**settings | {name: value})
        except (mp.Error, TypeError, ValueError) as error:
            assert SECRET not in everything_that_is_shown(error), value
        else:
            for end in ("stop", "_close"):
                getattr(made, end, lambda: None)()


@pytest.mark.parametrize("kind", [mp.Client, mp.AsyncClient])
def test_an_unknown_tier_is_refused_with_the_known_ones_and_not_repeated_where_it_may_be_a_key(kind):
    with pytest.raises(mp.InvalidRequest, match=r'^tier "platinum" is not one of free, basic, standard, advanced$'):
        kind("key", URL, tier="platinum")
    with pytest.raises(
        mp.InvalidRequest, match=f"^tier .a text of {len(SECRET)} characters. is not one of free, basic"
    ):
        kind("key", URL, tier=SECRET)


def test_keys_that_are_no_path_are_not_repeated(tmp_path):
    with pytest.raises(
        mp.InvalidRequest, match=f"^keys: a text of {len(SECRET)} characters is no path of anything"
    ) as caught:
        mp.LocalService(keys=SECRET)
    assert SECRET not in everything_that_is_shown(caught.value)
    with pytest.raises(mp.InvalidRequest, match=r"cannot read the keys file .*/keys\.txt"):
        mp.LocalService(keys=tmp_path / "keys.txt")


def test_what_led_to_a_call_keeps_its_locals():
    """Only the frames of the call that failed forget what they held: those of an error before it are the user's."""

    def fails():
        kept = "of the user"
        raise KeyError(kept)

    try:
        fails()
    except KeyError as before:
        with pytest.raises(mp.InvalidRequest):
            mp.Client("key", URL, tier="platinum")
        [*_, (frame, _)] = traceback.walk_tb(before.__traceback__)
        assert frame.f_locals["kept"] == "of the user"


# faults.md row 36
@pytest.mark.parametrize("text", [f"https://user:{SECRET}@host", f"https://host/#{SECRET}", f"https://host?{SECRET}"])
def test_an_address_with_credentials_or_a_fragment_is_refused_everywhere(text, monkeypatch):
    makers = [lambda: mp.Client("key", text), lambda: mp.AsyncClient("key", text), lambda: mp.Dialect(base_url=text)]
    for make in makers:
        with pytest.raises(mp.InvalidRequest, match="without user, password, query or fragment") as caught:
            make()
        assert SECRET not in everything_that_is_shown(caught.value)
    monkeypatch.setenv("MARKETPOINTS_BASE_URL", text)
    with pytest.raises(mp.InvalidRequest, match="without user, password, query or fragment") as caught:
        mp.Client("key")
    assert SECRET not in everything_that_is_shown(caught.value)


def classes_with_a_repr():
    """The classes of the package that write their own ``__repr__``."""
    for module in pkgutil.walk_packages([str(PACKAGE)], "marketpoints."):
        if module.name.rpartition(".")[2] in ("__main__", "artists"):
            continue
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            shown = vars(kind).get("__repr__")
            # That of a dataclass stands in no file; its fields are all set before anything can fail.
            if kind.__module__ == module.name and inspect.isfunction(shown):
                file = Path(inspect.unwrap(shown).__code__.co_filename)
                if file.is_relative_to(PACKAGE):
                    yield kind


KINDS = sorted(set(classes_with_a_repr()), key=lambda kind: kind.__name__)


# faults.md row 36
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_repr_of_a_half_made_object_does_not_raise(kind):
    concrete = type(kind.__name__, (kind,), {})
    concrete.__abstractmethods__ = frozenset()
    if issubclass(kind, (_engine.SeriesBase, _engine.SeriesSetBase)):  # the engine makes none by halves
        with pytest.raises(TypeError, match="missing"):
            concrete.__new__(concrete)
        return
    assert repr(concrete.__new__(concrete))


def test_all_that_take_secrets_are_among_them():
    assert {"Connection", "LocalService", "Archive", "Dialect", "_EventBuffer"} <= {kind.__name__ for kind in KINDS}


def test_a_hidden_value_is_in_no_pickle():
    with pytest.raises(TypeError, match="secret"):
        pickle.dumps(Hidden(SECRET))
