#include "text/charsmap.h"
#include "graph/grow.h"

#include <stdbool.h>
#include <stdint.h>

/* The number of bytes of the trie as a u32, the trie, and the replacements, each ended by NUL.
 *
 * The trie is a double array, as the library Darts-clone builds it: u32 units, little-endian, in
 * blocks of 256.  A node is a unit.  Its offset leads from its place i to the base of its children,
 * base = i ^ offset.  The child by byte c is at base ^ c, if the unit there has the label c.  Where
 * a key ends, the unit at the base is its value, the place of its replacement.
 *
 *     bit  0 to 7    label
 *     bit  8         a key ends here
 *     bit  9         the offset is to be shifted left by 8
 *     bits 10 to 31  offset
 *     bit  31        a value of 31 bits instead of all that; it is no child */
enum {
    BLOCK = 256,
    MAX_MATCHES = 32,    /* keys that begin a text: SentencePiece has room for no more */
    MAX_BYTES = 1 << 24, /* its largest map has 0.25 MB */
    MAX_VISITS = 4       /* for each unit, on the average: equal ends of keys are stored once */
};

/* The base of a node's children, and how many keys end on the way to it. */
typedef struct place {
    size_t base;
    unsigned matches;
} place;

typedef struct walk {
    const char *units;
    size_t n_units, n_replacements, visits;
    unsigned char *seen; /* of each base: 1 + the matches with which it was visited */
    place *to_do;
    size_t n, room;
} walk;

static uint32_t unit(const walk *w, size_t i)
{
    uint32_t u;
    memcpy(&u, w->units + sizeof u * i, sizeof u);
    return u;
}

/* Checks the node at i and puts its children on the list. */
static wg_status enter(walk *w, size_t i, unsigned matches)
{
    uint32_t u = unit(w, i);
    size_t base = i ^ (size_t)(uint32_t)((u >> 10) << (u & 1 << 9 ? 8 : 0));
    bool ends = i && u & 1 << 8;
    if ((base | (BLOCK - 1)) >= w->n_units)
        return WG_EDATA;
    if (ends && ((unit(w, base) & INT32_MAX) >= w->n_replacements || ++matches > MAX_MATCHES))
        return WG_EDATA;
    if (w->seen[base] > matches)
        return WG_OK;
    w->seen[base] = (unsigned char)(matches + 1);
    if (++w->visits > MAX_VISITS * w->n_units)
        return WG_EDATA;
    if (!WGI_RESERVE(w->to_do, w->room, w->n + 1))
        return WG_ENOMEM;
    w->to_do[w->n++] = (place){base, matches};
    return WG_OK;
}

static wg_status follow(walk *w)
{
    wg_status status = enter(w, 0, 0);
    while (status == WG_OK && w->n) {
        place p = w->to_do[--w->n];
        for (uint32_t c = 0; c < BLOCK && status == WG_OK; c++)
            if ((unit(w, p.base ^ c) & (1u << 31 | (BLOCK - 1))) == c)
                status = enter(w, p.base ^ c, p.matches);
    }
    return status;
}

wg_status wgi_charsmap_check(const char *bytes, size_t size)
{
    uint32_t trie;
    if (size == 0) /* no map */
        return WG_OK;
    if (size <= sizeof trie || size > MAX_BYTES || bytes[size - 1] != '\0')
        return WG_EDATA;
    memcpy(&trie, bytes, sizeof trie);
    if (trie >= size - sizeof trie || trie < BLOCK * sizeof(uint32_t))
        return WG_EDATA;
    walk w = {.units = bytes + sizeof trie,
              .n_units = trie / sizeof(uint32_t),
              .n_replacements = size - sizeof trie - trie};
    w.seen = calloc(w.n_units, 1);
    wg_status status = w.seen ? follow(&w) : WG_ENOMEM;
    free(w.seen);
    free(w.to_do);
    return status;
}
