"""What every page keeps to. Used by pages.py."""
import functools
import re

import page_budget
import page_claims
import page_outputs
import page_snippets
import project

DOCS = project.ROOT / "docs"
# A chapter's page, in this order. A heading may say more after the words.
SECTIONS = ["What you will be able to do", "The idea", "The mathematics", "Step 1", "What it reaches", "Break it",
            "Exercises", "Where to read on"]
LAST_SECTIONS = ["In short", "Build it"]  # of every page of the road and of the parts
ANSWERED = {"answers.md": page_budget.road, "answers_parts.md": page_budget.parts}  # whose exercises it answers
MOST_COLUMNS = 6
MEASURED = re.compile(r"\d[\d.,]*[  ]?(?:ms|µs|[TGM]FLOP/s|[TGM]B/s)(?!\w)")
FROM_ELSEWHERE = re.compile(r"https?://|data sheet|article|paper")
CODE = re.compile(r"^( *)```.*?^\1```$|`[^`\n]+`|\$[^$\n]+\$", re.M | re.S)
COMMENT = re.compile(r"<!--.*?-->", re.S)


def is_chapter(page):
    return re.match(r"0[1-6]_", page.name) is not None


def blanked(pattern, text):
    """The text with spaces for what matches, line breaks kept: all else stays where it is."""
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


# ---- links

