#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Coverage of lines and branches per module from gcov's counters; fails below a module's thresholds.

usage: report.py OBJECTS MODULES    OBJECTS: folder of the objects of src; MODULES: lines "folder lines branches"
Run at the root of the source tree. A line with the comment GCOVR_EXCL_BR_LINE (and the reason) has no branches that
count; a comment of its own that begins with it stands for the statement or condition after it. The lines of kernel templates have no branches that count either: a line has those of all instantiations, in which
most conditions are constants. For the same reason gcovr needs hours for them."""
import collections
import json
import multiprocessing
import os
import subprocess
import sys

MARKER = "GCOVR_EXCL_BR_LINE"
TEMPLATES = ("src/template/", "src/simd/")


def read_counters(notes):
    """{file: {line: (count, [counts of branches])}} of one object."""
    text = subprocess.run(["gcov", "--json-format", "--branch-probabilities", "--stdout", notes], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    found = collections.defaultdict(dict)
    for document in text.splitlines():
        for source in json.loads(document)["files"]:
            path = os.path.relpath(source["file"])
            if path.startswith("src/"):
                for line in source["lines"]:
                    add_line(found[path], line["line_number"], line["count"], [b["count"] for b in line["branches"]])
    return dict(found)


def add_line(lines, number, count, branches):
    """Adds the counts of a further copy of a line. Copies of one line have the same branches, or none."""
    old_count, old = lines.get(number, (0, []))
    n = max(len(old), len(branches))
    padded = [counts + [0] * (n - len(counts)) for counts in (old, branches)]
    lines[number] = (old_count + count, [a + b for a, b in zip(*padded)])


def excluded_lines(text):
    """Numbers of the lines with the marker, and of those of the statement or condition after a comment with it."""
    found = set()
    state = "code"  # or "comment": inside a comment that begins with the marker; "statement": after it
    for number, line in enumerate(text, 1):
        code = line.strip()
        if state == "code" and code.startswith("/* " + MARKER):
            state = "comment"
        elif state == "statement":
            found.add(number)
            state = "code" if code.endswith((";", "{", "*/")) else state
        elif MARKER in code:
            found.add(number)
        if state == "comment" and code.endswith("*/"):
            state = "statement"
    return found


def drop_excluded(path, lines):
    text = open(path, encoding="utf-8").read().splitlines()
    excluded = excluded_lines(text)
    for number, (count, _) in lines.items():
        code = text[number - 1].strip()
        if number in excluded or code in ("{", "}") or path.startswith(TEMPLATES):
            lines[number] = (count, [])


def percent(covered, total):
    return 100 * covered / total if total else 100.0


def totals(files):
    counts = [entry for lines in files.values() for entry in lines.values()]
    branches = [b for _, bs in counts for b in bs]
    return (percent(sum(c > 0 for c, _ in counts), len(counts)),
            percent(sum(b > 0 for b in branches), len(branches)), len(counts), len(branches))


def print_files(files):
    for path, lines in sorted(files.items()):
        open_lines = [n for n, (_, bs) in sorted(lines.items()) if not all(bs)]
        if open_lines:
            print(f"{path}: {', '.join(map(str, open_lines))}")


def innermost(path, modules):
    """The module of a file: the innermost listed folder around it."""
    return max((m for m in modules if path.startswith(m + "/")), key=len)


def read_all(objects):
    """The counters of all objects that this CPU can run, and the folders left out."""
    notes = [os.path.join(folder, name) for folder, _, names in os.walk(objects) for name in names
             if name.endswith(".gcno")]
    levels = subprocess.run(["build-coverage/bin/quire-eval", "--list-levels"], check=True, text=True,
                            stdout=subprocess.PIPE).stdout.split()
    left_out = [level for level in ("avx2", "avx512", "neon")
                if os.path.isdir(f"{objects}/{level}") and not any(name.startswith(level) for name in levels)]
    notes = [n for n in notes if os.path.relpath(n, objects).split(os.sep)[0] not in left_out]
    files = collections.defaultdict(dict)
    with multiprocessing.Pool() as pool:
        for found in pool.imap_unordered(read_counters, notes):
            for path, lines in found.items():
                for number, (count, branches) in lines.items():
                    add_line(files[path], number, count, branches)
    for path, lines in files.items():
        drop_excluded(path, lines)
    return files, left_out


def main():
    objects, modules = sys.argv[1:]
    files, left_out = read_all(objects)
    failed = False
    rows = []
    modules = [row.split() for row in modules.splitlines() if row.strip()]
    names = [module for module, *_ in modules]
    for module, *thresholds in modules:
        inside = {path: lines for path, lines in files.items() if path.startswith(module + "/")}
        print_files({p: l for p, l in inside.items() if innermost(p, names) == module and module != "src"})
        if not inside:
            continue
        reached = totals(inside)
        below = any(t != "-" and r < float(t) for r, t in zip(reached, thresholds))
        failed |= below
        rows.append(f"{module:24} {reached[0]:6.1f} % of {reached[2]:6} lines  {reached[1]:6.1f} % of {reached[3]:6} "
                    f"branches{'  below ' + ' / '.join(thresholds) if below else ''}")
    print("\n" + "\n".join(rows))
    if left_out:
        print("left out, this CPU lacks their instructions: " + ", ".join("src/" + level for level in left_out))
    return failed


if __name__ == "__main__":
    sys.exit(main())
