/* The trainer of any model: stopped at any update a run goes on as if it had not been; what its
 * options say is what happens; what cannot be is refused in words. */
#include "tests/folder.h"
#include "train/trainer.h"
#include "wengert/files/safetensors.h"
#include "wengert/models/layers.h"
#include "wengert/ops/ops.h"

#include <math.h>
#include <sys/stat.h>

/* The machine stays up: nothing need reach the disk, which would take most of the time. */
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    (void)fd;
    return 0;
}

/* ---- a small model --------------------------------------------------------------------------- */

enum { COUNT = 50, IN = 6, HIDDEN = 10, CLASSES = 3 };

static float xs[COUNT * IN];
static int32_t labels[COUNT];
static const wg_field fields[] = {{"x", WG_F32, {1, {IN}}, xs}, {"label", WG_I32, {0}, labels}};
static const wg_examples examples = {fields, 2, COUNT, .batch = 8};

static int make_data(void **state)
{
    uint32_t s = 7;
    for (int i = 0; i < COUNT * IN; i++) {
        s = s * 1664525 + 1013904223;
        xs[i] = (float)(s >> 8) / (1 << 23) - 1;
    }
    for (int i = 0; i < COUNT; i++)
        labels[i] = xs[i * IN] > 0 ? 0 : xs[i * IN + 1] > 0 ? 1 : 2;
    return make_folder(state);
}

static wg_value *classifier(void *context, const wg_model_step *step)
{
    (void)context;
    wg_value *h = wg_dense("hidden", wg_step_input(step, "x"), HIDDEN, WG_ACTIVATION_RELU);
    if (step->mode == WG_MODE_TRAINING)
        h = wg_dropout(h, 0.2);
    wg_value *logits = wg_dense("logits", h, CLASSES, WG_ACTIVATION_NONE);
    wg_value *label = wg_step_input(step, "label");
    wg_value *right = wg_equal(wg_argmax(logits, -1, WG_DROP), wg_cast(label, WG_I64));
    wg_step_metric(step, "accuracy", wg_mean(wg_cast(right, WG_F32), WG_ALL_AXES, WG_DROP),
                   WG_MORE_IS_BETTER);
    return wg_cross_entropy(logits, label, NULL, NULL);
}

static wg_trainer_options usual(void)
{
    return (wg_trainer_options){.model = classifier,
                                .train = &examples,
                                .schedule = {WG_SCHEDULE_CONSTANT, .rate = 0.01},
                                .after = {12, 'u'},
                                .seed = 3,
                                .threads = 1};
}

static wg_trainer *trainer_of(const wg_trainer_options *o)
{
    wg_trainer *t;
    wg_error error;
    check_that(wg_trainer_create(&t, o, &error) == WG_OK, "%s", error.text);
    return t;
}

static void run(wg_trainer *t, const volatile int *stop)
{
    check_that(wg_trainer_run(t, stop) == WG_OK, "%s", wg_trainer_message(t));
}

static void refused(const wg_trainer_options *o, wg_status expected, const char *words)
{
    wg_trainer *t;
    wg_error error = {.text = ""};
    wg_status status = wg_trainer_create(&t, o, &error);
    check_that(status == expected && strstr(error.text, words), "status %d: \"%s\" for \"%s\"",
               status, error.text, words);
    assert_null(t);
}

/* The store's tensors are equal; those of one may be fewer.  How many numbers were compared. */
static int64_t same_store(const wg_store *a, const wg_store *b, bool bits)
{
    int64_t compared = 0;
    const wg_tensor *t;
    for (size_t i = 0; (t = wg_store_at(a, i)); i++) {
        const wg_tensor *u = wg_store_find(b, t->name);
        int64_t n = wg_shape_count(&t->shape);
        if (strncmp(t->name, WG_STATES_OF_GRADIENT, 9) == 0 || t->dtype == WG_I64)
            continue;
        check_that(u != NULL, "%s is missing", t->name);
        if (bits)
            check_that(memcmp(t->data, u->data, (size_t)n * wg_dtype_size(t->dtype)) == 0,
                       "%s differs", t->name);
        for (int64_t k = 0; k < n && !bits; k++) {
            double x = ((const double *)t->data)[k], y = ((const double *)u->data)[k];
            check_that(fabs(x - y) <= 1e-12 * fmax(1, fabs(x)), "%s[%d]: %.17g and %.17g", t->name,
                       (int)k, x, y);
        }
        compared += n;
    }
    return compared;
}

