from __future__ import annotations

import pytest

from hinge import load
from hinge.errors import FormatError


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FormatError, match=r"none\.urdf: cannot be read: No such file"):
        load(tmp_path / "none.urdf")


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(FormatError, match="cannot be read"):
        load(tmp_path)


@pytest.mark.parametrize(
    "name, text, words",
    [
        ("r.xacro", "<robot/>", "xacro r.xacro > r.urdf"),
        ("r.urdf.xacro", "<robot/>", r"xacro r.urdf.xacro > r.urdf$"),
        ("r.urdf", '<robot xmlns:xacro="x"><xacro:macro name="m"/></robot>', "expand it first"),
        ("r.sdf", "<sdf/>", "is SDF"),
        ("r.xml", "<scene/>", "expected the root element <robot> .URDF. or"),
    ],
)
def test_other_formats_say_what_to_do(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=words):
        load(tmp_path / name)
