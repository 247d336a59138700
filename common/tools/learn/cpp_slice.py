"""What some C++ files of this project need of all others: for ./learn take, which puts it into one file.

An item (cpp_items.py) needs those whose names stand in it. A function that a header declares is defined in a source
beside the header. Names are looked up in what a file includes, in the namespaces around, not by their types: so of
functions with one name all are taken.
"""
import re
from collections import defaultdict
from functools import lru_cache

import cpp_items
import project

HEADERS_OF_A_GPU = project.ROOT / "common/backend/include"  # <ptx.h>: inline PTX
INSTEAD = {"common/data/device_buffer.hpp": "common/take/device_buffer.hpp"}
SOURCES = (".cu", ".cpp")
# What a word has for numbers of 16 bits alone: left out where a step has none.
FOR_HALVES = re.compile(r"^ +if constexpr \(sizeof\(T\) == 2\)[^\n]*\n[^\n]*;\n +else\n  ", re.M)
# What a function has for one step alone: left out of the files of all others.
FOR_A_STEP = re.compile(r"^ +if \(step == &(\w+)\) [^\n]*;\n", re.M)
HALVES = re.compile(r"bf16|bfloat16|__half")


@lru_cache(maxsize=None)
def file_of(include, path):
    """The project's file that a line `#include …` of another one means; None for a header from elsewhere."""
    name = INSTEAD.get(include.strip('"'), include.strip('<">'))
    if include[0] == "<":
        places = [HEADERS_OF_A_GPU]
    else:
        places = [path.parent, *(folder for folder in path.parents if folder in project.chapters()), project.ROOT,
                  *project.chapters()]
    return next((place / name for place in places if (place / name).is_file()), None)


@lru_cache(maxsize=None)
def sources_in(folder):
    return sorted(path for path in folder.iterdir()
                  if path.suffix in SOURCES and path.name not in project.NOT_IN_LIBRARY)


@lru_cache(maxsize=None)
def read(path, has_halves, functions):
    text = FOR_A_STEP.sub(lambda match: match[0] if match[1] in functions else "", path.read_text())
    return cpp_items.read(path, text if has_halves else FOR_HALVES.sub("", text))


@lru_cache(maxsize=None)
def references(item):
    return cpp_items.references(item)


