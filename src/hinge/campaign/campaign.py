"""`Campaign`: many simulations of a robot, each with numbers of its own that depend on its number alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hinge.campaign.plan import Plan
from hinge.campaign.results import Results
from hinge.campaign.running import run_plan
from hinge.campaign.specification import of_file
from hinge.campaign.store import Store
from hinge.model import Robot


class Campaign(Plan):
    """Simulations of a robot with numbers that are drawn for each sample.

        campaign = hinge.Campaign(
            robot, samples=10_000, t=2.0, seed=7, design="sobol",
            vary={"mass_factor": {"tool": Uniform(0.5, 2.0)}, "offset": {"elbow": Normal(0.0, 0.1)}},
            control=PD(q, 400.0, 40.0), times=(1.0, 2.0), extremes=("qd",), measure=reached,
        )
        results = campaign.run("store", workers=2)

    Sample i has the same numbers, and the same results to the last bit, whatever chunks, workers or order.

    `vary` has a distribution for each part of a quantity, by names: "q0", "offset" (along
    `hinge.integrate`), "attitude", "qd0", "damping", "friction", "stiffness" and "rotor" of joints, "mass" in
    kg and "mass_factor" of bodies (the whole inertia is scaled), "contact_friction" and "restitution" of
    contacts, "external" forces [n; f] at frames; "gravity" has one itself; under "own" are numbers for your
    functions. `design` is "random", "sobol" or "latin" (a Latin hypercube of all samples).

    `q0`, `qd0`, `control`, `integrator`, `gravity`, `external`, `passive`, `limits`, `law` and `project` are
    those of `hinge.simulate`. A function as `control` takes (t, q, qd), or (t, q, qd, own) with the drawn
    numbers `own` {name: (states, …)}. States are kept at `times`, multiples of dt, by default the last alone.
    `extremes` are the least and the largest of each coordinate of "q", "qd", "tau" and "energy" in all
    steps. `measure(run)` or `measure(run, own)` returns numbers of each sample by name: {name: (states,) or
    (states, k)}; it sees every `record`-th step, by default the `times`, all steps where there are extremes.
    `events` are `Event`s; the time of the first of each is kept. `gradient(q, qd)` returns a cost of the last
    state and its gradients by q, in the tangent space, and by qd; kept are the cost and its gradients by the
    start and by varied parameters. With `rows` False only statistics of all samples are kept, not each.

    Functions are top-level ones of a module or file, or references "file.py:name" and "module:name"; others
    work within this process alone. A function sees all samples of a call: so that a sample's bits do not
    depend on its neighbours, treat each state by itself.
    """

    def run(
        self,
        store: str | Path,
        *,
        client: Any = None,
        workers: int | None = None,
        chunk: int | None = None,
        progress: Any = None,
    ) -> Results:
        """Simulate all samples that a store does not have yet, and return its `Results`.

        `store` is a folder, new or of this campaign. Without workers samples are simulated in this process
        and its threads; `workers` are processes with one thread each; `client` is a `distributed.Client` of
        Dask, or the address of a scheduler, whose workers see the store at the same path. Tasks are about
        `chunk` samples. `progress` is True for a bar, or a function of (done, total).

        What is stored stays: a run that was interrupted or killed goes on where it was.
        """
        return run_plan(self, store, client=client, workers=workers, chunk=chunk, progress=progress)


def read_specification(
    path: str | Path, *, built_in: Mapping[str, Callable[[], Robot]] | None = None, trust: bool = False
) -> Campaign:
    """Return the campaign of a TOML file.

    Its robot is that of a file beside it, or one of `built_in` by name. With `trust` the
    file may name functions of files and modules, which are run.
    """
    return of_file(Path(path), Campaign, built_in or {}, trust=trust)


def resume(store: str | Path, *, trust: bool = False, **how: Any) -> Results:
    """Go on with a store: simulate what it does not have yet. `how` is that of `Campaign.run`.

    With `trust`, functions of its own are loaded from the store, and run.
    """
    return run_plan(Store(store).plan(trust=trust), store, **how)
