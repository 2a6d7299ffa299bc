"""What test_decode_kernels.py runs in a process of its own for each kernel: bodies and numbers against plain Python."""

import json
import random
import struct
import sys

import numpy as np

import marketpoints as mp
from marketpoints import _engine
from support import slow_decoder
from support.slow_decoder import FIELDS, HEATMAPS, LIST, NUMBER, OPTIONAL, TEXT, TIME

START = 1_700_000_000


# --- Numbers ---------------------------------------------------------------------------------------------------------


def spelling(rng):
    """A number as the service may write it, or in a way that is hard to read."""
    kind = rng.randrange(9)
    if kind == 0:  # any double: subnormals, extremes, -0
        value = struct.unpack("d", rng.randbytes(8))[0]
        value = value if abs(value) < float("inf") else -0.0
        return rng.choice([repr(value), f"{value:.17e}", f"{value:.{rng.randrange(25)}e}".replace("e", "E")])
    if kind == 1:  # a sum of amounts, 17 digits
        return service(sum(rng.randrange(1, 2_000_000) / 1000 for _ in range(7)))
    if kind == 2:
        return service(rng.randrange(10**8) / 10 ** rng.randrange(9))
    if kind == 3:
        return service(-rng.random() * 10.0 ** rng.randrange(-9, 15))
    if kind == 4:
        return str(rng.randrange(10 ** rng.randrange(1, 5)))
    if kind == 5:  # halfway between two doubles, and beside it
        bits = rng.getrandbits(52) | 1 << 52
        return f"{2 * bits + 1 + rng.randrange(-1, 2)}e{rng.randrange(-30, 30):+03d}"
    if kind == 6:
        return f"{rng.randrange(10)}.{rng.getrandbits(90)}"
    if kind == 7:
        return f"{rng.randrange(10 ** rng.randrange(1, 25))}"
    return f"{rng.random():.{rng.randrange(1, 22)}f}"


def service(value):
    """An exponent of two figures at 1e6 and above and below 1e-4 (supplement, section 2)."""
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return repr(value).removesuffix(".0")
    return np.format_float_scientific(value, trim="-", exp_digits=2)


