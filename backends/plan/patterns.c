/* Patterns of plain ops for which some backend has one kernel.  Each is matched from its anchor
 * outwards; its function follows the picture above it. */
#include "backends/plan/patterns.h"
#include "wengert/ops/norm.h"

/* ---- layernorm of a residual sum ----------------------------------------------------------------
 *
 *     x + dropout(branch)  ->  layernorm
 */

static bool over_last_axis(const wg_node *norm)
{
    const wg_rownorm_attrs *a = norm->attrs;
    return a->axes <= 1;
}

/* Which operand of the sum is the branch: the one made by a dropout for this sum alone. */
static int dropped_operand(const wgi_fusion_view *view, const wg_node *sum)
{
    for (int i = 0; i < 2; i++)
        if (wgi_made_by(sum->in[i], &wg_op_dropout) && wgi_only_reader(view, sum->in[i]) == sum)
            return i;
    return WGI_NONE;
}

static bool residual_layernorm(const wgi_fusion_view *view, wg_node *n, wgi_fused *out)
{
    wg_node *sum = wgi_made_by(n->in[0], &wg_op_add);
    if (!sum || !over_last_axis(n) || !wg_shape_equal(&sum->in[0]->shape, &sum->in[1]->shape))
        return false;
    int branch = dropped_operand(view, sum);
    const wg_node *drop = branch == WGI_NONE ? NULL : sum->in[branch]->node;
    out->op = &wg_op_residual_layernorm;
    out->attrs.residual =
        (wg_residual_layernorm_attrs){.eps = ((const wg_rownorm_attrs *)n->attrs)->eps};
    if (drop) {
        const wg_dropout_attrs *a = drop->attrs;
        out->attrs.residual.p = a->p;
        out->attrs.residual.key = a->key;
    }
    out->n_in = n->n_in + 1;
    out->in[0] = sum->in[drop ? 1 - branch : 0];
    out->in[1] = drop ? drop->in[0] : sum->in[1];
    for (int i = 1; i < n->n_in; i++)
        out->in[i + 1] = n->in[i];
    for (int i = 0; i < 3; i++)
        out->replaces[i] = n->out[i];
    out->replaces[3] = sum->out[0];
    return true;
}

/* Its gradient:
 *
 *     layernorm_grad  ->  (+ dsum)  ->  dx  ->  dropout  ->  dbranch
 *
 * with dsum the other cotangent of a sum that is also read elsewhere, as in models that normalise
 * before each layer. */

/* The dropout that reads v, if there is one. */
static wg_node *dropped(const wgi_fusion_view *view, const wg_value *v)
{
    for (size_t i = view->first_reader[v->id]; i < view->first_reader[v->id + 1]; i++)
        if (view->reader[i]->op == &wg_op_dropout)
            return view->reader[i];
    return NULL;
}

static bool residual_layernorm_grad(const wgi_fusion_view *view, wg_node *n, wgi_fused *out)
{
    wg_value *dx = n->out[0], *dsum = NULL;
    const wg_node *sum = wgi_only_reader(view, dx);
    if (sum && sum->op == &wg_op_add && n->n_in == 5) {
        dsum = sum->in[sum->in[0] == dx ? 1 : 0];
        if (!wg_shape_equal(&dsum->shape, &dx->shape))
            return false;
        dx = sum->out[0];
    }
    const wg_node *drop = dropped(view, dx);
    if (!drop || !over_last_axis(n))
        return false;
    const wg_dropout_attrs *a = drop->attrs;
    out->op = &wg_op_residual_layernorm_grad;
    out->attrs.residual =
        (wg_residual_layernorm_attrs){a->p, a->key, ((const wg_rownorm_attrs *)n->attrs)->eps};
    for (int i = 0; i < n->n_in; i++)
        out->in[out->n_in++] = n->in[i];
    if (dsum)
        out->in[out->n_in++] = dsum;
    out->replaces[0] = dx;
    out->replaces[1] = n->out[1];
    out->replaces[2] = n->out[2];
    out->replaces[3] = drop->out[0];
    return true;
}

