/* Lists of tokens as other programs have them. */
#ifndef WG_TEXT_LISTS_H
#define WG_TEXT_LISTS_H

#include "text/internal.h"

/* The formats, which the contents show:
 *
 *     a plain list       a token a line, </s> and <unk> among them
 *     fairseq's dict.txt "TOKEN COUNT" a line; <s>, <pad>, </s> and <unk> come before them
 *     vocab.json         {"TOKEN": ID, ...}: Hugging Face
 *     vocab.yml          "TOKEN": ID a line: Marian
 *
 * Special tokens are known by their names, such as <pad> or [PAD]; of padding and the begin of
 * sentence there may be none, -1.  Ids without a token get names that no text has. */
typedef enum wgi_list_kind {
    WGI_LIST_NONE = 0, /* it is no list of tokens */
    WGI_LIST_PLAIN,
    WGI_LIST_DICT,
    WGI_LIST_JSON,
    WGI_LIST_YAML
} wgi_list_kind;

wgi_list_kind wgi_list_kind_of(const char *bytes, size_t size);

/* Reads `size` bytes, which are written to.  WG_EDATA: "PATH: line 3: what"; WG_ENOMEM. */
wg_status wgi_list_read(wgi_token_table *out, int32_t special[WGI_SPECIALS], wgi_list_kind kind,
                        const char *path, char *bytes, size_t size, wg_error *error);

/* Adds tokens that no text has until there are `size`; false without memory. */
bool wgi_list_fill(wgi_token_table *t, size_t size);

#endif
