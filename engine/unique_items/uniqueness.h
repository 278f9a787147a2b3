// The items of an open array, or the keys of an open object, that must be unique.
//
// Rows (rows.pxd) do not know whether an item repeats an earlier one; this depends on the text.
// JSON itself shows where an item begins and ends, and in which array. In this file, keys are items
// of their object.
//
//     [ {"a": [1, 2]}, {"a": [2|       levels: the outer array, the object, the inner array
//
// Canonical   A text without white space. Characters are raw unless JSON requires an escape (then
//             \u00xx). Numbers have no exponent and no insignificant zeros. Members keep their order.
// Equal       strings with equal decoded texts; numbers with equal values; arrays with equal items in
//             order; objects with equal members in any order, where the last of repeated keys counts.
//             Items without objects are compared as canonical texts, others by 128 bits of BLAKE2b
//             over the canonical text with sorted members.
// Used        The items so far, in sorted runs of doubling sizes: immutable, shared by forks and by
//             all states of a text. A Cursor is the part of them that begins like the current item.
// State       UniquenessState is a value. Matchers keep one for each accepted token, and copy it to
//             try others. Copies share the text, which only grows; a state that diverges copies it.
// Cost        a byte: a few nanoseconds. The end of an item: O(log n) amortised. A copy: O(levels).
// Threads     read and copied under the arena's mutex.
// Not here    which arrays are unique (front ends), counting continuations (continuations).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "native/blake2b.h"

