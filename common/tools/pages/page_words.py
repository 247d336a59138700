"""The words of docs/glossary.md: each is linked where a page uses it first. Used by pages.py.

An entry is a heading, `### lane`; a comment behind it names the word's other forms: <!-- also: lanes -->. The table on top
names words to know before a page: `| [01](01_naive.md) | [lane](#lane), [warp](#warp) |`.
"""
import re

import page_rules
import project

GLOSSARY = project.ROOT / "docs/glossary.md"
ENTRY = re.compile(r"^### (.+?)(?: <!-- also: (.*?) -->)?$", re.M)
# Where no link belongs: what a tool writes, code, comments, headings, links and pictures, tables, HTML.
WRITTEN = re.compile(r"^<!-- (?:steps|times|counters|sanitizers|agreement)\b.*?^<!-- end of ", re.M | re.S)
ELSEWHERE = [WRITTEN, page_rules.CODE, page_rules.COMMENT, re.compile(r"^#+ .*$", re.M), re.compile(r"!?\[[^\]]*\]\([^)]*\)"),
             re.compile(r"^ *\|.*$", re.M), re.compile(r"<[^>\n]*>"), re.compile(r"\[[^\]\n]*\](?=\()")]


def words():
    """For each entry its anchor and its forms."""
    return {page_rules.slug(match[1]): [match[1], *filter(None, (match[2] or "").split(", "))]
            for match in ENTRY.finditer(GLOSSARY.read_text())}


def first_uses(text):
    """For each word that is used in prose: its anchor, and where it stands first."""
    prose = text
    for pattern in ELSEWHERE:
        prose = page_rules.blanked(pattern, prose)
    found, forms = [], words()
    every = sorted(((form, anchor) for anchor, all_forms in forms.items() for form in all_forms),
                   key=lambda pair: -len(pair[0]))
    taken = {}
    pattern = re.compile(r"(?<![\w-])(?:" + "|".join(re.escape(form).replace(r"\ ", r"\s+") for form, _ in every)
                         + r")(?![\w-])", re.I)
    anchor_of = {form.lower(): anchor for form, anchor in every}
    for match in pattern.finditer(prose):
        anchor = anchor_of[re.sub(r"\s+", " ", match[0]).lower()]
        taken.setdefault(anchor, match.span())
    for anchor, (begin, end) in taken.items():
        link = re.search(rf"\[[^\]]*\]\([^)\s]*glossary\.md#{re.escape(anchor)}\)", text)
        if not link or link.start() > begin:
            found.append((begin, end, anchor))
    return found


def not_met():
    """Of the words to know before a page those that it does not have. A row may link several pages: one is enough."""
    text = GLOSSARY.read_text() if GLOSSARY.exists() else ""
    forms = words() if text else {}
    for linked, known in re.findall(r"^\| *(\[.*?\)) *\| *(\[.*\]\(#.*) *\|$", text, re.M):
        names = re.findall(r"\]\(([^)#]+)\)", linked)
        met = " ".join(page_rules.COMMENT.sub("", (GLOSSARY.parent / name).read_text()) for name in names)
        for anchor in re.findall(r"\]\(#([^)]+)\)", known):
            found = "|".join(re.escape(form.strip("`")).replace(r"\ ", r"\s+") for form in forms.get(anchor, [anchor]))
            if not re.search(rf"(?<![\w-])(?:{found})(?![\w-])", re.sub(r"glossary\.md#\S+", "", met), re.I):
                yield f"docs/glossary.md: {anchor} is to be known before {' and '.join(names)}, where it does not occur"


def link_words(page):
    """The page's text with a link at the first use of each word."""
    text = page.read_text()
    path = "../" * (len(page.relative_to(GLOSSARY.parent).parts) - 1) + "glossary.md"
    for begin, end, anchor in sorted(first_uses(text), reverse=True):
        # A word that was first further down keeps its link there: it does no harm.
        text = f"{text[:begin]}[{text[begin:end]}]({path}#{anchor}){text[end:]}"
    return text
