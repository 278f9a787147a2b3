// Which items of an array, or keys of an object, were written, where they must differ from one another.
//
// The rows (rows.pxd) take an item's end for granted; whether it may end is decided here, from the text:
// JSON says by itself where an item begins and ends, and in which array it stands. Below, keys are
// items of their object.
//
//     [ {"a": [1, 2]}, {"a": [2|       levels: the outer array, the object, the inner array
//
// A Place is a value: matchers keep one for each token that was accepted, and copy it to try others.
//
// Equal    strings by their decoded text; numbers if they are the same double (beyond 2^53 two whole
//          numbers may be taken for equal that are not); arrays by their items in order; objects by
//          their members in any order, of repeated keys the last one. Values are known by 128 bits of
//          BLAKE2b, so no text can make two of them look equal.
// Cost     a byte: a few nanoseconds; the end of an item that begins like another one: its digest,
//          linear in its text; a further item: a copy of the digests so far.
// Not here which arrays these are (frontends), masks (masks), when an end is asked about (matcher).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "blake2b.h"

namespace distinct {

using Digest = std::pair<uint64_t, uint64_t>;

// The items so far, each list ascending: their digests, and how they begin (Canonical::beginning).
struct Used {
    std::vector<Digest> digests;
    std::vector<uint64_t> beginnings;
};

constexpr size_t NONE = ~size_t(0);
constexpr size_t BEGINNING = 7;    // bytes of a string by which most are told apart without a digest
constexpr int MOST_LEVELS = 1000;  // of a value; its text is taken as it stands below

// The canonical form of a JSON value, as bytes. The text is well-formed: rows have taken it.
class Canonical {
  public:
    explicit Canonical(const std::string& text, size_t at, size_t end) : text(text), at(at), end(end) {}

    Digest digest() {
        std::string out;
        value(out, 0);
        uint64_t found[2];
        blake2b::digest(out.data(), out.size(), found);
        return {found[0], found[1]};
    }

    // A string's quote and first bytes, of others a letter for their type, in one word.
    uint64_t beginning() {
        uint64_t c = peek();
        if (c != '"') return c == '{' || c == '[' || c == 't' || c == 'f' || c == 'n' ? c : '0';
        for (char one : string(BEGINNING).substr(0, BEGINNING)) c = c << 8 | uint8_t(one);
        return c;
    }

  private:
    const std::string& text;
    size_t at, end;

    uint8_t peek() const { return at < end ? uint8_t(text[at]) : 0; }

