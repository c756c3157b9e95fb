"""The IR of handlers for XLA: from the buffers of a call frame into a kernel.

XLA calls `XLA_FFI_Error *handler(XLA_FFI_CallFrame *)` from threads of its own, without the GIL. The layout
of the structures is that of version 0 of its C interface; each begins with its size, which says whether what
is read is there. A handler has words, see `WORDS`, the blocks of both precisions, see `BLOCK`, and the length
of each input and output.
"""

from __future__ import annotations

#: The number of inputs and of outputs, the handler's own number, where it says whether there is one thread,
#: functions (Python's way, and those of work space), the minor version that the handler says it is
#: for, and the state of all handlers, see `STATE`.
WORDS = ("inputs", "outputs", "number", "alone", "callback", "malloc", "free", "minor", "state")
#: Code and bytes of scratch for one state and for W states, null where Python is asked, W, and from how many
#: states on threads share them.
BLOCK = ("one", "one_bytes", "wide", "wide_bytes", "width", "most")
#: The precisions, and XLA's numbers for them.
DTYPES = {"float64": 12, "float32": 11}
LENGTHS = len(WORDS) + len(DTYPES) * len(BLOCK)
MOST = 64  # the inputs, and the outputs, that a handler has room for
#: The version of the interface that handlers are written for, and the first minor one.
MAJOR, MINOR = 0, 1
#: The sizes of structures up to the last field that is read.
FRAME, API, BUFFER = 120, 56, 48
#: Whether the interpreter ends, from where on Python is not called, and how many calls of it are under way.
STATE = ("ending", "under_way")
_POINTERS = ("alone", "state", "callback", "malloc", "free", "one", "wide")


def _loads(names: tuple[str, ...], base: str, chosen: tuple[str, ...]) -> str:
    lines: list[str] = []
    for n in chosen:
        kind = "ptr" if n in _POINTERS else "i64"
        lines.append(f"  %{n}.word = getelementptr i64, ptr {base}, i64 {names.index(n)}")
        lines.append(f"  %{n} = load {kind}, ptr %{n}.word")
    return "\n".join(lines)


def _field(name: str, at: str, offset: int, kind: str) -> str:
    return f"  %{name}.at = getelementptr i8, ptr {at}, i64 {offset}\n  %{name} = load {kind}, ptr %{name}.at"


def _message(name: str, text: str) -> str:
    data = text.encode()
    return f'@{name} = internal constant [{len(data) + 1} x i8] c"{text}\\00"'


_MESSAGES = {
    "version": "hinge: expected version 0 of XLA's interface for foreign functions, got another one",
    "few": "hinge: expected as many buffers as the program has arrays, got others",
    "types": "hinge: expected buffers that are all float64, or all float32, got others",
    "shapes": "hinge: expected buffers (batch..., length) of one batch, or (length), got others",
    "late": "hinge: the interpreter ends, and there is no code yet",
    "room": "hinge: no memory for work space",
}

_CONSTANTS = "\n".join(_message(n, t) for n, t in _MESSAGES.items())

