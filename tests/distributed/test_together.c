/* The trainer on several ranks, which are threads: the bits of one rank, also across a stop and
 * with another number of ranks; what differs or goes wrong on one rank stops all. */
#include "files/read.h"
#include "tests/distributed/local.h"
#include "tests/folder.h"
#include "tests/train/classifier_model.h"
#include "train/owner.h"
#include "train/trainer.h"

#include <math.h>
#include <sys/stat.h>

enum { COUNT = 50, IN = 6, BAD = 17 };

static float xs[COUNT * IN], bad_xs[COUNT * IN];
static int32_t labels[COUNT];
static const wg_field fields[] = {{"x", WG_F32, {1, {IN}}, xs}, {"label", WG_I32, {0}, labels}},
                      bad_fields[] = {{"x", WG_F32, {1, {IN}}, bad_xs},
                                      {"label", WG_I32, {0}, labels}};
/* 7 batches in an epoch: with 4 for an update the second update has 3, and rank 3 of 4 none. */
static const wg_examples examples = {fields, 2, COUNT, .batch = 8},
                         bad_examples = {bad_fields, 2, COUNT, .batch = 8, .order = WG_ORDER_GIVEN};

static int make_data(void **state)
{
    uint32_t s = 7;
    for (int i = 0; i < COUNT * IN; i++) {
        s = s * 1664525 + 1013904223;
        bad_xs[i] = xs[i] = (float)(s >> 8) / (1 << 23) - 1;
    }
    for (int i = 0; i < COUNT; i++)
        labels[i] = xs[i * IN] > 0 ? 0 : xs[i * IN + 1] > 0 ? 1 : 2;
    bad_xs[BAD * IN] = NAN; /* in batch 2 */
    return make_folder(state);
}

static void remove_below(const char *path)
{
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        char *inner = wg_folder_path(path, "%s", e->d_name);
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && remove(inner) != 0)
            remove_below(inner);
        free(inner);
    }
    if (d)
        closedir(d);
    remove(path);
}

static int remove_data(void **state)
{
    (void)state;
    remove_below(folder);
    return 0;
}

/* ---- a run ----------------------------------------------------------------------------------- */

enum { MOST = 4000 };

/* What is run on each rank, and what comes of it. */
typedef struct job {
    wg_trainer_options options;
    int ranks;
    int odd_rank; /* which has other options, or -1 */
    int stops_at; /* its flag to stop is set before the run: on that rank, or -1 */
    int flips;    /* which flips a bit of a parameter before the run, or -1 */
    wg_status created[LOCAL_MOST], ran[LOCAL_MOST];
    char message[LOCAL_MOST][WG_ERROR_TEXT];
    int64_t updates[LOCAL_MOST];
    double loss[LOCAL_MOST]; /* of the last validation */
    wg_progress progress[LOCAL_MOST];
    unsigned char bits[LOCAL_MOST][MOST];
    size_t n_bits[LOCAL_MOST];
    size_t moments[LOCAL_MOST]; /* bytes of moments in the store */
} job;

/* Parameters, averages and moments, in the order of their names. */
static int by_name(const void *a, const void *b)
{
    return strcmp((*(const wg_tensor *const *)a)->name, (*(const wg_tensor *const *)b)->name);
}

static size_t moments_of(const wg_store *s)
{
    size_t bytes = 0;
    for (size_t i = 0; i < wg_store_count(s); i++) {
        const wg_tensor *x = wg_store_at(s, i);
        if (wgi_is_moment(x->name))
            bytes += (size_t)wg_shape_count(&x->shape) * wg_dtype_size(x->dtype);
    }
    return bytes;
}

/* Without moments, if each rank has others. */
static size_t bits_of(const wg_store *s, bool shards, unsigned char bits[MOST])
{
    const wg_tensor *list[64];
    size_t n = 0, used = 0;
    for (size_t i = 0; i < wg_store_count(s); i++)
        if (wgi_owner_of(wg_store_at(s, i)->name) != WGI_OWNER_GRADIENT &&
            !(shards && wgi_is_moment(wg_store_at(s, i)->name)))
            list[n++] = wg_store_at(s, i);
    qsort(list, n, sizeof *list, by_name);
    for (size_t i = 0; i < n; i++) {
        size_t size = (size_t)wg_shape_count(&list[i]->shape) * wg_dtype_size(list[i]->dtype);
        insist(used + size <= MOST, "%zu bytes", used + size);
        memcpy(bits + used, list[i]->data, size);
        used += size;
    }
    return used;
}

