"""What a store has: its state, statistics, tables and arrays, failures, and single samples once more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hinge.campaign.extras import extra
from hinge.campaign.statistics import Statistics, merged
from hinge.campaign.store import REASON, SAMPLE, Store
from hinge.campaign.zarr_files import chunk_file, read_chunk
from hinge.errors import ArgumentError, UnknownNameError, did_you_mean
from hinge.sim import Run
from hinge.spatial import Array

SHARES = (0.01, 0.05, 0.5, 0.95, 0.99)


@dataclass(frozen=True)
class Status:
    """How far a campaign is: samples in all, stored, failed by reason, and the first that failed."""

    samples: int
    stored: int
    failed: dict[str, int]
    first_failed: tuple[int, ...]

    @property
    def is_complete(self) -> bool:
        """Whether all samples are stored."""
        return self.stored == self.samples

    def __str__(self) -> str:
        lines = [f"{self.stored} of {self.samples} samples are stored"]
        total = sum(self.failed.values())
        if total:
            lines.append(f"{total} failed, samples {', '.join(map(str, self.first_failed))} the first:")
            lines += [f"  {n}  {why}" for why, n in sorted(self.failed.items(), key=lambda x: -x[1])[:8]]
        return "\n".join(lines)


class Results:
    """The results of a campaign in a store, complete or not. `store` is its path.

    `table()` has a row for each sample, `dataset()` the states; `statistics` and `summary()` are of all
    samples that did not fail, those of campaigns without rows too. None of these runs code of the store's.
    """

    def __init__(self, store: str | Path | Store) -> None:
        self.store = store if isinstance(store, Store) else Store(store)

    def __repr__(self) -> str:
        return f"<Results of {self.store.head['robot']!r} in {str(self.store.path)!r}: {self.status()}>"

    def status(self) -> Status:
        """Return how far the campaign is."""
        stored, failed, first = 0, dict[str, int](), list[int]()
        for block in self.store.done():
            record = self.store.record(block)
            stored += int(record["count"])
            for why, n in record["failed"].items():
                failed[why] = failed.get(why, 0) + int(n)
            first += [int(k) for k in record["worst"]][: 8 - len(first)]
        return Status(self.store.samples, stored, failed, tuple(first))

    def verify(self) -> list[int]:
        """Return the blocks whose files are not what was written."""
        return [k for k in self.store.done() if not self.store.is_sound(k)]

    # Statistics.

    @cached_property
    def statistics(self) -> Statistics:
        """Statistics of all columns and of the last states, over samples that did not fail."""
        found = merged(self.store.statistics())
        if found is None:
            raise ArgumentError(f"store: expected results, got {str(self.store.path)!r}, which has none yet")
        return found

    def summary(self) -> str:
        """Return a table: mean, deviation, extremes and quantiles of what was measured, and the failures."""
        s = self.statistics
        rows: list[tuple[str, ...]] = [
            ("", "mean", "sd", "least", *(f"{100 * p:g} %" for p in SHARES), "most")
        ]
        for k, name in enumerate(s.names):
            if s.count[k]:
                found = (s.mean[k], s.sd[k], s.least[k], *s.quantile(name, SHARES), s.most[k])
                rows.append((name, *(f"{x:.4g}" for x in found)))
        wide = [max(len(r[k]) for r in rows) for k in range(len(rows[0]))]
        lines = ["  ".join([r[0].ljust(wide[0]), *(x.rjust(w) for x, w in zip(r[1:], wide[1:], strict=True))])
                 for r in rows]  # fmt: skip
        return "\n".join([str(self.status()), "", *lines])

    def checked(self, name: str, names: Sequence[str]) -> None:
        """Refuse a name that is none of these."""
        if name not in names:
            hint = did_you_mean(name, names) or f"there are {', '.join(names[:12])}"
            raise UnknownNameError(f"column: expected a column of the campaign, got {name!r}; {hint}")

    # Samples.

    def column(self, name: str) -> Array:
        """Return a column (samples,), NaN where a sample is not stored yet."""
        self.checked(name, self.store.columns)
        found = np.full(self.store.samples, np.nan)
        for block, table in self._tables([name]):
            first, count = self.store.extent(block)
            found[first : first + count] = table[name].to_numpy()
        return found

    def array(self, name: str) -> Array:
        """Return states or gradients (samples, …), NaN where a sample is not stored yet."""
        self.checked(name, list(self.store.shapes))
        self._need_rows()
        shape = self.store.shapes[name]
        found = np.full((self.store.samples, *shape), np.nan)
        for block in self.store.done():
            first, count = self.store.extent(block)
            path = self.store.path / "arrays" / chunk_file(name, block, len(shape) + 1)
            found[first : first + count] = read_chunk(path, self.store.block, shape)[:count]
        return found

    def _need_rows(self) -> None:
        if not self.store.rows:
            raise ArgumentError("store: expected a campaign with rows=True, got one with statistics alone")

    def _tables(self, columns: Sequence[str] | None = None) -> Any:
        self._need_rows()
        parquet = extra("pyarrow.parquet")
        for block in self.store.done():
            path = self.store.path / f"table/{block:08}.parquet"
            yield block, parquet.read_table(path, columns=None if columns is None else list(columns))

    def table(self, columns: Sequence[str] | None = None) -> Any:
        """Return the samples that are stored as a pandas DataFrame: a row for each, by its number."""
        extra("pandas")
        for name in columns or ():
            self.checked(name, [*self.store.columns, REASON])
        wanted = None if columns is None else [SAMPLE, *columns]
        tables = [t for _, t in self._tables(wanted)]
        found = extra("pyarrow").concat_tables(tables, promote_options="default").to_pandas()
        return found.set_index(SAMPLE)

    def dataset(self) -> Any:
        """Return the states as an xarray Dataset over sample, time, and coordinates; read when looked at."""
        self._need_rows()
        extra("zarr")
        found = extra("xarray").open_zarr(str(self.store.path / "arrays"), consolidated=False)
        q, qd = self.store.labels
        return found.assign_coords(time=np.array(self.store.head["times"]), coordinate=q, dof=qd)

    def worst(self, name: str, count: int = 5, *, least: bool = False) -> list[int]:
        """Return the samples with the largest values of a column, or the least, the first such."""
        x = self.column(name)
        x = np.where(np.isfinite(x), x if least else -x, np.inf)
        order = np.argsort(x, kind="stable")[:count]
        return [int(k) for k in order if np.isfinite(x[k])]

    def failures(self) -> Any:
        """Return the samples that failed as a pandas DataFrame, with their numbers and reasons."""
        table = self.table()
        return table[table[REASON] != ""]

    def rerun(self, sample: int, *, record: int = 1, trust: bool = False) -> Run:
        """Return the run of one sample, with every `record`-th state; `hinge.view.play` shows it."""
        return self.store.plan(trust=trust).rerun(sample, record=record)
