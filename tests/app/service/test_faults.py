"""Faults: failures of accepted requests as errors for the client."""

from io import StringIO

from app.observability.logs import make_logger
from app.observability.metrics import Metrics
from app.service.faults import Faults
from engine import LimitExceeded


def test_an_ambiguous_grammar_is_the_clients_fault() -> None:
    """An answer that has too many parses names the limit, and is no internal error."""
    log = StringIO()
    faults = Faults(Metrics(), make_logger("info", log))
    error = faults.as_api_error(LimitExceeded("parses", 512, 513), "req_1")
    assert (error.status, error.code) == (400, "grammar_too_ambiguous")
    assert "parses: at most 512 allowed, got 513" in error.message
    assert log.getvalue() == ""
