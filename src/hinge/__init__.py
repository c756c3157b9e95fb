"""Hinge: robot and multibody dynamics written as mathematics.

    import hinge
    robot = hinge.load("arm.urdf")
    q = hinge.random_configuration(robot)
    qdd = hinge.forward_dynamics(robot, q, qd, tau)

Rooms: `algebra` (operators as values), `rules` (identities, proofs, search), `sweeps` and `kernels` (what
they become), `targets` (what runs that), `dynamics` (the verbs), `sim` (motion), `gym` (environments for
learning), `view` (pictures), `binding` (letters bound to a robot); `spatial` (six-dimensional algebra),
`tree` (topology), `model` (robots as data), `io` (files), `robots` (built-in ones), `reference` (the book's
algorithms, as oracles), `testing` (laws and random robots).
"""

from hinge.contents import ROOMS as _ROOMS
from hinge.contents import load as _load
from hinge.contents import names as _names

__version__ = "0.2.0"
# The list is in __init__.pyi.
__all__ = _names()  # noqa: PLE0605  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    """Load a name or a room when it is first asked for."""
    globals()[name] = found = _load(name)
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS, "__doc__", "__version__"])
