"""`git bisect run` over a simulated history, with a threshold on the mean of ten executions."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean

from history import History

EXECUTIONS = 10
GOOD, BAD, SKIP = 0, 1, 125


class Repository:
    """A repository with one commit per position; its file `position` contains the number."""

    def __init__(self, last):
        self.last = last
        self.directory = tempfile.TemporaryDirectory()

    def __enter__(self):
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("fast-import", "--quiet", input="".join(map(self.commit, range(self.last + 1))))
        self.git("checkout", "--quiet", "main")
        self.names = self.git("rev-list", "--reverse", "main").split()
        return self

    def __exit__(self, *_):
        self.directory.cleanup()

    @staticmethod
    def commit(position):
        text, message = f"{position}\n", f"commit {position}"
        return (
            f"commit refs/heads/main\ncommitter A <a@example.org> {1700000000 + position} +0000\ndata {len(message)}\n{message}\n"
            f"M 100644 inline position\ndata {len(text)}\n{text}\n"
        )

    def git(self, *words, input=None, check=True):
        environment = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        command = ["git", "-C", self.directory.name, *words]
        return subprocess.run(command, input=input, capture_output=True, text=True, check=check, timeout=600, env=environment).stdout

    def bisect(self, history):
        """The positions that git names as first bad commit, or as candidates."""
        means = [mean(history.measure(position, EXECUTIONS)) for position in (0, self.last)]
        state = Path(self.directory.name) / ".git" / "simulated.json"
        state_kept = {"threshold": mean(means), "rises": means[1] > means[0], "blocks": history.blocks, "builds": 0, "executions": 0}
        state.write_text(json.dumps(state_kept))
        self.git("bisect", "start", self.names[self.last], self.names[0])
        step = [sys.executable, os.path.abspath(__file__), str(state), history.program, history.kind, str(history.seed)]
        said = self.git("bisect", "run", *step, check=False)
        self.git("bisect", "reset", check=False)
        state_kept = json.loads(state.read_text())
        history.builds += state_kept["builds"]
        history.executions += state_kept["executions"]
        places = {name: position for position, name in enumerate(self.names)}
        first = re.findall(r"^([0-9a-f]{40}) is the first bad commit", said, re.MULTILINE)
        several = re.findall(r"^([0-9a-f]{40})$", said, re.MULTILINE)
        return [places[name] for name in first or several]


def step(state, program, kind, seed):
    """git's verdicts on the commits."""
    state_kept = json.loads(Path(state).read_text())
    history = History(program, kind, int(seed))
    history.blocks = state_kept["blocks"]
    values = history.measure(int(Path("position").read_text()), EXECUTIONS)
    state_kept |= {"blocks": history.blocks, "builds": state_kept["builds"] + 1, "executions": state_kept["executions"] + history.executions}
    Path(state).write_text(json.dumps(state_kept))
    if values is None:
        return SKIP
    return BAD if (mean(values) > state_kept["threshold"]) == state_kept["rises"] else GOOD


if __name__ == "__main__":
    sys.exit(step(*sys.argv[1:]))
