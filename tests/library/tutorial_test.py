#!/usr/bin/python3
"""Compiles and runs the C++ of docs/cpp.md, and compares what each block prints with the block of text below it.

Usage: tutorial_test.py COMPILER LIBCLOCHE.SO REPOSITORY

All blocks become one program. One with a `main` is put into a namespace of its own. The others are joined, in their order,
to a function for each section; their includes come first. The program runs the section that it is told to.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```cpp\n(.*?)^```\n(?:```text\n(.*?)^```$)?", re.M | re.S)
INCLUDE = re.compile(r"^#include .*\n", re.M)
END = "\x1e"  # of what a block prints


def skip(why):
    log = os.environ.get("CLOCHE_MISSING_LOG")
    if log:
        with open(log, "a", encoding="utf-8") as notes:
            notes.write(f"crun\tlibrary_tutorial\t{why}\n")
    print(why)
    sys.exit(77)


def sections_of(text):
    """Pairs of a title and its blocks, which are pairs of code and what it prints."""
    found = []
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        blocks = [(each[1], each[2] or "") for each in BLOCK.finditer(section)]
        if blocks:
            found.append((section.splitlines()[0], blocks))
    return found


def program_of(sections):
    includes, parts, calls = set(), [], []
    for number, (_, blocks) in enumerate(sections):
        body = []
        for place, (code, _) in enumerate(blocks):
            includes.update(INCLUDE.findall(code))
            code = INCLUDE.sub("", code)
            if "int main()" in code:
                parts.append(f"namespace block_{number}_{place} {{\n{code}}}\n")
                code = f"if (block_{number}_{place}::main() != 0) std::exit(1);\n"
            body.append(f"{code}std::cout << '\\x1e' << std::flush;\n")
        parts.append(f"void section_{number}() {{\n{''.join(body)}}}\n")
        calls.append(f"section_{number}")
    table = f"void (*const sections[])() = {{{', '.join(calls)}}};\n"
    main = "int main(int, char** argv) { sections[std::stoi(argv[1])](); }\n"
    return "".join(sorted(includes)) + "#include <cstdlib>\n#include <string>\n\n" + "\n".join(parts) + table + main


def compile_program(source, program, compiler, library, repository):
    where = library.parent
    ran = subprocess.run([compiler, "-std=c++20", "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Werror",
                          f"-I{repository / 'include'}", str(source), "-o", str(program), f"-L{where}", "-lcloche",
                          f"-Wl,-rpath,{where}"], capture_output=True, text=True, timeout=240, check=False)
    if ran.returncode != 0:
        sys.exit(f"docs/cpp.md does not compile:\n{ran.stderr}")


def check(number, title, blocks, program, repository):
    ran = subprocess.run([str(repository / "tests/library/alone.sh"), str(program), str(number)],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    printed = ran.stdout.split(END)
    wanted = [text for _, text in blocks] + [""]
    if ran.returncode == 0 and printed == wanted:
        return True
    print(f"section {title!r} shows:\n{wanted}\nit prints, with exit code {ran.returncode}:\n{printed}\n{ran.stderr}")
    return False


def main():
    compiler, library, repository = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    if os.geteuid() != 0:
        skip("sandboxes are made as root")
    if not shutil.which("crun"):
        skip("crun is not installed")
    text = (repository / "docs/cpp.md").read_text(encoding="utf-8")
    sections = sections_of(text)
    assert sum(len(blocks) for _, blocks in sections) == text.count("```cpp"), "a block stands outside of a section"
    with tempfile.TemporaryDirectory(prefix="cloche-tutorial-") as folder:
        source, program = pathlib.Path(folder, "tutorial.cpp"), pathlib.Path(folder, "tutorial")
        source.write_text(program_of(sections), encoding="utf-8")
        compile_program(source, program, compiler, library, repository)
        results = [check(number, title, blocks, program, repository)
                   for number, (title, blocks) in enumerate(sections)]
    print(f"{sum(results)} of {len(results)} sections print what docs/cpp.md shows")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