def numbers(count, rng):
    for _ in range(count // 1000):
        # Whole numbers that no double holds are text where no table knows the field; with an exponent they are rounded.
        texts = [
            text + "e0" if text.lstrip("-").isdigit() and len(text) > 15 else text
            for text in map(spelling, [rng] * 1000)
        ]
        expected = np.array([float(text) for text in texts])
        point = f'{{"Point":{{"timestamp":{{"s":1}},"x":[{",".join(texts)}]}}}}'
        body = f'{{"series":[{{"id":{{"type":"NEW"}},"points":[{point}]}}]}}'
        if not np.isfinite(expected).all():
            continue
        found = mp.decode_points(body.encode())[0]["x"].values
        wrong = np.flatnonzero(found.view(np.int64) != expected.view(np.int64))
        assert not len(wrong), [(texts[at], float(found[at])) for at in wrong[:3]]


# --- Bodies ----------------------------------------------------------------------------------------------------------


class Writer:
    def __init__(self, rng):
        self.rng = rng
        self.shuffled, self.gaps, self.spaces, self.strangers = (rng.random() < 0.3 for _ in range(4))

    def number(self):
        if self.rng.random() < 0.1:
            text = spelling(self.rng)
            return text if abs(float(text)) < 1e300 else "0"
        return service(self.rng.choice([0.0, self.rng.randrange(10**7) / 100, self.rng.random() * 1e8]))

    def time(self, seconds):
        part = self.rng.choice(["", ',"ns":126000000', ',"ns":1'])
        return f'{{"s":{service(float(seconds)) if self.rng.random() < 0.1 else seconds}{part}}}'

    def value(self, kind, seconds):
        if isinstance(kind, dict):
            return "[" + ",".join(self.object(kind, None) for _ in range(self.rng.randrange(12))) + "]"
        if kind in (NUMBER, OPTIONAL):
            return self.number()
        if kind == TIME:
            return self.time(seconds)
        if kind == TEXT:
            return json.dumps(self.rng.choice(["ethereum", "", 'a,b}]"', "ünï"]), ensure_ascii=self.rng.random() < 0.5)
        assert kind == LIST
        return "[" + ",".join(self.number() for _ in range(self.rng.randrange(9) * 6)) + "]"

    def object(self, fields, seconds):
        items = [(name, kind) for name, kind in fields.items() if name != "timestamp"]
        keys = []
        for name, kind in items:
            if self.gaps and self.rng.random() < 0.25:
                if self.rng.random() < 0.3:
                    keys.append(f'"{name}":null')
                continue
            keys.append(f'"{name}":{self.value(kind, seconds)}')
        if seconds is not None:
            keys.append(f'"timestamp":{self.time(seconds)}')
        if self.strangers and self.rng.random() < 0.5:
            keys.append(f'"new":{self.number()}')
        if self.shuffled:
            self.rng.shuffle(keys)
        space = self.rng.choice(["", " ", "\n\t"]) if self.spaces else ""
        return "{" + f"{space},{space}".join(keys) + "}"

    def heatmap(self, seconds, sided):
        prices = sorted({self.rng.randrange(1, 10**6) / 10 for _ in range(self.rng.randrange(60))})
        levels = [f"{service(price)},{self.number()}" for price in prices]
        bids = self.rng.randrange(len(levels) + 1)
        down, up = ",".join(levels[:bids][::-1]), ",".join(levels[bids:])
        lists = [f'"bids":[{down}]', f'"asks":[{up}]'] if sided else [f'"levels":[{",".join(levels)}]']
        keys = [*lists, f'"timestamp":{{"s":{seconds}}}']
        if self.shuffled:
            self.rng.shuffle(keys)
        return "{" + ",".join(keys) + "}", f"{len(levels)},{service(seconds * 1e6)}" + "".join(f",{x}" for x in levels)

    def body(self, name, points):
        times = [START + 60 * point for point in range(points)]
        if self.rng.random() < 0.2:
            self.rng.shuffle(times)
        identity = f'"id":{{"rank":1,"type":"{name}"}}'
        if name in HEATMAPS:
            both = [self.heatmap(seconds, name == HEATMAPS[0]) for seconds in times]
            if self.rng.random() < 0.5:
                return f'{{"series":[{{{identity},"flat_points":[{",".join(flat for _, flat in both)}]}}]}}'
            written = [nested for nested, _ in both]
        else:
            written = [self.object(FIELDS[name], seconds) for seconds in times]
        if name == "TPO_AGG":
            written = [f'{{"TpoAggregation":{point}}}' for point in written]
        arrays = [identity, f'"points":[{",".join(f"""{{"Point":{point}}}""" for point in written)}]']
        if self.shuffled:
            self.rng.shuffle(arrays)
        return f'{{"series":[{{{",".join(arrays)}}}]}}'


def snake(name):
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def same_rows(columns, rows, fields):
    """Whether the engine's columns hold these rows, bit for bit."""
    for field, kind in fields.items():
        if field == "timestamp":
            continue
        name, expected = snake(field), [row[field] for row in rows]
        if kind in (NUMBER, OPTIONAL):
            found = columns[name].view(np.int64)
            assert found.tolist() == np.array(expected, dtype=float).view(np.int64).tolist(), name
        elif kind == TIME:
            missing = np.iinfo(np.int64).min
            assert columns[name].view(np.int64).tolist() == [missing if time is None else time for time in expected], (
                name
            )
        elif kind == TEXT:
            assert list(columns.text(name)) == expected, name
        elif kind == LIST:
            offsets, values = columns.list(name)
            assert np.diff(offsets).tolist() == [len(values) for values in expected], name
            flat = np.array([value for values in expected for value in values], dtype=float)
            assert values.view(np.int64).tolist() == flat.view(np.int64).tolist(), name
        else:
            offsets, inner = columns.rows(name)
            assert np.diff(offsets).tolist() == [len(records) for records in expected], name
            same_rows(inner, [record for records in expected for record in records], kind)


def bodies(count, rng):
    for _ in range(count):
        name = rng.choice(list(FIELDS))
        points = rng.choice([0, 1, 2, 10, 40, 150]) // (10 if name == "TPO_AGG" else 1)
        body = Writer(rng).body(name, points)
        ((_, rows),) = slow_decoder.decode(body)
        (columns,) = _engine.decode_points(body.encode())
        assert columns.timestamps.tolist() == [row["timestamp"] for row in rows]
        if name in HEATMAPS:
            same_rows(
                columns, [{"levels": [x for level in row["levels"] for x in level]} for row in rows], {"levels": LIST}
            )
        else:
            same_rows(columns, rows, FIELDS[name])


if __name__ == "__main__":
    kind, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    {"numbers": numbers, "bodies": bodies}[kind](count, random.Random(seed))
    sys.stdout.write("same\n")
