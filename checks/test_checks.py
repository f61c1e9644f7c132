"""Each check must find its errors, and pass correct input."""

import importlib.util
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import arrows
import circles
import licences
import links
import mutants
import outputs
import words

# Python has a module `site` of its own.
SITE = importlib.util.spec_from_file_location("documentation_site", Path(__file__).parent.parent / "packages/site.py")
site = importlib.util.module_from_spec(SITE)
SITE.loader.exec_module(site)


def package(name, *dependencies):
    return {"name": name, "dependencies": [{"name": dependency} for dependency in dependencies]}


class Arrows(unittest.TestCase):
    def test_arrows_that_point_down_pass(self):
        metadata = {"packages": [package("faultline-cli", "faultline-runner", "clap"), package("faultline-runner", "faultline-record"),
                                 package("faultline-record", "serde")]}
        self.assertEqual(arrows.crossings(metadata), [])

    def test_an_arrow_that_points_up_is_found(self):
        metadata = {"packages": [package("faultline-record", "faultline-store"), package("faultline-store")]}
        self.assertEqual(arrows.crossings(metadata), ["faultline-record → faultline-store: this dependency is not allowed"])

    def test_the_commands_tests_alone_look_into_the_database(self):
        def command(kind):
            dependency = {"name": "faultline-store", "kind": kind}
            return {"packages": [{"name": "faultline-cli", "dependencies": [dependency]}, package("faultline-store")]}
        self.assertEqual(arrows.crossings(command("dev")), [])
        self.assertEqual(arrows.crossings(command(None)), ["faultline-cli → faultline-store: this dependency is not allowed"])

    def test_only_front_ends_know_arguments_and_terminals(self):
        self.assertEqual(len(arrows.crossings({"packages": [package("faultline-experiment", "clap")]})), 1)

    def test_an_arrow_points_down(self):
        down = [package("faultline-report", "faultline-record", "faultline-stats"),
                package("faultline-record"), package("faultline-stats")]
        self.assertEqual(arrows.crossings({"packages": down}), [])
        up = {"packages": [package("faultline-stats", "faultline-report"), package("faultline-report")]}
        self.assertEqual(arrows.crossings(up), ["faultline-stats → faultline-report: this dependency is not allowed"])

    def test_nothing_links_to_the_plugin(self):
        self.assertEqual(len(arrows.crossings({"packages": [package("faultline-cli", "faultline-lens")]})), 1)

    def test_the_plugin_uses_the_model_and_the_format_alone(self):
        others = [package("faultline-coherence", "faultline-lens-format"), package("faultline-lens-format"),
                  package("faultline-record")]
        plugin = package("faultline-lens", "faultline-coherence", "faultline-lens-format")
        self.assertEqual(arrows.crossings({"packages": [plugin, *others]}), [])
        plugin = package("faultline-lens", "faultline-record")
        self.assertEqual(len(arrows.crossings({"packages": [plugin, *others]})), 1)

    def test_a_crate_that_is_not_in_the_table_is_found(self):
        self.assertEqual(len(arrows.crossings({"packages": [package("faultline-attic")]})), 1)

    def test_a_pure_crate_that_looks_outside_is_found(self):
        self.assertEqual(arrows.impurities("m", "a.rs", "use std::fs;"), ["m: a.rs uses std::fs"])
        self.assertEqual(len(arrows.impurities("m", "a.rs", "use std::{cmp, fs};")), 1)
        tests = "fn f() {}\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n"
        self.assertEqual(arrows.impurities("m", "a.rs", tests), [])
        self.assertEqual(len(arrows.impurities("m", "a.rs", tests + "use std::env;")), 1)

    def test_one_file_alone_reads_the_systems_clock(self):
        text = "use std::time::Instant;"
        self.assertEqual(arrows.clock_readings("r", "src/run.rs", text), ["r: src/run.rs uses Instant instead of the clock passed to it"])
        self.assertEqual(arrows.clock_readings("r", "src/clock.rs", text), [])

    def test_the_simulation_is_for_tests_alone(self):
        simulation = package("faultline-simulation", "faultline-experiment")
        crate = package("faultline-experiment", "faultline-simulation")
        found = arrows.crossings({"packages": [simulation, crate]})
        self.assertEqual(found, ["faultline-experiment → faultline-simulation: this dependency is not allowed"])


