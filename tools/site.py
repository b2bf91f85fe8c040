#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The site's pages, from those of the tree: what tools/site.sh runs.

    site.py stage FOLDER     FOLDER/mkdocs.yml, and in FOLDER/pages all that README.md leads to
    site.py search SITE      the search works where the site is opened from a folder as well
    site.py check SITE       every link within the site leads to a file and to a heading in it
    site.py llms SITE        llms.txt, the pages by name, and llms-full.txt, their text
"""
import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^)\s]+)(\))")


def nav():
    """Names and pages of mkdocs.yml."""
    return re.findall(r"^ +- (.+): (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)


def outside_code(text):
    """Lines, and whether each stands in a block of code."""
    inside = False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        yield line, inside or fence
        inside ^= fence


def for_mkdocs(text):
    """GitHub's Markdown as Python's: lists and tables stand after an empty line, a block of code
    names one word."""
    out, table, item = [], r"\s*\|", r"\s*([-*]|\d+\.) "
    for line, code in outside_code(text):
        if code:
            line = re.sub(r"^(\s*```\w+) .*", r"\1", line)
        before = out[-1] if out else ""
        for kind in (table, item):
            starts = not code and re.match(kind, line) and not re.match(kind, before)
            if starts and before.strip() and not before.startswith("  "):
                out.append("")
        out.append(line)
    return "\n".join(out) + "\n"


class Stage:
    """Copies a page and whatever it leads to."""

    def __init__(self, pages):
        self.pages, self.done, self.left = pages, set(), []

    def add(self, path):
        if path not in self.done:
            self.done.add(path)
            self.left.append(path)

    def target(self, page, link):
        """Where a link leads in the tree; folders to their README."""
        file, hash_, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link) or not file:
            return link
        found = (page.parent / urllib.parse.unquote(file)).resolve()
        if not found.exists() or not found.is_relative_to(ROOT):
            sys.exit(f"site: {page.relative_to(ROOT)}: {link} leads nowhere")
        if found.is_dir():
            found, file = found / "README.md", file.rstrip("/") + "/README.md"
        self.add(found)
        return file + hash_ + re.sub("-+", "-", anchor).strip("-")  # as Python's Markdown has it

    def page(self, path, text):
        lines = []
        for line, code in outside_code(text):
            if not code:
                line = LINK.sub(lambda m: m[1] + self.target(path, m[2]) + m[3], line)
            lines.append(line)
        return for_mkdocs("\n".join(lines))

    def listing(self, folder):
        names = sorted(file.name for file in folder.iterdir() if file.is_file())
        text = f"# {folder.relative_to(ROOT)}\n\n" + "".join(f"- [{n}]({n})\n" for n in names)
        return self.page(folder / "README.md", text)

    def run(self):
        while self.left:
            path = self.left.pop()
            out = self.pages / path.relative_to(ROOT)
            out.parent.mkdir(parents=True, exist_ok=True)
            if path.name == "README.md" and not path.exists():
                out.write_text(self.listing(path.parent), encoding="utf-8")
            elif path.suffix == ".md":
                out.write_text(self.page(path, path.read_text(encoding="utf-8")), encoding="utf-8")
            else:
                shutil.copyfile(path, out)


def index(folder, title, pages):
    rows = "".join(f"| [{name}]({file}) | {what} |\n" for name, file, what in pages)
    text = f"# {title}\n\n| | |\n| --- | --- |\n{rows}"
    (folder / "README.md").write_text(text, encoding="utf-8")


def declared(text):
    """What a piece of a header declares: its first function, or else its type or macro."""
    text = re.sub(r"/\*.*?\*/|^ *(//|\* ).*?$", "", text, flags=re.S | re.M)
    for kind in (
        r"^PREM_API\b[^;{]*?\b(prem_\w+)\(",
        r"^typedef (?:struct|enum|union) (prem_\w+)",
        r"^\} (prem_\w+);",
        r"\(\*(prem_\w+)\)\(",
        r"^static inline\b[^;{]*?\b(prem_\w+)\(",
        r"^(?:class|struct) (\w+)",
        r"^#define (PREM_\w+)",
    ):
        found = re.search(kind, text, re.M)
        if found:
            return found[1]
    return None


def api(folder):
    """A page for each header, whole, with a heading for what each of its comments is about: they are
    the manual, and the search leads to them."""
    folder.mkdir(parents=True)
    pages = []
    for header in sorted((ROOT / "include" / "ttprem").glob("*.h*")):
        text = header.read_text(encoding="utf-8")
        said = re.search(r"/\*\*(.*?)\*/", text, re.S)
        what = " ".join(re.sub(r"^\s*\*", "", said[1], flags=re.M).split()) if said else ""
        what = re.split(r"(?<=[.;]) ", what)[0].replace("|", "\\|")
        name, parts, seen = f"ttprem/{header.name}", [["", ""]], set()
        pieces = re.split(r"^(?=/\*\*)|(?<=\n\n)(?=typedef )", text, flags=re.M)
        for at, piece in enumerate(pieces):
            title = declared(piece)
            if at < 2 or not title or title in seen:  # first the licence, and what the header is for
                parts[-1][1] += piece
                continue
            seen.add(title)
            parts.append([title, piece])
        body = "".join(
            (f"## {title}\n\n" if title else "") + f"```c\n{piece.strip()}\n```\n\n" for title, piece in parts
        )
        (folder / f"{header.name}.md").write_text(f"# {name}\n\n{body}", encoding="utf-8")
        pages.append((name, f"{header.name}.md", what))
    index(folder, "The C API", pages)


def manual(folder):
    folder.mkdir(parents=True)
    pages = []
    for source in sorted((ROOT / "docs" / "man").glob("*.scd")):
        roff = subprocess.run(["scdoc"], stdin=source.open("rb"), capture_output=True, check=True)
        page = ["mandoc", "-T", "html", "-O", "fragment"]
        body = subprocess.run(page, input=roff.stdout, capture_output=True).stdout.decode()
        body = re.sub(r'<table class="(head|foot)">.*?</table>', "", body, flags=re.S)
        body = re.sub(r"(</?)h1\b", r"\1h2", re.sub(r"\n\s*\n", "\n", body))
        name = source.name.removesuffix(".1.scd")
        what = re.search(r"# NAME\n\n.*? - (.*)", source.read_text(encoding="utf-8"))[1]
        (folder / f"{name}.md").write_text(f"# {name}(1)\n\n<div>{body}</div>\n", encoding="utf-8")
        pages.append((name.replace("-", " ", 1), f"{name}.md", what))
    index(folder, "The command", pages)


# Long names break in the narrow column; of man pages what an option does stands under its name.
STYLE = """.bs-sidebar a { overflow-wrap: anywhere; }
.Bd-indent { margin: -0.8em 0 0.8em 2em; }
"""


def stage(folder):
    folder = pathlib.Path(folder)
    pages = folder / "pages"
    shutil.copyfile(ROOT / "mkdocs.yml", folder / "mkdocs.yml")
    work = Stage(pages)
    for _, page in nav():
        if not page.startswith(("api/", "man/")):
            work.add(ROOT / page)
    for page in (ROOT / "docs").glob("*.md"):
        work.add(page)
    work.run()
    (pages / "site.css").write_text(STYLE, encoding="utf-8")
    api(pages / "api")
    manual(pages / "man")


def search(site):
    folder = pathlib.Path(site) / "search"
    index = (folder / "search_index.json").read_text(encoding="utf-8")
    (folder / "search_index.js").write_text(f"var search_index = {index};\n", encoding="utf-8")
    script = (folder / "main.js").read_text(encoding="utf-8")
    begin = "if (!window.Worker) {\n  console.log"
    if script.count(begin) != 1:
        sys.exit("site: search/main.js of this mkdocs begins its worker in another way: see tools/site_search.js")
    here = (ROOT / "tools" / "site_search.js").read_text(encoding="utf-8")
    begins = "if (location.protocol === 'file:') {\n  searchFromFolder();\n} else "
    (folder / "main.js").write_text(here + script.replace(begin, begins + begin), encoding="utf-8")


class Links(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids |= {attributes[key] for key in ("id", "name") if attributes.get(key)}
        link = attributes.get("href" if tag == "a" else "src" if tag == "img" else "")
        if link:
            self.links.append(link)


def check(site):
    site = pathlib.Path(site).resolve()
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    dead, count = [], 0
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc or path.name == "404.html":
                continue
            count += 1
            to = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            to = to / "index.html" if to.is_dir() else to
            anchor = urllib.parse.unquote(parts.fragment)
            if not to.exists() or (anchor and to in pages and anchor not in pages[to].ids):
                dead.append(f"{path.relative_to(site)}: {link}")
    for line in sorted(set(dead)):
        print(f"site: dead link: {line}")
    if dead:
        sys.exit(1)
    print(f"site: {len(pages)} pages, {count} links lead somewhere")


def llms(site):
    site = pathlib.Path(site)
    pages = nav()
    lines = ["# ttprem", "", "> Time-triggered execution for tiled GPU kernels: schedule files, planner, checker,",
             "> simulator, CPU and CUDA backends, measurements.", "", "## Pages", ""]
    lines += [f"- [{name}]({file.removesuffix('.md').replace('README', 'index')}.html)" for name, file in pages]
    (site / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    whole = [(ROOT / file).read_text(encoding="utf-8") for _, file in pages if (ROOT / file).exists()]
    (site / "llms-full.txt").write_text("\n".join(whole), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("stage", "search", "check", "llms"):
        sys.exit(__doc__)
    {"stage": stage, "search": search, "check": check, "llms": llms}[sys.argv[1]](sys.argv[2])