static void run_job(wg_ranks *r, void *context)
{
    job *j = context;
    const int me = wg_ranks_rank(r);
    wg_trainer_options o = j->options;
    wg_trainer *t;
    wg_error error = {.text = ""};
    const int stop = j->stops_at == me;
    o.ranks = r;
    if (j->odd_rank == me)
        o.optimizer.clip_norm = 0.5;
    j->created[me] = wg_trainer_create(&t, &o, &error);
    snprintf(j->message[me], sizeof j->message[me], "%s", error.text);
    if (j->created[me] != WG_OK)
        return;
    if (j->flips == me)
        *(unsigned char *)wg_store_find(wg_trainer_store(t), "logits/weight")->data ^= 1;
    j->ran[me] = wg_trainer_run(t, &stop);
    snprintf(j->message[me], sizeof j->message[me], "%s", wg_trainer_message(t));
    j->updates[me] = wg_trainer_updates(t);
    j->loss[me] = wg_trainer_metric(t, "loss");
    j->progress[me] = t->progress;
    j->n_bits[me] = bits_of(wg_trainer_store(t), o.shard_optimizer, j->bits[me]);
    j->moments[me] = moments_of(wg_trainer_store(t));
    wg_trainer_free(t);
}

static job *new_job(int ranks)
{
    job *j = calloc(1, sizeof *j);
    assert_non_null(j);
    j->ranks = ranks;
    j->odd_rank = j->stops_at = j->flips = -1;
    j->options = (wg_trainer_options){.model = classifier,
                                      .train = &examples,
                                      .valid = &examples,
                                      .accumulate = 4,
                                      .optimizer = {.clip_norm = 1},
                                      .average = 0.1,
                                      .schedule = {WG_SCHEDULE_CONSTANT, .rate = 0.01},
                                      .after = {13, 'u'},
                                      .validate = {5, 'u'},
                                      .report = {4, 'u'},
                                      .seed = 3,
                                      .threads = 1};
    return j;
}

static void run(job *j)
{
    local_world *w = local_world_new(j->ranks);
    local_run(w, 0, run_job, j);
    local_world_free(w);
}

static void all_ran(const job *j, int64_t updates)
{
    for (int r = 0; r < j->ranks; r++) {
        check_that(j->created[r] == WG_OK && j->ran[r] == WG_OK, "rank %d: %s", r, j->message[r]);
        assert_int_equal(j->updates[r], updates);
        assert_int_equal(j->n_bits[r], j->n_bits[0]);
        assert_memory_equal(j->bits[r], j->bits[0], j->n_bits[0]);
        assert_true(j->n_bits[r] > 800); /* parameters and averages at least */
    }
}

static void same_bits(const job *a, const job *b)
{
    assert_int_equal(a->n_bits[0], b->n_bits[0]);
    assert_memory_equal(a->bits[0], b->bits[0], a->n_bits[0]);
    assert_true(a->loss[0] == b->loss[0]); /* of a validation, whose batches are shared out */
}

/* ---- bits ------------------------------------------------------------------------------------ */

static void any_number_of_ranks_gives_the_same_bits(void **state)
{
    job *one = new_job(1);
    (void)state;
    run(one);
    all_ran(one, 13);
    assert_true(isfinite(one->loss[0]));
    for (int ranks = 2; ranks <= 4; ranks += 2)
        for (size_t bucket = 0; bucket <= 200; bucket += 200) {
            job *j = new_job(ranks);
            j->options.reduce.bucket_bytes = bucket;
            run(j);
            all_ran(j, 13);
            same_bits(one, j);
            free(j);
        }
    free(one);
}

static void a_run_goes_on_with_other_ranks(void **state)
{
    job *never = new_job(2), *first = new_job(4), *second = new_job(2), *third = new_job(1);
    const char *at = path_of("run");
    (void)state;
    run(never);
    all_ran(never, 13);
    first->options.folder = second->options.folder = third->options.folder = at;
    first->stops_at = 2; /* one rank hears of it, and all stop after the same update */
    run(first);
    all_ran(first, 1);
    second->options.after = (wg_amount){6, 'u'};
    run(second);
    all_ran(second, 6);
    run(third);
    all_ran(third, 13);
    same_bits(never, third);
    free(never);
    free(first);
    free(second);
    free(third);
}

