"""`SimpleImputer` in double precision, for which runtimes have no operator.

imputed   = the statistic of the column where X is NaN, else X
indicator = 1 where X is NaN, for the columns that had gaps in training
"""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto
from skl2onnx.common.data_types import DoubleTensorType
from sklearn.impute import SimpleImputer

from ..exceptions import ExportError
from .graph import Graph


def check_imputer(step: Any) -> None:
    """Raise if an imputer does not replace NaN with numbers."""
    is_nan = isinstance(step.missing_values, float) and np.isnan(step.missing_values)
    statistics = np.asarray(step.statistics_)
    if not is_nan or statistics.dtype.kind != "f" or not np.isfinite(statistics).all():
        raise ExportError(
            "a SimpleImputer can be exported only if it replaces NaN by numbers, and no column was "
            "empty in training: ONNX has no missing values of other types. Impute before the model."
        )


def set_width(operator: Any) -> None:
    """Set the type and shape of the imputed table."""
    step = operator.raw_operator
    check_imputer(step)
    n_rows = operator.inputs[0].get_first_dimension()
    n_indicators = 0 if step.indicator_ is None else len(step.indicator_.features_)
    operator.outputs[0].type = DoubleTensorType([n_rows, len(step.statistics_) + n_indicators])


def convert_imputer(scope: Any, operator: Any, container: Any) -> None:
    """Write the nodes of an imputer."""
    graph, step = Graph(scope, container), operator.raw_operator
    tables = [variable.full_name for variable in operator.inputs]
    X = tables[0] if len(tables) == 1 else graph.node("Concat", *tables, axis=1)
    missing = graph.node("IsNaN", X)
    statistics = graph.constant(np.asarray(step.statistics_, dtype=np.float64)[None])
    into = operator.outputs[0].full_name
    if step.indicator_ is None or len(step.indicator_.features_) == 0:
        graph.node("Where", missing, statistics, X, into=into)
        return
    imputed = graph.node("Where", missing, statistics, X)
    columns = graph.integers(*(int(i) for i in step.indicator_.features_))
    indicated = graph.node("Gather", missing, columns, axis=1)
    as_numbers = graph.node("Cast", indicated, to=TensorProto.DOUBLE)
    graph.node("Concat", imputed, as_numbers, into=into, axis=1)


#: What skl2onnx needs to know about imputers in our graphs; its own converter is for single
#: precision.
IMPUTING: dict[str, dict[Any, Any]] = {
    "custom_shape_calculators": {SimpleImputer: set_width},
    "custom_conversion_functions": {SimpleImputer: convert_imputer},
}