/* ---- cross-entropy of a linear layer ------------------------------------------------------------
 *
 *     x weight' -> logits -> cross_entropy -> loss
 *                    |
 *                    +-> cross_entropy_grad -> dlogits -> matmul with weight -> dx
 *                                                 |
 *                                                 +-----> matmul with x ------> dweight
 *
 * Without the lower part, it is the forward pass alone.  Reshapes may stand anywhere. */

/* x before any reshapes */
static wg_value *unshaped(wg_value *x)
{
    while (x->node->op == &wg_op_reshape)
        x = x->node->in[0];
    return x;
}

/* The product of x [..., d] and weight [V, d] that computes the logits; NULL if they are computed
 * otherwise. */
static wg_node *projection(wg_value *logits)
{
    wg_node *n = unshaped(logits)->node;
    const wg_linear_attrs *a = n->attrs;
    if (n->op == &wg_op_linear)
        return n->n_in == 2 && a->activation == WG_ACTIVATION_NONE && !a->in_first ? n : NULL;
    if (n->op != &wg_op_matmul || n->in[1]->shape.rank != 2)
        return NULL;
    const wg_matmul_attrs *t = n->attrs;
    return !t->transpose_a && t->transpose_b ? n : NULL;
}

/* Collects the nodes that read v, directly or through reshapes; -1 if an output or more than `max`
 * do. */
static int readers_of(const wgi_fusion_view *view, const wg_value *v, wg_node **found, int max)
{
    size_t first = view->first_reader[v->id], nodes = view->first_reader[v->id + 1] - first;
    int count = 0;
    if (view->readers[v->id] != nodes)
        return -1;
    for (size_t i = 0; i < nodes; i++) {
        wg_node *n = view->reader[first + i];
        int more = 1;
        if (n->op == &wg_op_reshape)
            more = readers_of(view, n->out[0], found + count, max - count);
        else if (count < max)
            found[count] = n;
        else
            more = -1;
        if (more < 0)
            return -1;
        count += more;
    }
    return count;
}

/* y, or the one reshape of it, that has the wanted shape; NULL if there is none. */
static wg_value *shaped_as(const wgi_fusion_view *view, wg_value *y, const wg_value *like)
{
    while (y && !wg_shape_equal(&y->shape, &like->shape)) {
        const wg_node *reader = wgi_only_reader(view, y);
        y = reader && reader->op == &wg_op_reshape ? reader->out[0] : NULL;
    }
    return y;
}

static bool is_product(const wg_node *n, const wg_value *a, const wg_value *b, bool transpose_a)
{
    if (n->op != &wg_op_matmul || unshaped(n->in[0]) != a || unshaped(n->in[1]) != b)
        return false;
    const wg_matmul_attrs *t = n->attrs;
    return t->transpose_a == transpose_a && !t->transpose_b;
}

/* The lower part of the picture; false if the readers of the gradient differ from it. */
static bool loss_gradient(const wgi_fusion_view *view, const wg_node *loss, const wg_node *grad,
                          wg_value *x, wg_value *weight, wgi_fused *out)
{
    wg_node *reader[2];
    bool same = grad->op == &wg_op_cross_entropy_grad && grad->n_in == loss->n_in + 1 &&
                wg_node_attrs_equal(loss->op, loss->attrs, grad->attrs);
    for (int i = 0; same && i < loss->n_in; i++)
        same = grad->in[i + 1] == loss->in[i];
    if (!same || readers_of(view, grad->out[0], reader, 2) != 2)
        return false;
    int of_x = reader[0]->op == &wg_op_matmul && unshaped(reader[0]->in[1]) == weight ? 0 : 1;
    wg_node *dx = reader[of_x], *dweight = reader[1 - of_x];
    if (!is_product(dx, grad->out[0], weight, false) ||
        !is_product(dweight, grad->out[0], unshaped(x), true))
        return false;
    out->replaces[1] = shaped_as(view, dx->out[0], x);
    out->replaces[2] = shaped_as(view, dweight->out[0], weight);
    out->in[3] = grad->in[0];
    return out->replaces[1] && out->replaces[2];
}