    void space() {
        while (at < end && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r')) at++;
    }

    static void length(std::string& out, size_t n) { out += std::to_string(n) + ":"; }

    void value(std::string& out, int depth) {
        space();
        uint8_t c = peek();
        if (depth > MOST_LEVELS) {
            out.append(text, at, end - at);
            at = end;
        } else if (c == '"') {
            std::string found = string();
            out += 's';
            length(out, found.size());
            out += found;
        } else if (c == '[') {
            array(out, depth);
        } else if (c == '{') {
            object(out, depth);
        } else {
            scalar(out);
        }
    }

    void scalar(std::string& out) {
        size_t first = at;
        while (at < end && text[at] != ',' && text[at] != ']' && text[at] != '}' && uint8_t(text[at]) > ' ') at++;
        std::string found = text.substr(first, at - first);
        if (found == "true" || found == "false" || found == "null") {
            out += found[0];
            return;
        }
        double number = std::strtod(found.c_str(), nullptr);
        if (number == 0) number = 0;  // no negative zero
        out += 'n';
        out.append(reinterpret_cast<const char*>(&number), sizeof number);
    }

    void array(std::string& out, int depth) {
        std::string inside;
        size_t n = 0;
        at++;
        for (space(); at < end && text[at] != ']'; space()) {
            value(inside, depth + 1);
            n++;
            space();
            if (peek() == ',') at++;
        }
        at++;
        out += 'a';
        length(out, n);
        out += inside;
    }

    void object(std::string& out, int depth) {
        std::vector<std::pair<std::string, std::string>> members;
        at++;
        for (space(); at < end && text[at] != '}'; space()) {
            std::string key = string(), inside;
            space();
            at++;  // the colon
            value(inside, depth + 1);
            members.emplace_back(std::move(key), std::move(inside));
            space();
            if (peek() == ',') at++;
        }
        at++;
        std::stable_sort(members.begin(), members.end(), [](auto& one, auto& other) { return one.first < other.first; });
        size_t n = 0;
        std::string found;
        for (size_t k = 0; k < members.size(); k++) {
            if (k + 1 < members.size() && members[k].first == members[k + 1].first) continue;  // the last one counts
            length(found, members[k].first.size());
            found += members[k].first + members[k].second;
            n++;
        }
        out += 'o';
        length(out, n);
        out += found;
    }

    uint32_t hex() {
        uint32_t found = 0;
        for (int k = 0; k < 4 && at < end; k++, at++) {
            char c = text[at];
            found = found << 4 | uint32_t(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
        }
        return found;
    }

    static void utf8(std::string& out, uint32_t c) {
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

    // A string's decoded text, at least so many bytes of it; behind its closing quote.
    std::string string(size_t most = NONE) {
        std::string out;
        at++;
        while (at < end && text[at] != '"' && out.size() < most) {
            char c = text[at++];
            if (c != '\\') {
                out += c;
                continue;
            }
            c = peek();
            at++;
            if (c == 'u') {
                uint32_t unit = hex();
                if (unit >> 10 == 0x36 && at + 1 < end) {  // the first of two surrogates
                    at += 2;
                    unit = 0x10000 + ((unit & 0x3FF) << 10 | (hex() & 0x3FF));
                }
                utf8(out, unit);
            } else {
                const char* named = "b\bf\fn\nr\rt\t";
                for (; *named && *named != c; named += 2) {}
                out += *named ? named[1] : c;
            }
        }
        at++;
        return out;
    }
};

struct Level {
    std::shared_ptr<const Used> used;     // the items so far that had to differ; null: none
    size_t start = NONE;                  // in the text: where the item begins that is written now
    bool is_array = false;
    bool is_due = true;                   // whether an item comes next
    bool asked = false;                   // whether this item must differ
};

class Place {
  public:
    bool is_open() const { return !levels.empty(); }

    // Whether the innermost bracket is the outermost.
    bool is_outermost() const { return levels.size() == 1; }

    // Whether an item was written from which another one must differ.
    bool has_used() const {
        for (auto& level : levels)
            if (level.used) return true;
        return false;
    }

    // An array begins whose items must differ, or an object; its bracket was read.
    void open(bool is_array) {
        levels.emplace_back();
        levels.back().is_array = is_array;
    }

    void read(uint8_t c) {
        if (levels.empty()) return;
        if (in_string) {
            text += char(c);
            if (is_escaped) is_escaped = false;
            else if (c == '\\') is_escaped = true;
            else if (c == '"') in_string = false;
            return;
        }
        if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
            text += char(c);
            return;
        }
        if (c == ',' || c == ']' || c == '}' || (c == ':' && !levels.back().is_array)) end_item();
        if (c == ']' || c == '}') levels.pop_back();
        if (levels.empty()) {
            *this = Place();
            return;
        }
        if (c == ',') levels.back().is_due = true;
        if (c == ',' && levels.size() == 1) text.clear();
        else text += char(c);
        if (c == ',' || c == ']' || c == '}' || c == ':') return;
        Level& level = levels.back();
        if (level.is_due) level.start = text.size() - 1;
        level.is_due = false;
        if (c == '"') in_string = true;
        if (c == '[' || c == '{') {
            levels.emplace_back();
            levels.back().is_array = c == '[';
        }
    }

    // Whether the item that may end here was written before in its array; it must differ, it is said.
    bool repeats() {
        Level& level = levels.back();
        level.asked = true;
        if (!level.used || level.start == NONE) return false;
        const uint64_t begun = Canonical(text, level.start, text.size()).beginning();
        auto& known = level.used->beginnings;
        if (!std::binary_search(known.begin(), known.end(), begun)) return false;
        return std::binary_search(
            level.used->digests.begin(), level.used->digests.end(),
            Canonical(text, level.start, text.size()).digest());
    }

  private:
    std::vector<Level> levels;
    std::string text;  // of the outermost array, from its last comma on
    bool in_string = false, is_escaped = false;

    void end_item() {
        Level& level = levels.back();
        if (level.asked && level.start != NONE) {
            Digest one = Canonical(text, level.start, text.size()).digest();
            uint64_t begun = Canonical(text, level.start, text.size()).beginning();
            auto made = level.used ? std::make_shared<Used>(*level.used) : std::make_shared<Used>();
            made->digests.insert(std::lower_bound(made->digests.begin(), made->digests.end(), one), one);
            auto place = std::lower_bound(made->beginnings.begin(), made->beginnings.end(), begun);
            if (place == made->beginnings.end() || *place != begun) made->beginnings.insert(place, begun);
            level.used = std::move(made);
        }
        level.asked = false;
        level.start = NONE;
    }
};

}  // namespace distinct
