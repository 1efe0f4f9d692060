"""A fitted vote as skl2onnx converts it: outputs declared, their types, and the nodes.

    scores = intercept + sum of the votes of all families
    label  = classes[scores > 0], or classes[argmax of scores] for more than two classes

All in double precision. There is no ZipMap: scores are a plain tensor, shaped as
`decision_function` gives them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto
from skl2onnx import update_registered_converter
from skl2onnx.common.data_types import DoubleTensorType

from ..exceptions import ExportError
from .checks import (
    CLASSIFIERS,
    OLDEST_OPSET,
    OUTPUTS,
    check_classifier,
    check_opset,
)
from .families import VOTES, dense_rows, parts_of_vote
from .graph import Graph
from .labels import tensor_of

#: What a user of skl2onnx can set. It sets "zipmap" itself in pipelines; there is none here.
OPTIONS = {"scores": [True, False], "zipmap": [True, False, "columns"]}


def register() -> None:
    """Let skl2onnx know both classifiers."""
    for classifier in CLASSIFIERS:
        update_registered_converter(
            classifier,
            f"VotedKernels{classifier.__name__}",
            set_output_types,
            convert,
            parser=declare_outputs,
            options=OPTIONS,
        )


def declare_outputs(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declare the operator of a classifier, with ``label`` and, unless declined, ``scores``."""
    opset = scope.target_opset
    check_opset(opset.get("", OLDEST_OPSET) if isinstance(opset, dict) else opset)
    check_classifier(model)
    options = scope.get_options(model, {"scores": True})
    operator = scope.declare_local_operator(f"VotedKernels{type(model).__name__}", model)
    operator.inputs = inputs
    operator.is_declared_by_us = True
    _, label_type = tensor_of(model.classes_)
    operator.outputs.append(scope.declare_local_variable(OUTPUTS[0], label_type()))
    if options["scores"]:
        operator.outputs.append(scope.declare_local_variable(OUTPUTS[1], DoubleTensorType()))
    return operator.outputs


def set_output_types(operator: Any) -> None:
    """Set the types and shapes of the outputs; raise where the rows are not those of the fit."""
    model = operator.raw_operator
    widths = [variable.get_second_dimension() for variable in operator.inputs]
    if None not in widths and sum(widths) != model.n_features_in_:
        raise ExportError(
            f"the input has {sum(widths)} features, and this {type(model).__name__} was fitted on "
            f"{model.n_features_in_}."
        )
    n_rows = operator.inputs[0].get_first_dimension()
    _, label_type = tensor_of(model.classes_)
    operator.outputs[0].type = label_type([n_rows])
    if len(operator.outputs) > 1:
        n_votes = len(model.intercept_)
        shape = [n_rows] if n_votes == 1 else [n_rows, n_votes]
        operator.outputs[1].type = DoubleTensorType(shape)


def convert(scope: Any, operator: Any, container: Any) -> None:
    """Write the nodes."""
    graph, model = Graph(scope, container), operator.raw_operator
    # Converters of other estimators, such as CalibratedClassifierCV, declare the operators within
    # as if all classifiers had the same outputs, and their graphs can be wrong without an error.
    if not hasattr(operator, "is_declared_by_us"):
        raise ExportError(
            f"this {type(model).__name__} is inside of another estimator; export it alone or as "
            "the last step of a Pipeline, and of a search its best_estimator_."
        )
    X = _rows(graph, operator.inputs)
    votes = graph.constant(np.asarray(model.intercept_, dtype=np.float64)[None, :])
    parts = parts_of_vote(model)
    for part in parts:
        centers = dense_rows(model.support_vectors_, part.support)
        votes = VOTES[type(part.family)](graph, X, part, centers, votes)
    if not parts:  # the same constant for every row
        n_rows = graph.node("Slice", graph.node("Shape", X), graph.integers(0), graph.integers(1))
        shape = graph.node("Concat", n_rows, graph.integers(len(model.intercept_)), axis=0)
        votes = graph.node("Expand", votes, shape)
    if len(model.intercept_) == 1:
        votes = graph.node("Squeeze", votes, graph.integers(1))
    outputs = [variable.full_name for variable in operator.outputs]
    _add_label(graph, votes, model, outputs[0])
    if len(outputs) > 1:
        graph.node("Identity", votes, into=outputs[1])


def _rows(graph: Graph, inputs: Any) -> str:
    """Give the name of the rows: one table in double precision, whatever the inputs are."""
    tables = [
        variable.full_name
        if isinstance(variable.type, DoubleTensorType)
        else graph.node("Cast", variable.full_name, to=TensorProto.DOUBLE)
        for variable in inputs
    ]
    return tables[0] if len(tables) == 1 else graph.node("Concat", *tables, axis=1)


def _add_label(graph: Graph, votes: str, model: Any, into: str) -> None:
    """Add the label: that of the sign, or of the first of the largest votes."""
    if len(model.intercept_) == 1:
        is_second = graph.node("Greater", votes, graph.constant(np.float64(0.0)))
        number = graph.node("Cast", is_second, to=TensorProto.INT64)
    else:
        number = graph.node("ArgMax", votes, axis=1, keepdims=0)
    labels, _ = tensor_of(model.classes_)
    graph.node("Gather", graph.constant(labels), number, into=into, axis=0)
