"""MJCF documents that ask for much, or for files of others: refused or loaded in bounded time and memory.

A case is a set of files; `main.xml` is loaded. Links are pairs (name, target).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

Files = dict[str, str]


def model(inside: str, head: str = "") -> str:
    return f"<mujoco>{head}{inside}</mujoco>"


def world(inside: str) -> str:
    return f"<worldbody>{inside}</worldbody>"


def bodies(count: int) -> str:
    return "".join(f'<body pos="{k} 0 0"><joint/><geom size=".1"/></body>' for k in range(count))


def one(inside: str, head: str = "") -> Callable[[], Files]:
    """Return a maker of a model with one body beside what is inside."""
    body = '<body><joint name="j"/><geom size=".1"/></body>'
    return lambda: {"main.xml": model(world(body) + inside, head)}


def in_world(inside: str) -> Callable[[], Files]:
    return lambda: {"main.xml": model(world(inside))}


def replicated(count: int, levels: int) -> str:
    opened = "".join(f'<replicate count="{count}" offset="0 0 {k + 1}">' for k in range(levels))
    return f'{opened}<geom size=".1"/>{"</replicate>" * levels}'


def attached() -> Files:
    """Return four levels of models, each attached fifty times."""
    found: Files = {}
    for level in range(5):
        name = "main.xml" if level == 0 else f"m{level}.xml"
        inside = world(bodies(1))
        if level < 4:
            many = "".join(f'<body><attach model="x" prefix="p{level}_{k}_"/></body>' for k in range(50))
            inside = f'<asset><model name="x" file="m{level + 1}.xml"/></asset>' + world(many)
        found[name] = f'<mujoco model="l{level}">{inside}</mujoco>'
    return found


def users() -> Files:
    sizes = " ".join(f'nuser_{n}="1000000"' for n in ("body", "jnt", "geom"))
    return {"main.xml": model(world(bodies(500)), f"<size {sizes}/>")}


@dataclass(frozen=True)
class Case:
    """Files of a model, links beside them, and a pattern of the message; "" where it may load as well."""

    name: str
    make: Callable[[], Files]
    links: tuple[tuple[str, str], ...] = ()
    expect: str = ""
    outside: Files = field(default_factory=dict[str, str])

    def write(self, folder: Path) -> Path:
        """Write the files into a folder, and return the path of the model."""
        home = folder / "home"
        for base, files in ((home, self.make()), (folder, self.outside)):
            for name, text in files.items():
                path = base / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        for name, target in self.links:
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).symlink_to(target)
        return home / "main.xml"


FLEX = '<flexcomp name="f{k}" type="grid" count="{count}" spacing=".1 .1 .1" dim="{dim}" mass="1"/>'
BOMBS = (
    Case("replicate, three deep", in_world(replicated(100, 3))),
    Case("replicate, a hundred times", in_world(replicated(1000, 1) * 100)),
    Case("nkey", one("", '<size nkey="1000000"/>')),
    Case("30000 bodies", lambda: {"main.xml": model(world(bodies(30_000)))}),
    Case("5000 bodies", lambda: {"main.xml": model(world(bodies(5_000)))}),
    Case("attach, four deep", attached),
    Case("user data", users),
    Case("sensor dim", one('<sensor><user dim="1000000000" needstage="acc" datatype="real"/></sensor>')),
    Case("mesh cone", one('<asset><mesh name="m" builtin="cone" params="1000000000 1"/></asset>')),
    Case(
        "mesh supertorus", one('<asset><mesh name="m" builtin="supertorus" params="20000 .5 1 1"/></asset>')
    ),
    Case(
        "forty flexcomps",
        in_world("".join(FLEX.format(k=k, count="20 20 20", dim=3) for k in range(40))),
    ),
    Case("flexcomp, flat", in_world(FLEX.format(k=0, count="100 100 1", dim=2))),
    Case("flexcomp, solid", in_world(FLEX.format(k=0, count="21 21 21", dim=3))),
    Case(
        "hfields",
        one(
            "<asset>"
            + "".join(f'<hfield name="h{k}" nrow="2048" ncol="2048" size="1 1 1 1"/>' for k in range(100))
            + "</asset>"
        ),
    ),
    Case("sensor contact", one('<sensor><contact num="500000000"/></sensor>')),
    Case(
        "textures",
        one(
            "<asset>"
            + "".join(
                f'<texture name="t{k}" type="2d" builtin="flat" width="4096" height="4096"/>'
                for k in range(40)
            )
            + "</asset>"
        ),
    ),
    Case(
        "texture cube",
        one('<asset><texture name="t" type="cube" builtin="flat" width="4096" height="4096"/></asset>'),
    ),
    Case("memory", one("", '<size memory="1000G"/>')),
    Case("actdim", one('<actuator><general joint="j" actdim="1000000000" dyntype="user"/></actuator>')),
)

MESH = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
ASSET = (
    '<mujoco model="i"><asset><mesh name="k" file="link/s.obj"/></asset>'
    '<worldbody><body name="b"><geom type="mesh" mesh="k"/></body></worldbody></mujoco>'
)
OUTSIDE = "outside the folder"
SECRET = {"secret/s.obj": MESH, "secret.xml": ASSET}
LINKS = (
    Case(
        "link beside an included file",
        lambda: {"main.xml": '<mujoco><include file="sub/inc.xml"/></mujoco>', "sub/inc.xml": ASSET},
        (("sub/link", "../../secret"),),
        OUTSIDE,
        SECRET,
    ),
    Case(
        "link beside an attached file",
        lambda: {
            "main.xml": '<mujoco><asset><model name="i" file="sub/inc.xml"/></asset><worldbody>'
            '<body><attach model="i" body="b" prefix="p"/></body></worldbody></mujoco>',
            "sub/inc.xml": ASSET,
        },
        (("sub/link", "../../secret"),),
        OUTSIDE,
        SECRET,
    ),
    Case(
        "link to a document",
        lambda: {"main.xml": '<mujoco><include file="in.xml"/></mujoco>'},
        (("in.xml", "../secret.xml"),),
        OUTSIDE,
        SECRET,
    ),
    Case(
        "link to itself",
        lambda: {"main.xml": '<mujoco><include file="in.xml"/></mujoco>'},
        (("in.xml", "in.xml"),),
        "is not a file",
    ),
    Case(
        "long name",
        lambda: {"main.xml": f'<mujoco><include file="{"9" * 300}"/></mujoco>'},
        expect="is not a file",
    ),
    Case(
        "model that attaches itself",
        lambda: {"main.xml": '<mujoco><asset><model name="i" file="main.xml"/></asset></mujoco>'},
        expect="attaches itself",
    ),
    Case(
        "document that includes itself",
        lambda: {"main.xml": '<mujoco><include file="main.xml"/></mujoco>'},
        expect="a document is included once",
    ),
    Case(
        "mass of NaN",
        in_world('<body><joint/><geom size=".1" mass="nan"/></body>'),
        expect="mass: expected finite numbers, got 'nan'",
    ),
)

#: Links need a right of their own on Windows.
CASES = (*BOMBS, *(case for case in LINKS if os.name != "nt" or not case.links))
