"""The report, computed from the records alone, as a page, as Markdown and as CSV."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._system.atomic_files import writing_whole
from .._version import __version__
from ..report.page import render_page
from ..report.parts import Panel, Table
from . import panels, radii, tables
from .claims import EXTENDED, Finding, decide, describe_paper
from .evidence import Evidence, describe_missing, load_evidence, name_of, unique
from .paper import CLAIMS, DATASETS, SOURCE, VOTES, Claim
from .protocol import SCALINGS
from .records import RawRecord, Record
from .selection import RULES, Group, make_groups
from .table_formats import escape_markdown, to_csv, to_markdown
from .unions import with_unions

#: The kinds of kernels, as headings.
KINDS = {
    "polynomial": "Polynomial",
    "gaussian": "Gaussian",
    "both": "Polynomial and Gaussian",
}
#: What a verdict looks like: a CSS class, and a sign that can be read without colour.
SIGNS = {
    "holds": ("holds", "✓"),
    "holds in part": ("part", "◐"),
    "does not hold": ("fails", "✗"),
    "open": ("open", "?"),
}


@dataclass(frozen=True)
class Verdict:
    """The findings on a claim for one column of the table, under both selection rules.

    ``heading`` is the kind of kernel and the objective, ``where`` the same with the scaling.
    """

    where: str
    heading: str
    scaling: str
    literal: Finding
    per_run: Finding


@dataclass(frozen=True)
class ClaimEntry:
    """A claim with its verdicts."""

    claim: Claim
    in_paper: str
    verdicts: list[Verdict]


@dataclass(frozen=True)
class Section:
    """Tables and figures for one kind of kernel and one scaling."""

    anchor: str
    short: str
    title: str
    note: str
    tables: list[Table]
    more_tables: list[Table]
    legend: list[panels.LegendEntry]
    error_panels: list[Panel]
    vote_legend: list[panels.LegendEntry]
    share_panels: list[Panel]
    validation_panels: list[Panel]
    validation_order: str
    ranks: Panel | None
    ranks_note: str


def write_report(
    records_paths: Iterable[Path | str], out_dir: Path | str, *, commands: Sequence[str] = ()
) -> list[Path]:
    """Write report.html, tables.md and tables.csv to a folder; return their paths.

    Everything is computed from the records. A file is replaced only when the new one is complete,
    and the same records yield the same bytes.

    Parameters
    ----------
    records_paths : iterable of path
        Files of records, plain or compressed.
    out_dir : path
        The folder; it is created if it does not exist.
    commands : sequence of str
        Commands to show on the page under "How to reproduce it".

    Raises
    ------
    RecordError
        If a file does not contain usable records.
    OSError
        If a file cannot be read or written.
    """
    evidence = load_evidence(records_paths)
    contents = render_report(evidence, commands=commands)
    out = Path(out_dir)
    out.mkdir(parents=True, exist_ok=True)
    for name, text in contents.items():
        with writing_whole(out / name) as file:
            # Records may contain lone surrogates, which UTF-8 cannot encode.
            file.write(text.encode("utf-8", "backslashreplace"))
    return [out / name for name in contents]


def render_report(evidence: Evidence, *, commands: Sequence[str] = ()) -> dict[str, str]:
    """Return the contents of the report's files, by name."""
    records = with_unions(evidence.records)
    literal, per_run = (make_groups(records, rule) for rule in RULES)
    claims = _gather_claims(literal, per_run)
    sections = [
        _make_section(f"results-{i}", records, group, other)
        for i, (group, other) in enumerate(zip(literal, per_run, strict=True), 1)
        if group.family in VOTES
    ]
    peers = [
        table
        for group, other in zip(literal, per_run, strict=True)
        if group.family not in VOTES
        for table in (
            tables.tabulate_peers_in_short(records, group, other),
            tables.tabulate_peers(records, group),
        )
        if table
    ]
    context: dict[str, Any] = {
        "claims": claims,
        "columns": _gather_columns(claims),
        "signs": SIGNS,
        "sections": sections,
        "peers": peers,
        "peer_ranks": [
            (panel, table.note)
            for group in literal
            if group.family not in VOTES
            for part in _ranked(group)
            if (panel := panels.panel_ranks(part)) and (table := tables.tabulate_ranks(part))
        ],
        "facts": _describe_run(evidence),
        "missing": describe_missing(records),
        "headers": [_describe_header(header) for header in evidence.headers if header],
        "tallies": _tally(claims),
        "rules": RULES,
        "source": SOURCE,
        "commands": list(commands),
        "version": __version__,
    }
    all_tables = [t for s in sections for t in (*s.tables, *s.more_tables)] + peers
    return {
        "report.html": render_page("votedkernels.experiments", "report.html.j2", context),
        "tables.md": _render_markdown(claims, all_tables, context["missing"]),
        "tables.csv": to_csv(all_tables),
    }


def _render_markdown(
    claims: Sequence[ClaimEntry], all_tables: Sequence[Table], missing: Sequence[str]
) -> str:
    lines = ["# Voted Kernel Regularization: the paper's experiments, repeated", ""]
    if claims:
        lines += ["## Verdicts", ""]
    if claims and missing:
        lines += ["The records are not complete, so verdicts are provisional. What is missing:", ""]
        lines += [*(f"- {escape_markdown(line)}" for line in missing), ""]
    for entry in claims:
        lines += [f"**{entry.claim.title}**", "", f"> {entry.claim.quotation}", ""]
        lines += [
            "- "
            + escape_markdown(
                f"{v.where}: {v.literal.verdict}. {v.literal.words} If each run chooses its own "
                f"setting: {v.per_run.verdict}. {v.per_run.words}"
            )
            for v in entry.verdicts
        ]
        lines += ["", f"Rule: {entry.claim.rule} {entry.in_paper}".rstrip(), ""]
    heading = ""
    for table in all_tables:
        here = f"## {escape_markdown(describe_group(table.family, table.scaling))}"
        if here != heading:
            lines += [here, ""]
            heading = here
        lines += [f"Selection: {RULES[table.selection]}.", "", to_markdown(table)]
    return "\n".join(lines)


