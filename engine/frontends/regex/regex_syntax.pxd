"""ECMA-262 regular expressions (Unicode mode, with the leniencies of Annex B that people rely on)
-> a tree.

Lenient: any punctuation may be escaped; ``]``, ``}`` and a ``{`` that opens no quantifier stand for
themselves; ``-`` in a class beside a class escape does too; ``(?P<name>`` is taken for
``(?<name>``; flags without a group, ``(?i)``, hold up to the end of the group around them, as in
Rust, Go, Java and PCRE.
Refused by name: back-references, look-ahead and $ within look-behind (\b within it, too), atomic
groups, flags other than ``ims``, properties other than general categories, scripts and a few binary
ones; where the caller asks for it, all look-around.
Refused as ill-formed, because dialects disagree: ``{,n}``, unknown letters behind a backslash,
octal escapes.

Cost      linear; groups are kept on a list, not on Python's stack.
Source    ECMA-262, section 22.2.
"""
