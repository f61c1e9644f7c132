#!/usr/bin/env python3
"""Checks that the files of a crate do not use each other in circles.

A module and its submodules may use each other. Any other circle means that none of its files can be
understood or changed alone (ARCHITECTURE.md, "Dependencies between files"). Prints each circle with
the names that tie it, and exits with 1 if there is one. Test modules do not count.
"""

import re
import subprocess
import sys
from pathlib import Path

TEST_ITEM = re.compile(r"^( *)#\[cfg\((?:all\()?(?:test|loom|shuttle)\b[^\n]*\n(?:\1#[^\n]*\n)*\1[^\n;{]*(?:;|\{\n.*?^\1\}|\{\})", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"//[^\n]*")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
USE = re.compile(r"\b(pub(?:\([^)]*\))? +)?use +([^;]+);")
INLINE = re.compile(r"\b(?:crate|super|self)(?:::\w+)+")


def spread(tree):
    """The paths of a `use` tree by name: `a::{b, c as d}` gives b: (a, b) and d: (a, c)."""
    tree = tree.strip()
    opening = tree.find("{")
    if opening >= 0:
        head, depth, part = tree[:opening].rstrip(":").split("::") if opening else [], 0, ""
        for letter in tree[opening + 1:tree.rindex("}")] + ",":
            depth += {"{": 1, "}": -1}.get(letter, 0)
            if letter == "," and depth == 0:
                for path, name in spread(part) if part.strip() else []:
                    yield tuple(head) + path, name
                part = ""
            else:
                part += letter
        return
    path, _, name = tree.partition(" as ")
    path = tuple(word.strip() for word in path.split("::") if word.strip())
    yield path, name.strip() or (path[-1] if path else "")


class Crate:
    """The modules of a crate, and what their files use."""

    def __init__(self, root):
        self.files = {self.module(path.relative_to(root)): path for path in sorted(root.rglob("*.rs")) if "bin" not in path.parts}
        self.texts = {module: self.text(path) for module, path in self.files.items()}
        self.names = {module: self.imports(module) for module in self.files}

    @staticmethod
    def module(path):
        words = path.with_suffix("").parts
        return words[:-1] if words[-1] in ("mod", "lib", "main") else words

    @staticmethod
    def text(path):
        return STRING.sub('""', COMMENT.sub("", TEST_ITEM.sub("", path.read_text(encoding="utf-8"))))

    def imports(self, module):
        """The names that a module imports from its own crate, with their paths."""
        found = {}
        for _, tree in USE.findall(self.texts[module]):
            for path, name in spread(tree):
                if path[-1:] in (("self",), ("*",)):
                    path, name = path[:-1], path[-2] if len(path) > 1 else name
                if path and (path[0] in ("crate", "super", "self") or module + path[:1] in self.files):
                    found[name] = path
        return found

    def target(self, module, path, depth=0):
        """The module that defines the target of a path in `module`; `None` for another crate."""
        here = list(module)
        words = list(path)
        if words[0] == "crate":
            here, words = [], words[1:]
        while words and words[0] in ("self", "super"):
            if words[0] == "super":
                here = here[:-1]
            words = words[1:]
        for index, word in enumerate(words):
            if tuple(here + [word]) in self.files:
                here.append(word)
                continue
            # A re-exported name belongs to the module from which it was imported.
            handed_on = self.names.get(tuple(here), {}).get(word) if depth < 5 else None
            if handed_on and (tuple(here), handed_on) != (module, tuple(path)):
                return self.target(tuple(here), handed_on + tuple(words[index + 1:]), depth + 1)
            break
        return tuple(here) if tuple(here) in self.files else None

    def arrows(self):
        """The modules that each module's file uses, with the paths; without its parents and
        children."""
        found = {}
        for module, text in self.texts.items():
            paths = set(self.names[module].values())
            paths |= {tuple(path.split("::")) for path in INLINE.findall(USE.sub("", text))}
            for name, path in self.names[module].items():
                # A path that begins with a module's name: `git::run` after `use super::git`.
                paths |= {path + tuple(more.split("::")) for more in re.findall(rf"\b{name}::(\w+)", text)}
            for path in paths:
                to = self.target(module, path)
                if to is not None and to[:len(module)] != module and module[:len(to)] != to:
                    found.setdefault(module, {}).setdefault(to, set()).add("::".join(path))
        return found


def circles(arrows):
    """Groups of modules that reach each other (Tarjan's strongly connected components)."""
    order, low, stack, found = {}, {}, [], []

    def visit(module):
        order[module] = low[module] = len(order)
        stack.append(module)
        for to in arrows.get(module, {}):
            if to not in order:
                visit(to)
                low[module] = min(low[module], low[to])
            elif to in stack:
                low[module] = min(low[module], order[to])
        if low[module] == order[module]:
            group = stack[stack.index(module):]
            del stack[stack.index(module):]
            if len(group) > 1:
                found.append(sorted(group))

    for module in sorted(arrows):
        if module not in order:
            visit(module)
    return found


def ties(source):
    """The circles below a crate's source directory, as sentences with the uses."""
    crate = Crate(source)
    arrows = crate.arrows()
    for group in circles(arrows):
        inside = [(module, to, paths) for module in group for to, paths in sorted(arrows[module].items()) if to in group]
        yield [f"{crate.files[module].relative_to(source)} → {crate.files[to].relative_to(source)}: {', '.join(sorted(paths))}" for module, to, paths in inside]


def main():
    here = Path(__file__).resolve().parent.parent
    listed = subprocess.run(["git", "ls-files", "*/Cargo.toml"], cwd=here, check=True, stdout=subprocess.PIPE, text=True)
    status = 0
    for manifest in listed.stdout.split():
        for sentences in ties(here / Path(manifest).parent / "src"):
            status = 1
            print(f"circles: files of {Path(manifest).parent}/src use each other:", *sentences, sep="\n  ", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
