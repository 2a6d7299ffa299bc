"""A program that has a Dask cluster of processes and no key: what test_dask.py starts, asks, looks into and kills.

It reads requests from standard input, a line of JSON each, and answers on standard output. Its own process holds the
scheduler too. Workers take their environment from a file that they alone open, as they would from a mounted secret.
"""

import json
import logging
import os
import pickle
import signal
import sys

import dask
import distributed
from distributed.diagnostics.plugin import SchedulerPlugin

import marketpoints as mp

READ = """
import json, os
os.environ.update(json.load(open({file!r})))
"""


class Graphs(SchedulerPlugin):
    """Keeps every task as the scheduler has it."""

    def __init__(self):
        self.pickled = b""

    def update_graph(self, scheduler, *, keys, **_):
        for key in keys:
            if str(key).startswith("marketpoints"):
                self.pickled += pickle.dumps(scheduler.tasks[key].run_spec)


def say(**answer):
    print(json.dumps(answer), flush=True)


def read_environment(file):
    """In a worker: another environment from now on."""
    with open(file) as opened:
        os.environ.update(json.load(opened))
    return os.getpid()


def running(cluster):
    """The nannies of workers that run: neither killed nor starting."""
    nannies = cluster.workers.values()
    return [one for one in nannies if one.process is not None and one.process.status == distributed.Status.running]


def loud(folder):
    """In a worker: everything that it logs, in a file of its own."""
    logging.basicConfig(filename=f"{folder}/worker-{os.getpid()}.log", level=logging.DEBUG, force=True)
    for name in ("marketpoints", "distributed", "distributed.worker", "distributed.core"):
        logging.getLogger(name).setLevel(logging.DEBUG)


def main(secrets, folder):
    preload = f"{folder}/preload.py"
    with open(preload, "w") as written:
        written.write(READ.format(file=secrets))
    logging.basicConfig(filename=f"{folder}/scheduler.log", level=logging.DEBUG, force=True)
    settings = {"distributed.worker.preload": [preload], "distributed.logging": {"distributed": "debug"}}
    graphs = Graphs()
    with (
        dask.config.set(settings),
        distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        cluster.scheduler.add_plugin(graphs)
        client.run(loud, folder)
        say(pids=[nanny.pid for nanny in cluster.workers.values()])
        for line in sys.stdin:
            request = json.loads(line)
            if "environment" in request:
                # Workers that were killed a moment ago come back with the environment of the first file.
                pids = set()
                while len(pids) < 2 or pids != {nanny.pid for nanny in running(cluster)}:
                    client.wait_for_workers(2)
                    pids = set(client.run(read_environment, request["environment"]).values())
                say(done=True)
                continue
            kills, in_flight = list(request.pop("kill_after", [])), []
            cluster.scheduler.allowed_failures = request.pop("allowed_failures", 3)
            request["archive"] = mp.Archive(request["archive"], lease=request.pop("lease"))

            def progress(done, total, kills=kills, in_flight=in_flight):
                say(requests=done)
                busy = client.processing()
                # One that is still starting would not be started again.
                victims = [nanny for nanny in running(cluster) if busy.get(nanny.worker_address)]
                if kills and done >= kills[0] and victims:
                    kills.pop(0)
                    in_flight += map(str, busy[victims[-1].worker_address])
                    os.kill(victims[-1].pid, signal.SIGKILL)

            try:
                report = mp.dask.sync(**request, progress=progress)
            except mp.Error as error:
                say(error=f"{type(error).__name__}: {error}")
            else:
                say(report=json.loads(report.to_json()), in_flight=in_flight)
        with open(f"{folder}/graphs", "wb") as written:
            written.write(graphs.pickled)
        say(graphs=len(graphs.pickled))
        sys.stdin.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
