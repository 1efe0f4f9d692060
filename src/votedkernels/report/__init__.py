"""Pages about models: the report on your own data, and the parts that other pages share."""

from .model_report import ModelReport, model_report

__all__ = ["ModelReport", "model_report"]
