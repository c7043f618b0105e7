#!/usr/bin/env python3
"""Checks the source tree against docs/architecture.md: who may include whom, what the server includes, include cycles,
prefixes of symbols, one header per source file, width of comments, length of files. Also: every public object is
tested with foreign handles, and the tests that docs/testing.md names exist.

usage: check.py [--root DIR] [--build DIR] [--count]
  --root   source tree, default: the one this file is in
  --build  build folder with the objects of libquire; without it the symbol checks are skipped
  --count  prints the number of findings of each kind and exits 0
"""
import argparse
import collections
import os
import re
import subprocess
import sys

MAX_COLUMNS = 100
MAX_FILE_LINES = 500
KERNELS = {"generic", "avx2", "avx512", "neon", "sve256", "template", "simd"}  # may include each other
# Declared through a list: kernels in src/kernels, model families in src/model/arch/families.h, output formats in
# src/chat_format/output/formats/formats.h.
LISTED = ("src/generic/", "src/avx2/", "src/avx512/", "src/neon/", "src/sve256/", "src/model/arch/",
          "src/chat_format/output/formats/")

# Implements the header of another source in builds without the dependency.
VARIANTS = {"src/linear/onednn_none.c": "src/linear/onednn_shim.h"}

findings = collections.defaultdict(list)


def report(kind, place, text):
    findings[kind].append(f"{place}: {text}")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def find(root, *suffixes):
    """Files below root, relative to it, outside build folders and hidden ones."""
    out = []
    for folder, dirs, files in os.walk(root):
        dirs[:] = [d for d in dirs if not d.startswith((".", "build"))]
        out += [os.path.relpath(os.path.join(folder, f), root) for f in files if f.endswith(suffixes)]
    return sorted(out)


