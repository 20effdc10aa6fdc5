/* Tables of tokens, and the most frequent words or characters of a text. */
#include "graph/grow.h"
#include "text/internal.h"
#include "text/unicode/unicode.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ---- the table ------------------------------------------------------------------------------- */

void wgi_tokens_free(wgi_token_table *t)
{
    free(t->token);
    free(t->bytes);
    free(t->slot);
    *t = (wgi_token_table){0};
}

/* The slot of a text, or the free slot where it belongs. */
static size_t slot_of(const wgi_token_table *t, wgi_slice text)
{
    size_t mask = t->n_slots - 1, s = (size_t)XXH3_64bits(text.text, text.size) & mask;
    for (; t->slot[s]; s = (s + 1) & mask) {
        const wgi_token_entry *token = &t->token[t->slot[s] - 1];
        if (token->size == text.size && memcmp(t->bytes + token->at, text.text, text.size) == 0)
            break;
    }
    return s;
}

int64_t wgi_tokens_find(const wgi_token_table *t, wgi_slice text)
{
    return t->n_slots ? (int64_t)t->slot[slot_of(t, text)] - 1 : -1;
}

/* At most half of the slots are taken. */
static bool reserve_slots(wgi_token_table *t)
{
    if (2 * (t->n + 1) <= t->n_slots)
        return true;
    wgi_token_table larger = *t;
    larger.n_slots = t->n_slots ? 2 * t->n_slots : 128;
    larger.slot = calloc(larger.n_slots, sizeof *larger.slot);
    if (!larger.slot)
        return false;
    for (size_t i = 0; i < t->n; i++)
        larger.slot[slot_of(&larger, (wgi_slice){wgi_token_text(t, i), t->token[i].size})] =
            (uint32_t)i + 1;
    free(t->slot);
    t->slot = larger.slot;
    t->n_slots = larger.n_slots;
    return true;
}

int64_t wgi_tokens_add(wgi_token_table *t, wgi_slice text)
{
    int64_t known = wgi_tokens_find(t, text);
    if (known >= 0)
        return known;
    if (t->n >= WGI_MAX_TOKENS) /* GCOVR_EXCL_BR_LINE: they would take 64 GB */
        return -1;              /* GCOVR_EXCL_LINE */
    if (!WGI_RESERVE(t->token, t->room, t->n + 1) ||
        !WGI_RESERVE(t->bytes, t->room_bytes, t->n_bytes + text.size + 1) || !reserve_slots(t))
        return -1;
    t->slot[slot_of(t, text)] = (uint32_t)t->n + 1;
    t->token[t->n] = (wgi_token_entry){t->n_bytes, text.size, 0};
    memcpy(t->bytes + t->n_bytes, text.text, text.size);
    t->n_bytes += text.size;
    t->bytes[t->n_bytes++] = '\0';
    return (int64_t)t->n++;
}

/* ---- words and characters -------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool wgi_next_token(wg_vocabulary_kind kind, wgi_slice *rest, wgi_slice *token)
{
    bool words = kind == WG_VOCABULARY_WORDS;
    const char *at = rest->text, *end = at + rest->size;
    while (words && at < end && is_blank(*at))
        at++;
    if (at == end)
        return false;
    const char *start = at;
    if (!words)
        wgi_utf8_read(&at, end);
    while (words && at < end && !is_blank(*at))
        at++;
    *token = (wgi_slice){start, (size_t)(at - start)};
    *rest = (wgi_slice){at, (size_t)(end - at)};
    return true;
}

/* Adds the tokens of a text, counted. */
static bool count_all(wgi_token_table *t, wg_vocabulary_kind kind, wgi_slice text)
{
    wgi_slice line, token;
    while (wgi_next_line(&text, &line))
        while (wgi_next_token(kind, &line, &token)) {
            int64_t i = wgi_tokens_add(t, token);
            if (i < 0)
                return false;
            t->token[i].count++;
        }
    return true;
}

/* A token with its text, for sorting. */
typedef struct counted {
    uint64_t count;
    wgi_slice text;
} counted;

static int by_count(const void *a, const void *b)
{
    const counted *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return strcmp(x->text.text, y->text.text); /* distinct, ended by NUL */
}

wg_status wgi_tokens_count(wgi_token_table *out, wg_vocabulary_kind kind, int64_t size,
                           const char *const *first, size_t n_first, const char *text,
                           size_t text_size)
{
    wgi_token_table all = {0};
    counted *order = NULL;
    *out = (wgi_token_table){0};
    bool ok = count_all(&all, kind, (wgi_slice){text, text_size});
    if (ok)
        order = malloc((all.n + 1) * sizeof *order);
    ok = order != NULL;
    for (size_t i = 0; ok && i < all.n; i++)
        order[i] = (counted){all.token[i].count, {wgi_token_text(&all, i), all.token[i].size}};
    if (ok)
        qsort(order, all.n, sizeof *order, by_count);
    for (size_t i = 0; ok && i < n_first; i++)
        ok = wgi_tokens_add(out, (wgi_slice){first[i], strlen(first[i])}) >= 0;
    for (size_t i = 0; ok && i < all.n && (int64_t)out->n < size; i++)
        ok = wgi_tokens_add(out, order[i].text) >= 0;
    free(order);
    wgi_tokens_free(&all);
    if (!ok)
        wgi_tokens_free(out);
    return ok ? WG_OK : WG_ENOMEM;
}
