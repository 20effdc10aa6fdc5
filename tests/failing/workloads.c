#include "tests/failing/workloads.h"
#include "tests/training.h"
#include "graph/mix.h"
#include "graph/text_buffer.h"
#include "wengert-train.h"
#include "wengert.h"

static const char FOLDER[] = "failing_model", FILE_OF_STORE[] = "failing.safetensors";

static uint64_t hash_bytes(uint64_t h, const void *bytes, size_t size)
{
    const unsigned char *b = bytes;
    for (size_t i = 0; i < size; i++)
        h = wgi_hash_u64(h, b[i]);
    return h;
}

static uint64_t hash_store(const wg_store *s)
{
    uint64_t h = 1;
    const wg_tensor *t;
    for (size_t i = 0; (t = wg_store_at(s, i)); i++) {
        h = hash_bytes(h, t->name, strlen(t->name));
        h = hash_bytes(h, t->data, (size_t)wg_shape_count(&t->shape) * wg_dtype_size(t->dtype));
    }
    return h;
}

static uint64_t hash_file(const char *path)
{
    size_t size;
    char *bytes = contents(".", path, &size);
    uint64_t h = hash_bytes(1, bytes, size);
    free(bytes);
    return h;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* Products, a convolution, attention in tiles that are too large for the small products, a loss:
 * with kernels of each of the default backends. */
static wg_value *build(wg_graph *g)
{
    enum { B = 2, C = 3, N = 12, T = 72, D = 48, CLASSES = 5 };
    wg_value *image = wg_input(g, "image", WG_F32, WG_SHAPE(B, C, N, N));
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(B, 1, T, D));
    wg_value *labels = wg_input(g, "labels", WG_I64, WG_SHAPE(B));
    wg_scope_push(g, "model");
    wg_value *kernel = wg_parameter(g, "kernel", WG_F32, WG_SHAPE(4, C, 3, 3), wg_xavier(1));
    wg_value *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(CLASSES, 4), wg_xavier(1));
    wg_value *b = wg_parameter(g, "b", WG_F32, WG_SHAPE(CLASSES), wg_zeros());
    wg_value *h = wg_gelu(wg_conv2d(image, kernel, NULL, NULL), WG_GELU_ERF);
    h = wg_mean(h, WG_AXES(2, 3), WG_DROP);
    wg_value *logits = wg_linear(h, w, b, WG_ACTIVATION_NONE);
    wg_value *loss = wg_cross_entropy(logits, labels, NULL, NULL);
    wg_value *scale = wg_parameter(g, "scale", WG_F32, WG_SHAPE(D), wg_ones());
    wg_value *q = wg_mul(x, scale);
    wg_value *y = wg_attention(q, x, x, NULL, NULL);
    wg_scope_pop(g);
    return wg_output(wg_add(loss, wg_mean(wg_square(y), WG_ALL_AXES, WG_DROP)), "loss");
}

/* The same with its gradient and a step of Adam. */
static wg_graph *build_step(void)
{
    wg_graph *g = wg_graph_new();
    wg_value *loss = build(g);
    wg_gradients d = wg_grad_all(loss);
    wg_clip_by_global_norm(d.grads, d.n, 1, d.grads);
    wg_adam_update(d.params, d.grads, d.n, wg_fill(g, WG_F32, WG_SCALAR, 0.01), NULL);
    return g;
}

static void *nothing(bool reference)
{
    (void)reference;
    return NULL;
}

static void no_more(void *state)
{
    (void)state;
}

static wg_status end_graph(wg_graph *g, uint64_t *digest)
{
    wg_status status = g ? wg_graph_status(g) : WG_ENOMEM;
    *digest = status == WG_OK ? wg_graph_hash(g) : 0;
    wg_graph_free(g);
    return status;
}

static wg_status build_graph(void *state, uint64_t *digest)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    build(g);
    return end_graph(g, digest);
}

static wg_status build_gradient(void *state, uint64_t *digest)
{
    (void)state;
    return end_graph(build_step(), digest);
}

