"""What stands in a C++ file of this project, item by item, and which names: for ./learn take.

It knows no more of C++ than our files need, which clang-format has been over: it looks for names, not for types.
"""
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

TOKEN = re.compile(r"""(?P<comment>//[^\n]*|/\*.*?\*/)
    |(?P<directive>^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*)
    |(?P<string>R"(?P<delimiter>[^(\n]*)\(.*?\)(?P=delimiter)"|(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+')
    |(?P<number>\.?\d(?:[eEpP][+-]|[\w.']|)*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<mark>::|->|[^\s\w])""", re.X | re.M | re.S)
OPEN, CLOSE = {"(", "[", "{"}, {")", "]", "}"}
CLASSES = {"struct", "class", "union", "enum"}
# Before a parenthesis they are no function's name.
ATTRIBUTES = {"__launch_bounds__", "__attribute__", "__align__", "__cluster_dims__", "alignas", "decltype", "noexcept",
              "explicit"}
# Before a name they do not make it a new one.
NO_TYPES = {"return", "else", "case", "throw", "new", "delete", "goto", "do", "sizeof", "typename", "template",
            "operator", "namespace", "using", "and", "or", "not"}
BEHIND_A_NEW_NAME = {",", ")", "=", ";", "[", "{", "(", ":"}


class Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


def tokens_of(text):
    """All but comments."""
    return [Token(match.lastgroup, match[0], match.start(), match.end()) for match in TOKEN.finditer(text)
            if match.lastgroup != "comment"]


@dataclass(eq=False)
class File:
    path: Path
    head: str  # the comment at the top
    includes: list = field(default_factory=list)  # <vector> or "x.hpp", as they come
    items: list = field(default_factory=list)
    body: str = ""  # all of it but head and #include


@dataclass(eq=False)
class Item:
    """A declaration or a definition, with the comment right above it."""
    file: File
    namespace: tuple  # ("tutorial", "softmax"); "" is one without a name
    text: str
    start: int  # of the text, in the file
    tokens: list
    kind: str  # function, variable, class, macro, using, …
    names: tuple  # that it declares
    of: str = ""  # the class that it defines a member of
    is_definition: bool = True
    prefix: str = ""  # of a list of functions, `Launcher one, two;`: what stands before the first name

    @cached_property
    def scope(self):
        """The namespace as others name it, below tutorial."""
        return tuple(name for name in self.namespace if name and name != "tutorial")

    @property
    def used(self):
        """Of `using namespace`: which one."""
        return tuple(token.text for token in self.tokens[2:] if token.kind == "name" and token.text != "tutorial")

    @cached_property
    def shared(self):
        """The names of arrays whose size a launch says: of one name all of a namespace are one."""
        return set(re.findall(r"\bextern __shared__ [^;]*?(\w+)\[\]", self.text))

    def is_private(self):
        return "" in self.namespace

    def is_borrowed(self):
        """Is it `using faster::WarpTile;`, for a name of another namespace?"""
        return self.kind == "using" and "=" not in self.text

    def is_template(self):
        return self.tokens[0].text == "template"

    def is_specialisation(self):
        return [token.text for token in self.tokens[:3]] == ["template", "<", ">"]

    def follows(self, other):
        """Does it stand right below that one, without a blank line?"""
        return self.namespace == other.namespace and self.start == other.start + len(other.text) + 1

    def text_for(self, names):
        """What is left of it where only these names are wanted."""
        return f"{self.prefix} {', '.join(name for name in self.names if name in names)};" if self.prefix else self.text


# ---- where an item ends, and what it declares


def closing(tokens, i):
    """The index of the bracket that closes the one at i."""
    depth = 0
    for at in range(i, len(tokens)):
        depth += (tokens[at].text in OPEN) - (tokens[at].text in CLOSE)
        if depth == 0:
            return at
    raise ValueError(f"a {tokens[i].text} stays open")


