#!/usr/bin/env python3
"""Every promise of docs/promises.md names tests that exist, or says `planned`: check_promises.py SOURCE.

The last column of a table row holds tests separated by semicolons: "the text of a TEST_CASE", `test_name` of
tests/cli/*.py, or `check_x.sh` of tests/scripts. `planned` says what is missing, beside tests or alone."""
import pathlib
import re
import sys

SOURCE = pathlib.Path(sys.argv[1])


def existing_tests():
    tests = set()
    for path in (SOURCE / "tests").rglob("*.cpp"):
        # Neighbouring string literals are one text.
        for text in re.findall(r'TEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)', path.read_text()):
            tests.add('"' + "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)) + '"')
    for path in (SOURCE / "tests" / "cli").glob("test_*.py"):
        tests.update("`%s`" % name for name in re.findall(r"def (test_\w+)", path.read_text()))
    tests.update("`%s`" % path.name for path in (SOURCE / "tests" / "scripts").glob("check_*"))
    return tests


def complaints(lines, tests):
    rows = 0
    for number, line in enumerate(lines, 1):
        if not line.startswith("|") or set(line) <= set("|- "):
            continue
        columns = [c.strip() for c in line.strip().strip("|").split("|")]
        if columns[-1] == "test":
            continue
        rows += 1
        if len(columns) != 3 or not all(columns):
            yield number, "a row has promise, area and test"
            continue
        for item in re.findall(r'"[^"]*"|`[^`]*`|[^;"`]+', columns[2]):
            item = item.strip()
            if item and not item.startswith("planned") and item not in tests:
                yield number, "no such test: " + item
    if not rows:
        yield 0, "no promises found"


lines = (SOURCE / "docs" / "promises.md").read_text().splitlines()
found = list(complaints(lines, existing_tests()))
for number, sentence in found:
    print("docs/promises.md:%d: %s" % (number, sentence), file=sys.stderr)
sys.exit(1 if found else 0)
