/* Trainers without memory, alone and on a rank: a status with a message, or the same parameters as
 * ever; and averages of files. */
#include "tests/allocations.h"
#include "tests/distributed/local.h"
#include "tests/train/classifier.h"
#include "wengert/train/average.h"

typedef struct setting {
    wg_trainer_options options;
    const char *folder; /* in the test's own; emptied before each run; or NULL */
    const char *what;
    bool only_creates; /* without a run */
    size_t stride;
    uint64_t found; /* the parameters of the first run that succeeded */
    size_t failed, spared;
} setting;

static const wg_parameter_group bias = {.names = "*bias", .rate = 2};
static const wg_backend *reference; /* others hand on what they lack memory for */

static wg_trainer_options small(void)
{
    wg_trainer_options o = usual();
    o.valid = &examples;
    o.accumulate = 3; /* 7 batches in an epoch: 3, 3 and 1 */
    o.optimizer.clip_norm = 1;
    o.groups = &bias;
    o.n_groups = 1;
    o.average = 0.1;
    o.after = (wg_amount){3, 'u'};
    o.report = (wg_amount){1, 'u'};
    o.validate = (wg_amount){2, 'u'};
    o.metrics = "accuracy loss";
    o.backends = &reference;
    o.n_backends = 1;
    return o;
}

static uint64_t bits_of(const wg_store *s)
{
    uint64_t h = 1;
    const wg_tensor *t;
    for (size_t i = 0; (t = wg_store_at(s, i)); i++) {
        const unsigned char *b = t->data;
        for (size_t k = 0; k < (size_t)wg_shape_count(&t->shape) * wg_dtype_size(t->dtype); k++)
            h = (h ^ b[k]) * 1099511628211u;
    }
    return h;
}

/* Trains in the folder, which may have a run already. */
static wg_status train(setting *s)
{
    wg_trainer *t = NULL;
    wg_error error = {.text = ""};
    wg_status status = wg_trainer_create(&t, &s->options, &error);
    insist((status == WG_OK) == (t != NULL), "%s", wg_status_text(status));
    insist((status == WG_OK) == (*error.text == '\0'), "%s: '%s'", s->what, error.text);
    if (status == WG_OK && !s->only_creates) {
        status = wg_trainer_run(t, NULL);
        insist(status == WG_OK || *wg_trainer_message(t), "%s: no message", s->what);
    }
    allocations.counting = false;
    if (status == WG_OK) {
        uint64_t bits = bits_of(wg_trainer_store(t));
        s->found = s->found ? s->found : bits;
        insist(bits == s->found, "%s: other parameters", s->what);
    }
    wg_trainer_free(t);
    return status;
}

static void begin(setting *s)
{
    if (s->folder) {
        clear(s->folder);
        s->options.folder = path_of(s->folder);
    }
}

/* Every `stride`-th allocation fails, alone and with all that follow. */
static void fail_points(setting *s)
{
    begin(s);
    count_allocations(0, false);
    insist(train(s) == WG_OK, "%s", s->what);
    const size_t total = *allocation_calls();
    for (size_t i = 1; i <= total; i += s->stride)
        for (int for_good = 0; for_good < 2; for_good++) {
            begin(s);
            count_allocations(i, for_good);
            wg_status status = train(s);
            insist(status == WG_ENOMEM || status == WG_OK, /* tidying up may be left undone */
                   "%s: allocation %zu of %zu fails%s: %s", s->what, i, total,
                   for_good ? " and all after" : "", wg_status_text(status));
            s->failed += status == WG_ENOMEM;
            s->spared += status == WG_OK;
        }
    check_that(s->failed > 100 && s->spared <= (s->only_creates ? 0 : s->failed / 20),
               "%s: %zu failed, %zu as ever", s->what, s->failed, s->spared);
}

static void a_trainer_without_memory_has_a_status(void **state)
{
    (void)state;
    setting s = {.options = small(), .what = "train", .stride = 7};
    fail_points(&s);
}

static void a_trainer_with_a_folder_has_a_status(void **state)
{
    (void)state;
    setting s = {.options = small(), .folder = "run", .what = "train in a folder", .stride = 13};
    s.options.save = (wg_amount){1, 'u'};
    s.options.keep = 2;
    fail_points(&s);
}

