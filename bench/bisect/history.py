"""A simulated history, with the numbers of builds and executions."""

import json
import subprocess


class History:
    def __init__(self, program, kind, seed):
        self.program, self.kind, self.seed = program, kind, seed
        world = self.ask("world")
        self.last, self.steps, self.broken = world["last"], world["steps"], world["broken"]
        self.builds = self.executions = self.blocks = 0

    def ask(self, what, *words):
        command = [self.program, what, self.kind, str(self.seed), *map(str, words)]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout)

    def measure(self, position, count):
        """Builds a commit and executes it `count` times in a row; None if it cannot be measured."""
        self.builds += 1
        values = self.ask("values", position, self.blocks, count)
        if values is not None:
            self.executions += count
            self.blocks += count
        return values

    def is_right(self, named):
        """True if one of the named positions made a step of the code, and all others are broken or
        follow broken ones.
        """
        made = {step["at"] for step in self.steps if step["label"] == "code"} & set(named)
        return bool(made) and all(self.broken[position] for position in sorted(named)[:-1])
