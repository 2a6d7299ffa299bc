"""A real S3 server in a process of its own: moto's, over sockets.

One request at a time, so that a condition is looked at and acted on in one step, as in the stores that it stands for.
"""

import json
import os
import subprocess
import sys
import threading
import urllib.request
from contextlib import contextmanager

import boto3

ACCESS_KEY = "AKIAEXAMPLEOFTESTS"
SECRET_KEY = "a-secret-that-nobody-may-see"
#: Where the server tells what it sent.
SENT = "/what-was-sent"


class Store:
    """The server, and an independent client of it."""

    def __init__(self, url):
        self.url = url
        self.environment = {
            "AWS_ENDPOINT_URL": url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        }
        # Not by way of the environment, which is the subject of the tests.
        self.client = boto3.client(
            "s3",
            endpoint_url=url,
            region_name="us-east-1",
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
            verify=False,
        )

    def bucket(self, name):
        self.client.create_bucket(Bucket=name)
        return Bucket(self, name)

    def sent(self):
        """What the server sent of data files since it was asked last: how many bytes of each request."""
        with urllib.request.urlopen(f"{self.url}{SENT}") as answer:
            return json.load(answer)

    def demand_credentials(self, demand):
        """From now on unknown keys are refused, or no more."""
        body, kind = b"0" if demand else b"inf", {"Content-Type": "text/plain"}
        request = urllib.request.Request(f"{self.url}/moto-api/reset-auth", body, kind, method="POST")
        urllib.request.urlopen(request).close()


class Bucket:
    """One bucket: names and bytes."""

    def __init__(self, store, name):
        self.store, self.name = store, name
        self.url = f"s3://{name}/some/prefix"

    def names(self):
        pages = self.store.client.get_paginator("list_objects_v2").paginate(Bucket=self.name)
        names = [one["Key"] for page in pages for one in page.get("Contents", [])]
        assert all(name.startswith("some/prefix/") for name in names)
        return sorted(name.removeprefix("some/prefix/") for name in names)

    def parts(self):
        return [name for name in self.names() if name.endswith("part.parquet")]

    def read(self, name):
        return self.store.client.get_object(Bucket=self.name, Key=f"some/prefix/{name}")["Body"].read()

    def write(self, name, body):
        self.store.client.put_object(Bucket=self.name, Key=f"some/prefix/{name}", Body=body)

    def delete(self, name):
        self.store.client.delete_object(Bucket=self.name, Key=f"some/prefix/{name}")


@contextmanager
def running(*traits):
    """A server: ``forgetful`` of conditions, ``lossy`` (does every fifth write and answers 500), or with ``tls``."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, __file__, *traits]
    child = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        scheme = "https" if "tls" in traits else "http"
        yield Store(f"{scheme}://127.0.0.1:{int(child.stdout.readline())}")
    finally:
        child.stdin.close()  # its end is the server's
        child.wait(timeout=30)
        child.stdout.close()


def serve(traits):
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        def log(self, *_arguments):
            pass

    moto = DomainDispatcherApplication(create_backend_app)
    lock, writes, sent = threading.Lock(), 0, []

    def one_at_a_time(environ, start_response):
        nonlocal writes
        with lock:
            if "forgetful" in traits:
                environ.pop("HTTP_IF_MATCH", None)
                environ.pop("HTTP_IF_NONE_MATCH", None)
            if environ["PATH_INFO"] == SENT:
                start_response("200 OK", [("Content-Type", "application/json")])
                told, sent[:] = json.dumps(sent).encode(), []
                return [told]
            answer = moto(environ, start_response)
            body = [b"".join(answer)]
            if environ["REQUEST_METHOD"] == "GET" and environ["PATH_INFO"].endswith(".parquet"):
                sent.append(len(body[0]))
            writes += environ["REQUEST_METHOD"] == "PUT"
            if "lossy" in traits and environ["REQUEST_METHOD"] == "PUT" and writes % 5 == 0:
                start_response("500 Lost", [("Content-Length", "0")])
                return [b""]
            return body

    certificate = "adhoc" if "tls" in traits else None  # signed by nobody
    server = make_server("127.0.0.1", 0, one_at_a_time, threaded=True, request_handler=Quiet, ssl_context=certificate)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1:])
