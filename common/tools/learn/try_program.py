#!/usr/bin/env python3
"""For `./learn try`: leaves a CMakeLists.txt for a program of one's own in build/BACKEND/try. Prints its target, and how
many of the words were used: the rest is the program's.

usage: common/tools/learn/try_program.py BACKEND FOLDER [OPTION…] FILE… [--] [ARGUMENT…]

The paths are relative to FOLDER. Of nvcc's options -I, -D, -U and -Xcompiler -fopenmp are taken; those that mean nothing
here are named in a note. --set N=64 gives another value to the program's own N, on the CPU backend. The build's folder is named after the files and the options, so that what was built is found again the next time.
"""
import hashlib
import re
import sys
from pathlib import Path

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
from project import ROOT, arguments, did_you_mean, die, say

ENDINGS = (".cu", ".cpp", ".cc", ".cxx")

# nvcc's options (CUDA Compiler Driver NVCC, "Command Option Description"). Long names are these with two dashes.
TAKEN = {"-I": "-I", "--include-path": "-I", "-isystem": "-I", "--system-include": "-I",
         "-D": "-D", "--define-macro": "-D", "-U": "-U", "--undefine-macro": "-U", "--set": "--set"}
WITH_A_WORD = (  # besides, ignored
    "-o --output-file -x --x -l --library -L --library-path -O --optimize -std --std -arch --gpu-architecture -code --gpu-code "
    "-gencode --generate-code -ccbin --compiler-bindir -Xcompiler --compiler-options -Xptxas --ptxas-options -Xlinker "
    "--linker-options -Xcudafe -Xnvlink -maxrregcount --maxrregcount -t --threads -rdc --relocatable-device-code -m "
    "--machine -cudart --cudart -diag-suppress --diag-suppress -ftz --ftz -prec-div --prec-div -prec-sqrt --prec-sqrt "
    "-fmad --fmad -split-compile --split-compile").split()
ALONE = (
    "-use_fast_math --use_fast_math -lineinfo --generate-line-info -g --debug -G --device-debug -w --disable-warnings -v "
    "--verbose -dc --device-c -dlink --device-link -m64 --expt-relaxed-constexpr -expt-relaxed-constexpr --extended-lambda "
    "-extended-lambda --expt-extended-lambda -expt-extended-lambda --resource-usage -res-usage --restrict -restrict "
    "-Wall -Wextra --source-in-ptx -src-in-ptx -keep --keep -pg --profile -allow-unsupported-compiler -lto -dlto "
    "-extra-device-vectorization --default-stream=legacy -default-stream=legacy").split()
JOINED = re.compile(r"-[lLOm].+|-W[\w=-]+|-f[\w=-]+|-std=.+")  # -lcublas, -O3; of the host's compiler


class Words:
    """The words of a command line: options, files, and how many they are."""

    def __init__(self, folder, words):
        self.folder, self.words, self.used = folder, words, 0
        self.files, self.include, self.options, self.set, self.ignored = [], [], [], [], []
        while self.used < len(words):
            word = words[self.used]
            if word == "--":
                self.used += 1
                break
            if word.startswith("-") and not self.files:
                self.take_option()
            elif Path(word).suffix in ENDINGS:
                self.files.append(self.source(word))
                self.used += 1
            else:
                break
        if not self.files:
            rest = words[self.used:]
            die(f"{rest[0]} is no source file: its name must end in {', '.join(ENDINGS)}" if rest else
                "behind the options a source file is wanted: ./learn try -I include -D N=64 main.cu")

    def take_option(self):
        word = self.words[self.used]
        self.used += 1
        name, equals, value = word.partition("=")
        if word[:2] in ("-I", "-D", "-U") and len(word) > 2:
            name, value = word[:2], word[2:]
        elif name in (*TAKEN, *WITH_A_WORD) and not equals:
            if self.used == len(self.words):
                die(f"{word} wants a word behind it")
            value = self.words[self.used]
            self.used += 1
            word = f"{word} {value}"
        if name in TAKEN:
            self.take(TAKEN[name], value)
        elif "-fopenmp" in (word, value):
            self.options.append("-fopenmp")
        elif name in WITH_A_WORD or word in ALONE or JOINED.fullmatch(word):
            self.ignored.append(word)
        else:
            known = [*TAKEN, *WITH_A_WORD, *ALONE]
            die(f"{word} is no option that ./learn try knows: {did_you_mean(word, known)}it takes nvcc's -I, -D and -U, and --set; "
                "behind the file stand the program's own arguments")

    def take(self, option, value):
        if re.search(r"[;\\$]", value):
            die(f"{option} {value}: a word with one of ; \\ $ in it cannot be built")
        if option == "-I":
            folder = (self.folder / value).resolve()
            if not folder.is_dir():
                die(f"-I {value}: there is no such folder")
            self.include.append(folder)
        elif option == "--set":
            if not re.fullmatch(r"[A-Za-z_]\w*=[\w.+*/(){},-]+", value):
                die(f"--set {value}: it has to be a name and a value, as in --set N=64")
            self.set.append(value)
        else:
            self.options.append(option + value)

    def source(self, word):
        path = self.folder / word
        if not path.is_file():
            die(f"there is no file {word}")
        if re.search(r"[;\"\\$]", str(path.resolve())):
            die(f'{path.resolve()}: a path with one of ; " \\ $ in it cannot be built; move the file')
        return path.resolve()


def target_of(words):
    stem = re.sub(r"\W", "_", words.files[0].stem)
    more = [words.include, words.options, words.set]
    what = [words.files, *more] if any(more) else words.files
    return f"try_{stem}_{hashlib.sha256(repr(what).encode()).hexdigest()[:8]}"


def cmake_file(target, words):
    listed = "\n  ".join(f'"{path}"' for path in words.files)
    more = "".join(f'\n  {name} {" ".join(f"[==[{value}]==]" for value in values)}'
                   for name, values in (("INCLUDE", words.include), ("OPTIONS", words.options), ("SET", words.set)) if values)
    return f"""\
# Made by ./learn try.
set(sources
  {listed})
foreach(source IN LISTS sources)
  if(NOT EXISTS "${{source}}")
    return()  # it was removed
  endif()
endforeach()
tutorial_program({target} ${{sources}}{more})
set_target_properties({target} PROPERTIES OUTPUT_NAME program)
"""


def main():
    if len(sys.argv) < 4 or sys.argv[1].startswith("-"):
        arguments(__doc__).parse_args()
        die("it wants a backend, a folder and a file")
    backend, folder = sys.argv[1], Path(sys.argv[2])
    words = Words(folder, sys.argv[3:])
    for value in words.set:
        name = value.split("=")[0]
        if backend != "cpu":
            die(f"--set {value} is of the CPU backend: nvcc compiles the file as it is")
        own = re.compile(rf"#\s*define\s+{name}\s|\b{name}\s*[={{]")
        if not any(own.search(file.read_text(errors="replace")) for file in words.files):
            say(f"note: --set {value}: none of the files gives {name} a value; a header may")
    if words.ignored:
        say(f"note: {', '.join(words.ignored)}: not used here" + (
            "; it is C++20, with the libraries that docs/try.md names" if backend == "cpu" else
            "; CMake chooses the architecture and the libraries"))
    target = target_of(words)
    file = ROOT / "build" / backend / "try" / target / "CMakeLists.txt"
    text = cmake_file(target, words)
    if not file.exists() or file.read_text() != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    print(target, words.used)


if __name__ == "__main__":
    main()