static const float *tensor(const wg_trainer *t, const char *name)
{
    const wg_tensor *x = wg_store_find(wg_trainer_store(t), name);
    check_that(x != NULL, "no tensor %s", name);
    return x->data;
}

/* Removes what is in the folder of that name, below the test's own. */
static void clear(const char *name)
{
    char command[500];
    snprintf(command, sizeof command, "rm -rf '%s'", path_of(name));
    assert_int_equal(system(command), 0);
}

static void same_file(const char *a, const char *b, const char *name)
{
    char pa[700], pb[700];
    size_t na, nb;
    snprintf(pa, sizeof pa, "%s/%s", path_of(a), name);
    snprintf(pb, sizeof pb, "%s/%s", path_of(b), name);
    char *ta = read_bytes(pa, &na), *tb = read_bytes(pb, &nb);
    assert_true(na > 100);
    check_that(na == nb && memcmp(ta, tb, na) == 0, "%s differs", name);
    free(ta);
    free(tb);
}

/* ---- stop and resume ------------------------------------------------------------------------- */

typedef struct stopper {
    int64_t at; /* update */
    volatile int stop;
} stopper;

static void stop_at(void *context, const wg_event *e)
{
    stopper *s = context;
    if (e->kind == WG_EVENT_UPDATE && e->update == s->at)
        s->stop = 1;
}

static const wg_parameter_group groups[] = {{.names = "*bias", .rate = 2},
                                            {.names = "logits*", .rate = 0.5, .weight_decay = 0.1}};

/* Whatever a run may have: dropout, batches of two sizes, two of them in an update, groups, an
 * average, validation. */
static wg_trainer_options rich(const char *path, int updates)
{
    wg_trainer_options o = usual();
    o.valid = &examples;
    o.accumulate = 2;
    o.optimizer = (wg_optimizer){.kind = WG_OPTIMIZER_ADAMW, .weight_decay = 0.01, .clip_norm = 1};
    o.schedule = (wg_schedule){WG_SCHEDULE_COSINE, .rate = 0.02, .warmup = 3};
    o.groups = groups;
    o.n_groups = 2;
    o.average = 0.1;
    o.after = (wg_amount){updates, 'u'};
    o.validate = (wg_amount){3, 'u'};
    o.save = (wg_amount){5, 'u'};
    o.metrics = "accuracy loss";
    o.folder = path;
    return o;
}

static void a_run_stopped_at_any_update_goes_on_as_if_it_had_not(void **state)
{
    (void)state;
    enum { UPDATES = 50 };
    char whole[400], cut[400];
    snprintf(whole, sizeof whole, "%s", path_of("whole"));
    snprintf(cut, sizeof cut, "%s", path_of("cut"));
    wg_trainer_options o = rich(whole, UPDATES), p = rich(cut, UPDATES);
    wg_trainer *a = trainer_of(&o), *b;
    run(a, NULL);
    for (int64_t k = 1; k < UPDATES; k++) {
        stopper s = {k, 0};
        clear("cut");
        p.listener = (wg_listener){stop_at, &s};
        b = trainer_of(&p);
        run(b, &s.stop);
        assert_int_equal(wg_trainer_updates(b), k);
        wg_trainer_free(b);
        p.listener = (wg_listener){NULL, NULL};
        b = trainer_of(&p);
        assert_int_equal(wg_trainer_updates(b), k);
        run(b, NULL);
        assert_true(same_store(wg_trainer_store(a), wg_trainer_store(b), true) > 300);
        wg_trainer_free(b);
        static const char *const files[] = {WG_FILE_MODEL, WG_FILE_AVERAGE, WG_FILE_OPTIMIZER,
                                            "best-accuracy.safetensors", "best-loss.safetensors"};
        for (int i = 0; i < WG_COUNT(files); i++)
            same_file("whole", "cut", files[i]);
    }
    wg_trainer_free(a);
    clear("whole");
    clear("cut");
}