def slug(heading):
    """The anchor that GitHub makes of a heading."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", COMMENT.sub("", heading)).strip().lower()
    return re.sub(r"[^\w\- ]", "", words.replace("`", "")).replace(" ", "-")


@functools.cache
def anchors(text):
    text, found = re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.M | re.S), []
    for heading in re.findall(r"^#+ +(.*)$", text, re.M):
        anchor = slug(heading)
        found.append(anchor if anchor not in found else f"{anchor}-{found.count(anchor)}")
    return {*found, *re.findall(r'<a (?:id|name)="([^"]+)"', text)}


def dead_anchors(page):
    text = blanked(CODE, page.read_text())
    for target, anchor in re.findall(r"\]\(([^)\s#:]*)#([^)\s]+)\)", text):
        other = (page.parent / target).resolve() if target else page
        if other.suffix == ".md" and other.exists() and anchor not in anchors(other.read_text()):
            yield f"there is no heading #{anchor} in {target or 'this page'}"


# ---- pictures

def pictures(page):
    """(alternative text, file) of each."""
    return re.findall(r"!\[([^\]]*)\]\(([^)\s]+)\)", page.read_text())


def unused_figures(pages):
    used = {(page.parent / file).resolve() for page in pages for _, file in pictures(page)}
    for path in sorted((DOCS / "figures").glob("*.svg")):
        if path.resolve() not in used:
            yield f"docs/figures/{path.name} is on no page"


# ---- the rules for one page

def headings_of(page):
    return re.findall(r"^## +(.*)$", blanked(CODE, page.read_text()), re.M)


def wrong_order(page):
    headings = headings_of(page)
    at = 0
    for section in SECTIONS:
        places = [i for i, heading in enumerate(headings) if heading.startswith(section)]
        if not places:
            yield f"has no section ## {section}"
        elif places[0] < at:
            yield f"has ## {section} before what comes before it on the other pages"
        else:
            at = places[0]


def wrong_opening(page):
    """What a reader asks first: how long, what is needed before, is it needed at all?"""
    first = (re.split(r"\n\s*\n", page.read_text().strip()) + [""])[1].strip()
    answer = "yes|no|this is it" if page == page_budget.road()[-1] else "yes|no"
    wanted = {f'*About … hours, by hours("{page.stem}")': rf'^\*About <!--= hours\("{page.stem}"\) -->[^<]*<!--/--> hours? to read\b',
              f'… with its exercises, by hours_in_all("{page.stem}")':
                  rf'<!--= hours_in_all\("{page.stem}"\) -->[^<]*<!--/--> with its exercises\b',
              "You need …": r"\bYou need\b", "Needed for 06: yes or no.*": rf"\bNeeded for 06: (?:{answer})\b[^*]*\*$"}
    if missing := [what for what, pattern in wanted.items() if not re.search(pattern, first)]:
        yield f"lacks in the line below its title: {'; '.join(missing)}"


def no_aims(page):
    if not any(heading.startswith(SECTIONS[0]) for heading in headings_of(page)):
        yield f"has no section ## {SECTIONS[0]}"


def wrong_end(page):
    headings = headings_of(page)
    if headings[-2:] != LAST_SECTIONS:
        yield f"does not end with {' and '.join(f'## {section}' for section in LAST_SECTIONS)}"
    if recap := re.search(rf"^## {LAST_SECTIONS[0]}\n(.*?)(?=^## |\Z)", page.read_text(), re.M | re.S):
        lines = [line for line in recap[1].splitlines() if line.strip()]
        items = [line for line in lines if re.match(r"(?:[-*]|\d+\.) ", line)] or lines
        if len(items) > page_budget.MOST_TO_REMEMBER:
            yield f"has {len(items)} lines or items in ## {LAST_SECTIONS[0]}; {page_budget.MOST_TO_REMEMBER} at most"


def too_long(page):
    words, most = page_budget.words(page), page_budget.most_words(page)
    if words > most:
        yield f"has {words} words; {most} at most"


def road_too_long():
    words = sum(page_budget.words(page) for page in page_budget.road() if page.exists())
    if words > page_budget.MOST_OF_THE_ROAD:
        yield f"the pages of the road have {words} words together; {page_budget.MOST_OF_THE_ROAD} at most"


def answers_that_lack(answers):
    """Each page of the road links the section of docs/answers.md that has as many answers as it has numbered exercises;
    each page of the parts, that of docs/answers_parts.md."""
    sections = {slug(heading): text for heading, text in
                re.findall(r"^## +([^\n]*)\n(.*?)(?=^## |\Z)", answers.read_text(), re.M | re.S)}
    for page in filter(lambda page: page.exists(), ANSWERED[answers.name]()):
        section, exercises = page_budget.numbered_exercises(page.read_text())
        link = re.search(rf"\]\({answers.name}#([^)\s]+)\)", section)
        if exercises and not link:
            yield f"docs/{page.name} does not link it in ## Exercises"
        elif exercises and (found := page_budget.numbered(sections.get(link[1], ""))) != exercises:
            yield f"has {found} answers in #{link[1]} to {exercises} exercises of docs/{page.name}"
    if (words := page_budget.words(answers)) > page_budget.MOST_OF_THE_ANSWERS:
        yield f"has {words} words; {page_budget.MOST_OF_THE_ANSWERS} at most"


def wide_tables(page):
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if re.match(r"\|[-:| ]+\|$", line) and line.count("|") - 1 > MOST_COLUMNS:
            yield f"line {number}: a table of {line.count('|') - 1} columns; {MOST_COLUMNS} at most"


def figures_of_nowhere(page):
    """Measured numbers that are not between markers (page_values.py), but for those of data sheets and articles."""
    text = re.sub(r"<!--= .+? -->.*?<!--/-->", lambda m: re.sub(r"[^\n]", " ", m[0]), page.read_text(), flags=re.S)
    text = re.sub(r"^\|.*$", "", blanked(CODE, text), flags=re.M) if is_chapter(page) else blanked(CODE, text)
    for paragraph in re.split(r"\n\s*\n", text):
        for number in [] if FROM_ELSEWHERE.search(paragraph) else MEASURED.findall(paragraph):
            yield f"\"{number}\" is no number between <!--= … --> and <!--/-->: which file holds it?"


def claims_of_nowhere(page):
    return page_claims.problems(page.read_text())


def outputs_of_nowhere(page):
    """A block without a language is what a command prints, and says of which; one of another kind says `text`."""
    snippets, _, _ = page_snippets.read(page_outputs.BLOCK.sub("", page.read_text()))
    for language, name, _, _ in snippets:
        if not language and not name:
            yield "has a block that says neither its language nor which command prints it"


def comments_that_show(page):
    """A sentence is no sentence any more where a line begins with a comment, and two dashes end one."""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.lstrip().startswith("<!--="):
            yield f"line {number}: begins with a comment, which Markdown takes for HTML"
        if any("--" in comment for comment in re.findall(r"<!--= (.*?) -->", line)):
            yield f"line {number}: has a comment with -- in it, which Markdown shows; leave the dashes out"


def math_that_breaks(page):
    """Markdown takes a backslash away before a comma or another backslash, but not in a block ```math."""
    text = re.sub(r"^( *)```.*?^\1```$|`[^`\n]+`", "", page.read_text(), flags=re.M | re.S)
    if "$$" in text:
        yield "has a formula between $$: a block ```math is left alone by Markdown"
    for formula in re.findall(r"\$([^$\n]+)\$", text):
        if re.search(r"\\[^A-Za-z]", formula):
            yield f"the formula ${formula}$ has a backslash that Markdown takes away"


def two_words_for_one(page):
    for number, line in enumerate(blanked(CODE, page.read_text()).splitlines(), 1):
        if re.search(r"\bdevice memory\b", line, re.I) and page.name != "glossary.md":
            yield f"line {number}: \"device memory\" is called global memory here"


def problems(pages):
    found = [*unused_figures(pages), *road_too_long()]
    for page in pages:
        rules = [dead_anchors, two_words_for_one, comments_that_show, outputs_of_nowhere, math_that_breaks]
        if is_chapter(page) and page.parent == DOCS:
            rules += [wide_tables, figures_of_nowhere]
            if (project.ROOT / page.stem).is_dir():
                rules.append(wrong_order)
        if page_budget.most_words(page):
            rules += [wrong_opening, wrong_end, too_long]
            if not (project.ROOT / page.stem).is_dir():
                rules.append(no_aims)  # of a chapter's page wrong_order says it
        if page.parent == DOCS and page.name in ANSWERED:
            rules += [answers_that_lack, wide_tables, figures_of_nowhere]
        if page.name == "claims.md":
            rules += [wide_tables, figures_of_nowhere, claims_of_nowhere]
        found += [f"{page.relative_to(project.ROOT)}: {problem}" for rule in rules for problem in rule(page)]
        found += [f"{page.relative_to(project.ROOT)}: {file} has no alternative text that says what is seen"
                  for alt, file in pictures(page) if len(alt) < 12]
    return found
