"""A universe on a real Dask cluster of processes, with a real Redis and an S3-speaking server."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import dask  # noqa: F401 - the framework of this environment
import distributed
import pytest

import marketpoints as mp
from support import object_store, redis_server

# Several of these talk to a cluster that could fall silent.
pytestmark = pytest.mark.timeout(120)

#: A full hour, a little before the service's clock.
END, HOUR = 1_789_999_200, 3_600
#: One series of three requests, a hundred thousand minutes being the most that one brings; nine of one request; one
#: that the service has nothing of, and one that the table of types refuses.
UNIVERSE = {
    "exchange": "BINANCE_FUTURES",
    "interval": "1m",
    "end": END,
    "series": [
        {"type": "open_interest", "symbol": "BTCUSDT", "start": END - 3_700 * HOUR},
        {
            "type": ["candles", "liquidations", "funding_rate"],
            "symbol": ["BTCUSDT", "ETHUSDT", "SOLUSDT"],
            "start": END - 100 * HOUR,
        },
        {"type": "candles", "symbol": "NOSUCH", "start": END - HOUR},
        {"type": "liquidation_heatmap", "symbol": "BTCUSDT", "start": END - HOUR},
    ],
}
FEW = {**UNIVERSE, "series": [{"type": "candles", "symbol": ["BTCUSDT", "ETHUSDT"], "start": END - HOUR}]}
REQUESTS, WEIGHT = 3 + 9 + 1, 222 + 9 * 6 + 1
#: A request that is given up on a busy machine would be paid twice: that is not what is tested.
PATIENT = {"timeout": 300, "check_symbols": False, "archive_source": "twin"}
#: Seconds for which the lock of a killed writer is waited for.
LEASE = 3
#: What a search in memory finds where it is.
KEY, OTHER_KEY = "mp-a-key-that-nobody-else-may-hold", "mp-another-key-of-a-small-tier"
SECRETS = [KEY.encode(), OTHER_KEY.encode(), object_store.SECRET_KEY.encode()]


@pytest.fixture(scope="module")
def service():
    keys = {"ours": ("advanced", KEY), "small": ("basic", OTHER_KEY), "unlimited": ("unlimited", "mp-without-end")}
    with mp.LocalService(now=END + 900, keys=keys, strict_symbols=False) as running:
        yield running


@pytest.fixture(scope="module")
def store():
    with object_store.running() as running:
        yield running


@pytest.fixture(scope="module")
def redis(tmp_path_factory):
    with redis_server.running(tmp_path_factory.mktemp("redis")) as address:
        yield address


@pytest.fixture(scope="module")
def secrets(service, store, tmp_path_factory):
    """Files with the environments of workers, one for each key."""
    folder = tmp_path_factory.mktemp("secrets")
    own = {"MARKETPOINTS_BASE_URL": service.url, "MARKETPOINTS_CLOCK_OFFSET": str(service.now() - time.time())}
    for name, key, tier in (("ours", KEY, "advanced"), ("small", OTHER_KEY, "basic")):
        known = {"MARKETPOINTS_API_KEY": key, "MARKETPOINTS_TIER": tier}
        (folder / name).write_text(json.dumps({**store.environment, **own, **known}))
    return folder


class Cluster:
    """The child of this process that has the cluster."""

    def __init__(self, process, folder):
        self.process, self.folder = process, folder
        self.workers = self.answer("pids")["pids"]

    def answer(self, *names):
        """The next answer that has one of these."""
        for line in self.process.stdout:
            answer = json.loads(line)
            if set(names) & set(answer):
                return answer
        raise AssertionError(f"the cluster ended with {self.process.wait()}")

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def sync(self, universe, archive, **settings):
        self.ask(plan=universe, archive=archive, lease=LEASE, **{**PATIENT, **settings})
        return self.answer("report", "error")


@contextmanager
def cluster_in(folder, secrets):
    command = [sys.executable, str(Path(__file__).with_name("cluster_child.py")), str(secrets / "ours"), str(folder)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MARKETPOINTS_", "AWS_"))}
    environment["MARKETPOINTS_CACHE_DIR"] = str(folder / "cache")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    errors = (folder / "stderr").open("wb")
    with errors, subprocess.Popen(command, env=environment, stderr=errors, **pipes) as process:
        try:
            yield Cluster(process, folder)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, secrets):
    with cluster_in(tmp_path_factory.mktemp("cluster"), secrets) as running:
        yield running


@pytest.fixture(scope="module")
def whole(service, store, tmp_path_factory):
    """The universe in one process, at the same service: its report, and every data file's bytes."""
    bucket = store.bucket("whole")
    options = {name: value for name, value in store.environment.items() if name.startswith("AWS_")}
    with service.client("unlimited", **PATIENT) as client:
        report = mp.Archive(bucket.url, storage_options=options).sync_all(client, UNIVERSE)
    assert (report.requests, report.weight) == (REQUESTS, WEIGHT)
    return json.loads(report.to_json()), files(bucket)