/* Ranks of another number than a power of two agree with each other. */
static void three_ranks_agree(void **state)
{
    job *j = new_job(3);
    (void)state;
    j->options.accumulate = 3;
    run(j);
    all_ran(j, 13);
    free(j);
}

/* All skip the same updates, as the sum of their gradients is not finite, and have one scale. */
static void ranks_scale_their_loss_alike(void **state)
{
    job *one = NULL;
    (void)state;
    for (int ranks = 1; ranks <= 4; ranks *= 2)
        for (int shards = 0; shards < (ranks > 1 ? 2 : 1); shards++) {
            job *j = new_job(ranks);
            j->options.model = narrow_classifier;
            j->options.loss_scaling =
                (wg_loss_scaling){0x1p60, .growth = 16, .backoff = 0x1p-6, .interval = 2};
            j->options.shard_optimizer = shards;
            j->options.folder = path_of("scaled");
            j->options.overwrite = true;
            j->options.after = (wg_amount){7, 'u'};
            run(j);
            all_ran(j, 7);
            j->options.overwrite = false;
            j->options.after = (wg_amount){13, 'u'};
            run(j);
            all_ran(j, 13);
            const wg_progress *p = &j->progress[0];
            check_that(p->skipped >= 4 && p->skipped <= 8, "%d", (int)p->skipped);
            for (int r = 1; r < ranks; r++) {
                assert_true(j->progress[r].loss_scale == p->loss_scale);
                assert_int_equal(j->progress[r].skipped, p->skipped);
            }
            assert_true(!one || one->progress[0].loss_scale == p->loss_scale);
            if (one && !shards)
                same_bits(one, j);
            if (ranks == 1)
                one = j;
            else
                free(j);
        }
    free(one);
}

/* ---- moments that are shared out ------------------------------------------------------------- */

static void same_files(const char *a, const char *b)
{
    static const char *const names[] = {"model", "average", "optimizer"};
    for (int i = 0; i < 3; i++) {
        char *bytes[2], path[2][60];
        size_t size[2];
        for (int k = 0; k < 2; k++) {
            snprintf(path[k], sizeof path[k], "%s/%s.safetensors", k ? b : a, names[i]);
            wg_error error;
            wg_status status =
                wgi_file_read(&bytes[k], &size[k], path_of(path[k]), 1 << 20, &error);
            check_that(status == WG_OK, "%s", error.text);
        }
        check_that(size[0] > 200 && size[0] == size[1] && memcmp(bytes[0], bytes[1], size[0]) == 0,
                   "%s and %s differ", path[0], path[1]);
        free(bytes[0]);
        free(bytes[1]);
    }
}

/* Runs it in that folder, anew. */
static job *run_in(const char *name, int ranks, bool shards, wg_optimizer_kind kind)
{
    job *j = new_job(ranks);
    j->options.accumulate = ranks == 3 ? 3 : 4;
    j->options.optimizer.kind = kind;
    j->options.optimizer.momentum =
        kind == WG_OPTIMIZER_SGD || kind == WG_OPTIMIZER_RMSPROP ? 0.9 : 0;
    j->options.shard_optimizer = shards;
    j->options.folder = path_of(name);
    j->options.overwrite = true;
    run(j);
    all_ran(j, 13);
    return j;
}

static void moments_that_are_shared_out_change_no_bits(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 4; ranks++)
        for (int kind = WG_OPTIMIZER_ADAM; kind <= WG_OPTIMIZER_RPROP; kind++) {
            if (kind == WG_OPTIMIZER_LAMB) /* which needs whole parameters */
                continue;
            job *whole = run_in("whole", ranks, false, kind);
            job *parts = run_in("parts", ranks, true, kind);
            size_t all = 0, most = 0;
            same_files("whole", "parts");
            assert_true(whole->loss[0] == parts->loss[0]);
            for (int r = 0; r < ranks; r++) {
                all += parts->moments[r];
                most = parts->moments[r] > most ? parts->moments[r] : most;
            }
            assert_int_equal(all, whole->moments[0]);
            /* even, up to a row of each of two moments */
            const size_t row = 2 * 16 * sizeof(float);
            check_that(all > 400 && most <= all / (size_t)ranks + row, "%zu of %zu bytes", most,
                       all);
            free(whole);
            free(parts);
        }
}

