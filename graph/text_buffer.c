#define _GNU_SOURCE /* fopencookie */
#include "graph/text_buffer.h"
#include "graph/grow.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* Writes all of it or, as stdio wants failures told, nothing. */
static ssize_t append(void *buffer, const char *bytes, size_t size)
{
    wgi_text_buffer *b = buffer;
    b->failed |= !WGI_RESERVE(b->bytes, b->capacity, b->size + size + 1);
    if (b->failed)
        return 0;
    memcpy(b->bytes + b->size, bytes, size);
    b->size += size;
    return (ssize_t)size;
}

FILE *wgi_text_open(wgi_text_buffer *b)
{
    *b = (wgi_text_buffer){.file = NULL};
    b->file = fopencookie(b, "w", (cookie_io_functions_t){.write = append});
    return b->file;
}

char *wgi_text_close(wgi_text_buffer *b)
{
    if (!b->file)
        return NULL;
    b->failed |= ferror(b->file);
    b->failed |= fclose(b->file) != 0;
    b->failed |= !WGI_RESERVE(b->bytes, b->capacity, b->size + 1);
    if (b->failed) {
        free(b->bytes);
        return NULL;
    }
    b->bytes[b->size] = '\0';
    return b->bytes;
}
