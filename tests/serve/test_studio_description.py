"""Whatever may be sent according to the OpenAPI description, and much that may not, is answered as described."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance
from studios import Client, studio_here, wait_for

EXAMPLES = 15  # for each operation, of those that make sense and of those that do not
# Not among the checks: that all is accepted that fits the description. A video must be there, and a budget a length.
STREAM_WITHOUT_END = "/api/v1/events"


def test_no_request_makes_the_studio_stumble(
    tmp_path: Path, library: Path, film: Path, untraced: Callable[..., Any]
) -> None:
    with studio_here(tmp_path, library=library, max_queued=3) as studio:
        job_id = studio.settled(studio.upload(film)["id"])["id"]
        schema = schemathesis.openapi.from_url(f"http://127.0.0.1:{studio.port}/api/v1/openapi.json")
        rejected = schema.config.checks.negative_data_rejection
        rejected.expected_statuses = [*rejected.expected_statuses, "431"]  # a head may be too large to be looked at
        n_operations = 0
        for found in schema.exclude(path=STREAM_WITHOUT_END).get_all_operations():
            operation = found.ok()
            n_operations += 1
            for mode in GenerationMode:
                untraced(_try)(operation, mode, job_id)  # the studio itself is in another thread
        assert n_operations >= 20
        wait_for(lambda: _has_room(studio, film))  # what was asked for may still be waiting
        assert studio.settled(studio.jobs()[0]["id"])["state"] == "done"


def _has_room(studio: Client, film: Path) -> bool:
    asked = studio.http.post("/uploads", params={"name": film.name}, content=film.read_bytes())
    assert asked.status_code in (201, 429), asked.text
    return asked.status_code == 201


def _try(operation: Any, mode: Any, job_id: str) -> None:
    about_a_job = "{job_id}" in operation.path and operation.label != "DELETE /api/v1/jobs/{job_id}"

    @settings(
        max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def tried(case: Any) -> None:
        if about_a_job and mode == GenerationMode.POSITIVE:
            case.path_parameters["job_id"] = job_id
        case.call_and_validate(timeout=30, excluded_checks=[positive_data_acceptance])

    with contextlib.suppress(Unsatisfiable):  # what takes no parameters can be sent none that are wrong
        tried()
