/* Mixing of bits: one generator of random numbers and one hash. */
#ifndef WG_PRIVATE_GRAPH_MIX_H
#define WG_PRIVATE_GRAPH_MIX_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The finalizer of splitmix64 (Steele, Lea, Flood 2014): close arguments give unrelated results. */
static inline uint64_t wgi_mix64(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The increment of splitmix64: 2^64 divided by the golden ratio. */
#define WGI_GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* The next 64 bits of splitmix64. */
static inline uint64_t wgi_splitmix64(uint64_t *state)
{
    return wgi_mix64(*state += WGI_GOLDEN);
}

/* 64-bit FNV-1a, the same number on every machine.  h is WGI_HASH_START or the hash so far; structs
 * are hashed field by field, so that padding never counts. */
#define WGI_HASH_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t wgi_hash_byte(uint64_t h, unsigned char byte)
{
    return (h ^ byte) * UINT64_C(0x100000001b3);
}

static inline uint64_t wgi_hash_bytes(uint64_t h, const void *bytes, size_t size)
{
    const unsigned char *b = (const unsigned char *)bytes;
    for (size_t i = 0; i < size; i++)
        h = wgi_hash_byte(h, b[i]);
    return h;
}

/* The hash of a name. */
static inline uint64_t wgi_hash_text(const char *text)
{
    return wgi_hash_bytes(WGI_HASH_START, text, strlen(text));
}

/* The eight bytes of x, lowest first. */
static inline uint64_t wgi_hash_u64(uint64_t h, uint64_t x)
{
    for (int i = 0; i < 8; i++)
        h = wgi_hash_byte(h, (unsigned char)(x >> (8 * i)));
    return h;
}

#endif