def files(bucket):
    return {name: bucket.read(name) for name in bucket.parts()}


def without_times(report):
    return {name: value for name, value in report.items() if name != "seconds"}


def found_in_memory(pid, words):
    """Which of these a process has anywhere in its readable memory."""
    found = set()
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, rights, *_ = line.split()
            if "r" not in rights or "[v" in line:  # the kernel's own pages cannot be read so
                continue
            start, end = (int(one, 16) for one in span.split("-"))
            try:
                memory.seek(start)
                held = memory.read(end - start)
            except (OSError, ValueError, OverflowError):
                continue
            found |= {word for word in words if word in held}
    return found


def asked_of_redis(address, command):
    """The first bytes of what Redis answers to a command."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address.removeprefix("unix://"))
        connection.sendall(f"{command}\r\n".encode())
        return connection.recv(10_000)


def paid(service):
    """How often each request was charged, by series and window."""
    asked = [one for one in service.requests if one.weight]
    return Counter((one.query["type"], one.query["rawSymbol"], one.query["from"], one.query["period"]) for one in asked)


def test_a_cluster_keeps_what_one_process_does_and_nobody_else_sees_the_key(service, store, redis, cluster, whole):
    report, expected = whole
    bucket = store.bucket("cluster")
    service.clear_requests()
    done = cluster.sync(UNIVERSE, bucket.url, budget=redis)["report"]
    assert without_times(done) == without_times(report)
    assert [done[name] for name in ("complete", "empty", "refused", "failed")] == [10, 1, 1, 0]
    assert files(bucket) == expected
    service.assert_spent(WEIGHT)
    assert not [one for one in service.requests if one.status == 429]
    # The scheduler lives in the process that has the cluster. That the search finds what is there, workers show.
    assert found_in_memory(cluster.process.pid, [*SECRETS, bucket.url.encode()]) == {bucket.url.encode()}
    assert {KEY.encode()} <= found_in_memory(cluster.workers[0], SECRETS)


def test_a_series_that_fails_says_why_and_the_next_run_goes_on(service, store, redis, cluster):
    bucket = store.bucket("failing")
    with service.faults.set(status=503, path="/v1/points", count=1):
        done = cluster.sync(FEW, bucket.url, budget=redis, retries=0)["report"]
    assert sorted(one["status"] for one in done["series"]) == ["complete", "failed"]
    assert "503" in next(one["reason"] for one in done["series"] if one["status"] == "failed")
    again = cluster.sync(FEW, bucket.url, budget=redis)["report"]
    assert (again["complete"], again["requests"]) == (2, 1)


def test_one_budget_for_all_workers(service, store, redis, cluster, secrets):
    """Of a tier with 50 a minute and a bucket of 100: with a bucket for each worker there would be a 429."""
    cluster.ask(environment=str(secrets / "small"))
    assert cluster.answer("done")
    days = {**UNIVERSE, "series": [{"type": "candles", "symbol": ["BTCUSDT", "ETHUSDT"], "start": END - 620 * HOUR}]}
    more = {"type": ["liquidations", "funding_rate"], "symbol": ["BTCUSDT", "ETHUSDT"], "start": END - 116 * HOUR}
    days["series"].append(more)
    weight = 2 * 38 + 4 * 7
    service.clear_requests()
    begun = time.monotonic()
    done = cluster.sync(days, store.bucket("small").url, budget=redis)["report"]
    assert (done["complete"], done["weight"]) == (6, weight)
    assert time.monotonic() - begun >= (weight - 100) / 50 * 60
    service.assert_spent(weight)
    assert not [one for one in service.requests if one.status == 429]
    # The accounts are in Redis and nowhere else: one for each key, by names in which it does not stand.
    assert not list((cluster.folder / "cache").rglob("*.json"))
    names = asked_of_redis(redis, "KEYS *")
    assert names.startswith(b"*2") and not [word for word in SECRETS if word in names]
    cluster.ask(environment=str(secrets / "ours"))
    assert cluster.answer("done")


def test_a_piece_that_workers_die_of_ends_its_series_alone(service, store, redis, cluster):
    # Of two series one waits, when the other is done and the worker of the first is killed.
    with service.faults.set(latency=300, path="/v1/points", count=1):
        answer = cluster.sync(FEW, store.bucket("deadly").url, budget=redis, allowed_failures=0, kill_after=[1])
    report = answer["report"]
    assert len(answer["in_flight"]) == 1
    assert sorted(one["status"] for one in report["series"]) == ["complete", "failed"]
    (reason,) = (one["reason"] for one in report["series"] if one["reason"])
    assert reason.startswith("workers died during it, 1 in a row")


def test_killed_at_random_it_pays_once_and_ends_in_the_same_bytes(
    service, store, redis, cluster, whole, secrets, tmp_path
):
    bucket = store.bucket("killed")
    service.clear_requests()
    with cluster_in(tmp_path, secrets) as first:  # the scheduler, its client and all workers at once
        first.ask(plan=UNIVERSE, archive=bucket.url, lease=LEASE, budget=redis, **PATIENT)
        while first.answer("requests")["requests"] < 3:
            pass
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
    again = cluster.sync(UNIVERSE, bucket.url, budget=redis, kill_after=[2, 5])
    done = again["report"]
    assert [done[name] for name in ("complete", "empty", "refused", "failed")] == [10, 1, 1, 0]
    assert files(bucket) == whole[1]
    twice = {request: times for request, times in paid(service).items() if times > 1}
    # Four threads had a request each when all was killed, and two of each worker; a piece here has one request.
    assert len(twice) <= 4 + 2 * 2 and sum(twice.values()) <= 2 * len(twice) + 2
    assert not [one for one in service.requests if one.status == 429]
    assert len(again["in_flight"]) > 0
    assert not found_in_memory(cluster.process.pid, SECRETS)


class Parts:
    """A scheduler, two workers and the scheduler's client, each a process of its own, that may be killed one by one."""

    WORKERS = ("worker-0", "worker-1")

    def __init__(self, folder, secrets, request):
        self.folder, self.request, self.running = folder, request, {}
        self.file = folder / "scheduler.json"
        (folder / "preload.py").write_text(f"import json, os\nos.environ.update(json.load(open({str(secrets)!r})))\n")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("MARKETPOINTS_", "AWS_"))}
        self.environment |= {"MARKETPOINTS_CACHE_DIR": str(folder / "cache")}

    def start(self, name, *command, **options):
        with (self.folder / f"{name}.log").open("ab") as log:
            options = {"stdout": log, "stderr": log, "env": self.environment, "cwd": self.folder, **options}
            self.running[name] = subprocess.Popen([sys.executable, *command], **options)

    def kill(self, name):
        process = self.running.pop(name)
        process.kill()
        process.wait()

    def complete(self):
        """Starts what does not run; a cluster without its scheduler is started anew."""
        if "scheduler" not in self.running:
            for name in list(self.running):
                self.kill(name)
            self.file.unlink(missing_ok=True)
            command = ["-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
            self.start("scheduler", *command, "--scheduler-file", str(self.file))
        for name in self.WORKERS:
            if name not in self.running:
                command = ["-m", "distributed.cli.dask_worker", "--scheduler-file", str(self.file), "--no-nanny"]
                more = ["--nthreads", "2", "--no-dashboard", "--preload", "preload.py"]
                self.start(name, *command, *more, "--local-directory", str(self.folder / name))
        if "client" not in self.running:
            command = [str(Path(__file__).with_name("cluster_client.py")), str(self.file), json.dumps(self.request)]
            self.start("client", *command, stdout=subprocess.PIPE)

    def report(self, kills):
        """Runs until a client has its report, and kills what this yields: a part, and after how many requests."""
        killed = []
        due = next(kills, None)
        while True:
            self.complete()
            line = self.running["client"].stdout.readline()
            if not line:
                raise AssertionError((self.folder / "client.log").read_text())
            answer = json.loads(line)
            if "report" in answer:
                return answer["report"], killed
            if due and answer["requests"] >= due[1]:
                killed.append(due[0])
                self.kill(due[0])
                if due[0] == "scheduler":
                    self.kill("client")  # it would go on looking for it
                due = next(kills, None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for name in list(self.running):
            self.kill(name)


@pytest.mark.parametrize("seed", range(3))
def test_each_part_killed_by_chance_pays_once_and_ends_in_the_same_bytes(
    service, store, redis, whole, secrets, tmp_path, seed
):
    chance = random.Random(seed)
    # Each once, in an order and at moments that the seed chooses, counted from the start of the client that runs then.
    victims = chance.sample(["scheduler", "client", *Parts.WORKERS], 4)
    kills = iter([(victim, chance.randint(0, 2)) for victim in victims])
    bucket = store.bucket(f"parts-{seed}")
    service.clear_requests()
    with Parts(
        tmp_path, secrets / "ours", {"plan": UNIVERSE, "archive": bucket.url, "lease": LEASE, "budget": redis}
    ) as parts:
        parts.request |= PATIENT
        report, killed = parts.report(kills)
    assert killed == victims
    assert [report[name] for name in ("complete", "empty", "refused", "failed")] == [10, 1, 1, 0]
    assert files(bucket) == whole[1]
    again = [times - 1 for times in paid(service).values() if times > 1]
    # Each worker has two threads, and a piece here is one request: two are lost with a worker, four with the scheduler
    # or its client.
    assert sum(again) <= 2 * 2 + 2 * 4
    assert not [one for one in service.requests if one.status == 429]
    for log in tmp_path.glob("*.log"):
        assert not [word for word in SECRETS if word in log.read_bytes()], log


@pytest.fixture
def threads():
    with (
        distributed.LocalCluster(n_workers=2, processes=False, dashboard_address=":0") as local,
        distributed.Client(local) as client,
    ):
        yield client


@pytest.fixture
def environment(service, monkeypatch):
    """This process as a worker's, and that of the workers that it starts."""
    monkeypatch.setenv("MARKETPOINTS_API_KEY", "mp-without-end")
    monkeypatch.setenv("MARKETPOINTS_BASE_URL", service.url)
    monkeypatch.setenv("MARKETPOINTS_CLOCK_OFFSET", str(service.now() - time.time()))


def test_what_progress_raises_ends_the_run_and_the_next_one_goes_on(service, environment, threads, tmp_path):
    kinds = ["candles", "open_interest", "liquidations", "funding_rate"]
    symbols = ["BTCUSDT", "ETHUSDT", "SOLUSDT"]
    many = {**UNIVERSE, "series": [{"type": kinds, "symbol": symbols, "start": END - 24 * HOUR, "interval": "1h"}]}

    class Enough(BaseException):
        pass

    def enough(done, total):
        raise Enough

    with pytest.raises(Enough):
        mp.dask.sync(many, tmp_path, progress=enough, **PATIENT)
    waiting = [key for keys in threads.processing().values() for key in keys]
    assert len(waiting) <= sum(threads.nthreads().values())
    report = mp.dask.sync(many, tmp_path, **PATIENT)
    assert len(report.complete) + len(report.empty) == 12 and report.weight < 12


def test_a_wrong_key_ends_the_run_before_anything_is_paid(service, store, redis, cluster, secrets, tmp_path):
    wrong = tmp_path / "wrong"
    wrong.write_text(json.dumps({"MARKETPOINTS_API_KEY": "mp-wrong"}))
    cluster.ask(environment=str(wrong))
    assert cluster.answer("done")
    assert cluster.sync(UNIVERSE, store.bucket("wrong").url, budget=redis)["error"].startswith("AuthenticationError")
    cluster.ask(environment=str(secrets / "ours"))
    assert cluster.answer("done")


def test_no_graph_and_no_log_has_a_secret(cluster):
    cluster.process.stdin.close()
    assert cluster.answer("graphs")["graphs"] > 10_000
    cluster.process.wait(timeout=60)
    written = {path.name: path.read_bytes() for path in cluster.folder.iterdir() if path.is_file()}
    assert {"graphs", "scheduler.log", "stderr"} < set(written)
    assert sum(name.startswith("worker-") for name in written) >= 2
    assert any(b"/v1/points" in text for name, text in written.items() if name.startswith("worker-"))
    for name, text in written.items():
        assert not [word for word in SECRETS if word in text], name


def test_the_recipe_of_the_documents_runs(threads, environment, recipes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("universe.toml").write_text(
        'exchange = "BYBIT"\nsymbol = "BTCUSDT"\ntype = "candles"\ninterval = "1h"\nperiod = "10d"\n'
    )
    addresses = {
        "tcp://scheduler:8786": threads.cluster.scheduler_address,
        "s3://bucket/history": str(tmp_path / "history"),
        "redis://host:6379/0": "machine",
    }
    names = recipes("On a Dask cluster", addresses)
    names["cluster"].close()
    assert names["plan"].weight == names["report"].weight == 1 and names["report"].rows == 240


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"api_key": KEY}, "api_key: it would travel"),
        ({"budget": "redis://:secret-word@host:6379/0"}, "budget: a password in it would travel"),
        ({"proxy": "http://user:secret-word@host:1"}, "proxy: a password in it would travel"),
        ({"base_url": "http://user:secret-word@host:1"}, "base_url: a password in it would travel"),
        ({"budget": "process"}, "each worker process would spend all of it"),
        ({"archive": None}, "archive: it is missing"),
        ({"client": "tcp://127.0.0.1:1"}, "client: a str is no distributed.Client"),
        ({"plan": {**UNIVERSE, "intervall": "1h"}}, "did you mean interval"),
    ],
)
def test_what_cannot_be_right_is_refused_before_anything_is_sent(threads, tmp_path, given, problem):
    with pytest.raises(mp.InvalidRequest, match=problem) as caught:
        mp.dask.sync(**{"plan": UNIVERSE, "archive": tmp_path, **given})
    assert "secret-word" not in str(caught.value) and KEY not in str(caught.value)


