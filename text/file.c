/* Texts in files: plain, or gzip by its first two bytes (RFC 1952). */
#include "files/read.h"
#include "graph/grow.h"
#include "text/internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { PIECE = 1 << 16 };

static const unsigned char MAGIC[2] = {0x1f, 0x8b}; /* of gzip */

static wg_status no_room(size_t room, const char *path, wg_error *error)
{
    return wgi_error_file(error, WG_ENOMEM, path, "no memory for more than %zu bytes", room);
}

/* ---- gzip ------------------------------------------------------------------------------------ */

/* A gzip file as it is read: one or more members, and zeros behind them, which tapes leave. */
typedef struct gzip {
    z_stream z;
    int fd;
    size_t size, offset; /* of the file; what of it has been read */
    const char *path;
    wg_error *error;
    unsigned char piece[PIECE];
} gzip;

static wg_status next_piece(gzip *g)
{
    size_t left = g->size - g->offset, n = left < PIECE ? left : PIECE;
    wg_status status = wgi_file_read_at(g->fd, g->piece, n, g->offset, g->path, g->error);
    g->z.next_in = g->piece;
    g->z.avail_in = (unsigned)n;
    g->offset += n;
    return status;
}

static wg_status damaged(gzip *g, const char *what)
{
    return wgi_error_file(g->error, WG_EDATA, g->path, "gzip: %s", what);
}

/* Decompresses what there is of a member into out; *ended: that was all of it. */
static wg_status inflate_piece(gzip *g, wgi_text *out, size_t *room, bool *ended)
{
    if (!WGI_RESERVE(out->bytes, *room, out->size + PIECE))
        return no_room(*room, g->path, g->error);
    g->z.next_out = (unsigned char *)out->bytes + out->size;
    g->z.avail_out = PIECE;
    int code = inflate(&g->z, Z_NO_FLUSH);
    out->size += PIECE - g->z.avail_out;
    *ended = code == Z_STREAM_END;
    if (code == Z_MEM_ERROR)
        return wgi_error_file(g->error, WG_ENOMEM, g->path, "no memory to read it");
    return code == Z_OK || *ended || code == Z_BUF_ERROR
               ? WG_OK
               : damaged(g, g->z.msg ? g->z.msg : zError(code));
}

static wg_status read_members(gzip *g, wgi_text *out)
{
    bool ended = false, zeros = false;
    size_t room = 0;
    g->z.avail_out = 1;
    for (wg_status status;;) {
        bool no_more = g->offset == g->size;
        if (g->z.avail_in == 0 && no_more && (ended || g->z.avail_out > 0))
            return ended ? WG_OK : damaged(g, "unexpected end of file");
        if (g->z.avail_in == 0 && !no_more && (status = next_piece(g)) != WG_OK)
            return status;
        if (ended && *g->z.next_in == 0) {
            zeros = true;
            g->z.next_in++;
            g->z.avail_in--;
            continue;
        }
        if (ended && (zeros || *g->z.next_in != MAGIC[0]))
            return damaged(g, "data behind its end");
        if (ended)
            inflateReset(&g->z);
        status = inflate_piece(g, out, &room, &ended);
        if (status != WG_OK)
            return status;
    }
}

static wg_status read_gzip(wgi_text *out, int fd, size_t size, const char *path, wg_error *error)
{
    enum { WINDOW = 15, GZIP_ALONE = 16 };
    gzip *g = malloc(sizeof *g);
    if (g)
        *g = (gzip){.fd = fd, .size = size, .path = path, .error = error};
    if (!g || inflateInit2(&g->z, WINDOW + GZIP_ALONE) != Z_OK) {
        free(g);
        return wgi_error_file(error, WG_ENOMEM, path, "no memory to read it");
    }
    wg_status status = read_members(g, out);
    inflateEnd(&g->z);
    free(g);
    return status;
}

/* ---- either ---------------------------------------------------------------------------------- */

static wg_status read_plain(wgi_text *out, int fd, size_t size, const char *path, wg_error *error)
{
    for (size_t room = 0;;) {
        if (!WGI_RESERVE(out->bytes, room, out->size + PIECE))
            return no_room(room, path, error);
        ssize_t n = wgi_file_read_on(fd, out->bytes + out->size, PIECE);
        if (n < 0)
            return wgi_error_errno(error, path, "read");
        if (n == 0)
            return out->size >= size ? WG_OK
                                     : wgi_error_file(error, WG_EIO, path,
                                                      "it became shorter while it was read, %zu "
                                                      "bytes instead of %zu",
                                                      out->size, size);
        out->size += (size_t)n;
    }
}

