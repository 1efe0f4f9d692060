"""`to_onnx`: from a fitted model to an ONNX model."""

from __future__ import annotations

import json
from typing import Any

from onnx import ModelProto, checker, helper, shape_inference
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import DoubleTensorType

from ..exceptions import ExportError
from .checks import (
    check_classifier,
    check_input_name,
    check_steps,
    find_classifier,
)

#: What skl2onnx raises for what it does not know, and onnx for a graph that is wrong.
CANNOT = (RuntimeError, checker.ValidationError, shape_inference.InferenceError)


def to_onnx(
    model: Any,
    *,
    input_name: str = "X",
    scores: bool = True,
    target_opset: int | dict[str, int] | None = None,
) -> ModelProto:
    """Convert a fitted model to ONNX, in double precision.

    The graph has one input, rows of doubles, and two outputs: ``label`` and ``scores``, the values
    of `decision_function` in the same shape. It holds the support vectors. See :doc:`/onnx`.

    Parameters
    ----------
    model : VotedKernelClassifier, VotedKernelClassifierCV or Pipeline
        Fitted, of families `Polynomial`, `Gaussian` and `ContinuousGaussian`. A pipeline ends in
        one of our classifiers; the steps before must be known to skl2onnx.
    input_name : str, default="X"
        The name of the input.
    scores : bool, default=True
        Whether ``scores`` is an output, beside ``label``.
    target_opset : int or dict, default=None
        The version of the ONNX operators, 13 or more; None is the newest that skl2onnx knows.
        Older runtimes need smaller ones.

    Returns
    -------
    onnx.ModelProto
        ``onnx.save(result, path)`` writes it to a file. Names of features, where the model has
        them, are in its metadata as JSON, under ``feature_names``.

    Raises
    ------
    ExportError
        Where the model has a kernel family, class labels or a step that ONNX cannot express.

    Examples
    --------
    >>> from votedkernels import VotedKernelClassifier
    >>> from votedkernels.datasets import make_waveform
    >>> from votedkernels.onnx import to_onnx
    >>> X, y = make_waveform(60, random_state=0)
    >>> model = VotedKernelClassifier(l1_penalty=0.1).fit(X, y)
    >>> [output.name for output in to_onnx(model).graph.output]
    ['label', 'scores']
    """
    classifier = find_classifier(model)
    check_input_name(input_name)
    check_steps(model)
    check_classifier(classifier)
    try:
        result: ModelProto = convert_sklearn(
            model,
            name=type(classifier).__name__,
            initial_types=[
                (input_name, DoubleTensorType([None, getattr(model, "n_features_in_", None)]))
            ],
            options={id(classifier): {"scores": scores}},
            target_opset=target_opset,
        )
        # It has steps whose graphs, in double precision, no runtime accepts.
        checker.check_model(result, full_check=True)
    except CANNOT as error:
        reason = str(error).strip().partition("\n")[0]
        raise ExportError(f"skl2onnx cannot convert this model: {reason}") from error
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        helper.set_model_props(result, {"feature_names": json.dumps([str(n) for n in names])})
    return result