def angle(tokens, i):
    """The index of the > that closes the < at i."""
    depth = 0
    while i < len(tokens):
        if tokens[i].text in OPEN:
            i = closing(tokens, i)
        depth += (tokens[i].text == "<") - (tokens[i].text == ">")
        if depth == 0:
            return i
        i += 1
    raise ValueError("a < stays open")


def behind_template(tokens, i):
    """Where the declaration begins that may have template <…> before it."""
    while tokens[i].text == "template" and tokens[i + 1].text == "<":
        i = angle(tokens, i + 1) + 1
    return i


def end_of_item(tokens, i):
    """The index of the last token of the item that begins at i."""
    begin, is_function, in_initialisers = i, False, False
    is_class = tokens[behind_template(tokens, i)].text in CLASSES
    while i < len(tokens):
        text, before = tokens[i].text, tokens[i - 1].text if i > begin else ""
        if text == ";":
            return i
        if text == ":" and is_function and before == ")":
            in_initialisers = True
        if text == "{" and is_function and before != "=" and not (in_initialisers and re.fullmatch(r"\w+", before)):
            return closing(tokens, i)
        if text == "(":
            is_function = is_function or not is_class and before not in ATTRIBUTES
            at = closing(tokens, i)
            is_macro = i == begin + 1 and re.fullmatch("[A-Z][A-Z0-9_]+", before)  # that brings its own end
            if is_macro and (at + 1 == len(tokens) or tokens[at + 1].text not in ("{", ";", ":")):
                return at
            i = at
        elif text in OPEN:
            i = closing(tokens, i)
        elif text == "<" and not is_function and re.fullmatch(r"\w+", before) and before not in NO_TYPES:
            try:
                i = angle(tokens, i)
            except ValueError:
                pass  # it compares
        i += 1
    raise ValueError(f"no end of {tokens[begin].text} …")


def declared(tokens):
    """What an item is: its kind, its names, the class that it is a member of, and whether it defines."""
    words = tokens[behind_template(tokens, 0):]
    first, second = words[0].text, words[1].text
    if first == "static_assert":
        return "static_assert", (), "", True
    if first == "using" and second == "namespace":
        return "using namespace", (), "", True
    if first in ("using", "namespace"):  # an alias, or names of another namespace
        if first == "namespace" or any(token.text == "=" for token in words):
            return "using", (second,), "", True
        return "using", tuple(words[i - 1].text for i, token in enumerate(words) if token.text in (",", ";")), "", True
    if first in CLASSES:
        body = next((i for i, token in enumerate(words) if token.text == "{"), None)
        names = [name_of_class(words)]
        if first == "enum" and body and second != "class":
            names += [words[i].text for i in range(body + 1, len(words))
                      if words[i].kind == "name" and words[i - 1].text in ("{", ",")]
        return "class", tuple(names), "", body is not None
    return declared_by_name(words)


def name_of_class(words):
    i = 1
    while i < len(words):
        if words[i].text in ("alignas", "["):
            i = closing(words, i + (words[i].text == "alignas"))
        elif words[i].kind == "name" and words[i].text not in CLASSES:
            return words[i].text
        i += 1
    return ""


def declared_by_name(words):
    """The same of a function, or of variables."""
    names, i, may_begin = [], 0, True  # a declarator may
    while i < len(words):
        text, before = words[i].text, words[i - 1] if i else None
        is_behind_name = before is not None and before.kind == "name" and before.text not in ATTRIBUTES
        if text == "operator":
            at = next(at for at in range(i + 2, len(words)) if words[at].text == "(")
            name = "operator" + "".join(token.text for token in words[i + 1:at])
            return "operator", (name,), "", words[-1].text == "}"
        if text == "<" and may_begin and is_behind_name:
            i = angle(words, i)
            if words[i + 1].text == "(":  # a specialisation
                return "function", (before.text,), "", words[-1].text == "}"
        elif text == "(" and may_begin and is_behind_name:
            at = i - 2 - (words[i - 2].text == "~")
            owner = words[at - 1].text if at > 0 and words[at].text == "::" else ""
            return "function", (before.text,), owner, words[-1].text == "}"
        elif text in OPEN:
            if text != "(" and may_begin and is_behind_name:
                names.append(before.text)
                may_begin = False
            i = closing(words, i)
        elif text in ("=", ",", ";"):
            names += [before.text] * (may_begin and is_behind_name)
            may_begin = text == ","
        i += 1
    return "variable", tuple(names), "", True


