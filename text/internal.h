/* Shared by the files of text/. */
#ifndef WG_TEXT_INTERNAL_H
#define WG_TEXT_INTERNAL_H

#include "files/replace.h"
#include "graph/error.h"
#include "text/unicode/unicode.h"
#include "wengert/text/corpus.h"
#include "wengert/text/vocabulary.h"

/* ---- texts (text.c) -------------------------------------------------------------------------- */

/* Bytes without a final NUL; the holder of a text owns its bytes. */
typedef struct wgi_text {
    char *bytes;
    size_t size;
} wgi_text;

/* A whole regular file, plain or gzip.  A directory, pipe or device, and a file that becomes
 * shorter meanwhile, are WG_EIO; a damaged or truncated gzip, and a file named .gz that is none,
 * WG_EDATA. */
wg_status wgi_text_read_all(wgi_text *out, const char *path, wg_error *error);
/* The same without its byte-order mark. */
wg_status wgi_text_read(wgi_text *out, const char *path, wg_error *error);

/* The same of text in lines.  UTF-16 and UTF-32 are WG_EDATA. */
wg_status wgi_text_read_lines(wgi_text *out, const char *path, wg_error *error);

/* "UTF-16", "UTF-32LE" and so on: the name that iconv has for an encoding whose characters take two
 * or four bytes, by its byte-order mark or by the zeros in its first bytes; NULL: none of them. */
const char *wgi_text_wide(const char *text, size_t size);
/* What a message says of such text after "PATH: ", with the name twice. */
#define WGI_TEXT_IS_WIDE "expected text in UTF-8, got %s; `iconv -f %s -t UTF-8' converts it"

/* How many bytes of a byte-order mark it begins with: 3 or 0. */
size_t wgi_mark_size(const char *text, size_t size);

/* Part of a text. */
typedef struct wgi_slice {
    const char *text;
    size_t size;
} wgi_slice;

/* Takes the next line from *rest, without its newline or carriage return and newline; false if none
 * is left.  The last line need not be ended. */
bool wgi_next_line(wgi_slice *rest, wgi_slice *line);

/* True if it is UTF-8 without NUL. */
bool wgi_text_clean(const char *text, size_t size);
/* Writes it with U+FFFD in place of NUL and of what wgi_utf8_read finds not to be UTF-8, in at most
 * 3 size bytes; returns how many. */
size_t wgi_text_clean_into(char *to, const char *text, size_t size);
/* The same into newly allocated memory; false without memory. */
bool wgi_text_cleaned(wgi_text *out, const char *text, size_t size);

/* ---- sentences as tokens (corpus.c, spans.c) ------------------------------------------------- */

/* The ids of a line or of a part of a text; the holder owns them. */
typedef struct wgi_encoded {
    int32_t *ids;
    size_t n;
} wgi_encoded;

/* The spans that a text of n lines is cut into, for wg_corpus_read_spans: *spans is allocated, and
 * so is each of them. */
wg_status wgi_spans_cut(wgi_encoded **spans, size_t *n_spans, const wgi_encoded *lines, size_t n,
                        const wg_span_options *options);

/* ---- tables of tokens (token_table.c) -------------------------------------------------------- */

/* Different texts numbered 0, 1, ... in the order in which they are added. */
typedef struct wgi_token_entry {
    size_t at, size; /* its text in `bytes` */
    uint64_t count;
} wgi_token_entry;

typedef struct wgi_token_table {
    wgi_token_entry *token;
    size_t n, room;
    char *bytes; /* texts, each ended by NUL */
    size_t n_bytes, room_bytes;
    uint32_t *slot; /* open addressing: number + 1, or 0 */
    size_t n_slots; /* 0 or a power of two */
} wgi_token_table;

enum { WGI_MAX_TOKENS = 1 << 30 };

/* The number of a text, -1 if it is not there. */
int64_t wgi_tokens_find(const wgi_token_table *t, wgi_slice text);
/* Its number; adds it with count 0 if it is new.  -1 without memory. */
int64_t wgi_tokens_add(wgi_token_table *t, wgi_slice text);
void wgi_tokens_free(wgi_token_table *t);
static inline const char *wgi_token_text(const wgi_token_table *t, size_t number)
{
    return t->bytes + t->token[number].at;
}

/* The next word (split at ASCII white space) or character of a line; false if none is left. */
bool wgi_next_token(wg_vocabulary_kind kind, wgi_slice *rest, wgi_slice *token);
/* The n_first given tokens, then the `size` - n_first most frequent words or characters of a text,
 * ties in order of their bytes. */
wg_status wgi_tokens_count(wgi_token_table *out, wg_vocabulary_kind kind, int64_t size,
                           const char *const *first, size_t n_first, const char *text,
                           size_t text_size);

/* ---- files of vocabularies (vocabulary_file.c) ----------------------------------------------- */

enum { WGI_PAD, WGI_BOS, WGI_EOS, WGI_UNK, WGI_SPECIALS };

/* vocab.txt: "# wengert vocabulary: words pad 0 bos 1 eos 2 unk 3" (without pad or bos if there is
 * none: -1), then a token a line in order of ids, with \s \t \n \r \\ for blank, tab, newline,
 * carriage return and backslash. */
bool wgi_is_token_file(const char *bytes, size_t size);
wg_status wgi_tokens_parse(wgi_token_table *out, wg_vocabulary_kind *kind,
                           int32_t special[WGI_SPECIALS], const char *path, const char *bytes,
                           size_t size, wg_error *error);
/* That text, which the caller frees; NULL without memory. */
char *wgi_tokens_text(const wgi_token_table *t, wg_vocabulary_kind kind,
                      const int32_t special[WGI_SPECIALS], size_t *size);
wg_status wgi_tokens_write(const wgi_token_table *t, wg_vocabulary_kind kind,
                           const int32_t special[WGI_SPECIALS], const char *path, wg_error *error);
/* The kind of a SentencePiece model, by trainer_spec.model_type.  WG_EDATA if it is not such a
 * file, or its map of characters is damaged; WG_ENOMEM. */
wg_status wgi_spm_check(wg_vocabulary_kind *kind, const char *bytes, size_t size);

/* A SentencePiece model whose pieces have the ids of a list: the text of its vocab.txt is a last
 * field of the message, which SentencePiece skips.  False if there is none; *model is the message
 * without it. */
bool wgi_spm_numbering(const char *bytes, size_t size, wgi_slice *model, wgi_slice *numbering);
/* The model with that field, which the caller frees; NULL without memory. */
char *wgi_spm_numbered(wgi_slice model, wgi_slice numbering, size_t *size);

#endif
