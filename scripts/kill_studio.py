"""Kill a studio at random moments while it works, and see that nothing is lost and nothing left behind.

    python scripts/kill_studio.py [--kills 20] [--seed 0]

Uploads the same small video again and again, changes the selections of what is done and has it exported; kills the
server (SIGKILL) at a random moment, starts it again on the same folder, and compares. In the end every job must be
done, every result and every change as it was, and every file known to a job.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / "tests" / folder) for folder in ("serve", "video")]

from films import Recipe, make_video  # noqa: E402
from kills import kill_again_and_again  # noqa: E402
from studios import StudioProcess  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        film = make_video(Path(folder) / "film.mp4", Recipe(n_frames=600, fps=25, gop=25, sounds=["aac"]))
        studio = StudioProcess(Path(folder) / "data")
        try:
            outcome = kill_again_and_again(studio, film, arguments.kills, random.Random(arguments.seed))
        finally:
            studio.end()
    print(f"{arguments.kills} kills: {outcome}")


if __name__ == "__main__":
    main()
