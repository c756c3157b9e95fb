"""The viewer in a real browser: it loads, plays, its sliders move the robot, and it asks nobody else."""

from __future__ import annotations

import contextlib
import http.server
import threading
import time
from collections.abc import Generator
from dataclasses import replace

import numpy as np
import pytest

import hinge
from hinge.model import make_robot
from hinge.view import play, show
from tests.view.browser import BROWSER, Page, until
from tests.view.runs import short_run
from tests.view.test_viewer import misplacement, shaped

pytest.importorskip("viser")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")]

#: What the page of viser says about itself and its own libraries.
KNOWN = ("THREE.Clock", "Tried to send ViewerCameraMessage")


def opened(viewer, folder) -> Page:
    page = Page(viewer.url, folder, width=900, height=600)
    until(lambda: page.run("1") and viewer.viser.get_clients(), 120, "the page")
    until(lambda: page.run("document.querySelectorAll('[role=slider]').length"), 60, "the panel")
    return page


def complaints(page: Page) -> list[str]:
    page.run("1")
    bad = ("error", "warning", "assert")
    return [x for x in page.console if x.startswith(bad) and not any(k in x for k in KNOWN)]


def strangers(page: Page, viewer) -> list[str]:
    """Return what the page asked for besides its own server."""
    own = (viewer.url, viewer.url.replace("http", "ws"))
    return [url for url in page.requests if not url.startswith(own)]


def pixels(viewer) -> np.ndarray:
    client = next(iter(viewer.viser.get_clients().values()))
    return client.get_render(height=200, width=300, transport_format="png", timeout=120).astype(int)


def press(page: Page, text: str) -> None:
    """Click on the button of this name."""
    script = f"[...document.querySelectorAll('button')].find(b => b.innerText.trim() == {text!r})"
    until(lambda: page.run(f"!!{script}"), 30, f"the button {text!r}")
    page.run(f"{script}.click()")


def test_a_slider_moves_the_robot(tmp_path):
    robot = hinge.robots.puma560()
    with show(robot, wait=False, port=0) as viewer, opened(viewer, tmp_path) as page:
        before, was = pixels(viewer), viewer.q
        assert np.ptp(before) > 100  # something is drawn
        page.run("document.querySelectorAll('[role=slider]')[1].focus()")
        for _ in range(200):
            page.key("ArrowLeft")
        until(lambda: abs(viewer.q[1] - was[1]) > 0.1, 30, "the motion")
        time.sleep(1.0)
        assert misplacement(viewer.puppet.nodes, robot, viewer.q) < 1e-9
        np.testing.assert_allclose(np.delete(viewer.q, 1), np.delete(was, 1))
        assert np.abs(pixels(viewer) - before).max() > 50
        press(page, "Back to the start")
        until(lambda: np.allclose(viewer.q, was), 30, "the start")
        assert complaints(page) == [] and strangers(page, viewer) == []


def test_a_run_plays_and_pauses(tmp_path):
    run = short_run("spacecraft")
    with play(run, wait=False, port=0) as viewer, opened(viewer, tmp_path) as page:
        viewer.set_speed(0.1)
        press(page, "Play")
        until(lambda: viewer.clock.t > 0, 60, "the motion")
        assert viewer.clock.playing
        press(page, "Pause")
        until(lambda: not viewer.clock.playing, 60, "the pause")
        assert page.run("document.querySelectorAll('.uplot canvas').length") == 1
        assert complaints(page) == [] and strangers(page, viewer) == []


#: A page of another address that asks for the scene, and notes in its title what it gets.
FOREIGN = """<!doctype html><title>asking</title><script>
const wire = new WebSocket("ws://127.0.0.1:PORT", "viser-vVERSION");
wire.onmessage = () => document.title = "got the scene";
wire.onerror = () => document.title = "refused";
</script>"""


@contextlib.contextmanager
def served(text: str) -> Generator[str]:
    """Serve a page at an address of its own."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_foreign_page_gets_nothing(tmp_path):
    viser = pytest.importorskip("viser")
    with show(hinge.robots.double_pendulum(), wait=False, port=0) as viewer:
        text = FOREIGN.replace("PORT", str(viewer.port)).replace("VERSION", viser.__version__)
        with served(text) as url, Page(url, tmp_path) as page:
            # Before the page is there, its title is empty.
            until(lambda: page.run("document.title") not in ("", "asking"), 60, "the answer")
            assert page.run("document.title") == "refused"
        assert not viewer.viser.get_clients()


def test_a_picture_is_saved(tmp_path):
    with show(hinge.robots.panda(), wait=False, port=0) as viewer, opened(viewer, tmp_path) as page:
        page._call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
        time.sleep(1.0)
        press(page, "Picture")
        until(lambda: page.run("1") and (tmp_path / "panda.png").is_file(), 120, "the picture")
        until(lambda: (tmp_path / "panda.png").read_bytes()[-8:-4] == b"IEND", 30, "the rest of it")


def test_names_are_text_in_the_page(tmp_path):
    """Names of the robot, its joints, bodies and frames are shown as they are, and nothing of them is run."""
    evil = "<img src=x onerror=document.title=1>"
    plain = hinge.robots.double_pendulum()
    bodies = [replace(b, name=b.name + evil) for b in plain.bodies]
    joints = [
        replace(j, name=j.name + evil, child=j.child + evil, parent=j.parent and j.parent + evil)
        for j in plain.joints
    ]
    frames = [replace(f, name=f.name + evil, body=f.body + evil) for f in plain.frames]
    robot = make_robot("robot" + evil, bodies, joints, frames=frames)
    with show(robot, wait=False, port=0) as viewer, opened(viewer, tmp_path) as page:
        viewer.options.name_switch.value = True
        until(lambda: "shoulder" + evil in page.run("document.body.innerText"), 60, "the slider's name")
        time.sleep(2.0)
        assert page.run("document.title") != "1"
        assert page.run("document.querySelectorAll('img[src=x]').length") == 0
        assert complaints(page) == [] and strangers(page, viewer) == []


def test_names_from_files_do_nothing_in_the_page(tmp_path):
    with show(shaped(), wait=False, port=0, folder=tmp_path) as viewer, opened(viewer, tmp_path) as page:
        viewer.options.name_switch.value = True
        until(lambda: "../none.stl" in page.run("document.body.innerText"), 60, "the message")
        assert "link5/<b>" in page.run("document.body.innerText")
        assert complaints(page) == [] and strangers(page, viewer) == []