def test_credentials_of_an_archive_do_not_travel(threads):
    options = {"access_key_id": "somebody", "secret_access_key": "secret-word"}
    with pytest.raises(mp.InvalidRequest, match="credentials would travel"):
        mp.dask.sync(UNIVERSE, mp.Archive("s3://bucket/prefix", storage_options=options))


def test_a_slip_in_a_setting_is_refused(threads, tmp_path):
    with pytest.raises(TypeError, match="retries"):
        mp.dask.sync(UNIVERSE, tmp_path, retrys=3)


def test_without_a_cluster_it_says_so(tmp_path):
    with pytest.raises(mp.InvalidRequest, match="there is no cluster yet"):
        mp.dask.sync(UNIVERSE, tmp_path)


def test_machines_that_share_nothing_are_refused(tmp_path):
    hosts = ("127.0.0.1", "127.0.0.2")
    workers = {host: {"cls": distributed.Worker, "options": {"host": host, "nthreads": 1}} for host in hosts}
    scheduler = {"cls": distributed.Scheduler, "options": {"host": hosts[0], "dashboard": False, "port": 0}}
    with (
        distributed.SpecCluster(scheduler=scheduler, workers=workers) as machines,
        distributed.Client(machines),
        pytest.raises(mp.InvalidRequest, match=r"each machine would spend all of it \(2 workers on 2 machines\)"),
    ):
        mp.dask.sync(UNIVERSE, tmp_path)
