"""Nodes and constants of an ONNX graph. Each method adds one of them and returns its name."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, numpy_helper


class Graph:
    """The part of an ONNX graph that represents one operator of skl2onnx.

    Parameters
    ----------
    scope, container : the arguments that skl2onnx passes to a converter
    """

    def __init__(self, scope: Any, container: Any) -> None:
        self._scope = scope
        self._container = container

    def constant(self, values: Any) -> str:
        """Add an array of numbers, booleans or strings; return its name."""
        values = np.asarray(values)
        name: str = self._scope.get_unique_variable_name("constant")
        if values.dtype.kind == "U":
            content = [text.encode() for text in values.ravel().tolist()]
            self._container.add_initializer(name, TensorProto.STRING, values.shape, content)
        else:
            # Stored as bytes, so that no digit is lost.
            tensor = numpy_helper.from_array(np.ascontiguousarray(values))
            self._container.add_initializer(name, tensor.data_type, values.shape, tensor)
        return name

    def integers(self, *values: int) -> str:
        """Add a list of integers, such as axes or indices; return its name."""
        return self.constant(np.array(values, dtype=np.int64))

    def node(self, operator: str, *inputs: str, into: str | None = None, **attributes: Any) -> str:
        """Add a node; return the name of its result, which is ``into`` if that is given."""
        result: str = into or self._scope.get_unique_variable_name(operator.lower())
        name = self._scope.get_unique_operator_name(operator)
        self._container.add_node(operator, list(inputs), [result], name=name, **attributes)
        return result

    def columns_before(self, table: str, end: int) -> str:
        """Add a node that keeps the first ``end`` columns of a table; return its name."""
        return self.node("Slice", table, *(self.integers(n) for n in (0, end, 1)))