class Circles(unittest.TestCase):
    def found(self, **files):
        """The ties of the circles of a crate with these files; `__` in a name is a directory."""
        with tempfile.TemporaryDirectory() as place:
            for name, text in files.items():
                path = Path(place, name.replace("__", "/") + ".rs")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return list(circles.ties(Path(place)))

    def test_files_that_use_each_other_are_found(self):
        self.assertEqual(self.found(lib="mod a; mod b;", a="use crate::b::{self, B};", b="fn f() { crate::a::g(); }"),
                         [["a.rs → b.rs: crate::b, crate::b::B", "b.rs → a.rs: crate::a::g"]])
        self.assertEqual(len(self.found(lib="mod a; mod b; mod c;", a="use super::b::B;", b="use crate::c::C;", c="use crate::a::A;")), 1)

    def test_a_name_that_is_handed_on_belongs_to_its_own_file(self):
        self.assertEqual(len(self.found(lib="mod a; mod b; pub use b::B;", a="use crate::B;", b="use crate::a::A;")), 1)
        self.assertEqual(len(self.found(lib="mod a; mod b;", a="use crate::b::C;", b="pub use c::C;", b__c="use crate::a::A;")), 1)

    def test_a_module_and_those_within_it_may_use_each_other(self):
        self.assertEqual(self.found(lib="mod a;", a="mod b; use b::B;", a__b="use super::A;"), [])

    def test_what_is_used_one_way_passes(self):
        self.assertEqual(self.found(lib="mod a; mod b;", a="use crate::b::B;", b='// crate::a::A\nconst A: &str = "crate::a::A";'), [])

    def test_tests_may_use_what_they_like(self):
        tests = "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n"
        self.assertEqual(self.found(lib="mod a; mod b;", a="use crate::b::B;", b=tests), [])
        self.assertEqual(len(self.found(lib="mod a; mod b;", a="use crate::b::B;", b=tests + "use crate::a::A;")), 1)


