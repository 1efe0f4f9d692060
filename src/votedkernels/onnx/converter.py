"""The parser, shape calculator and converter of a fitted vote, as skl2onnx needs them.

    scores = intercepts + sum of the votes of all families
    label  = classes[scores > 0], or classes[argmax of scores] for more than two classes
    prediction = scores, for a regressor
    probabilities = sigmoid of s times the scores, or their softmax, if the model has a scale s

Everything is in double precision. There is no ZipMap: scores are a plain tensor, of the same shape
as the result of `decision_function`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto
from skl2onnx import update_registered_converter
from skl2onnx.common.data_types import DoubleTensorType

from ..estimators._fitted_attributes import PROBABILITY_SCALE, vote_of
from ..exceptions import ExportError
from ..problem import Vote
from .checks import (
    CLASSIFIERS,
    OLDEST_OPSET,
    OUTPUTS,
    PREDICTION,
    REGRESSORS,
    check_classifier,
    check_opset,
)
from .families import VOTES, dense_rows, parts_of_vote
from .graph import Graph
from .labels import tensor_of

#: Options that a user of skl2onnx can set. skl2onnx itself sets "zipmap" in pipelines, which has
#: no effect here.
OPTIONS = {
    "scores": [True, False],
    "probabilities": [True, False],
    "zipmap": [True, False, "columns"],
}


def register() -> None:
    """Register our models with skl2onnx."""
    for model in (*CLASSIFIERS, *REGRESSORS):
        update_registered_converter(
            model,
            f"VotedKernels{model.__name__}",
            set_output_types,
            convert,
            parser=declare_outputs,
            options=OPTIONS,
        )


def declare_outputs(scope: Any, model: Any, inputs: Any, **_parsers: Any) -> Any:
    """Declare the operator of a model and its outputs.

    These are ``label`` and, unless switched off, ``scores`` and ``probabilities``; for a regressor,
    ``prediction``.
    """
    opset = scope.target_opset
    check_opset(opset.get("", OLDEST_OPSET) if isinstance(opset, dict) else opset)
    check_classifier(model)
    options = {"scores": True, "probabilities": True} | scope.get_options(model, {})
    operator = scope.declare_local_operator(f"VotedKernels{type(model).__name__}", model)
    operator.inputs = inputs
    operator.is_declared_by_us = True
    if isinstance(model, REGRESSORS):
        operator.kinds = []
        operator.outputs.append(scope.declare_local_variable(PREDICTION, DoubleTensorType()))
        return operator.outputs
    _, label_type = tensor_of(model.classes_)
    operator.outputs.append(scope.declare_local_variable(OUTPUTS[0], label_type()))
    wanted = [options["scores"], options["probabilities"] and hasattr(model, PROBABILITY_SCALE)]
    operator.kinds = [
        name for name, is_wanted in zip(OUTPUTS[1:], wanted, strict=True) if is_wanted
    ]
    for name in operator.kinds:
        operator.outputs.append(scope.declare_local_variable(name, DoubleTensorType()))
    return operator.outputs


def kinds_of(operator: Any) -> list[str]:
    """Return the names of the outputs after ``label``, as we declared them."""
    kinds: list[str] = getattr(operator, "kinds", ["scores"])
    return kinds


def set_output_types(operator: Any) -> None:
    """Set the types and shapes of the outputs; raise if the number of features is wrong."""
    model = operator.raw_operator
    widths = [variable.get_second_dimension() for variable in operator.inputs]
    if None not in widths and sum(widths) != model.n_features_in_:
        raise ExportError(
            f"the input has {sum(widths)} features, but this {type(model).__name__} was fitted on "
            f"{model.n_features_in_}."
        )
    n_rows = operator.inputs[0].get_first_dimension()
    if isinstance(model, REGRESSORS):
        operator.outputs[0].type = DoubleTensorType([n_rows])
        return
    _, label_type = tensor_of(model.classes_)
    operator.outputs[0].type = label_type([n_rows])
    n_classes = len(model.classes_)
    shapes = {"scores": [n_rows] if n_classes == 2 else [n_rows, n_classes]}
    shapes["probabilities"] = [n_rows, n_classes]
    for variable, name in zip(operator.outputs[1:], kinds_of(operator), strict=False):
        variable.type = DoubleTensorType(shapes[name])


def convert(scope: Any, operator: Any, container: Any) -> None:
    """Write the nodes of a model."""
    graph, model = Graph(scope, container), operator.raw_operator
    # Converters of other estimators, such as CalibratedClassifierCV, declare inner operators as if
    # all classifiers had the same outputs. Their graphs can be wrong without any error.
    if not hasattr(operator, "is_declared_by_us"):
        raise ExportError(
            f"this {type(model).__name__} is inside another estimator; export it alone or as the "
            "last step of a Pipeline. For a search, export its best_estimator_."
        )
    scores = _add_scores(graph, _rows(graph, operator.inputs), vote_of(model))
    outputs = [variable.full_name for variable in operator.outputs]
    if isinstance(model, REGRESSORS):
        graph.node("Identity", scores, into=outputs[0])
        return
    _add_label(graph, scores, model, outputs[0])
    for name, into in zip(kinds_of(operator), outputs[1:], strict=True):
        if name == "scores":
            graph.node("Identity", scores, into=into)
        else:
            _add_probabilities(graph, scores, model, into)


def _add_scores(graph: Graph, X: str, vote: Vote) -> str:
    """Add the votes of all families to the intercepts; return the name of the result."""
    n_votes = len(vote.intercepts)
    scores = graph.constant(np.asarray(vote.intercepts, dtype=np.float64)[None, :])
    parts = parts_of_vote(vote)
    for part in parts:
        centers = dense_rows(vote.points, part.support)
        scores = VOTES[type(part.family)](graph, X, part, centers, scores)
    if not parts:  # the same constant for every row
        n_rows = graph.node("Slice", graph.node("Shape", X), graph.integers(0), graph.integers(1))
        shape = graph.node("Concat", n_rows, graph.integers(n_votes), axis=0)
        scores = graph.node("Expand", scores, shape)
    return graph.node("Squeeze", scores, graph.integers(1)) if n_votes == 1 else scores


def _add_probabilities(graph: Graph, scores: str, model: Any, into: str) -> None:
    """Add the probabilities of all classes."""
    scaled = graph.node(
        "Mul", scores, graph.constant(np.float64(getattr(model, PROBABILITY_SCALE)))
    )
    if len(model.classes_) > 2:
        graph.node("Softmax", scaled, into=into, axis=1)
        return
    columns = [
        graph.node("Unsqueeze", graph.node("Sigmoid", logit), graph.integers(1))
        for logit in (graph.node("Neg", scaled), scaled)
    ]
    graph.node("Concat", *columns, into=into, axis=1)


def _rows(graph: Graph, inputs: Any) -> str:
    """Join all inputs into one table in double precision; return its name."""
    tables = [
        variable.full_name
        if isinstance(variable.type, DoubleTensorType)
        else graph.node("Cast", variable.full_name, to=TensorProto.DOUBLE)
        for variable in inputs
    ]
    return tables[0] if len(tables) == 1 else graph.node("Concat", *tables, axis=1)


def _add_label(graph: Graph, scores: str, model: Any, into: str) -> None:
    """Add the label: by the sign of the score, or by the first of the largest scores."""
    labels, _ = tensor_of(model.classes_)
    if len(labels) == 2:
        is_second = graph.node("Greater", scores, graph.constant(np.float64(0.0)))
        number = graph.node("Cast", is_second, to=TensorProto.INT64)
    else:
        number = graph.node("ArgMax", scores, axis=1, keepdims=0)
    graph.node("Gather", graph.constant(labels), number, into=into, axis=0)
