"""Broken URDF documents, each with what its error must say: python -m tests.errors.broken_urdf."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from hinge.io.urdf import MAX_LINKS
from hinge.io.xml import MAX_BYTES, MAX_DEPTH, MAX_ELEMENTS

ROOT = Path(__file__).parents[2]
MAX_SECONDS = 2.0
MAX_MEGABYTES = 500.0
TIMEOUT = 120.0
MIB = 2**20


@dataclass(frozen=True)
class Case:
    """A document, made when asked for, and the pattern of the message; `parse` goes past `hinge.load`."""

    name: str
    make: Callable[[], bytes]
    expect: str
    parse: bool = False


@dataclass(frozen=True)
class Outcome:
    """What came of loading a document: the exception ("" if it loaded), its message, the cost."""

    name: str
    raised: str
    message: str
    seconds: float
    cpu_seconds: float
    megabytes: float

    def passed(self, raised: str) -> bool:
        """Tell whether it ended in this exception within the bounds."""
        return self.raised == raised and self.seconds <= MAX_SECONDS and self.megabytes <= MAX_MEGABYTES


def robot(*parts: str) -> bytes:
    """Return a document whose first part is on line 2, the next on line 3 and so on."""
    return "\n".join(['<robot name="r">', *parts, "</robot>"]).encode()


def link(name: str, inside: str = "") -> str:
    return f'<link name="{name}">{inside}</link>'


WHOLE = 'ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"'


def inertial(mass: str = "1", tensor: str = WHOLE) -> str:
    return f'<inertial><mass value="{mass}"/><inertia {tensor}/></inertial>'


def joint(name: str, parent: str, child: str, inside: str = "", kind: str = "revolute") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{inside}</joint>'


def pair(inside: str, kind: str = "revolute") -> bytes:
    """Return links a and b and a joint j between them on line 4, with something inside."""
    return robot(link("a", inertial()), link("b", inertial()), joint("j", "a", "b", inside, kind))


def mass(text: str) -> bytes:
    return robot(link("a"), link("b", inertial(text)), joint("j", "a", "b"))


def with_doctype(doctype: str, inside: str = "") -> bytes:
    return f'<?xml version="1.0"?>\n<!DOCTYPE robot {doctype}>\n<robot name="r">{inside}</robot>'.encode()


def billion_laughs() -> str:
    rows = ['<!ENTITY l0 "lol">']
    rows += [f'<!ENTITY l{k} "{f"&l{k - 1};" * 10}">' for k in range(1, 13)]
    return "[" + "".join(rows) + "]"


def quadratic() -> bytes:
    entity = f'[<!ENTITY a "{"a" * 100_000}">]'
    return with_doctype(entity, "&a;" * 100_000)


def chain(count: int) -> bytes:
    links = (link(f"l{k}", inertial()) for k in range(count))
    joints = (joint(f"j{k}", f"l{k - 1}", f"l{k}", '<axis xyz="0 0 1"/>') for k in range(1, count))
    return robot(*links, *joints)


def star(count: int) -> bytes:
    links = (link(f"l{k}", inertial()) for k in range(count))
    return robot(*links, *(joint(f"j{k}", "l0", f"l{k}", kind="fixed") for k in range(1, count)))


def ring(count: int) -> bytes:
    """Return a root beside a loop of all the other links."""
    links = (link(f"l{k}") for k in range(count))
    return robot(
        link("root"), *links, *(joint(f"j{k}", f"l{k}", f"l{(k + 1) % count}") for k in range(count))
    )


def many_joints() -> bytes:
    """Return as many joints as the limits allow, all but the first one superfluous."""
    links = robot(*(f'<link name="l{k}"/>' for k in range(MAX_LINKS)))
    size = len(joint("j100000", "l0", "l1")) + 1
    count = min((MAX_ELEMENTS - MAX_LINKS - 1) // 3, (MAX_BYTES - len(links)) // size)
    joints = "\n".join(joint(f"j{k}", "l0", "l1") for k in range(count))
    return links.replace(b"</robot>", f"{joints}</robot>".encode())


def many_attributes() -> bytes:
    count = (MAX_BYTES - 100) // len(' a00000=""')
    return b"<robot>\n<link" + b"".join(b' a%05x=""' % k for k in range(count)) + b"/></robot>"


def many_numbers() -> bytes:
    return pair(f'<origin xyz="{"00 " * ((MAX_BYTES - 1000) // 3)}"/>')


def truncated() -> bytes:
    whole = pair('<axis xyz="0 0 1"/>')
    return whole[: whole.index(b"<axis") + 8]


def declared(encoding: str, text: str = "") -> bytes:
    return f'<?xml version="1.0" encoding="{encoding}"?>\n'.encode() + robot(link("a" + text))


def elf() -> bytes:
    return b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 40


def _entities() -> Iterator[Case]:
    refused = r":2: .*DOCTYPE or entity.*refused"
    dtd = 'SYSTEM "http://localhost:9/robot.dtd"'
    yield Case("billion laughs", lambda: with_doctype(billion_laughs(), "&l12;"), refused)
    yield Case(
        "billion laughs in UTF-16",
        lambda: with_doctype(billion_laughs(), "&l12;").decode().encode("utf-16"),
        refused,
    )
    yield Case("quadratic entity", quadratic, refused)
    yield Case(
        "external entity", lambda: with_doctype('[<!ENTITY e SYSTEM "file:///etc/passwd">]', "&e;"), refused
    )
    yield Case("external DTD", lambda: with_doctype(dtd, link("a")), refused)
    yield Case("public DTD", lambda: with_doctype('PUBLIC "-//R//" "file:///etc/passwd"', link("a")), refused)
    yield Case(
        "parameter entity",
        lambda: with_doctype('[<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]', link("a")),
        refused,
    )
    yield Case("undeclared entity", lambda: robot(link("a", "&nowhere;")), r":2: .*undefined entity")


def _topology() -> Iterator[Case]:
    abc = [link("a"), link("b"), link("c")]
    loop = [joint("p", "a", "b"), joint("q", "b", "c"), joint("s", "c", "a")]
    yield Case(
        "parent not there", lambda: robot(link("a"), joint("j", "no", "a")), r":3: joint 'j'.*parent.*'no'"
    )
    yield Case(
        "child not there", lambda: robot(link("a"), joint("j", "a", "no")), r":3: joint 'j'.*child.*'no'"
    )
    yield Case(
        "loop beside a root", lambda: robot(link("root"), *abc, *loop), r"loop(?=.*'a')(?=.*'b')(?=.*'c')"
    )
    yield Case("loop without a root", lambda: robot(*abc, *loop), r":1: .*loop.*no link is the root")
    yield Case("loop of all links allowed", lambda: ring(MAX_LINKS - 1), r"loop.*'l\d+', 'l\d+'")
    yield Case(
        "child of two joints",
        lambda: robot(*abc, joint("p", "a", "c"), joint("q", "b", "c")),
        r":6: joint 'q': link 'c' is already the child of joint 'p'",
    )
    yield Case(
        "joint twice between two links",
        lambda: robot(*abc[:2], joint("p", "a", "b"), joint("q", "a", "b")),
        r":5: joint 'q': link 'b' is already the child",
    )
    yield Case(
        "joint to itself", lambda: robot(*abc[:2], joint("j", "a", "a")), r":4: joint 'j'.*'a' to itself"
    )
    yield Case("two roots", lambda: robot(*abc, joint("j", "a", "b")), r":1: 2 links.*'a', 'c'.*one root")
    yield Case("no links", robot, r":1: .*expected at least one <link>, got none")
    yield Case(
        "joints but no links",
        lambda: robot(joint("j", "a", "b")),
        r":1: .*expected at least one <link>, got none",
    )


def _masses() -> Iterator[Case]:
    bad = {
        "nan": "expected a finite number, got",
        "inf": "expected a finite number, got",
        "-inf": "expected a finite number, got",
        "-1": "expected a mass ≥ 0, got -1 kg",
        "1e400": "expected a finite number, got",
        "1e200": "expected at most .* in SI units, got",
        "abc": "expected a number, got",
        "": "expected a number, got",
        "1 2": "expected a number, got",
        "0,5": "expected a number, got",
        "0x10": "expected a number, got",
        "1_000": "expected a number, got",
        "１": "expected a number, got",
    }
    for text, words in bad.items():
        yield Case(f"mass {text!r}", lambda text=text: mass(text), rf":3: link 'b': .*{words}")
    yield Case(
        "mass of 100 kB of digits and a letter",
        lambda: mass("1" * 100_000 + "x"),
        r":3: link 'b': value: expected a number, got '1+…'",
    )
    yield Case(
        "mass of 1 MB of digits",
        lambda: mass("9" * MIB),
        r":3: link 'b': value: expected a number, got '9+…'",
    )
    yield Case(
        "mass of 1 MB of letters",
        lambda: mass("x" * MIB),
        r":3: link 'b': value: expected a number, got 'x+…'",
    )
    yield Case("inertial without mass", lambda: robot(link("a", "<inertial/>")), r":2: link 'a'.*no <mass")
    no_value = "<inertial><mass/></inertial>"
    yield Case("mass without value", lambda: robot(link("a", no_value)), r":2: link 'a'.*<mass>.*'value'")
    no_ixx = inertial("1", 'iyy="1" izz="1"')
    yield Case("inertia without ixx", lambda: robot(link("a", no_ixx)), r":2: link 'a'.*'ixx'")
    nan_ixy = inertial("1", 'ixx="1" iyy="1" izz="1" ixy="nan"')
    yield Case(
        "inertia NaN",
        lambda: robot(link("a", nan_ixy)),
        r":2: link 'a': ixy: expected a finite number, got 'nan'",
    )


def _placements() -> Iterator[Case]:
    def origin(attributes: str) -> Callable[[], bytes]:
        return lambda: pair(f"<origin {attributes}/>")

    yield Case(
        "origin NaN", origin('xyz="0 nan 0"'), r":4: joint 'j': xyz: expected a finite number, got 'nan'"
    )
    yield Case("origin of two", origin('xyz="0 0"'), r":4: joint 'j': xyz: expected 3 numbers, got 2")
    yield Case(
        "origin of four",
        origin('xyz="0 0 0 0"'),
        r":4: joint 'j': xyz: expected 3 numbers, got (4|more than 3)",
    )
    yield Case("origin empty", origin('xyz=""'), r":4: joint 'j': xyz: expected 3 numbers, got 0")
    yield Case("origin of words", origin('rpy="0 a 0"'), r":4: joint 'j': rpy: expected a number, got 'a'")
    yield Case(
        "origin inf", origin('rpy="0 inf 0"'), r":4: joint 'j': rpy: expected a finite number, got 'inf'"
    )
    yield Case("origin as long as allowed", many_numbers, r":4: joint 'j': xyz: expected 3 numbers, got")
    yield Case(
        "axis zero", lambda: pair('<axis xyz="0 0 0"/>'), r":4: joint 'j': expected a nonzero axis, got 0 0 0"
    )
    yield Case(
        "axis NaN",
        lambda: pair('<axis xyz="0 0 nan"/>'),
        r":4: joint 'j': xyz: expected a finite number, got 'nan'",
    )
    yield Case("axis without xyz", lambda: pair("<axis/>"), r":4: joint 'j': <axis>.*'xyz'")
    for key in ("lower", "upper", "effort", "velocity"):
        yield Case(
            f"limit {key} NaN",
            lambda key=key: pair(f'<limit {key}="nan"/>'),
            rf":4: joint 'j': {key}: expected a finite number, got 'nan'",
        )
    yield Case(
        "damping inf",
        lambda: pair('<dynamics damping="inf"/>'),
        r":4: joint 'j': damping: expected a finite number, got 'inf'",
    )
    yield Case("mimic of nothing", lambda: pair("<mimic/>"), r":4: .*<mimic>.*'joint'")


def _words() -> Iterator[Case]:
    ends = '<parent link="a"/><child link="b"/>'
    ab = [link("a"), link("b")]
    yield Case("joint type unknown", lambda: pair("", "hinge"), r":4: joint 'j'.*unknown joint type 'hinge'")
    yield Case("joint without type", lambda: robot(*ab, f'<joint name="j">{ends}</joint>'), r":4: .*'type'")
    yield Case(
        "joint without name", lambda: robot(*ab, f'<joint type="fixed">{ends}</joint>'), r":4: .*'name'"
    )
    no_parent = '<joint name="j" type="fixed"><child link="b"/></joint>'
    no_child = '<joint name="j" type="fixed"><parent link="a"/></joint>'
    no_link = '<joint name="j" type="fixed"><parent/><child link="b"/></joint>'
    yield Case("joint without parent", lambda: robot(*ab, no_parent), r":4: joint 'j'.*no <parent")
    yield Case("joint without child", lambda: robot(*ab, no_child), r":4: joint 'j'.*no <child")
    yield Case("parent without link", lambda: robot(*ab, no_link), r":4: .*<parent>.*'link'")
    yield Case("link without name", lambda: robot(link("a"), "<link/>"), r":3: <link>.*'name'")
    yield Case(
        "link twice", lambda: robot(*ab, link("a")), r":4: link name 'a' is used twice, first on line 2"
    )
    yield Case(
        "joint twice",
        lambda: robot(*ab, link("c"), joint("j", "a", "b"), joint("j", "b", "c")),
        r":6: joint name 'j' is used twice, first on line 5",
    )
    yield Case(
        "geometry missing", lambda: robot(link("a", "<visual/>")), r":2: link 'a'.*<visual>.*<geometry>"
    )
    hollow = "<collision><geometry/></collision>"
    yield Case("geometry empty", lambda: robot(link("a", hollow)), r":2: link 'a'.*<collision>.*<geometry>")
    flat = '<visual><geometry><box size="1 1"/></geometry></visual>'
    yield Case(
        "box of two sides", lambda: robot(link("a", flat)), r":2: link 'a': size: expected 3 numbers, got 2"
    )
    no_file = "<visual><geometry><mesh/></geometry></visual>"
    yield Case("mesh without file", lambda: robot(link("a", no_file)), r":2: .*<mesh>.*'filename'")
    yield Case(
        "link name of 1 MB twice", lambda: robot(*[link("a" * MIB)] * 2), r":3: link name 'a+.*used twice"
    )
    yield Case("joint type of 1 MB", lambda: pair("", "x" * MIB), r":4: joint 'j'.*unknown joint type 'x+")
    long_name = "j" * MIB
    yield Case(
        "joint name of 1 MB",
        lambda: robot(*ab, joint(long_name, "a", "no")),
        r":4: joint 'j+.*child link 'no' does not exist",
    )


def _documents() -> Iterator[Case]:
    sdf = b'<sdf version="1.7">\n<model name="m"><link name="a"/></model></sdf>'
    mjcf = b'<mujoco>\n<worldbody><body><geom size="1"/></body></worldbody></mujoco>'
    xacro = '<xacro:macro name="leg" params="side"><link name="${side}"/></xacro:macro>'
    yield Case(
        "root not robot",
        lambda: b'<machine name="m"/>',
        r":1: expected the root element <robot> .*, got <machine>",
    )
    yield Case(
        "root tag of 1 MB",
        lambda: b"<" + b"x" * MIB + b"/>",
        r":1: expected the root element <robot> .*, got <x+",
    )
    yield Case("SDF", lambda: sdf, r":1: is SDF, not URDF")
    yield Case("MJCF", lambda: mjcf, r":1: is MJCF, not URDF", parse=True)
    yield Case("xacro macro", lambda: robot(link("a"), xacro), r":3: is a xacro macro file; expand it")
    yield Case("truncated", truncated, r":4: is not well-formed XML")
    yield Case(
        "tag not closed", lambda: b'<robot name="r">\n<link name="a">\n</robot>', r":3: .*mismatched tag"
    )
    yield Case("two root elements", lambda: b"<robot/>\n<robot/>", r":2: .*junk after document element")
    yield Case("empty", lambda: b"", r"expected an XML document, got an empty file")
    yield Case("only whitespace", lambda: b" \n\t\r\n" * 9, r"expected an XML document, got an empty file")
    yield Case("only a comment", lambda: b"<!-- nothing -->\n", r":\d: .*no element found")
    yield Case("only NULs", lambda: bytes(1000), r":1: is not well-formed XML")
    yield Case("ELF", elf, r":\d+: is not well-formed XML")
    yield Case("JSON", lambda: b'{"robot": []}', r":1: is not well-formed XML")
    yield Case("attribute twice", lambda: robot('<link name="a" name="b"/>'), r":2: .*duplicate attribute")


def _encodings() -> Iterator[Case]:
    yield Case("UTF-16 declared, UTF-8 given", lambda: declared("utf-16"), r":1: .*encoding")
    yield Case("encoding unknown", lambda: declared("klingon"), r"encoding.*klingon")
    yield Case("encoding of several bytes", lambda: declared("shift_jis"), r"encoding.*shift_jis")
    yield Case("encoding no text", lambda: declared("base64"), r"encoding.*base64")
    yield Case(
        "encoding unicode_escape", lambda: declared("unicode_escape", "\\q"), r"encoding.*unicode_escape"
    )
    yield Case("UTF-8 invalid", lambda: robot(link("a")).replace(b'"a"', b'"\xc3\x28"'), r":2: .*well-formed")
    yield Case(
        "UTF-8 overlong", lambda: robot(link("a")).replace(b'"a"', b'"\xc0\xaf"'), r":2: .*well-formed"
    )
    yield Case(
        "Latin-1 undeclared",
        lambda: robot(link("Glücksrad")).decode().encode("latin-1"),
        r":2: .*well-formed",
    )


def _sizes() -> Iterator[Case]:
    few = MAX_ELEMENTS - 1
    deep = rf":2: nests.*deeper than {MAX_DEPTH}, the limit"
    elements = rf":2: holds more than {MAX_ELEMENTS} elements, the limit"
    links = rf":1: .*20000 links, more than {MAX_LINKS}, the limit"
    yield Case("nested 100000 deep", lambda: b"<robot>\n" + b"<a>" * 100_000, deep)
    yield Case("over 16 MiB", lambda: robot(f"<!--{' ' * 16 * MIB}-->"), r"larger than \d+ MiB, the limit")
    yield Case("one byte too large", lambda: robot().ljust(MAX_BYTES + 1), r"larger than \d+ MiB, the limit")
    yield Case("250000 elements", lambda: robot("<a/>" * 250_000), elements)
    yield Case(
        "all elements allowed, no link",
        lambda: robot('<a b="c"/>' * few),
        r":1: .*expected at least one <link>, got none",
    )
    yield Case("20000 links", lambda: robot(*(f'<link name="l{k}"/>' for k in range(20_000))), links)
    yield Case("all joints allowed", many_joints, r":\d+: joint 'j1': link 'l1' is already the child")
    yield Case("all attributes allowed", many_attributes, r":2: <link>.*'name'")


CASES: tuple[Case, ...] = (
    *_entities(),
    *_topology(),
    *_masses(),
    *_placements(),
    *_words(),
    *_documents(),
    *_encodings(),
    *_sizes(),
)

VALID: tuple[Case, ...] = (
    Case("chain of all links allowed", lambda: chain(MAX_LINKS), ""),
    Case("star of all links allowed", lambda: star(MAX_LINKS), ""),
)

NASTY = (
    "billion laughs",
    "quadratic entity",
    "nested 100000 deep",
    "250000 elements",
    "all joints allowed",
    "all attributes allowed",
)


def run(case: Case) -> Outcome:
    """Load a document in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "broken.urdf"
        path.write_bytes(case.make())
        command = [
            sys.executable,
            "-m",
            "tests.errors.broken_urdf",
            "--parse" if case.parse else "--load",
            path,
        ]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        try:
            done = subprocess.run(
                command,
                cwd=ROOT,
                env=environment,
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Outcome(case.name, "timeout", "did not end", TIMEOUT, TIMEOUT, 0.0)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return Outcome(case.name, f"exit {done.returncode}", last, 0.0, 0.0, 0.0)
    return Outcome(case.name, **json.loads(done.stdout))


def run_all(cases: Iterable[Case]) -> list[Outcome]:
    """Load documents, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(run, cases))


def measure(path: Path, *, parse: bool) -> dict[str, str | float]:
    """Load a file here and tell how it ended and what it cost."""
    import hinge
    from hinge.io import read_urdf

    raised, message = "", ""
    start, busy = time.perf_counter(), time.process_time()
    try:
        read_urdf(path, strict=None) if parse else hinge.load(path, strict=None)
    except Exception as error:
        raised, message = f"{type(error).__module__}.{type(error).__name__}", str(error)
    cost = {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - busy,
        "megabytes": peak_megabytes(),
    }
    return {"raised": raised, "message": message, **cost}


def peak_megabytes() -> float:
    """Return this process's peak memory; Linux's ru_maxrss would include the peak of its parent."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    if found:
        return int(found[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (MIB if sys.platform == "darwin" else 1024)


def _row(outcome: Outcome, raised: str) -> str:
    text = outcome.message.split("broken.urdf:", 1)[-1].strip()
    text = text if raised == outcome.raised else f"[{outcome.raised or 'loaded'}] {text}"
    mark = " " if outcome.passed(raised) else "!"
    short = text if len(text) <= 110 else text[:109] + "…"
    return f"{mark} {outcome.name:30} {outcome.seconds:7.3f} {outcome.megabytes:6.0f}  {short}"


def main(arguments: list[str] | None = None) -> int:
    """Print the table; the exit code is 1 when a case ends otherwise than it should or costs too much."""
    given = sys.argv[1:] if arguments is None else arguments
    if given:
        print(json.dumps(measure(Path(given[1]), parse=given[0] == "--parse")))
        return 0
    wanted = ["hinge.errors.FormatError"] * len(CASES) + [""] * len(VALID)
    outcomes = run_all([*CASES, *VALID])
    print(f"  {'case':30} {'seconds':>7} {'MB':>6}  message")
    for outcome, raised in zip(outcomes, wanted, strict=True):
        print(_row(outcome, raised))
    passed = sum(o.passed(w) for o, w in zip(outcomes, wanted, strict=True))
    kinds = f"{len(CASES)} broken, {len(VALID)} valid but large"
    print(f"{passed} of {len(outcomes)} cases as they should be ({kinds})")
    return 0 if passed == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
