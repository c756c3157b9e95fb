"""The server of the web viewer: address, camera, messages, shutdown."""

from __future__ import annotations

import contextlib
import errno
import html
import ipaddress
import socket
import sys
import threading
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from hinge.errors import ArgumentError
from hinge.spatial import Array
from hinge.view.extras import viser
from hinge.view.palette import BLUE, as_bytes

#: Default address, reachable from this machine only.
HOST, PORT = "127.0.0.1", 8080


class Server:
    """A running viewer: `url` is its address, `stop` ends it, `wait` waits for Ctrl-C and ends it then.

    `messages` list what could not be shown. It is also a context manager.
    """

    def __init__(self, title: str, *, host: str, port: int) -> None:
        free = free_port(host, port)
        package = viser()
        with _quiet():
            self.viser = package.ViserServer(host=host, port=free, label=title, verbose=False)
        self.viser.request_share_url = _refuse_to_share
        self.viser.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=as_bytes(BLUE))
        self._ended = threading.Event()
        self.host = host
        self.messages: list[str] = []
        self.note: Any = None
        if not _is_local(host):
            self.messages.append(f"everybody who can reach {host} can see this and move it")

    @property
    def port(self) -> int:
        """The port of the server."""
        return int(self.viser.get_port())

    @property
    def url(self) -> str:
        """The address for a browser."""
        name = {"0.0.0.0": "localhost", "::": "localhost", "": "localhost"}.get(self.host, self.host)
        return f"http://{f'[{name}]' if ':' in name else name}:{self.port}"

    @property
    def running(self) -> bool:
        """Whether the server is running."""
        return not self._ended.is_set()

    def stop(self) -> None:
        """Stop the server and close its port; safe to call twice."""
        if not self._ended.is_set():
            self._ended.set()
            with _quiet():
                self.viser.stop()

    def wait(self) -> None:
        """Wait until Ctrl-C is pressed or the viewer is stopped elsewhere, and stop it."""
        try:
            while not self._ended.wait(0.2):
                pass
        except KeyboardInterrupt:
            pass
        finally:
            self.stop()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def serve(self, *, wait: bool) -> None:
        """Print the address, and wait for Ctrl-C if asked to."""
        try:
            self._announce()
            if wait:
                self.wait()
        except KeyboardInterrupt:
            self.stop()
            if not wait:
                raise

    def _announce(self) -> None:
        lines = [f"Viewer at {self.url} (Ctrl-C ends it)", *(f"  {m}" for m in self.messages[:5])]
        if len(self.messages) > 5:
            lines.append(f"  … and {len(self.messages) - 5} more, in the panel")
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()

    def notes(self, lines: Sequence[str]) -> None:
        """Show lines of text in the panel, escaped since names come from files."""
        if lines:
            items = "".join(f"<li>{html.escape(line)}</li>" for line in lines[:20])
            more = f"<li>… and {len(lines) - 20} more</li>" if len(lines) > 20 else ""
            style = "margin:0 0.5em;padding-left:1em;font-size:0.8em;overflow-wrap:anywhere"
            self.note = self.viser.gui.add_html(f'<ul style="{style}">{items}{more}</ul>')

    def look_at(self, low: Array, high: Array, gravity: Array) -> None:
        """Point the camera at a box in the world, gravity downwards; with gravity, add a floor."""
        up = -gravity / np.linalg.norm(gravity) if gravity.any() else np.array([0.0, 0.0, 1.0])
        scene, middle = self.viser.scene, (low + high) / 2
        size = max(float(np.linalg.norm(high - low)), 1e-3)
        scene.set_up_direction(tuple(float(x) for x in up))
        if gravity.any() and np.allclose(up, (0, 0, 1)):
            cell = 10.0 ** np.floor(np.log10(size / 2))
            floor = (float(middle[0]), float(middle[1]), float(min(low[2], 0.0)))
            scene.add_grid(
                "/floor", width=8 * size, height=8 * size, cell_size=cell, section_size=10 * cell,
                position=floor, fade_distance=8 * size,
            )  # fmt: skip
        camera = self.viser.initial_camera
        back = _aside(up)
        beside = 0.1 * size * np.cross(up, back)  # the panel is at the right
        camera.up, camera.look_at = up, middle + beside
        camera.position = middle + beside + 0.9 * size * back
        camera.fov = np.radians(50)
        camera.near, camera.far = size / 200, 100 * size


def free_port(host: str, port: int) -> int:
    """Return the port if it is free, otherwise a free one; raise an ArgumentError for an invalid host."""
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port < 65536:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"port: expected a number from 1 to 65535, or 0 for any free port, got {port!r}")
    try:
        family, kind, *_, address = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)[0]
        for wanted in (port, 0):
            with socket.socket(family, kind) as probe:
                try:
                    probe.bind((address[0], wanted))
                except OSError as error:
                    if error.errno not in (errno.EADDRINUSE, errno.EACCES) or wanted == 0:
                        raise
                else:
                    return int(probe.getsockname()[1])
    except (OSError, UnicodeError) as error:
        raise ArgumentError(f"host: expected an address of this machine, got {host!r} ({error})") from None
    raise AssertionError


def _aside(up: Array) -> Array:
    """Return the direction from the target to the camera: front, right, slightly up."""
    front = np.array([1.0, 0.0, 0.0]) if abs(up[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    front = front - (front @ up) * up
    front = front / np.linalg.norm(front)
    return 0.75 * front - 0.85 * np.cross(up, front) + 0.45 * up


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _refuse_to_share(*_: object, **__: object) -> None:
    """Ignore a page's request for a public tunnel, which the user has not agreed to."""


@contextlib.contextmanager
def _quiet() -> Generator[None]:
    """Silence viser's own output to the terminal."""
    try:
        from rich import get_console  # noqa: PLC0415 (comes with viser)
    except ImportError:
        yield
        return
    console = get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before
