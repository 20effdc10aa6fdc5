#include "tests/autograd/zoo.h"
#include "tests/test.h"
#include "wengert/models/layers.h"
#include "wengert/models/models.h"
#include "wengert/ops/ops.h"

static wg_value *zoo_integers(zoo *z, const char *name, wg_shape shape, int below)
{
    wg_value *v = wg_input(z->g, name, WG_I64, shape);
    z->leaf[z->n_leaves++] = (wg_gradcheck_leaf){.leaf = v, .lo = 0, .hi = below};
    return v;
}

static wg_value *zoo_input(zoo *z, const char *name, wg_shape shape)
{
    return wg_input(z->g, name, WG_F32, shape);
}

static wg_value *zoo_weight(zoo *z, const char *name, wg_shape shape)
{
    return wg_parameter(z->g, name, WG_F32, shape, wg_xavier(1));
}

static wg_value *zoo_total(wg_value *x)
{
    return wg_sum(x, WG_ALL_AXES, WG_DROP);
}

/* examples/linear_regression.c */
static void zoo_regression(zoo *z)
{
    wg_value *x = zoo_input(z, "x", WG_SHAPE(200)), *y = zoo_input(z, "y", WG_SHAPE(200));
    wg_value *w = wg_parameter(z->g, "w", WG_F32, WG_SCALAR, wg_zeros());
    wg_value *b = wg_parameter(z->g, "b", WG_F32, WG_SCALAR, wg_zeros());
    wg_value *error = wg_sub(wg_add(wg_mul(w, x), b), y);
    wg_output(wg_mean(wg_square(error), WG_ALL_AXES, WG_DROP), "loss");
}

/* examples/hessian_vector.c */
static void zoo_rosenbrock(zoo *z)
{
    wg_value *x = wg_input(z->g, "x", WG_F64, WG_SHAPE(8));
    wg_value *a = wg_slice(x, 0, 0, 7, 1), *b = wg_slice(x, 0, 1, 8, 1);
    wg_value *valley = wg_scale(wg_square(wg_sub(b, wg_square(a))), 100);
    wg_output(zoo_total(wg_add(valley, wg_square(wg_shift(wg_neg(a), 1)))), "f");
}

/* examples/mlp_classifier.c */
static void zoo_spirals(zoo *z)
{
    wg_value *h = zoo_input(z, "x", WG_SHAPE(300, 2));
    h = wg_gelu(wg_dense("hidden1", h, 32, WG_ACTIVATION_NONE), WG_GELU_TANH);
    h = wg_gelu(wg_dense("hidden2", h, 32, WG_ACTIVATION_NONE), WG_GELU_TANH);
    wg_value *logits = wg_dense("classes", h, 3, WG_ACTIVATION_NONE);
    wg_value *labels = zoo_integers(z, "labels", WG_SHAPE(300), 3);
    wg_output(wg_cross_entropy(logits, labels, NULL, NULL), "loss");
    wg_output(wg_argmax(logits, -1, WG_DROP), "answer");
}

/* A loss summed over 50,176 elements. */
static void zoo_bce_sum(zoo *z)
{
    wg_value *x = zoo_input(z, "x", WG_SHAPE(64, 784)), *t = zoo_input(z, "t", WG_SHAPE(64, 784));
    wg_output(wg_bce_with_logits(x, t, WG_LOSS_SUM), "loss");
}

/* Constants far above what changes. */
static void zoo_tanh_offset(zoo *z)
{
    wg_value *x = zoo_input(z, "x", WG_SHAPE(20));
    wg_output(wg_shift(zoo_total(wg_square(wg_tanh(x))), 1e4), "loss");
}
static void zoo_relu_offset(zoo *z)
{
    wg_value *x = zoo_input(z, "x", WG_SHAPE(20));
    wg_output(wg_shift(zoo_total(wg_square(wg_relu(x))), 1e4), "loss");
}
static void zoo_small_loss(zoo *z)
{
    wg_value *x = zoo_input(z, "x", WG_SHAPE(20));
    wg_output(wg_scale(zoo_total(wg_square(wg_tanh(x))), 1e-9), "loss");
}

