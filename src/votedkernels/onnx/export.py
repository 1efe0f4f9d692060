"""`to_onnx`: convert a fitted model to an ONNX model."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from onnx import ModelProto, checker, helper, shape_inference
from skl2onnx import convert_sklearn
from sklearn.calibration import CalibratedClassifierCV

from ..exceptions import ExportError
from .calibration import CALIBRATED, check_calibrated
from .checks import (
    check_classifier,
    check_input_name,
    check_steps,
    chosen_of,
    find_votes,
    last_step,
)
from .imputing import IMPUTING
from .inputs import as_skl2onnx_needs_it, inputs_of

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
    ``probabilities``. A regressor has one output, ``prediction``. If a `ColumnTransformer` comes
    first, each of its columns is an input. The graph contains the support vectors. See
    :doc:`/onnx`.

    Parameters
    ----------
    model : classifier or regressor of this library, Pipeline or CalibratedClassifierCV
        A fitted model with the kernels `Polynomial`, `Gaussian` and `ContinuousGaussian`. A
        pipeline must end in a model of this library or a `CalibratedClassifierCV` around one, and
        skl2onnx must support its other steps. For a search such as `GridSearchCV`, the best
        estimator is exported.
    input_name : str, default="X"
        The name of the input, if there is only one.
    scores, probabilities : bool, default=True
        Whether these are outputs, in addition to ``label``, if the model has them.
    target_opset : int or dict, default=None
        The version of the ONNX operators, 13 or more; None means the newest that skl2onnx supports.
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
    model = chosen_of(model)
    votes = find_votes(model)
    check_input_name(input_name)
    check_steps(model)
    for vote in votes:
        check_classifier(vote)
    last = last_step(model)
    wanted, ours = {"scores": scores, "probabilities": probabilities}, IMPUTING
    if isinstance(last, CalibratedClassifierCV):
        check_calibrated(last)
        wanted = {"scores": True, "probabilities": False}
        ours = {key: IMPUTING.get(key, {}) | CALIBRATED[key] for key in CALIBRATED}
    result = _convert_checked(
        as_skl2onnx_needs_it(model),
        name=type(votes[0]).__name__,
        initial_types=inputs_of(model, input_name),
        options={id(vote): wanted for vote in votes},
        target_opset=target_opset,
        **ours,
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
