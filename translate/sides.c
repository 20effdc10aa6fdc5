#include "translate/sides.h"

#include <stdlib.h>
#include <string.h>

size_t wgi_pairs_half_empty(const wg_corpus *c)
{
    size_t n = wg_corpus_empty(c);
    for (size_t i = 0; i < wg_corpus_count(c); i++)
        n += wg_corpus_sentence(c, i, 0).n == 0 || wg_corpus_sentence(c, i, 1).n == 0;
    return n;
}

bool wgi_sides_equal(const wg_corpus *c)
{
    for (size_t i = 0; i < wg_corpus_count(c); i++) {
        const wg_sentence a = wg_corpus_sentence(c, i, 0), b = wg_corpus_sentence(c, i, 1);
        if (a.n != b.n || (a.n && memcmp(a.ids, b.ids, a.n * sizeof *a.ids) != 0))
            return false;
    }
    return true;
}

/* ---- sequences of four bytes ----------------------------------------------------------------- */

enum {
    TRAIN_SAMPLE = 5000, /* sentences, evenly over the corpus */
    VALID_SAMPLE = 1000,
    SET_BITS = 22, /* of the hash of a sequence: a set has as many bits as there are hashes */
    ENOUGH = 100   /* sequences of a side, below which nothing is said */
};

static uint32_t hash_of(const char *four)
{
    uint32_t x;
    memcpy(&x, four, sizeof x);
    return (x * UINT32_C(2654435769)) >> (32 - SET_BITS); /* Knuth's multiplicative hashing */
}

static void add_all(unsigned char *set, const char *text)
{
    for (size_t i = 0, n = strlen(text); i + 4 <= n; i++) {
        const uint32_t h = hash_of(text + i);
        set[h / 8] |= (unsigned char)(1u << h % 8);
    }
}

static size_t count_known(const unsigned char *set, const char *text)
{
    size_t known = 0;
    for (size_t i = 0, n = strlen(text); i + 4 <= n; i++) {
        const uint32_t h = hash_of(text + i);
        known += set[h / 8] >> h % 8 & 1;
    }
    return known;
}

/* Sentence i of a sample of that many at most */
static size_t nth(size_t i, size_t sample, size_t count)
{
    return count <= sample ? i : i * (count / sample);
}

/* The sequences of a side of the training; its text is that of its tokens.  The caller frees it. */
static unsigned char *sequences_of(const wg_corpus *train, int side, const wg_vocabulary *v)
{
    unsigned char *set = calloc((size_t)1 << (SET_BITS - 3), 1);
    const size_t count = wg_corpus_count(train);
    for (size_t i = 0; set && i < TRAIN_SAMPLE && i < count; i++) {
        const wg_sentence s = wg_corpus_sentence(train, nth(i, TRAIN_SAMPLE, count), side);
        char *text = NULL;
        if (wg_vocabulary_decode(v, s.ids, s.n, &text) == WG_OK)
            add_all(set, text);
        free(text);
    }
    return set;
}

/* The share of the sequences of a side of the validation that are in each set; false: too few */
static bool shares_of(const wg_corpus *valid, int side, unsigned char *const set[2],
                      double share[2])
{
    const size_t count = wg_corpus_count(valid);
    size_t known[2] = {0, 0}, all = 0;
    for (size_t i = 0; i < VALID_SAMPLE && i < count; i++) {
        const char *text = wg_corpus_text(valid, nth(i, VALID_SAMPLE, count), side);
        const size_t n = text ? strlen(text) : 0;
        all += n >= 4 ? n - 3 : 0;
        for (int of = 0; text && of < 2; of++)
            known[of] += count_known(set[of], text);
    }
    for (int of = 0; of < 2; of++)
        share[of] = all ? (double)known[of] / (double)all : 0;
    return all >= ENOUGH;
}

bool wgi_sides_swapped(const wg_corpus *train, const wg_corpus *valid,
                       const wg_vocabulary *const vocabulary[2])
{
    static const double clearly = 0.2; /* sides of one language differ by chance alone */
    unsigned char *set[2] = {sequences_of(train, 0, vocabulary[0]),
                             sequences_of(train, 1, vocabulary[1])};
    bool swapped = set[0] && set[1];
    for (int side = 0; side < 2 && swapped; side++) {
        double share[2];
        swapped = shares_of(valid, side, set, share) && share[!side] > share[side] + clearly;
    }
    free(set[0]);
    free(set[1]);
    return swapped;
}
