r"""``format`` as regular expressions over the decoded value.

All formats of the standard are asserted, and pydantic's names for UUIDs of one version (``uuid4``).
Unknown ones are annotations, or refused on request. No
text is accepted that the RFC's grammar or ``jsonschema``'s checker refuses: if they differ, the
narrower reading applies, and some formats are narrower than both:

date-time, time   no leap seconds, no year 0000; dates know the lengths of months and leap years
duration          numbers of at most six digits: Python's timedelta holds a billion days
hostname          no dot at the end, no labels with -- at their third character (``xn--``)
idn-hostname      at most 48 characters; labels beyond ASCII have at most 11 letters and digits and
                  no hyphens: a-z, lower-case letters common in Europe, kana, Han, Hangul
idn-email         the same labels beyond ASCII in the domain, in any number
email, idn-email  at most 254 characters in all, 64 of them before the @; a quoted name there has
                  at most 31 characters or escapes
uri, iri          IPvFuture with a lower-case v
uri-template      no reserved operators; names of variables do not begin with an escape
regex             the common part of ECMA-262 and Python, with groups to a depth of three: no named
                  groups, back-references, \p, \c, \0; ranges of classes are of digits, of letters
                  from a or A or to z or Z, or of \u escapes from \u0 to higher ones or from below
                  \u8 to above; lookarounds contain no groups, lookbehinds also no quantifiers

Sources   RFC 3339 (dates, times, durations), RFC 5321 sections 4.1.2 (Mailbox) and 4.5.3.1 (its
          lengths; a path of 256 has two brackets), RFC 6531 section 3.3 (its international form),
          RFC 1123 section 2.1 (hosts), RFC 5890 to 5892 (IDNA), RFC 3986 and 3987 (URIs and IRIs),
          RFC 6570 (templates), RFC 6901 (JSON pointers), RFC 9562 (UUIDs), ECMA-262 section 22.2.1
          (regex).
"""

_MONTH_DAYS = (
    r"(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)"
    r"|02-(?:0[1-9]|1\d|2[0-8]))"
)
_YEAR = r"(?:000[1-9]|00[1-9]\d|0[1-9]\d\d|[1-9]\d{3})"
_LEAP_YEAR = r"(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
_DATE = f"(?:{_YEAR}-{_MONTH_DAYS}|{_LEAP_YEAR}-02-29)"
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)"

_COUNT = r"\d{1,6}"
_OF_MINUTES = f"{_COUNT}M(?:{_COUNT}S)?"
_OF_TIME = f"T(?:{_COUNT}H(?:{_OF_MINUTES})?|{_OF_MINUTES}|{_COUNT}S)"
_OF_MONTHS = f"{_COUNT}M(?:{_COUNT}D)?"
_OF_DAYS = f"(?:{_COUNT}D|{_OF_MONTHS}|{_COUNT}Y(?:{_OF_MONTHS})?)"
_DURATION = f"P(?:{_OF_DAYS}(?:{_OF_TIME})?|{_OF_TIME}|{_COUNT}W)"

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

_ESCAPED = f"%{_HEX}{_HEX}"
_UCS = (
    r"\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef"
    + "".join(rf"\u{{{plane:x}0000}}-\u{{{plane:x}fffd}}" for plane in range(1, 14))
    + r"\u{e1000}-\u{efffd}"
)
_PRIVATE = r"\ue000-\uf8ff\u{f0000}-\u{ffffd}\u{100000}-\u{10fffd}"


def _label(letters: str, more: str) -> str:
    """Return letters with inner hyphens, but not as both third and fourth character. ``more``:
    quantifier of the characters between the fourth and the last.
    """
    one, any_of = f"[{letters}]", f"[{letters}-]"
    return (
        f"(?:{one}(?:{any_of}{{0,2}}{one})?"
        f"|{one}{any_of}(?:{one}{any_of}|-{one}){any_of}{more}{one})"
    )


