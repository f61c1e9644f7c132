#!/usr/bin/env python3
"""Tests a server with a generated database. Requests conform to its OpenAPI description, or do not:

    run.py SCHEMATHESIS FIXTURE_SERVER SECONDS

Fails if an answer differs from the description, is a server error, or if the server reports an
internal failure.
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path


CONFIG = Path(__file__).resolve().with_name("schemathesis.toml")


def known(address):
    """Configuration with the names of existing objects, which cannot be guessed."""
    with urllib.request.urlopen(f"{address}/api/v1/histories") as answer:
        histories = [history["id"] for history in json.load(answer)["histories"]]
    with urllib.request.urlopen(f"{address}/api/v1/runs/1/executions?limit=5") as answer:
        executions = [execution["id"] for execution in json.load(answer)["executions"]]
    names = {"history": histories, "run": [1, 2, 3], "execution": executions, "a": [1, 2, 3], "b": [1, 2, 3]}
    dictionaries = "".join(f"[dictionaries.{name}]\nvalues = {json.dumps(values)}\n" for name, values in names.items())
    lines = (f'"{name}" = {{ dictionary = "{name}", probability = 0.7 }}\n' for name in names)
    return f"\n{dictionaries}\n[parameters]\n{''.join(lines)}"


def main(schemathesis, server, seconds):
    with tempfile.TemporaryFile("w+") as said:
        served = subprocess.Popen([server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True)
        try:
            address = served.stdout.readline().strip()
            description = f"{address}/api/v1/openapi.json"
            # Schemathesis writes a cache into its working directory.
            with tempfile.TemporaryDirectory() as scratch:
                config = Path(scratch, "schemathesis.toml")
                config.write_text(CONFIG.read_text() + known(address))
                command = [os.path.abspath(schemathesis), "--no-color", "--config-file", str(config), "run", description]
                options = ["--max-time", seconds, "--continue-on-failure", "--generation-database", "none"]
                status = subprocess.run(command + options, cwd=scratch).returncode
            with urllib.request.urlopen(f"{address}/api/v1/health") as answer:
                answer.read()
        finally:
            served.stdin.close()
            served.wait(timeout=60)
        said.seek(0)
        said = said.read()
    if said:
        print(f"the server said:\n{said}", file=sys.stderr)
    return 1 if status or said or served.returncode else 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