/* Forward and reverse mode, second order, a computation for one example built for several. */
static wg_status build_derivatives(void *state, uint64_t *digest)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3));
    wg_value *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(3, 3), wg_xavier(1));
    wg_value *y = wg_tanh(wg_matmul(wg_reshape(x, WG_SHAPE(1, 3)), w));
    wg_value *L = wg_sum(wg_square(y), WG_ALL_AXES, WG_DROP), *J, *H, *d, *yb, *dw;
    wg_value *xb = wg_input(g, "xb", WG_F32, WG_SHAPE(4, 3));
    wg_jvp(&y, 1, &x, NULL, 1, &d);
    wg_jacobian(y, &x, 1, NULL, &J);
    wg_hessian(L, &x, 1, NULL, &H);
    wg_laplacian(L, x);
    wg_vmap(&y, 1, &x, &xb, 1, &yb);
    wg_per_sample_grad(L, &x, &xb, 1, &w, 1, &dw);
    return end_graph(g, digest);
}

/* ---- texts and pictures ---------------------------------------------------------------------- */

static void *prepare_text(bool reference)
{
    (void)reference;
    wgi_text_buffer b;
    wg_graph *g = build_step();
    FILE *f = wgi_text_open(&b);
    assert_int_equal(wg_graph_print(g, f), WG_OK);
    wg_graph_free(g);
    char *text = wgi_text_close(&b);
    assert_non_null(text);
    return text;
}

/* Ends a text that was written with that status. */
static wg_status end_text(wgi_text_buffer *b, wg_status status, uint64_t *digest)
{
    char *text = wgi_text_close(b);
    if (text)
        *digest = hash_bytes(1, text, b->size);
    free(text);
    return text ? status : WG_ENOMEM;
}

static wg_status read_and_print(void *text, uint64_t *digest)
{
    wg_graph *g;
    wgi_text_buffer b;
    wg_status status = wg_graph_parse(&g, text, strlen(text), NULL, NULL);
    FILE *f = wgi_text_open(&b);
    if (status == WG_OK && f)
        status = wg_graph_print(g, f);
    wg_graph_free(g);
    return end_text(&b, status, digest);
}

static void *prepare_graph(bool reference)
{
    (void)reference;
    return build_step();
}

static void free_graph(void *g)
{
    wg_graph_free(g);
}

static uint64_t hash_graph(void *g)
{
    return wg_graph_hash(g);
}

static wg_status draw(void *g, uint64_t *digest)
{
    wg_picture *p;
    wgi_text_buffer b;
    FILE *f = wgi_text_open(&b);
    wg_error error;
    wg_status status =
        wg_picture_create(&p, g, &(wg_picture_options){.memory = true, .full = true}, &error);
#ifdef WG_HAVE_GRAPHVIZ
    if (status == WG_OK && f)
        status = wg_picture_write(p, WG_PICTURE_DOT, f, &error);
#endif
    wg_picture_free(p);
    return end_text(&b, status, digest);
}

/* ---- plans and runs -------------------------------------------------------------------------- */

typedef struct planned {
    wg_graph *graph;
    wg_plan_options options;
    wg_plan *plan;
    wg_store *store;
} planned;

static void *prepare_plan(bool reference)
{
    planned *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->graph = build_step();
    p->store = wg_store_new(1);
    p->options = (wg_plan_options){
        .reference = reference, .threads = 1, .store = p->store, .check_nonfinite = true};
    return p;
}

/* Numbers that depend on the inputs' names and places only. */
static void fill_inputs(planned *p)
{
    static const char *const names[] = {"image", "x"};
    for (int i = 0; i < 2; i++) {
        const wg_value *v = wg_graph_find(p->graph, names[i]);
        float *x = wg_plan_f32(p->plan, v);
        for (int64_t k = 0; k < wg_value_count(v); k++)
            x[k] = (float)((k * 37 + i) % 101) / 101 - 0.5f;
    }
    int64_t *labels = wg_plan_i64(p->plan, wg_graph_find(p->graph, "labels"));
    labels[0] = 1;
    labels[1] = 4;
}

static wg_status run_plan(planned *p, uint64_t *digest)
{
    wg_status status = wg_plan_run(p->plan, 0);
    double loss = wg_plan_scalar(p->plan, wg_graph_output(p->graph, 0));
    if (status == WG_OK)
        *digest = hash_bytes(hash_store(p->store), &loss, sizeof loss);
    return status;
}

