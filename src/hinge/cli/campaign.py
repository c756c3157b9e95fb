"""`hinge campaign`: run many simulations from a specification into a store, and look at what it has."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from hinge.campaign import (
    CampaignInterrupted,
    Results,
    plot_envelopes,
    plot_histograms,
    plot_scatter,
    read_specification,
    resume,
)
from hinge.cli.command import DONE, FAILED, INTERRUPTED
from hinge.cli.output import PICTURES, needed, writable, write, write_json
from hinge.cli.robot_argument import BUILT_IN
from hinge.errors import CommandLineError
from hinge.sim import Bar, save_run
from hinge.view import play

DESCRIPTION = """\
Run a campaign: many simulations with drawn numbers, from a specification (TOML) into a store.

  hinge campaign run spec.toml --out store            in this process, on all cores
  hinge campaign run spec.toml --out store --workers 8
  hinge campaign run spec.toml --out store --scheduler tcp://host:8786
  hinge campaign status store                         how far it is, and what failed
  hinge campaign resume store                         go on where it was
  hinge campaign summary store --picture p.png        means, quantiles, failures; histograms
  hinge campaign summary store --by mass_factor:tool --of measure:miss --picture p.png
  hinge campaign rerun store 1234                     show one sample in the browser
  hinge campaign rerun store 1234 --out one.npz       save its run

A specification or store that names functions of its own runs with --trust alone.

exit codes: 0 success, 1 failure or not complete, 2 invalid command line, 130 interrupted
"""


PORT = 8080
#: The options that each action takes.
RUNNING = ("workers", "scheduler", "chunk", "quiet", "trust")
TAKES = {
    "run": ("out", *RUNNING),
    "resume": RUNNING,
    "status": ("verify", "json"),
    "summary": ("json", "of", "by", "over_time", "picture"),
    "rerun": ("out", "port", "trust"),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `hinge campaign`."""
    add = parser.add_argument
    add("action", metavar="ACTION", choices=tuple(TAKES), help=", ".join(TAKES))
    add("path", metavar="PATH", type=Path, help="the specification to run, else the store")
    add("sample", metavar="SAMPLE", type=int, nargs="?", help="the sample to run again")
    add("--out", type=Path, metavar="PATH", help="run: the store, a new folder or its own; rerun: a file")
    add("--workers", type=int, metavar="N", help="processes on this machine, one thread each")
    add("--scheduler", metavar="ADDRESS", help="a Dask scheduler, whose workers see the store")
    add("--chunk", type=int, metavar="N", help="samples of a task, rounded to blocks")
    add("--quiet", action="store_true", default=None, help="show no progress")
    add("--trust", action="store_true", default=None, help="run the functions that it names")
    add("--verify", action="store_true", default=None, help="compare all files with their digests")
    add("--json", action="store_true", default=None, help="write JSON")
    add("--of", nargs="+", metavar="COLUMN", help="columns to draw (default: the first twelve)")
    add("--by", nargs="+", metavar="COLUMN", help="draw the first column of --of against these")
    add("--over-time", choices=("q", "qd"), help="draw bands of coordinates over time instead")
    add("--picture", type=Path, metavar="FILE", help=f"draw a picture, {', '.join(PICTURES)}")
    add("--port", type=int, metavar="N", help="port of the viewer (default: 8080)")


def run(arguments: argparse.Namespace) -> int:
    """Do what is asked for."""
    for name in {n for options in TAKES.values() for n in options} - {*TAKES[arguments.action]}:
        if getattr(arguments, name) is not None:
            fits = " or ".join(f"hinge campaign {a}" for a, options in TAKES.items() if name in options)
            raise CommandLineError(
                f"--{name.replace('_', '-')}: expected with {fits}, not with {arguments.action}"
            )
    if (arguments.sample is not None) != (arguments.action == "rerun"):
        raise CommandLineError(
            "SAMPLE: expected the number of a sample, as in hinge campaign rerun STORE 12"
            if arguments.sample is None
            else f"SAMPLE: expected with rerun alone, got {arguments.sample}"
        )
    return ACTIONS[arguments.action](arguments)


