"""How the Python tests run the command: `$CENOTE`, or the release build of this tree."""

import fcntl
import itertools
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# A run that is slow today prints no lines beside its error.
os.environ["CENOTE_PROGRESS"] = "none"


# Started in the background of a script, the tests and the processes that they start would ignore
# interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config):
    config.addinivalue_line("markers", "long: `make soak` runs it, `make test` does not")


def command_path() -> Path:
    """The command under test."""
    target = os.environ.get("CARGO_TARGET_DIR", ROOT / "target")
    path = Path(os.environ.get("CENOTE", Path(target) / "release" / "cenote"))
    if not path.is_file():
        pytest.exit(f"{path} does not exist: `make build` makes it", returncode=2)
    return path


def data_file(name: str) -> Path:
    """A file of the collection of real graphs; the test is skipped where it is missing."""
    path = Path(os.environ.get("CENOTE_DATA", ROOT / "../shared/data")) / name
    if not path.is_file():
        pytest.skip(f"{path} is missing: set CENOTE_DATA to the collection of real graphs")
    return path


class Cenote:
    """Runs verbs in a folder of their own."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.path = command_path()

    def __call__(self, *args, status: int = 0, stdin: bytes = b"") -> str:
        """Standard output of `cenote ARGS`; the exit status must be `status`."""
        done = subprocess.run(
            [self.path, *map(str, args)], cwd=self.folder, input=stdin, capture_output=True
        )
        assert done.returncode == status, f"{args}: {done.returncode}: {done.stderr.decode()}"
        return done.stdout.decode()

    def error(self, *args) -> str:
        """The one line on standard error with which `cenote ARGS` fails."""
        done = subprocess.run([self.path, *map(str, args)], cwd=self.folder, capture_output=True)
        assert done.returncode == 2, f"{args}: {done.returncode}: {done.stderr.decode()}"
        lines = [
            line
            for line in done.stderr.decode().splitlines()
            if not line.startswith("cenote: warning:")
        ]
        assert len(lines) == 1 and lines[0].startswith("cenote: "), lines
        return lines[0]

    def json(self, *args, **options):
        """The one JSON object that `cenote ARGS --json` prints."""
        return json.loads(self(*args, "--json", **options))


def every_other(*options) -> list[tuple]:
    """Half of the combinations, among which any two values of two options still meet (of three
    options or more)."""
    places = itertools.product(*(range(len(values)) for values in options))
    return [
        combination
        for place, combination in zip(places, itertools.product(*options))
        if sum(place) % 2 == 0
    ]


def in_turn(firsts, seconds) -> list:
    """All pairs of two options, as parameters of a test: of each first value the one with the
    second value whose turn it is; the others only in `make soak`."""
    return [
        pytest.param(first, second, marks=[] if at % len(seconds) == place else pytest.mark.long)
        for at, first in enumerate(firsts)
        for place, second in enumerate(seconds)
    ]


@pytest.fixture
def kron(cenote, tmp_path_factory):
    """Links `graph.cenote` to the undirected Kronecker graph of a scale, which is made once for all
    tests of all workers: it is for reading only."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent

    def link(scale: int) -> None:
        made = shared / f"kron-{scale}.cenote"
        with open(shared / f"kron-{scale}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not made.exists():
                pairs = shared / f"kron-{scale}.u32"
                cenote("generate", "kron", "--scale", scale, "--out", pairs)
                cenote("import", pairs, "--undirected", "--out", made)
                pairs.unlink()
        os.link(made, cenote.folder / "graph.cenote")

    return link


@pytest.fixture
def cenote(tmp_path) -> Cenote:
    """The command, in an empty folder."""
    return Cenote(tmp_path)