static void other_settings_data_or_models_are_refused(void **state)
{
    (void)state;
    static float other_xs[COUNT * IN];
    const wg_field other_fields[] = {{"x", WG_F32, {1, {IN}}, other_xs}, fields[1]};
    wg_examples other = examples;
    other.fields = other_fields;
    wg_trainer_options o = rich(path_of("changed"), 4);
    wg_trainer *t = trainer_of(&o);
    refused(&o, WG_EIO, "changed"); /* one at a time */
    run(t, NULL);
    wg_trainer_free(t);
    wg_trainer_options p = o;
    p.seed = 4;
    refused(&p, WG_EINVAL, "seed: expected 3, as at the start of this run, got 4");
    p = o;
    p.optimizer.clip_norm = 0;
    refused(&p, WG_EINVAL, "optimizer: expected kind 1");
    p = o;
    p.train = &other;
    refused(&p, WG_EINVAL, "the training data: expected those that this run started with");
    p = o;
    p.after.n = 6; /* which may change */
    t = trainer_of(&p);
    assert_int_equal(wg_trainer_updates(t), 4);
    run(t, NULL);
    assert_int_equal(wg_trainer_updates(t), 6);
    wg_trainer_free(t);
    p.overwrite = true;
    t = trainer_of(&p);
    assert_int_equal(wg_trainer_updates(t), 0);
    wg_trainer_free(t);
    clear("changed");
}

/* ---- data ------------------------------------------------------------------------------------ */

static wg_status read_example(void *context, int64_t epoch, int64_t i, void *const *to,
                              wg_error *error)
{
    (void)epoch;
    if (context && i == 7) {
        *error = (wg_error){.status = WG_EIO, .text = "the disk is gone"};
        return WG_EIO;
    }
    memcpy(to[0], xs + i * IN, IN * sizeof(float));
    memcpy(to[1], &labels[i], sizeof(int32_t));
    return WG_OK;
}

