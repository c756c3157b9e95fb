"""A headless browser that is driven through its own protocol: what a page asks for, says, and shows."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

BROWSER = next((b for b in ("chromium", "chromium-browser", "google-chrome") if shutil.which(b)), None)
#: Nothing outside this machine can be reached: there is no such proxy.
FLAGS = [
    "--headless=new", "--no-sandbox", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--proxy-server=127.0.0.1:9", "--hide-scrollbars",
    "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist",
    "--remote-debugging-port=0", "--disable-dev-shm-usage",
]  # fmt: skip


class Page:
    """One page; `console` is what it said, `requests` what it asked for."""

    def __init__(self, url: str, folder: Path, *, width: int = 1200, height: int = 800) -> None:
        from websockets.sync.client import connect

        assert BROWSER is not None
        self._log = (folder / "browser.log").open("w+", encoding="utf-8")
        own = [f"--user-data-dir={folder / 'profile'}", f"--window-size={width},{height}"]
        self._process = subprocess.Popen(
            [BROWSER, *FLAGS, *own, "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=self._log,
        )
        self.console: list[str] = []
        self.requests: list[str] = []
        self._number = 0
        address = until(self._address, 60, "the browser")
        self._socket = connect(address, max_size=None, proxy=None)
        targets = self._call("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        self._session = None
        found = self._call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self._call("Page.navigate", url=url)

    def run(self, script: str) -> Any:
        """Return the value of a script in the page."""
        found = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def key(self, name: str) -> None:
        """Press a key, such as ArrowRight."""
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=name, code=name)

    def picture(self) -> bytes:
        """Return what the page looks like, as PNG."""
        return base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"])

    def close(self) -> None:
        """End the browser."""
        self._socket.close()
        self._process.terminate()
        self._process.wait(20)
        self._log.close()

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _address(self) -> str | None:
        self._log.flush()
        found = re.search(r"DevTools listening on (ws://\S+)", Path(self._log.name).read_text("utf-8"))
        return found[1] if found else None

    def _call(self, method: str, **params: Any) -> Any:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if getattr(self, "_session", None):
            message["sessionId"] = self._session
        self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(self._socket.recv(timeout=90))
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        match event.get("method"):
            case "Runtime.consoleAPICalled":
                words = " ".join(str(x.get("value", x.get("description"))) for x in params["args"])
                self.console.append(f"{params['type']}: {words}")
            case "Runtime.exceptionThrown":
                self.console.append(f"error: {params['exceptionDetails']}")
            case "Log.entryAdded":
                entry = params["entry"]
                self.console.append(f"{entry['level']}: {entry['text']} {entry.get('url', '')}")
            case "Network.requestWillBeSent":
                url = params["request"]["url"]
                if not url.startswith(("data:", "blob:")):  # these are in the page already
                    self.requests.append(url)
            case "Network.webSocketCreated":
                self.requests.append(params["url"])
            case _:
                pass


def until(ask: Callable[[], Any], seconds: float, what: str) -> Any:
    """Return the first answer that is true, or fail when the time is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = ask()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"{what} did not come within {seconds} s")
