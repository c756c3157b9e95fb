"""Small mesh files that describe large meshes, or are slow to read."""

from __future__ import annotations

import json
import struct

import numpy as np

NS = 'xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"'


def glb(tree: dict, binary: bytes = b"") -> bytes:
    """Return a GLB file of this JSON and binary chunk."""
    text = json.dumps({"asset": {"version": "2.0"}, **tree}).encode()
    text += b" " * (-len(text) % 4)
    binary += b"\0" * (-len(binary) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
    if binary:
        chunks += struct.pack("<II", len(binary), 0x004E4942) + binary
    return struct.pack("<III", 0x46546C67, 2, 12 + len(chunks)) + chunks


def hollow_accessor() -> bytes:
    """Zeros that are not in the file: 400 million corners in 304 bytes."""
    accessors = [{"componentType": 5126, "count": 400_000_000, "type": "VEC3"}]
    mesh = {"primitives": [{"attributes": {"POSITION": 0}}]}
    scene = {"meshes": [mesh], "nodes": [{"mesh": 0}], "scenes": [{"nodes": [0]}]}
    return glb({"bufferViews": [], "accessors": accessors, **scene})


def shown_often(triangles: int, times: int) -> bytes:
    """One mesh, shown many times."""
    corners = np.random.default_rng(0).random((triangles * 3, 3), np.float32).tobytes()
    tree = {
        "buffers": [{"byteLength": len(corners)}],
        "bufferViews": [{"buffer": 0, "byteLength": len(corners)}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": triangles * 3, "type": "VEC3"}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "nodes": [{"mesh": 0, "translation": [k, 0, 0]} for k in range(times)],
        "scenes": [{"nodes": list(range(times))}],
    }
    return glb(tree, corners)


def nested(times: int, levels: int) -> bytes:
    """COLLADA nodes that contain the level below many times."""
    geometry = (
        '<library_geometries><geometry id="g"><mesh><source id="p"><float_array id="f" count="9">'
        "0 0 0 1 0 0 0 1 0</float_array><technique_common><accessor source='#f' count='3' stride='3'>"
        '<param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>'
        "</accessor>"
        '</technique_common></source><vertices id="v"><input semantic="POSITION" source="#p"/></vertices>'
        '<triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>'
        "</mesh></geometry></library_geometries>"
    )
    nodes = '<node id="n0"><instance_geometry url="#g"/></node>'
    for k in range(levels):
        nodes += f'<node id="n{k + 1}">' + f'<instance_node url="#n{k}"/>' * times + "</node>"
    scene = (
        f'<library_nodes>{nodes}</library_nodes><library_visual_scenes><visual_scene id="s"><node>'
        f'<instance_node url="#n{levels}"/></node></visual_scene></library_visual_scenes>'
        '<scene><instance_visual_scene url="#s"/></scene>'
    )
    return f'<?xml version="1.0"?><COLLADA {NS}><asset/>{geometry}{scene}</COLLADA>'.encode()


def groups(count: int) -> bytes:
    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"
    return (corners + "".join(f"g part{k}\nusemtl m{k}\nf 1 2 3\n" for k in range(count))).encode()


def ascii_stl(facets: int) -> bytes:
    facet = b"facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
    return b"solid x\n" + facet * facets + b"endsolid x\n"


BOMBS = {
    "hollow.glb": hollow_accessor,
    "nested.dae": lambda: nested(10, 8),
    "often.glb": lambda: shown_often(600_000, 100),
    "nodes.glb": lambda: shown_often(1, 100_000),
    "groups.obj": lambda: groups(20_000),
    "shallow.dae": lambda: nested(10, 4),
    "facets.stl": lambda: ascii_stl(400_000),
}
