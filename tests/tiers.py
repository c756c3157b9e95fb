"""What `make test` runs, and what is left to `make test-all` because it is more of the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from zlib import crc32

import pytest


def daily(cases: Iterable[Any], some: Callable[[int, Any], bool]) -> list[Any]:
    """Return cases for `parametrize`; those for which `some(number, case)` does not hold are slow."""
    found: list[Any] = []
    for k, case in enumerate(cases):
        values = case if isinstance(case, tuple) else (case,)
        found.append(case if some(k, case) else pytest.param(*values, marks=pytest.mark.slow))
    return found


#: Files of which `make test` runs every n-th case, chosen by name; the others are more of the same.
SAMPLED: dict[str, int] = {
    "tests/binding/test_loops.py": 2,
    "tests/binding/test_merge.py": 4,
    "tests/cli/test_explain.py": 2,
    "tests/cli/test_ground.py": 2,
    "tests/cli/test_robots.py": 4,
    "tests/dynamics/test_any_expression.py": 2,
    "tests/dynamics/test_batches.py": 2,
    "tests/dynamics/test_closed.py": 3,
    "tests/dynamics/test_compiled.py": 4,
    "tests/dynamics/test_contact.py": 4,
    "tests/dynamics/test_contact_forms.py": 2,
    "tests/dynamics/test_couplings.py": 4,
    "tests/dynamics/test_derivative_forms.py": 4,
    "tests/dynamics/test_derivatives.py": 3,
    "tests/dynamics/test_embedded_loops.py": 8,
    "tests/dynamics/test_factors.py": 2,
    "tests/dynamics/test_floating.py": 4,
    "tests/dynamics/test_fuzz.py": 2,
    "tests/dynamics/test_grasps.py": 2,
    "tests/dynamics/test_hybrid.py": 4,
    "tests/dynamics/test_identification.py": 2,
    "tests/dynamics/test_inverse_kinematics.py": 2,
    "tests/dynamics/test_joint_parameters.py": 2,
    "tests/dynamics/test_limits.py": 4,
    "tests/dynamics/test_live.py": 2,
    "tests/dynamics/test_loads.py": 2,
    "tests/dynamics/test_mechanisms.py": 2,
    "tests/dynamics/test_moving.py": 4,
    "tests/dynamics/test_operational.py": 8,
    "tests/dynamics/test_options.py": 2,
    "tests/dynamics/test_own_letters.py": 8,
    "tests/dynamics/test_parameters.py": 4,
    "tests/dynamics/test_passive.py": 2,
    "tests/dynamics/test_quick.py": 4,
    "tests/dynamics/test_rolling.py": 2,
    "tests/dynamics/test_targets.py": 8,
    "tests/dynamics/test_verbs.py": 4,
    "tests/errors/test_broken_urdf.py": 2,
    "tests/errors/test_hostile_mjcf.py": 2,
    "tests/examples/test_examples.py": 2,
    "tests/explain/test_page.py": 2,
    "tests/io/test_closures.py": 2,
    "tests/laws/test_laws.py": 4,
    "tests/model/test_edit.py": 4,
    "tests/oracles/test_mujoco.py": 4,
    "tests/oracles/test_pinocchio.py": 2,
    "tests/oracles/test_verbs_pinocchio.py": 4,
    "tests/reference/test_closed.py": 4,
    "tests/reference/test_contact.py": 2,
    "tests/reference/test_impact.py": 2,
    "tests/reference/test_reference.py": 2,
    "tests/robots/test_closed_robots.py": 2,
    "tests/rules/test_completion.py": 2,
    "tests/rules/test_identities.py": 6,
    "tests/rules/test_theory.py": 2,
    "tests/sim/test_closed.py": 4,
    "tests/sim/test_height_fields.py": 2,
    "tests/sim/test_limits.py": 2,
    "tests/sim/test_linearization.py": 2,
    "tests/sim/test_parameters.py": 4,
    "tests/sim/test_rollout.py": 3,
    "tests/sim/test_simulate.py": 4,
    "tests/sweeps/test_lowering.py": 4,
    "tests/sweeps/test_trace.py": 8,
    "tests/sweeps/test_widths.py": 4,
    "tests/targets/llvm/test_machine.py": 4,
    "tests/targets/llvm/test_module.py": 8,
    "tests/targets/llvm/test_solve.py": 4,
    "tests/targets/test_cones.py": 4,
    "tests/targets/test_dense.py": 3,
    "tests/test_pages.py": 2,
    "tests/test_pipeline.py": 2,
    "tests/view/test_mesh_bombs.py": 2,
    "tests/view/test_pictures.py": 3,
}
#: Tests that take seconds and are more of the same as others that stay.
LONG = (
    "tests/targets/llvm/test_tiers.py::test_a_process_may_end_while_code_is_made",
    "tests/sim/test_stored.py::test_a_killed_process_leaves_the_file_whole[npz]",
    "tests/dynamics/test_limits.py::test_alone_and_in_a_batch_bits_are_equal",
    "tests/cli/test_robots.py::test_check_finds_nothing_in_what_is_built_in",
    "tests/reference/test_closed.py::test_random_robots_have_every_closure_and_redundant_rows",
    "tests/targets/llvm/test_cache.py::test_processes_at_once_keep_to_the_bound",
    "tests/view/test_pictures.py::test_a_strip_is_drawn_in_the_plane_of_the_motion",
    "tests/view/test_pictures.py::test_a_batch_is_a_median_in_a_band_or_the_chosen_runs",
    "tests/view/test_loops.py::test_strips_show_closures",
    "tests/errors/test_hostile_mjcf.py::test_a_bomb_takes_bounded_time_and_memory[mesh cone]",
    "tests/view/test_mesh_bombs.py::test_bombs_are_bounded[hollow.glb]",
    "tests/oracles/test_verbs_pinocchio.py::test_the_verbs_agree_with_pinocchio[laikago.urdf-True]",
    "tests/dynamics/test_fuzz.py::test_memory_is_flat_over_many_calls",
    "tests/dynamics/test_closed.py::test_closed_robots_are_what_dense_matrices_say[1-numpy]",
    "tests/rules/test_completion.py::test_every_overlap_of_a_table_is_resolved[derivatives_2]",
    "tests/rules/test_completion.py::test_every_overlap_of_a_table_is_resolved[loaded]",
    "tests/targets/llvm/test_threads.py::test_a_fork_while_another_thread_loads_names_does_not_hang",
    "tests/sim/test_closed.py::test_every_state_has_its_own_inertias",
    "tests/dynamics/test_embedded_loops.py::test_energy_is_kept_and_loops_stay_closed[rk4]",
    "tests/cli/test_simulate.py::test_controls_do_what_they_say",
    "tests/dynamics/test_live.py::test_the_jumps_solve_the_balance_of_impulses",
    "tests/sim/test_stored.py::test_bombs_are_refused_before_they_take_memory",
    "tests/io/test_closures.py::test_loops_of_files_move_as_closed_robots",
    "tests/dynamics/test_limits.py::test_raised_ground_is_that_of_dense_matrices",
    "tests/targets/llvm/test_tiers.py::test_a_process_that_ends_soon_does_not_wait",
    "tests/dynamics/test_fuzz.py::test_the_calls_are_of_every_kind",
    "tests/targets/llvm/test_threads.py::test_a_fork_while_another_thread_compiles_does_not_hang[1]",
    "tests/dynamics/test_embedded_loops.py::test_energy_is_kept_and_loops_stay_closed[midpoint]",
    "tests/view/test_pictures.py::test_what_is_not_a_number_any_more_is_left_out",
    "tests/examples/test_examples.py::test_an_example_keeps_its_laws[17_iterative_lqr]",
    "tests/dynamics/test_live.py::test_a_spacecraft_catches_a_payload",
    "tests/sim/test_closed.py::test_a_soft_finger_does_not_spin",
    "tests/dynamics/test_hybrid.py::test_momentum_is_conserved_through_docking",
    "tests/rules/test_proof.py::test_equations_that_were_made_false_are_refused",
    "tests/cli/test_closed.py::test_simulate_starts_closed",
    "tests/cli/test_simulate.py::test_the_viewer_runs_until_it_is_interrupted[play]",
    "tests/dynamics/test_closed.py::test_closed_robots_are_what_dense_matrices_say[3-numpy]",
    "tests/dynamics/test_closed.py::test_closed_robots_are_what_dense_matrices_say[5-numpy]",
    "tests/dynamics/test_embedded_loops.py::test_a_platform_on_three_legs",
    "tests/dynamics/test_embedded_loops.py::test_feedback_of_independent_joints",
    "tests/dynamics/test_loads.py::test_every_joint_type[numpy]",
    *(
        f"tests/dynamics/test_options.py::test_every_product_of_options_obeys_the_equation_of_motion[{x}-tree]"
        for x in ("inverse_dynamics", "bias_force")
    ),
    "tests/errors/test_hostile_mjcf.py::test_a_bomb_takes_bounded_time_and_memory[5000 bodies]",
    "tests/errors/test_hostile_mjcf.py::test_a_bomb_takes_bounded_time_and_memory[flexcomp, solid]",
    "tests/dynamics/test_rolling.py::test_the_example_keeps_its_laws",
    "tests/robots/test_closed_robots.py::test_the_four_bar_obeys_freudenstein",
    "tests/sim/test_stored.py::test_a_killed_process_leaves_the_file_whole[parquet]",
    "tests/sweeps/test_program.py::test_every_program_of_the_catalogue_can_be_written",
    "tests/targets/llvm/test_threads.py::test_a_fork_after_threads_were_used_does_not_hang[3]",
    "tests/targets/llvm/test_threads.py::test_a_pool_of_new_processes_works_with_one_thread_each",
    "tests/targets/test_expressions.py::test_random_expressions_are_the_matrices[2]",
    "tests/view/test_mesh_bombs.py::test_bombs_are_bounded[facets.stl]",
    "tests/view/test_mesh_bombs.py::test_bombs_are_bounded[groups.obj]",
    "tests/view/test_mesh_bombs.py::test_bombs_are_bounded[nodes.glb]",
    "tests/view/test_mesh_bombs.py::test_bombs_are_bounded[often.glb]",
    "tests/view/test_mesh_bombs.py::test_bombs_are_bounded[shallow.dae]",
    "tests/view/test_pictures.py::test_every_picture_of_every_robot[double_pendulum]",
    "tests/view/test_pictures.py::test_every_picture_of_every_robot[spacecraft]",
)


def is_left_to_test_all(nodeid: str) -> bool:
    """Tell whether `make test` leaves a test out, by its name alone."""
    file, _, name = nodeid.partition("::")
    share = SAMPLED.get(file, 1)
    return nodeid in LONG or ("[" in name and crc32(nodeid.encode()) % share != 0)
