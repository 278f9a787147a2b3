"""``format`` as regular expressions over the decoded value.

Known formats are asserted; those that have no exact expression here are refused by name. Unknown formats are annotations, or
refused where the caller asks for that. Dates know the lengths of months and leap years (RFC 3339; year 0000 is no year).
"""

_MONTH_DAYS = (
    "(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8])"
)
_YEAR = "(?:000[1-9]|00[1-9]\\d|0[1-9]\\d\\d|[1-9]\\d{3})"
_LEAP_YEAR = (
    "(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
)
_DATE = f"(?:{_YEAR}-(?:{_MONTH_DAYS})|{_LEAP_YEAR}-02-29)"
_TIME = "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)"
_BYTE = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
_HEX = "[0-9A-Fa-f]"

#: format -> pattern of the whole value
PATTERNS = {
    "date": f"^{_DATE}$",
    "time": f"^{_TIME}$",
    "date-time": f"^{_DATE}T{_TIME}$",
    "ipv4": f"^{_BYTE}(?:\\.{_BYTE}){{3}}$",
    "uuid": f"^{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}$",
}

#: formats that the standard defines and that are refused here rather than taken as annotations
REFUSED = frozenset(
    "duration email idn-email hostname idn-hostname ipv6 uri uri-reference iri iri-reference uri-template "
    "json-pointer relative-json-pointer regex".split()
)
