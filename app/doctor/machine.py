"""The machine: open files, and the port."""

import resource
import socket
from collections.abc import Iterator

import httpx

from ..settings import PREFIX, GatewaySettings
from .finding import Finding

#: open files besides connections: the standard streams, libraries, Redis, logs
OTHER_FILES = 200
#: seconds for the answer of a gateway on the port
ASKED_SECONDS = 2.0


def examine_machine(gateway: GatewaySettings) -> Iterator[Finding]:
    """Yield the findings about this machine."""
    yield _open_files(gateway)
    yield _port(gateway)


def _open_files(gateway: GatewaySettings) -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # an answer holds a client's connection and one to a worker
    needed = gateway.max_connections + gateway.max_running + OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        shown = "no limit" if soft == resource.RLIM_INFINITY else f"{soft:,}"
        return Finding("ok", "open files", f"{shown}, {needed:,} are needed")
    can_raise = hard == resource.RLIM_INFINITY or hard >= needed
    return Finding(
        "warning",
        "open files",
        f"at most {soft:,} files may be open, but {PREFIX}MAX_CONNECTIONS and {PREFIX}MAX_RUNNING "
        f"need {needed:,}",
        f"run `ulimit -n {needed}` before the gateway"
        if can_raise
        else "raise the limit of the service or container, or lower the two settings",
    )


def _port(gateway: GatewaySettings) -> Finding:
    place = f"{gateway.host}:{gateway.port}"
    family = socket.AF_INET6 if ":" in gateway.host else socket.AF_INET
    try:
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((gateway.host, gateway.port))
    except OSError as error:
        if version := _running(gateway):
            return Finding("ok", place, f"a gateway of version {version} answers here")
        reason = error.strerror or str(error)
        advice = f"choose another {PREFIX}HOST or {PREFIX}PORT, or end the program that listens"
        return Finding("error", place, f"the gateway cannot listen: {reason}", advice)
    return Finding("ok", place, "free")


def _running(gateway: GatewaySettings) -> str | None:
    """Return the version of the gateway on the port; None: something else is there."""
    anywhere = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}
    host = anywhere.get(gateway.host, f"[{gateway.host}]" if ":" in gateway.host else gateway.host)
    try:
        scheme = "https" if gateway.tls_certificate else "http"
        # the certificate is for the gateway's name, not for this address
        url = f"{scheme}://{host}:{gateway.port}/version"
        answer = httpx.get(url, timeout=ASKED_SECONDS, verify=False)
        release = answer.json()["version"] if answer.status_code == 200 else None
    except (httpx.HTTPError, ValueError, LookupError, TypeError):
        return None
    return str(release)[:40] if release else None
