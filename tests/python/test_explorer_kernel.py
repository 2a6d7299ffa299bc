"""The explorer in a kernel of Jupyter's, as a notebook talks to it: channels, pictures from a thread, and its end."""

import os
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

if "CI" not in os.environ:  # there nothing is skipped
    pytest.importorskip("anywidget")
    pytest.importorskip("ipykernel")

CODE = """
import marketpoints as mp
from support.bodies import BOOK, body, heatmap
explorer = mp.decode_points(body(heatmap(BOOK * 20))).explore()
explorer
"""


@contextmanager
def kernel(folder):
    from jupyter_client import KernelManager
    from jupyter_client.kernelspec import KernelSpec

    manager = KernelManager()
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager._kernel_spec = KernelSpec(argv=command, display_name="here", language="python")
    manager.connection_file = str(folder / "connection.json")
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    manager.start_kernel(env={**os.environ, "PYTHONPATH": path, "IPYTHONDIR": str(folder), "MPLBACKEND": "agg"})
    client = manager.client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=90)
        yield manager, client
    finally:
        client.stop_channels()
        if manager.is_alive():
            manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
        manager.context.destroy(linger=0)
        client.context.destroy(linger=0)


def until(client, wanted):
    """The first message of the kernel's output for which ``wanted`` is true, and those before it."""
    before, end = [], time.monotonic() + 90
    while time.monotonic() < end:
        message = client.get_iopub_msg(timeout=90)
        assert message["msg_type"] != "error", "\n".join(message["content"]["traceback"])
        if wanted(message):
            return message, before
        before.append(message)
    raise AssertionError("it never came")


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_notebook_talks_to_it(tmp_path):
    with kernel(tmp_path) as (manager, client):
        client.execute(CODE)
        shown, before = until(client, lambda message: message["msg_type"] == "execute_result")
        bundle = shown["content"]["data"]
        assert bundle["image/png"].startswith("iVBORw0KGgo")
        model = bundle["application/vnd.jupyter.widget-view+json"]["model_id"]
        (opened,) = [one for one in before if one["msg_type"] == "comm_open" and one["content"]["comm_id"] == model]
        state = opened["content"]["data"]["state"]
        # Pixels are in no state, for that is saved with the notebook.
        assert state["about"]["levels"] and "export default" in state["_esm"] and opened["buffers"] == []

        t0, t1, p0, p1 = state["about"]["home"]
        asked = {"kind": "view", "id": 5, "t0": t0, "t1": t1, "p0": p0, "p1": p1, "w": 60, "h": 40, "dpr": 1}
        asked |= {"side": "both", "scale": "quantile", "theme": "dark"}
        data = {"method": "custom", "content": asked}
        client.shell_channel.send(client.session.msg("comm_msg", {"comm_id": model, "data": data}))
        reply, _ = until(client, lambda message: message["msg_type"] == "comm_msg")
        assert reply["content"]["comm_id"] == model and reply["content"]["data"]["content"]["id"] == 5
        assert [len(buffer) for buffer in reply["buffers"]] == [60 * 40, 1024, 1024]
        until(client, lambda message: message["content"].get("data", {}).get("content", {}).get("last"))

        client.shell_channel.send(client.session.msg("comm_close", {"comm_id": model, "data": {}}))
        client.execute("print(explorer._answers.pictures.has_newer, explorer.widget.comm)")
        closed, _ = until(client, lambda message: message["msg_type"] == "stream")
        assert closed["content"]["text"] == "True None\n"
        client.shutdown()
        process = manager.provisioner.process
        assert process.wait(60) == 0
