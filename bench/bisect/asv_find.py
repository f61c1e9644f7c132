"""`asv find` over a simulated history: asv's own class, with everything around its search
simulated.
"""

from statistics import median
from types import SimpleNamespace
from unittest.mock import patch

from asv import util
from asv.commands import find
from asv.console import log

EXECUTIONS = 10


class Machine:
    @staticmethod
    def load(**_):
        return SimpleNamespace(save=lambda _: None)


class Benchmarks(dict):
    @classmethod
    def discover(cls, *_, **__):
        return cls(time={"name": "time", "type": "time", "params": [], "timeout": 60})


def asv_find(history):
    """The position that asv names; None if too many commits failed."""
    said = []

    def run_benchmarks(*_, **__):
        values = history.measure(environment.position, EXECUTIONS)
        value = [None] if values is None else [median(values)]
        return SimpleNamespace(get_result_value=lambda *_: value, errcode={"time": 0})

    environment = SimpleNamespace(position=None, python="", requirements={}, name="", env_vars={})
    environment.install_project = lambda conf, repo, name: setattr(environment, "position", int(name))
    newest_first = [str(position) for position in range(history.last, -1, -1)]
    repository = SimpleNamespace(
        pull=lambda: None,
        get_hashes_from_range=lambda _: newest_first,
        get_decorated_hash=lambda name, _: name,
        get_date=lambda _: 0,
    )
    simulated = {
        "Machine": Machine,
        "Benchmarks": Benchmarks,
        "get_repo": lambda _: repository,
        "Setup": SimpleNamespace(run=lambda **_: [environment]),
        "Results": lambda *_: None,
        "run_benchmarks": run_benchmarks,
    }
    conf = SimpleNamespace(results_dir=None, project="simulated")
    with patch.multiple(find, **simulated), patch.object(log, "info", said.append):
        try:
            find.Find.run(conf, "0..", "time", skip_save=True)
        except util.UserError:
            return []
    return [int(said[-1].split()[-1])]
