"""A program that syncs a universe on a cluster that runs already, and has no key: test_dask.py kills it at random.

Arguments: the scheduler's file, and the arguments of `sync` as JSON. Answers on standard output, a line of JSON each.
"""

import json
import sys

import distributed

import marketpoints as mp


def say(**answer):
    print(json.dumps(answer), flush=True)


def main(scheduler, request):
    request = json.loads(request)
    request["archive"] = mp.Archive(request["archive"], lease=request.pop("lease"))
    with distributed.Client(scheduler_file=scheduler, timeout=60):
        say(requests=0)
        report = mp.dask.sync(**request, progress=lambda done, total: say(requests=done))
        say(report=json.loads(report.to_json()))


if __name__ == "__main__":
    main(*sys.argv[1:])