/* t has the shape of x without its last axis. */
static bool is_one_for_each_row(const wg_value *t, const wg_value *x)
{
    bool same = t->shape.rank == x->shape.rank - 1;
    for (int i = 0; same && i < t->shape.rank; i++)
        same = t->shape.dim[i] == x->shape.dim[i];
    return same;
}

static bool linear_cross_entropy(const wgi_fusion_view *view, wg_node *n, wgi_fused *out)
{
    wg_node *product = projection(n->in[0]), *reader[2];
    int readers = product ? readers_of(view, product->out[0], reader, 2) : -1;
    out->attrs.loss = *(const wg_cross_entropy_attrs *)n->attrs;
    if (readers < 1 || out->attrs.loss.reduction == WG_LOSS_NONE)
        return false;
    wg_value *x = product->in[0], *weight = product->in[1];
    bool step = readers == 2;
    if (step && !loss_gradient(view, n, reader[reader[0] == n ? 1 : 0], x, weight, out))
        return false;
    out->op = step ? &wg_op_linear_cross_entropy_step : &wg_op_linear_cross_entropy;
    out->in[0] = x;
    out->in[1] = weight;
    out->in[2] = is_one_for_each_row(n->in[1], x) ? n->in[1] : unshaped(n->in[1]);
    out->n_in = step ? 4 : 3;
    if (n->n_in > 2)
        out->in[out->n_in++] = n->in[2];
    out->replaces[0] = n->out[0];
    return is_one_for_each_row(out->in[2], x);
}

/* ---- linear layers ------------------------------------------------------------------------------
 *
 *     x weight (or weight given transposed)  ->  + bias  ->  activation
 *
 * The bias may be missing where there is an activation, and both may stand above a linear layer. */

static const struct {
    const wg_op *op;
    wg_activation activation;
} activations[] = {
    {&wg_op_relu, WG_ACTIVATION_RELU},       {&wg_op_tanh, WG_ACTIVATION_TANH},
    {&wg_op_sigmoid, WG_ACTIVATION_SIGMOID}, {&wg_op_silu, WG_ACTIVATION_SILU},
    {&wg_op_gelu, WG_ACTIVATION_GELU}, /* or GELU_TANH, by its attribute */
};

static wg_activation activation_of(const wg_node *n)
{
    if (n->op == &wg_op_gelu)
        return ((const wg_gelu_attrs *)n->attrs)->kind == WG_GELU_TANH ? WG_ACTIVATION_GELU_TANH
                                                                       : WG_ACTIVATION_GELU;
    for (int i = 0; i < WG_COUNT(activations); i++)
        if (activations[i].op == n->op)
            return activations[i].activation;
    return WG_ACTIVATION_NONE;
}

/* v as a product of rows with a plain matrix, or a linear layer without activation. */
static bool affine(wg_value *v, wgi_fused *out)
{
    wg_node *n = v->node;
    const wg_linear_attrs *linear = n->attrs;
    const wg_matmul_attrs *t = n->attrs;
    bool is_linear = n->op == &wg_op_linear && linear->activation == WG_ACTIVATION_NONE;
    bool is_product = n->op == &wg_op_matmul && n->in[1]->shape.rank == 2 && !t->transpose_a;
    if (!is_linear && !is_product)
        return false;
    out->op = &wg_op_linear;
    out->attrs.linear =
        (wg_linear_attrs){.in_first = is_linear ? linear->in_first : !t->transpose_b};
    out->n_in = n->n_in;
    for (int i = 0; i < n->n_in; i++)
        out->in[i] = n->in[i];
    return true;
}

/* Whether sum = x weight + bias, where the bias is a vector as long as a row and only the sum reads
 * the product. */
static bool biased(const wgi_fusion_view *view, const wg_node *sum, wgi_fused *out)
{
    for (int i = 0; i < 2; i++) {
        wg_value *product = sum->in[i], *bias = sum->in[1 - i];
        if (wgi_only_reader(view, product) == sum && affine(product, out) && out->n_in == 2 &&
            bias->shape.rank == 1 &&
            bias->shape.dim[0] == product->shape.dim[product->shape.rank - 1]) {
            out->in[out->n_in++] = bias;
            return true;
        }
    }
    return false;
}

