/* How other programs name and store what we have: one table a program.
 *
 * In names, '@' stands for encoder or decoder, '#' for the number of a layer, '%' for weight or
 * bias, and in ours '~' for gain or bias, which others call weight or bias.  Where rows have equal
 * names of ours, the first is what is written, and all are read.
 *
 * All names of a file may have a prefix, such as "model.".  '/' before a name of theirs says that
 * it is written without. */
#ifndef WG_TRANSLATE_FOREIGN_LAYOUT_H
#define WG_TRANSLATE_FOREIGN_LAYOUT_H

#include "wengert/translate/settings.h"

/* One tensor, or of a matrix that is several of ours stacked, the part-th of `parts`. */
typedef struct wgi_layout_row {
    const char *ours, *theirs;
    int part, parts; /* 0, 0: all of it */
} wgi_layout_row;

/* The matrices that may be shared, and positions, under these names of ours. */
#define WGI_SOURCE_EMBEDDING "source_embedding/weight"
#define WGI_TARGET_EMBEDDING "target_embedding/weight"
#define WGI_OUTPUT_WEIGHT "output/weight"
#define WGI_OUTPUT_BIAS "output/bias"
#define WGI_POSITIONS "@/positions/weight"

typedef struct wgi_layout_pair {
    const char *key, *value;
} wgi_layout_pair;

enum { WGI_MAX_FILES = 6 };

typedef struct wgi_layout {
    const char *name, *prefix;
    const wgi_layout_row *rows;      /* ended by NULL */
    const char *const *ignored;      /* tensors that are no weights; ended by NULL */
    const wgi_layout_pair *defaults; /* options of ours and the values that its models have */
    const wgi_layout_pair *keys;     /* of config.json, and the options; '!': their opposite */
    /* Options and the values that it can have, separated by '|'; all others of WG_FOR_IMPORT are
     * free. */
    const wgi_layout_pair *able;
    /* Files of vocabularies, the first that exists; ended by NULL. "%s" is a language of
     * config.json. */
    const char *lists[2][WGI_MAX_FILES], *pieces[2][WGI_MAX_FILES];
    int64_t first_row;      /* of a table of positions: that of the first token */
    bool needs_pieces;      /* SentencePiece models must be there */
    bool shares_one_name;   /* a shared matrix is written once */
    bool writes_positions;  /* also if they are sines and cosines */
    bool has_zero_bias;     /* an output bias is written even if there is none */
    bool pre_norm_if_final; /* a final norm tells that it is pre-norm */
    bool special_first;     /* ids 0 to 3 are begin, padding, end, unknown */
} wgi_layout;

/* The layout of that name, or NULL with an error that lists all. */
const wgi_layout *wgi_layout_find(const char *name, wg_error *error);

/* Whether config.json keeps the option, in an object "wengert": what weights are made for, and how
 * to search. */
bool wgi_layout_keeps(const wg_option *o);

/* ---- names ----------------------------------------------------------------------------------- */

enum { WGI_FOREIGN_NAME = 256 };

/* What the row calls our tensor `name`; false if the row is of others, or the name is too long. */
bool wgi_layout_name(char to[WGI_FOREIGN_NAME], const wgi_layout_row *row, const char *name);

/* A part of one of our tensors: of fused projections, one of three. */
typedef struct wgi_layout_part {
    char name[WGI_FOREIGN_NAME]; /* as if they were not fused */
    int index, count;
} wgi_layout_part;
/* Writes the parts, at most three; returns how many. */
int wgi_layout_parts(wgi_layout_part parts[3], const char *name);

#endif
