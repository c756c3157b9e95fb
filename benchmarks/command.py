"""The command line that every question shares."""

from __future__ import annotations

import argparse
import json
import os
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from benchmarks.harness import Options
from benchmarks.machine import machine
from benchmarks.tables import Table

Question = Callable[[Options], Iterator[Table]]

BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"


def run(questions: Mapping[str, Question]) -> None:
    """Ask the questions named on the command line, or all of them; print each table as it comes."""
    given = _arguments(questions)
    os.environ["HINGE_WAIT"] = "1"  # first calls wait for final code, so that nothing else is timed
    about, tables = machine(), list[Table]()
    print("\n".join(f"{name}: {value}" for name, value in about.items()))
    failed = False
    for name in given.questions or questions:
        failed |= not _asked(name, questions[name], _options(given), tables)
    if given.json:
        found = {"machine": about, "tables": [t.as_json() for t in tables]}
        given.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if given.write:
        given.write.write_text(_replaced(given.write.read_text("utf-8"), about, tables), encoding="utf-8")
    if failed or any(t.is_wrong for t in tables):
        raise SystemExit("a question failed, or a result is wrong: see above")


def _asked(name: str, question: Question, options: Options, tables: list[Table]) -> bool:
    """Add the question's tables; tell whether it was answered to the end, so that others still are."""
    start = time.perf_counter()
    try:
        for table in question(options):
            tables.append(table)
            print(f"\n{table.text()}", flush=True)
    except Exception:
        traceback.print_exc()
        return False
    print(f"\n({name} took {time.perf_counter() - start:.0f} s)", flush=True)
    return True


def _arguments(questions: Mapping[str, Question]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure Hinge next to its peers.")
    names = ", ".join(questions)
    parser.add_argument("questions", nargs="*", metavar="question", help=f"some of {names}; all if none")
    parser.add_argument("--quick", action="store_true", help="fewer robots and states: a first impression")
    parser.add_argument("--states", type=int, help="states in a batch; $HINGE_BENCH_STATES, else 65536")
    parser.add_argument("--budget", type=float, help="seconds of timing for a row")
    parser.add_argument("--json", type=Path, help="write the results to this file, too")
    parser.add_argument("--write", type=Path, help="replace the tables between the markers of this file")
    given = parser.parse_args()
    for name in given.questions:
        if name not in questions:
            parser.error(f"no question is called {name!r}; there is {names}")
    return given


def _options(given: argparse.Namespace) -> Options:
    usual = Options(quick=True, states=8192, budget=0.6) if given.quick else Options()
    states = given.states or int(os.environ.get("HINGE_BENCH_STATES", usual.states))
    return Options(given.quick, states, given.budget or usual.budget)


def _replaced(page: str, about: Mapping[str, str], tables: list[Table]) -> str:
    """Return the page with the tables of this run between its markers."""
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        raise SystemExit(f"--write: the file needs one line {BEGIN} and one {END}")
    before, rest = page.split(BEGIN)
    facts = [f"- {name}: {value}" for name, value in about.items()]
    parts = [BEGIN, "\n".join(facts), *(t.markdown() for t in tables), END]
    return before + "\n\n".join(parts) + rest.split(END)[1]