static bool is_named_gzip(const char *path)
{
    size_t n = strlen(path);
    return n > 3 && strcmp(path + n - 3, ".gz") == 0;
}

static wg_status read_either(wgi_text *out, int fd, size_t size, const char *path, wg_error *error)
{
    unsigned char begins[2] = {0};
    wg_status status = wgi_file_read_at(fd, begins, size < 2 ? size : 2, 0, path, error);
    if (status != WG_OK)
        return status;
    if (memcmp(begins, MAGIC, 2) == 0)
        return read_gzip(out, fd, size, path, error);
    return is_named_gzip(path)
               ? wgi_error_file(error, WG_EDATA, path, "named .gz, but it is not a gzip file")
               : read_plain(out, fd, size, path, error);
}

wg_status wgi_text_read_all(wgi_text *out, const char *path, wg_error *error)
{
    int fd;
    size_t size;
    *out = (wgi_text){0};
    wg_status status = wgi_file_open(&fd, &size, path, error);
    if (status != WG_OK)
        return status;
    status = read_either(out, fd, size, path, error);
    close(fd);
    if (status != WG_OK) {
        free(out->bytes);
        *out = (wgi_text){0};
    }
    return status;
}

size_t wgi_mark_size(const char *text, size_t size)
{
    static const char mark[] = "\xef\xbb\xbf"; /* U+FEFF */
    size_t n = sizeof mark - 1;
    return size >= n && memcmp(text, mark, n) == 0 ? n : 0;
}

wg_status wgi_text_read(wgi_text *out, const char *path, wg_error *error)
{
    wg_status status = wgi_text_read_all(out, path, error);
    size_t mark = status == WG_OK ? wgi_mark_size(out->bytes, out->size) : 0;
    if (mark)
        memmove(out->bytes, out->bytes + mark, out->size -= mark);
    return status;
}

/* How many of the bytes `first`, `first` + `step`, ... are zero, of how many. */
typedef struct zeros {
    size_t n, of;
} zeros;

static zeros count_zeros(const char *text, size_t size, size_t first, size_t step)
{
    zeros z = {0, 0};
    for (size_t i = first; i < size; i += step, z.of++)
        z.n += text[i] == 0;
    return z;
}

/* Most characters of western texts have a high byte of zero, and none has a low one. */
static const char *by_zeros(const char *text, size_t size)
{
    enum { ENOUGH = 1024, LEAST = 8 };
    const size_t n = (size < ENOUGH ? size : ENOUGH) & ~(size_t)3;
    if (n < LEAST)
        return NULL;
    const zeros even = count_zeros(text, n, 0, 2), odd = count_zeros(text, n, 1, 2),
                first = count_zeros(text, n, 0, 4), third = count_zeros(text, n, 2, 4);
    if (odd.n == odd.of && third.n == third.of && first.n == 0)
        return "UTF-32LE";
    if (even.n == even.of && odd.n == odd.of / 2 && count_zeros(text, n, 3, 4).n == 0)
        return "UTF-32BE";
    if (odd.n > odd.of / 2 && even.n == 0)
        return "UTF-16LE";
    return even.n > even.of / 2 && odd.n == 0 ? "UTF-16BE" : NULL;
}

const char *wgi_text_wide(const char *text, size_t size)
{
    static const struct {
        char mark[5];
        size_t n;
        const char *name;
    } marks[] = {{"\xff\xfe\0\0", 4, "UTF-32"}, /* before UTF-16, whose mark it begins with */
                 {"\0\0\xfe\xff", 4, "UTF-32"},
                 {"\xff\xfe", 2, "UTF-16"},
                 {"\xfe\xff", 2, "UTF-16"}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (size >= marks[i].n && memcmp(text, marks[i].mark, marks[i].n) == 0)
            return marks[i].name;
    return by_zeros(text, size);
}

wg_status wgi_text_read_lines(wgi_text *out, const char *path, wg_error *error)
{
    wg_status status = wgi_text_read(out, path, error);
    const char *wide = status == WG_OK ? wgi_text_wide(out->bytes, out->size) : NULL;
    if (!wide)
        return status;
    free(out->bytes);
    *out = (wgi_text){0};
    return wgi_error_file(error, WG_EDATA, path, WGI_TEXT_IS_WIDE, wide, wide);
}
