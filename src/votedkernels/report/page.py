"""Self-contained pages, from templates."""

from __future__ import annotations

from collections.abc import Mapping


def render_page(package: str, template: str, context: Mapping[str, object]) -> str:
    """Return a page from a package's template, which may also include the templates of `report`."""
    try:
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise ImportError(
            "a report needs jinja2; install it with `pip install votedkernels[report]`."
        ) from error
    packages = dict.fromkeys((package, "votedkernels.report"))
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page: str = environment.get_template(template).render(context)
    return page + "\n"
