# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""The native loop over steps: programs run in order on a few states, step by step.

    int64 roll(int64 *plan, int64 start, int64 end, int64 first, int64 stop, int64 begin, int64 row)

It takes states start … end − 1, some at a time, over steps first … stop − 1. A plan begins with SIZES and has
PARTS of equally many words: those that the loop reads, and the four from which it makes them,

    words = fixed + state · by_state + states · by_count + row · by_row

for the number of the first state and the count of those that go together. So a plan stays as it is from call
to call. The words are in the order of HEAD, then one record for each program (OP), for each address that
moves on from step to step (MOVE), for each copy after a step (COPY) and for each copy into the records
(RECORD), the first of which is at the time `begin`. `row` is the row of all tables for the first step.

After every step the watched buffers are checked; `bad`, negative before, gets for each state the first step
after which they are not finite. The result is the number of states that got one.
"""

from __future__ import annotations

import ctypes
from functools import cache as remember
from typing import Any

from hinge.targets.llvm.machine import kept_or_assembled, loaded
from hinge.targets.llvm.text import SCALAR, Dtype

SIZES = ("length", "most", "least")
PARTS = ("words", "fixed", "by_state", "by_count", "by_row")
HEAD = (
    "ops", "op_count", "moves", "move_count", "copies", "copy_count", "records", "record_count",
    "states", "every", "watched", "watched_length", "bad",
)  # fmt: skip
OP = ("run", "inputs", "strides", "outputs", "scratch")
MOVE = ("where", "bytes")
COPY = ("source", "target", "bytes")
RECORD = ("source", "target", "length_bytes", "stride_bytes", "next_bytes")


def _head(*names: str) -> str:
    """Return the loads of words of the head."""
    lines: list[str] = []
    for name in names:
        lines.append(f"  %{name}.at = getelementptr i64, ptr %words, i64 {HEAD.index(name)}")
        lines.append(f"  %{name} = load i64, ptr %{name}.at")
    return "\n".join(lines)


def _fields(record: str, fields: tuple[str, ...]) -> str:
    """Return the loads of the fields of the record with this number."""
    size, plural = len(fields), {"copy": "copies"}.get(record, f"{record}s")
    lines = [
        f"  %{record}.base = inttoptr i64 %{plural} to ptr",
        f"  %{record}.start = mul i64 %{record}.n, {size}",
        f"  %{record} = getelementptr i64, ptr %{record}.base, i64 %{record}.start",
    ]
    for k, name in enumerate(fields):
        lines.append(f"  %{record}.{name}.at = getelementptr i64, ptr %{record}, i64 {k}")
        lines.append(f"  %{record}.{name} = load i64, ptr %{record}.{name}.at")
    return "\n".join(lines)


def _over(record: str, before: str, after: str, fields: tuple[str, ...], count: str, body: str) -> str:
    """Return a loop over records, entered from one block and left to another."""
    return f"""
{record}.loop:
  %{record}.n = phi i64 [0, %{before}], [%{record}.more, %{record}.last]
  %{record}.done = icmp eq i64 %{record}.n, %{count}
  br i1 %{record}.done, label %{after}, label %{record}.body
{record}.body:
{_fields(record, fields)}
{body}
  br label %{record}.last
{record}.last:
  %{record}.more = add i64 %{record}.n, 1
  br label %{record}.loop
"""


_RUN = """
  %run = inttoptr i64 %op.run to ptr
  %inputs = inttoptr i64 %op.inputs to ptr
  %strides = inttoptr i64 %op.strides to ptr
  %outputs = inttoptr i64 %op.outputs to ptr
  %scratch = inttoptr i64 %op.scratch to ptr
  call void %run(ptr %inputs, ptr %strides, ptr %outputs, ptr %scratch, i64 0, i64 %states)
"""

_MOVE = """
  %place = inttoptr i64 %move.where to ptr
  %old = load i64, ptr %place
  %new = add i64 %old, %move.bytes
  store i64 %new, ptr %place
"""

_COPY = """
  %copy.from = inttoptr i64 %copy.source to ptr
  %copy.to = inttoptr i64 %copy.target to ptr
  call void @llvm.memcpy.p0.p0.i64(ptr %copy.to, ptr %copy.from, i64 %copy.bytes, i1 false)
