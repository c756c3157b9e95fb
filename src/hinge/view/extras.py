"""The optional packages of this room, each imported when it is first needed."""

from __future__ import annotations

from typing import Any

from hinge.errors import MissingExtraError


def new_figure(width: float, height: float) -> Any:
    """Return a Matplotlib figure of this size in inches that belongs to no window and to no global state."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise _missing("pictures need Matplotlib") from None
    return Figure(figsize=(width, height), layout="constrained")


def line_collection(*args: Any, **options: Any) -> Any:
    """Return a Matplotlib LineCollection."""
    from matplotlib.collections import LineCollection

    return LineCollection(*args, **options)


def viser() -> Any:
    """Return the package that serves the web viewer."""
    try:
        import viser
    except ImportError:
        raise _missing("the web viewer needs viser") from None
    return viser


def websockets_server() -> Any:
    """Return the module by which viser serves its page."""
    try:
        import websockets.asyncio.server as found
    except ImportError:
        raise _missing("the web viewer needs websockets") from None
    return found


def trimesh() -> Any:
    """Return the package that reads meshes; viser depends on it."""
    try:
        import trimesh
    except ImportError:
        raise _missing("meshes need trimesh") from None
    return trimesh


def _missing(what: str) -> MissingExtraError:
    return MissingExtraError(f'{what}, which is not installed; pip install "hinge[view]"')
