"""The metrics of one model's shadow constraints.

They are apart from those of enforced constraints, so that a shadow refuses nothing in
``switchyard_refused_schemas_total``.
"""

from typing import Literal

from .metrics import Metrics

#: what would have happened to a request
Outcome = Literal["compiled", "relaxed", "refused"]


class ShadowMetrics:
    """Counts what enforcing would have done. ``model``: the label of all series."""

    def __init__(self, metrics: Metrics, model: str) -> None:
        self._metrics, self._model = metrics, model
        self.compile_seconds = metrics.compile_seconds

    def request(self, outcome: Outcome) -> None:
        """Count a request."""
        self._metrics.shadow_requests.labels(self._model, outcome).inc()

    def refused(self, keyword: str) -> None:
        """Count a schema that would have been refused, as ``Metrics.refused`` does."""
        self._metrics.shadow_refused(self._model, keyword)

    def relaxed(self, keyword: str) -> None:
        """Count nothing: ``request`` counts requests with relaxed schemas."""

    def answer(self) -> None:
        """Count an answer that is compared with its grammar."""
        self._metrics.shadow_answers.labels(self._model).inc()

    def diverged(self, place: str) -> None:
        """Count an answer that left its grammar; places come from a closed set."""
        self._metrics.shadow_divergences.labels(self._model, place).inc()