def strip_comments(text):
    """The text without comments and string literals; line breaks stay."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)


# ---- include matrix

def matrix(root):
    """{module: modules it may include}, from the rows `| \\`src/x\\` | ... | \\`a\\`, \\`b\\` |` of the page."""
    allowed = {}
    inside = False
    for line in read(os.path.join(root, "docs/architecture.md")).splitlines():
        if line.startswith("## "):
            inside = line == "## Modules"
        cells = [c.strip() for c in line.strip("|").split("|")]
        if not inside or len(cells) != 3 or not cells[0].startswith("`src/"):
            continue
        own = re.findall(r"`src/([a-z0-9_/]+)`", cells[0])
        may = set(re.findall(r"`([a-z0-9_/]+)`", cells[2]))
        for module in own:
            allowed[module] = may | set(own)
    return allowed


def module_of(path, modules):
    """The longest module that contains `path` (relative to src)."""
    best = None
    for m in modules:
        if path.startswith(m + "/") and (best is None or len(m) > len(best)):
            best = m
    return best


def check_includes(root, sources):
    allowed = matrix(root)
    if not allowed:
        report("matrix", "docs/architecture.md", "no table of modules under '## Modules'")
        return
    used = collections.defaultdict(set)
    graph = collections.defaultdict(set)
    for path in sources:
        inner = path[len("src/"):]
        own = module_of(inner, allowed)
        if own is None:
            report("matrix", path, "belongs to no module of docs/architecture.md")
            continue
        for n, line in enumerate(read(os.path.join(root, path)).splitlines(), 1):
            m = re.match(r'#include "([^"]+)"', line)
            if not m:
                continue
            target = m.group(1)
            if not os.path.exists(os.path.join(root, "src", target)):
                report("matrix", f"{path}:{n}", f"includes {target}, which is not relative to src/")
                continue
            graph[inner].add(target)
            to = module_of(target, allowed)
            if to != own:
                used[own].add(to)
                if to not in allowed[own]:
                    report("upward include", f"{path}:{n}", f"{own} may not include {to}/ ({target})")
    check_cycles(graph, "include cycle")
    check_cycles({m: {o for o in may if o != m and not KERNELS.issuperset((m, o))}
                  for m, may in allowed.items()}, "module cycle")
    for m, may in allowed.items():
        for other in sorted(may):
            if other not in allowed:
                report("matrix", "docs/architecture.md", f"{m} depends on {other}, which has no row")


# Parts of quire-chat that are compiled into quire-server too.
SHARED_PARTS = {"bundled.h", "file_faults.h", "numbers.h", "option_table.h"}


def check_server_includes(root, files):
    """serve/ includes its own headers by file name, shared parts, and <...>: the public API and libraries."""
    own = collections.Counter(os.path.basename(p) for p in files if p.endswith(".h"))
    for name, n in own.items():
        if n > 1 or name in SHARED_PARTS:
            report("server include", name, "is no unique name of a header")
    for path in files:
        for n, line in enumerate(read(os.path.join(root, path)).splitlines(), 1):
            m = re.match(r'#include "([^"]+)"', line)
            if m and m.group(1).endswith(".h") and m.group(1) not in own and m.group(1) not in SHARED_PARTS:
                report("server include", f"{path}:{n}", f"{m.group(1)} is neither in serve/ nor shared")


def check_cycles(graph, kind):
    """Reports strongly connected groups of a graph (Tarjan)."""
    index, low, stack, on = {}, {}, [], set()

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        on.add(v)
        for w in graph.get(v, ()):
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in on:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            group = []
            while True:
                w = stack.pop()
                on.discard(w)
                group.append(w)
                if w == v:
                    break
            if len(group) > 1 or v in graph.get(v, ()):
                report(kind, group[0], "depends on itself through " + ", ".join(sorted(group)))

    sys.setrecursionlimit(10000)
    for v in list(graph):
        if v not in index:
            visit(v)


# ---- symbols

def symbols(objects):
    """External functions and objects that each of the object files defines, as a list per file."""
    if not objects:
        return {}
    out = subprocess.run(["nm", "-A", "-g", "--defined-only", *objects], check=True, capture_output=True,
        text=True).stdout
    names = {obj: [] for obj in objects}
    for line in out.splitlines():
        obj, _, symbol = line.rpartition(":")
        fields = symbol.split()
        if len(fields) == 3 and fields[1] in "TDBRCWV":
            names[obj].append(fields[2])
    return names


def declares(name, code):
    """Whether comment-free code declares the function or extern object."""
    return re.search(r"\b" + re.escape(name) + r"\s*(\(|\[|;)", code) is not None


def check_symbols(root, build, sources):
    headers = {p: strip_comments(read(os.path.join(root, p))) for p in sources if p.endswith(".h")}
    public = "\n".join(strip_comments(read(os.path.join(root, "include/quire", p))) for p in
                        find(os.path.join(root, "include/quire"), ".h"))
    internal_stems, public_stems = {}, set(re.findall(r"\bquire_(\w+)\s*\(", public))
    objects = {p: os.path.join(build, "CMakeFiles/quire_objects.dir", p + ".o") for p in sources if p.endswith(".c")}
    objects = {p: obj for p, obj in objects.items() if os.path.exists(obj)}
    defined = symbols(list(objects.values()))
    for path, obj in objects.items():
        own = VARIANTS.get(path, path[:-2] + ".h")
        for name in defined[obj]:
            if re.match(r"(__|_Z|asan|\.)", name):
                continue
            if name.startswith("quire_"):
                if not declares(name, public):
                    report("prefix", path, f"{name} is not declared in include/quire")
                continue
            if not name.startswith("qr_"):
                report("prefix", path, f"{name} has neither prefix")
                continue
            internal_stems[name[len("qr_"):]] = path
            if path.startswith(LISTED):
                continue
            if own in headers and declares(name, headers[own]):
                continue
            where = [h for h in headers if declares(name, headers[h])]
            report("header", path, f"{name} is declared in {', '.join(where) or 'no header'}, not in {own}")
    for stem in sorted(public_stems & set(internal_stems)):
        report("prefix", internal_stems[stem], f"qr_{stem} and quire_{stem} both exist")
    check_headers_without_source(root, headers)


def check_headers_without_source(root, headers):
    """A header without a source of its own must not declare functions (inline ones are definitions)."""
    for path, code in headers.items():
        if path.startswith(LISTED) or path.startswith(("src/kernels/", "src/template/", "src/simd/")):
            continue
        if os.path.exists(os.path.join(root, path[:-2] + ".c")):
            continue
        code = re.sub(r"\\\n", " ", code)
        code = re.sub(r"(?m)^\s*#.*$", "", code)
        code = re.sub(r"\{[^{}]*\}", "", re.sub(r"\{[^{}]*\}", "", re.sub(r"\{[^{}]*\}", "", code)))
        for m in re.finditer(r"(?m)^(?!\s*(?:static|typedef|struct \w+;|enum|#))[\w\s\*]*?\b(qr_\w+)\s*\([^;{]*\)[^;{]*;", code):
            report("header", path, f"declares {m.group(1)} but has no {os.path.basename(path)[:-2]}.c")


# ---- text

def check_text(root, files):
    for path in files:
        text = read(os.path.join(root, path))
        lines = text.split("\n")
        if len(lines) - 1 > MAX_FILE_LINES:
            report("file length", path, f"{len(lines) - 1} lines")
        for n, line in enumerate(lines, 1):
            if len(line) > MAX_COLUMNS:
                report("width", f"{path}:{n}", f"{len(line)} columns")


def check_named_tests(root, pages):
    """`test_x` on a page is a unit test, `test_x`: `a`, `b` are functions of it."""
    named = re.compile(r"`(test_\w+)`(?:: ((?:`\w+`(?:, )?)+))?")
    for page in pages:
        for name, functions in named.findall(read(os.path.join(root, page))):
            path = os.path.join(root, "tests/unit", name + ".c")
            if not os.path.exists(path):
                report("test name", page, f"there is no tests/unit/{name}.c")
                continue
            text = read(path)
            for function in re.findall(r"\w+", functions):
                if not re.search(rf"\b{function}\(void \*\*", text):
                    report("test name", page, f"{name} has no {function}")


OBJECTS = ("engine|model|context|kv_cache|plan|dense|mla_weights|sampler|tokenizer|detokenizer|"
           "chat_template|chat_prompt|threads|host_team|state_pool")


def check_handles(root):
    """Functions that take an object first are called with foreign handles by test_handles.c. Parts follow a check."""
    tested = read(os.path.join(root, "tests/unit/test_handles.c"))
    for path in find(root, ".h"):
        if not path.startswith("include/quire/"):
            continue
        text = strip_comments(read(os.path.join(root, path)))
        for name in re.findall(r"\b(quire_\w+)\(\s*(?:const )?struct quire_(?:%s) \*(?!\*)" % OBJECTS, text):
            if not name.endswith("_part") and not re.search(rf"\b{name}\(", tested):
                report("handle", path, f"{name} is not in tests/unit/test_handles.c")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    parser.add_argument("--build")
    parser.add_argument("--count", action="store_true")
    args = parser.parse_args()
    root = os.path.abspath(args.root)
    everything = find(root, ".c", ".h")
    sources = [p for p in everything if p.startswith("src/")]
    check_includes(root, sources)
    if args.build:
        check_symbols(root, args.build, sources)
    check_server_includes(root, [p for p in everything if p.startswith("serve/")])
    check_text(root, [p for p in everything if not p.startswith(("models/", "tests/abi/"))])
    check_handles(root)
    check_named_tests(root, ["docs/testing.md", "docs/threat-model.md"])
    if args.count:
        for kind in sorted(findings):
            print(f"{kind}: {len(findings[kind])}")
        return 0
    for kind in sorted(findings):
        for text in findings[kind]:
            print(f"{kind}: {text}")
    total = sum(len(v) for v in findings.values())
    print(f"structure: {len(sources)} sources, {total} findings")
    return 1 if total else 0


sys.exit(main())
