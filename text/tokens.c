/* Tokenizers as lists of substitutions, in the regular expressions in which they are published. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/tokens.h"
#include "graph/grow.h"
#include "text/unicode/unicode.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

/* ---- the rules ------------------------------------------------------------------------------- */

/* All matches of a pattern, from left to right, are replaced; then comes the next rule. */
typedef struct rule {
    const char *pattern, *replacement;
} rule;

/* Nearly what Unicode calls case-ignorable. */
#define IGNORABLE "[\\p{Mn}\\p{Me}\\p{Cf}\\p{Lm}\\p{Sk}'.:\\x{b7}\\x{2018}\\x{2019}]*"
#define CASED "[\\p{Lu}\\p{Ll}\\p{Lt}\\x{aa}\\x{ba}\\x{2160}-\\x{217f}\\x{24b6}-\\x{24e9}]"

/* Letters to lower case by Unicode's default mapping; first the capital I with a dot, and a sigma
 * that ends a word. */
static const rule lower[] = {
    {"\\x{130}", "i\xcc\x87"},
    {CASED IGNORABLE "\\K\\x{3a3}(?!" IGNORABLE CASED ")", "\xcf\x82"},
    {"[\\p{Lu}\\p{Lt}]+", "\\L$0"},
    {0},
};

/* mteval-v13a.pl.  The blanks at both ends let the rules see that a mark begins or ends the
 * line. */
static const rule rules_13a[] = {
    {"<skipped>", ""},
    {"-\\n", ""},
    {"\\n", " "},
    {"&quot;", "\""},
    {"&amp;", "&"},
    {"&lt;", "<"},
    {"&gt;", ">"},
    {"\\A|\\z", " "},
    {"[{-~[-` -&(-+:-@/]", " $0 "}, /* ASCII punctuation but ' , - . */
    {"([^0-9])([.,])", "$1 $2 "},   /* unless a digit precedes       */
    {"([.,])([^0-9])", " $1 $2"},   /* unless a digit follows        */
    {"([0-9])(-)", "$1 $2 "},       /* a dash behind a digit         */
    {0},
};

/* mteval-v14.pl --international-tokenization. */
static const rule rules_intl[] = {
    {"(\\P{N})(\\p{P})", "$1 $2 "},
    {"(\\p{P})(\\P{N})", " $1 $2"},
    {"\\p{S}", " $0 "},
    {0},
};

static const struct {
    const char *name;
    const rule *rules; /* NULL: none */
} tokenizers[] = {
    [WG_BLEU_13A] = {"13a", rules_13a},
    [WG_BLEU_NONE] = {"none", NULL},
    [WG_BLEU_INTL] = {"intl", rules_intl},
    [WG_BLEU_CHAR] = {"char", NULL},
};
enum {
    N_TOKENIZERS = WG_COUNT(tokenizers),
    MAX_RULES = (sizeof lower + sizeof rules_13a) / sizeof(rule)
};

const char *wg_bleu_tokenizer_name(int tokenizer)
{
    return tokenizer >= 0 && tokenizer < N_TOKENIZERS ? tokenizers[tokenizer].name : NULL;
}

/* ---- a tokenizer ----------------------------------------------------------------------------- */

typedef struct buffer {
    char *bytes;
    size_t size, room;
} buffer;

struct wgi_tokenizer {
    pcre2_general_context *memory;
    struct step {
        pcre2_code *code;
        pcre2_match_data *match;
        const char *replacement;
    } steps[MAX_RULES];
    size_t n_steps;
    bool lowercase;
    buffer text, next; /* before and after a step */
};

/* This library's malloc, so that tests can replace it. */
static void *get(size_t size, void *unused)
{
    (void)unused;
    return malloc(size);
}

static void give(void *block, void *unused)
{
    (void)unused;
    free(block);
}

static wg_status add_rules(wgi_tokenizer *t, const rule *r)
{
    pcre2_compile_context *compile = r ? pcre2_compile_context_create(t->memory) : NULL;
    wg_status status = r && !compile ? WG_ENOMEM : WG_OK;
    for (; status == WG_OK && r && r->pattern; r++) {
        int error;
        size_t offset;
        struct step *s = &t->steps[t->n_steps++];
        s->replacement = r->replacement;
        s->code = pcre2_compile((PCRE2_SPTR)r->pattern, PCRE2_ZERO_TERMINATED,
                                PCRE2_UTF | PCRE2_DOTALL, &error, &offset, compile);
        s->match = s->code ? pcre2_match_data_create_from_pattern(s->code, t->memory) : NULL;
        if (!s->match)
            status = WG_ENOMEM; /* the patterns are known to be valid */
        else
            pcre2_jit_compile(s->code, PCRE2_JIT_COMPLETE); /* without JIT, the interpreter runs */
    }
    pcre2_compile_context_free(compile);
    return status;
}

