"""Headers of the gateway's pages: no other host, no inline code, no frames, no referrer."""

_POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
)


def page_headers(*directives: str) -> dict[str, str]:
    """Return the headers of a page and its files; ``directives``: further ones of the policy."""
    return {
        "content-security-policy": "; ".join((*_POLICY, *directives)),
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        # files change with the gateway's version: browsers ask whether theirs is current
        "cache-control": "no-cache",
    }