static bool linear_with_bias(const wgi_fusion_view *view, wg_node *n, wgi_fused *out)
{
    out->replaces[0] = n->out[0];
    return biased(view, n, out);
}

static bool linear_with_activation(const wgi_fusion_view *view, wg_node *n, wgi_fused *out)
{
    wg_value *z = n->in[0];
    bool sum = z->node->op == &wg_op_add;
    if (wgi_only_reader(view, z) != n || !(sum ? biased(view, z->node, out) : affine(z, out)))
        return false;
    out->attrs.linear.activation = activation_of(n);
    out->replaces[0] = n->out[0];
    return true;
}

/* ---- the most probable classes ------------------------------------------------------------------
 *
 *     (x weight' (+ bias)  ->)  logits  ->  log_softmax  ->  topk, both along the last axis
 *     x weight' (+ bias)  ->  topk along the last axis
 */

static bool log_softmax_topk(const wgi_fusion_view *view, wg_node *n, wgi_fused *out)
{
    wg_node *softmax = wgi_made_by(n->in[0], &wg_op_log_softmax);
    const wg_topk_attrs *a = n->attrs;
    int rank = n->in[0]->shape.rank;
    if (!softmax || wgi_only_reader(view, n->in[0]) != n ||
        wg_normalize_axis(a->axis, rank) != rank - 1 ||
        wg_normalize_axis(((const wg_softmax_attrs *)softmax->attrs)->axis, rank) != rank - 1)
        return false;
    out->op = &wg_op_log_softmax_topk;
    out->attrs.topk = *a;
    out->in[0] = softmax->in[0];
    out->n_in = 1;
    out->replaces[0] = n->out[0];
    out->replaces[1] = n->out[1];
    return true;
}

/* The operands of a linear layer whose logits only n reads */
static bool is_of_linear(const wgi_fusion_view *view, const wg_node *n, wg_value *logits,
                         wgi_fused *out)
{
    bool sum = logits->node->op == &wg_op_add;
    return wgi_only_reader(view, logits) == n &&
           (sum ? biased(view, logits->node, out) : affine(logits, out)) &&
           !out->attrs.linear.in_first;
}

static bool linear_log_softmax_topk(const wgi_fusion_view *view, wg_node *n, wgi_fused *out)
{
    if (!log_softmax_topk(view, n, out) || !is_of_linear(view, n->in[0]->node, out->in[0], out))
        return false;
    out->op = &wg_op_linear_log_softmax_topk;
    out->attrs.topk = *(const wg_topk_attrs *)n->attrs;
    return true;
}

static bool linear_topk(const wgi_fusion_view *view, wg_node *n, wgi_fused *out)
{
    const wg_topk_attrs *a = n->attrs;
    int rank = n->in[0]->shape.rank;
    if (wg_normalize_axis(a->axis, rank) != rank - 1 || !is_of_linear(view, n, n->in[0], out))
        return false;
    out->op = &wg_op_linear_topk;
    out->attrs.topk = *a;
    out->replaces[0] = n->out[0];
    out->replaces[1] = n->out[1];
    return true;
}

/* The product in 8 bits has its bias already. */
static bool quantized_log_softmax_topk(const wgi_fusion_view *view, wg_node *n, wgi_fused *out)
{
    if (!log_softmax_topk(view, n, out))
        return false;
    const wg_node *product = wgi_made_by(out->in[0], &wg_op_quantized_linear);
    if (!product || ((const wg_quantized_linear_attrs *)product->attrs)->relu ||
        wgi_only_reader(view, out->in[0]) != n->in[0]->node)
        return false;
    for (out->n_in = 0; out->n_in < product->n_in; out->n_in++)
        out->in[out->n_in] = product->in[out->n_in];
    out->op = &wg_op_quantized_linear_log_softmax_topk;
    return true;
}

/* ---- sums with a product ------------------------------------------------------------------------
 *
 *     a b (+ bias)  ->  + c, all of one shape
 *
 * as cotangents are accumulated; of two products the later is added to the earlier.  A sum that is
 * normalised stays for the pattern above, and so does a product that is part of the loss. */