/* A variational autoencoder (Kingma and Welling 2014): 784-128-8. */
void zoo_vae(zoo *z)
{
    enum { B = 16, PIXELS = 784, H = 128, LATENT = 8 };
    wg_value *x = zoo_input(z, "x", WG_SHAPE(B, PIXELS));
    wg_value *h = wg_dense("encoder", x, H, WG_ACTIVATION_RELU);
    wg_value *mean = wg_dense("mean", h, LATENT, WG_ACTIVATION_NONE);
    wg_value *log_var = wg_dense("log_var", h, LATENT, WG_ACTIVATION_NONE);
    wg_value *noise = wg_normal(z->g, WG_F32, WG_SHAPE(B, LATENT), 0, 1);
    wg_value *code = wg_add(mean, wg_mul(wg_exp(wg_scale(log_var, 0.5)), noise));
    h = wg_dense("decoder", code, H, WG_ACTIVATION_RELU);
    wg_value *bce =
        wg_bce_with_logits(wg_dense("pixels", h, PIXELS, WG_ACTIVATION_NONE), x, WG_LOSS_SUM);
    wg_value *spread = wg_sub(wg_shift(log_var, 1), wg_add(wg_square(mean), wg_exp(log_var)));
    wg_output(wg_add(bce, wg_scale(zoo_total(spread), -0.5)), "loss");
}

/* Coupling layers (Dinh et al. 2017): (a, b) -> (a, b exp(s(a)) + t(a)). */
static void zoo_flow(zoo *z)
{
    enum { B = 8, D = 4 };
    wg_value *a = zoo_input(z, "a", WG_SHAPE(B, D)), *b = zoo_input(z, "b", WG_SHAPE(B, D));
    wg_value *volume = NULL;
    for (int i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "coupling%d", i);
        wg_scope_push(z->g, "%s", name);
        wg_value *h = wg_dense("hidden", a, 16, WG_ACTIVATION_RELU);
        wg_value *s = wg_tanh(wg_dense("scale", h, D, WG_ACTIVATION_NONE));
        wg_value *c = wg_add(wg_mul(b, wg_exp(s)), wg_dense("shift", h, D, WG_ACTIVATION_NONE));
        wg_scope_pop(z->g);
        volume = volume ? wg_add(volume, zoo_total(s)) : zoo_total(s);
        b = a;
        a = c;
    }
    wg_value *energy = wg_scale(wg_add(zoo_total(wg_square(a)), zoo_total(wg_square(b))), 0.5);
    wg_output(wg_sub(energy, volume), "loss");
}

/* The same far from where training would begin: parameters of (-1, 1). */
static void zoo_wide_flow(zoo *z)
{
    zoo_flow(z);
    wg_value *p[32];
    size_t n = wg_graph_parameters(z->g, p, 32);
    for (size_t i = 0; i < n && z->n_leaves < 16; i++)
        z->leaf[z->n_leaves++] = (wg_gradcheck_leaf){.leaf = p[i], .lo = -1, .hi = 1};
}

/* A selective state space (Gu and Dao 2023): h_t = exp(step_t A) h_(t-1) + step_t B_t x_t,
 * y_t = <C_t, h_t>.  decay, drive: [T, D, N]. */
enum { ZOO_T = 8, ZOO_D = 4, ZOO_N = 3 };

