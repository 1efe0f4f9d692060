"""`to_onnx`: convert a fitted model to an ONNX model."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from onnx import ModelProto, checker, helper, shape_inference
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import DoubleTensorType

from ..exceptions import ExportError
from .checks import check_classifier, check_input_name, check_steps, find_classifier

#: Errors of skl2onnx for unsupported steps, and of onnx for invalid graphs.
CANNOT = (RuntimeError, checker.ValidationError, shape_inference.InferenceError)


def to_onnx(
    model: Any,
    *,
    input_name: str = "X",
    scores: bool = True,
    probabilities: bool = True,
    target_opset: int | dict[str, int] | None = None,
) -> ModelProto:
    """Convert a fitted model to ONNX, in double precision.

    The graph has one input, a table of doubles, and two outputs: ``label``, and ``scores``, which
    is what `decision_function` returns. If the model has `predict_proba`, a third output is
    ``probabilities``. A regressor has one output, ``prediction``. The graph contains the support
    vectors. See :doc:`/onnx`.

    Parameters
    ----------
    model : classifier or regressor of this library, or Pipeline
        A fitted model of the families `Polynomial`, `Gaussian` and `ContinuousGaussian`. A
        pipeline must end in a model of this library, and skl2onnx must support its other steps.
    input_name : str, default="X"
        The name of the input.
    scores, probabilities : bool, default=True
        Whether these are outputs, in addition to ``label``, if the model has them.
    target_opset : int or dict, default=None
        The version of the ONNX operators, 13 or more; None is the newest that skl2onnx supports.
        Older runtimes need older versions.

    Returns
    -------
    onnx.ModelProto
        Save it with ``onnx.save``. Feature names are in its metadata, ``feature_names``, as JSON.

    Raises
    ------
    ExportError
        If ONNX cannot express a kernel family, the class labels or a step of the model.

    Examples
    --------
    >>> from votedkernels import VotedKernelClassifier
    >>> from votedkernels.datasets import make_waveform
    >>> from votedkernels.onnx import to_onnx
    >>> model = VotedKernelClassifier(l1_penalty=0.1).fit(*make_waveform(60, random_state=0))
    >>> [output.name for output in to_onnx(model).graph.output]
    ['label', 'scores']
    """
    classifier = find_classifier(model)
    check_input_name(input_name)
    check_steps(model)
    check_classifier(classifier)
    rows = DoubleTensorType([None, getattr(model, "n_features_in_", None)])
    result = _convert_checked(
        model,
        name=type(classifier).__name__,
        initial_types=[(input_name, rows)],
        options={id(classifier): {"scores": scores, "probabilities": probabilities}},
        target_opset=target_opset,
    )
    _add_feature_names(result, getattr(model, "feature_names_in_", None))
    return result


def _add_feature_names(result: ModelProto, names: Iterable[Any] | None) -> None:
    if names is not None:
        helper.set_model_props(result, {"feature_names": json.dumps([str(n) for n in names])})


def _convert_checked(model: Any, **options: Any) -> ModelProto:
    """Convert with skl2onnx and check the graph; raise an `ExportError` if either fails."""
    try:
        result: ModelProto = convert_sklearn(model, **options)
        # For some steps, skl2onnx writes graphs in double precision that no runtime accepts.
        checker.check_model(result, full_check=True)
    except CANNOT as error:
        reason = str(error).strip().partition("\n")[0]
        raise ExportError(f"skl2onnx cannot convert this model: {reason}") from error
    return result
