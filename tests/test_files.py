"""Files are written under another name first; what killed processes left of them goes, what living ones hold stays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from vastsum.files import atomic_path, remove_leftovers, write_text

KILLED = """
import os, signal, sys
from pathlib import Path
from vastsum.files import atomic_path
with atomic_path(Path(sys.argv[1])) as part:
    part.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def killed_while_writing(destination: Path) -> Path:
    subprocess.run([sys.executable, "-c", KILLED, str(destination)], check=False)
    (part,) = (path for path in destination.parent.iterdir() if path != destination)
    return part


def test_the_next_run_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    left = killed_while_writing(tmp_path / "a.json")
    others = tmp_path / ".mine.part"
    others.write_text("of another program")
    assert left.exists()
    write_text(tmp_path / "b.json", "whole")
    assert {path.name for path in tmp_path.iterdir()} == {"b.json", ".mine.part"}


def test_what_is_being_written_stays(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    killed_while_writing(tmp_path / "below" / "b.json")
    with atomic_path(tmp_path / "a.json") as part:
        remove_leftovers(tmp_path)
        assert part.exists()
        remove_leftovers(tmp_path, below=True)
        part.write_text("whole")
    assert not list((tmp_path / "below").iterdir())
    assert (tmp_path / "a.json").read_text() == "whole"


def test_what_is_written_may_be_read_by_whom_the_user_lets(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "a.json", "whole")
    finally:
        os.umask(before)
    assert (tmp_path / "a.json").stat().st_mode & 0o777 == 0o640


def test_long_names_can_be_written(tmp_path: Path) -> None:
    name = "ü" * 120 + ".json"  # 245 bytes of the 255 that there may be
    write_text(tmp_path / name, "whole")
    assert [path.name for path in tmp_path.iterdir()] == [name]
