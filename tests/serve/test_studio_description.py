"""Whatever may be sent according to the OpenAPI description, and much that may not, is answered as described."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from studios import Client, studio_here

EXAMPLES = 25


@pytest.fixture(scope="module")
def own_studio(tmp_path_factory: pytest.TempPathFactory, library: Path, film: Path) -> Iterator[tuple[Client, str]]:
    """With a finished job, whose id is put in place of half of those that are made up."""
    with studio_here(tmp_path_factory.mktemp("described"), library=library, max_queued=3) as client:
        yield client, client.settled(client.upload(film)["id"])["id"]


@pytest.fixture
def api(own_studio: tuple[Client, str]) -> Any:
    client, job_id = own_studio
    schema = schemathesis.openapi.from_url(f"http://127.0.0.1:{client.port}/api/v1/openapi.json")

    @schema.hook
    def map_path_parameters(_context: Any, parameters: dict[str, Any] | None) -> dict[str, Any] | None:
        if parameters and "job_id" in parameters and hash(str(parameters)) % 2:
            parameters["job_id"] = job_id
        return parameters

    # A stream that never ends, and the deletion of what the others look at, are tested by hand.
    return schema.exclude(path="/api/v1/events").exclude(method="DELETE", path="/api/v1/jobs/{job_id}")


described = schemathesis.pytest.from_fixture("api")


@described.parametrize()
@settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)
def test_no_request_makes_the_studio_stumble(case: Any) -> None:
    try:
        case.call_and_validate(timeout=30)
    except httpx.TimeoutException:
        pytest.fail(f"no answer to {case.method} {case.path}")


assert not_a_server_error  # one of the checks that call_and_validate makes
