"""Object files: linked and run where this machine can, for others as far as tools are there."""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess

import numpy as np
import pytest

import hinge
from hinge.cli import main
from hinge.errors import ArgumentError
from hinge.export import objects
from hinge.targets import has_llvm
from tests.export.test_c import COMPILERS, needs_a_compiler
from tests.tiers import daily

pytestmark = pytest.mark.skipif(not has_llvm(), reason="no llvmlite")
ROBOT = hinge.robots.double_pendulum()
HERE = "x86_64-pc-linux-gnu"
is_here = pytest.mark.skipif(
    (platform.machine(), platform.system()) != ("x86_64", "Linux"), reason="another processor"
)
#: A compiler that links, and what runs the result, by triple.
ELSEWHERE = {
    "aarch64-linux-gnu": ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
    "armv7-linux-gnueabihf": ("arm-linux-gnueabihf-gcc", "qemu-arm"),
}


def errors(library, folder, compiler, run=()):
    """Link the self-test with the object file, run it, and return the errors that it prints."""
    library.write(folder)
    p = library.prefix
    static = ["-static"] if run else []
    files = [f"{p}_test.c", f"{p}.o", *static, "-lm", "-o", "check"]
    subprocess.run([compiler, "-std=c99", *files], cwd=folder, check=True, timeout=100)
    ran = subprocess.run([*run, folder / "check"], capture_output=True, text=True, check=False, timeout=60)
    found = re.findall(r"largest error (\S+)", ran.stdout)
    assert ran.returncode == 0 and len(found) >= 5
    return [float(x.rstrip(",")) for x in found]


CASES = {
    "pendulum": (lambda: ROBOT, ["forward_dynamics", "mass_matrix"]),
    "panda": (hinge.robots.panda, ["forward_dynamics", "inverse_dynamics"]),
    "closed": (hinge.robots.four_bar, ["closed_dynamics"]),
    "quadruped": (hinge.robots.quadruped, ["forward_dynamics"]),
}


@needs_a_compiler
@is_here
@pytest.mark.parametrize("name", daily(CASES, lambda _, n: n == "pendulum"))
@pytest.mark.parametrize("roll", [False, True])
def test_with_fused_products_the_bits_are_those_of_the_native_target(name, roll, tmp_path):
    make, verbs = CASES[name]
    library = objects(verbs, make(), HERE, fma=True, cpu="haswell", roll=roll, prefix="arm")
    assert set(errors(library, tmp_path, COMPILERS[0])) == {0.0}


