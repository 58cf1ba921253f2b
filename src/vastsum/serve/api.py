"""The JSON API under /api/v1. docs/api.md shows it at work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi import Path as InPath
from fastapi.responses import StreamingResponse
from starlette.responses import FileResponse

from vastsum import __version__
from vastsum.export import FORMATS
from vastsum.scoring.onnx_scorer import DEFAULT_SCORER
from vastsum.serve.errors import RefusedError
from vastsum.serve.models import (
    AboutBody,
    BudgetText,
    EditsBody,
    ErrorBody,
    ExportBody,
    FormatBody,
    JobBody,
    JobRequest,
    JobsBody,
    LibraryBody,
    ModelName,
    SelectionBody,
    SessionRequest,
    Share,
    SummaryBody,
)
from vastsum.serve.security import API, Sessions
from vastsum.serve.selection import Edits
from vastsum.serve.store import Export, Job
from vastsum.serve.studio import Studio

HEARTBEAT_S = 15.0
_PACE_S = 0.1  # between two messages of a stream

_MEDIA_TYPES = {
    ".mp4": "video/mp4", ".m4v": "video/mp4", ".webm": "video/webm", ".mkv": "video/x-matroska",
    ".mov": "video/quicktime", ".ogv": "video/ogg", ".ogg": "video/ogg", ".avi": "video/x-msvideo",
    ".mpg": "video/mpeg", ".mpeg": "video/mpeg", ".ts": "video/mp2t", ".3gp": "video/3gpp",
    ".json": "application/json", ".png": "image/png", ".jpg": "image/jpeg", ".vtt": "text/vtt",
}  # fmt: skip


def _errors(*codes: int) -> dict[int | str, dict[str, Any]]:
    meanings = {
        400: "cannot be read", 401: "the token is missing or wrong", 403: "from another site or host",
        404: "there is no such thing", 409: "not in this state", 413: "too large", 416: "beyond the end of the file",
        422: "does not make sense", 429: "too much is waiting already", 431: "its head is too large",
        507: "the disk is full",
    }  # fmt: skip
    return {
        code: {"model": ErrorBody, "description": meanings[code]} for code in (400, 401, 403, 413, 422, 431, *codes)
    }


router = APIRouter(prefix=API, responses=_errors())


async def _studio(request: Request) -> Studio:  # async, or each call would go through a thread
    studio: Studio = request.app.state.studio
    return studio


TheStudio = Annotated[Studio, Depends(_studio)]
JobId = Annotated[str, InPath(pattern="^[0-9a-f]{16}$", examples=["0123456789abcdef"])]


async def _job(job_id: JobId, studio: TheStudio) -> Job:
    return studio.job(job_id)


TheJob = Annotated[Job, Depends(_job)]
FormatName = Annotated[str, InPath(json_schema_extra={"enum": list(FORMATS)})]


async def _export(job: TheJob, format_name: FormatName) -> Export:
    if format_name not in job.exports:
        raise RefusedError(404, job.name, f"it has not been exported as '{format_name}'", "export it first")
    return job.exports[format_name]


TheExport = Annotated[Export, Depends(_export)]


@router.get("/about", summary="What this studio can do")
async def about(studio: TheStudio) -> AboutBody:
    return AboutBody(
        version=__version__,
        formats=[FormatBody(name=name, what=it.what, suffix=it.suffix) for name, it in FORMATS.items()],
        models=studio.settings.model_names,
        default_model=DEFAULT_SCORER,
        has_library=studio.library is not None,
        max_upload_bytes=studio.settings.max_upload_bytes,
    )


@router.post("/session", status_code=204, summary="Exchange the token for a cookie")
async def open_session(asked: SessionRequest, request: Request, response: Response) -> None:
    sessions: Sessions = request.app.state.sessions
    if not sessions.is_token(asked.token):
        raise RefusedError(401, "token", "it is wrong", "give the token the studio was started with")
    response.set_cookie(sessions.cookie_name, sessions.open(), httponly=True, samesite="strict", path="/")


@router.delete("/session", status_code=204, summary="Forget the cookie")
async def close_session(request: Request, response: Response) -> None:
    sessions: Sessions = request.app.state.sessions
    sessions.close(request.headers)
    response.delete_cookie(sessions.cookie_name, path="/", httponly=True, samesite="strict")


@router.get("/library", summary="Folders and videos of the library", responses=_errors(404))
async def library(studio: TheStudio, path: Annotated[str, Query(max_length=4096)] = "") -> LibraryBody:
    if studio.library is None:
        raise RefusedError(404, "library", "no library is open", "start the studio with --library DIR")
    entries = await asyncio.to_thread(studio.library.entries, path)
    return LibraryBody(path=path, entries=entries)


@router.post("/jobs", status_code=201, summary="Summarise a video that is here", responses=_errors(404, 429, 507))
async def submit(asked: JobRequest, studio: TheStudio) -> JobBody:
    options = studio.options(asked.budget, asked.model, asked.fast)
    if (asked.library is None) == (asked.job is None):
        raise RefusedError(422, "job", "names no video, or two", "give either 'library' or 'job'")
    if asked.library is not None:
        return JobBody.of(studio, await studio.submit_from_library(asked.library, options))
    assert asked.job is not None
    return JobBody.of(studio, await studio.submit_again(studio.job(asked.job), options))


@router.post(
    "/uploads",
    status_code=201,
    summary="Upload a video, as the body of the request, and summarise it",
    responses=_errors(429, 507),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def upload(
    request: Request,
    studio: TheStudio,
    name: Annotated[str, Query(min_length=1, max_length=1000, description="the file's name")],
    budget: Annotated[BudgetText, Query()] = "15%",
    model: Annotated[ModelName, Query()] = DEFAULT_SCORER,
    fast: bool = False,
) -> JobBody:
    options = studio.options(budget, model, fast)
    length = request.headers.get("content-length", "")
    n_bytes = int(length) if length.isdecimal() else None
    return JobBody.of(studio, await studio.submit_upload(name, options, request.stream(), n_bytes))


@router.get("/jobs", summary="Jobs, the newest first")
async def jobs(
    studio: TheStudio,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[int | None, Query(ge=0, description="only jobs with a lower number")] = None,
) -> JobsBody:
    found = studio.jobs(limit, before)
    more = len(found) == limit and found[-1].number > 1
    return JobsBody(jobs=[JobBody.of(studio, job) for job in found], before=found[-1].number if more else None)


@router.get("/events", summary="Every change of any job, as server-sent events", response_class=StreamingResponse)
async def all_events(studio: TheStudio) -> StreamingResponse:
    return _stream(_changes_of_all(studio))


@router.get("/jobs/{job_id}", summary="One job: state, progress, exports", responses=_errors(404))
async def status(job: TheJob, studio: TheStudio) -> JobBody:
    return JobBody.of(studio, job)


@router.get(
    "/jobs/{job_id}/events",
    summary="Every change of one job, as server-sent events, until nothing more is to come",
    response_class=StreamingResponse,
    responses=_errors(404),
)
async def job_events(job: TheJob, studio: TheStudio) -> StreamingResponse:
    return _stream(_changes_of(studio, job))


@router.post("/jobs/{job_id}/cancel", summary="Cancel a job that waits or runs", responses=_errors(404, 409))
async def cancel(job: TheJob, studio: TheStudio) -> JobBody:
    await studio.cancel(job)
    return JobBody.of(studio, job)


@router.delete("/jobs/{job_id}", status_code=204, summary="Delete a job and its files", responses=_errors(404, 507))
async def delete(job: TheJob, studio: TheStudio) -> None:
    await studio.delete(job)


@router.get(
    "/jobs/{job_id}/result",
    summary="The summary, as in summary.json",
    response_model=SummaryBody,
    responses=_errors(404, 409),
)
async def result(
    job: TheJob,
    studio: TheStudio,
    budget: Annotated[Share | None, Query(description="another budget than the kept one, without edits")] = None,
    edited: Annotated[bool, Query(description="false: as it was chosen at first")] = True,
) -> Response:
    edits = Edits(budget) if budget is not None else None
    if edits is None and not edited and job.outline is not None:
        edits = Edits(job.outline.budget)
    return await _summary_response(studio, job, edits)


@router.get("/jobs/{job_id}/selection", summary="The kept selection", responses=_errors(404, 409))
async def selection(job: TheJob, studio: TheStudio) -> SelectionBody:
    chosen = await studio.chosen(job)
    assert job.edits is not None
    return SelectionBody.of(job.edits, await studio.starts(job), chosen.summary)


@router.put("/jobs/{job_id}/selection", summary="Select again, and keep it", responses=_errors(404, 409, 507))
async def keep_selection(job: TheJob, studio: TheStudio, asked: EditsBody) -> SelectionBody:
    edits = asked.to_edits()
    summary = await studio.keep(job, edits)
    return SelectionBody.of(edits, await studio.starts(job), summary)


@router.post(
    "/jobs/{job_id}/select",
    summary="Select again, and only look at it",
    response_model=SummaryBody,
    responses=_errors(404, 409),
)
async def select(job: TheJob, studio: TheStudio, asked: EditsBody) -> Response:
    return await _summary_response(studio, job, asked.to_edits())


@router.put(
    "/jobs/{job_id}/exports/{format_name}",
    status_code=202,
    summary="Have the kept selection written in a format",
    responses=_errors(404, 409, 429),
)
async def export(job: TheJob, studio: TheStudio, format_name: FormatName) -> ExportBody:
    return ExportBody.of(job, await studio.export(job, format_name))


@router.get("/jobs/{job_id}/exports/{format_name}", summary="How far an export is", responses=_errors(404))
async def export_status(job: TheJob, export: TheExport) -> ExportBody:
    return ExportBody.of(job, export)


@router.delete(
    "/jobs/{job_id}/exports/{format_name}",
    status_code=204,
    summary="Cancel or remove an export",
    responses=_errors(404),
)
async def discard_export(job: TheJob, export: TheExport, studio: TheStudio) -> None:
    await studio.discard_export(job, export.format)


_ANY_BYTES = {"*/*": {"schema": {"type": "string", "format": "binary"}}}
_RANGES: dict[int | str, dict[str, Any]] = {
    **_errors(404),
    200: {"content": _ANY_BYTES, "description": "the file"},
    206: {"content": _ANY_BYTES, "description": "a range of it"},
    400: {"content": {"text/plain": {}}, "description": "not a range of bytes"},
    416: {"description": "beyond the end of the file"},
}


@router.get(
    "/jobs/{job_id}/exports/{format_name}/file",
    summary="An exported file; ranges are served",
    response_class=FileResponse,
    responses=_RANGES,
)
async def exported_file(job: TheJob, export: TheExport, studio: TheStudio) -> FileResponse:
    return _file(studio.exported(job, export), download=True)


@router.get(
    "/jobs/{job_id}/video",
    summary="The original video; ranges are served",
    response_class=FileResponse,
    responses=_RANGES,
)
async def video(job: TheJob, studio: TheStudio) -> FileResponse:
    return _file(studio.video(job))


@router.get(
    "/jobs/{job_id}/thumbnails/{n}",
    summary="A picture of the video, of the time that thumbnails_s[n] says",
    response_class=FileResponse,
    responses=_RANGES,
)
async def thumbnail(job: TheJob, studio: TheStudio, n: Annotated[int, InPath(ge=0, le=999)]) -> FileResponse:
    return _file(studio.folders.thumbnail(job, n), cache_s=86_400)


class _Reader:
    """An open file of which each read is one errand to a thread, opening included."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: BinaryIO | None = None
        self._errand: asyncio.Future[bytes] | None = None
        self._offset = 0

    async def seek(self, offset: int) -> None:
        self._offset = offset

    async def read(self, n_bytes: int) -> bytes:
        self._errand = asyncio.ensure_future(asyncio.to_thread(self._read, n_bytes))
        return await asyncio.shield(self._errand)

    def _read(self, n_bytes: int) -> bytes:
        if self._handle is None:
            self._handle = self._path.open("rb", buffering=0)
        self._handle.seek(self._offset)
        content = self._handle.read(n_bytes)
        self._offset += len(content)
        return content

    def close(self) -> None:
        """Once the thread is back: a reader may leave in the middle of it."""
        if self._errand is not None:
            self._errand.add_done_callback(self._close)

    def _close(self, errand: asyncio.Future[bytes]) -> None:
        errand.exception()  # has been raised where it was waited for, if anyone still did
        if self._handle is not None:
            self._handle.close()