TEXT = f"""
{_CONSTANTS}

define ptr @serve(ptr %frame, ptr %words) {{
start:
  %sources = alloca [{MOST} x ptr]
  %targets = alloca [{MOST} x ptr]
  %strides = alloca [{2 * MOST} x i64]
{_field("extension", "%frame", 8, "ptr")}
  %is.question = icmp ne ptr %extension, null
  br i1 %is.question, label %answer, label %stages

answer:
  call void @answer(ptr %extension, ptr %words)
  ret ptr null

stages:
{_field("frame.size", "%frame", 0, "i64")}
{_field("api", "%frame", 16, "ptr")}
{_field("api.size", "%api", 0, "i64")}
{_field("api.major", "%api", 32, "i32")}
  %frame.known = icmp uge i64 %frame.size, {FRAME}
  %api.known = icmp uge i64 %api.size, {API}
  %major.known = icmp eq i32 %api.major, {MAJOR}
  %both.known = and i1 %frame.known, %api.known
  %known = and i1 %both.known, %major.known
  br i1 %known, label %stage.of, label %unknown

unknown:
  %e.version = call ptr @refuse(ptr %frame, ptr @version)
  ret ptr %e.version

stage.of:
{_field("stage", "%frame", 32, "i32")}
  %is.run = icmp eq i32 %stage, 3
  br i1 %is.run, label %counts, label %done

done:
  ret ptr null

counts:
{_loads(WORDS, "%words", ("inputs", "outputs", "number", "alone", "callback", "malloc", "free", "state"))}
{_field("given", "%frame", 56, "i64")}
{_field("wanted", "%frame", 96, "i64")}
{_field("args", "%frame", 72, "ptr")}
{_field("rets", "%frame", 112, "ptr")}
  %lengths = getelementptr i64, ptr %words, i64 {LENGTHS}
  %same.inputs = icmp eq i64 %given, %inputs
  %same.outputs = icmp eq i64 %wanted, %outputs
  %same = and i1 %same.inputs, %same.outputs
  br i1 %same, label %first, label %wrong.count

wrong.count:
  %e.count = call ptr @refuse(ptr %frame, ptr @few)
  ret ptr %e.count

first:
  %result = load ptr, ptr %rets
{_field("dtype", "%result", 16, "i32")}
  %states = call i64 @states(ptr %result)
  %nothing = icmp eq i64 %states, 0
  br i1 %nothing, label %done, label %next.input

next.input:
  %i = phi i64 [0, %first], [%i.next, %take.input]
  %inputs.done = icmp eq i64 %i, %inputs
  br i1 %inputs.done, label %next.output, label %input

input:
  %x.at = getelementptr ptr, ptr %args, i64 %i
  %x = load ptr, ptr %x.at
  %n.at = getelementptr i64, ptr %lengths, i64 %i
  %n = load i64, ptr %n.at
  %stride = call i64 @stride(ptr %x, i64 %n, i64 %states)
  %good.input = icmp sge i64 %stride, 0
  br i1 %good.input, label %type.input, label %wrong.shape

type.input:
{_field("x.dtype", "%x", 16, "i32")}
  %same.type = icmp eq i32 %x.dtype, %dtype
  br i1 %same.type, label %take.input, label %wrong.type

take.input:
{_field("x.data", "%x", 24, "ptr")}
  %source.at = getelementptr ptr, ptr %sources, i64 %i
  store ptr %x.data, ptr %source.at
  %stride.at = getelementptr i64, ptr %strides, i64 %i
  store i64 %stride, ptr %stride.at
  %i.next = add i64 %i, 1
  br label %next.input

next.output:
  %k = phi i64 [0, %next.input], [%k.next, %take.output]
  %outputs.done = icmp eq i64 %k, %outputs
  br i1 %outputs.done, label %precision, label %output

output:
  %y.at = getelementptr ptr, ptr %rets, i64 %k
  %y = load ptr, ptr %y.at
  %place = add i64 %inputs, %k
  %m.at = getelementptr i64, ptr %lengths, i64 %place
  %m = load i64, ptr %m.at
  %y.stride = call i64 @stride(ptr %y, i64 %m, i64 %states)
  %good.output = icmp sge i64 %y.stride, 0
  br i1 %good.output, label %type.output, label %wrong.shape

type.output:
{_field("y.dtype", "%y", 16, "i32")}
  %same.y = icmp eq i32 %y.dtype, %dtype
  br i1 %same.y, label %take.output, label %wrong.type

take.output:
{_field("y.data", "%y", 24, "ptr")}
  %target.at = getelementptr ptr, ptr %targets, i64 %k
  store ptr %y.data, ptr %target.at
  %y.stride.at = getelementptr i64, ptr %strides, i64 %place
  store i64 %m, ptr %y.stride.at
  %k.next = add i64 %k, 1
  br label %next.output

wrong.shape:
  %e.shape = call ptr @refuse(ptr %frame, ptr @shapes)
  ret ptr %e.shape

wrong.type:
  %e.type = call ptr @refuse(ptr %frame, ptr @types)
  ret ptr %e.type

precision:
  switch i32 %dtype, label %wrong.type [i32 {DTYPES["float64"]}, label %choose
                                        i32 {DTYPES["float32"]}, label %choose]

choose:
  %is.single = icmp eq i32 %dtype, {DTYPES["float32"]}
  %block.at = select i1 %is.single, i64 {len(WORDS) + len(BLOCK)}, i64 {len(WORDS)}
  %block = getelementptr i64, ptr %words, i64 %block.at
{_loads(BLOCK, "%block", BLOCK)}
  %is.wide = icmp sge i64 %states, %width
  %run = select i1 %is.wide, ptr %wide, ptr %one
  %bytes = select i1 %is.wide, i64 %wide_bytes, i64 %one_bytes
  %is.made = icmp ne ptr %run, null
  %is.alone = load i64, ptr %alone
  %one.thread = icmp ne i64 %is.alone, 0
  %is.small = icmp slt i64 %states, %most
  %is.ours = or i1 %one.thread, %is.small
  %here = and i1 %is.made, %is.ours
  br i1 %here, label %room.for, label %python

python:
  %calls.at = getelementptr i64, ptr %state, i64 1
  %calls = atomicrmw add ptr %calls.at, i64 1 seq_cst
  %ending = load atomic i64, ptr %state seq_cst, align 8
  %is.ending = icmp ne i64 %ending, 0
  br i1 %is.ending, label %late, label %ask

late:
  %calls.late = atomicrmw sub ptr %calls.at, i64 1 seq_cst
  br i1 %is.made, label %room.for, label %too.late

too.late:
  %e.late = call ptr @refuse(ptr %frame, ptr @late)
  ret ptr %e.late

ask:
  %is.single.number = zext i1 %is.single to i64
  %said = call ptr %callback(i64 %number, i64 %is.single.number, ptr %sources, ptr %strides, ptr %targets,
                             i64 %states)
  %calls.done = atomicrmw sub ptr %calls.at, i64 1 seq_cst
  %is.well = icmp eq ptr %said, null
  br i1 %is.well, label %done, label %tell

tell:
  %e.python = call ptr @refuse(ptr %frame, ptr %said)
  ret ptr %e.python

room.for:
  %space = call ptr %malloc(i64 %bytes)
  %no.room = icmp eq ptr %space, null
  br i1 %no.room, label %full, label %go

full:
  %e.room = call ptr @refuse(ptr %frame, ptr @room)
  ret ptr %e.room

go:
  %space.number = ptrtoint ptr %space to i64
  %past = add i64 %space.number, 63
  %even = and i64 %past, -64
  %work = inttoptr i64 %even to ptr
  call void %run(ptr %sources, ptr %strides, ptr %targets, ptr %work, i64 0, i64 %states)
  call void %free(ptr %space)
  ret ptr null
}}

; Answer the question for the version.
define internal void @answer(ptr %first, ptr %words) {{
start:
{_loads(WORDS, "%words", ("minor",))}
  %minor.known = trunc i64 %minor to i32
  br label %next

next:
  %extension = phi ptr [%first, %start], [%following, %more]
  %is.end = icmp eq ptr %extension, null
  br i1 %is.end, label %end, label %look

look:
{_field("type", "%extension", 8, "i32")}
  %is.metadata = icmp eq i32 %type, 1
  br i1 %is.metadata, label %write, label %more

more:
{_field("following", "%extension", 16, "ptr")}
  br label %next

write:
{_field("metadata", "%extension", 24, "ptr")}
  %size.at = getelementptr i8, ptr %metadata, i64 8
  store i64 32, ptr %size.at
  %start.at = getelementptr i8, ptr %metadata, i64 16
  store ptr null, ptr %start.at
  %major.at = getelementptr i8, ptr %metadata, i64 24
  store i32 {MAJOR}, ptr %major.at
  %minor.at = getelementptr i8, ptr %metadata, i64 28
  store i32 %minor.known, ptr %minor.at
  %traits.at = getelementptr i8, ptr %metadata, i64 32
  store i32 0, ptr %traits.at
  ret void

end:
  ret void
}}

; Return the number of rows of a buffer, the product of all dimensions but the last.
define internal i64 @states(ptr %buffer) {{
start:
{_field("rank", "%buffer", 32, "i64")}
{_field("dims", "%buffer", 40, "ptr")}
  %last = sub i64 %rank, 1
  br label %next

next:
  %k = phi i64 [0, %start], [%k.next, %one]
  %count = phi i64 [1, %start], [%more, %one]
  %is.done = icmp sge i64 %k, %last
  br i1 %is.done, label %end, label %one

one:
  %d.at = getelementptr i64, ptr %dims, i64 %k
  %d = load i64, ptr %d.at
  %more = mul i64 %count, %d
  %k.next = add i64 %k, 1
  br label %next

end:
  ret i64 %count
}}

; Return the numbers between the rows of a buffer, 0 where it has one for all states, or -1 for another shape.
define internal i64 @stride(ptr %buffer, i64 %length, i64 %states) {{
start:
{_field("size", "%buffer", 0, "i64")}
{_field("rank", "%buffer", 32, "i64")}
{_field("dims", "%buffer", 40, "ptr")}
  %is.known = icmp uge i64 %size, {BUFFER}
  %is.row = icmp sge i64 %rank, 1
  %can = and i1 %is.known, %is.row
  br i1 %can, label %look, label %bad

look:
  %last = sub i64 %rank, 1
  %n.at = getelementptr i64, ptr %dims, i64 %last
  %n = load i64, ptr %n.at
  %same = icmp eq i64 %n, %length
  br i1 %same, label %rows, label %bad

rows:
  %is.single = icmp eq i64 %rank, 1
  %count = call i64 @states(ptr %buffer)
  %same.count = icmp eq i64 %count, %states
  %good = or i1 %is.single, %same.count
  %found = select i1 %is.single, i64 0, i64 %length
  br i1 %good, label %end, label %bad

end:
  ret i64 %found

bad:
  ret i64 -1
}}

; Return an error of XLA with a message: XLA_FFI_Error_Create, code 3 (invalid argument).
define internal ptr @refuse(ptr %frame, ptr %message) {{
start:
  %args = alloca [4 x i64]
{_field("api", "%frame", 16, "ptr")}
{_field("create", "%api", 48, "ptr")}
  store i64 28, ptr %args
  %start.at = getelementptr i64, ptr %args, i64 1
  store ptr null, ptr %start.at
  %message.at = getelementptr i64, ptr %args, i64 2
  store ptr %message, ptr %message.at
  %code.at = getelementptr i64, ptr %args, i64 3
  store i64 3, ptr %code.at
  %error = call ptr %create(ptr %args)
  ret ptr %error
}}
"""
