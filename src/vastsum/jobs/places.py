"""Where videos come from and results go: a folder here, or whatever fsspec can reach."""

from __future__ import annotations

import contextlib
import os
import posixpath
import shutil
import socket
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from vastsum.errors import ConfigError, MissingExtraError, OutputError, VastsumError, VideoError, first_line
from vastsum.files import atomic_path, remove_leftovers

# In these stores a file is there when all of it is; elsewhere it grows under another name first.
_OBJECT_STORES = {"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "memory"}
# What fsspec has beside these fills in templates, unpacks archives or goes through one address to another ("a::b"):
# more than a list of videos, which may be somebody else's, should be able to ask for.
_STORES = _OBJECT_STORES | {"file", "ftp", "hdfs", "http", "https", "sftp", "smb", "webhdfs"}


def is_url(text: str) -> bool:
    return "://" in text


def check_packages(url: str) -> None:
    """Refuse a URL whose store needs packages that are not there. Nobody is asked anything over the network for it."""
    try:
        import fsspec
    except ImportError as error:
        raise MissingExtraError("fsspec", "scale") from error
    protocol = url.partition("://")[0]
    try:
        if protocol in _STORES:
            fsspec.get_filesystem_class(protocol)
    except ImportError as error:  # fsspec names the package, such as s3fs for s3:// and gcsfs for gs://
        package = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs"}.get(protocol, "…")
        raise ConfigError(url, f"needs a Python package ({error})", f"run: pip install {package}") from error


def file_system(url: str) -> tuple[Any, str]:
    """fsspec's file system for a URL, and the URL's path in it."""
    if url.partition("://")[0] not in _STORES or "::" in url:
        raise ConfigError(url, "is no address that is read here", f"use one of: {', '.join(sorted(_STORES))}")
    check_packages(url)
    from fsspec.core import url_to_fs

    try:
        return url_to_fs(url)
    except Exception as error:  # each store has exceptions of its own
        raise ConfigError(url, f"is no address that can be reached ({first_line(error)})", "check it") from error


def base_name(source: str) -> str:
    """What a video is called: the last part of its path."""
    if not is_url(source):
        return Path(source).name
    try:
        path = urlsplit(source).path if source.startswith(("http://", "https://")) else source.partition("://")[2]
    except ValueError as error:
        raise ConfigError(source, f"is no address ({error})", "check it") from error
    return PurePosixPath(unquote(path)).name


@contextmanager
def at_hand(source: str) -> Iterator[Path]:
    """The video as a file of this machine.

    A URL is fetched, and called by its name alone while it is here: what is said of it tells nothing of where it lay.
    """
    if not is_url(source):
        yield Path(source)
        return
    with _scratch() as folder:
        name = base_name(source) or "video"
        _fetch(source, Path(folder, name))
        with contextlib.chdir(folder):
            yield Path(name)


def _scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder for a while, named after its process, so that it can be found when that is no more."""
    return tempfile.TemporaryDirectory(prefix=f"vastsum-{socket.gethostname()}-{os.getpid()}-")


def sweep() -> None:
    """Remove what killed processes of this machine left: a fetched video may be large."""
    prefix = f"vastsum-{socket.gethostname()}-"
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*-*"):
        pid = folder.name.removeprefix(prefix).partition("-")[0]
        if pid.isdecimal() and not _is_running(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is another user's
        return True
    return True


def _fetch(url: str, destination: Path) -> None:
    system, path = file_system(url)
    try:
        system.get_file(path, str(destination))
    except FileNotFoundError:
        raise VideoError(url, "there is no such file", "check the address") from None
    except Exception as error:  # each store has exceptions of its own
        raise VideoError(
            url, f"could not be fetched ({first_line(error)})", "check it and your access to it"
        ) from error


class Place(Protocol):
    """A folder of results. Names in it are relative, with / between their parts."""

    def shown(self, name: str) -> str: ...
    def read(self, name: str) -> bytes | None: ...
    def read_all(self, folder: str) -> list[bytes]: ...
    def sizes(self, names: Iterable[str]) -> dict[str, int]:
        """Of those files that are there, in bytes."""

    def write(self, name: str, content: bytes) -> None: ...
    def remove_folder(self, folder: str) -> None: ...

    def check(self, name: str, *, replace: bool) -> None:
        """Refuse now what could not be written after an hour of work."""

    def tidy(self) -> None:
        """Remove what workers that were killed had begun to write."""

    def staged(self) -> contextlib.AbstractContextManager[Path]:
        """A folder of this machine; what is written there is in the place when the block ends well."""


def open_place(text: str) -> Place:
    if text.startswith("file://"):
        text = unquote(urlsplit(text).path)
    return RemotePlace(text) if is_url(text) else LocalPlace(text)


class LocalPlace:
    def __init__(self, named: str) -> None:
        self._named = Path(named)
        self._root = self._named.absolute()

    def shown(self, name: str) -> str:
        return str(self._named / name)

    def read(self, name: str) -> bytes | None:
        try:
            return (self._root / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise OutputError(self.shown(name), f"cannot be read ({error.strerror})", "choose another -o") from error

    def read_all(self, folder: str) -> list[bytes]:
        names = [path.name for path in sorted((self._root / folder).glob("*.json"))]
        return [content for name in names if (content := self.read(f"{folder}/{name}")) is not None]

    def sizes(self, names: Iterable[str]) -> dict[str, int]:
        found = {}
        for name in names:
            with contextlib.suppress(OSError, ValueError):  # no file of this machine has a name with a NUL in it
                found[name] = (self._root / name).stat().st_size
        return found

    def write(self, name: str, content: bytes) -> None:
        with atomic_path(self._root / name) as temporary:
            temporary.write_bytes(content)

    def remove_folder(self, folder: str) -> None:
        for path in (self._root / folder).glob("*"):
            path.unlink(missing_ok=True)

    def check(self, name: str, *, replace: bool) -> None:
        check_path(self._root / name, self.shown(name), replace=replace)

    def tidy(self) -> None:
        remove_leftovers(self._root, below=True)

    @contextmanager
    def staged(self) -> Iterator[Path]:
        yield self._root  # every file is written under another name and renamed; no need to do so twice


def check_path(path: Path, shown: object, *, replace: bool) -> None:
    """Refuse a file that could not be written, or that is there and may not be replaced."""
    try:
        problem = _path_problem(path, replace=replace)
    except OSError as error:
        problem = f"cannot be written ({error.strerror})"
    if problem:
        overwrite = "add --overwrite to replace it, or " * (problem == "exists already")
        raise OutputError(shown, problem, f"{overwrite}choose another -o")


def _path_problem(path: Path, *, replace: bool) -> str:
    if path.is_dir():
        return "there is a folder of this name"
    if path.exists() and not replace:
        return "exists already"
    nearest = next((folder for folder in path.parents if folder.exists()), Path())
    if not nearest.is_dir():
        return f"{nearest} is not a folder"
    return "" if os.access(nearest, os.W_OK | os.X_OK) else f"you may not write to {nearest}"


class RemotePlace:
    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._system, self._root = file_system(self._url)

    def shown(self, name: str) -> str:
        return f"{self._url}/{name}"

    def read(self, name: str) -> bytes | None:
        try:
            return self._system.cat_file(self._path(name))
        except FileNotFoundError:
            return None
        except Exception as error:
            raise self._refused(name, "read", error) from error

    def read_all(self, folder: str) -> list[bytes]:
        try:
            self._system.invalidate_cache()
            paths = [path for path in self._system.ls(self._path(folder), detail=False) if path.endswith(".json")]
            return [content for _, content in sorted(self._system.cat(paths).items())] if paths else []
        except FileNotFoundError:
            return []
        except Exception as error:
            raise self._refused(folder, "read", error) from error

    def sizes(self, names: Iterable[str]) -> dict[str, int]:
        """By one listing of all there is: asking for each would take as long as writing it did."""
        try:
            self._system.invalidate_cache()
            found = self._system.find(self._root, detail=True)
        except FileNotFoundError:
            return {}
        except Exception as error:
            raise self._refused("", "listed", error) from error
        return {name: found[path]["size"] for name in names if (path := self._path(name)) in found}

    def write(self, name: str, content: bytes) -> None:
        with _scratch() as folder:
            local = Path(folder, "content")
            local.write_bytes(content)
            self._put(str(local), name)

    def remove_folder(self, folder: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._system.rm(self._path(folder), recursive=True)

    def check(self, name: str, *, replace: bool) -> None:
        if not replace and self._system.exists(self._path(name)):
            raise OutputError(self.shown(name), "exists already", "add --overwrite to replace it, or choose another -o")

    def tidy(self) -> None:
        """Staged in a temporary folder, results come whole or not at all."""

    @contextmanager
    def staged(self) -> Iterator[Path]:
        with _scratch() as folder:
            yield Path(folder)
            for path in sorted(Path(folder).rglob("*")):
                if path.is_file():
                    self._put(str(path), path.relative_to(folder).as_posix())

    def _put(self, local: str, name: str) -> None:
        final = self._path(name)
        try:
            if self._url.partition("://")[0] in _OBJECT_STORES:
                self._system.put_file(local, final)
                return
            self._system.makedirs(posixpath.dirname(final), exist_ok=True)
            part = posixpath.join(posixpath.dirname(final), f".{uuid4().hex}.part")
            self._system.put_file(local, part)
            self._system.mv(part, final)
        except Exception as error:
            raise self._refused(name, "written", error) from error

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _refused(self, name: str, done: str, error: Exception) -> VastsumError:
        problem = f"could not be {done} ({first_line(error)})"
        return OutputError(self.shown(name), problem, "check the address and your access to it")


def read_bytes(source: str) -> bytes:
    """A small file, such as a manifest, from wherever it is."""
    try:
        if not is_url(source):
            return Path(source).read_bytes()
        system, path = file_system(source)
        return system.cat_file(path)
    except VastsumError:
        raise
    except FileNotFoundError:
        raise ConfigError(source, "there is no such file", "check its name") from None
    except Exception as error:
        raise ConfigError(source, f"cannot be read ({first_line(error)})", "check your access to it") from error


def videos_at(url: str, looks_right: Any) -> Sequence[str]:
    """URLs of all files in and below a remote folder that `looks_right` accepts by their names."""
    system, path = file_system(url)
    try:
        found = system.find(path)
    except Exception as error:
        raise ConfigError(url, f"cannot be listed ({first_line(error)})", "check the address") from error
    return [system.unstrip_protocol(file) for file in sorted(found) if looks_right(PurePosixPath(file))]
