"""What the API takes and gives, as its OpenAPI description shows it."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field

from vastsum.scoring.onnx_scorer import DEFAULT_SCORER
from vastsum.serve.library import Entry
from vastsum.serve.selection import Edits
from vastsum.serve.store import Export, Job, Outline, State
from vastsum.serve.studio import Studio
from vastsum.serve.worker import Failure, Step
from vastsum.summary import Budget, ModelNames, SourceVideo, Summary, SummarySegment

Share = Annotated[float, Field(gt=0, le=1, description="a share of the video's duration")]
FrameNumber = Annotated[int, Field(ge=0, lt=2**53)]
BudgetText = Annotated[str, Field(max_length=32, description="15%, 0.15, 90s or 1:30", examples=["15%"])]
ModelName = Annotated[str, Field(max_length=200, description="one of those that /about lists")]


class Given(BaseModel):
    """Of requests: a key nobody knows is more likely a slip of the pen than meant to be passed over."""

    model_config = ConfigDict(extra="forbid")


class ErrorBody(BaseModel):
    """What went wrong, for a person to read."""

    where: str
    problem: str
    remedy: str


class FormatBody(BaseModel):
    name: str
    what: str
    suffix: str


class AboutBody(BaseModel):
    version: str
    formats: list[FormatBody]
    models: list[str]
    default_model: str
    has_library: bool
    max_upload_bytes: int


class SessionRequest(Given):
    token: Annotated[str, Field(max_length=1000)]


class JobRequest(Given):
    """Names the video: either a file of the library or the video of an earlier job."""

    library: Annotated[str | None, Field(max_length=4096, description="path in the library")] = None
    job: Annotated[str | None, Field(pattern="^[0-9a-f]{16}$", description="id of a job with the same video")] = None
    budget: BudgetText = "15%"
    model: ModelName = DEFAULT_SCORER
    fast: Annotated[bool, Field(description="look at key frames only")] = False


class LibraryBody(BaseModel):
    path: str
    entries: list[Entry]


class ExportBody(BaseModel):
    """`is_current` says whether it was made of the selection as it stands now."""

    format: str
    state: State
    is_current: bool
    file: str
    n_bytes: int
    progress: Step | None
    failure: Failure | None

    @classmethod
    def of(cls, job: Job, export: Export) -> Self:
        return cls(**vars(export) | {"is_current": export.edits == job.edits})


class JobBody(BaseModel):
    """`number` counts submissions; `position` is how many jobs come before it, while it waits. `done` of `total` in
    `progress` are seconds of video."""

    id: str
    number: int
    name: str
    state: State
    library_path: str | None
    n_bytes: int
    budget: str
    model: str
    fast: bool
    created_at: float
    started_at: float | None
    finished_at: float | None
    position: int | None
    progress: Step | None
    failure: Failure | None
    notes: list[str]
    video: Outline | None
    is_edited: bool
    exports: list[ExportBody]

    @classmethod
    def of(cls, studio: Studio, job: Job) -> Self:
        computed = {
            "position": studio.position(job) if job.state is State.queued else None,
            "video": job.outline,
            "is_edited": job.outline is not None and job.edits != Edits(job.outline.budget),
            "exports": [ExportBody.of(job, export) for export in job.exports.values()],
        }
        return cls(**vars(job) | vars(job.options) | computed)


class JobsBody(BaseModel):
    """`before` is what to ask for to get the next page; null on the last."""

    jobs: list[JobBody]
    before: int | None


class EditsBody(Given):
    """A selection: the budget, and what a person decided.

    `starts` are the first frames of all segments where a boundary was moved, null where none was. `held` are segments
    that are in (true) or out (false) by hand, each named by its first frame.
    """

    budget: Share
    starts: Annotated[list[FrameNumber] | None, Field(max_length=200_000)] = None
    held: Annotated[list[tuple[FrameNumber, bool]], Field(max_length=200_000)] = []

    @classmethod
    def of(cls, edits: Edits) -> Self:
        return cls(
            budget=edits.budget, starts=None if edits.starts is None else list(edits.starts), held=list(edits.held)
        )

    def to_edits(self) -> Edits:
        return Edits(self.budget, None if self.starts is None else tuple(self.starts), tuple(self.held))


class SelectionBody(BaseModel):
    """The kept selection. `found` are the first frames of the segments as they were found; `fraction` and `duration_s`
    are of the summary that results, which `held` segments can make longer than the budget."""

    edits: EditsBody
    found: list[int]
    n_selected: int
    duration_s: float
    fraction: float

    @classmethod
    def of(cls, edits: Edits, found: list[int], summary: Summary) -> Self:
        return cls(
            edits=EditsBody.of(edits),
            found=found,
            n_selected=len(summary.pieces),
            duration_s=summary.duration_s,
            fraction=summary.fraction,
        )


class TotalsOfSummary(BaseModel):
    n_frames: int
    duration_s: float
    fraction: float


class SummaryBody(BaseModel):
    """The content of summary.json, version 2. Other keys may join them."""

    model_config = ConfigDict(extra="allow")

    version: int
    video: SourceVideo
    model: ModelNames
    budget: Budget
    picks: list[int]
    importance: list[float]
    uncertainty: list[float]
    segments: list[SummarySegment]
    summary: TotalsOfSummary