/* A plan, and a first run, which must have all that it needs. */
static wg_status make_plan(void *state, uint64_t *digest)
{
    planned *p = state;
    wg_graph *g = build_step(); /* an error would stay in the prepared one */
    wg_store *s = wg_store_new(1);
    wg_plan_options o = p->options;
    o.store = s;
    planned mine = {g, o, NULL, s};
    wg_status status = g && s ? wg_plan_create(&mine.plan, g, &o) : WG_ENOMEM;
    if (status == WG_OK && (status = wg_plan_check(mine.plan)) == WG_OK) {
        fill_inputs(&mine);
        status = run_plan(&mine, digest);
    }
    wg_plan_free(mine.plan);
    wg_store_free(s);
    wg_graph_free(g);
    return status;
}

static void free_plan(void *state)
{
    planned *p = state;
    wg_plan_free(p->plan);
    wg_store_free(p->store);
    wg_graph_free(p->graph);
    free(p);
}

static void *prepare_run(bool reference)
{
    planned *p = prepare_plan(reference);
    check_that(wg_plan_create(&p->plan, p->graph, &p->options) == WG_OK, "%s",
               wg_graph_message(p->graph));
    fill_inputs(p);
    return p;
}

static wg_status run(void *state, uint64_t *digest)
{
    return run_plan(state, digest);
}

static uint64_t hash_parameters(void *state)
{
    return hash_store(((planned *)state)->store);
}

/* ---- files ----------------------------------------------------------------------------------- */

static wg_status save(void *state, uint64_t *digest)
{
    wg_status status = wg_store_save(((planned *)state)->store, FILE_OF_STORE, NULL);
    if (status == WG_OK)
        *digest = 1; /* `kept` shows that the file is the same */
    return status;
}

static uint64_t hash_saved(void *state)
{
    (void)state;
    return hash_file(FILE_OF_STORE);
}

/* Other numbers than those of the file, so that loading changes them. */
static void *prepare_load(bool reference)
{
    planned *p = prepare_run(reference);
    const wg_tensor *w = wg_store_find(p->store, "model/w");
    ((float *)w->data)[0] += 1;
    return p;
}

static wg_status load(void *state, uint64_t *digest)
{
    wg_store *s = ((planned *)state)->store;
    wg_status status = wg_store_load(s, FILE_OF_STORE, NULL);
    if (status == WG_OK)
        *digest = hash_store(s);
    return status;
}

/* ---- translating ----------------------------------------------------------------------------- */

static void *prepare_choice(bool reference)
{
    bool *choice = malloc(sizeof *choice);
    assert_non_null(choice);
    *choice = reference;
    return choice;
}

static wg_status translate_lines(wg_translator *t, uint64_t *digest)
{
    enum { LINES = 2 };
    static const char *const lines[LINES] = {"forty-two", "seven"};
    wg_translation *found = NULL;
    const wg_search_options o = {.beam = 2, .n_best = 1, .max_length = 8};
    wg_status status = wg_translator_run(t, lines, LINES, &o, &found);
    uint64_t h = 1;
    for (int i = 0; status == WG_OK && i < LINES; i++) {
        h = hash_bytes(h, found[i].text, strlen(found[i].text));
        h = hash_bytes(h, &found[i].hypothesis.score, sizeof found[i].hypothesis.score);
    }
    if (status == WG_OK)
        wg_translations_free(found, LINES);
    *digest = h;
    return status;
}

static wg_status translate(void *choice, uint64_t *digest)
{
    const wg_backend *const cpu[] = {wg_cpu_backend()};
    bool reference = *(const bool *)choice;
    const wg_translator_options o = {
        .threads = 1, .backends = reference ? cpu : NULL, .n_backends = reference};
    wg_translator *t = NULL;
    wg_status status = wg_translator_open(&t, FOLDER, &o, NULL);
    if (status == WG_OK)
        status = translate_lines(t, digest);
    wg_translator_free(t);
    return status;
}

/* ---- training -------------------------------------------------------------------------------- */

static wg_value *line(void *context, const wg_model_step *step)
{
    (void)context;
    wg_value *y = wg_dense("line", wg_step_input(step, "x"), 1, WG_ACTIVATION_NONE);
    wg_value *error = wg_sub(wg_reshape(y, WG_SHAPE(-1)), wg_step_input(step, "y"));
    wg_step_metric(step, "far", wg_mean(wg_abs(error), WG_ALL_AXES, WG_DROP), WG_LESS_IS_BETTER);
    return wg_mean(wg_square(error), WG_ALL_AXES, WG_DROP);
}