/* One row between two scalars: of 4 ranks the first has a and w, the last b, the others nothing to
 * update. */
static wg_value *one_row(void *context, const wg_model_step *step)
{
    (void)context;
    wg_graph *g = step->graph;
    wg_value *a = wg_parameter(g, "a", WG_F32, WG_SCALAR, wg_constant_init(1));
    wg_value *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(1, IN * 3), wg_zeros());
    wg_value *b = wg_parameter(g, "b", WG_F32, WG_SCALAR, wg_zeros());
    wg_value *x = wg_step_input(step, "x"), *label = wg_step_input(step, "label");
    wg_value *y = wg_matmul(x, wg_reshape(w, WG_SHAPE(IN, 3)));
    return wg_cross_entropy(wg_add(wg_mul(a, y), wg_mul(b, wg_square(y))), label, NULL, NULL);
}

/* Two moments of the parameters of rank r. */
static size_t moments_of_rank(int r, bool shards)
{
    const int in_part = r == 0 ? 1 + IN * 3 : r == 3 ? 1 : 0, in_all = 1 + IN * 3 + 1;
    return 2 * sizeof(float) * (size_t)(shards ? in_part : in_all);
}

static void ranks_without_moments_take_part(void **state)
{
    (void)state;
    for (int leg = 0; leg < 4; leg++) { /* the second one resumes the first */
        const bool shards = leg >= 2;
        job *j = new_job(4);
        j->options.model = one_row;
        j->options.shard_optimizer = shards;
        j->options.after = (wg_amount){leg % 2 ? 13 : 5, 'u'};
        j->options.folder = path_of(shards ? "row-parts" : "row-whole");
        run(j);
        for (int r = 0; r < 4; r++) {
            check_that(j->ran[r] == WG_OK, "rank %d: %s", r, j->message[r]);
            assert_int_equal(j->moments[r], moments_of_rank(r, shards));
        }
        free(j);
    }
    same_files("row-whole", "row-parts");
}

/* A checkpoint does not tell who had which moments. */
static void shared_out_moments_are_resumed_in_any_form(void **state)
{
    static const struct {
        int ranks, until;
        bool shards;
    } legs[] = {{4, 3, true}, {2, 5, false}, {2, 8, true}, {1, 9, true}, {4, 13, true}};
    job *never = run_in("never", 2, false, WG_OPTIMIZER_ADAM);
    (void)state;
    for (size_t i = 0; i < sizeof legs / sizeof *legs; i++) {
        job *leg = new_job(legs[i].ranks);
        leg->options.folder = path_of("legs");
        leg->options.after = (wg_amount){legs[i].until, 'u'};
        leg->options.shard_optimizer = legs[i].shards;
        run(leg);
        all_ran(leg, legs[i].until);
        free(leg);
    }
    same_files("never", "legs");
    free(never);
}

/* ---- messages of bf16 ------------------------------------------------------------------------ */

static void messages_of_bf16_give_all_ranks_the_same_bits(void **state)
{
    job *exact = new_job(2), *first = NULL;
    (void)state;
    run(exact);
    for (int i = 0; i < 3; i++) { /* again, and in other buckets, and with shared moments */
        job *j = new_job(2);
        j->options.reduce = (wg_reduce_options){i == 1 ? 100 : 0, WG_BF16};
        j->options.shard_optimizer = i == 2;
        j->options.folder = i == 0 ? path_of("rounded") : i == 2 ? path_of("rounded-parts") : NULL;
        run(j);
        all_ran(j, 13);
        if (first && i == 1)
            same_bits(first, j);
        if (first)
            free(j);
        else
            first = j;
    }
    same_files("rounded", "rounded-parts");
    assert_int_not_equal(memcmp(first->bits[0], exact->bits[0], exact->n_bits[0]), 0);
    /* two roundings to 8 bits in each update of a rate of 0.01 */
    check_that(fabs(first->loss[0] - exact->loss[0]) <= 0.01 * exact->loss[0], "%g, %g",
               first->loss[0], exact->loss[0]);
    free(exact);
    free(first);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void all_failed(const job *j, bool to_begin, wg_status status, const char *words)
{
    for (int r = 0; r < j->ranks; r++) {
        wg_status got = to_begin ? j->created[r] : j->ran[r];
        check_that(got == status && strstr(j->message[r], words), "rank %d: status %d, \"%s\"", r,
                   got, j->message[r]);
    }
}

static void nan_on_one_rank_stops_all(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 4; ranks += 2) {
        job *j = new_job(ranks);
        j->options.train = &bad_examples;
        j->options.valid = NULL;
        j->options.validate = (wg_amount){0};
        run(j);
        all_failed(j, false, WG_ENONFINITE, "update 1: the loss is not finite");
        all_failed(j, false, WG_ENONFINITE, ranks == 2 ? "on rank 1" : "on rank 2");
        all_failed(j, false, WG_ENONFINITE, "first in batch 3 of the update");
        for (int r = 0; r < ranks; r++)
            assert_memory_equal(j->bits[r], j->bits[0], j->n_bits[0]);
        assert_int_equal(j->updates[0], 0);
        free(j);
    }
}

