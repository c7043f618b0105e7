#!/usr/bin/env python3
"""Layout and types of the public headers, for the comparison of two versions.

usage: layout.py layout DIR       prints a C program that prints the layout of DIR/quire/*.h
       layout.py types DIR        prints a C program that points at every function and every member of
                                  DIR/quire/*.h; it compiles with other headers whose types agree
       layout.py functions DIR    prints the names of the functions that DIR/quire/*.h declare
       layout.py compare OLD NEW  compares two outputs of the first program; exit status 1 when a
                                  program compiled with OLD cannot run with a library of NEW
       layout.py grown OLD NEW    prints the names of the sized structs that are larger in NEW
Environment: CC, the compiler whose preprocessor reads the headers (default: cc).

Lines of the layout:
    struct NAME SIZE sized|fixed      sized: the first member is struct_size
    member STRUCT NAME OFFSET SIZE
    enum NAME SIZE                    "-" without a tag; size 0 then
    value NAME NUMBER                 enumerators and object-like macros with a number
"""
import glob
import os
import re
import shlex
import subprocess
import sys

# Macros that are not numbers, or that differ from version to version by design.
NOT_VALUES = re.compile(r"QUIRE_(API|MUST_CHECK|ERROR_INIT|VERSION_\w+|\w+_H)$")


def headers(folder):
    found = sorted(glob.glob(os.path.join(folder, "quire", "*.h")))
    if not found:
        sys.exit(f"layout.py: no headers in {folder}/quire")
    return found


def preprocessed(folder):
    """The declarations of the headers in `folder`, without those of the C library and attributes."""
    source = "".join(f'#include "quire/{os.path.basename(h)}"\n' for h in headers(folder))
    text = subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-std=c11", "-E", "-I", folder, "-"], input=source,
                          check=True, capture_output=True, text=True).stdout
    lines = []
    ours = False
    for line in text.splitlines():
        mark = re.match(r'# \d+ "(.*?)"', line)
        if mark:
            ours = "/quire/" in mark.group(1) and mark.group(1).startswith(folder)
        elif ours:
            lines.append(line)
    text = re.sub(r"\s+", " ", " ".join(lines))
    text = re.sub(r"__attribute__ ?\(\((?:[^()]|\([^()]*\))*\)\)", "", text)
    text = text.replace("_Bool", "bool")
    return text


def split_top(text, separator):
    """Splits where no bracket is open."""
    parts = [""]
    depth = 0
    for c in text:
        depth += c in "([{"
        depth -= c in ")]}"
        if c == separator and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts if p.strip()]


def members_of(body):
    """[(name, declaration of a pointer p to the member)]"""
    members = []
    for declaration in split_top(body, ";"):
        if "{" in declaration or re.search(r":\s*\d+$", declaration):
            sys.exit(f"layout.py: nested types and bit fields are not supported: {declaration}")
        base = ""
        for declarator in split_top(declaration, ","):
            name = re.search(r"\(\s*\*\s*(\w+)\s*\)", declarator) or re.search(r"(\w+)\s*(\[[^\]]*\]\s*)*$", declarator)
            before, after = declarator[:name.start(1)], declarator[name.end(1):]
            members.append((name.group(1), f"{base} {before}(*p){after}".strip()))
            base = base or before.rstrip(" *(")
    return members


def statements(folder):
    return [s for s in split_top(re.sub(r'extern "C" \{', "", preprocessed(folder)), ";")]


def structs(folder):
    for s in statements(folder):
        match = re.match(r"(?:typedef )?struct (\w+) ?\{(.*)\}", s)
        if match:
            yield match.group(1), members_of(match.group(2))


def enums(folder):
    for s in statements(folder):
        match = re.match(r"(?:typedef )?enum ?(\w*) ?\{(.*)\}", s)
        if match:
            yield match.group(1), [e.split("=")[0].strip() for e in split_top(match.group(2), ",")]


def macros(folder):
    for header in headers(folder):
        with open(header, encoding="utf-8") as f:
            for line in f:
                match = re.match(r"#define (QUIRE_\w+)[ \t]+\S", line)
                if match and not NOT_VALUES.match(match.group(1)):
                    yield match.group(1)


def functions(folder):
    for s in statements(folder):
        match = re.match(r"([^{}=]*?)\b(quire_\w+) ?\((.*)\)$", s)
        if match and not s.startswith("typedef"):
            yield match.groups()


def includes(folder):
    return "".join(f"#include <quire/{os.path.basename(h)}>\n" for h in headers(folder))


