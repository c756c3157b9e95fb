"""Who may talk to the viewer: pages of its own address, and of those that the user names.

Any page in the same browser can send requests to an address of this machine. A request of another page says
so in its header Origin; a page whose name was bound to this machine afterwards (DNS rebinding) has that name
in its header Host. Both are refused.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
import threading
from collections.abc import Callable, Generator, Sequence
from http import HTTPStatus
from typing import Any, TypeAlias

from hinge.errors import ArgumentError, MissingExtraError
from hinge.view.extras import viser, websockets_server

#: A name or an address, and a port; None stands for any.
Address: TypeAlias = tuple[str, int | None]

LOOPBACK = ("127.0.0.1", "localhost", "::1")

_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:/?#@\\\s]+)(?::([0-9]{1,5}))?")
_ORIGIN = re.compile(r"(https?)://(.*)", re.IGNORECASE)
#: Held while a server starts.
_starting = threading.Lock()


class Gate:
    """What requests are let in by a server that listens on `host`; `allow` names further hosts."""

    def __init__(self, host: str, allow: str | Sequence[str] = ()) -> None:
        self._host, self._further = host, _further(allow)
        self.is_shut = True

    def refusal(self, headers: Any, local: tuple[Any, ...]) -> str:
        """Return why a request to the local address (host, port, …) is refused; empty if it is not."""
        name = str(local[0]).partition("%")[0]
        own: set[Address] = {(_tidy(x), int(local[1])) for x in (*LOOPBACK, self._host, name)}
        for field in ("Host", "Origin"):
            given: list[str] = headers.get_all(field)
            if len(given) > 1 or (field == "Host" and not given):
                return f"expected one header {field}, got {len(given)}\n"
            if given and not self._is_known(_sender(field, given[0]), own):
                shown = re.sub(r"^https?://", "", given[0][:100])
                return (
                    f"{field}: expected the address of this viewer, got {given[0][:100]!r}; "
                    f"if that is meant, start it with allow={shown!r} (--allow {shown})\n"
                )
        return ""

    def _is_known(self, sender: Address | None, own: set[Address]) -> bool:
        if sender is None:
            return False
        return sender in own or sender in self._further or (sender[0], None) in self._further

    def guard(self, answer: Callable[[Any, Any], Any] | None) -> Callable[[Any, Any], Any]:
        """Return what answers requests to a server of websockets: this gate, then `answer`."""
        self.is_shut = False

        def guarded(connection: Any, request: Any) -> Any:
            reason = self.refusal(request.headers, connection.local_address)
            if reason:
                return connection.respond(HTTPStatus.FORBIDDEN, reason)
            return None if answer is None else answer(connection, request)

        return guarded


@contextlib.contextmanager
def guarding(gate: Gate) -> Generator[None]:
    """Put a gate before the server that viser starts meanwhile; viser has no option for this."""
    module = websockets_server()

    def serve(*args: Any, **options: Any) -> Any:
        answer = options.get("process_request")
        if getattr(answer, "__module__", "").partition(".")[0] == "viser":
            options["process_request"] = gate.guard(answer)
        return plain(*args, **options)

    with _starting:
        plain = module.serve
        module.serve = serve
        try:
            yield
        finally:
            module.serve = plain


def checked_gate(gate: Gate) -> None:
    """Raise a MissingExtraError if a server has started without asking for the gate."""
    if gate.is_shut:
        version = getattr(viser(), "__version__", "")
        raise MissingExtraError(
            f"the web viewer cannot refuse foreign pages with viser {version}; "
            'pip install "viser==1.1.1", or another version that Hinge knows'
        )


def _further(allow: str | Sequence[str]) -> frozenset[Address]:
    """Return the addresses that the user allows: NAME for any port, or NAME:PORT."""
    found: set[Address] = set()
    for text in [allow] if isinstance(allow, str) else list(allow):
        address = _address(text, None) if isinstance(text, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
        if address is None:
            raise ArgumentError(
                f"allow: expected names of hosts such as 'lab.example' or 'localhost:9000', got {text!r}"
            )
        found.add(address)
    return frozenset(found)


def _sender(field: str, value: str) -> Address | None:
    """Return the address in a header Host or Origin; None for anything else, 'null' among it."""
    if field == "Host":
        return _address(value, 80)
    found = _ORIGIN.fullmatch(value)
    return _address(found[2], 443 if found[1].lower() == "https" else 80) if found else None


def _address(text: str, port: int | None) -> Address | None:
    found = _AUTHORITY.fullmatch(text)
    return (_tidy(found[1]), int(found[2]) if found[2] else port) if found else None


def _tidy(name: str) -> str:
    """Return a name in small letters, an address in its shortest form."""
    bare = name.strip("[]").lower()
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        return bare
    return str(getattr(address, "ipv4_mapped", None) or address)
