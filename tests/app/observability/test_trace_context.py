"""``traceparent`` of clients, as a table of W3C Trace Context."""

import pytest

from app.observability.trace_context import TraceContext

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
VALID = {
    f"00-{TRACE}-{SPAN}-01": True,
    f"00-{TRACE}-{SPAN}-00": False,
    f"00-{TRACE}-{SPAN}-03": True,
    f"01-{TRACE}-{SPAN}-01-of-a-later-version": True,
}
INVALID = {
    "nothing": None,
    "empty": "",
    "version ff": f"ff-{TRACE}-{SPAN}-01",
    "version 00 with more": f"00-{TRACE}-{SPAN}-01-more",
    "upper case": f"00-{TRACE.upper()}-{SPAN}-01",
    "trace 0": f"00-{'0' * 32}-{SPAN}-01",
    "span 0": f"00-{TRACE}-{'0' * 16}-01",
    "short": f"00-{TRACE[:-1]}-{SPAN}-01",
    "a line end": f"00-{TRACE}-{SPAN}-01\n",
    "other digits": f"00-{TRACE[:-1]}٣-{SPAN}-01",
}


@pytest.mark.parametrize("header", VALID)
def test_a_valid_header_gives_the_trace_its_parent_and_whether_it_is_sampled(header: str):
    """The share does not count then, and workers get the same flag."""
    trace = TraceContext.begin(header, 1.0 - VALID[header])
    assert (trace.shown_id, f"{trace.parent_id:016x}") == (TRACE, SPAN)
    assert trace.is_sampled is VALID[header]
    assert trace.span_id != trace.parent_id
    assert trace.traceparent(1) == f"00-{TRACE}-{1:016x}-{VALID[header]:02d}"


@pytest.mark.parametrize("name", INVALID)
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_any_other_header_begins_a_trace(name: str, share: float):
    trace = TraceContext.begin(INVALID[name], share)
    assert trace.parent_id is None
    assert trace.shown_id != TRACE
    assert trace.is_sampled is bool(share)
