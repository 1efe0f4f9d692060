"""`CalibratedClassifierCV` around our classifiers: the mean of calibrated votes.

    p_k = 1 / (1 + exp(slope f_k + offset))                    sigmoid
    p_k = y_0 + sum_i (y_{i+1} - y_i) clip((f_k - x_i) / (x_{i+1} - x_i), 0, 1)     isotonic

With more than two classes, the p_k are divided by their sum. The probabilities are the mean over
the models, and the label is the most probable class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from skl2onnx._parse import _parse_sklearn
from skl2onnx.common.data_types import DoubleTensorType
from sklearn.calibration import CalibratedClassifierCV

from ..exceptions import ExportError
from .checks import OUTPUTS
from .graph import Graph
from .labels import tensor_of

METHODS = ("sigmoid", "isotonic")


def check_calibrated(model: Any) -> None:
    """Raise if the calibration cannot be exported."""
    if model.method not in METHODS:
        raise ExportError(
            f"a CalibratedClassifierCV with method={model.method!r} cannot be exported; use "
            f"{' or '.join(METHODS)}."
        )
    for member in model.calibrated_classifiers_:
        if len(member.estimator.classes_) != len(model.classes_):
            raise ExportError(
                "a fold of the CalibratedClassifierCV did not see all classes, so it cannot be "
                "exported; use fewer folds."
            )
    tensor_of(model.classes_)


def declare_calibrated(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declare the operators of all models, and the one that joins their votes."""
    operator = scope.declare_local_operator("SklearnCalibratedClassifierCV", model)
    for member in model.calibrated_classifiers_:
        outputs = _parse_sklearn(scope, member.estimator, inputs, custom_parsers=custom_parsers)
        operator.inputs.append(outputs[1])
    _, label_type = tensor_of(model.classes_)
    operator.outputs.append(scope.declare_local_variable(OUTPUTS[0], label_type()))
    operator.outputs.append(scope.declare_local_variable(OUTPUTS[2], DoubleTensorType()))
    return operator.outputs


def set_types(operator: Any) -> None:
    """Set the types and shapes of the outputs."""
    model = operator.raw_operator
    n_rows = operator.inputs[0].get_first_dimension()
    _, label_type = tensor_of(model.classes_)
    operator.outputs[0].type = label_type([n_rows])
    operator.outputs[1].type = DoubleTensorType([n_rows, len(model.classes_)])


def convert_calibrated(scope: Any, operator: Any, container: Any) -> None:
    """Write the nodes that calibrate votes, join them, and choose the most probable class."""
    graph, model = Graph(scope, container), operator.raw_operator
    tables = [
        _probabilities(graph, variable.full_name, member)
        for variable, member in zip(operator.inputs, model.calibrated_classifiers_, strict=True)
    ]
    total = tables[0]
    for table in tables[1:]:
        total = graph.node("Add", total, table)
    label, into = (variable.full_name for variable in operator.outputs)
    graph.node("Div", total, graph.constant(np.float64(len(tables))), into=into)
    labels, _ = tensor_of(model.classes_)
    number = graph.node("ArgMax", into, axis=1, keepdims=0)
    graph.node("Gather", graph.constant(labels), number, into=label, axis=0)


def _probabilities(graph: Graph, scores: str, member: Any) -> str:
    """Add the probabilities of all classes from the votes of one model."""
    axis, one = graph.integers(1), graph.constant(np.float64(1.0))
    if len(member.calibrators) == 1:
        column = graph.node("Unsqueeze", scores, axis)
        second = _calibrated(graph, column, member.calibrators[0])
        return graph.node("Concat", graph.node("Sub", one, second), second, axis=1)
    columns = [
        _calibrated(
            graph,
            graph.node("Slice", scores, *(graph.integers(n) for n in (k, k + 1, 1))),
            calibrator,
        )
        for k, calibrator in enumerate(member.calibrators)
    ]
    table = graph.node("Concat", *columns, axis=1)
    total = graph.node("ReduceSum", table, axis, keepdims=1)
    # If all are 0, the classes are equally probable.
    zero = graph.constant(np.float64(0.0))
    is_zero = graph.node("Equal", total, zero)
    even = graph.constant(np.full((1, len(columns)), 1.0 / len(columns)))
    safe = graph.node("Where", is_zero, one, total)
    return graph.node("Where", is_zero, even, graph.node("Div", table, safe))


def _calibrated(graph: Graph, votes: str, curve: Any) -> str:
    """Add the probabilities of one class, from a column of votes."""
    if hasattr(curve, "a_"):
        scaled = graph.node("Mul", votes, graph.constant(np.float64(-curve.a_)))
        return graph.node(
            "Sigmoid", graph.node("Sub", scaled, graph.constant(np.float64(curve.b_)))
        )
    x, y = (np.asarray(v, dtype=np.float64) for v in (curve.X_thresholds_, curve.y_thresholds_))
    widths, rises = np.diff(x), np.diff(y)
    steps = np.flatnonzero(rises)
    if len(steps) == 0:
        nothing = graph.node("Mul", votes, graph.constant(np.float64(0.0)))
        return graph.node("Add", nothing, graph.constant(np.float64(y[0])))
    shares = graph.node(
        "Div",
        graph.node("Sub", votes, graph.constant(x[:-1][steps][None])),
        graph.constant(widths[steps][None]),
    )
    bounds = [graph.constant(np.float64(value)) for value in (0.0, 1.0)]
    shares = graph.node("Min", graph.node("Max", shares, bounds[0]), bounds[1])
    risen = graph.node("MatMul", shares, graph.constant(rises[steps][:, None]))
    return graph.node("Add", risen, graph.constant(np.float64(y[0])))


#: What skl2onnx needs to know about calibrated votes. It is not registered, because skl2onnx has
#: its own converter for calibrated classifiers.
CALIBRATED: dict[str, dict[Any, Any]] = {
    "custom_parsers": {CalibratedClassifierCV: declare_calibrated},
    "custom_shape_calculators": {CalibratedClassifierCV: set_types},
    "custom_conversion_functions": {CalibratedClassifierCV: convert_calibrated},
}