class _File(FileResponse):
    """Many small ranges at once are what players ask for: fewer errands to threads make them several times as quick."""

    chunk_size = 256 * 1024

    @asynccontextmanager
    async def _open_file(self) -> AsyncIterator[Any]:
        reader = _Reader(Path(self.path))
        try:
            yield reader
        finally:
            reader.close()


def _file(path: Path, *, download: bool = False, cache_s: int = 0) -> FileResponse:
    try:
        about = path.stat()
    except OSError:
        raise RefusedError(404, path.name, "the file is no longer there", "make it again") from None
    return _File(
        path,
        stat_result=about,
        media_type=_MEDIA_TYPES.get(path.suffix.lower(), "application/octet-stream"),
        filename=path.name if download else None,
        headers={"cache-control": f"private, max-age={cache_s}" if cache_s else "private, no-cache"},
    )


async def _summary_response(studio: Studio, job: Job, edits: Edits | None) -> Response:
    # Straight to text: these are tens of thousands of numbers, which were checked when they were read.
    return Response((await studio.chosen(job, edits)).text, media_type="application/json")


def _stream(messages: AsyncIterator[str]) -> StreamingResponse:
    return StreamingResponse(messages, media_type="text/event-stream", headers={"x-accel-buffering": "no"})


def _message(event: str, data: str) -> str:
    return f"event: {event}\ndata: {data}\n\n"


def _told(studio: Studio, job_id: str) -> str:
    try:
        return _message("job", JobBody.of(studio, studio.job(job_id)).model_dump_json())
    except RefusedError:
        return _message("deleted", f'{{"id":"{job_id}"}}')


async def _changes_of_all(studio: Studio) -> AsyncIterator[str]:
    with studio.changes.listen() as listener:
        yield ": listening\n\n"
        while True:
            changed = await listener.wait(HEARTBEAT_S)
            yield "".join(_told(studio, job_id) for job_id in changed) or ": still here\n\n"
            await asyncio.sleep(_PACE_S)


async def _changes_of(studio: Studio, job: Job) -> AsyncIterator[str]:
    with studio.changes.listen(job.id) as listener:
        while True:
            told = _told(studio, job.id)
            is_over = not job.state.is_open and not any(export.state.is_open for export in job.exports.values())
            yield told
            if is_over or told.startswith("event: deleted"):
                return
            await asyncio.sleep(_PACE_S)
            while not await listener.wait(HEARTBEAT_S):
                yield ": still here\n\n"
