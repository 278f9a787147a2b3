"""Vocabularies: kinds of tokens, the token trie, and its indices."""

from libc.string cimport memset
from libcpp.algorithm cimport binary_search

from ..native.bitset cimport set_bits

from hashlib import blake2b

from ..errors import InternalError
from .tokenizer_bytes import huggingface_tokens


cdef class TokenSet:
    """Token ids in ascending order, each once."""

    def __cinit__(self, ids):
        self.ids = sorted(set(ids))

    def __len__(self):
        return self.ids.size()

    def __iter__(self):
        return iter(<object>self.ids)

    def __contains__(self, token):
        return isinstance(token, int) and token >= 0 and binary_search(
            self.ids.begin(), self.ids.end(), <uint32_t>token)

    def __eq__(self, other):
        return isinstance(other, TokenSet) and self.ids == (<TokenSet>other).ids

    __hash__ = None

    def __repr__(self):
        return f"TokenSet({list(self)})"


# -- vocabulary ------------------------------------------------------------------------------------

cdef class Vocabulary:
    """Token bytes by id, with the ids that end a text and those that match by id only.

    Args:
        tokens: the bytes of every token by id; empty tokens are never allowed.
        stop_token_ids: ids that end a text; they match only token edges with their id.
        special_token_ids: ids that never match bytes (control tokens); stop ids are always special.
        encode: text -> ids of the model's own tokenizer, for ``Matcher.forced_tokens`` and for
            masks without detours.

    Raises:
        ValueError: an id out of range, no stop token, or a token longer than 65,535 bytes.
    """

    def __init__(self, tokens, *, stop_token_ids, special_token_ids=(), encode=None):
        self.tokens = list(tokens)
        self.size = len(self.tokens)
        self.words = (self.size + 31) // 32
        self.stop_token_ids = tuple(sorted(set(stop_token_ids)))
        self.special_token_ids = tuple(sorted(set(special_token_ids) | set(self.stop_token_ids)))
        self.encode = encode
        if not self.stop_token_ids:
            raise ValueError("a vocabulary needs at least one stop token")
        for number in self.special_token_ids:
            if not 0 <= number < self.size:
                raise ValueError(f"token ids must be in 0..{self.size - 1}, got {number}")
        self._gather()
        self.fingerprint = self._digest()
        self._build()

    @classmethod
    def from_huggingface(cls, tokenizer, *, stop_token_ids=None, size=None):
        """Return the vocabulary of a Hugging Face tokenizer: byte-level BPE, or SentencePiece with
        byte fallback.

        Args:
            stop_token_ids: by default the tokenizer's ``eos_token_id``.
            size: the width of the model; missing ids become empty tokens.
        """
        tokens, specials = huggingface_tokens(tokenizer, size)
        stops = [tokenizer.eos_token_id] if stop_token_ids is None else stop_token_ids
        return cls(
            tokens,
            stop_token_ids=stops,
            special_token_ids=specials,
            encode=lambda text: tokenizer.encode(text, add_special_tokens=False),
        )

    def _digest(self):
        """Return an identity for caches: the tokens without trailing empty ones, and the special
        ids.

        It leaves out stop ids, padding and mask width, on which no token mask depends.
        """
        cdef uint32_t n = self.size
        while n and self.offsets[n] == self.offsets[n - 1]:
            n -= 1
        self.used_words = (n + 31) // 32
        digest = blake2b(digest_size=16)
        digest.update(n.to_bytes(8, "little"))
        digest.update((<const char*>self.offsets.data())[:4 * (n + 1)])
        digest.update((<const char*>self.data.data())[:self.data.size()])
        digest.update(repr([i for i in self.special_token_ids if i < n]).encode())
        return digest.hexdigest()

    @property
    def trie_nodes(self):
        """The number of nodes in the token trie, including the root."""
        return self.nodes.size() - 1

    def special_texts(self):
        """Return text -> id of every special token that is valid UTF-8."""
        found = {}
        for number in self.special_token_ids:
            try:
                text = self.tokens[number].decode()
            except UnicodeDecodeError:
                continue
            if text:
                found.setdefault(text, number)
        return found

    # -- the order of the tokens -------------------------------------------------------------------
    def _gather(self):
        """Copy the bytes into flat arrays, and determine the kind of each token."""
        cdef uint32_t t
        cdef bytes token
        cdef const uint8_t* text
        self.kind.assign(self.size, ORDINARY)
        self.texts.assign(self.words, 0)
        for number in self.special_token_ids:
            self.kind[number] = SPECIAL
        for number in self.stop_token_ids:
            self.kind[number] = STOP
            self.stops.push_back(number)
        self.offsets.reserve(self.size + 1)
        self.ordinary = 0
        for t, token in enumerate(self.tokens):
            if len(token) > 0xFFFF:
                raise ValueError(f"token {t} has {len(token)} bytes, at most 65,535 are allowed")
            self.offsets.push_back(<uint32_t>self.data.size())
            text = token
            self.data.insert(self.data.end(), text, text + len(token))
            if self.kind[t] == ORDINARY and not token:
                self.kind[t] = EMPTY
            self.ordinary += self.kind[t] == ORDINARY
            if token and self.kind[t] != STOP:
                self.texts[t >> 5] |= <uint32_t>1 << (t & 31)
        self.offsets.push_back(<uint32_t>self.data.size())

    def _build(self):
        """Sort the ordinary ids by their bytes, equal ones by number."""
        tokens = self.tokens
        self.order.reserve(self.ordinary)
        for number in sorted((n for n in range(self.size) if self.kind[n] == ORDINARY),
                             key=tokens.__getitem__):
            self.order.push_back(number)
        if not self.build_trie():
            raise InternalError("tokens are not in order")

    cdef uint32_t child(self, uint32_t node, uint8_t byte) noexcept nogil:
        """Return the child of a node by its byte, 0 if there is none."""
        cdef uint32_t at = node + 1, end = self.nodes[node].end
        if node == 0:
            return self.first_nodes[byte]
        while at < end and self.nodes[at].byte < byte:
            at = self.nodes[at].end
        return at if at < end and self.nodes[at].byte == byte else 0

    # -- the trie ----------------------------------------------------------------------------------
    cdef bint build_trie(self) noexcept nogil:
        """Build the trie in one pass over the sorted tokens; a node ends when a token leaves its
        prefix.

        False: a token is not greater than the previous one, by bytes, then by number.
        """
        cdef vector[uint32_t] open_nodes
        cdef TrieNode node
        cdef uint32_t counts[256]
        cdef uint32_t rank, t, depth, length, common, before = 0, last_token = 0
        cdef const uint8_t* text
        cdef const uint8_t* last = NULL
        memset(counts, 0, sizeof(counts))
        node.end = node.first = 0
        node.depth = 0
        node.byte = 0
        self.nodes.push_back(node)
        self.parents.push_back(0)
        open_nodes.push_back(0)
        for rank in range(<uint32_t>self.order.size()):
            t = self.order[rank]
            text = self.data.data() + self.offsets[t]
            length = self.offsets[t + 1] - self.offsets[t]
            common = 0
            while common < length and common < before and text[common] == last[common]:
                common += 1
            if common < before and (common == length or text[common] < last[common]):
                return False
            if rank and common == before == length and t <= last_token:
                return False
            while open_nodes.size() > common + 1:
                counts[self.nodes[open_nodes.back()].byte] -= 1
                self.nodes[open_nodes.back()].end = <uint32_t>self.nodes.size()
                open_nodes.pop_back()
            for depth in range(common, length):
                node.first = rank
                node.depth = <uint16_t>(depth + 1)
                node.byte = text[depth]
                counts[node.byte] += 1
                self.max_count[node.byte] = max(self.max_count[node.byte], counts[node.byte])
                self.byte_offs[node.byte + 1] += 1
                self.parents.push_back(open_nodes.back())
                open_nodes.push_back(<uint32_t>self.nodes.size())
                self.nodes.push_back(node)
            self.max_token_bytes = max(self.max_token_bytes, length)
            last, before, last_token = text, length, t
        while open_nodes.size():
            self.nodes[open_nodes.back()].end = <uint32_t>self.nodes.size()
            open_nodes.pop_back()
        node.end = <uint32_t>self.nodes.size()
        node.first = <uint32_t>self.order.size()
        node.depth = 0
        self.nodes.push_back(node)
        self.index_nodes()
        self.index_characters()
        return True

    cdef void index_nodes(self) noexcept nogil:
        """Build the indices by node and by byte; ``byte_offs`` holds counts."""
        cdef uint32_t k, place, n = <uint32_t>self.nodes.size() - 1
        cdef uint32_t at[256]
        cdef uint8_t byte
        k = 1
        while k < self.nodes[0].end:
            self.first_nodes[self.nodes[k].byte] = k
            k = self.nodes[k].end
        for k in range(256):
            self.byte_offs[k + 1] += self.byte_offs[k]
            at[k] = self.byte_offs[k]
        self.byte_nodes.resize(n - 1)
        for k in range(1, n):
            self.byte_nodes[at[self.nodes[k].byte]] = k
            at[self.nodes[k].byte] += 1
        self.phases.assign(n, BOUNDARY)
        for k in range(1, n):
            self.phases[k] = phase_after(self.phases[self.parents[k]], self.nodes[k].byte)
        self.classes_below.assign(n, 0)
        for k in range(n - 1, 0, -1):
            byte = self.nodes[k].byte
            self.classes_below[self.parents[k]] |= self.classes_below[k] | (
                INVALID if self.phases[k] == BROKEN else class_bit(byte) if byte < 0x80 else MULTIBYTE)
        self.ordinary_words.assign(self.words, 0)
        set_bits(self.ordinary_words.data(), self.order.data(), self.order.size())
        self.lengths.resize(self.order.size())
        for k in range(n):
            for place in range(self.nodes[k].first, self.nodes[k + 1].first):
                self.lengths[place] = self.nodes[k].depth

    cdef void index_characters(self) noexcept nogil:
        """Count the characters that tokens begin, and list tokens that may end within one."""
        cdef uint32_t t, k, n
        cdef const uint8_t* text
        cdef vector[uint32_t] at
        self.by_chars.resize(self.order.size())
        self.begun.assign(self.size, 0)
        at.assign(self.max_token_bytes + 2, 0)
        for t in self.order:
            text = self.data.data() + self.offsets[t]
            n = self.offsets[t + 1] - self.offsets[t]
            self.begun[t] = <uint16_t>lead_bytes(text, n)
            at[self.begun[t] + 1] += 1
            k = 0
            while k < min(n, <uint32_t>3) and text[n - 1 - k] >> 6 == 2:
                k += 1
            # the last k bytes continue a character; 3 of them complete any
            if k < 3 and (k == n or k < continuations(text[n - 1 - k])):
                self.ragged.push_back(t)
        for k in range(1, <uint32_t>at.size()):
            at[k] += at[k - 1]
            self.char_offs.push_back(at[k])
        while self.char_offs.size() > 1 and self.char_offs[self.char_offs.size() - 2] == self.order.size():
            self.char_offs.pop_back()
        for t in self.order:
            self.by_chars[at[self.begun[t]]] = t
            at[self.begun[t]] += 1

    cdef uint32_t of_chars(self, uint32_t most) noexcept nogil:
        """Return how many tokens begin at most ``most`` characters: the first ones of ``by_chars``.
        """
        return self.char_offs[min(<size_t>most, self.char_offs.size() - 1)]


cdef uint32_t lead_bytes(const uint8_t* text, uint32_t n) noexcept nogil:
    """Return how many characters begin in a text."""
    cdef uint32_t k, found = 0
    for k in range(n):
        found += text[k] >> 6 != 2
    return found


cdef uint32_t continuations(uint8_t lead) noexcept nogil:
    """Return how many bytes follow the first byte of a character."""
    if lead < 0xC0:
        return 0
    return 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3
