"""The server of the web viewer: address, messages, pictures, shutdown."""

from __future__ import annotations

import contextlib
import errno
import html
import ipaddress
import re
import socket
import sys
import threading
from collections.abc import Generator, Sequence
from typing import Any

from hinge.errors import ArgumentError, MissingExtraError
from hinge.view.extras import viser
from hinge.view.gate import Gate, checked_gate, guarding
from hinge.view.palette import BLUE, as_bytes
from hinge.view.png import png

#: Default address, reachable from this machine only.
HOST, PORT = "127.0.0.1", 8080


class Server:
    """A running viewer: `url` is its address, `stop` ends it, `wait` waits for Ctrl-C and ends it then.

    `messages` list what could not be shown. It is also a context manager.
    """

    def __init__(self, title: str, *, host: str, port: int, allow: str | Sequence[str]) -> None:
        gate, free = Gate(host, allow), free_port(host, port)
        package = viser()
        with _quiet(), guarding(gate):
            self.viser = package.ViserServer(host=host, port=free, label=title, verbose=False)
        try:
            checked_gate(gate)
        except MissingExtraError:
            self.viser.stop()
            raise
        self.viser.request_share_url = _refuse_to_share
        self.viser.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=as_bytes(BLUE))
        self._ended = threading.Event()
        self._file_name = re.sub(r"[^A-Za-z0-9_-]+", "_", title)[:60] or "robot"
        self.host = host
        self.messages: list[str] = []
        self.note: Any = None
        self.picture_button: Any = None
        if port not in (0, self.port):
            self.messages.append(f"port {port} is taken; this is port {self.port}")
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

    def add_picture_button(self) -> None:
        """Add a button that saves what a page shows as a PNG file."""
        self.picture_button = self.viser.gui.add_button("Picture", hint="Save what is seen as a PNG file")
        self.picture_button.on_click(self._picture)

    def _picture(self, event: Any) -> None:
        client = event.client
        if client is not None:
            height, width = int(client.camera.image_height), int(client.camera.image_width)
            seen = client.get_render(height, width, transport_format="png", timeout=60.0)
            client.send_file_download(f"{self._file_name}.png", png(seen), save_immediately=True)


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
