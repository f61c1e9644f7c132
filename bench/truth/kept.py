"""The benchmark's rows in a file, so that an interrupted one continues: measurements and
predictions of each case.
"""

import json
import os


class Rows:
    """`file` is written after each row. `hand_over_ns`: the CPUs' distance at calibration, None
    before it.
    """

    def __init__(self, file):
        self.file = file
        self.hand_over_ns = None
        self.rows = []
        if os.path.exists(file):
            with open(file, encoding="utf-8") as kept:
                saved = json.load(kept)
            self.hand_over_ns = saved["hand_over_ns"]
            self.rows = [with_numbers(row) for row in saved["rows"]]

    def all(self):
        return self.rows

    def names(self):
        return {row["name"] for row in self.rows}

    def set_hand_over(self, hand_over_ns):
        self.hand_over_ns = hand_over_ns
        self.save()

    def add(self, row):
        self.rows.append({**row, "predicted": {}})
        self.save()

    def save(self):
        """A new file replaces the old one, so that one of them is always complete."""
        new = f"{self.file}.new"
        with open(new, "w", encoding="utf-8") as kept:
            json.dump({"hand_over_ns": self.hand_over_ns, "rows": self.rows}, kept, indent=1)
        os.replace(new, self.file)


def with_numbers(row):
    """Numbers of tasks are keys, which are strings in JSON."""
    predicted = {costs: by_number(points) for costs, points in row["predicted"].items()}
    return {**row, "measured": by_number(row["measured"]), "predicted": predicted}


def by_number(points):
    return {int(tasks): point for tasks, point in points.items()}
