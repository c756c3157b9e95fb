"""Measurements next to peers; `python -m benchmarks` runs them all."""

import os

#: Libraries read these when they are first imported; here every contender has one thread.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[_name] = "1"
