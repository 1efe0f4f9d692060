"""The report on the paper's experiments as a page of the site.

``votedkernels report`` writes one HTML file with a style of its own. The directive below puts its
body into a page: the style applies to the report only, and its colours follow the site's theme.
"""

import re

from docutils import nodes
from docutils.parsers.rst import Directive

PARTS = re.compile(r"<style>(.*?)</style>.*?<body>(.*)</body>", re.DOTALL)
#: The page around the report decides these.
FRAME = """\
& { max-width: none; margin: 0; padding: 0; background: none; }
.lead { font-size: 1rem; font-weight: 400; }"""


class ReportOnExperiments(Directive):
    """The body of a report; the argument is its file, relative to the folder of the pages."""

    required_arguments = 1

    def run(self):
        environment = self.state.document.settings.env
        path = environment.srcdir / self.arguments[0]
        environment.note_dependency(str(path))
        style, body = PARTS.search(path.read_text(encoding="utf-8")).groups()
        html = f'<style>.report {{\n{nested(style)}\n{FRAME}\n}}</style>\n<div class="report">'
        return [nodes.raw("", f"{html}\n{without_title(body)}\n</div>", format="html")]


def nested(style):
    """Return a style sheet that can stand inside the rule of an element."""
    style = re.sub(r"@media print \{.*?\n\}\n", "", style, flags=re.DOTALL)
    style = re.sub(
        r"@media \(prefers-color-scheme: dark\) \{\s*:root (\{.*?\})\s*\}",
        r'html[data-theme="dark"] & \1',
        style,
        flags=re.DOTALL,
    )
    return re.sub(r"^(:root|html|body) \{", "& {", style, flags=re.MULTILINE)


def without_title(body):
    """Return the body of a report for a page that has a title and a main part of its own."""
    body = re.sub(r"<h1>.*?</h1>", "", body)
    return body.replace("<main>", "<div>").replace("</main>", "</div>")
