"""The errors a person can meet. Each message says what is wrong, where, and what to do about it."""

from __future__ import annotations

REPORT_IT = "run 'vastsum --debug summarize' on it alone and please report it"


class VastsumError(Exception):
    """Base of every error raised on purpose. Its text is written for a person; the command line prints it as it is."""

    def __init__(self, where: object, problem: str, remedy: str = "") -> None:
        self.where = str(where)
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{self.where}: {problem}" + (f"; {remedy}" if remedy else ""))

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process borders; the default would hand the finished text back to __init__ as `where`.
        return _restore, (type(self), self.where, self.problem, self.remedy)


def _restore(kind: type[VastsumError], where: str, problem: str, remedy: str) -> VastsumError:
    error = kind.__new__(kind)
    VastsumError.__init__(error, where, problem, remedy)
    return error


def described(error: BaseException, where: object, remedy: str) -> VastsumError:
    """An error as one that a person can read; one that nobody foresaw is said to be that."""
    if isinstance(error, VastsumError):
        return error
    return VastsumError(where, f"something went wrong that should not have ({first_line(error)})", remedy)


def first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


class DataError(VastsumError):
    """A benchmark file, split file or annotation table that cannot be used."""


class ConfigError(VastsumError):
    """A setting that does not exist or does not make sense."""


class CheckpointError(VastsumError):
    """A run folder, checkpoint or model file that cannot be used."""


class VideoError(VastsumError):
    """A video that cannot be read or written."""


class OutputError(VastsumError):
    """A place that cannot be written to."""


class MissingExtraError(VastsumError):
    """A part of the program whose optional dependencies are not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(package, "this Python package is not installed", install_extra(extra))


def install_extra(extra: str) -> str:
    """The remedy; it names the source, for the package is not on PyPI yet."""
    return f'run in a clone of the repository: pip install ".[{extra}]"'
