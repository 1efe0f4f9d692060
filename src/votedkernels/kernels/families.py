"""The parameter ``kernels`` of an estimator.

It stands for a list of families, whose own parameters are nested in those of the estimator:
``kernels__degrees``, or ``kernels__poly__degrees`` for a family named ``poly``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Self, TypeGuard

from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags

from .base import FloatArray, KernelFamily, Rows
from .continuous_gaussian import ContinuousGaussian
from .gaussian import Gaussian
from .mixed_gaussian import MixedGaussian
from .polynomial import Polynomial
from .threshold import Threshold

NamedFamilies = list[tuple[str | None, KernelFamily]]

#: In place of a list: the families that suit the columns of X. `preparation.tables` finds them.
FOR_TABLES = "table"

#: scikit-learn writes parameter names into its HTML without escaping them, and a name can come from
#: an untrusted file. So names must not contain markup.
PLAIN = re.compile(r"[\w .,:=/%-]+")


def is_named_list(kernels: object) -> TypeGuard[Sequence[tuple[str, BaseEstimator]]]:
    """Whether ``kernels`` is a list of (name, family) pairs."""
    return (
        isinstance(kernels, list | tuple)
        and len(kernels) > 0
        and all(
            isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str)
            for pair in kernels
        )
    )


def is_for_tables(kernels: object) -> bool:
    """Whether ``kernels`` is ``"table"``."""
    return isinstance(kernels, str) and kernels == FOR_TABLES


def clone_families(kernels: object) -> NamedFamilies:
    """Return unfitted copies of the families, each with its name or None.

    ``kernels`` is None (polynomials of degrees 1 to 3 and Gaussians), a family, a list of families,
    or a list of (name, family) pairs. For ``"table"``, examples of its families are returned.
    """
    if kernels is None:
        kernels = [Polynomial((1, 2, 3)), Gaussian()]
    if is_for_tables(kernels):
        kernels = [MixedGaussian(), Threshold()]
    if isinstance(kernels, KernelFamily):
        kernels = [kernels]
    if not isinstance(kernels, list | tuple):
        raise TypeError(
            f"kernels must be a kernel family, a list of families, a list of (name, family) "
            f"pairs or 'table', got {kernels!r}."
        )
    if len(kernels) == 0:
        raise ValueError("kernels is an empty list; pass at least one kernel family.")
    pairs = list(kernels) if is_named_list(kernels) else [(None, family) for family in kernels]
    check_names([name for name, _ in pairs if name is not None])
    for _, family in pairs:
        if not isinstance(family, KernelFamily):
            raise TypeError(
                f"kernels must hold kernel families such as Polynomial() or Gaussian(), "
                f"got {family!r}; wrap a function in Similarity(function)."
            )
    if any(family.is_continuous for _, family in pairs[:-1]):
        raise ValueError(
            "ContinuousGaussian must be the last kernel family, and there can be only one: its "
            "members are chosen during the fit. Reorder kernels, or widen its range."
        )
    families = [(name, clone(family)) for name, family in pairs]
    if len(families) > 1 and are_precomputed([family for _, family in families]):
        raise ValueError(
            "Precomputed() cannot be combined with other families: X holds its kernel values. "
            "Precompute the others too, or use Similarity(function)."
        )
    return families


def check_names(names: list[str]) -> None:
    """Raise if a family's name cannot be part of parameter names."""
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"kernels has two families named {name!r}; names must differ.")
        if "__" in name or not name:
            raise ValueError(
                f"the name {name!r} of a kernel family must not be empty or contain '__'."
            )
        if not PLAIN.fullmatch(name):
            raise ValueError(
                f"the name {name!r} of a kernel family may contain only letters, digits, spaces "
                "and _ . , : = / % -, because it becomes part of parameter names."
            )


def are_precomputed(families: Iterable[KernelFamily]) -> bool:
    """Whether X is a matrix of kernel values, and centres are column numbers of X."""
    return any(family.is_precomputed for family in families)