_HOST_LABEL = _label("A-Za-z0-9", "{0,58}")
#: letters that IDNA accepts in any position and next to any other of them: PVALID by RFC 5892,
#: written from left to right, unchanged by NFC
_IDN_LETTERS = (
    r"\u00df-\u00f6\u00f8-\u00ffāăąćčďđēėęěğģīįıķĺļľłńņňōőœŕřśşšţťūůűųźżžșțΐ\u03ac-\u03ce"
    r"\u0430-\u045f\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u30fc-\u30fe\u3400-\u4db5\u4e00-\u9fa5"
    r"\uac00-\ud7a3"
)
#: ``xn--`` and the Punycode of 11 such letters take at most 61 characters: a delta of RFC 3492
#: takes six digits from 288,886 on at the earliest, and all deltas of a label together are below
#: 11 * 0xD800, so that at most two take six and the others five
_IDN_LABEL = f"[a-z0-9{_IDN_LETTERS}]{{1,11}}"
#: as the whole has at most 48 characters, so have its labels; in IDNA's form it has at most 252,
#: since twelve of its characters, with the dot, become at most 62
_IDN_HOST_LABEL = f"(?:{_label('A-Za-z0-9', '*')}|{_IDN_LABEL})"


def _mailbox(more: str, label: str) -> str:
    """Return a pattern of labels; ``more``: the characters beyond ASCII."""
    atom = rf"[A-Za-z0-9!#$%&'*+\-/=?^_`{{|}}~{more}]+"
    quoted = rf'"(?:[ !#-\[\]-~{more}]|\\[ -~]){{0,31}}"'
    local = rf'(?=[^@]{{1,64}}@|")(?:{atom}(?:\.{atom})*|{quoted})'
    return rf"{local}@(?:{label}(?:\.{label})*"


_ADDRESS = rf"\[(?:{_IPV4}|IPv6:{_IPV6})\]"
_MAILBOX = _mailbox("", "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_IDN_MAILBOX = _mailbox(_UCS, _IDN_HOST_LABEL)


def _resource(more: str = "", private: str = "", *, literals: bool = True) -> tuple[str, str]:
    """Return patterns of absolute URIs and of references; ``more`` and ``private``: characters that
    only IRIs have.

    ``literals``: whether hosts may be IP addresses in brackets.
    """
    unreserved = rf"A-Za-z0-9\-._~{more}"
    delimiters = "!$&'()*+,;="
    char = f"(?:[{unreserved}{delimiters}:@]|{_ESCAPED})"
    not_colon = f"(?:[{unreserved}{delimiters}@]|{_ESCAPED})"
    user = f"(?:(?:[{unreserved}{delimiters}:]|{_ESCAPED})*@)?"
    future = rf"v{_HEX}+\.[A-Za-z0-9\-._~{delimiters}:]+"
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
_VARSPEC = rf"[A-Za-z0-9_](?:\.?{_VARIABLE})*(?::[1-9]\d{{0,2}}|\*)?"
_LITERAL = rf"(?:[!#$&(-;=?-\[\]_a-z~{_UCS}{_PRIVATE}]|{_ESCAPED})"
_TEMPLATE = rf"(?:{_LITERAL}|\{{[+#./;?&]?{_VARSPEC}(?:,{_VARSPEC})*\}})*"

_POINTER = "(?:/(?:[^~/]|~[01])*)*"


def _ordered(between: str) -> str:
    """Return pairs of digits in ascending order."""
    return "(?:" + "|".join(f"{digit}{between}[{digit}-9]" for digit in range(10)) + ")"


def _regular_expressions() -> str:
    """Return the common patterns of ECMA-262 and Python, with groups to a depth of three."""
    escape = rf"\\(?:[dDwWsStnrfv^$\\.*+?()\[\]{{}}|/]|x{_HEX}{{2}}|u{_HEX}{{4}})"
    far = "|".join(
        rf"\\u[{low}]{_HEX}{{3}}-\\u[{high}A-Fa-f]{_HEX}{{3}}"
        for low, high in (("0", "1-9"), ("1-7", "89"))
    )
    ranges = f"{_ordered('-')}|a-[a-z]|[a-z]-z|A-[A-Z]|[A-Z]-Z|{far}"
    member = rf"(?:[^\\\[\]^\-&|~]|{escape}|\\[b\-]|{ranges})"
    # no two of & | ~ in a row: Python warns about && and similar
    members = rf"(?:(?:[&|~]?{member}\^*)+[&|~]?|[&|~])"
    single = rf"(?:[^\\^$.*+?()\[\]{{}}|]|\.|{escape}|\[\^?-?{members}-?\])"
    counts = rf"\d{{1,3}},?|{_ordered(',')}|\d,[1-9]\d\d?|[1-9]\d,[1-9]\d\d|\d{{1,3}},[1-9]\d{{3}}"
    quantifier = rf"(?:(?:[*+?]|\{{(?:{counts})\}})\??)?"
    terms = rf"{single}{quantifier}|[$^|]|\\[bB]"
    flat = nested = f"(?:{terms})*"
    for _ in range(2):
        nested = rf"(?:{terms}|\((?:\?:)?{nested}\){quantifier})*"
    looks = rf"\(\?[=!]{flat}\)|\(\?<[=!]{single}*\)"
    return rf"(?:{terms}|\((?:\?:)?{nested}\){quantifier}|{looks})*"


#: versions of UUIDs that are formats of their own
UUID_VERSIONS = (1, 3, 4, 5, 6, 7, 8)

#: format -> pattern of the whole value
PATTERNS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": f"{_DATE}[Tt]{_TIME}",
    "duration": _DURATION,
    "ipv4": _IPV4,
    "ipv6": _IPV6,
    "uuid": f"{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}",
    **{
        f"uuid{n}": f"{_HEX}{{8}}-{_HEX}{{4}}-{n}{_HEX}{{3}}-[89ABab]{_HEX}{{3}}-{_HEX}{{12}}"
        for n in UUID_VERSIONS
    },
    "email": f"{_MAILBOX}|{_ADDRESS})",
    "idn-email": f"{_IDN_MAILBOX}|{_ADDRESS})",
    "hostname": rf"{_HOST_LABEL}(?:\.{_HOST_LABEL})*",
    "idn-hostname": rf"{_IDN_HOST_LABEL}(?:\.{_IDN_HOST_LABEL})*",
    "uri": _URI,
    "uri-reference": _URI_REFERENCE,
    "iri": _IRI,
    "iri-reference": _IRI_REFERENCE,
    "uri-template": _TEMPLATE,
    "json-pointer": _POINTER,
    "relative-json-pointer": rf"(?:0|[1-9]+0?)(?:#|{_POINTER})",
    "regex": _regular_expressions(),
}
PATTERNS = {name: f"^(?:{pattern})$" for name, pattern in PATTERNS.items()}