# -- gathering ---------------------------------------------------------------------------


def _gather_claims(literal: Sequence[Group], per_run: Sequence[Group]) -> list[ClaimEntry]:
    entries = {key: ClaimEntry(claim, describe_paper(key), []) for key, claim in CLAIMS.items()}
    for one, other in zip(decide(literal), decide(per_run), strict=True):
        extended = ", extended" if one.objective == EXTENDED else ""
        heading = KINDS[one.family] + extended
        entries[one.claim.key].verdicts.append(
            Verdict(f"{heading}, {one.scaling}", heading, one.scaling, one, other)
        )
    return [entry for entry in entries.values() if entry.verdicts]


def _gather_columns(claims: Sequence[ClaimEntry]) -> list[tuple[str, list[str]]]:
    """Return the columns of the table of verdicts: each heading with its scalings."""
    seen = unique((v.heading, v.scaling) for entry in claims for v in entry.verdicts)
    return [(f, [s for g, s in seen if g == f]) for f in unique(f for f, _ in seen)]


def _tally(claims: Sequence[ClaimEntry]) -> list[str]:
    """Return a sentence with the number of each verdict, for each kind of kernel and scaling."""
    lines = []
    for where in unique(v.where for entry in claims for v in entry.verdicts):
        here = [v.literal.verdict for e in claims for v in e.verdicts if v.where == where]
        counts = [(here.count(name), name) for name in SIGNS if name in here]
        parts = [f"{n} {_plural(name, n)}" for n, name in counts]
        lines.append(f"{where}: of {len(here)} claims, {', '.join(parts)}.")
    return lines


def _plural(verdict: str, n: int) -> str:
    if n == 1:
        return {"open": "is open"}.get(verdict, verdict)
    return {
        "holds": "hold",
        "holds in part": "hold in part",
        "does not hold": "do not hold",
        "open": "are open",
    }[verdict]


def _make_section(anchor: str, records: Sequence[Record], group: Group, other: Group) -> Section:
    ranks = tables.tabulate_ranks(group)
    spread = tables.tabulate_spread(group)
    about_radii = [
        table
        for table in (radii.tabulate_fixed(records, group), radii.tabulate_choices(group))
        if table
    ]
    voters = panels.voters_of(group)
    return Section(
        anchor=anchor,
        short=f"{KINDS[group.family]}, {group.scaling}",
        title=describe_group(group.family, group.scaling),
        note=f"{_count(len(group.datasets), 'data set')}, {_count(len(group.seeds), 'partition')} "
        "into five folds.",
        tables=[
            tables.tabulate_errors(group),
            tables.tabulate_support(group),
            tables.tabulate_sparsity(group),
        ],
        more_tables=[
            tables.tabulate_comparisons(group),
            *(table for part in _ranked(group) if (table := tables.tabulate_ranks(part))),
            *([spread] if spread else []),
            *about_radii,
            tables.tabulate_errors(other),
            tables.tabulate_support(other),
            tables.tabulate_endings(records, group),
        ],
        legend=panels.make_legend(group, group.algorithms, paper=True),
        error_panels=panels.panel_errors(group),
        vote_legend=panels.make_legend(group, voters, paper=False),
        share_panels=panels.panel_shares(group),
        validation_panels=panels.panel_validation(records, group),
        validation_order=", then ".join(name_of(a) for a in voters),
        ranks=panels.panel_ranks(group),
        ranks_note=ranks.note if ranks else "",
    )


def _ranked(group: Group) -> list[Group]:
    """Return the groups whose ranks are shown: all algorithms, and those with all partitions."""
    full = group.fully_run()
    return [group] if len(full.algorithms) in (0, len(group.algorithms)) else [group, full]


def describe_group(family: str, scaling: str) -> str:
    """Name a kind of kernel and a scaling."""
    scaled = SCALINGS.get(scaling, scaling)
    if family not in VOTES:
        return f"Other classifiers, {scaled}" if family == "peers" else f"{family}, {scaled}"
    return f"{KINDS[family]} kernels, {scaled}"


def _describe_run(evidence: Evidence) -> list[tuple[str, str]]:
    records = evidence.records
    names = unique(r["dataset"] for r in records)
    known = sum(name in DATASETS for name in names)
    others = f" and {_count(len(names) - known, 'other')}" if len(names) > known else ""
    finished = sorted(r["finished"] for r in records if isinstance(r.get("finished"), str))
    seconds = sum(r.get("fit_seconds") or 0.0 for r in records)
    fits = sum(len(r["settings"]) for r in records)
    facts = [
        ("Data sets", f"{known} of the paper's {len(DATASETS)}{others}"),
        ("Partitions into five folds", str(len({r["seed"] for r in records}))),
        ("Kernels", ", ".join(unique(r["family"] for r in records))),
        ("Scalings", ", ".join(unique(r["scaling"] for r in records))),
        ("Runs of an algorithm", f"{len(records):,}, with {fits:,} fits"),
        ("Time spent fitting", f"{seconds / 3600:.1f} hours of one core"),
    ]
    if finished:
        facts.append(("Recorded", f"{finished[0]} to {finished[-1]}"))
    return facts


def _describe_header(header: RawRecord) -> list[tuple[str, str]]:
    return [
        (name, value if isinstance(value, str) else json.dumps(value, sort_keys=True))
        for name, value in header.items()
    ]


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