def continuous_family(families: Iterable[KernelFamily]) -> ContinuousGaussian | None:
    """Return the family with infinitely many members, if there is one."""
    return next((family for family in families if isinstance(family, ContinuousGaussian)), None)


def fit_families(named: NamedFamilies, X: Rows, sample_weight: FloatArray) -> None:
    """Fit families to rows; a user's name for a family becomes a prefix of its kernels' names."""
    for name, family in named:
        family.fit(X, sample_weight)
        if name is not None:
            family.names_ = [f"{name}: {kernel}" for kernel in family.names_]


#: The families that ``kernels=None`` stands for, and examples of those for tables. Only their tags
#: are read.
DEFAULT_FAMILIES = [family for _, family in clone_families(None)]
TABLE_FAMILIES = [family for _, family in clone_families(FOR_TABLES)]


class NamedFamiliesMixin(BaseEstimator):
    """An estimator that exposes the parameters of its kernel families to searches."""

    kernels: object

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Get the parameters; those of a named family are called ``kernels__name__parameter``.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of the families.

        Returns
        -------
        dict of str to object
        """
        params: dict[str, object] = super().get_params(deep=deep)
        if deep and is_named_list(self.kernels):
            for name, family in self.kernels:
                params[f"kernels__{name}"] = family
                if hasattr(family, "get_params"):
                    for key, value in family.get_params(deep=True).items():
                        params[f"kernels__{name}__{key}"] = value
        return params

    def set_params(self, **params: object) -> Self:
        """Set parameters, including those of kernel families.

        Parameters
        ----------
        **params
            Parameters by name, such as ``l1_penalty``, ``kernels__degrees`` or, for a family
            named ``poly``, ``kernels__poly__degrees``.

        Returns
        -------
        self
        """
        if "kernels" in params:
            self.kernels = params.pop("kernels")
        nested = {key: params.pop(key) for key in list(params) if key.startswith("kernels__")}
        super().set_params(**params)
        if nested and (self.kernels is None or is_for_tables(self.kernels)):
            raise ValueError(
                f"cannot set {next(iter(nested))} while kernels is {self.kernels!r}; "
                "pass a family, such as kernels=Polynomial(), to set its parameters."
            )
        if nested and is_named_list(self.kernels):
            self._set_named(nested, self.kernels)
        elif nested:
            super().set_params(**nested)
        return self

    def _set_named(
        self, nested: dict[str, object], named: Sequence[tuple[str, BaseEstimator]]
    ) -> None:
        families = dict(named)
        for key, value in nested.items():
            name, _, parameter = key.removeprefix("kernels__").partition("__")
            if name not in families:
                raise ValueError(
                    f"Invalid parameter {key!r}: kernels has the families {list(families)}."
                )
            if parameter:
                families[name].set_params(**{parameter: value})
            else:
                families[name] = value
        self.kernels = list(families.items())

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        families = families_of(self.kernels)
        if families is None:
            return tags
        tags.input_tags.pairwise = are_precomputed(families)
        tags.input_tags.sparse = all(family.accepts_sparse for family in families)
        tags.input_tags.string = all(family.accepts_objects for family in families)
        tags.input_tags.allow_nan = all(family.accepts_gaps for family in families)
        tags.input_tags.categorical = tags.input_tags.allow_nan  # in data frames
        tags.input_tags.two_d_array = not any(family.takes_strings for family in families)
        return tags


def families_of(kernels: object) -> list[KernelFamily] | None:
    """Return the families of a ``kernels`` parameter without copying them; None if it is not valid.

    scikit-learn asks for the tags of an estimator in every prediction, so this must be fast.
    """
    if kernels is None:
        return DEFAULT_FAMILIES
    if is_for_tables(kernels):
        return TABLE_FAMILIES
    if isinstance(kernels, KernelFamily):
        return [kernels]
    if not isinstance(kernels, list | tuple) or not kernels:
        return None
    families = [pair[1] for pair in kernels] if is_named_list(kernels) else list(kernels)
    return families if all(isinstance(family, KernelFamily) for family in families) else None