#: the same without IP addresses in brackets, for use with a bound on the length: these take nine
#: tenths of the states
SHORT = {
    "email": f"{_MAILBOX})",
    "idn-email": f"{_IDN_MAILBOX})",
    "uri": _SHORT_URI,
    "uri-reference": _SHORT_URI_REFERENCE,
    "iri": _SHORT_IRI,
    "iri-reference": _SHORT_IRI_REFERENCE,
}
SHORT = PATTERNS | {name: f"^(?:{pattern})$" for name, pattern in SHORT.items()}

#: formats that accept exactly what the checker accepts
EXACT = frozenset(("date", "ipv4", "ipv6", "json-pointer"))

#: format -> a wider pattern: texts that do not match it are certainly not of the format
WIDE = {
    **{name: PATTERNS[name] for name in EXACT},
    "time": "^[^]{2}:[^]{2}:",
    # no date alone
    "date-time": "^[^]{4}-[^]{2}-[^]{2}[^]",
    "duration": "P",
    **dict.fromkeys(
        ("uuid", *(f"uuid{n}" for n in UUID_VERSIONS)), "^[^]{8}-[^]{4}-[^]{4}-[^]{4}-"
    ),
    "email": "@",
    "idn-email": "@",
    "hostname": r"^[^\u0000-,/:-@\[-`{-\u007f]+$",
    # no time, and no IP address
    "uri": "^[A-Za-z][A-Za-z0-9+.-]*:",
    "iri": "^[A-Za-z][A-Za-z0-9+.-]*:",
}

#: maximum characters of formats whose patterns cannot express it without multiplying states
MAX_LENGTHS = {"email": 254, "idn-email": 254, "hostname": 253, "idn-hostname": 48}