/* Two updates of two batches each, of two sizes, and a validation. */
static wg_status train_line(void *choice, uint64_t *digest)
{
    enum { COUNT = 7 };
    static const float xs[COUNT] = {0, 1, 2, 3, 4, 5, 6}, ys[COUNT] = {1, 3, 5, 7, 9, 11, 13};
    static const wg_field fields[] = {{"x", WG_F32, {1, {1}}, xs}, {"y", WG_F32, {0}, ys}};
    static const wg_examples examples = {fields, 2, COUNT, .batch = 4};
    static const wg_parameter_group bias = {.names = "*bias", .rate = 2};
    const wg_backend *const cpu[] = {wg_cpu_backend()};
    bool reference = *(const bool *)choice;
    const wg_trainer_options o = {.model = line,
                                  .train = &examples,
                                  .valid = &examples,
                                  .accumulate = 2,
                                  .optimizer = {.clip_norm = 1},
                                  .schedule = {WG_SCHEDULE_CONSTANT, .rate = 0.1},
                                  .groups = &bias,
                                  .n_groups = 1,
                                  .average = 0.1,
                                  .after = {2, 'u'},
                                  .report = {1, 'u'},
                                  .validate = {2, 'u'},
                                  .metrics = "far",
                                  .backends = reference ? cpu : NULL,
                                  .n_backends = reference,
                                  .threads = 1};
    wg_trainer *t = NULL;
    wg_status status = wg_trainer_create(&t, &o, NULL);
    if (status == WG_OK)
        status = wg_trainer_run(t, NULL);
    if (status == WG_OK)
        *digest = hash_store(wg_trainer_store(t));
    wg_trainer_free(t);
    return status;
}

/* ---- minimising ------------------------------------------------------------------------------ */

/* Two steps of Newton's method, whose minimiser has two plans. */
static wg_status minimise_line(void *choice, uint64_t *digest)
{
    const bool reference = *(const bool *)choice;
    const wg_plan_options plan = {.reference = reference, .threads = 1};
    const wg_minimiser_options o = {.method = WG_MINIMISE_NEWTON, .plan = &plan, .steps = 2};
    wg_graph *g = wg_graph_new();
    wg_value *w = wg_parameter(g, "w", WG_F64, WG_SHAPE(2), wg_ones());
    wg_value *loss = wg_sum(wg_exp(wg_square(w)), WG_ALL_AXES, WG_DROP);
    wg_minimised found = {0};
    wg_minimiser *m = NULL;
    wg_status status = loss ? wg_minimiser_create(&m, loss, &o, NULL) : WG_ENOMEM;
    if (status == WG_OK)
        status = wg_minimiser_run(m, &found);
    *digest = hash_bytes(1, &found.loss, sizeof found.loss);
    wg_minimiser_free(m);
    wg_graph_free(g);
    return status;
}

/* ---- the table ------------------------------------------------------------------------------- */

const workload workloads[] = {
    {"build a graph", false, nothing, build_graph, NULL, no_more},
    {"add gradient and update", false, nothing, build_gradient, NULL, no_more},
    {"add derivatives", false, nothing, build_derivatives, NULL, no_more},
    {"read and print a graph", false, prepare_text, read_and_print, NULL, free},
    {"draw a graph", false, prepare_graph, draw, hash_graph, free_graph},
    {"plan and run a step", true, prepare_plan, make_plan, hash_parameters, free_plan},
    {"run a step", true, prepare_run, run, hash_parameters, free_plan},
    {"save a store", false, prepare_run, save, hash_saved, free_plan},
    {"load a store", false, prepare_load, load, hash_parameters, free_plan},
    {"open a model and translate", true, prepare_choice, translate, NULL, free},
    {"train a model", true, prepare_choice, train_line, NULL, free},
    {"minimise a loss", true, prepare_choice, minimise_line, NULL, free},
    {.name = NULL},
};

void make_workloads(void)
{
    uint64_t digest;
    remove_folder(FOLDER);
    wg_settings s = small_training(FOLDER, "after 2u; threads 1; numbers 40");
    train(&s, NULL, NULL);
    wg_settings_free(&s);
    planned *p = prepare_run(true);
    assert_int_equal(save(p, &digest), WG_OK);
    free_plan(p);
}

void remove_workloads(void)
{
    remove_folder(FOLDER);
    unlink(FILE_OF_STORE);
}
