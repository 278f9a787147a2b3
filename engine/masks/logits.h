// Apply a mask to one row of logits.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

// One function for each generation of processors; the loader selects one. ThreadSanitizer is not
// ready at that time.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

namespace logits {

constexpr float RULED_OUT = -std::numeric_limits<float>::infinity();
constexpr size_t LANES = 32;

struct Bits {
    uint32_t of[LANES];
    constexpr Bits() : of() {
        for (size_t t = 0; t < LANES; t++) of[t] = uint32_t(1) << t;
    }
};
// A table instead of shifts: the vector units of old processors cannot shift by lane number.
alignas(64) constexpr Bits BITS;

FOR_EACH_PROCESSOR inline void rule_out(float* row, const uint32_t* words, size_t width) {
    size_t full = width / LANES;
    for (size_t k = 0; k < full; k++) {
        uint32_t word = words[k];
        float* out = row + LANES * k;
        if (word == ~uint32_t(0)) continue;
        if (word == 0)
            for (size_t t = 0; t < LANES; t++) out[t] = RULED_OUT;
        else
            for (size_t t = 0; t < LANES; t++) out[t] = word & BITS.of[t] ? out[t] : RULED_OUT;
    }
    for (size_t t = LANES * full; t < width; t++)
        if (!(words[full] & BITS.of[t % LANES])) row[t] = RULED_OUT;
}

}  // namespace logits
