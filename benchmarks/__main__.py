"""Ask every question, or those named: `python -m benchmarks batch single`."""

from __future__ import annotations

from benchmarks import (
    batch,
    campaign,
    chains,
    changes,
    closed,
    command,
    contact,
    derivatives,
    export,
    first_call,
    flexible,
    gym,
    import_time,
    inertias,
    linearize,
    load_urdf,
    million,
    operational,
    operations,
    rollout,
    simulate,
    single,
    threads,
    verbs,
)

QUESTIONS: dict[str, command.Question] = {
    "batch": batch.tables,
    "campaign": campaign.tables,
    "single": single.tables,
    "chains": chains.tables,
    "changes": changes.tables,
    "closed": closed.tables,
    "contact": contact.tables,
    "derivatives": derivatives.tables,
    "export": export.tables,
    "threads": threads.tables,
    "first_call": first_call.tables,
    "flexible": flexible.tables,
    "gym": gym.tables,
    "import_time": import_time.tables,
    "inertias": inertias.tables,
    "linearize": linearize.tables,
    "load_urdf": load_urdf.tables,
    "million": million.tables,
    "operational": operational.tables,
    "operations": operations.tables,
    "rollout": rollout.tables,
    "simulate": simulate.tables,
    "verbs": verbs.tables,
}

if __name__ == "__main__":
    command.run(QUESTIONS)