static bool is_normalised(const wgi_fusion_view *view, const wg_value *sum)
{
    for (size_t i = view->first_reader[sum->id]; i < view->first_reader[sum->id + 1]; i++) {
        const wg_node *n = view->reader[i];
        if (n->op == &wg_op_layernorm && n->in[0] == sum && over_last_axis(n))
            return true;
    }
    return false;
}

/* Operands a, b, c, bias and attributes for v = a b (+ bias). */
static bool added_to(const wgi_fusion_view *view, wg_value *v, wg_value *c, wgi_fused *out)
{
    const wg_node *n = v->node;
    wg_value *bias = NULL;
    if (n->op == &wg_op_matmul) {
        if (view->replaced_by[v->id] != WGI_NONE)
            return false;
        out->attrs.matmul = *(const wg_matmul_attrs *)n->attrs;
        out->in[0] = n->in[0];
        out->in[1] = n->in[1];
    } else {
        if (v->shape.rank < 2 || !(n->op == &wg_op_add ? biased(view, n, out) : affine(v, out)))
            return false;
        out->attrs.matmul = (wg_matmul_attrs){false, !out->attrs.linear.in_first};
        bias = out->n_in > 2 ? out->in[2] : NULL;
    }
    out->in[2] = c;
    out->in[3] = bias;
    out->n_in = bias ? 4 : 3;
    return true;
}

static bool product_added(const wgi_fusion_view *view, wg_node *n, wgi_fused *out)
{
    if (!wg_shape_equal(&n->in[0]->shape, &n->in[1]->shape) || is_normalised(view, n->out[0]))
        return false;
    int later = n->in[1]->node->id > n->in[0]->node->id;
    out->replaces[0] = n->out[0];
    for (int i = 0; i < 2; i++) {
        wg_value *v = n->in[i ? 1 - later : later], *c = n->in[i ? later : 1 - later];
        if (wgi_only_reader(view, v) == n && added_to(view, v, c, out)) {
            out->op = &wg_op_matmul_add;
            return true;
        }
    }
    return false;
}

/* ---- convolutions in blocks ---------------------------------------------------------------------
 *
 *     blocked_conv2d (x, weight, bias)  ->  + c, of one shape  ->  relu
 *
 * with either or both; of two convolutions the earlier is added to the later. */

/* The operands and attributes of n, a convolution that nothing follows yet. */
static bool convolution(const wg_value *v, wgi_fused *out)
{
    const wg_node *n = wgi_made_by(v, &wg_op_blocked_conv2d);
    if (!n || n->n_in > 3 || ((const wg_blocked_conv_attrs *)n->attrs)->relu)
        return false;
    out->op = n->op;
    out->attrs.conv = *(const wg_blocked_conv_attrs *)n->attrs;
    for (out->n_in = 0; out->n_in < n->n_in; out->n_in++)
        out->in[out->n_in] = n->in[out->n_in];
    return true;
}

static bool convolution_added(const wgi_fusion_view *view, wg_node *n, wgi_fused *out)
{
    int later = n->in[1]->node->id > n->in[0]->node->id;
    out->replaces[0] = n->out[0];
    for (int i = 0; i < 2; i++) {
        wg_value *v = n->in[i ? 1 - later : later], *c = n->in[i ? later : 1 - later];
        if (wgi_only_reader(view, v) == n && wg_shape_equal(&c->shape, &v->shape) &&
            convolution(v, out) && out->n_in == 3) {
            out->in[out->n_in++] = c;
            return true;
        }
    }
    return false;
}

static bool convolution_relu(const wgi_fusion_view *view, wg_node *n, wgi_fused *out)
{
    wg_value *z = n->in[0];
    wg_node *sum = wgi_made_by(z, &wg_op_add);
    if (wgi_only_reader(view, z) != n ||
        !(sum ? convolution_added(view, sum, out) : convolution(z, out)))
        return false;
    out->attrs.conv.relu = true;
    out->replaces[0] = n->out[0];
    return true;
}

/* ---- adam of scaled gradients ------------------------------------------------------------------
 *
 *     p, g factor, m, v, lr, step  ->  adam
 *
 * for any number of parameters with one factor (of wg_clip_by_global_norm, say), rate and step: one
 * pass over all, and no scaled gradient is written.  Updates with plain gradients stay separate:
 * each runs as soon as its gradient is known, since waiting for all would keep all gradients in
 * memory.  A common factor has had to wait for them already. */

