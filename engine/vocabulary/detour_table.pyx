"""Detours of a vocabulary: their extensions, and what the tokenizer writes before them."""

from libc.stdint cimport uint32_t, uint64_t

from .vocabulary cimport ORDINARY, Vocabulary

from unicodedata import is_normalized

cdef extern from *:
    int __builtin_popcountll(unsigned long long) noexcept nogil

# Tokens of these bytes may be detours; by the last one, their extensions. White space is frequent
# before digits, and a bracket before a line break. SmolLM2 took other marks in 16 of 3,000 steps,
# brackets in 42, and as candidates they would be in every row of an object.
cdef dict CANDIDATES = {
    **dict.fromkeys(b"\t\n\r ", bytes(range(0x21, 0x7F))),
    **dict.fromkeys(b"{[", b'"{}[]:,'),
}

# Tokens that are tried for each pair of first bytes. With 4 instead of all, llama3, qwen3 and o200k
# lack 2 of 5,000 pairs.
cdef Py_ssize_t FEW = 16

# Texts that the tokenizer gets in all; more candidates are left out, those with the fewest
# extensions.
cdef Py_ssize_t MAX_PROBES = 1 << 17

# Texts in one call of the tokenizer.
cdef Py_ssize_t CHUNK = 512


cdef DetourTable detours_of(Vocabulary vocabulary):
    """Return the table of a vocabulary, built on first use."""
    if vocabulary.detours is None:
        vocabulary.detours = DetourTable(vocabulary)
    return vocabulary.detours


cdef class DetourTable:
    """The detours of one vocabulary; see the contract."""

    def __init__(self, Vocabulary vocabulary not None):
        cdef DetourC detour
        cdef ExtensionC extension
        cdef uint32_t byte
        entries = find_entries(vocabulary) if vocabulary.encode is not None and has_bytes(vocabulary) else {}
        for node in sorted(entries):
            detour.node, detour.first = node, <uint32_t>self.extensions.size()
            detour.bytes[0] = detour.bytes[1] = 0
            text = text_of(vocabulary, node)
            detour.begin = text[0]
            self.begins[detour.begin >> 6] |= <uint64_t>1 << (detour.begin & 63)
            for byte, before in sorted(entries[node].items()):
                detour.bytes[byte >> 6] |= <uint64_t>1 << (byte & 63)
                extension.before[0] = extension.before[1] = extension.before[2] = extension.before[3] = 0
                for second in before:
                    extension.before[second >> 6] |= <uint64_t>1 << (second & 63)
                self.extensions.push_back(extension)
            self.detours.push_back(detour)

    cdef ExtensionC* extension(self, const DetourC* detour, uint32_t byte) noexcept nogil:
        """Return the extension of a detour by a byte, which it has."""
        cdef uint64_t below = ((<uint64_t>1) << (byte & 63)) - 1
        cdef uint32_t place = detour.first + __builtin_popcountll(detour.bytes[byte >> 6] & below)
        if byte >= 64:
            place += __builtin_popcountll(detour.bytes[0])
        return &self.extensions[place]

    def entries(self, Vocabulary vocabulary not None):
        """Return text -> byte -> second bytes before which the tokenizer writes the text's token,
        MAY_END for none. For tests.
        """
        cdef DetourC detour
        cdef ExtensionC* extension
        cdef uint32_t byte, second
        found = {}
        for detour in self.detours:
            of = found[text_of(vocabulary, detour.node)] = {}
            for byte in range(128):
                if (detour.bytes[byte >> 6] >> (byte & 63)) & 1:
                    extension = self.extension(&detour, byte)
                    of[byte] = {second for second in range(256) if (extension.before[second >> 6] >> (second & 63)) & 1}
        return found


def detour_entries(Vocabulary vocabulary not None):
    """Return ``DetourTable.entries`` of a vocabulary."""
    return detours_of(vocabulary).entries(vocabulary)


# -- candidates ------------------------------------------------------------------------------------

cdef bint has_bytes(Vocabulary vocabulary) except -1:
    """Return whether each byte of the ordinary tokens is a token itself."""
    cdef uint32_t node
    cdef int byte
    for byte in range(256):
        node = vocabulary.first_nodes[byte]
        if vocabulary.byte_offs[byte + 1] > vocabulary.byte_offs[byte] and not (node and has_token(vocabulary, node)):
            return False
    return True


cdef bint has_token(Vocabulary vocabulary, uint32_t node) noexcept nogil:
    """Return whether a token ends at a trie node."""
    return vocabulary.nodes[node].first != vocabulary.nodes[node + 1].first


cdef bytes text_of(Vocabulary vocabulary, uint32_t node):
    """Return the bytes of the tokens that end at a trie node."""
    return vocabulary.tokens[vocabulary.order[vocabulary.nodes[node].first]]