static void other_settings_are_found(void **state)
{
    job *j = new_job(3);
    (void)state;
    j->options.accumulate = 6;
    j->odd_rank = 2;
    run(j);
    all_failed(j, true, WG_EINVAL, "rank 2 (");
    all_failed(j, true, WG_EINVAL, "has another optimizer than rank 0 (");
    free(j);
    j = new_job(3);
    run(j);
    all_failed(j, true, WG_EINVAL, "accumulate: expected a multiple of 3");
    free(j);
    j = new_job(2);
    j->options.optimizer.kind = WG_OPTIMIZER_LAMB;
    j->options.shard_optimizer = true;
    run(j);
    all_failed(j, true, WG_EINVAL, "shard_optimizer: the rule lamb needs whole parameters");
    free(j);
}

static void a_flipped_bit_is_found(void **state)
{
    (void)state;
    for (int flips = 0; flips < 3; flips++) {
        job *j = new_job(3);
        char words[20];
        struct stat s;
        j->options.accumulate = 3;
        j->options.folder = path_of("flipped");
        j->flips = flips;
        run(j);
        snprintf(words, sizeof words, "rank %d (", flips);
        all_failed(j, false, WG_EDATA, words);
        all_failed(j, false, WG_EDATA, "update 13 is not saved");
        assert_int_not_equal(stat(path_of("flipped/progress.json"), &s), 0);
        free(j);
    }
}

/* What rank 0 cannot write, no rank trains for. */
static void a_folder_that_cannot_be_made_stops_all(void **state)
{
    job *j = new_job(2);
    (void)state;
    write_text("file", "");
    j->options.folder = path_of("file");
    run(j);
    all_failed(j, true, WG_EIO, "rank 0 (");
    all_failed(j, true, WG_EIO, "expected a folder, got a file");
    free(j);
}

static wg_value *counting(void *context, const wg_model_step *step)
{
    wg_value *n = wg_state(step->graph, "count", WG_F32, WG_SCALAR, wg_zeros());
    wg_assign(n, wg_shift(n, 1));
    return classifier(context, step);
}

static void states_of_a_model_are_refused(void **state)
{
    job *j = new_job(2);
    (void)state;
    j->options.model = counting;
    run(j);
    all_failed(j, true, WG_EUNSUPPORTED, "the model assigns to count in each batch");
    free(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_ranks_gives_the_same_bits),
        cmocka_unit_test(a_run_goes_on_with_other_ranks),
        cmocka_unit_test(three_ranks_agree),
        cmocka_unit_test(ranks_scale_their_loss_alike),
        cmocka_unit_test(moments_that_are_shared_out_change_no_bits),
        cmocka_unit_test(ranks_without_moments_take_part),
        cmocka_unit_test(shared_out_moments_are_resumed_in_any_form),
        cmocka_unit_test(messages_of_bf16_give_all_ranks_the_same_bits),
        cmocka_unit_test(nan_on_one_rank_stops_all),
        cmocka_unit_test(other_settings_are_found),
        cmocka_unit_test(a_flipped_bit_is_found),
        cmocka_unit_test(a_folder_that_cannot_be_made_stops_all),
        cmocka_unit_test(states_of_a_model_are_refused),
    };
    return cmocka_run_group_tests(tests, make_data, remove_data);
}
