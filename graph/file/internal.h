/* The text of a graph, both ways: print.c writes what the others read.  docs/graph-file.md has the
 * grammar.
 *
 * Nothing here recurses, and memory is proportional to the length of the text (a scope of n levels
 * stores the paths of all of them). */
#ifndef WG_PRIVATE_GRAPH_FILE_INTERNAL_H
#define WG_PRIVATE_GRAPH_FILE_INTERNAL_H

#include "graph/error.h"
#include "graph/internal.h"

#include <locale.h>

/* The first word of a file, and the number after it. */
#define WGI_GRAPH_FILE_WORD "wengert-graph"
enum { WGI_GRAPH_FILE_VERSION = 1 };

/* The words for wg_phase; a forward node has none. */
extern const char *const wgi_phase_words[3];

/* The marks of a wg_scope, described as the attributes of an op. */
extern const wg_op wgi_scope_marks;

/* ---- numbers.c: elements as text, in the C locale -------------------------------------------- */

/* Bytes of the text of one number, NUL included. */
enum { WGI_NUMBER_TEXT = 64 };

/* The short text that wgi_number_read turns into the same bits; false if there is none (a NaN with
 * a payload, a bool that is neither 0 nor 1).  `element` may be unaligned. */
bool wgi_number_write(char text[WGI_NUMBER_TEXT], wg_dtype dtype, const void *element);
/* Whether there is such a text; fast for anything but a NaN. */
bool wgi_number_has_text(wg_dtype dtype, const void *element);
/* The element of a dtype that the text stands for, rounded to nearest; false if the text is no
 * number or outside the dtype's range. */
bool wgi_number_read(const char *text, wg_dtype dtype, void *element);

/* Decimal points are points until wgi_locale_restore, whatever the program's locale. */
typedef struct wgi_locale {
    locale_t c, before;
} wgi_locale;
bool wgi_locale_enter(wgi_locale *l); /* false without memory */
void wgi_locale_restore(const wgi_locale *l);

/* ---- tokens.c -------------------------------------------------------------------------------- */

typedef enum wgi_token_kind {
    WGI_TOKEN_END,     /* of the text */
    WGI_TOKEN_NEWLINE, /* outside of brackets */
    WGI_TOKEN_WORD,    /* relu, -1e-5, encoder/layer0, model.c:41 */
    WGI_TOKEN_VALUE,   /* %12, %hidden */
    WGI_TOKEN_QUOTED,  /* 'text' or "text" */
    WGI_TOKEN_SIGN,    /* any other character */
} wgi_token_kind;

typedef struct wgi_token {
    wgi_token_kind kind;
    const char *start; /* in the text; of a quoted one, with its quotes */
    size_t length, line, column;
} wgi_token;

/* The text and the place in it. */
typedef struct wgi_reader {
    const char *name; /* of the text, in messages */
    const char *next, *end, *line_start;
    size_t line;
    int depth;       /* of brackets: newlines inside are blanks */
    wgi_token token; /* the current one, not yet consumed */
    wgi_arena arena; /* texts and attributes, until the end of the reading */
    wg_status status;
    wg_error *error;
} wgi_reader;

/* May stand in a word without quotes; ':' only inside. */
bool wgi_is_word_character(char c);

void wgi_reader_open(wgi_reader *r, const char *name, const char *text, size_t length,
                     wg_error *error);
/* Makes the next token the current one; false after an error. */
bool wgi_reader_next(wgi_reader *r);
/* "NAME:LINE:COLUMN: text" at that token, as WG_EDATA, unless there is an error already; false. */
bool wgi_reader_fail(wgi_reader *r, const wgi_token *at, const char *format, ...) WG_PRINTF(3, 4);
/* "expected WHAT, found TOKEN" at the current token; false. */
bool wgi_reader_expected(wgi_reader *r, const char *what);
bool wgi_reader_no_memory(wgi_reader *r);

bool wgi_token_is(const wgi_token *t, const char *text); /* a word or a sign */
/* Consumes the current token if it is that word or sign. */
bool wgi_reader_skip(wgi_reader *r, const char *text);
/* The same, or an error "expected 'TEXT' WHERE". */
bool wgi_reader_need(wgi_reader *r, const char *text, const char *where);
/* In a list: true if another item follows, after ',' or before the first; else consumes `close`. */
bool wgi_reader_item(wgi_reader *r, const char *close, size_t *count);

/* 0 to 15, -1 for another character. */
int wgi_hex_digit(char c);

/* The text of the current token, a word or quoted, in the arena; NULL after an error.  Consumes
 * it. */
const char *wgi_reader_text(wgi_reader *r, const char *what);
/* The current token, a word that is an integer in [min, max].  Consumes it. */
bool wgi_reader_int(wgi_reader *r, const char *what, int64_t min, int64_t max, int64_t *out);
bool wgi_reader_dtype(wgi_reader *r, wg_dtype *out);
bool wgi_reader_shape(wgi_reader *r, wg_shape *out);

/* ---- attributes.c ---------------------------------------------------------------------------- */

/* The attributes of a node as read. */
typedef struct wgi_attributes {
    const wg_op *op;
    char *values; /* op->attrs_size bytes of the arena, zero where nothing was given */
    bool *given;  /* [op->n_attrs] */
} wgi_attributes;

/* "{name=value, ...}", or nothing. */
bool wgi_attributes_read(wgi_reader *r, const wg_op *op, wgi_attributes *out);
/* Attributes called dtype and shape that were not given are those of the result. */
void wgi_attributes_complete(wgi_attributes *a, wg_dtype dtype, const wg_shape *shape);

#endif