class Licences(unittest.TestCase):
    def test_expressions(self):
        for expression in ["MIT", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(MIT OR GPL-2.0) AND ISC", "Apache-2.0 WITH LLVM-exception"]:
            self.assertTrue(licences.permitted(expression), expression)
        for expression in ["GPL-3.0", "MIT AND GPL-2.0", "none", "", "(MIT", "MIT WITH odd-exception", "MIT ISC"]:
            self.assertFalse(licences.permitted(expression), expression)

    def test_an_exception_holds_for_its_package_alone(self):
        self.assertEqual(licences.refused([("axe-core", "MPL-2.0"), ("other", "MPL-2.0")]), ["other: MPL-2.0"])


class Links(unittest.TestCase):
    def test_what_is_not_there_is_found(self):
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            (root / "b.md").write_text("# A `big` heading!\n")
            text = "[x](b.md) [x](b.md#a-big-heading) [x](c.md) [x](b.md#small) [x](https://example.org)\n```\n[x](d.md)\n```\n"
            (root / "a.md").write_text(text)
            found = links.dead(root / "a.md", text, root)
            self.assertEqual(found, ["a.md: c.md is not there", "a.md: b.md#small has no such heading"])


class Mutants(unittest.TestCase):
    def test_a_mistake_is_made_in_one_place(self):
        self.assertEqual(mutants.mutated("a b c", "b", "d"), "a d c")
        for text, old, new in [("a b b", "b", "d"), ("a", "b", "d"), ("a b", "b", "b")]:
            self.assertRaises(ValueError, mutants.mutated, text, old, new)

    def test_a_list_that_is_out_of_step_is_found(self):
        with tempfile.TemporaryDirectory() as directory:
            place = Path(directory)
            (place / "src").mkdir()
            (place / "src/a.rs").write_text("a b b")
            listed = [{"file": file, "what": "", "old": old, "new": "c"} for file, old in [("a.rs", "a"), ("a.rs", "b"), ("b.rs", "a")]]
            self.assertEqual(len(mutants.problems(place, listed)), 2)

    def test_only_a_test_that_ran_and_failed_has_caught_it(self):
        verdict = lambda output: mutants.verdict(output, "room::a_test")[1]
        self.assertTrue(verdict("running 1 test\ntest room::a_test ... FAILED\n"))
        self.assertTrue(verdict("test room::a_test ... error: Undefined Behavior: Data race detected"))
        aborted = "panicked at a.rs:1:1\npanic in a destructor during cleanup\nthread caused non-unwinding panic. aborting.\n"
        self.assertTrue(verdict(f"running 1 test\nthread 'room::a_test' (7) {aborted}"))
        self.assertFalse(verdict(f"thread 'room::a_test_2' (7) {aborted}"))
        for output in [None, "test room::a_test ... ok\n", "error[E0308]: mismatched types", "test room::a_test_2 ... FAILED", ""]:
            self.assertFalse(verdict(output), output)


class Outputs(unittest.TestCase):
    """With a program that has two commands and prints its arguments."""

    HELP = """#!/bin/sh
case "$*" in
--help) printf 'Usage: faultline [OPTIONS] COMMAND\\n\\n  --db FILE|URL  Database\\n' ;;
"run --help-all") printf 'Usage: faultline run [OPTIONS]\\n\\n  -q, --quiet\\n      --tasks <N>\\n' ;;
"lens --help-all") printf 'Usage: faultline lens [OPTIONS] <COMMAND>\\n' ;;
"lens types --help-all") printf 'Usage: faultline lens types <RUN>\\n' ;;
"run "*) echo "$2  " ;;
*) exit 2 ;;
esac
"""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.program = Path(directory.name, "faultline")
        self.program.write_text(self.HELP)
        self.program.chmod(0o755)

    def found(self, text):
        return list(outputs.problems(self.program, "a.md", text, outputs.Help(self.program)))

    def test_commands_and_options_that_exist_pass(self):
        self.assertEqual(self.found("```\nfaultline run -q --tasks 1 2  # --none\nX=1 faultline --db f lens types 2 | sort --none\n```\n"), [])
        self.assertEqual(self.found("`faultline run --tasks=1 -- ./prog --none`, `faultline COMMAND --help-all`, `faultline.toml`\n"), [])
        self.assertEqual(self.found("```\n$ faultline run\nfaultline says --none\n```\n```c\nfaultline none;\n```\n"), [])

    def test_what_does_not_exist_is_named_with_its_line(self):
        self.assertEqual(self.found("A\n\n```\n$ faultline run \\\n    --taks 1\n```\n"), ["a.md:4: `faultline run` has no option --taks"])
        self.assertEqual(self.found("A `faultline lens\nprog`"), ["a.md:1: there is no command `faultline lens prog`"])
        self.assertEqual(len(self.found("```sh\nmake && faultline rnu; faultline run -x\n- run: faultline run 'a\n```\n")), 3)

    def test_a_checked_output_is_compared(self):
        self.assertEqual(self.found("```console checked\n$ faultline run one\none\n$ faultline run two >a\n$ cat a\ntwo\n```\n"), [])
        self.assertEqual(self.found("```console checked\n$ faultline run one\ntwo\n```\n"), ["a.md:2: `faultline run one` prints something else"])


class Site(unittest.TestCase):
    def test_pages_keep_their_places_and_bring_the_files_that_they_link_to(self):
        with tempfile.TemporaryDirectory() as place:
            root, source = Path(place, "root"), Path(place, "source")
            files = {"docs/SUMMARY.md": "[A](../A.md)\n\n- [B](b/B.md)\n", "docs/book.toml": "", "packages/site.css": "", "packages/site.js": "", "A.md": "[x](docs/b/B.md#b) [x](src/a.c)",
                     "docs/b/B.md": "[x](../../C.md) [x](../../src) [x](https://example.org)", "C.md": "", "src/a.c": "", "docs/D.md": ""}
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            self.assertEqual([problem.partition(":")[0] for problem in site.gather(root, source)], ["docs/D.md", "docs/b/B.md", "docs/b/B.md"])
            self.assertEqual((source / "src/SUMMARY.md").read_text(), "[A](A.md)\n\n- [B](docs/b/B.md)\n")
            self.assertTrue((source / "src/src/a.c").is_file() and not (source / "src/C.md").exists())

    def test_dead_links_of_built_pages_are_found(self):
        with tempfile.TemporaryDirectory() as place:
            Path(place, "a.html").write_text('<h1 id="x">x</h1><a href="#x">x</a><a href="b.html#y">y</a><img src="c.png"><a href="../d">d</a>')
            Path(place, "b.html").write_text('<a href="a.html#x">x</a><a href="https://example.org/a">z</a>')
            self.assertEqual(site.dead(Path(place)), ["a.html: b.html#y has no such heading", "a.html: c.png is not there", "a.html: ../d is not there"])


class Words(unittest.TestCase):
    def found(self, name, text):
        return [(number, kind) for number, kind, _ in words.findings(name, text)]

    def test_openings_and_words_are_found_in_comments_messages_and_documents(self):
        rust = '/// What it is.\nfn f() {\n    say("Whether so\\n"); // nobody knows\n    /* fine\n     * The same. */\n}\n'
        self.assertEqual(self.found("a.rs", rust), [(1, "wordings"), (3, "wordings"), (3, "wordings"), (5, "wordings")])
        self.assertEqual(self.found("a.rs", "let r = r#\"a\nIt is \"so\"\"#;\nlet c = '\"'; // told"), [(2, "wordings"), (3, "wordings")])
        self.assertEqual(self.found("a.ts", "const a = `Who`; // https://told.example"), [(1, "wordings"), (1, "wordings")])
        self.assertEqual(self.found("a.py", '"""Reads.\n\nThose of a file.\n"""\nprint("anew")\n'), [(3, "wordings"), (5, "wordings")])
        self.assertEqual(self.found("a.sh", "echo \"told\" # alike\n$#told"), [(1, "wordings"), (1, "wordings")])
        self.assertEqual(self.found("a.toml", "a = 'told # told' # told\nb = \"\"\"\n# told\"\"\"\n"), [(1, "wordings")])
        self.assertEqual(self.found("a.sql", "SELECT '-- told'; -- told\n/* told */"), [(1, "wordings"), (2, "wordings")])
        self.assertEqual(self.found("a.css", "a { content: '/* told */'; } /* told */"), [(1, "wordings")])
        self.assertEqual(self.found("a.md", "- **What** it is\n1. There is one\n"), [(1, "wordings"), (2, "wordings")])

    def test_genitives_are_found(self):
        self.assertEqual(self.found("a.md", "# The page of a run\n## Order of events\nits server of SSH\n"), [(1, "wordings"), (3, "wordings")])

    def test_good_text_code_and_strings_of_tests_pass(self):
        self.assertEqual(self.found("a.md", "# How to measure\nIt shows what `nobody` did.\n```\nWhat\n```\n"), [])
        self.assertEqual(self.found("a.rs", "/// How to count. The lifetime of `told`.\nfn told<'a>(it: &'a str) {}\n"), [])
        self.assertEqual(self.found("a.rs", '#[cfg(test)]\nmod tests {\n    const A: &str = "told";\n}\n'), [])
        self.assertEqual(self.found("tests/a.rs", 'const A: &str = "told"; // told'), [(1, "wordings")])

    def test_wide_lines_are_those_of_comments(self):
        wide = "x" * 100
        self.assertEqual(self.found("a.rs", f"// {wide}\nlet a = {wide}; // b\n/* a\n * {wide} */"), [(1, "wide"), (4, "wide")])
        self.assertEqual(self.found("a.md", wide * 2), [])

    def test_counts_stay_within_their_bounds(self):
        counts = {"a": words.Counter(wordings=3, wide=1), "b": words.Counter()}
        above, lower = words.beyond(counts, {"a": {"wordings": 2, "wide": 2}})
        self.assertEqual((len(above), len(lower)), (3, 1))
        self.assertIn('"a" = { wordings = 2, wide = 1 }\n"b" = { wordings = 0, wide = 0 }', words.written(counts, {"a": {"wordings": 2, "wide": 2}}))


if __name__ == "__main__":
    unittest.main()