@needs_a_compiler
@is_here
@pytest.mark.parametrize("single", [False, True])
def test_plain_products(single, tmp_path):
    library = objects("forward_dynamics", ROBOT, HERE, single=single, prefix="arm")
    found = errors(library, tmp_path, COMPILERS[0])
    assert 0.0 < max(found) < (1e-5 if single else 1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("triple", ELSEWHERE)
def test_other_processors_by_emulation(triple, tmp_path):
    compiler, runs = ELSEWHERE[triple]
    if not (shutil.which(compiler) and shutil.which(runs)):
        pytest.skip(f"needs {compiler} and {runs}")
    fused = triple.startswith("aarch64")
    step = hinge.sim.step(ROBOT, 1e-3)
    what = {"forward_dynamics": "forward_dynamics", "step": step}
    found = errors(objects(what, ROBOT, triple, fma=fused, prefix="arm"), tmp_path, compiler, [runs])
    assert max(found) <= (0.0 if fused else 1e-13)


#: Starts of object files, in ELF with the number of the processor at byte 18.
HEADS = {
    "wasm32-unknown-unknown": (b"\0asm", None),
    "aarch64-linux-gnu": (b"\x7fELF", 183),
    "thumbv7em-none-eabihf": (b"\x7fELF", 40),
    "riscv64-unknown-elf": (b"\x7fELF", 243),
}


@pytest.mark.parametrize("triple", HEADS)
def test_processors_without_a_compiler(triple):
    code = objects("mass_matrix", ROBOT, triple, prefix="arm").files["arm.o"]
    start, number = HEADS[triple]
    assert isinstance(code, bytes) and code.startswith(start)
    assert number is None or code[18] == number
    assert b"arm_mass_matrix" in code and b"arm_fingerprint" in code


NODE = """
const fs = require('fs');
const {state, size} = JSON.parse(fs.readFileSync('state.json'));
const memory = new WebAssembly.Memory({initial: 16});
const stack = new WebAssembly.Global({value: 'i32', mutable: true}, 16 * 65536 - 64);
const module_ = new WebAssembly.Module(fs.readFileSync('arm.wasm'));
const it = new WebAssembly.Instance(module_, {env: {sin: Math.sin, cos: Math.cos}});
const x = new Float64Array(it.exports.memory.buffer);
const start = Math.ceil(it.exports.__heap_base.value / 8) * 8;
const at = state.map((row, k) => { x.set(row, start / 8 + k * 64); return start + 512 * k; });
it.exports.arm_forward_dynamics(...at, start + 512 * at.length);
console.log(JSON.stringify(Array.from(x.slice(start / 8 + 64 * at.length).slice(0, size))));
"""


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("wasm-ld") and shutil.which("node")), reason="no wasm-ld or no node")
def test_webassembly_runs(tmp_path):
    robot, rng = hinge.robots.panda(), np.random.default_rng(0)
    objects("forward_dynamics", robot, "wasm32-unknown-unknown", prefix="arm").write(tmp_path)
    flags = ["--no-entry", "--export-all", "--allow-undefined"]
    subprocess.run(["wasm-ld", *flags, "arm.o", "-o", "arm.wasm"], cwd=tmp_path, check=True)
    state = rng.standard_normal((3, 7))
    (tmp_path / "state.json").write_text(json.dumps({"state": state.tolist(), "size": 7}))
    ran = subprocess.run(["node", "-e", NODE], cwd=tmp_path, capture_output=True, text=True, check=True)
    wanted = hinge.forward_dynamics(robot, *state)
    assert np.abs(np.array(json.loads(ran.stdout)) - wanted).max() <= 1e-12 * np.abs(wanted).max()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"triple": "nonsense"}, "triple: expected a processor that llvmlite has, such as wasm32"),
        ({"triple": "mips-linux-gnu"}, "for mips export C"),
        ({"triple": "a b"}, "triple: expected a processor by LLVM's name"),
        ({"triple": "wasm32", "cpu": "m7"}, "'m7' is not a recognized processor"),
        ({"triple": "wasm32", "features": "+wings"}, r"'\+wings' is not a recognized feature"),
        ({"triple": "wasm32", "cpu": 7}, "cpu: expected LLVM's name, got 7"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ArgumentError, match=message):
        objects("mass_matrix", ROBOT, **options)


def test_the_command(tmp_path, capsys):
    out, asked = tmp_path / "out", ["export", "object", "double_pendulum", "step", "mass_matrix"]
    more = ["--triple", "aarch64-linux-gnu", "--dt", "1e-3", "-o", str(out), "--prefix", "arm"]
    assert main([*asked, *more]) == 0
    assert {p.name for p in out.iterdir()} == {"arm.h", "arm.o", "arm_test.c", "README.md"}
    assert "arm_step" in (out / "arm.h").read_text(encoding="utf-8") and "arm.o" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["object", "double_pendulum", "mass_matrix"], "--triple: expected the processor"),
        (
            ["object", "double_pendulum", "mass_matrix", "--triple", "wasm32", "--casadi"],
            "--casadi: expected",
        ),
        (["c", "double_pendulum", "mass_matrix", "--cpu", "x"], "--cpu: expected with 'object'"),
        (["c", "double_pendulum", "mass_matrix", "--dt", "1"], "--dt: expected with the verb step"),
        (["c", "double_pendulum", "step", "--integrator", "stepping"], "law of contact"),
        (["c", "double_pendulum", "contact_step"], "contact_step: expected straight-line code"),
    ],
)
def test_the_command_refuses(arguments, message, tmp_path, capsys):
    assert main(["export", *arguments, "-o", str(tmp_path)]) != 0
    assert message in capsys.readouterr().err
