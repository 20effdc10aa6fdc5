/* Graphs to draw, and their pictures. */
#ifndef WG_TESTS_GRAPH_PICTURES_H
#define WG_TESTS_GRAPH_PICTURES_H

#include "graph/picture/internal.h"
#include "tests/test.h"
#include "wengert.h"
#include "wengert/graph/picture.h"

static inline wg_value *dense(wg_graph *g, const char *name, wg_value *x, int64_t features)
{
    wg_scope_push(g, "%s", name);
    wg_value *w = wg_parameter(g, "weight", WG_F32, WG_SHAPE(features, x ? x->shape.dim[1] : 1),
                               wg_xavier(1));
    wg_value *y = wg_tanh(wg_scale(wg_matmul_t(x, w, WG_NT), 0.5));
    wg_scope_pop(g);
    return y;
}

/* encoder/layer0 ... layer5 in one frame, then "head", then a scalar. */
static inline wg_graph *tower(bool gradient)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(8, 16)), *w[16], *dw[16];
    wg_scope_push(g, "encoder");
    for (int i = 0; i < 6; i++) {
        wg_scope_push(g, "layer%d", i);
        x = dense(g, "second", dense(g, "first", x, 32), 16);
        wg_scope_pop(g);
    }
    wg_scope_pop(g);
    wg_value *loss = wg_sum(dense(g, "head", x, 4), WG_ALL_AXES, WG_DROP);
    wg_output(loss, "loss");
    size_t n = wg_graph_parameters(g, w, 16);
    if (gradient) {
        assert_int_equal(wg_grad(loss, w, n, dw), WG_OK);
        for (size_t i = 0; i < n; i++)
            wg_output(dw[i], w[i]->name);
    }
    assert_int_equal(wg_graph_status(g), WG_OK);
    return g;
}

/* Layers of equal width, with gradient, clipping and Adam: what everybody trains. */
static inline wg_graph *trained_stack(int layers)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(8, 16)), *lr;
    for (int i = 0; i < layers; i++) {
        char name[16];
        snprintf(name, sizeof name, "dense%d", i);
        x = wg_dense(name, x, 16, WG_ACTIVATION_GELU_TANH);
    }
    wg_gradients d = wg_grad_all(wg_output(wg_mean(x, WG_ALL_AXES, WG_DROP), "loss"));
    lr = wg_input(g, "lr", WG_F32, WG_SCALAR);
    wg_clip_by_global_norm(d.grads, d.n, 1, d.grads);
    wg_adam_update(d.params, d.grads, d.n, lr, NULL);
    assert_int_equal(wg_graph_status(g), WG_OK);
    return g;
}

static inline wg_picture *picture(wg_graph *g, const wg_picture_options *options)
{
    wg_picture *p;
    wg_error error;
    wg_status status = wg_picture_create(&p, g, options, &error);
    check_that(status == WG_OK, "%s", error.text);
    return p;
}

static inline size_t boxes(wg_graph *g, const wg_picture_options *options)
{
    wg_picture *p = picture(g, options);
    size_t n = wg_picture_box_count(p);
    wg_picture_free(p);
    return n;
}

#endif