namespace unique_items {

using Digest = std::pair<uint64_t, uint64_t>;
using Shared = std::shared_ptr<const std::string>;

constexpr size_t NONE = ~size_t(0);
constexpr int MAX_LEVELS = 1000;    // nesting of a compared value; deeper text is compared as written
constexpr long MAX_ZEROS = 400;     // a number with more zeros keeps its exponent
constexpr long MAX_EXPONENT = 1000000000;

// The position of a byte within a value. PENDING: after a point and zeros that may be
// insignificant.
enum Mode : uint8_t { OUTSIDE, STRING, NEGATIVE, WHOLE, FRACTION, PENDING, EXPONENT };

inline bool is_number(Mode mode) { return mode >= NEGATIVE; }

inline bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

inline bool is_space(uint8_t c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// The mode after a byte of a number.
inline Mode after(Mode mode, uint8_t c) {
    if (c == 'e' || c == 'E' || mode == EXPONENT) return EXPONENT;
    if (c == '.') return PENDING;
    if (c == '-') return NEGATIVE;
    if (mode == FRACTION || mode == PENDING) return c == '0' ? PENDING : FRACTION;
    return WHOLE;
}

inline void put_utf8(std::string& out, uint32_t c) {
    if (c < 0x80) {
        out += char(c);
    } else if (c < 0x800) {
        out += {char(0xC0 | c >> 6), char(0x80 | (c & 0x3F))};
    } else if (c < 0x10000) {
        out += {char(0xE0 | c >> 12), char(0x80 | (c >> 6 & 0x3F)), char(0x80 | (c & 0x3F))};
    } else {
        out += {char(0xF0 | c >> 18), char(0x80 | (c >> 12 & 0x3F)), char(0x80 | (c >> 6 & 0x3F)),
                char(0x80 | (c & 0x3F))};
    }
}

inline bool is_escaped(uint32_t c) { return c < 0x20 || c == '"' || c == '\\'; }

inline void put_character(std::string& out, uint32_t c) {
    const char* digits = "0123456789abcdef";
    if (is_escaped(c)) out += {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
    else put_utf8(out, c);
}

// Whether an escape is complete; a surrogate pair needs both halves.
inline bool is_whole(std::string_view escape) {
    if (escape.size() < 2 || escape[1] != 'u') return escape.size() >= 2;
    if (escape.size() < 6) return false;
    const bool is_pair = (escape[2] | 0x20) == 'd' && std::string_view("89abAB").find(escape[3]) != std::string_view::npos;
    return escape.size() >= (is_pair ? 12 : 6);
}

inline uint32_t hex(std::string_view digits) { return uint32_t(std::strtoul(std::string(digits).c_str(), nullptr, 16)); }

// The canonical text of a complete escape.
inline std::string unescaped(std::string_view escape) {
    uint32_t found = 0;
    if (escape[1] == 'u') {
        found = hex(escape.substr(2, 4));
        if (escape.size() == 12) found = 0x10000 + ((found & 0x3FF) << 10 | (hex(escape.substr(8)) & 0x3FF));
    } else {
        const char* named = "b\bf\fn\nr\rt\t";
        for (; *named && *named != escape[1]; named += 2) {}
        found = uint8_t(*named ? named[1] : escape[1]);
    }
    std::string text;
    put_character(text, found);
    return text;
}

// The canonical text of a number.
inline std::string number_text(std::string_view text) {
    size_t at = !text.empty() && text[0] == '-';
    std::string digits;
    long point = -1, exponent = 0;
    for (; at < text.size() && text[at] != 'e' && text[at] != 'E'; at++) {
        if (text[at] == '.') point = long(digits.size());
        else digits += text[at];
    }
    if (point < 0) point = long(digits.size());
    if (at < text.size()) exponent = std::strtol(std::string(text.substr(at + 1)).c_str(), nullptr, 10);
    point += std::clamp(exponent, -MAX_EXPONENT, MAX_EXPONENT);
    size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
    digits.erase(0, zeros);
    point -= long(zeros);
    while (!digits.empty() && digits.back() == '0') digits.pop_back();
    if (digits.empty()) return "0";
    const std::string sign = text[0] == '-' ? "-" : "";
    const long n = long(digits.size());
    if (point > n + MAX_ZEROS || point < -MAX_ZEROS) return sign + digits + 'E' + std::to_string(point);
    if (point >= n) return sign + digits + std::string(size_t(point - n), '0');
    if (point > 0) return sign + digits.substr(0, size_t(point)) + '.' + digits.substr(size_t(point));
    return sign + "0." + std::string(size_t(-point), '0') + digits;
}

// The digits of a number without its exponent, as a canonical text. Zero has no other value.
inline std::string significant(std::string_view text) {
    std::string found = number_text(text.substr(0, text.find_first_of("eE")));
    found.erase(std::remove(found.begin(), found.end(), '.'), found.end());
    const size_t sign = found[0] == '-', last = found.find_last_not_of('0');
    if (last == std::string::npos) return "0";
    found.erase(last + 1);
    found.erase(sign, found.find_first_not_of('0', sign) - sign);
    return found;
}

// Sorts the members of the objects in a canonical text.
class MemberSorter {
  public:
    explicit MemberSorter(std::string_view text) : text(text) {}

    Digest digest() {
        std::string out;
        value(out, 0);
        uint64_t found[2];
        blake2b::digest(out.data(), out.size(), found);
        return {found[0], found[1]};
    }

  private:
    std::string_view text;
    size_t at = 0;

    uint8_t peek() const { return at < text.size() ? uint8_t(text[at]) : 0; }

    void value(std::string& out, int depth) {
        if (depth > MAX_LEVELS) {
            out += text.substr(at);
            at = text.size();
        } else if (peek() == '[') {
            do {
                out += text[at++];
                if (peek() != ']') value(out, depth + 1);
            } while (peek() == ',');
            out += text[at++];
        } else if (peek() == '{') {
            object(out, depth);
        } else {
            scalar(out);
        }
    }

    void scalar(std::string& out) {
        size_t first = at;
        if (peek() == '"')
            for (at++; peek() && peek() != '"'; at++) {}
        while (at < text.size() && text[at] != ',' && text[at] != ']' && text[at] != '}' && text[at] != ':') at++;
        out += text.substr(first, at - first);
    }

    void object(std::string& out, int depth) {
        std::vector<std::pair<std::string, std::string>> members;
        do {
            at++;
            if (peek() == '}') break;
            std::string key, inside;
            scalar(key);
            at++;  // the colon
            value(inside, depth + 1);
            members.emplace_back(std::move(key), std::move(inside));
        } while (peek() == ',');
        at++;
        std::stable_sort(members.begin(), members.end(), [](auto& one, auto& other) { return one.first < other.first; });
        out += '{';
        for (size_t k = 0; k < members.size(); k++) {
            if (k + 1 < members.size() && members[k].first == members[k + 1].first) continue;  // the last one counts
            out += members[k].first + ':' + members[k].second + ',';
        }
        out += '}';
    }
};

// Items sorted by their texts, and the sorted digests of those with objects.
struct SortedRun {
    std::vector<Shared> texts;
    std::vector<Digest> digests;
};

struct Used {
    std::vector<std::shared_ptr<const SortedRun>> runs;  // the largest first
    uint32_t n = 0;

    bool has(std::string_view text) const {
        for (auto& run : runs) {
            auto found = std::lower_bound(
                run->texts.begin(), run->texts.end(), text, [](auto& one, auto other) { return *one < other; });
            if (found != run->texts.end() && **found == text) return true;
        }
        return false;
    }

    bool has(const Digest& digest) const {
        for (auto& run : runs)
            if (std::binary_search(run->digests.begin(), run->digests.end(), digest)) return true;
        return false;
    }

    static std::shared_ptr<const Used> add(const Used* before, std::string_view text, bool has_object) {
        auto made = before ? std::make_shared<Used>(*before) : std::make_shared<Used>();
        auto run = std::make_shared<SortedRun>();
        run->texts.push_back(std::make_shared<const std::string>(text));
        if (has_object) run->digests.push_back(MemberSorter(text).digest());
        while (!made->runs.empty() && made->runs.back()->texts.size() <= run->texts.size()) {
            auto both = std::make_shared<SortedRun>();
            auto& other = *made->runs.back();
            std::merge(
                other.texts.begin(), other.texts.end(), run->texts.begin(), run->texts.end(),
                std::back_inserter(both->texts), [](auto& one, auto& two) { return *one < *two; });
            std::merge(
                other.digests.begin(), other.digests.end(), run->digests.begin(), run->digests.end(),
                std::back_inserter(both->digests));
            made->runs.pop_back();
            run = std::move(both);
        }
        made->runs.push_back(std::move(run));
        made->n++;
        return made;
    }
};

// The used items that begin like the current item.
class Cursor {
  public:
    // Of a number in mode PENDING, or a negative zero so far: the items with the same value, which
    // are written differently.
    uint32_t carried = 0;
    // Of a number with an exponent so far: the items with its digits and any exponent, and the
    // items with its value.
    uint32_t raised = 0, equal = 0;
    bool is_minus_zero = false;

    Cursor() = default;

    explicit Cursor(const Used* used) {
        for (auto& run : used->runs) parts[n++] = {run.get(), 0, uint32_t(run->texts.size())};
    }

    Cursor(const Cursor& other) { *this = other; }

    Cursor& operator=(const Cursor& other) {
        carried = other.carried, raised = other.raised, equal = other.equal, is_minus_zero = other.is_minus_zero;
        n = other.n, depth = other.depth;
        std::copy(other.parts, other.parts + other.n, parts);
        return *this;
    }

    uint32_t total() const {
        uint32_t found = 0;
        for (uint32_t k = 0; k < n; k++) found += parts[k].hi - parts[k].lo;
        return found;
    }

    // The rest of the k-th item.
    std::string_view rest(uint32_t k) const {
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t size = parts[i].hi - parts[i].lo;
            if (k < size) return std::string_view(*parts[i].run->texts[parts[i].lo + k]).substr(depth);
            k -= size;
        }
        return {};
    }

    // Of a number: the items with its value.
    uint32_t ended(Mode mode) const { return mode == PENDING || is_minus_zero ? carried : total() - count('.', 'E'); }
    // Of a number: the other items that begin like it.
    uint32_t longer(Mode mode) const { return mode == PENDING || is_minus_zero ? total() : count('.', 'E'); }

    // The number of items whose next byte is in a range.
    uint32_t count(int low, int high) const {
        uint32_t found = 0;
        for (uint32_t k = 0; k < n; k++) found += bound(parts[k], high + 1) - bound(parts[k], low);
        return found;
    }

    void narrow(uint8_t c) {
        uint32_t kept = 0;
        for (uint32_t k = 0; k < n; k++) {
            const Slice part{parts[k].run, bound(parts[k], c), bound(parts[k], c + 1)};
            if (part.lo < part.hi) parts[kept++] = part;
        }
        n = kept;
        depth++;
    }

    void narrow(std::string_view text) {
        for (char c : text) {
            if (!n) return;
            narrow(uint8_t(c));
        }
    }

    // Read one more byte of a number that was in this mode.
    void narrow_number(Mode mode, uint8_t c) {
        const Mode now = after(mode, c);
        if (c == '-') {
            Cursor zero = *this;
            zero.narrow('0');
            carried = zero.ended(WHOLE);
            is_minus_zero = true;
        } else if (is_minus_zero) {
            is_minus_zero = c == '0' || c == '.';
            if (!is_minus_zero) carried = 0;
        } else if (now != PENDING) {
            carried = 0;
        } else if (mode != PENDING) {
            carried = ended(mode);
        }
        narrow(c);
    }

    // Read the part of a number with an exponent that is written so far; the items stay.
    void raise(std::string_view number) {
        const std::string digits = significant(number), value = number_text(number);
        is_minus_zero = digits == "0";
        for (uint32_t k = 0, all = total(); k < all; k++) {
            std::string_view other = rest(k);
            if (other.empty() || (other[0] != '-' && !is_digit(uint8_t(other[0])))) continue;
            other = other.substr(0, other.find_first_of(",]}"));
            raised += significant(other) == digits;
            equal += other == value;
        }
    }

    void narrow_escape(std::string_view escape) { narrow(unescaped(escape)); }

    // The number of items whose next character can complete an unfinished escape.
    uint32_t begun(std::string_view escape) const;

    // The possible next bytes, as a bitset.
    void next(uint64_t* bits) const {
        for (uint32_t k = 0; k < n; k++)
            for (uint32_t at = bound(parts[k], 0); at < parts[k].hi;) {
                const uint8_t c = byte(parts[k], at);
                bits[c >> 6] |= uint64_t(1) << (c & 63);
                at = at + 1 < parts[k].hi ? bound({parts[k].run, at, parts[k].hi}, c + 1) : at + 1;
            }
    }

  private:
    struct Slice {
        const SortedRun* run;
        uint32_t lo, hi;
    };

    Slice parts[33];  // runs double in size
    uint32_t n = 0, depth = 0;

    uint8_t byte(const Slice& part, uint32_t at) const { return uint8_t((*part.run->texts[at])[depth]); }

    // The first item of a slice whose next byte is at least c; items without a next byte come
    // first.
    uint32_t bound(const Slice& part, int c) const {
        uint32_t lo = part.lo, hi = part.hi;
        while (lo < hi) {
            const uint32_t middle = (lo + hi) / 2;
            const std::string& text = *part.run->texts[middle];
            if (text.size() <= depth || uint8_t(text[depth]) < c) lo = middle + 1;
            else hi = middle;
        }
        return lo;
    }

    // The number of items whose next character, written raw, is in a range.
    uint32_t raw(uint32_t low, uint32_t high) const;
};

inline uint32_t Cursor::raw(uint32_t low, uint32_t high) const {
    std::string first, last;
    put_utf8(first, low);
    put_utf8(last, high);
    last += '\xFF';
    uint32_t found = 0;
    auto below = [this](const Shared& one, const std::string& other) { return one->compare(depth, NONE, other) < 0; };
    for (uint32_t k = 0; k < n; k++) {
        auto begin = parts[k].run->texts.begin() + bound(parts[k], 0), end = parts[k].run->texts.begin() + parts[k].hi;
        found += uint32_t(std::lower_bound(begin, end, last, below) - std::lower_bound(begin, end, first, below));
    }
    for (uint32_t c : {'"', '\\'})
        if (low <= c && c <= high) found -= count(int(c), int(c));
    return found;
}

inline uint32_t Cursor::begun(std::string_view escape) const {
    if (escape.size() < 3) return total() - count('"', '"');
    const bool is_pair = escape.size() > 8;  // has digits of the second half
    std::string_view digits = escape.size() >= 6 && !is_pair ? escape.substr(2, 4) : escape.substr(is_pair ? 8 : 2);
    const uint32_t left = 4 * (4 - uint32_t(digits.size())), low = hex(digits) << left, high = low | ((1u << left) - 1);
    if (is_pair) {
        const uint32_t lead = 0x10000 + ((hex(escape.substr(2, 4)) & 0x3FF) << 10);
        const uint32_t least = std::max(low, 0xDC00u), most = std::min(high, 0xDFFFu);
        return least > most ? 0 : raw(lead + (least & 0x3FF), lead + (most & 0x3FF));
    }
    uint32_t found = 0;
    if (low < 0xD800) found += raw(low, std::min(high, 0xD7FFu));
    if (high >= 0xE000) found += raw(std::max(low, 0xE000u), high);
    if (low < 0xDC00 && high >= 0xD800) {
        const uint32_t least = std::max(low, 0xD800u), most = std::min(high, 0xDBFFu);
        found += raw(0x10000 + ((least & 0x3FF) << 10), 0x10000 + ((most & 0x3FF) << 10 | 0x3FF));
    }
    if (count('\\', '\\'))
        for (uint32_t c = low; c <= std::min(high, uint32_t('\\')); c++)
            if (is_escaped(c)) {
                std::string text;
                put_character(text, c);
                Cursor made = *this;
                made.narrow(text);
                found += made.total();
            }
    return found;
}

// A text that several states share, each up to its own length.
class SharedText {
  public:
    size_t size() const { return n; }

    std::string_view from(size_t start) const { return bytes ? std::string_view(*bytes).substr(start, n - start) : ""; }

    void push(char c) {
        own();
        bytes->push_back(c);
        n++;
    }

    void replace(size_t start, const std::string& text) {
        if (from(start) == text) return;
        n = start;
        own();
        *bytes += text;
        n += text.size();
    }

    void clear() {
        bytes.reset();
        n = 0;
    }

    // A copy that others may extend, one after the other, after they ``use`` it.
    std::shared_ptr<std::string> copy() const { return std::make_shared<std::string>(from(0)); }
    void use(const std::shared_ptr<std::string>& copied) {
        bytes = copied;
        bytes->resize(n);
    }

  private:
    std::shared_ptr<std::string> bytes;
    size_t n = 0;

    void own() {
        if (!bytes || bytes->size() != n) bytes = std::make_shared<std::string>(bytes ? bytes->substr(0, n) : "");
    }
};

struct Level {
    std::shared_ptr<const Used> used;     // the items so far that must be unique; null: none
    size_t start = NONE;                  // where the current item begins in the text
    bool is_array = false;
    bool is_due = true;                   // whether an item comes next
    bool is_unique = false;                   // whether the current item must be unique
    bool has_object = false;              // whether the current item contains an object
};

class UniquenessState {
  public:
    bool is_open() const { return !levels.empty(); }

    // Whether an item was written that later ones must not repeat.
    bool has_used() const {
        for (auto& level : levels)
            if (level.used || level.is_unique) return true;
        return false;
    }

    // Whether a comma would end an item that must be unique.
    bool may_end() const { return !levels.empty() && levels.back().is_unique; }

    uint32_t depth() const { return uint32_t(levels.size()); }
    Mode mode() const { return now; }
    std::string_view escape() const { return begun; }

    // The number of items of a level that its current or next item must not repeat.
    uint32_t used(uint32_t level) const {
        const Level& own = levels[level];
        return own.used && (own.is_due || own.start != NONE) ? own.used->n : 0;
    }

    // Those of them that begin like the current item.
    Cursor cursor(uint32_t level) const {
        const Level& own = levels[level];
        Cursor found(own.used.get());
        if (own.start == NONE) return found;
        std::string_view text = canon.from(own.start);
        if (!is_number(now)) {
            found.narrow(text);
            return found;
        }
        found.narrow(text.substr(0, number - own.start));
        if (now == EXPONENT) {
            found.raise(canon.from(number));
            return found;
        }
        Mode mode = OUTSIDE;
        for (char c : text.substr(number - own.start)) {
            found.narrow_number(mode, uint8_t(c));
            mode = after(mode, uint8_t(c));
        }
        return found;
    }

    // A bracket opened an array with unique items, or an object.
    void open(bool is_array) {
        levels.emplace_back();
        levels.back().is_array = is_array;
    }

    void read(uint8_t c) {
        if (levels.empty()) return;
        if (now == STRING) return read_inside(c);
        if (is_number(now)) {
            if (is_digit(c) || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-') {
                canon.push(char(c));
                now = after(now, c);
                return;
            }
            canon.replace(number, number_text(canon.from(number)));
            now = OUTSIDE;
        }
        if (!is_space(c)) read_outside(c);
    }

    // Whether the item that may end here repeats an earlier one; marks it as one that must be
    // unique.
    bool repeats() {
        Level& level = levels.back();
        level.is_unique = true;
        if (!level.used || level.start == NONE) return false;
        std::string_view text = canon.from(level.start);
        if (level.has_object) return level.used->has(MemberSorter(text).digest());
        return is_number(now) ? level.used->has(number_text(text)) : level.used->has(text);
    }

    friend class UniquenessSnapshot;

  private:
    std::vector<Level> levels;
    SharedText canon;            // the canonical text of the outermost array, from its last comma on
    std::string begun;     // within a string: an incomplete escape
    size_t number = NONE;  // where the current number begins
    Mode now = OUTSIDE;

    void read_inside(uint8_t c) {
        if (begun.empty() && c != '\\') {
            canon.push(char(c));
            if (c == '"') now = OUTSIDE;
            return;
        }
        begun += char(c);
        if (!is_whole(begun)) return;
        for (char one : unescaped(begun)) canon.push(one);
        begun.clear();
    }

    void read_outside(uint8_t c) {
        if (c == ',' || c == ']' || c == '}' || (c == ':' && !levels.back().is_array)) end_item();
        if (c == ']' || c == '}') levels.pop_back();
        if (levels.empty()) {
            *this = UniquenessState();
            return;
        }
        if (c == ',') levels.back().is_due = true;
        if (c == ',' && levels.size() == 1) {
            canon.clear();
            return;
        }
        const size_t at = canon.size();
        canon.push(char(c));
        if (c == ',' || c == ']' || c == '}' || c == ':') return;
        Level& level = levels.back();
        if (level.is_due) level.start = at;
        level.is_due = false;
        if (c == '"') now = STRING;
        if (c == '-' || is_digit(c)) now = after(OUTSIDE, c), number = at;
        if (c == '{')
            for (auto& each : levels) each.has_object = true;
        if (c == '[' || c == '{') open(c == '[');
    }

    void end_item() {
        Level& level = levels.back();
        if (level.is_unique && level.start != NONE)
            level.used = Used::add(level.used.get(), canon.from(level.start), level.has_object);
        level.is_unique = level.has_object = false;
        level.start = NONE;
    }
};

// Restores one state again and again without copying the text each time.
class UniquenessSnapshot {
  public:
    UniquenessSnapshot() = default;
    explicit UniquenessSnapshot(const UniquenessState& before) : before(before), copied(before.canon.copy()) {}

    void begin(UniquenessState& at) const {
        at = before;
        at.canon.use(copied);
    }

  private:
    UniquenessState before;
    std::shared_ptr<std::string> copied;
};

}  // namespace unique_items
