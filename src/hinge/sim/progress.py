"""A progress bar with rate and remaining time."""

from __future__ import annotations

import sys
from time import perf_counter
from types import TracebackType

WIDTH = 24
#: Seconds between updates, and until the first: shorter work needs no bar.
EVERY, FIRST = 0.1, 0.4


class Bar:
    """A bar on standard error, if that is a terminal; as a context manager it erases itself at the end.

    Called with (done, total); `prepared` marks the end of the preparation. `per` converts a unit of `done` to
    units of the rate.
    """

    def __init__(self, unit: str = "steps", *, per: float = 1.0, quiet: bool = False) -> None:
        self.unit, self.per = unit, per
        self.shown = not quiet and sys.stderr.isatty()
        self.began = perf_counter()
        self.ready: float | None = None
        self.last: tuple[float, int] = (self.began, 0)
        self._drawn = self.began + FIRST - EVERY
        self._wide = 0

    def __call__(self, done: int, total: int) -> None:
        """Update the progress, and redraw if it is time to."""
        now = perf_counter()
        self.last = (now, done)
        if self.shown and now >= self._drawn + EVERY:
            self._drawn = now
            self._write(line(done, total, self.rate, unit=self.unit, per=self.per))

    def prepared(self) -> None:
        """Mark the end of the preparation."""
        self.ready = perf_counter()
        self.last = (self.ready, 0)

    @property
    def rate(self) -> float:
        """Units per second, preparation excluded."""
        now, done = self.last
        return done / max(now - self.began - self.preparation, 1e-9)

    @property
    def preparation(self) -> float:
        """Seconds of preparation."""
        return 0.0 if self.ready is None else self.ready - self.began

    def __enter__(self) -> Bar:
        if self.shown:
            self._write("preparing …")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._wide:
            self._write("")

    def _write(self, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(self._wide) + ("" if text else "\r"))
        sys.stderr.flush()
        self._wide = len(text)


def line(done: int, total: int, rate: float, *, unit: str, per: float) -> str:
    """Return the bar as a line of text."""
    share = done / total if total else 1.0
    full = int(WIDTH * share)
    left = (total - done) / rate if rate > 0 else float("inf")
    bar = "█" * full + "░" * (WIDTH - full)
    return f"{bar} {100 * share:3.0f} %  {amount(rate * per)} {unit}/s  {span(left)} left"


def amount(number: float) -> str:
    """Return a number in short form: 1234567 is "1.23 M"."""
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(number) >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


def span(seconds: float) -> str:
    """Return a duration in short form: 3700 is "1 h 01 min"."""
    if not seconds < 1e7:
        return "?"
    if seconds < 60:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