def _run(arguments: argparse.Namespace) -> int:
    if not arguments.path.is_file():
        raise CommandLineError(f"PATH: expected a specification, a TOML file, got {str(arguments.path)!r}")
    if arguments.out is None:
        raise CommandLineError("--out: expected the store, a new folder: hinge campaign run SPEC --out STORE")
    campaign = read_specification(arguments.path, built_in=BUILT_IN, trust=bool(arguments.trust))
    return _into(partial(campaign.run, arguments.out), arguments.out, arguments)


def _resume(arguments: argparse.Namespace) -> int:
    return _into(partial(resume, arguments.path, trust=bool(arguments.trust)), arguments.path, arguments)


def _into(go: Callable[..., Results], store: Path, arguments: argparse.Namespace) -> int:
    if arguments.scheduler is not None and arguments.workers:
        raise CommandLineError("--workers: expected none beside --scheduler; the cluster has its own")
    with Bar("samples", quiet=bool(arguments.quiet)) as bar:
        bar.prepared()
        try:
            found = go(
                client=arguments.scheduler,
                workers=arguments.workers,
                chunk=arguments.chunk,
                progress=bar,
            )
        except CampaignInterrupted as stop:
            write(str(stop.results.status()))
            return INTERRUPTED
    write(f"{found.status()}\nhinge campaign summary {store} shows them")
    return DONE


def _status(arguments: argparse.Namespace) -> int:
    results = Results(arguments.path)
    status = results.status()
    damaged = results.verify() if arguments.verify else []
    data: dict[str, Any] = {"samples": status.samples, "stored": status.stored, "failed": status.failed}
    if arguments.json:
        write_json(data | ({"damaged_blocks": damaged} if arguments.verify else {}))
    else:
        write(str(status))
        for k in damaged:
            first, count = results.store.extent(k)
            write(f"block {k} is damaged, samples {first} to {first + count - 1}; resume simulates it again")
    return DONE if status.is_complete and not damaged else FAILED


def _summary(arguments: argparse.Namespace) -> int:
    writable(arguments.picture, "--picture", PICTURES)
    if arguments.picture is not None:
        needed("matplotlib", "--picture", "view")
    results = Results(arguments.path)
    if arguments.json:
        s = results.statistics
        columns = {
            n: {"count": s.count[k], "mean": s.mean[k], "sd": s.sd[k], "least": s.least[k], "most": s.most[k]}
            for k, n in enumerate(s.names)
        }
        write_json({"columns": {n: {m: float(v) for m, v in x.items()} for n, x in columns.items()}})
    else:
        write(results.summary())
    if arguments.picture is not None:
        _drawn(results, arguments).savefig(arguments.picture)
        if not arguments.json:
            write(f"wrote {arguments.picture}")
    return DONE


def _drawn(results: Results, arguments: argparse.Namespace) -> Any:
    if arguments.by:
        if not arguments.of:
            raise CommandLineError("--of: expected a column to draw against those of --by")
        return plot_scatter(results, arguments.by, arguments.of[0])
    if arguments.over_time:
        return plot_envelopes(results, arguments.of, arguments.over_time)
    return plot_histograms(results, arguments.of)


def _rerun(arguments: argparse.Namespace) -> int:
    writable(arguments.out, "--out", (".npz", ".parquet"))
    found = Results(arguments.path).rerun(arguments.sample, trust=bool(arguments.trust))
    for ending in found.endings:
        write(f"sample {arguments.sample} ends at {ending.t:g} s: {ending.reason}")
    if arguments.out is not None:
        write(f"wrote {save_run(found, arguments.out)}")
        return DONE
    play(found, port=arguments.port or PORT)
    return DONE


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": _run,
    "resume": _resume,
    "status": _status,
    "summary": _summary,
    "rerun": _rerun,
}
