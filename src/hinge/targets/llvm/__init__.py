"""The native target: kernels to machine code through llvmlite, W states at once.

    text → straight, functions, solve → unrolled (U) | hybrid (H) | rolled (R) → module → machine → program

`text` writes IR, `straight` a kernel, `functions` sine and cosine, `solve` dense solves, `lanes` the way
between the user's arrays and lanes; `plan` and `memory` say where values are, the three shapes how calls are
laid out. `machine` makes and loads machine code for a `host`, `cache` stores it, `entry` is the fast path
for plain arrays through a `trampoline` of native code, `batch` and `threads` serve all others. Nothing here
knows what it computes.
"""
