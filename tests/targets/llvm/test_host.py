from __future__ import annotations

import pytest

from hinge.targets.llvm.host import Host, this_host, versions
from hinge.targets.llvm.text import BITS


def host(features):
    return Host("x86_64-unknown-linux-gnu", "some", features)


@pytest.mark.parametrize(
    ("features", "double", "single"),
    [
        ("+sse2,+avx,+avx2,+avx512f,+fma", 8, 16),
        ("+sse2,+avx,+avx2,-avx512f,+fma", 4, 8),
        ("+sse2,+avx,-avx2", 4, 8),
        ("+sse2,-avx,-avx2,-avx512f", 2, 4),
        ("+neon,+fp-armv8", 2, 4),
        ("-sse2", 1, 2),
        ("", 1, 2),
    ],
)
def test_lanes_follow_the_instruction_set(features, double, single):
    assert host(features).lanes("float64") == double and host(features).lanes("float32") == single


def test_a_name_that_only_begins_alike_is_another():
    assert host("+sse2,+avx512fp16,+avxvnni").vector_bits == 128


def test_this_host_is_known():
    here = this_host()
    assert here is this_host() and here.triple and here.cpu
    assert all(here.lanes(d) in (1, 2, 4, 8, 16) for d in BITS)


def test_versions_tell_edits_apart():
    assert len(versions()) == 3 and len(versions()[2]) == 64
    assert versions() == versions()
