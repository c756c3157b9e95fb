"""Families: bodies with the same statements in a stage share kernels, as templates that are replayed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hinge.sweeps.body import BodyKernel, Read
from hinge.sweeps.code import Column
from hinge.sweeps.signs import flipped, negate, unsigned
from hinge.sweeps.slots import Memory, Reading, Stored
from hinge.sweeps.template import Place, Template
from hinge.sweeps.wide import MOST_TRACED, Widened
from hinge.tree import WORLD

#: A template is used with slots negated for it if these are at most this share of its operations.
MOST_NEGATED = 0.1


class Variant(NamedTuple):
    """What bodies of one kind read, and the templates by the keys of that; `alike` are keys but for signs."""

    reads: tuple[Read, ...]
    templates: dict[tuple[Any, ...], Template]
    alike: dict[tuple[Any, ...], tuple[Any, ...]]

    def up_to_signs(self, key: tuple[Any, ...]) -> tuple[tuple[Any, ...], Template] | None:
        """Return the key of a template that fits but for signs, and the template."""
        found = self.alike.get(unsigned(key))
        return None if found is None else (found, self.templates[found])


class Family:
    """The bodies with the same statements in a stage, and their templates by kind of body.

    With `widens`, columns of large programs are read wide.
    """

    def __init__(
        self, memory: Memory, stage: int, do: Callable[[BodyKernel], None], *, widens: bool = False
    ) -> None:
        self.memory, self.stage, self.do = memory, stage, do
        self.wide: dict[tuple[Any, ...], list[Variant]] = {}
        self.widened = Widened(memory) if widens else None
        self.variants: dict[tuple[Any, ...], list[Variant]] = {}

    def run(self, body: int, column: Column | None = None, near: tuple[int, ...] | None = None) -> None:
        """Run the statements at a body, from a template if one fits."""
        memory, at = self.memory, Place(self.stage, body, column)
        near = memory.near[body] if near is None else near
        surroundings = self._surroundings(body, near, column)
        known = self.variants.setdefault(surroundings, [])
        if self._replay(known, at, near):
            return
        if column is None or self.widened is None or memory.traced <= MOST_TRACED:
            self._trace(known, at, near)
            return
        known = self.wide.setdefault(surroundings, [])
        self.widened.place = at.stage, at.body
        if not self._replay(known, at, near, self.widened):
            self._trace(known, at, near, self.widened)

    def _replay(
        self, known: Sequence[Variant], at: Place, near: tuple[int, ...], widened: Widened | None = None
    ) -> bool:
        """Replay a template that fits, if there is one."""
        for variant in known:
            blocks = [r.value(self.memory, near, at.column, widened) for r in variant.reads]
            key, slots, numbers = Reading(blocks).finish()
            template = variant.templates.get(key)
            if template is not None:
                template.replay(self.memory, at, _real(slots, widened), numbers)
                return True
            if at.column is None and self._replay_negated(variant, blocks, at):
                return True
        return False

    def _replay_negated(self, variant: Variant, blocks: Sequence[Stored | None], at: Place) -> bool:
        """Replay a template that fits up to the signs of a few slots, if there is one."""
        key, slots, numbers = Reading(blocks).finish()
        found = variant.up_to_signs(key)
        if found is None:
            return False
        wanted, template = found
        other = flipped(blocks, wanted)
        if other is None or len(other) > MOST_NEGATED * template.size or self._in_line(template, at.body):
            return False
        template.replay(self.memory, at, negate(self.memory, slots, other, *at), numbers)
        return True

    def _in_line(self, template: Template, body: int) -> bool:
        """Tell whether a template was traced on the way from a body to the base, or from there to it.

        Along a chain signs settle after a few bodies; between two limbs they do not.
        """
        if WORLD in (template.body, body):
            return True
        support = self.memory.binding.tree.support
        return template.body in support(body) or body in support(template.body)

    def _surroundings(self, body: int, near: tuple[int, ...], column: Column | None) -> tuple[Any, ...]:
        """Return everything besides the reads that determines the kernel."""
        kind = self.memory.kinds[body]
        if column is None:
            return *kind, len(near)
        width = self.memory.width(column.space, column)
        return *kind, len(near), width, body == column.body, near[1] == column.body

    def _trace(
        self, known: list[Variant], at: Place, near: tuple[int, ...], widened: Widened | None = None
    ) -> None:
        """Trace the kernel at a body, store it as a template, and replay it."""
        kernel = BodyKernel(self.memory, at, near, widened)
        self.do(kernel)
        template, reads = kernel.template(), tuple(kernel.reads)
        variant = next((v for v in known if v.reads == reads), None)
        if variant is None:
            known.append(variant := Variant(reads, {}, {}))
        key, slots, numbers = kernel.reading.finish()
        variant.templates[key] = template
        variant.alike.setdefault(unsigned(key), key)
        self.memory.traced += template.size if at.column is not None else 0
        template.replay(self.memory, at, _real(slots, widened), numbers)


def _real(slots: Sequence[int], widened: Widened | None) -> Sequence[int]:
    """Return the slots that are loaded."""
    return slots if widened is None else [widened.real.get(s, s) for s in slots]
