"""Vocabulary: see the header file for the representation."""

from hashlib import blake2b


from .tokenizer_bytes import huggingface_tokens

cdef enum:
    ORDINARY = 0
    SPECIAL = 1
    STOP = 2
    EMPTY = 3


cdef class Vocabulary:
    """Token bytes by id, with the ids that stop a text and those that match by id only.

    Args:
        tokens: the bytes of every token by id; an empty one is never allowed.
        stop_token_ids: ids that end a text; they match nothing but a token edge of their own.
        special_token_ids: ids that never match bytes (control tokens); stop ids count among them.
        encode: text -> ids of the model's own tokenizer, for ``Matcher.forced_tokens`` only.

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
                raise ValueError(f"token id {number} is not in a vocabulary of {self.size}")
        self.fingerprint = self._digest()
        self._load()
        with nogil:
            self.build_trie()

    @classmethod
    def from_huggingface(cls, tokenizer, *, stop_token_ids=None, size=None):
        """The vocabulary of a Hugging Face tokenizer.

        Byte-level BPE, or SentencePiece with byte fallback. ``size`` pads with empty tokens up to
        the model's own width; ``stop_token_ids`` defaults to the tokenizer's ``eos_token_id``.
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
        """Identity for caches: the tokens without trailing empty ones, and the special ids.

        Left out on purpose are stop ids, padding and mask width: no automaton-only mask depends
        on them.
        """
        cdef Py_ssize_t n = self.size
        while n and not self.tokens[n - 1]:
            n -= 1
        digest = blake2b(digest_size=16)
        digest.update(b"".join(b"%d:" % len(token) + token for token in self.tokens[:n]))
        digest.update(repr([i for i in self.special_token_ids if i < n]).encode())
        return digest.hexdigest()

    @property
    def trie_nodes(self):
        """Nodes of the token trie, the root included."""
        return self.nodes.size() - 1

    def special_texts(self):
        """Text of every special token -> its id; tokens that aren't text are left out."""
        found = {}
        for number in self.special_token_ids:
            try:
                text = self.tokens[number].decode()
            except UnicodeDecodeError:
                continue
            if text:
                found.setdefault(text, number)
        return found

    def _load(self):
        """Copies the bytes into flat arrays and sorts the ordinary ids by their bytes."""
        cdef uint32_t t, i
        cdef uint32_t counts[256]
        cdef bytes token
        cdef const uint8_t[:] view
        self.kind.assign(self.size, ORDINARY)
        for number in self.special_token_ids:
            self.kind[number] = SPECIAL
        for number in self.stop_token_ids:
            self.kind[number] = STOP
            self.stops.push_back(number)
        self.offsets.reserve(self.size + 1)
        self.max_token_bytes = 0
        for i in range(256):
            self.max_count[i] = 0
        for t, token in enumerate(self.tokens):
            self.offsets.push_back(<uint32_t>self.data.size())
            if len(token) > 0xFFFF:
                raise ValueError(f"token {t} is {len(token)} bytes long; at most 65,535 are possible")
            if not token:
                if self.kind[t] == ORDINARY:
                    self.kind[t] = EMPTY
                continue
            view = token
            self.data.insert(self.data.end(), &view[0], &view[0] + len(token))
            if self.kind[t] != ORDINARY:
                continue
            self.max_token_bytes = max(self.max_token_bytes, <uint32_t>len(token))
            for i in range(256):
                counts[i] = 0
            for i in range(<uint32_t>len(token)):
                counts[view[i]] += 1
                if counts[view[i]] > self.max_count[view[i]]:
                    self.max_count[view[i]] = counts[view[i]]
        self.offsets.push_back(<uint32_t>self.data.size())
        tokens = self.tokens
        for number in sorted((n for n in range(self.size) if self.kind[n] == ORDINARY),
                             key=tokens.__getitem__):
            self.order.push_back(number)

    cdef uint32_t child(self, uint32_t node, uint8_t byte) noexcept nogil:
        """The child of a node by its byte, 0 if there is none."""
        cdef uint32_t at = node + 1, end = self.nodes[node].end
        if node == 0:
            return self.first_nodes[byte]
        while at < end and self.nodes[at].byte < byte:
            at = self.nodes[at].end
        return at if at < end and self.nodes[at].byte == byte else 0

    cdef void build_trie(self) noexcept nogil:
        """One pass over the sorted tokens; a node is closed when a token leaves its prefix."""
        cdef vector[uint32_t] open_nodes
        cdef TrieNode node
        cdef uint32_t rank, t, depth, length, common, before = 0
        cdef uint8_t* text
        cdef uint8_t* last = NULL
        node.end = node.first = 0
        node.depth = 0
        node.byte = 0
        self.nodes.push_back(node)
        open_nodes.push_back(0)
        for rank in range(<uint32_t>self.order.size()):
            t = self.order[rank]
            text = self.data.data() + self.offsets[t]
            length = self.offsets[t + 1] - self.offsets[t]
            common = 0
            while common < length and common < before and text[common] == last[common]:
                common += 1
            while open_nodes.size() > common + 1:
                self.nodes[open_nodes.back()].end = <uint32_t>self.nodes.size()
                open_nodes.pop_back()
            for depth in range(common, length):
                node.first = rank
                node.depth = <uint16_t>(depth + 1)
                node.byte = text[depth]
                open_nodes.push_back(<uint32_t>self.nodes.size())
                self.nodes.push_back(node)
            last = text
            before = length
        while open_nodes.size():
            self.nodes[open_nodes.back()].end = <uint32_t>self.nodes.size()
            open_nodes.pop_back()
        node.end = <uint32_t>self.nodes.size()
        node.first = <uint32_t>self.order.size()
        node.depth = 0
        self.nodes.push_back(node)
        for depth in range(256):
            self.first_nodes[depth] = 0
        rank = 1
        while rank < self.nodes[0].end:
            self.first_nodes[self.nodes[rank].byte] = rank
            rank = self.nodes[rank].end
        self.index_bytes()
        self.list_ragged()

    cdef void list_ragged(self) noexcept nogil:
        """The tokens whose last bytes begin a character without ending it, or could."""
        cdef uint32_t rank, t, k, n
        cdef uint8_t* text
        for rank in range(<uint32_t>self.order.size()):
            t = self.order[rank]
            text = self.data.data() + self.offsets[t]
            n = self.offsets[t + 1] - self.offsets[t]
            k = 0
            while k < min(n, <uint32_t>3) and text[n - 1 - k] >> 6 == 2:
                k += 1
            # k bytes go on with a character; 3 of them end any
            if k < 3 and (k == n or k < continuations(text[n - 1 - k])):
                self.ragged.push_back(t)

    cdef void index_bytes(self) noexcept nogil:
        """Parents, and the nodes sorted by their bytes."""
        cdef uint32_t k, n = <uint32_t>self.nodes.size() - 1
        cdef uint32_t at[256]
        cdef vector[uint32_t] path
        path.assign(self.max_token_bytes + 2, 0)
        self.parents.assign(n, 0)
        for k in range(1, n):
            self.parents[k] = path[self.nodes[k].depth - 1]
            path[self.nodes[k].depth] = k
        for k in range(257):
            self.byte_offs[k] = 0
        for k in range(1, n):
            self.byte_offs[self.nodes[k].byte + 1] += 1
        for k in range(256):
            self.byte_offs[k + 1] += self.byte_offs[k]
        for k in range(256):
            at[k] = self.byte_offs[k]
        self.byte_nodes.resize(n - 1)
        for k in range(1, n):
            self.byte_nodes[at[self.nodes[k].byte]] = k
            at[self.nodes[k].byte] += 1


cdef uint32_t continuations(uint8_t lead) noexcept nogil:
    """How many bytes follow the first one of a character."""
    if lead < 0xC0:
        return 0
    return 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3
