"""The clock of a played run: time, speed and frame."""

from __future__ import annotations

import numpy as np

from hinge.spatial import Array


class Clock:
    """Playback state over the times (T,) of a run; time passes only in `advance`."""

    def __init__(self, times: Array) -> None:
        self.times = times
        self.t = float(times[0])
        self.speed = 1.0
        self.playing = False
        self.loop = True

    def play(self) -> None:
        """Start, from the beginning if it is at the end."""
        if self.t >= self.times[-1]:
            self.t = float(self.times[0])
        self.playing = len(self.times) > 1

    def pause(self) -> None:
        """Pause at the current time."""
        self.playing = False

    def seek(self, t: float) -> None:
        """Go to a time."""
        self.t = float(np.clip(t, self.times[0], self.times[-1]))

    def advance(self, seconds: float) -> None:
        """Advance by real time; at the end loop, or stop."""
        if not self.playing:
            return
        first, last = float(self.times[0]), float(self.times[-1])
        self.t += seconds * self.speed
        if self.t > last:
            if self.loop:
                self.t = first + (self.t - last) % max(last - first, 1e-9)
            else:
                self.t, self.playing = last, False

    @property
    def frame(self) -> int:
        """The index of the nearest time."""
        right = int(np.clip(np.searchsorted(self.times, self.t), 1, max(len(self.times) - 1, 1)))
        if len(self.times) == 1:
            return 0
        left = right - 1
        return left if self.t - self.times[left] < self.times[right] - self.t else right
