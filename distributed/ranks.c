/* Ranks as their user sees them: joining, names, numbers exchanged, leaving. */
#include "distributed/ranks.h"
#include "graph/error.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SILENCE = 20 };

/* ---- numbers --------------------------------------------------------------------------------- */

/* A gathering, or a broadcast, of at most WGI_LARGEST_MESSAGE bytes. */
static void exchange(wg_ranks *r, const void *own, size_t bytes, void *all, int root)
{
    wgi_request few[64], *request = few;
    size_t n = 2 * (size_t)r->exchange.size;
    if (n > WG_COUNT(few) && !(request = malloc(n * sizeof *request)))
        wg_ranks_abort(r, "out of memory");
    wgi_job j = {.kind = WGI_GATHER,
                 .tag = WGI_TAG_GATHER,
                 .own = own,
                 .all = all,
                 .bytes = bytes,
                 .root = root,
                 .request = request};
    wgi_messenger_post(r, &j);
    wgi_messenger_wait(r, &j);
    if (request != few)
        free(request);
}

void wg_ranks_gather(wg_ranks *r, const void *own, size_t bytes, void *all)
{
    exchange(r, own, bytes, all, -1);
}

void wg_ranks_broadcast(wg_ranks *r, void *data, size_t bytes, int root)
{
    char *at = data;
    for (size_t some; bytes > 0; at += some, bytes -= some) {
        some = bytes < WGI_LARGEST_MESSAGE ? bytes : WGI_LARGEST_MESSAGE;
        exchange(r, at, some, at, root);
    }
}

wg_status wg_ranks_sum(wg_ranks *r, double *x, size_t n, wg_error *error)
{
    const size_t size = (size_t)r->exchange.size;
    wgi_error_clear(error);
    double *all = malloc((n * size + 1) * sizeof *all);
    wg_status status = all ? WG_OK : wgi_error_set(error, WG_ENOMEM, "out of memory");
    status = wg_ranks_agree(r, status, error);
    if (status == WG_OK)
        wg_ranks_gather(r, x, n * sizeof *x, all);
    for (size_t i = 0; i < n && status == WG_OK; i++) {
        x[i] = all[i]; /* NOLINT(clang-analyzer-core.NullDereference): every rank has memory */
        for (size_t p = 1; p < size; p++)
            x[i] += all[p * n + i];
    }
    free(all);
    return status;
}

wg_status wg_ranks_agree(wg_ranks *r, wg_status own, wg_error *error)
{
    int32_t few[64], mine = (int32_t)own, *all = few;
    const int size = r->exchange.size;
    int first = 0;
    if (size > WG_COUNT(few) && !(all = malloc((size_t)size * sizeof *all)))
        wg_ranks_abort(r, "out of memory");
    wg_ranks_gather(r, &mine, sizeof mine, all);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): wg_ranks_abort does not return */
    while (first < size && all[first] == WG_OK)
        first++;
    wg_status status = first < size ? (wg_status)all[first] : WG_OK;
    if (all != few)
        free(all);
    if (status == WG_OK)
        return WG_OK;
    char text[WG_ERROR_TEXT] = "", name[WGI_RANK_NAME];
    if (first == r->exchange.rank && error)
        snprintf(text, sizeof text, "%s", error->text);
    wg_ranks_broadcast(r, text, sizeof text, first);
    return wgi_error_set(error, status, "%s: %s", wgi_rank_name(r, first, name), text);
}

wg_status wg_ranks_share(wg_ranks *r, void *const *data, const size_t *bytes, size_t n,
                         const size_t *cut, wg_error *error)
{
    size_t total = 0;
    wgi_error_clear(error);
    for (size_t i = 0; i < n; i++)
        total += bytes[i];
    wgi_request *request = calloc(wgi_sum_requests(n, total, 1, r->exchange.size), sizeof *request);
    wg_status status = wg_ranks_agree(
        r, request ? WG_OK : wgi_error_set(error, WG_ENOMEM, "out of memory"), error);
    if (status == WG_OK) {
        wgi_job j = {.kind = WGI_SHARE,
                     .tag = WGI_TAG_SHARE,
                     .of = {n, (void **)data, (size_t *)bytes},
                     .total = total,
                     .element = 1,
                     .cut = cut,
                     .request = request};
        wgi_messenger_post(r, &j);
        wgi_messenger_wait(r, &j);
    }
    free(request);
    return status;
}

/* ---- joining --------------------------------------------------------------------------------- */

/* Everybody's name.  Nobody waits for one who has no room for them. */
static wg_status exchange_names(wg_ranks *r, wg_error *error)
{
    char own[WGI_RANK_NAME], host[64] = "";
    char(*all)[WGI_RANK_NAME] = calloc((size_t)r->exchange.size, sizeof *all);
    wg_status status =
        wg_ranks_agree(r, all ? WG_OK : wgi_error_set(error, WG_ENOMEM, "out of memory"), error);
    if (status != WG_OK) {
        free(all);
        return status;
    }
    memset(own, 0, sizeof own);
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    snprintf(own, sizeof own, "rank %d (%s)", r->exchange.rank, host);
    wg_ranks_gather(r, own, sizeof own, all);
    r->name = all;
    return WG_OK;
}

wg_status wgi_ranks_open_on(wg_ranks **out, const wgi_transport *transport, void *context,
                            void *handle, double silence, wg_error *error)
{
    wg_ranks *r = calloc(1, sizeof *r);
    *out = NULL;
    if (!r) {
        if (handle)
            dlclose(handle);
        return wgi_error_set(error, WG_ENOMEM, "out of memory");
    }
    r->backend = wgi_ranks_backend_table();
    r->exchange.transport = transport;
    r->context = context;
    r->handle = handle;
    r->silence = silence > 0 ? silence : SILENCE;
    wg_status status = WG_OK;
    if (!wgi_messenger_start(r))
        status = wgi_error_set(error, WG_EIO, "%s: %s", transport->name, r->message);
    else if (r->exchange.size > WGI_MOST_RANKS)
        status = wgi_error_set(error, WG_EUNSUPPORTED, "%d ranks: at most %d can run together",
                               r->exchange.size, WGI_MOST_RANKS);
    else
        status = exchange_names(r, error);
    if (status == WG_OK)
        *out = r;
    else
        wg_ranks_close(r);
    return status;
}

void wg_ranks_close(wg_ranks *r)
{
    if (!r)
        return;
    wgi_messenger_end(r);
    wgi_buckets_free(r);
    free(r->name);
    if (r->handle)
        dlclose(r->handle);
    free(r);
}

/* ---- what is known --------------------------------------------------------------------------- */

int wg_ranks_rank(const wg_ranks *r)
{
    return r->exchange.rank;
}

int wg_ranks_count(const wg_ranks *r)
{
    return r->exchange.size;
}

const char *wg_ranks_name(const wg_ranks *r, int rank)
{
    return r->name[rank];
}

double wg_ranks_waited(const wg_ranks *r)
{
    return r->waited;
}