cdef dict find_entries(Vocabulary vocabulary):
    """Return node -> byte -> second bytes before which the tokenizer writes the node's token."""
    cdef Py_ssize_t probes = 0
    followers = find_candidates(vocabulary)
    found = {}
    kept = {}
    for node in sorted(followers, key=lambda node: (-len(followers[node]), node)):
        for byte in followers[node]:
            if byte not in kept:
                kept[byte] = continuations(vocabulary, byte)
        probes += sum([len(kept[byte]) for byte in followers[node]])
        if probes > MAX_PROBES:
            break
        texts = [text for byte in followers[node] for text in kept[byte]]
        written = written_before(vocabulary, text_of(vocabulary, node), texts)
        if written is not None:
            found[node] = {byte: written.get(byte, ()) for byte in followers[node]}
    return found


cdef dict find_candidates(Vocabulary vocabulary):
    """Return node -> its extensions, for tokens of white space and opening brackets."""
    cdef uint32_t place, node, at
    found = {}
    for byte, printable in CANDIDATES.items():
        for place in range(vocabulary.byte_offs[byte], vocabulary.byte_offs[byte + 1]):
            node = vocabulary.byte_nodes[place]
            if not has_token(vocabulary, node) or text_of(vocabulary, node).strip(bytes(CANDIDATES)):
                continue
            extensions = []
            at = node + 1
            while at < vocabulary.nodes[node].end:
                if vocabulary.nodes[at].byte in printable and has_token(vocabulary, at):
                    extensions.append(vocabulary.nodes[at].byte)
                at = vocabulary.nodes[at].end
            if extensions:
                found[node] = extensions
    return found


cdef bint is_text(bytes data) except -1:
    """Return whether bytes are text that normalization does not change."""
    try:
        return is_normalized("NFKC", data.decode())
    except UnicodeDecodeError:
        return False


# -- what the tokenizer writes ---------------------------------------------------------------------

cdef list continuations(Vocabulary vocabulary, uint32_t byte):
    """Return texts that begin with a byte: the byte, and for each second byte the first tokens."""
    cdef uint32_t node = vocabulary.first_nodes[byte], at
    cdef uint32_t* order = vocabulary.order.data()
    texts = [bytes((byte,))]
    at = node + 1
    while node and at < vocabulary.nodes[node].end:
        ids = [order[k] for k in range(vocabulary.nodes[at].first, vocabulary.nodes[vocabulary.nodes[at].end].first)]
        tokens = [vocabulary.tokens[number] for number in sorted(ids)]
        texts += [text for text in tokens if is_text(text)][:FEW]
        at = vocabulary.nodes[at].end
    return texts


cdef dict written_before(Vocabulary vocabulary, bytes token, list texts):
    """Return first byte -> second bytes of the texts before which the tokenizer writes a token.

    None: the tokenizer changes even the first text, so that nothing is known.
    """
    if tokens_before(vocabulary, token, texts[:1]) is None:
        return None
    found = {}
    for first in range(0, len(texts), CHUNK):
        for text in split_before(vocabulary, token, texts[first:first + CHUNK]):
            found.setdefault(text[0], set()).add(text[1] if len(text) > 1 else MAY_END)
    return found


cdef list split_before(Vocabulary vocabulary, bytes token, list texts):
    """Like ``tokens_before``, without the texts that the tokenizer changes."""
    written = tokens_before(vocabulary, token, texts)
    if written is None and len(texts) > 1:
        half = len(texts) // 2
        return split_before(vocabulary, token, texts[:half]) + split_before(vocabulary, token, texts[half:])
    return written or []


cdef list tokens_before(Vocabulary vocabulary, bytes token, list texts):
    """Return the texts before which the tokenizer writes a token, in one text of all of them.

    A separator stands between them that joins neither neighbour: a letter after a mark, a line
    break after a letter or a digit. None: the tokenizer changes a text, or fails on one.
    """
    cdef Py_ssize_t at
    data = b"a"
    starts = []
    for text in texts:
        starts.append(len(data))
        data += token + text + (b"\n" if text[-1:].isalnum() or text[-1] >= 0x80 else b"a")
    try:
        ids = vocabulary.encode(data.decode())
    except Exception:
        # what is not known costs detours, not the start of a server
        return None
    if any([not 0 <= number < vocabulary.size or vocabulary.kind[number] != ORDINARY for number in ids]):
        return None
    spelled = b"".join([vocabulary.tokens[number] for number in ids])
    if not spelled.endswith(data):
        return None
    # SentencePiece tokenizers put a blank before each text
    at = len(data) - len(spelled)
    ends = {}
    for number in ids:
        ends[at] = at + len(vocabulary.tokens[number])
        at = ends[at]
    return [text for text, start in zip(texts, starts) if ends.get(start) == start + len(token)]
