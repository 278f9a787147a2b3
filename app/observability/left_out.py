"""Parts of a request that are left out of its answer, and named to the client.

A part is left out if the session of a client would end otherwise: tools that only another server
can run, items that it wrote. A constraint is never left out. A response header, the log line of the
request and a metric name the parts.

    x-switchyard-ignored: tools/4 web_search, input/7 compaction
"""

from collections.abc import Sequence

IGNORED_HEADER = "x-switchyard-ignored"
#: characters of a header; common servers and proxies accept 4 to 8 KB of headers in all
MAX_HEADER_CHARS = 1024


def header_listing(header: str, entries: Sequence[str]) -> dict[str, str]:
    """Return the response header that lists entries up to its bound; no header for no entry."""
    shown: list[str] = []
    room = MAX_HEADER_CHARS - len(f", +{len(entries)} more")
    for entry in entries:
        room -= len(entry) + len(", ")
        if room < 0:
            break
        shown.append(entry)
    left = len(entries) - len(shown)
    return {header: ", ".join([*shown, *([f"+{left} more"] if left else [])])} if entries else {}
