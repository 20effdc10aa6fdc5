/* Text that stdio functions write to memory.
 *
 *     wgi_text_buffer b;
 *     FILE *f = wgi_text_open(&b);
 *     if (f)
 *         fprintf(f, "%d nodes", n);
 *     char *text = wgi_text_close(&b);
 *     if (!text)
 *         return WG_ENOMEM;
 *
 * This is open_memstream with failures that can be seen.  Where glibc's cannot grow, it drops what
 * was written and sets no error; and its fclose answers 0 even if no text could be made. */
#ifndef WG_PRIVATE_GRAPH_TEXT_BUFFER_H
#define WG_PRIVATE_GRAPH_TEXT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct wgi_text_buffer {
    FILE *file;
    char *bytes;
    size_t size, capacity;
    bool failed; /* something could not be kept */
} wgi_text_buffer;

/* The file to write to; NULL without memory. */
FILE *wgi_text_open(wgi_text_buffer *b);

/* Closes the file, if there is one.  Everything that was written, b->size bytes and a NUL, which
 * the caller frees; NULL if there was no memory for all of it. */
char *wgi_text_close(wgi_text_buffer *b);

#endif
