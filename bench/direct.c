#include "bench/direct.h"
#include "backends/onednn/compat.h"

#include <stdlib.h>

struct bench_direct {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_t product, pack; /* pack: NULL if w is taken as it lies there */
    dnnl_memory_t x, w, packed, y, scratch;
    void *packed_data, *scratch_data;
};

static od_md matrix(int64_t rows, int64_t columns, bool transposed)
{
    od_md md = NULL;
    dnnl_dims_t dims = {rows, columns}, strides = {transposed ? 1 : columns, transposed ? rows : 1};
    return wgi_od_md_strided(&md, 2, dims, dnnl_f32, strides) == dnnl_success ? md : NULL;
}

/* The descriptions of a product, while it is made. */
typedef struct description {
    dnnl_primitive_attr_t attr;
    dnnl_primitive_desc_t product, pack;
    od_md x, w, any, y;
} description;

static void forget(description *s)
{
    dnnl_primitive_desc_t made[] = {s->product, s->pack};
    od_md md[] = {s->x, s->w, s->any, s->y};
    for (int i = 0; i < 2; i++)
        if (made[i])
            wgi_dnnl.primitive_desc_destroy(made[i]);
    if (s->attr)
        wgi_dnnl.primitive_attr_destroy(s->attr);
    for (int i = 0; i < 4; i++)
        wgi_od_md_free(md[i]);
}

static bool describe(description *s, bench_direct *d, const bench_product *p, bool packed)
{
    dnnl_dims_t dims = {p->k, p->n};
    *s = (description){.x = matrix(p->m, p->k, p->transpose_x),
                       .w = matrix(p->k, p->n, p->transpose_w),
                       .y = matrix(p->m, p->n, false)};
    return s->x && s->w && s->y &&
           wgi_dnnl.engine_create(&d->engine, dnnl_cpu, 0) == dnnl_success &&
           wgi_dnnl.stream_create(&d->stream, d->engine, dnnl_stream_default_flags) ==
               dnnl_success &&
           wgi_dnnl.primitive_attr_create(&s->attr) == dnnl_success &&
           wgi_dnnl.primitive_attr_set_scratchpad_mode(s->attr, dnnl_scratchpad_mode_user) ==
               dnnl_success &&
           wgi_od_md_any(&s->any, 2, dims, dnnl_f32) == dnnl_success &&
           wgi_od_matmul(&s->product, d->engine, s->x, packed ? s->any : s->w, NULL, s->y,
                         s->attr) == dnnl_success;
}

static bool make(bench_direct *d, description *s, const bench_product *p, bool packed)
{
    od_const_md wanted = wgi_dnnl.primitive_desc_query_md(s->product, dnnl_query_weights_md, 0);
    od_const_md pad = wgi_dnnl.primitive_desc_query_md(s->product, dnnl_query_scratchpad_md, 0);
    d->packed_data = malloc(wgi_od_md_bytes(wanted) + 64);
    d->scratch_data = malloc(wgi_od_md_bytes(pad) + 64);
    bool ok = d->packed_data && d->scratch_data &&
              wgi_dnnl.primitive_create(&d->product, s->product) == dnnl_success &&
              wgi_dnnl.memory_create(&d->x, s->x, d->engine, p->x) == dnnl_success &&
              wgi_dnnl.memory_create(&d->w, s->w, d->engine, p->w) == dnnl_success &&
              wgi_dnnl.memory_create(&d->y, s->y, d->engine, p->y) == dnnl_success &&
              wgi_dnnl.memory_create(&d->packed, wanted, d->engine,
                                     packed ? d->packed_data : p->w) == dnnl_success &&
              wgi_dnnl.memory_create(&d->scratch, pad, d->engine, d->scratch_data) == dnnl_success;
    if (!ok || !packed || wgi_od_md_equal(wanted, s->w))
        return ok;
    return wgi_od_reorder(&s->pack, d->engine, s->w, wanted, s->attr) == dnnl_success &&
           wgi_dnnl.primitive_create(&d->pack, s->pack) == dnnl_success;
}

bench_direct *bench_direct_open(const bench_product *p, bool packed)
{
    bench_direct *d = calloc(1, sizeof *d);
    description s;
    if (!d)
        return NULL;
    bool ok = describe(&s, d, p, packed) && make(d, &s, p, packed);
    forget(&s);
    if (ok)
        return d;
    bench_direct_close(d);
    return NULL;
}

void bench_direct_close(bench_direct *d)
{
    if (!d)
        return;
    dnnl_memory_t memory[] = {d->x, d->w, d->packed, d->y, d->scratch};
    for (int i = 0; i < 5; i++)
        wgi_dnnl.memory_destroy(memory[i]);
    wgi_dnnl.primitive_destroy(d->product);
    wgi_dnnl.primitive_destroy(d->pack);
    wgi_dnnl.stream_destroy(d->stream);
    wgi_dnnl.engine_destroy(d->engine);
    free(d->packed_data);
    free(d->scratch_data);
    free(d);
}

wg_status bench_direct_run(void *direct)
{
    bench_direct *d = direct;
    const dnnl_exec_arg_t pack[] = {
        {DNNL_ARG_FROM, d->w}, {DNNL_ARG_TO, d->packed}, {DNNL_ARG_SCRATCHPAD, d->scratch}};
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, d->x},
                                    {DNNL_ARG_WEIGHTS, d->packed},
                                    {DNNL_ARG_DST, d->y},
                                    {DNNL_ARG_SCRATCHPAD, d->scratch}};
    bool ok =
        (!d->pack || wgi_dnnl.primitive_execute(d->pack, d->stream, 2, pack) == dnnl_success) &&
        wgi_dnnl.primitive_execute(d->product, d->stream, 4, args) == dnnl_success;
    return ok ? WG_OK : WG_EUNSUPPORTED;
}

wg_status bench_sgemm_run(void *product)
{
    const bench_product *p = product;
    dnnl_status_t status = wgi_dnnl.sgemm(p->transpose_x ? 'T' : 'N', p->transpose_w ? 'T' : 'N',
                                          p->m, p->n, p->k, 1, p->x, p->transpose_x ? p->m : p->k,
                                          p->w, p->transpose_w ? p->k : p->n, 0, p->y, p->n);
    return status == dnnl_success ? WG_OK : WG_EUNSUPPORTED;
}
