/* XXH64: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
 *
 * Four sums take 32 bytes in turn; what is left is mixed in eight, four and single bytes. */
#include "files/checksum.h"

#include <stdbool.h>
#include <string.h>

#define PRIME_1 UINT64_C(0x9e3779b185ebca87)
#define PRIME_2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define PRIME_3 UINT64_C(0x165667b19e3779f9)
#define PRIME_4 UINT64_C(0x85ebca77c2b2ae63)
#define PRIME_5 UINT64_C(0x27d4eb2f165667c5)

static inline uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

/* Little-endian, as this machine is (files/safetensors.c). */
static inline uint64_t eight(const unsigned char *at)
{
    uint64_t x;
    memcpy(&x, at, sizeof x);
    return x;
}

static inline uint64_t four(const unsigned char *at)
{
    uint32_t x;
    memcpy(&x, at, sizeof x);
    return x;
}

static inline uint64_t round_of(uint64_t sum, uint64_t input)
{
    return rotate(sum + input * PRIME_2, 31) * PRIME_1;
}

static inline uint64_t merge(uint64_t sum, uint64_t lane)
{
    return (sum ^ round_of(0, lane)) * PRIME_1 + PRIME_4;
}

/* The sum of all whole stripes of 32 bytes; *at is then behind them. */
static uint64_t stripes(const unsigned char **at, const unsigned char *end, uint64_t seed)
{
    uint64_t a = seed + PRIME_1 + PRIME_2, b = seed + PRIME_2, c = seed, d = seed - PRIME_1;
    const unsigned char *p = *at;
    for (; end - p >= 32; p += 32) {
        a = round_of(a, eight(p));
        b = round_of(b, eight(p + 8));
        c = round_of(c, eight(p + 16));
        d = round_of(d, eight(p + 24));
    }
    *at = p;
    uint64_t sum = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
    return merge(merge(merge(merge(sum, a), b), c), d);
}

static uint64_t avalanche(uint64_t sum)
{
    sum = (sum ^ sum >> 33) * PRIME_2;
    sum = (sum ^ sum >> 29) * PRIME_3;
    return sum ^ sum >> 32;
}

uint64_t wgi_xxh64(const void *bytes, size_t size, uint64_t seed)
{
    const unsigned char *at = size ? bytes : (const unsigned char *)"", *end = at + size;
    uint64_t sum = size >= 32 ? stripes(&at, end, seed) : seed + PRIME_5;
    sum += size;
    for (; end - at >= 8; at += 8)
        sum = rotate(sum ^ round_of(0, eight(at)), 27) * PRIME_1 + PRIME_4;
    for (; end - at >= 4; at += 4)
        sum = rotate(sum ^ four(at) * PRIME_1, 23) * PRIME_2 + PRIME_3;
    for (; at < end; at++)
        sum = rotate(sum ^ *at * PRIME_5, 11) * PRIME_1;
    return avalanche(sum);
}

void wgi_checksum_digits(char digits[WGI_CHECKSUM_DIGITS], uint64_t checksum)
{
    for (int i = 0; i < WGI_CHECKSUM_DIGITS; i++)
        digits[i] = "0123456789abcdef"[checksum >> (60 - 4 * i) & 15];
}

/* ---- texts ----------------------------------------------------------------------------------- */

size_t wgi_checksum_head_size(const wgi_checksum_head *h)
{
    return strlen(h->before) + WGI_CHECKSUM_DIGITS + strlen(h->after);
}

void wgi_checksum_head_put(const wgi_checksum_head *h, char *text, size_t size)
{
    size_t n = strlen(h->before), head = wgi_checksum_head_size(h);
    memcpy(text, h->before, n);
    wgi_checksum_digits(text + n, wgi_xxh64(text + head, size - head, 0));
    memcpy(text + n + WGI_CHECKSUM_DIGITS, h->after, strlen(h->after));
}

wgi_checksum_verdict wgi_checksum_head_check(const wgi_checksum_head *h, const char *text,
                                             size_t size)
{
    char digits[WGI_CHECKSUM_DIGITS];
    size_t n = strlen(h->before), head = wgi_checksum_head_size(h);
    if (size < n || memcmp(text, h->before, n) != 0)
        return WGI_CHECKSUM_ABSENT;
    if (size < head)
        return WGI_CHECKSUM_WRONG;
    wgi_checksum_digits(digits, wgi_xxh64(text + head, size - head, 0));
    bool right = memcmp(text + n, digits, sizeof digits) == 0 &&
                 memcmp(text + n + sizeof digits, h->after, strlen(h->after)) == 0;
    return right ? WGI_CHECKSUM_RIGHT : WGI_CHECKSUM_WRONG;
}