"""

#: The rows of all states to the place of the current time.
_RECORD = """
  %record.skip = mul i64 %time, %record.next_bytes
  %record.place = add i64 %record.target, %record.skip
  br label %row.loop
row.loop:
  %row = phi i64 [0, %record.body], [%row.more, %row.body]
  %row.done = icmp eq i64 %row, %states
  br i1 %row.done, label %row.end, label %row.body
row.body:
  %row.skip = mul i64 %row, %record.length_bytes
  %row.from.word = add i64 %record.source, %row.skip
  %row.jump = mul i64 %row, %record.stride_bytes
  %row.to.word = add i64 %record.place, %row.jump
  %row.from = inttoptr i64 %row.from.word to ptr
  %row.to = inttoptr i64 %row.to.word to ptr
  call void @llvm.memcpy.p0.p0.i64(ptr %row.to, ptr %row.from, i64 %record.length_bytes, i1 false)
  %row.more = add i64 %row, 1
  br label %row.loop
row.end:
"""

#: x − x is zero where x is finite: first for all states together, then, if that fails, for each.
_WATCH = """
watch:
  %watched.at.all = inttoptr i64 %watched to ptr
  %numbers = mul i64 %states, %watched_length
  br label %all.loop
all.loop:
  %all = phi i64 [0, %watch], [%all.more, %all.body]
  %all.sum = phi REAL [0.0, %watch], [%all.next, %all.body]
  %all.done = icmp eq i64 %all, %numbers
  br i1 %all.done, label %all.end, label %all.body
all.body:
  %all.place = getelementptr REAL, ptr %watched.at.all, i64 %all
  %all.x = load REAL, ptr %all.place
  %all.zero = fsub REAL %all.x, %all.x
  %all.next = fadd REAL %all.sum, %all.zero
  %all.more = add i64 %all, 1
  br label %all.loop
all.end:
  %some.bad = fcmp uno REAL %all.sum, 0.0
  br i1 %some.bad, label %each.loop, label %due
each.loop:
  %each = phi i64 [0, %all.end], [%each.more, %each.last]
  %each.done = icmp eq i64 %each, %states
  br i1 %each.done, label %due, label %each.body
each.body:
  %each.skip = mul i64 %each, %watched_length
  br label %one.loop
one.loop:
  %one = phi i64 [0, %each.body], [%one.more, %one.body]
  %one.sum = phi REAL [0.0, %each.body], [%one.next, %one.body]
  %one.done = icmp eq i64 %one, %watched_length
  br i1 %one.done, label %one.end, label %one.body
one.body:
  %one.number = add i64 %each.skip, %one
  %one.place = getelementptr REAL, ptr %watched.at.all, i64 %one.number
  %one.x = load REAL, ptr %one.place
  %one.zero = fsub REAL %one.x, %one.x
  %one.next = fadd REAL %one.sum, %one.zero
  %one.more = add i64 %one, 1
  br label %one.loop
one.end:
  %bad.all = inttoptr i64 %bad to ptr
  %bad.at.each = getelementptr i64, ptr %bad.all, i64 %each
  %bad.before = load i64, ptr %bad.at.each
  %bad.new = icmp slt i64 %bad.before, 0
  %is.bad = fcmp uno REAL %one.sum, 0.0
  %is.first = and i1 %bad.new, %is.bad
  %bad.now = select i1 %is.first, i64 %step, i64 %bad.before
  store i64 %bad.now, ptr %bad.at.each
  %fresh.before = load i64, ptr %fresh
  %fresh.one = zext i1 %is.first to i64
  %fresh.more = add i64 %fresh.before, %fresh.one
  store i64 %fresh.more, ptr %fresh
  br label %each.last
each.last:
  %each.more = add i64 %each, 1
  br label %each.loop
"""

#: The words for the next states: as many as go together, or all that are left.
_FILL = """
states.loop:
  %at = phi i64 [%start, %entry], [%next, %states.last]
  %is.over = icmp sge i64 %at, %end
  br i1 %is.over, label %over, label %states.body