class Slice:
    def __init__(self, roots):
        """Roots are files, of which all is kept."""
        self.roots = {file.path: file for file in roots}
        self.has_halves = any(HALVES.search(file.body) for file in roots)
        self.functions = frozenset(name for file in roots for item in file.items if item.kind == "function"
                                   for name in item.names)
        self.kept = {}  # items, and which of their names are wanted
        self.files = list(self.roots)
        self.seen_from = {}
        for file in roots:
            for item in file.items:
                self.keep(item, item.names)
        self.settle()

    def file(self, path):
        return self.roots.get(path) or read(path, self.has_halves, self.functions)

    # ---- what belongs to it

    def visible(self, path):
        """What a file may use, by name: all of the files that it includes, and so on."""
        if path not in self.seen_from:
            found, todo, names = set(), [path], defaultdict(list)
            while todo:
                each = todo.pop()
                if each not in found:
                    found.add(each)
                    todo += filter(None, (file_of(include, each) for include in self.file(each).includes))
                    for item in self.file(each).items:
                        for name in set(item.names) if not item.of else ():
                            names[name].append(item)
            self.seen_from[path] = names
        return self.seen_from[path]

    def keep(self, item, names=()):
        known = item in self.kept
        self.kept.setdefault(item, set()).update(names)
        if item.file.path not in self.files:
            self.files.append(item.file.path)
        if not item.is_definition:
            for name in names:
                self.find_definition(item, name)
        if known:
            return
        if item.kind == "class":
            self.find_members(item)
        for reference in references(item):
            for each in self.resolve(reference, item):
                self.keep(each, {reference.name} & set(each.names))

    def resolve(self, reference, item):
        name, within = reference.name, tuple(word for word in reference.within if word != "tutorial")
        visible = self.visible(item.file.path)
        if name.endswith("…"):
            return [each for known in visible if known.startswith(name[:-1]) for each in visible[known]]
        found = [each for each in visible.get(name, ()) if each is not item]
        if not found or within[:1] == ("std",):
            return []
        if all(each.kind == "function" for each in found) and reference.is_variable:
            return []  # that has the name of a function elsewhere
        if any(each.kind in ("macro", "expansion") for each in found):
            return found
        if within:
            return [each for each in found if each.scope[len(each.scope) - len(within):] == within]
        used = [each.used for each in item.file.items if each.kind == "using namespace"]
        around = [each for each in found if (each.scope == item.scope[:len(each.scope)] or each.scope in used)
                  and (not each.is_private() or each.file is item.file)]
        nearest = max((len(each.scope) for each in around), default=0)
        if around:
            return [each for each in around if len(each.scope) == nearest]
        return found if reference.is_call else []  # by the namespace of an argument

    def beside(self, item):
        """What stands in the sources beside an item's file."""
        return [each for path in sources_in(item.file.path.parent) for each in self.file(path).items]

    def find_definition(self, item, name):
        if item.kind == "function" and not item.is_template():
            for each in self.beside(item):
                if each.kind == "function" and name in each.names and each.scope == item.scope and not each.of \
                        and not each.is_private() and each.is_definition:
                    self.keep(each, {name})

    def find_members(self, item):
        for each in self.beside(item):
            if each.of in item.names and each.scope == item.scope:
                self.keep(each, each.names)

    def settle(self):
        """Brings what follows from the rest: static_assert and operators of what is kept, using namespace, and what a
        kept template becomes for a type of a header that is there."""
        for item in [item for path in self.files for item in self.file(path).items]:
            if item.is_specialisation() and any(each.scope == item.scope and {*each.names} & {*item.names} for each in self.kept):
                self.keep(item, item.names)
            if item in self.kept or item.kind not in ("static_assert", "operator", "using namespace"):
                continue
            needed = [each for reference in references(item) for each in self.resolve(reference, item)]
            is_there = any(set(item.used) <= set(each.scope) for each in self.kept)  # anything of the namespace
            if is_there if item.kind == "using namespace" else needed and all(each in self.kept for each in needed):
                self.keep(item, item.names)

    # ---- how it is written

    def ordered(self):
        """The files, each behind those that it includes; the roots last."""
        found = []

        def add(path):
            for include in self.file(path).includes:
                if (header := file_of(include, path)) and header not in found:
                    add(header)
            if path not in found:
                found.append(path)

        sources = [path for path in self.files if path.suffix in SOURCES and path not in self.roots]
        for path in [*sorted(sources, key=in_order), *self.roots]:
            add(path)
        return [path for path in found if path in self.files]

    def other_names(self, path):
        """The names that a source has for itself and others have as well, and what they become."""
        if path in self.roots:
            return {}
        here, others = set(), set()
        for item in self.kept:
            if item.file.path != path:
                others |= {*item.names, *item.shared} if item.kind != "macro" else set()
            elif not item.is_borrowed():
                here |= {*item.names, *item.shared} if item.is_private() else item.shared
        stem = re.sub(r"^(step|stage)\d+_", "", path.stem)
        return {name: f"{stem}_{name}" for name in here & others}

    def pieces(self, path):
        """What is kept of a file: items and their texts."""
        other_names = self.other_names(path)
        for item in self.file(path).items:
            if item in self.kept:
                own = constants_of(item) if item.kind == "class" else ()
                names = {name: other for name, other in other_names.items() if name not in own}
                yield item, with_names(item.text_for(self.kept[item]), names)

    def includes(self):
        """The headers from elsewhere."""
        return {include for path in self.files for include in self.file(path).includes
                if include[0] == "<" and not file_of(include, path)}


def in_order(path):
    """common's before the chapters', and step10 behind step9."""
    return not path.is_relative_to(project.ROOT / "common"), \
        [int(word) if word.isdigit() else word for word in re.split(r"(\d+)", str(path))]


def constants_of(item):
    """The names of a class's own constants, which stay what they are: others say T::TM."""
    return re.findall(r"(\w+) = ", "".join(re.findall(r"static constexpr [^;]*;", item.text)))


def with_names(text, names):
    """A piece of code with other names."""
    pieces, at, before = [], 0, ""
    for token in cpp_items.tokens_of(text) if names else ():
        if token.kind == "name" and token.text in names and before not in (".", "->", "::"):
            pieces += [text[at:token.start], names[token.text]]
            at = token.end
        before = token.text
    return "".join(pieces) + text[at:]
