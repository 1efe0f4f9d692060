"""Nested parameters of kernel families: ``kernels__degrees``, ``kernels__poly__degrees``."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator

from ..kernels import KernelFamily, are_precomputed, clone_families, is_named_list

#: The families that ``kernels=None`` stands for. They are only asked for their tags.
DEFAULT_FAMILIES = [family for _, family in clone_families(None)]


class NamedFamiliesMixin(BaseEstimator):
    """An estimator that exposes the parameters of its kernel families to searches."""

    kernels: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters; those of a named family are called ``kernels__name__parameter``.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of the families.

        Returns
        -------
        dict of str to object
        """
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep and is_named_list(self.kernels):
            for name, family in self.kernels:
                params[f"kernels__{name}"] = family
                if hasattr(family, "get_params"):
                    for key, value in family.get_params(deep=True).items():
                        params[f"kernels__{name}__{key}"] = value
        return params

    def set_params(self, **params: Any) -> Self:
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
        if nested and self.kernels is None:
            raise ValueError(
                f"cannot set {next(iter(nested))} while kernels is None; "
                "pass a family, such as kernels=Polynomial(), to set its parameters."
            )
        if nested and not is_named_list(self.kernels):
            super().set_params(**nested)
        elif nested:
            self._set_named(nested)
        return self

    def _set_named(self, nested: dict[str, Any]) -> None:
        families = dict(self.kernels)
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        families = families_of(self.kernels)
        if families is None:
            return tags
        tags.input_tags.pairwise = are_precomputed(families)
        tags.input_tags.sparse = all(family.accepts_sparse for family in families)
        tags.input_tags.string = all(family.accepts_objects for family in families)
        tags.input_tags.two_d_array = not any(family.takes_strings for family in families)
        return tags


def families_of(kernels: Any) -> list[KernelFamily] | None:
    """Return the families of a ``kernels`` parameter, not copied; None if it is not valid.

    scikit-learn asks for the tags of an estimator in every prediction, so this must be fast.
    """
    if kernels is None:
        return DEFAULT_FAMILIES
    if isinstance(kernels, KernelFamily):
        return [kernels]
    if not isinstance(kernels, list | tuple) or not kernels:
        return None
    families = [pair[1] for pair in kernels] if is_named_list(kernels) else list(kernels)
    return families if all(isinstance(family, KernelFamily) for family in families) else None