static void zoo_ssm_begin(zoo *z, wg_value **decay, wg_value **drive)
{
    wg_value *x = zoo_input(z, "x", WG_SHAPE(ZOO_T, ZOO_D));
    wg_value *gain = wg_parameter(z->g, "gain", WG_F32, WG_SHAPE(ZOO_D), wg_ones());
    wg_value *u = wg_silu(wg_matmul(wg_rmsnorm(x, gain, WG_LAST_AXIS, 1e-5),
                                    zoo_weight(z, "in", WG_SHAPE(ZOO_D, ZOO_D))));
    wg_value *step = wg_softplus(wg_matmul(u, zoo_weight(z, "step", WG_SHAPE(ZOO_D, ZOO_D))));
    wg_value *log_a = wg_parameter(z->g, "log_a", WG_F32, WG_SHAPE(ZOO_D, ZOO_N), wg_zeros());
    wg_value *b = wg_matmul(u, zoo_weight(z, "b", WG_SHAPE(ZOO_D, ZOO_N)));
    wg_value *steps = wg_unsqueeze(step, 2); /* [T, D, 1] */
    *decay = wg_exp(wg_mul(steps, wg_neg(wg_exp(log_a))));
    *drive = wg_mul(wg_mul(steps, wg_unsqueeze(u, 2)), wg_unsqueeze(b, 1));
}

static void zoo_ssm_end(zoo *z, wg_value *h)
{
    wg_value *c = zoo_weight(z, "c", WG_SHAPE(ZOO_N, 1));
    wg_value *gain = wg_parameter(z->g, "out_gain", WG_F32, WG_SHAPE(ZOO_D), wg_ones());
    wg_value *y = wg_rmsnorm(wg_squeeze(wg_matmul(h, c), 2), gain, WG_LAST_AXIS, 1e-5);
    y = wg_linear(y, zoo_weight(z, "out", WG_SHAPE(5, ZOO_D)), NULL, WG_ACTIVATION_NONE);
    wg_value *next = zoo_integers(z, "next", WG_SHAPE(ZOO_T), 5);
    wg_output(wg_cross_entropy(y, next, NULL, NULL), "loss");
}

static void zoo_ssm_unrolled(zoo *z)
{
    wg_value *decay, *drive, *h[ZOO_T] = {NULL};
    zoo_ssm_begin(z, &decay, &drive);
    for (int t = 0; t < ZOO_T; t++) {
        wg_value *b = wg_slice(drive, 0, t, t + 1, 1), *a = wg_slice(decay, 0, t, t + 1, 1);
        h[t] = t ? wg_add(wg_mul(a, h[t - 1]), b) : b;
    }
    zoo_ssm_end(z, wg_concat(h, ZOO_T, 0));
}

/* In log2(T) steps: (a, b)_t becomes (a_t a_(t-k), b_t + a_t b_(t-k)), k = 1, 2, 4. */
static void zoo_ssm_scan(zoo *z)
{
    wg_value *a, *b;
    zoo_ssm_begin(z, &a, &b);
    for (int k = 1; k < ZOO_T; k *= 2) {
        const wg_shape before = WG_SHAPE(k, 0, 0), after = WG_SHAPE(0, 0, 0);
        wg_value *earlier_a = wg_pad(wg_slice(a, 0, 0, ZOO_T - k, 1), before, after, 1);
        wg_value *earlier_b = wg_pad(wg_slice(b, 0, 0, ZOO_T - k, 1), before, after, 0);
        b = wg_add(b, wg_mul(a, earlier_b));
        a = wg_mul(a, earlier_a);
    }
    zoo_ssm_end(z, b);
}

/* Graph attention (Velickovic et al. 2018) over a list of edges, with a softmax of its own: the
 * maximum is subtracted and taken as a constant, and 1e-9 keeps the sum from 0. */