static void creating_a_trainer_fails_at_each_allocation(void **state)
{
    (void)state;
    setting s = {.options = small(), .what = "create", .only_creates = true, .stride = 1};
    fail_points(&s);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static void train_on(wg_ranks *r, void *context)
{
    setting *s = context;
    s->options.ranks = r;
    fail_points(s);
}

static void a_rank_without_memory_has_a_status(void **state)
{
    (void)state;
    static const size_t strides[] = {9, 17, 1};
    for (int how = 0; how < 3; how++) {
        const bool shards = how > 0;
        setting s = {.options = small(),
                     .folder = how == 1 ? "ranks" : NULL,
                     .what = shards ? "a rank's part" : "a rank",
                     .only_creates = how == 2,
                     .stride = strides[how]};
        s.options.shard_optimizer = shards;
        local_world *w = local_world_new(1);
        local_run(w, 0, train_on, &s);
        local_world_free(w);
    }
}

/* One rank has no room for the names of all: nobody waits for it. */
static void ranks_without_memory_do_not_join(void **state)
{
    (void)state;
    enum { RANKS = 5 };
    wg_status status[LOCAL_MOST];
    static wg_error error[LOCAL_MOST];
    local_world *w = local_world_new(RANKS);
    allocations.bytes = RANKS * WGI_RANK_NAME;
    count_allocations(1, false);
    local_join(w, 2, status, error);
    allocations.counting = false;
    allocations.bytes = 0;
    for (int r = 0; r < RANKS; r++)
        check_that(status[r] == WG_ENOMEM && strncmp(error[r].text, "rank ", 5) == 0 &&
                       strstr(error[r].text, ": out of memory"),
                   "rank %d: status %d, \"%s\"", r, status[r], error[r].text);
    local_world_free(w);
}

/* Plans that could not be begun hold nothing that somebody would have to free. */
static void plans_without_memory_leave_nothing(void **state)
{
    (void)state;
    const wg_trainer_options o = small();
    wg_store *store = wg_store_new(1);
    wgi_plans p;
    size_t failed = 0;
    wg_status status;
    do {
        count_allocations(++failed, false);
        status = wgi_plans_init(&p, &o, fields, 2, store);
        allocations.counting = false;
        assert_true(status == WG_OK || (!p.workspace && !p.backends && !p.shapes));
    } while (status == WG_ENOMEM);
    assert_int_equal(status, WG_OK);
    assert_in_range(failed, 4, 100);
    wgi_plans_free(&p);
    wg_store_free(store);
}

/* ---- averages of files ----------------------------------------------------------------------- */

static wg_status average(void *context)
{
    const char *const *paths = context;
    wg_error error;
    wg_status status = wg_average_files(paths, 2, paths[2], &error);
    check_that((status == WG_OK) == (*error.text == '\0'), "'%s'", error.text);
    return status;
}

static void an_average_without_memory_is_a_status(void **state)
{
    (void)state;
    float x[] = {1, 2, 3}, y[] = {5, 6, 7};
    const wg_tensor a[] = {{"x", WG_F32, WG_SHAPE(3), x}}, b[] = {{"x", WG_F32, WG_SHAPE(3), y}};
    const wg_file_note same = {"kind", "a test"};
    const char *paths[] = {path_of("a"), path_of("b"), path_of("mean")};
    assert_int_equal(wg_safetensors_write(paths[0], a, 1, &same, 1, NULL), WG_OK);
    assert_int_equal(wg_safetensors_write(paths[1], b, 1, &same, 1, NULL), WG_OK);
    assert_in_range(fail_each("average", average, paths, WG_OK), 10, 1000);
    wg_safetensors *f;
    assert_int_equal(wg_safetensors_open(&f, paths[2], NULL), WG_OK);
    float mean[3];
    memcpy(mean, wg_safetensors_find(f, "x")->data, sizeof mean);
    assert_true(mean[0] == 3 && mean[1] == 4 && mean[2] == 5);
    wg_safetensors_close(f);
    assert_int_equal(wg_average_files(NULL, 2, paths[2], NULL), WG_EINVAL);
    assert_int_equal(wg_average_files(paths, 0, paths[2], NULL), WG_EINVAL);
    assert_int_equal(wg_average_files(paths, 2, NULL, NULL), WG_EINVAL);
}

static int set_up(void **state)
{
    reference = wg_cpu_backend();
    return make_data(state);
}

static int tear_down(void **state)
{
    clear("run");
    clear("ranks");
    return remove_folder(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trainer_without_memory_has_a_status),
        cmocka_unit_test(a_trainer_with_a_folder_has_a_status),
        cmocka_unit_test(creating_a_trainer_fails_at_each_allocation),
        cmocka_unit_test(a_rank_without_memory_has_a_status),
        cmocka_unit_test(ranks_without_memory_do_not_join),
        cmocka_unit_test(plans_without_memory_leave_nothing),
        cmocka_unit_test(an_average_without_memory_is_a_status),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
