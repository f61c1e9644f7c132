#!/usr/bin/env python3
"""Checks the commands in the documents: each `faultline` command and option in them exists.

    checks/outputs.py PROGRAM [FILE…]    default: all documents

Reads command lines in fenced blocks, and code between backticks. In a block with prompts ($), only
lines with one are commands. Commands and options are those of PROGRAM's help. In a block of
```console checked, the output of its commands is compared with what a shell prints.
"""

import re
import shlex
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import words

FENCED = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`(faultline [^`]+)`")
LINE = re.compile(r"^\s*(?:- )?(?:run: )?(?P<prompt>\$ )?(?P<command>(?:[^`\n]*[;&|(] ?)?(?:[A-Z_]+=\S+ )*faultline (?:.*\\\n)*.*)$", re.MULTILINE)
OPTION = re.compile(r"^\s+(?:(-\w), )?(--[\w-]+)( \S+)?", re.MULTILINE)
LIMIT_SECONDS = 20


class Help:
    """The options and commands that a program's help names."""

    def __init__(self, program):
        self.program = program

    @cache
    def text(self, *words):
        """Help of the command with these words; `None` if there is no such command."""
        flag = "--help-all" if words else "--help"
        ran = subprocess.run([self.program, *words, flag], capture_output=True, text=True, timeout=LIMIT_SECONDS)
        return ran.stdout if ran.returncode == 0 else None

    @cache
    def options(self, *words):
        """Options with whether a value follows."""
        found = {}
        for short, long, value in OPTION.findall(self.text(*words)):
            found |= {name: bool(value.strip()) for name in (short, long) if name}
        return found

    def has_commands(self, *words):
        return re.search(r"^Usage: .*COMMAND>?$", self.text(*words), re.MULTILINE) is not None

    def problem(self, arguments):
        """The first of a command's arguments that does not exist, as a sentence, or `None`."""
        words, rest = (), list(arguments)
        while rest:
            argument = rest.pop(0)
            if argument == "--":
                break
            if argument.startswith("-") and argument != "-":
                name, _, value = argument.partition("=")
                if name not in self.options(*words):
                    return f"`{' '.join(('faultline', *words))}` has no option {name}"
                if self.options(*words)[name] and not value and rest:
                    rest.pop(0)
            elif self.has_commands(*words):
                if argument.isupper() or argument == "…":
                    return None
                if self.text(*words, argument) is None:
                    return f"there is no command `{' '.join(('faultline', *words, argument))}`"
                words += (argument,)
        return None


def parts(line):
    """The arguments of each call of `faultline` in a line of shell."""
    lexer = shlex.shlex(line.replace("\\\n", " "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    call = None
    for token in lexer:
        if set(token) <= set("();<>|&"):
            if call is not None:
                yield call
            call = None
        elif call is not None:
            call.append(token)
        elif token == "faultline":
            call = []
    if call is not None:
        yield call


def commands(text):
    """Number of the line and command, for each command in a document."""
    for block in FENCED.finditer(text):
        found = list(LINE.finditer(block[3]))
        prompts = [match for match in found if match["prompt"]]
        for match in prompts or ([] if block[2].strip() in ("c", "rust", "toml") else found):
            yield text.count("\n", 0, block.start(3) + match.start("command")) + 1, match["command"]
    prose = FENCED.sub(lambda match: "\n" * match.group().count("\n"), text)
    for match in SPAN.finditer(prose):
        yield prose.count("\n", 0, match.start()) + 1, match[1].replace("\n", " ")


def checked(text):
    """Number of the line, and pairs of command and output, of each block of `console checked`."""
    for block in FENCED.finditer(text):
        if block[2].split() == ["console", "checked"]:
            parted = [part.partition("\n") for part in re.split(r"^\$ ", block[3], flags=re.MULTILINE)[1:]]
            yield text.count("\n", 0, block.start(3)) + 1, [(command, output.strip("\n")) for command, _, output in parted]


def printed(program, commands):
    """Output of each command, run by a shell in one empty directory with its own database."""
    with tempfile.TemporaryDirectory() as place:
        environment = {"PATH": f"{Path(program).parent}:/usr/bin:/bin", "HOME": place, "FAULTLINE_DB": f"{place}/faultline.sqlite", "LC_ALL": "C.UTF-8"}
        for command in commands:
            ran = subprocess.run(["sh", "-c", command], cwd=place, env=environment, text=True, timeout=LIMIT_SECONDS,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            yield re.sub(r" +$", "", ran.stdout, flags=re.MULTILINE).strip("\n")


def problems(program, name, text, known):
    """Sentences about the commands of a document."""
    for number, command in commands(text):
        try:
            calls = list(parts(command))
        except ValueError as error:
            yield f"{name}:{number}: cannot be split into words: {error}"
            continue
        for problem in filter(None, map(known.problem, calls)):
            yield f"{name}:{number}: {problem}"
    for number, pairs in checked(text):
        for (command, output), now in zip(pairs, printed(program, [command for command, _ in pairs])):
            if now != output:
                yield f"{name}:{number}: `{command}` prints something else"


def main(arguments):
    root = Path(__file__).resolve().parent.parent
    if not arguments:
        print("outputs: no program is given; hint: checks/outputs.py target/debug/faultline", file=sys.stderr)
        return 2
    program = str(Path(arguments[0]).resolve())
    known, found = Help(program), []
    for file in arguments[1:] or (root / name for name in words.files(root) if name.endswith(".md")):
        path = Path(file)
        name = path.relative_to(root) if root in path.parents else path
        found += problems(program, name, path.read_text(encoding="utf-8"), known)
    for sentence in found:
        print(f"outputs: {sentence}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