states.body:
  %left = sub i64 %end, %at
  %is.rest = icmp slt i64 %left, %least
  %count = select i1 %is.rest, i64 %left, i64 %most
  %next = add i64 %at, %count
  br label %word.loop
word.loop:
  %word = phi i64 [0, %states.body], [%word.more, %word.body]
  %word.done = icmp eq i64 %word, %length
  br i1 %word.done, label %filled, label %word.body
word.body:
  %fixed.at = getelementptr i64, ptr %fixed, i64 %word
  %by_state.at = getelementptr i64, ptr %by_state, i64 %word
  %by_count.at = getelementptr i64, ptr %by_count, i64 %word
  %by_row.at = getelementptr i64, ptr %by_row, i64 %word
  %fixed.x = load i64, ptr %fixed.at
  %by_state.x = load i64, ptr %by_state.at
  %by_count.x = load i64, ptr %by_count.at
  %by_row.x = load i64, ptr %by_row.at
  %for.state = mul i64 %by_state.x, %at
  %for.count = mul i64 %by_count.x, %count
  %for.row = mul i64 %by_row.x, %row.first
  %sum.1 = add i64 %fixed.x, %for.state
  %sum.2 = add i64 %for.count, %for.row
  %sum.3 = add i64 %sum.1, %sum.2
  %word.at = getelementptr i64, ptr %words, i64 %word
  store i64 %sum.3, ptr %word.at
  %word.more = add i64 %word, 1
  br label %word.loop
"""


def _plan() -> str:
    """Return the loads of the sizes, and the addresses of the parts."""
    lines: list[str] = []
    for k, name in enumerate(SIZES):
        lines.append(f"  %{name}.at = getelementptr i64, ptr %plan, i64 {k}")
        lines.append(f"  %{name} = load i64, ptr %{name}.at")
    for k, name in enumerate(PARTS):
        lines.append(f"  %{name}.skip = mul i64 %length, {k}")
        lines.append(f"  %{name}.from = add i64 %{name}.skip, {len(SIZES)}")
        lines.append(f"  %{name} = getelementptr i64, ptr %plan, i64 %{name}.from")
    return "\n".join(lines)


def text(dtype: Dtype) -> str:
    """Return the loop for states of a precision as LLVM's text."""
    return f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define i64 @roll(
  ptr %plan, i64 %start, i64 %end, i64 %first, i64 %stop, i64 %begin, i64 %row.first
) nounwind {{
entry:
  %fresh = alloca i64
  store i64 0, ptr %fresh
{_plan()}
  br label %states.loop
{_FILL}
filled:
{_head(*HEAD)}
  br label %steps
steps:
  %step = phi i64 [%first, %filled], [%step.more, %step.last]
  %time = phi i64 [%begin, %filled], [%time.more, %step.last]
  %finished = icmp eq i64 %step, %stop
  br i1 %finished, label %states.last, label %step.body
step.body:
  br label %op.loop
{_over("op", "step.body", "moving", OP, "op_count", _RUN)}
moving:
  br label %move.loop
{_over("move", "moving", "copying", MOVE, "move_count", _MOVE)}
copying:
  br label %copy.loop
{_over("copy", "copying", "watch", COPY, "copy_count", _COPY)}
{_WATCH.replace("REAL", SCALAR[dtype])}
due:
  %counted = add i64 %step, 1
  %rest = srem i64 %counted, %every
  %is.due = icmp eq i64 %rest, 0
  br i1 %is.due, label %record.loop, label %step.last
{_over("record", "due", "step.last", RECORD, "record_count", _RECORD)}
step.last:
  %step.more = add i64 %step, 1
  %time.one = zext i1 %is.due to i64
  %time.more = add i64 %time, %time.one
  br label %steps
states.last:
  br label %states.loop
over:
  %found = load i64, ptr %fresh
  ret i64 %found
}}
"""


@remember
def roll(dtype: Dtype) -> Any:
    """Return the loop as ctypes calls it, without the GIL; made or read from the cache on first use."""
    found = loaded(kept_or_assembled(text(dtype), f"the loop over steps, {dtype}"), "roll")
    found.engine.detach()  # the code is never freed: it may run until the very end
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int64] * 6)(found.address)