static void examples_that_are_read_train_as_those_in_arrays(void **state)
{
    (void)state;
    wg_examples read = examples;
    read.read = read_example;
    wg_trainer_options o = usual(), p = usual();
    p.train = &read;
    wg_trainer *a = trainer_of(&o), *b = trainer_of(&p);
    run(a, NULL);
    run(b, NULL);
    assert_true(same_store(wg_trainer_store(a), wg_trainer_store(b), true) > 300);
    wg_trainer_free(a);
    wg_trainer_free(b);
    read.context = &read;
    a = trainer_of(&p);
    assert_int_equal(wg_trainer_run(a, NULL), WG_EIO);
    check_that(strstr(wg_trainer_message(a), "of epoch 1: the disk is gone") != NULL, "%s",
               wg_trainer_message(a));
    wg_trainer_free(a);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Deep enough that its values are most of its memory. */
static wg_value *deep(void *context, const wg_model_step *step)
{
    (void)context;
    wg_value *h = wg_dense("first", wg_step_input(step, "x"), 8, WG_ACTIVATION_TANH);
    for (int i = 0; i < 30; i++)
        h = wg_dropout(wg_tanh(wg_scale(h, 1.1)), 0.05);
    return wg_cross_entropy(wg_dense("logits", h, CLASSES, WG_ACTIVATION_NONE),
                            wg_step_input(step, "label"), NULL, NULL);
}

/* Two shapes of batches, and validation between updates. */
static void a_limit_of_memory_changes_no_result(void **state)
{
    (void)state;
    wg_trainer_options o = usual(), small = usual();
    wg_trainer *t;
    wg_error error = {.text = ""};
    o.model = deep;
    o.valid = &examples;
    o.validate = (wg_amount){3, 'u'};
    small = o;
    small.memory = 2000;
    wg_status status = wg_trainer_create(&t, &small, &error);
    const char *message = error.text;
    if (status == WG_OK) {
        status = wg_trainer_run(t, NULL);
        message = wg_trainer_message(t);
    }
    const char *at = strstr(message, "with recomputation ");
    check_that(status == WG_ENOMEM && at, "status %d: %s", status, message);
    small.memory = strtoull(at + strlen("with recomputation "), NULL, 10) + 2048;
    wg_trainer_free(t);
    wg_trainer *a = trainer_of(&o), *b = trainer_of(&small);
    run(a, NULL);
    run(b, NULL);
    assert_true(same_store(wg_trainer_store(a), wg_trainer_store(b), true) > 50);
    wg_trainer_free(a);
    wg_trainer_free(b);
}

/* ---- updates --------------------------------------------------------------------------------- */

static wg_value *exact_model(void *context, const wg_model_step *step)
{
    wg_value *x = wg_cast(wg_step_input(step, "x"), WG_F64);
    wg_value *logits = wg_dense("logits", x, CLASSES, WG_ACTIVATION_NONE);
    return wg_cross_entropy(logits, wg_step_input(step, "label"), context ? step->total : NULL,
                            NULL);
}

/* Two updates of all 50 examples in order, in batches of that size. */
static wg_trainer *two_updates(int64_t batch, bool of_update)
{
    static wg_examples e;
    e = examples;
    e.order = WG_ORDER_GIVEN;
    e.batch = batch;
    wg_trainer_options o = usual();
    o.model = exact_model;
    o.context = of_update ? &e : NULL;
    o.scale = of_update ? WG_LOSS_OF_UPDATE : WG_LOSS_OF_BATCH;
    o.dtype = WG_F64;
    o.train = &e;
    o.accumulate = (COUNT + batch - 1) / batch;
    o.optimizer = (wg_optimizer){.eps = 1e-3, .clip_norm = 0.2};
    o.after = (wg_amount){2, 'u'};
    wg_trainer *t = trainer_of(&o);
    run(t, NULL);
    return t;
}

static void batches_of_an_update_add_up_to_one_large_batch(void **state)
{
    (void)state;
    static const int64_t sizes[] = {25, 20, 7}; /* 25+25; 20+20+10; 7 of 7 and one more */
    wg_trainer *whole = two_updates(COUNT, false);
    for (int i = 0; i < WG_COUNT(sizes); i++)
        for (int of_update = 0; of_update < 2; of_update++) {
            wg_trainer *t = two_updates(sizes[i], of_update);
            assert_int_equal(wg_trainer_updates(t), 2);
            assert_true(same_store(wg_trainer_store(whole), wg_trainer_store(t), false) > 60);
            wg_trainer_free(t);
        }
    wg_trainer_free(whole);
}

/* One step of SGD: the gradient times the rate of each group. */
static void groups_have_rates_and_decays_of_their_own(void **state)
{
    (void)state;
    static const wg_parameter_group some[] = {{.names = "hidden/weight", .frozen = true},
                                              {.names = "*bias", .rate = 3},
                                              {.names = "log*", .rate = 1, .weight_decay = 0.5}};
    float start[HIDDEN * IN], w[CLASSES * HIDDEN], b[CLASSES], moved[2];
    wg_trainer_options o = usual();
    o.optimizer.kind = WG_OPTIMIZER_SGD;
    o.after.n = 1;
    for (int i = 0; i < 2; i++) {
        o.groups = some;
        o.n_groups = i ? 3 : 0;
        wg_trainer *t = trainer_of(&o);
        memcpy(start, tensor(t, "hidden/weight"), sizeof start);
        memcpy(w, tensor(t, "logits/weight"), sizeof w);
        memcpy(b, tensor(t, "logits/bias"), sizeof b);
        run(t, NULL);
        bool same = memcmp(start, tensor(t, "hidden/weight"), sizeof start) == 0;
        assert_int_equal(same, i);
        float db = tensor(t, "logits/bias")[0] - b[0], dw = tensor(t, "logits/weight")[0] - w[0];
        if (i) {
            check_that(fabsf(db - 3 * moved[0]) <= 1e-6f, "bias %g, not 3 times %g", (double)db,
                       (double)moved[0]);
            check_that(fabsf(dw - moved[1] + 0.01f * 0.5f * w[0]) <= 1e-6f, "weight %g, %g, %g",
                       (double)dw, (double)moved[1], (double)w[0]);
        }
        assert_true(fabsf(db) > 1e-5f && fabsf(dw) > 1e-6f);
        moved[0] = db;
        moved[1] = dw;
        wg_trainer_free(t);
    }
    static const wg_parameter_group none[] = {{.names = "encoder*", .rate = 1}};
    o.groups = none;
    o.n_groups = 1;
    refused(&o, WG_EINVAL, "group 0: no parameter is called 'encoder*'");
}

static void a_graph_with_a_loss_is_trained_as_its_function(void **state)
{
    (void)state;
    wg_examples whole = examples;
    whole.last = WG_LAST_DROPPED;
    wg_graph *g = wg_graph_new();
    wg_value *inputs[] = {wg_input(g, "x", WG_F32, WG_SHAPE(8, IN)),
                          wg_input(g, "label", WG_I32, WG_SHAPE(8))};
    wg_value *logits = wg_dense("logits", inputs[0], CLASSES, WG_ACTIVATION_NONE);
    wg_value *loss = wg_cross_entropy(logits, inputs[1], NULL, NULL);
    wg_output(wg_exp(loss), "perplexity");
    wg_trainer_options o = usual();
    o.model = NULL;
    o.loss = loss;
    o.train = &whole;
    o.valid = &whole;
    wg_trainer *t = trainer_of(&o);
    run(t, NULL);
    const wg_metric *m;
    size_t n;
    check_that(wg_trainer_validate(t, &m, &n) == WG_OK, "%s", wg_trainer_message(t));
    assert_true(n == 2 && strcmp(m[0].name, "loss") == 0 && strcmp(m[1].name, "perplexity") == 0);
    assert_true(m[0].value > 0.3 && m[0].value < 1.2 && m[1].value >= exp(m[0].value) - 1e-4);
    assert_true(wg_trainer_metric(t, "loss") == m[0].value);
    assert_true(wg_trainer_metric(t, "perplexity") == m[1].value);
    assert_true(isnan(wg_trainer_metric(t, "accuracy")));
    assert_int_equal(wg_trainer_validate(t, NULL, NULL), WG_OK);
    assert_true(wg_trainer_metric(t, "loss") == m[0].value); /* the same once more */
    wg_trainer_free(t);
    o.train = &examples; /* its last batch is smaller */
    t = trainer_of(&o);
    assert_int_equal(wg_trainer_run(t, NULL), WG_ESHAPE);
    check_that(strstr(wg_trainer_message(t), "the batches have x as f32[2,6], the graph as "
                                             "f32[8,6]") != NULL,
               "%s", wg_trainer_message(t));
    wg_trainer_free(t);
    wg_graph_free(g);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Sequences of numbers: batch i of the epoch has rows of length 2 + (epoch + i) % 3. */
static wg_status describe_rows(void *context, int64_t epoch, int64_t i, wg_shape *shapes,
                               wg_batch_size *size, wg_error *error)
{
    (void)context;
    (void)error;
    shapes[0] = WG_SHAPE(4, 2 + (epoch + i) % 3);
    *size = (wg_batch_size){.weight = wg_shape_count(&shapes[0]), .examples = 4};
    return WG_OK;
}

static wg_status fill_rows(void *context, int64_t epoch, int64_t i, void *const *to,
                           wg_error *error)
{
    (void)context;
    (void)error;
    float *x = to[0];
    for (int64_t k = 0; k < 4 * (2 + (epoch + i) % 3); k++)
        x[k] = 3;
    return WG_OK;
}

static int built;

/* The mean of (x - w)^2: w becomes 3. */
static wg_value *constant(void *context, const wg_model_step *step)
{
    (void)context;
    built++;
    wg_value *w = wg_parameter(step->graph, "w", WG_F32, WG_SCALAR, wg_zeros());
    return wg_mean(wg_square(wg_sub(step->inputs[0], w)), WG_ALL_AXES, WG_DROP);
}

/* Of validation the model alone, without dropout; of training the whole update. */
static void the_graph_of_a_trainer_is_the_one_it_runs(void **state)
{
    (void)state;
    wg_examples other = examples;
    other.batch = 5;
    wg_trainer_options o = usual();
    o.valid = &other;
    wg_trainer *t = trainer_of(&o);
    for (int mode = WG_MODE_INFERENCE; mode <= WG_MODE_TRAINING; mode++) {
        bool training = mode == WG_MODE_TRAINING;
        wg_graph *g = wg_trainer_graph(t, (wg_mode)mode);
        check_that(g != NULL, "%s", wg_trainer_message(t));
        assert_int_equal(wg_graph_find(g, "x")->shape.dim[0], training ? 8 : 5);
        assert_int_equal(wg_graph_parameters(g, NULL, 0), 4);
        assert_int_equal(wg_graph_assign_count(g) > 0, training);
        bool drops = false;
        for (size_t i = 0; i < wg_graph_node_count(g); i++)
            drops |= strcmp(wg_graph_node(g, i)->op->name, "dropout") == 0;
        assert_int_equal(drops, training);
        static const char *const outputs[] = {"accuracy", "loss", "gradient norm"};
        assert_int_equal(wg_graph_output_count(g), training ? 3 : 2);
        for (size_t i = 0; i < wg_graph_output_count(g); i++)
            assert_string_equal(wg_graph_output_name(g, i), outputs[i]);
        wg_graph_free(g);
    }
    wg_trainer_free(t);
    o.valid = NULL;
    t = trainer_of(&o);
    wg_graph *g = wg_trainer_graph(t, WG_MODE_INFERENCE);
    assert_int_equal(wg_graph_find(g, "x")->shape.dim[0], 8);
    wg_graph_free(g);
    wg_trainer_free(t);
}

static void each_shape_has_one_plan(void **state)
{
    (void)state;
    static const wg_field field = {.name = "x", .dtype = WG_F32};
    const wg_source source = {&field, 1, 5, describe_rows, fill_rows, NULL, 0};
    wg_trainer_options o = {.model = constant,
                            .train_source = &source,
                            .valid_source = &source,
                            .schedule = {WG_SCHEDULE_LINEAR, .rate = 0.2},
                            .after = {3000, 't'}};
    wg_trainer *t = trainer_of(&o);
    run(t, NULL);
    assert_int_equal(built, 3);
    assert_true(fabsf(tensor(t, "w")[0] - 3) <= 1e-3f);
    assert_true(t->progress.weight >= 3000 && t->progress.weight < 3016);
    assert_int_equal(t->progress.examples, 4 * wg_trainer_updates(t));
    const wg_metric *m;
    size_t n;
    assert_int_equal(wg_trainer_validate(t, &m, &n), WG_OK);
    assert_int_equal(built, 6);
    wg_trainer_free(t);
}

/* ---- the course of a run --------------------------------------------------------------------- */

typedef struct heard {
    int kinds[5];
    char valid[400], display[400];
} heard;

static void hear(void *context, const wg_event *e)
{
    heard *h = context;
    h->kinds[e->kind]++;
    if (e->kind == WG_EVENT_VALID)
        snprintf(h->valid, sizeof h->valid, "%s", e->text);
    if (e->kind == WG_EVENT_DISPLAY)
        snprintf(h->display, sizeof h->display, "%s", e->text);
}

static void events_are_printed_as_lines(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    assert_non_null(file);
    wg_print_event(file, &(wg_event){.kind = WG_EVENT_NOTE, .text = "50 % of it"});
    wg_print_event(file, &(wg_event){.kind = WG_EVENT_UPDATE, .text = ""});
    wg_print_event(file, &(wg_event){.kind = WG_EVENT_SAVED, .text = "saved"});
    assert_int_equal(fclose(file), 0);
    assert_string_equal(text, "50 % of it\nsaved\n");
    free(text);
}

static void a_run_that_does_not_improve_ends(void **state)
{
    (void)state;
    static const wg_parameter_group all = {.names = "hidden*", .rate = 1};
    heard h = {{0}, "", ""};
    wg_trainer_options o = usual();
    o.schedule = (wg_schedule){WG_SCHEDULE_CONSTANT, .rate = 0};
    o.groups = &all;
    o.n_groups = 1;
    o.valid = &examples;
    o.validate = (wg_amount){2, 'u'};
    o.report = (wg_amount){1, 'u'};
    o.patience = 3;
    o.after = (wg_amount){5, 'e'};
    o.metrics = "accuracy";
    o.folder = path_of("still");
    o.listener = (wg_listener){hear, &h};
    wg_trainer *t = trainer_of(&o);
    run(t, NULL);
    assert_int_equal(wg_trainer_updates(t), 8);
    assert_true(h.kinds[WG_EVENT_VALID] == 4 && h.kinds[WG_EVENT_DISPLAY] == 8 &&
                h.kinds[WG_EVENT_UPDATE] == 8 && h.kinds[WG_EVENT_SAVED] == 1);
    check_that(strstr(h.valid, "validation: loss ") && strstr(h.valid, ", accuracy ") &&
                   strstr(h.valid, "; accuracy stalled 3 times (best ") &&
                   strstr(h.valid, " at update 2)"),
               "%s", h.valid);
    check_that(strstr(h.display, "epoch 2 (1 of 7), update 8: loss ") &&
                   strstr(h.display, " examples/s, gradient norm "),
               "%s", h.display);
    wg_trainer_free(t);
    same_file("still", "still", "best-accuracy.safetensors");
    size_t size, lines = 0;
    char *text = read_bytes(path_of("still/metrics.jsonl"), &size);
    for (char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, 8 + 4 + 1);
    check_that(
        strstr(text, "{\"kind\":\"train\",\"update\":1,\"epoch\":0.142857143,\"examples\":8,") &&
            strstr(text, "\"accuracy\":0.") && strstr(text, "\"examples-per-second\":"),
        "%s", text);
    free(text);
    clear("still");
}

/* From the weights of another run; its optimizer begins anew. */
static void a_run_starts_from_the_weights_of_another(void **state)
{
    (void)state;
    wg_trainer_options o = usual();
    o.folder = path_of("first");
    wg_trainer *a = trainer_of(&o);
    run(a, NULL);
    char weights[500];
    snprintf(weights, sizeof weights, "%s/" WG_FILE_MODEL, path_of("first"));
    o.folder = NULL;
    o.pretrained = weights;
    wg_trainer *b = trainer_of(&o);
    assert_int_equal(wg_trainer_updates(b), 0);
    assert_memory_equal(tensor(a, "logits/weight"), tensor(b, "logits/weight"),
                        CLASSES * HIDDEN * sizeof(float));
    assert_true(tensor(b, "optimizer/m/logits/weight")[0] == 0);
    run(b, NULL);
    wg_trainer_free(a);
    wg_trainer_free(b);
    clear("first");
}

/* ---- what cannot be -------------------------------------------------------------------------- */

static wg_value *misspelt(void *context, const wg_model_step *step)
{
    (void)context;
    return wg_mean(wg_step_input(step, "y"), WG_ALL_AXES, WG_DROP);
}

static wg_value *logarithm(void *context, const wg_model_step *step)
{
    (void)context;
    wg_value *w = wg_parameter(step->graph, "w", WG_F32, WG_SHAPE(IN), wg_zeros());
    wg_value *x = wg_log(wg_sub(wg_step_input(step, "x"), wg_shift(w, 2)));
    return wg_mean(x, WG_ALL_AXES, WG_DROP);
}

static wg_value *vector(void *context, const wg_model_step *step)
{
    (void)context;
    return wg_step_input(step, "x");
}

static wg_value *untrained(void *context, const wg_model_step *step)
{
    (void)context;
    return wg_mean(wg_step_input(step, "x"), WG_ALL_AXES, WG_DROP);
}

static wg_value *nothing(void *context, const wg_model_step *step)
{
    (void)context;
    (void)step;
    return NULL;
}

static void what_cannot_be_is_refused_in_words(void **state)
{
    (void)state;
    wg_trainer_options o = usual();
    o.schedule = (wg_schedule){0};
    refused(&o, WG_EINVAL, "schedule: expected a kind and a rate");
    o = usual();
    o.schedule = (wg_schedule){WG_SCHEDULE_COSINE, .rate = 1};
    o.after.n = 0;
    refused(&o, WG_EINVAL, "schedule: expected its updates");
    o = usual();
    o.train = NULL;
    refused(&o, WG_EINVAL, "there is no training data");
    o = usual();
    o.after.unit = 'x';
    refused(&o, WG_EINVAL, "amounts of 0 or more in 'u', 'e' or 't'");
    o = usual();
    o.loss = (wg_value *)xs;
    refused(&o, WG_EINVAL, "`model` or `loss`, and not both");
    static const struct {
        wg_value *(*model)(void *context, const wg_model_step *step);
        const char *words;
    } models[] = {
        {misspelt, "plan for a batch of x [8,6], label [8]: wg_step_input: the batches have no "
                   "input 'y', but x, label (test_trainer.c:"},
        {vector, "the loss must be a float scalar"},
        {untrained, "the model has no parameters to train"},
        {nothing, "the model returned no loss of its graph"},
    };
    for (int i = 0; i < WG_COUNT(models); i++) {
        o = usual();
        o.model = models[i].model;
        refused(&o, i == 1 ? WG_ESHAPE : WG_EINVAL, models[i].words);
    }
    wg_examples few = examples;
    few.count = 0;
    o = usual();
    o.train = &few;
    refused(&o, WG_EINVAL, "the training data: expected 1 to 4294967295 examples, got 0");
}

static void numbers_that_are_none_are_traced_to_their_node(void **state)
{
    (void)state;
    wg_trainer_options o = usual();
    o.model = logarithm;
    wg_trainer *t = trainer_of(&o);
    assert_int_equal(wg_trainer_run(t, NULL), WG_ENONFINITE);
    const char *text = wg_trainer_message(t);
    check_that(strncmp(text, "update 1: the loss is not finite", 32) == 0 &&
                   strstr(text, "first in batch 1 of the update: ") && strstr(text, "log(") &&
                   strstr(text, "test_trainer.c:"),
               "%s", text);
    for (int i = 0; i < IN; i++)
        assert_true(tensor(t, "w")[i] == 0); /* as before the update */
    wg_trainer_free(t);
    o = usual();
    o.valid = &examples;
    o.validate = (wg_amount){1, 'u'};
    o.metrics = "acuracy";
    t = trainer_of(&o);
    assert_int_equal(wg_trainer_run(t, NULL), WG_EINVAL);
    check_that(strstr(wg_trainer_message(t), "no 'acuracy', but loss, accuracy") != NULL, "%s",
               wg_trainer_message(t));
    wg_trainer_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_printed_as_lines),
        cmocka_unit_test(a_run_stopped_at_any_update_goes_on_as_if_it_had_not),
        cmocka_unit_test(other_settings_data_or_models_are_refused),
        cmocka_unit_test(examples_that_are_read_train_as_those_in_arrays),
        cmocka_unit_test(a_limit_of_memory_changes_no_result),
        cmocka_unit_test(batches_of_an_update_add_up_to_one_large_batch),
        cmocka_unit_test(groups_have_rates_and_decays_of_their_own),
        cmocka_unit_test(a_graph_with_a_loss_is_trained_as_its_function),
        cmocka_unit_test(the_graph_of_a_trainer_is_the_one_it_runs),
        cmocka_unit_test(each_shape_has_one_plan),
        cmocka_unit_test(a_run_that_does_not_improve_ends),
        cmocka_unit_test(a_run_starts_from_the_weights_of_another),
        cmocka_unit_test(what_cannot_be_is_refused_in_words),
        cmocka_unit_test(numbers_that_are_none_are_traced_to_their_node),
    };
    return cmocka_run_group_tests(tests, make_data, remove_folder);
}
