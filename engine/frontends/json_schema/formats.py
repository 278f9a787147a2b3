"""``format`` as regular expressions over the decoded value.

Known formats are asserted; those that have no exact expression here are refused by name. Unknown
formats are annotations, or refused where the caller asks for that. Where the RFC and common
checkers differ, the narrower reading is taken: no leap seconds, no year 0000. Dates know the
lengths of months and leap years.

Sources   RFC 3339 (dates, times, durations), RFC 5321 section 4.1.2 (Mailbox), RFC 3986 and 3987
          (URIs and IRIs), RFC 6570 (templates), RFC 6901 (JSON pointers), RFC 4122 (UUIDs).
"""

_MONTH_DAYS = (
    r"(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)"
    r"|02-(?:0[1-9]|1\d|2[0-8]))"
)
_YEAR = r"(?:000[1-9]|00[1-9]\d|0[1-9]\d\d|[1-9]\d{3})"
_LEAP_YEAR = r"(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
_DATE = f"(?:{_YEAR}-{_MONTH_DAYS}|{_LEAP_YEAR}-02-29)"
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)"

_OF_MINUTES = r"\d+M(?:\d+S)?"
_OF_TIME = rf"T(?:\d+H(?:{_OF_MINUTES})?|{_OF_MINUTES}|\d+S)"
_OF_MONTHS = r"\d+M(?:\d+D)?"
_DURATION = rf"P(?:(?:\d+D|{_OF_MONTHS}|\d+Y(?:{_OF_MONTHS})?)(?:{_OF_TIME})?|{_OF_TIME}|\d+W)"

_HEX = "[0-9A-Fa-f]"
_BYTE = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = rf"{_BYTE}(?:\.{_BYTE}){{3}}"
_H16 = f"{_HEX}{{1,4}}"
_LS32 = f"(?:{_H16}:{_H16}|{_IPV4})"
_IPV6 = "(?:" + "|".join(
    [
        f"(?:{_H16}:){{6}}{_LS32}",
        f"::(?:{_H16}:){{5}}{_LS32}",
        f"(?:{_H16})?::(?:{_H16}:){{4}}{_LS32}",
        f"(?:(?:{_H16}:){{0,1}}{_H16})?::(?:{_H16}:){{3}}{_LS32}",
        f"(?:(?:{_H16}:){{0,2}}{_H16})?::(?:{_H16}:){{2}}{_LS32}",
        f"(?:(?:{_H16}:){{0,3}}{_H16})?::{_H16}:{_LS32}",
        f"(?:(?:{_H16}:){{0,4}}{_H16})?::{_LS32}",
        f"(?:(?:{_H16}:){{0,5}}{_H16})?::{_H16}",
        f"(?:(?:{_H16}:){{0,6}}{_H16})?::",
    ]
) + ")"  # fmt: skip

_ATOM = r"[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+"
_QUOTED = r'"(?:[ !#-\[\]-~]|\\[ -~])*"'
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_MAILBOX = rf"(?:{_ATOM}(?:\.{_ATOM})*|{_QUOTED})@(?:{_LABEL}(?:\.{_LABEL})*"
_EMAIL = rf"{_MAILBOX}|\[(?:{_IPV4}|IPv6:{_IPV6})\])"

_ESCAPED = f"%{_HEX}{_HEX}"
_UCS = (
    r"\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef"
    + "".join(rf"\u{{{plane:x}0000}}-\u{{{plane:x}fffd}}" for plane in range(1, 14))
    + r"\u{e1000}-\u{efffd}"
)
_PRIVATE = r"\ue000-\uf8ff\u{f0000}-\u{ffffd}\u{100000}-\u{10fffd}"


def _resource(more: str = "", private: str = "", *, literals: bool = True) -> tuple[str, str]:
    """Absolute with scheme, and reference; ``more`` and ``private`` are the characters that IRIs
    have beyond URIs.

    ``literals``: whether hosts may be IP addresses in brackets.
    """
    unreserved = rf"A-Za-z0-9\-._~{more}"
    delimiters = "!$&'()*+,;="
    char = f"(?:[{unreserved}{delimiters}:@]|{_ESCAPED})"
    not_colon = f"(?:[{unreserved}{delimiters}@]|{_ESCAPED})"
    user = f"(?:(?:[{unreserved}{delimiters}:]|{_ESCAPED})*@)?"
    future = rf"[vV]{_HEX}+\.[A-Za-z0-9\-._~{delimiters}:]+"
    bracketed = rf"\[(?:{_IPV6}|{future})\]|" if literals else ""
    host = rf"(?:{bracketed}(?:[{unreserved}{delimiters}]|{_ESCAPED})*)"
    rest = f"(?:/{char}*)*"
    rooted = rf"//{user}{host}(?::\d*)?{rest}|/(?:{char}+{rest})?"
    tail = rf"(?:\?(?:{char}|[/?{private}])*)?(?:#(?:{char}|[/?])*)?"
    absolute = f"[A-Za-z][A-Za-z0-9+.-]*:(?:{rooted}|{char}+{rest}|){tail}"
    relative = f"(?:{rooted}|{not_colon}+{rest}|){tail}"
    return absolute, f"(?:{absolute}|{relative})"


_URI, _URI_REFERENCE = _resource()
_IRI, _IRI_REFERENCE = _resource(_UCS, _PRIVATE)
_SHORT_URI, _SHORT_URI_REFERENCE = _resource(literals=False)
_SHORT_IRI, _SHORT_IRI_REFERENCE = _resource(_UCS, _PRIVATE, literals=False)

_VARIABLE = f"(?:[A-Za-z0-9_]|{_ESCAPED})"
_VARSPEC = rf"{_VARIABLE}(?:\.?{_VARIABLE})*(?::[1-9]\d{{0,2}}|\*)?"
_LITERAL = rf"(?:[!#$&(-;=?-\[\]_a-z~{_UCS}{_PRIVATE}]|{_ESCAPED})"
_TEMPLATE = rf"(?:{_LITERAL}|\{{[+#./;?&=,!@|]?{_VARSPEC}(?:,{_VARSPEC})*\}})*"

_POINTER = "(?:/(?:[^~/]|~[01])*)*"

#: format -> pattern of the whole value
PATTERNS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": f"{_DATE}[Tt]{_TIME}",
    "duration": _DURATION,
    "ipv4": _IPV4,
    "ipv6": _IPV6,
    "uuid": f"{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}",
    "email": _EMAIL,
    "uri": _URI,
    "uri-reference": _URI_REFERENCE,
    "iri": _IRI,
    "iri-reference": _IRI_REFERENCE,
    "uri-template": _TEMPLATE,
    "json-pointer": _POINTER,
    "relative-json-pointer": rf"(?:0|[1-9]+0?)(?:#|{_POINTER})",
}
PATTERNS = {name: f"^(?:{pattern})$" for name, pattern in PATTERNS.items()}

#: the same without IP addresses in brackets, for use with a bound on the length: they make nine
#: tenths of the states
SHORT = {
    "email": f"{_MAILBOX})",
    "uri": _SHORT_URI,
    "uri-reference": _SHORT_URI_REFERENCE,
    "iri": _SHORT_IRI,
    "iri-reference": _SHORT_IRI_REFERENCE,
}
SHORT = PATTERNS | {name: f"^(?:{pattern})$" for name, pattern in SHORT.items()}

#: formats that the standard defines and that are refused here rather than taken as annotations
REFUSED = frozenset(("idn-email", "hostname", "idn-hostname", "regex"))
