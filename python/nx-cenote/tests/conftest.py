"""Where the tests find the package and its metadata."""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1]

# The user's profiles of drives must not plan the tests' reads.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="cenote-state-")
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)

# Once: the workers of the tests start after this process has written the metadata.
if "PYTEST_XDIST_WORKER" not in os.environ and "networkx" not in sys.modules:
    subprocess.run([sys.executable, FOLDER / "develop.py"], check=True)


def pytest_configure(config):
    config.addinivalue_line("markers", "long: `make soak` runs it, `make test` does not")
    # Each graph that is opened warns that its drive has no profile.
    config.addinivalue_line("filterwarnings", "ignore::cenote.CenoteWarning")
    config.addinivalue_line("filterwarnings", "ignore:Note. conversions to backend graphs")
