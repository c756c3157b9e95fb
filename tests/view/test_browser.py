"""The viewer in a real browser: it loads, plays, its sliders move the robot, and it asks nobody else."""

from __future__ import annotations

import time

import numpy as np
import pytest

import hinge
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
        viewer.speed.value = "0.1"
        press(page, "Play")
        until(lambda: viewer.clock.t > 0, 60, "the motion")
        assert viewer.clock.playing
        press(page, "Pause")
        until(lambda: not viewer.clock.playing, 60, "the pause")
        assert page.run("document.querySelectorAll('.uplot canvas').length") == 1
        assert complaints(page) == [] and strangers(page, viewer) == []


def test_names_from_files_do_nothing_in_the_page(tmp_path):
    with show(shaped(), wait=False, port=0, folder=tmp_path) as viewer, opened(viewer, tmp_path) as page:
        viewer.options.name_switch.value = True
        until(lambda: "../none.stl" in page.run("document.body.innerText"), 60, "the message")
        assert "link5/<b>" in page.run("document.body.innerText")
        assert complaints(page) == [] and strangers(page, viewer) == []