def end_of_prefix(tokens, names):
    """Of `Launcher one, two;` or `Asks<Launcher> one, two;` how many tokens stand before the first name, if it is such
    a list; else 0."""
    tail = [word for name in names for word in (name, ",")][:-1] + [";"]
    count = len(tokens) - len(tail)
    is_list = tokens[0].text in ("Launcher", "Asks") and [token.text for token in tokens[max(count, 0):]] == tail
    return count if is_list and tokens[count - 1].text in ("Launcher", ">") else 0


# ---- a file


class Reader:
    def __init__(self, path, text):
        self.text = text
        self.file = File(path, re.match(r"(?://[^\n]*\n)*", text)[0])
        self.namespace, self.depths = [], []  # how many names each open { brought

    def read(self):
        tokens = tokens_of(self.text)
        code = [token for token in tokens if token.kind != "directive"]
        in_code = {token: at for at, token in enumerate(code)}
        in_all = {token: at for at, token in enumerate(tokens)}
        i = 0
        while i < len(tokens):
            token = tokens[i]
            if token.kind == "directive":
                i = self.directive(tokens, i)
            elif token.text == "}":
                self.namespace = self.namespace[:len(self.namespace) - self.depths.pop()]
                i += 1
            elif token.text == "extern" and tokens[i + 2].text == "{":  # extern "C" {
                self.depths.append(0)
                i += 3
            elif token.text == "namespace" and (opens := self.opens_namespace(tokens, i)):
                i = opens
            else:
                first = in_code[token]
                last = end_of_item(code, first)
                end = in_all[code[last]] + 1
                self.add(tokens[i:end], *declared(code[first:last + 1]))
                i = end
        body = self.text[len(self.file.head):]
        self.file.body = re.sub(r"^#(include|pragma once)[^\n]*\n", "", body, flags=re.M).strip("\n") + "\n"
        return self.file

    def opens_namespace(self, tokens, i):
        """Behind `namespace a::b {`."""
        at, names = i + 1, []
        while tokens[at].kind == "name" or tokens[at].text == "::":
            names += [tokens[at].text] * (tokens[at].kind == "name")
            at += 1
        if tokens[at].text != "{":
            return 0
        names = names or [""]
        self.namespace = [*self.namespace, *names]
        self.depths.append(len(names))
        return at + 1

    def directive(self, tokens, i):
        word, rest = re.match(r"\s*#\s*(\w+)\s*(.*)", tokens[i].text, re.S).groups()
        if word == "include":
            self.file.includes.append(re.match(r'<[^>]*>|"[^"]*"', rest)[0])
        elif word == "define":
            self.add([tokens[i]], "macro", (re.match(r"\w+", rest)[0],))
        elif word.startswith("if"):  # up to its #endif all is one item
            return self.conditional(tokens, i)
        return i + 1

    def conditional(self, tokens, i):
        depth, at, names = 0, i, []
        while True:
            if tokens[at].kind == "directive":
                word, rest = re.match(r"\s*#\s*(\w+)\s*(.*)", tokens[at].text, re.S).groups()
                depth += word.startswith("if") - (word == "endif")
                names += re.findall(r"^\w+", rest) if word == "define" else []
                at += 1
                if depth == 0:
                    break
            else:
                last = end_of_item(tokens, at)
                names += declared(tokens[at:last + 1])[1]
                at = last + 1
        self.add(tokens[i:at], "macro", tuple(names))
        return at

    # ---- an item

    def line_start(self, at):
        return self.text.rfind("\n", 0, at) + 1

    def comment_before(self, at):
        """Where the comment begins that stands right above the line of `at`."""
        start = self.line_start(at)
        while start > len(self.file.head):
            above = self.line_start(start - 1)
            if not self.text[above:start].lstrip().startswith("//"):
                break
            start = above
        return start

    def add(self, tokens, kind, names, of="", is_definition=True):
        if kind == "function" and tokens[0].text == names[0] and self.macro(names[0]):
            kind, names, is_definition = "expansion", tuple(sorted(self.made_by(names[0]))), True
        start = self.comment_before(tokens[0].start)
        behind = re.compile(r"(?:[ \t]*//[^\n]*)?(?=\n|$)").match(self.text, tokens[-1].end)
        text = self.text[start:behind.end() if behind else tokens[-1].end]
        prefix = ""
        if kind == "variable" and (count := end_of_prefix(tokens, names)):
            kind, is_definition, prefix = "function", False, self.text[start:tokens[count - 1].end]
        self.file.items.append(
            Item(self.file, tuple(self.namespace), text, start, tokens, kind, names, of, is_definition, prefix))

    def macro(self, name):
        return next((item for item in self.file.items if item.kind == "macro" and name in item.names), None)

    def made_by(self, name):
        """The names that a macro of this file declares where it is used on its own."""
        body = re.sub(r"^\s*#\s*define\s+\w+(\([^)]*\))?", "", self.macro(name).tokens[0].text).replace("\\\n", "\n")
        tokens, names = tokens_of(body), set()
        while tokens:
            last = end_of_item(tokens, 0)
            for made in declared(tokens[:last + 1])[1]:
                names |= self.made_by(made) if self.macro(made) else {made}
            tokens = tokens[last + 1:]
        return names