def print_layout(folder):
    print(includes(folder) + "#include <stddef.h>\n#include <stdio.h>\nint main(void)\n{")
    for name, members in structs(folder):
        kind = "sized" if members[0][0] == "struct_size" else "fixed"
        print(f'printf("struct {name} %zu {kind}\\n", sizeof(struct {name}));')
        for m, _ in members:
            print(f'printf("member {name} {m} %zu %zu\\n", offsetof(struct {name}, {m}), '
                  f"sizeof(((struct {name} *)0)->{m}));")
    for name, values in enums(folder):
        if name:
            print(f'printf("enum {name} %zu\\n", sizeof(enum {name}));')
        for value in values:
            print(f'printf("value {value} %lld\\n", (long long){value});')
    for name in macros(folder):
        print(f'printf("value {name} %lld\\n", (long long){name});')
    print("return 0;\n}")


def print_types(folder):
    print(includes(folder) + "int main(void)\n{")
    for result, name, parameters in functions(folder):
        print(f"{{ {result.strip()} (*p)({parameters}) = {name}; (void)p; }}")
    for name, members in structs(folder):
        for member, pointer in members:
            print(f"{{ static struct {name} s; {pointer} = &s.{member}; (void)p; }}")
    print("return 0;\n}")


def read_layout(path):
    sizes, members, values = {}, {}, {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            kind, *rest = line.split()
            if kind == "struct":
                sizes[rest[0]] = (int(rest[1]), rest[2])
                members[rest[0]] = {}
            elif kind == "member":
                members[rest[0]][rest[1]] = (int(rest[2]), int(rest[3]))
            else:
                values[kind, rest[0]] = int(rest[1])
    return sizes, members, values


def compare(old_path, new_path):
    old_sizes, old_members, old_values = read_layout(old_path)
    new_sizes, new_members, new_values = read_layout(new_path)
    wrong = []
    if not old_sizes or not old_values:
        wrong.append(f"{old_path} is empty")
    for name, (size, kind) in old_sizes.items():
        if name not in new_sizes:
            wrong.append(f"struct {name} is gone")
            continue
        new_size, new_kind = new_sizes[name]
        if kind != new_kind:
            wrong.append(f"struct {name} was {kind} and is {new_kind}")
        if new_size < size or (kind == "fixed" and new_size != size):
            wrong.append(f"struct {name} had {size} bytes and has {new_size}")
        for member, place in old_members[name].items():
            if new_members[name].get(member) != place:
                wrong.append(f"{name}.{member} (offset, size) was {place} and is {new_members[name].get(member)}")
        for member in new_members[name].keys() - old_members[name].keys():
            # padding of the old struct is not initialized by its users
            if kind == "fixed" or new_members[name][member][0] < size:
                wrong.append(f"{name}.{member} is new and within the {size} bytes of the old struct")
        # an older library rejects nonzero bytes beyond its own struct, and the value of padding is unspecified
        known = sum(n for offset, n in new_members[name].values() if offset >= size)
        if known != new_size - size and new_size > size:
            wrong.append(f"struct {name}: padding after byte {size}; add reserved members")
    for (kind, name), value in old_values.items():
        new = new_values.get((kind, name))
        # QUIRE_N_x is the number of enumerators of an append-only enum
        if new != value and not (name.startswith("QUIRE_N_") and new is not None and new > value):
            wrong.append(f"{kind} {name} was {value} and is {new}")
    for text in wrong:
        print(text)
    return 1 if wrong else 0


def print_grown(old_path, new_path):
    old, new = read_layout(old_path)[0], read_layout(new_path)[0]
    for name, (size, kind) in old.items():
        if kind == "sized" and new.get(name, (0, ""))[0] > size:
            print(name)


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "layout":
        print_layout(sys.argv[2])
    elif len(sys.argv) == 3 and sys.argv[1] == "types":
        print_types(sys.argv[2])
    elif len(sys.argv) == 3 and sys.argv[1] == "functions":
        print("\n".join(sorted(name for _, name, _ in functions(sys.argv[2]))))
    elif len(sys.argv) == 4 and sys.argv[1] == "grown":
        print_grown(sys.argv[2], sys.argv[3])
    elif len(sys.argv) == 4 and sys.argv[1] == "compare":
        return compare(sys.argv[2], sys.argv[3])
    else:
        print(__doc__, file=sys.stderr)
        return 64
    return 0


sys.exit(main())