/* The factor of the gradient that n steps against; NULL if it has none, or others read the scaled
 * gradient. */
static wg_value *factor_of(const wgi_fusion_view *view, const wg_node *n)
{
    const wg_node *product = wgi_made_by(n->in[1], &wg_op_mul);
    bool scaled = product && product->in[1]->shape.rank == 0 &&
                  wg_shape_equal(&product->in[0]->shape, &n->in[1]->shape) &&
                  wgi_only_reader(view, n->in[1]) == n;
    return scaled ? product->in[1] : NULL;
}

static bool steps_alike(const wgi_fusion_view *view, const wg_node *a, const wg_node *b)
{
    return a->op == b->op && wg_node_attrs_equal(a->op, a->attrs, b->attrs) &&
           a->in[4] == b->in[4] && a->in[5] == b->in[5] && factor_of(view, a) == factor_of(view, b);
}

static bool adam_scaled(const wgi_fusion_view *view, wg_node *n, wgi_fused *out)
{
    wg_value *factor = factor_of(view, n), *lr = n->in[4], *step = n->in[5];
    if (!factor || lr == step)
        return false;
    wg_value *const head[] = {lr, step, factor};
    for (out->n_in = 0; out->n_in < 3; out->n_in++)
        out->list[out->n_in] = head[out->n_in];
    size_t first = view->first_reader[step->id], end = view->first_reader[step->id + 1];
    for (size_t i = first; i < end; i++) {
        const wg_node *m = view->reader[i];
        if (!steps_alike(view, n, m))
            continue;
        if (out->n_in == 3 && m != n) /* an earlier one is the anchor */
            return false;
        wg_value *const own[] = {m->in[0], m->in[1]->node->in[0], m->in[2], m->in[3]};
        for (int k = 0; k < 4; k++)
            out->list[out->n_in++] = own[k];
    }
    for (size_t i = first; i < end; i++)
        for (int k = 0; k < 3 && steps_alike(view, n, view->reader[i]); k++)
            out->list[out->n_in + out->n_replaces++] = view->reader[i]->out[k];
    out->op = n->op == &wg_op_adamw ? &wg_op_adamw_scaled : &wg_op_adam_scaled;
    out->attrs.adam = *(const wg_adam_attrs *)n->attrs;
    return true;
}

const wgi_fusion wgi_fusions[] = {
    {"packed attention", &wg_op_attention, wgi_packed_attention},
    {"packed attention, gradient", &wg_op_attention_grad, wgi_packed_attention},
    {"attention by token", &wg_op_attention, wgi_attention_by_token},
    {"attention by token, gradient", &wg_op_attention_grad, wgi_attention_by_token},
    {"residual layernorm", &wg_op_layernorm, residual_layernorm},
    {"residual layernorm, gradient", &wg_op_layernorm_grad, residual_layernorm_grad},
    {"linear", &wg_op_add, linear_with_bias},
    {"sum with a product", &wg_op_add, product_added},
    {"convolution, sum", &wg_op_add, convolution_added},
    {"convolution, relu", &wg_op_relu, convolution_relu},
    {"linear relu", &wg_op_relu, linear_with_activation},
    {"linear tanh", &wg_op_tanh, linear_with_activation},
    {"linear sigmoid", &wg_op_sigmoid, linear_with_activation},
    {"linear silu", &wg_op_silu, linear_with_activation},
    {"linear gelu", &wg_op_gelu, linear_with_activation},
    {"linear log-softmax top k", &wg_op_topk, linear_log_softmax_topk},
    {"quantized linear log-softmax top k", &wg_op_topk, quantized_log_softmax_topk},
    {"log-softmax top k", &wg_op_topk, log_softmax_topk},
    {"linear top k", &wg_op_topk, linear_topk},
    {"linear cross-entropy", &wg_op_cross_entropy, linear_cross_entropy},
    {"adam of scaled gradients", &wg_op_adam, adam_scaled},
    {"adamw of scaled gradients", &wg_op_adamw, adam_scaled},
    {NULL, NULL, NULL},
};