def read(path, text):
    return Reader(path, text).read()


# ---- what an item refers to


@dataclass(frozen=True)
class Reference:
    name: str  # PTX_SUMS_… of PTX_SUMS_##N
    within: tuple  # of tiled_matmul::faster::store: ("tiled_matmul", "faster")
    is_call: bool
    is_variable: bool  # it may be one that the item itself declares


def references(item):
    """The names that stand in an item, but for members of something and for types that it declares inside."""
    code = [inner for token in item.tokens for inner in
            (tokens_of(re.sub(r"^\s*#\s*\w+", "", token.text)) if token.kind == "directive" else [token])]
    found, new, hidden = set(), set(), set()
    for i, token in enumerate(code):
        before, behind = code[i - 1] if i else None, code[i + 1].text if i + 1 < len(code) else ""
        if token.kind != "name" or before is not None and before.text in (".", "->"):
            continue
        within, at = [], i - 1
        while at > 0 and code[at].text == "::" and code[at - 1].kind == "name" and code[at - 1].text not in NO_TYPES:
            within.insert(0, code[at - 1].text)
            at -= 2
        if before is not None and (before.text in ("class", "typename") and behind in (",", ">", "=")
                                   or before.text == "using" and behind == "="):
            hidden.add(token.text)  # a parameter of a template, an alias
        is_behind_name = before is not None and before.kind == "name" and before.text not in NO_TYPES
        is_behind_type = is_behind_name or before is not None and before.text in ("*", "&", ">")
        if is_behind_type and behind in BEHIND_A_NEW_NAME and (behind != "(" or is_behind_name):
            new.add(token.text)
        pasted = [after.text for after in code[i + 1:i + 3]] == ["#", "#"]
        found.add((token.text + "…" * pasted, tuple(within), behind in ("(", "<") and not is_behind_name))
    return [Reference(name, within, is_call, name in new and not within and not is_call)
            for name, within, is_call in sorted(found) if within or name not in hidden]
