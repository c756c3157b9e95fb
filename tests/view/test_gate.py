"""The viewer answers its own page, and refuses those of others."""

from __future__ import annotations

import contextlib
import socket

import msgspec
import pytest

import hinge
from hinge.errors import ArgumentError, MissingExtraError
from hinge.view import gate, show
from hinge.view.gate import Gate

viser = pytest.importorskip("viser")

from websockets.datastructures import Headers  # noqa: E402 (comes with viser)
from websockets.exceptions import InvalidStatus  # noqa: E402
from websockets.sync.client import connect  # noqa: E402

LOCAL = ("127.0.0.1", 8080)


@pytest.fixture(scope="module")
def viewer():
    with show(hinge.robots.double_pendulum(), wait=False, port=0, allow="lab.example") as found:
        yield found


def status(viewer, host: str, *more: str) -> int:
    """Return the status of a plain request for the page with this header Host."""
    lines = ["GET / HTTP/1.1", *([f"Host: {host}"] if host else []), "Connection: close", *more]
    with contextlib.closing(socket.create_connection(("127.0.0.1", viewer.port), timeout=20)) as wire:
        wire.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        return int(wire.recv(4096).split()[1])


def websocket(viewer, origin: str | None):
    address = f"ws://127.0.0.1:{viewer.port}"
    protocol = f"viser-v{viser.__version__}"
    return connect(address, origin=origin, subprotocols=[protocol], proxy=None, max_size=None)


def test_the_page_is_given_to_its_own_address_only(viewer):
    port = viewer.port
    for host in (
        f"127.0.0.1:{port}",
        f"localhost:{port}",
        f"[::1]:{port}",
        f"LocalHost:{port}",
        "lab.example",
    ):
        assert status(viewer, host) == 200, host
    foreign = (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1",
        f"127.0.0.1:{port + 1}",
        "",
        "127.0.0.1@x",
    )
    for host in foreign:
        assert status(viewer, host) in (400, 403), host
    assert status(viewer, f"127.0.0.1:{port}", f"Host: evil.example:{port}") in (400, 403)
    assert status(viewer, f"127.0.0.1:{port}", "Origin: http://evil.example") == 403


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "file://", "http://127.0.0.1:1", "https://127.0.0.1.evil.example"],
)
def test_pages_of_others_get_no_scene(viewer, origin):
    with pytest.raises(InvalidStatus) as caught:
        websocket(viewer, origin)
    assert caught.value.response.status_code == 403
    assert b"--allow" in caught.value.response.body


def test_pages_of_others_do_not_move_the_robot(viewer):
    """What the own page does to a slider is done; the same from elsewhere is not."""
    _, handle = viewer.sliders[0]
    message = {"type": "GuiUpdateMessage", "uuid": handle._impl.uuid, "updates": {"value": 0.777}}
    with pytest.raises(InvalidStatus):
        websocket(viewer, "http://evil.example")
    assert handle.value == 0
    with websocket(viewer, f"http://127.0.0.1:{viewer.port}") as page:
        assert len(page.recv(timeout=20)) > 100
        page.send(msgspec.msgpack.encode(message))
        for _ in range(100):
            if handle.value == 0.777:
                break
            with contextlib.suppress(TimeoutError):
                page.recv(timeout=0.1)
    assert handle.value == 0.777


def test_programs_that_are_no_browser_may_connect(viewer):
    with websocket(viewer, None) as page:
        assert len(page.recv(timeout=20)) > 100


@pytest.mark.parametrize(
    ("host", "local", "fields", "let_in"),
    [
        ("0.0.0.0", ("192.168.1.5", 80), {"Host": "192.168.1.5"}, True),
        ("0.0.0.0", ("192.168.1.5", 80), {"Host": "192.168.1.6"}, False),
        ("::", ("::ffff:192.168.1.5", 8080, 0, 0), {"Host": "192.168.1.5:8080"}, True),
        ("::", ("fe80::1%eth0", 8080, 0, 2), {"Host": "[fe80:0::1]:8080"}, True),
        ("host.lab", LOCAL, {"Host": "host.lab:8080", "Origin": "http://host.lab:8080"}, True),
        ("host.lab", LOCAL, {"Host": "host.lab:8080", "Origin": "http://host.lab:8081"}, False),
        ("127.0.0.1", LOCAL, {"Host": "localhost:9000", "Origin": "http://localhost:9000"}, True),
        ("127.0.0.1", LOCAL, {"Host": "localhost:9001"}, False),
        ("127.0.0.1", LOCAL, {"Host": "127.0.0.1:8080", "Origin": "https://proxy.lab"}, True),
        ("127.0.0.1", LOCAL, {"Host": "127.0.0.1:8080", "Origin": "https://proxy.lab/x"}, False),
        ("127.0.0.1", LOCAL, {"Host": "127.0.0.1:8080", "Origin": ""}, False),
    ],
)
def test_addresses_are_compared_as_addresses(host, local, fields, let_in):
    found = Gate(host, ["localhost:9000", "proxy.lab"]).refusal(Headers(fields), local)
    assert (found == "") is let_in


@pytest.mark.parametrize("bad", ["http://x", "a b", "", [3], "x:port", "user@host"])
def test_what_is_allowed_are_names(bad):
    with pytest.raises(ArgumentError, match="allow: expected names of hosts"):
        show(hinge.robots.double_pendulum(), allow=bad)


def test_a_server_without_the_gate_is_not_left_open(monkeypatch):
    """As with a version of viser that starts its server in another way."""
    monkeypatch.setattr(gate, "websockets_server", lambda: type("Elsewhere", (), {"serve": None}))
    with pytest.raises(MissingExtraError, match="cannot refuse foreign pages"):
        show(hinge.robots.double_pendulum(), wait=False, port=0)


def test_websockets_is_left_as_it_was(viewer):
    from websockets.asyncio import server

    assert isinstance(server.serve, type)
