"""TLS of the gateway itself, for clients that reach it without a proxy.

Versions below TLS 1.2 are refused. A renewed certificate counts after a restart.

Not here   TLS to Redis (cache.address) and to workers (adapters.workers); connections whose
           handshake is not complete do not count as connections, and end after a minute.
"""

import ssl

from ..settings import PREFIX, GatewaySettings, SettingError


def make_tls(settings: GatewaySettings) -> ssl.SSLContext | None:
    """Return the context of the settings; None: no TLS.

    Raises:
        SettingError: a file is missing or unusable; names the variable and the file.
    """
    if settings.tls_certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # reads both files first: errors of OpenSSL do not say which one is wrong
        settings.tls_certificate.read_bytes()
        if settings.tls_key is not None:
            settings.tls_key.read_bytes()
        context.load_cert_chain(settings.tls_certificate, settings.tls_key)
    except ssl.SSLError as error:
        files = f"{settings.tls_certificate} and {settings.tls_key or 'its key'}"
        why = error.reason or str(error)
        raise SettingError(
            f"{PREFIX}TLS_CERTIFICATE: {files} are no certificate with its key ({why})"
        ) from error
    except OSError as error:
        name = "TLS_KEY" if error.filename == str(settings.tls_key) else "TLS_CERTIFICATE"
        raise SettingError(f"{PREFIX}{name}: {error.filename}: {error.strerror}") from error
    if settings.tls_client_ca is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_verify_locations(settings.tls_client_ca)
        except OSError as error:  # ssl.SSLError is one
            reason = getattr(error, "reason", None) or error.strerror
            text = f"{PREFIX}TLS_CLIENT_CA: {settings.tls_client_ca}: {reason}"
            raise SettingError(text) from error
    return context
