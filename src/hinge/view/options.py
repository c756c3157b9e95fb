"""The switches of both viewers: frames, names, inertias, weights, joint efforts, closures and contacts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hinge.spatial import Array
from hinge.view.callbacks import calling
from hinge.view.palette import BLUE, GREEN, ORANGE, PINK, SKY, VERMILION, Rgb, as_bytes
from hinge.view.puppet import Puppet


class ArrowLayer:
    """Arrows of one kind in the scene, drawn on demand."""

    def __init__(self, scene: Any, name: str, rgb: Rgb, size: float) -> None:
        self._scene, self._name, self._rgb, self._size = scene, f"/forces/{name}", as_bytes(rgb), size
        self.handle: Any = None

    def draw(self, ends: Array) -> None:
        """Replace the shown arrows by (k, 2, 3)."""
        if not len(ends):
            self.hide()
        elif self.handle is None:
            thick = 0.01 * self._size
            self.handle = self._scene.add_arrows(
                self._name,
                ends,
                self._rgb,
                shaft_radius=thick,
                head_radius=2.5 * thick,
                head_length=5 * thick,
            )
        else:
            self.handle.points = ends.astype("float32")
            self.handle.visible = True

    def hide(self) -> None:
        """Hide all arrows."""
        if self.handle is not None:
            self.handle.visible = False


class LineLayer:
    """Lines in the scene: between the ends of closures, of which closed ones have no length; of flexible
    bodies.
    """

    def __init__(self, scene: Any, name: str, rgb: Rgb, width: float) -> None:
        self._scene, self._name, self._rgb, self._width = scene, name, as_bytes(rgb), width
        self.handle: Any = None

    def draw(self, ends: Array) -> None:
        """Replace the shown lines by (k, 2, 3)."""
        if not len(ends):
            return
        if self.handle is None:
            self.handle = self._scene.add_line_segments(
                self._name, ends.astype("float32"), self._rgb, thickness=self._width
            )
        else:
            self.handle.points = ends.astype("float32")


class ConeLayer:
    """Cones of friction in the scene, drawn on demand."""

    def __init__(self, scene: Any) -> None:
        self._scene, self.handle = scene, None

    def draw(self, vertices: Array, faces: Array) -> None:
        """Replace the shown cones."""
        self.hide()
        if len(faces):
            self.handle: Any = self._scene.add_mesh_simple(
                "/forces/cones", vertices.astype("float32"), faces.astype("uint32"), color=as_bytes(ORANGE),
                opacity=0.35, side="double", cast_shadow=False, receive_shadow=False,
            )  # fmt: skip

    def hide(self) -> None:
        """Hide all cones."""
        if self.handle is not None:
            self.handle.remove()
            self.handle = None


class Options:
    """The switches and their arrows; `refresh` is called when the arrows may change."""

    def __init__(
        self,
        server: Any,
        puppet: Puppet,
        size: float,
        *,
        gravity: bool,
        efforts: str,
        refresh: Callable[[], None],
        closures: bool = False,
        contacts: bool = False,
    ) -> None:
        gui, scene = server.gui, server.scene
        self.weights = ArrowLayer(scene, "weights", GREEN, size)
        self.moments = ArrowLayer(scene, "moments", VERMILION, size)
        self.pushes = ArrowLayer(scene, "pushes", PINK, size)
        self.closures = LineLayer(scene, "/closures", PINK, 0.006 * size)
        self.bent = LineLayer(scene, "/flexible", BLUE, 0.012 * size)
        self.closure_moments = ArrowLayer(scene, "closure moments", ORANGE, size)
        self.closure_pushes = ArrowLayer(scene, "closure forces", SKY, size)
        self.contact_pushes = ArrowLayer(scene, "contact forces", VERMILION, size)
        self.cones = ConeLayer(scene)
        self.contact_switch: Any = None
        self.cone_switch: Any = None
        self.closure_switch: Any = None
        self.effort_switch: Any = None
        self.weight_switch: Any = None
        with gui.add_folder("Show", expand_by_default=True):
            self.frame_switch = gui.add_checkbox("frames", False)
            self.name_switch = gui.add_checkbox("names", False)
            if puppet.layers["inertia"]:
                self.inertia_switch = gui.add_checkbox(
                    "inertia",
                    False,
                    hint="Solid ellipsoids of the same mass and inertia, drawn no longer than their bodies",
                )
                self.inertia_switch.on_update(
                    calling(lambda: puppet.show("inertia", visible=self.inertia_switch.value))
                )
            if gravity:
                self.weight_switch = gui.add_checkbox("weight", False, hint="The weight of each body")
                self.weight_switch.on_update(calling(refresh))
            if efforts:
                self.effort_switch = gui.add_checkbox(
                    "joint forces", False, hint=f"{efforts}: moments orange, forces pink"
                )
                self.effort_switch.on_update(calling(refresh))
            if closures:
                self.closure_switch = gui.add_checkbox(
                    "closure forces", False, hint="On the outer ends of closures: moments orange, forces blue"
                )
                self.closure_switch.on_update(calling(refresh))
            if contacts:
                self._add_contacts(gui, refresh)
        self.frame_switch.on_update(calling(lambda: puppet.show_frames(visible=self.frame_switch.value)))
        self.name_switch.on_update(calling(lambda: puppet.show_names(visible=self.name_switch.value)))

    def _add_contacts(self, gui: Any, refresh: Callable[[], None]) -> None:
        self.contact_switch = gui.add_checkbox(
            "contact forces",
            True,
            hint="Where bodies touch; those of blows are shortened",
        )
        self.cone_switch = gui.add_checkbox(
            "friction cones", False, hint="Forces of contacts that press lie in these"
        )
        self.contact_switch.on_update(calling(refresh))
        self.cone_switch.on_update(calling(refresh))

    @property
    def wants_contacts(self) -> bool:
        """Whether forces of contacts are shown."""
        return self.contact_switch is not None and bool(self.contact_switch.value)

    @property
    def wants_cones(self) -> bool:
        """Whether cones of friction are shown."""
        return self.cone_switch is not None and bool(self.cone_switch.value)

    @property
    def wants_weights(self) -> bool:
        """Whether weights are shown."""
        return self.weight_switch is not None and bool(self.weight_switch.value)

    @property
    def wants_efforts(self) -> bool:
        """Whether joint efforts are shown."""
        return self.effort_switch is not None and bool(self.effort_switch.value)

    @property
    def wants_closures(self) -> bool:
        """Whether forces of closures are shown."""
        return self.closure_switch is not None and bool(self.closure_switch.value)