static void zoo_graph_attention(zoo *z)
{
    enum { NODES = 12, EDGES = 40, D = 6 };
    wg_value *x = zoo_input(z, "x", WG_SHAPE(NODES, 5));
    wg_value *from = zoo_integers(z, "from", WG_SHAPE(EDGES), NODES),
             *to = zoo_integers(z, "to", WG_SHAPE(EDGES), NODES);
    wg_value *h = wg_matmul(x, zoo_weight(z, "w", WG_SHAPE(5, D)));
    wg_value *s = wg_squeeze(wg_matmul(h, zoo_weight(z, "from_score", WG_SHAPE(D, 1))), 1);
    wg_value *t = wg_squeeze(wg_matmul(h, zoo_weight(z, "to_score", WG_SHAPE(D, 1))), 1);
    wg_value *score = wg_leaky_relu(wg_add(wg_take(s, from, 0), wg_take(t, to, 0)), 0.2);
    score = wg_scale(score, 4); /* some nodes lie far below the maximum */
    wg_value *top = wg_stop_gradient(wg_max(score, WG_ALL_AXES, WG_DROP));
    wg_value *e = wg_exp(wg_sub(score, top));
    wg_value *sum = wg_shift(wg_segment_sum(e, to, 0, NODES), 1e-9);
    wg_value *share = wg_div(e, wg_take(sum, to, 0));
    wg_value *sent = wg_mul(wg_unsqueeze(share, 1), wg_take(h, from, 0));
    wg_value *y = wg_elu(wg_segment_sum(sent, to, 0, NODES), 1);
    wg_output(wg_mean(wg_square(y), WG_ALL_AXES, WG_DROP), "loss");
}

void zoo_stopped(zoo *z)
{
    wg_value *x = zoo_input(z, "x", WG_SHAPE(6));
    wg_output(wg_mul(x, wg_stop_gradient(wg_square(x))), "y");
}

/* Rounding with a straight-through gradient (Bengio et al. 2013). */
static void zoo_straight_through(zoo *z)
{
    wg_value *x = wg_scale(zoo_input(z, "x", WG_SHAPE(6)), 3);
    wg_value *rounded = wg_add(x, wg_stop_gradient(wg_sub(wg_round(x), x)));
    wg_output(zoo_total(wg_square(wg_matmul(wg_reshape(rounded, WG_SHAPE(1, 6)),
                                            zoo_weight(z, "w", WG_SHAPE(6, 3))))),
              "loss");
}

typedef struct zoo_model {
    const char *name;
    void (*build)(zoo *z);
} zoo_model;

static const zoo_model zoo_models[] = {
    {"linear regression", zoo_regression},
    {"Rosenbrock", zoo_rosenbrock},
    {"spirals", zoo_spirals},
    {"binary cross entropy, summed", zoo_bce_sum},
    {"sum of tanh^2, plus 1e4", zoo_tanh_offset},
    {"sum of relu^2, plus 1e4", zoo_relu_offset},
    {"sum of tanh^2, times 1e-9", zoo_small_loss},
    {"variational autoencoder", zoo_vae},
    {"flow", zoo_flow},
    {"flow, wide parameters", zoo_wide_flow},
    {"state space, unrolled", zoo_ssm_unrolled},
    {"state space, scan", zoo_ssm_scan},
    {"graph attention", zoo_graph_attention},
    {"x stop_gradient(x^2)", zoo_stopped},
    {"straight-through rounding", zoo_straight_through},
};

bool zoo_build(zoo *z, size_t i, const char **name)
{
    size_t own = (size_t)WG_COUNT(zoo_models);
    const wg_model *m = i < own ? NULL : wg_model_at(i - own);
    if (i >= own && !m)
        return false;
    *z = (zoo){.g = wg_graph_new()};
    *name = m ? m->name : zoo_models[i].name;
    if (m && m->variant) /* a small one */
        m->variant(z->g, 0);
    else if (m)
        m->build(z->g);
    else
        zoo_models[i].build(z);
    check_that(wg_graph_status(z->g) == WG_OK, "%s: %s", *name, wg_graph_message(z->g));
    for (int k = 0; m && k < WG_MODEL_INPUTS && m->ranges[k].input; k++) {
        const wg_value *v = wg_graph_find(z->g, m->ranges[k].input);
        z->leaf[z->n_leaves++] =
            (wg_gradcheck_leaf){.leaf = v, .lo = 0, .hi = (double)m->ranges[k].below};
    }
    return true;
}