wg_status wgi_tokenizer_create(wgi_tokenizer **out, int tokenizer, bool lowercase)
{
    *out = NULL;
    if (!wg_bleu_tokenizer_name(tokenizer))
        return WG_EINVAL;
    wgi_tokenizer *t = calloc(1, sizeof *t);
    if (!t)
        return WG_ENOMEM;
    t->lowercase = lowercase;
    t->memory = pcre2_general_context_create(get, give, NULL);
    wg_status status = t->memory ? WG_OK : WG_ENOMEM;
    if (status == WG_OK && lowercase)
        status = add_rules(t, lower);
    if (status == WG_OK)
        status = add_rules(t, tokenizers[tokenizer].rules);
    if (status == WG_OK)
        *out = t;
    else
        wgi_tokenizer_free(t);
    return status;
}

void wgi_tokenizer_free(wgi_tokenizer *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_steps; i++) {
        pcre2_match_data_free(t->steps[i].match);
        pcre2_code_free(t->steps[i].code);
    }
    pcre2_general_context_free(t->memory);
    free(t->text.bytes);
    free(t->next.bytes);
    free(t);
}

/* ---- a line ---------------------------------------------------------------------------------- */

/* Characters with a lower case that are not letters: Roman numerals, letters in circles. */
static int32_t lower_symbol(int32_t code)
{
    return code >= 0x2160 && code <= 0x216f   ? code + 16
           : code >= 0x24b6 && code <= 0x24cf ? code + 26
                                              : code;
}

/* Takes the line as valid UTF-8. */
static bool take(wgi_tokenizer *t, const char *line, bool trimmed)
{
    buffer *b = &t->text;
    size_t size = strlen(line), kept = 0;
    const char *end = line + size;
    if (size > SIZE_MAX / 8 ||
        !WGI_RESERVE(b->bytes, b->room, 3 * size + 1)) /* U+FFFD has three bytes */
        return false;
    b->size = 0;
    while (line < end) {
        int32_t code = wgi_utf8_read(&line, end);
        b->size += wgi_utf8_write(b->bytes + b->size, t->lowercase ? lower_symbol(code) : code);
        if (!wgi_is_blank(code))
            kept = b->size;
    }
    if (trimmed)
        b->size = kept;
    return true;
}

static wg_status substitute(wgi_tokenizer *t, const struct step *s)
{
    int count;
    size_t size;
    do {
        size = t->next.room;
        count = pcre2_substitute(s->code, (PCRE2_SPTR)t->text.bytes, t->text.size, 0,
                                 PCRE2_SUBSTITUTE_GLOBAL | PCRE2_SUBSTITUTE_EXTENDED |
                                     PCRE2_SUBSTITUTE_OVERFLOW_LENGTH | PCRE2_NO_UTF_CHECK,
                                 s->match, NULL, (PCRE2_SPTR)s->replacement, PCRE2_ZERO_TERMINATED,
                                 (PCRE2_UCHAR *)t->next.bytes, &size);
        if (count == PCRE2_ERROR_NOMEMORY &&
            (size <= t->next.room || !WGI_RESERVE(t->next.bytes, t->next.room, size)))
            return WG_ENOMEM;
    } while (count == PCRE2_ERROR_NOMEMORY);
    if (count < 0) /* patterns without backtracking can only hit the memory limit */
        return WG_ENOMEM;
    t->next.size = size;
    buffer text = t->text;
    t->text = t->next;
    t->next = text;
    return WG_OK;
}

wg_status wgi_tokenize(wgi_tokenizer *t, const char *line, bool trimmed, const char **text,
                       size_t *size)
{
    if (!take(t, line, trimmed) || !WGI_RESERVE(t->next.bytes, t->next.room, t->text.size + 1))
        return WG_ENOMEM;
    for (size_t i = 0; i < t->n_steps; i++) {
        wg_status status = substitute(t, &t->steps[i]);
        if (status != WG_OK)
            return status;
    }
    *text = t->text.bytes;
    *size = t->text.size;
    return WG_OK;
}
