"""Tables that are not what they should be: stray quotes, cut files, endless fields, fewer rows than before."""

import gzip
import subprocess
import sys

import pytest

import marketpoints as mp

DAY = 1_733_011_200  # 2024-12-01
SUPPLY = "coin,token_name,timestamp,marketcap,chain"
TRADES = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount"


def supply(rows, first=0):
    """Rows of a table of token supply, a second apart."""
    return [f'LINK,"Chainlink",{DAY + first + row}000000,{1e9 + row},ETHEREUM' for row in range(rows)]


def write(path, header, rows, end="\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    data = ("\n".join([header, *rows]) + end).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def ingest(folder, **rules):
    return mp.ingest(folder / "dumps", folder / "store", **rules)


def places(report):
    return [(problem.line, problem.column) for problem in report.problems]


def stored(folder):
    return {path: path.read_bytes() for path in (folder / "store").rglob("*.parquet")}


@pytest.mark.parametrize("name", ["all.csv", "all.csv.gz"])
def test_a_stray_quote_spoils_its_row_and_no_other(tmp_path, name):
    rows = supply(1_000)
    rows[3] = rows[3].replace('"Chainlink"', '"Chainlink')  # opened, never closed
    rows[500] = rows[500].replace('"Chainlink"', '"Chain"link"')
    rows[998] = rows[998].replace("ETHEREUM", '"ETHEREUM')
    write(tmp_path / "dumps" / "token_supply" / name, SUPPLY, rows)
    report = ingest(tmp_path)
    assert places(report) == [(5, "token_name"), (502, "token_name"), (1_000, "chain")]
    assert (report.files, report.rows) == (1, 997)


def test_two_stray_quotes_do_not_make_one_field_of_what_lies_between(tmp_path):
    rows = supply(10)
    rows[2], rows[6] = (row.replace('"Chainlink"', '"Chainlink') for row in (rows[2], rows[6]))
    write(tmp_path / "dumps" / "token_supply" / "all.csv", SUPPLY, rows)
    report = ingest(tmp_path)
    assert (places(report), report.rows) == ([(4, "token_name"), (8, "token_name")], 8)


def test_a_stray_quote_in_the_last_whole_line_is_a_bad_row(tmp_path):
    rows = supply(10)
    rows[9] = rows[9].replace('"Chainlink"', '"Chainlink')
    write(tmp_path / "dumps" / "token_supply" / "all.csv", SUPPLY, rows)
    report = ingest(tmp_path)
    assert (places(report), report.rows) == ([(11, "token_name")], 9)


@pytest.mark.parametrize("name", ["all.csv", "all.csv.gz"])
def test_a_file_that_ends_within_quotes_is_not_taken(tmp_path, name):
    path = tmp_path / "dumps" / "token_supply" / name
    write(path, SUPPLY, supply(10))
    assert ingest(tmp_path).files == 1
    before = stored(tmp_path)
    rows = supply(20)
    rows[19] = rows[19][: rows[19].index("link")]
    write(path, SUPPLY, rows, end="")
    report = ingest(tmp_path)
    assert (report.files, report.rows, places(report)) == (0, 0, [(21, "")])
    assert "within quotes" in report.problems[0].what
    assert stored(tmp_path) == before


def test_a_field_that_is_too_long_is_a_bad_row(tmp_path):
    rows = supply(3)
    rows[1] = rows[1].replace('"Chainlink"', "x" * 65_537)
    rows[2] = rows[2].replace('"Chainlink"', "x" * 65_536)
    write(tmp_path / "dumps" / "token_supply" / "all.csv", SUPPLY, rows)
    report = ingest(tmp_path)
    assert (places(report), report.rows) == ([(3, "token_name")], 2)


MEMORY = """
import sys
import marketpoints as mp

report = mp.ingest(sys.argv[1], sys.argv[2])
# Of this program alone: what getrusage reports begins with the memory of the process that started it.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM:"))
print(report.files, len(report.problems), int(peak.split()[1]) // 1024)
"""


@pytest.mark.parametrize("kind", ["field", "quoted field", "header"])
def test_a_field_without_an_end_does_not_fill_the_memory(tmp_path, kind):
    """Half a gigabyte that a few hundred kilobytes of gzip unpack to."""
    path = tmp_path / "dumps" / "token_supply" / "bomb.csv.gz"
    path.parent.mkdir(parents=True)
    begin = {"field": f"{SUPPLY}\nLINK,", "quoted field": f'{SUPPLY}\nLINK,"', "header": ""}[kind]
    with gzip.open(path, "wb", compresslevel=1) as out:
        out.write(begin.encode())
        for _ in range(512):
            out.write(b"," * (1 << 20) if kind == "header" else b"x" * (1 << 20))
    command = [sys.executable, "-c", MEMORY, str(tmp_path / "dumps"), str(tmp_path / "store")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    files, problems, megabytes = map(int, done.stdout.split())
    assert (files, problems) == (0, 1)
    assert megabytes < 300


def test_a_header_of_many_names_is_reported_in_few_words(tmp_path):
    write(tmp_path / "dumps" / "token_supply" / "wide.csv", f"{SUPPLY},{'x,' * 5_000}x", supply(2))
    write(
        tmp_path / "dumps" / "token_supply" / "long.csv", f"{SUPPLY},{'y' * 50_000}", [f"{row}," for row in supply(2)]
    )
    report = ingest(tmp_path)
    assert report.files == 1
    assert all(len(str(problem)) < 1_000 for problem in report.problems) and len(report.problems) == 2


def trade_rows(rows):
    return [f"x,y,{DAY + row}000000,0,{row},buy,2,3" for row in range(rows)]


@pytest.mark.parametrize(
    ("path", "header", "make"),
    [
        ("token_supply/all.csv", SUPPLY, supply),
        ("trades/BYBIT/BTCUSDT/2024-12-01.csv.gz", TRADES, trade_rows),
        ("liquidations/BYBIT/BTCUSDT/2024-12-01.csv.gz", TRADES, trade_rows),
    ],
)
def test_a_good_store_is_not_replaced_by_less_without_a_word(tmp_path, path, header, make):
    dump = tmp_path / "dumps" / path
    write(dump, header, make(1_000))
    assert (ingest(tmp_path).rows, ingest(tmp_path).unchanged) == (1_000, 1)
    before = stored(tmp_path)
    write(dump, header, make(3))
    for _ in range(2):  # it does not go through the second time either
        report = ingest(tmp_path)
        assert (report.files, report.rows, report.unchanged, places(report)) == (0, 0, 0, [(0, "")])
        what = report.problems[0].what
        assert "3 good rows" in what and "1000" in what and "allow_fewer_rows" in what
        assert stored(tmp_path) == before
    report = ingest(tmp_path, allow_fewer_rows=True)
    assert (report.files, report.rows, report.problems) == (1, 3, [])
    assert stored(tmp_path) != before
    write(dump, header, make(4))
    assert ingest(tmp_path).rows == 4


def test_the_command_reports_fewer_rows_by_its_status(tmp_path):
    def command(*more):
        line = [sys.executable, "-m", "marketpoints", "ingest", tmp_path / "dumps", tmp_path / "store", *more]
        return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)

    dump = tmp_path / "dumps" / "token_supply" / "all.csv"
    write(dump, SUPPLY, supply(5))
    assert command().returncode == 0
    write(dump, SUPPLY, supply(4))
    refused = command()
    assert refused.returncode == 1 and "--allow-fewer-rows" in refused.stderr
    assert command("--allow-fewer-rows").returncode == 0
