"""The error classes: what they are, what they carry, that they survive a pickle."""

import builtins
import copy
import pickle

import pytest

import marketpoints as mp
from marketpoints import errors

CLASSES = [getattr(errors, name) for name in errors.__all__]
GIVEN = {
    "status": 429,
    "code": "RATE_LIMITED",
    "request": "http://127.0.0.1/v1/points?type=A",
    "retry_after": 1.5,
    "offset": 7,
    "path": "series[0]",
    "results": [1],
    "failures": [2],
}


@pytest.mark.parametrize("kind", CLASSES)
def test_every_class_takes_every_attribute_and_survives_a_pickle(kind):
    error = kind("what is wrong", **GIVEN)
    for again in (error, pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is kind
        assert (str(again), again.message, again.args) == ("what is wrong", "what is wrong", ("what is wrong",))
        assert {name: getattr(again, name) for name in GIVEN} == GIVEN


@pytest.mark.parametrize("kind", CLASSES)
def test_attributes_default_to_none(kind):
    error = kind("x")
    assert all(getattr(error, name) is None for name in GIVEN)
    assert isinstance(error, mp.Error)


def test_the_builtins_they_are():
    assert issubclass(mp.InvalidRequest, ValueError)
    assert issubclass(mp.DecodeError, ValueError)
    assert issubclass(mp.TransportError, ConnectionError)
    assert issubclass(mp.TimeoutError, builtins.TimeoutError)
    assert issubclass(mp.TimeoutError, mp.TransportError)
    assert issubclass(mp.SelectionError, LookupError)
    assert issubclass(mp.MissingDependencyError, ImportError)
    assert not issubclass(mp.RateLimitError, mp.ServerError)


def test_a_broken_body_says_where():
    body = b'{"series":[{"id":{},"points":[{"Point":{"open":1,"timestamp":{"s":1776880800}}},nonsense]}]}'
    with pytest.raises(mp.DecodeError) as caught:
        mp.decode_points(body)
    assert caught.value.offset == body.index(b"nonsense")
    assert "points" in caught.value.path
