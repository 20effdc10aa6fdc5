#include "paper/model.h"
#include "graph/error.h"
#include "wengert/models/accuracy.h"
#include "wengert/ops/ops.h"

enum { SOURCE, LENGTH, TARGET_IN, TARGET_OUT, FIELDS, TEST_ROWS = 256 };

/* ---- the training ---------------------------------------------------------------------------- */

static wg_status read_pair(void *context, int64_t epoch, int64_t example, void *const *to,
                           wg_error *error)
{
    const paper_model *m = context;
    const paper_task *t = &m->training->task;
    (void)epoch;
    (void)error;
    paper_task_pair(t, m->seed, (uint64_t)(t->examples ? example % t->examples : example),
                    to[SOURCE], to[LENGTH], to[TARGET_IN], to[TARGET_OUT]);
    return WG_OK;
}

static wg_value *model(void *context, const wg_model_step *step)
{
    const wg_transformer_config *net = context;
    wg_transformer m = wg_transformer_begin(step->graph, net, step->mode);
    const wg_transformer_inputs in = {step->inputs[SOURCE], step->inputs[LENGTH],
                                      step->inputs[TARGET_IN], step->inputs[TARGET_OUT]};
    return wg_transformer_loss(&m, &in, NULL);
}

/* Whether that update is one of those whose parameters are kept. */
static bool is_checkpoint(const paper_training *t, int64_t update)
{
    int64_t left = t->updates - update;
    return t->checkpoints && left % t->apart == 0 && left / t->apart < t->checkpoints;
}

static void note(void *context, const wg_event *event)
{
    paper_model *m = context;
    if (event->kind == WG_EVENT_DISPLAY && m->at < m->training->points)
        m->loss[m->at++] = event->loss;
    if (event->kind == WG_EVENT_UPDATE && is_checkpoint(m->training, event->update) &&
        m->keeping == WG_OK)
        m->keeping = paper_checkpoints_keep(&m->kept, wg_trainer_store(m->trainer));
}

static wg_status train(paper_model *m, wg_error *error)
{
    const paper_training *t = m->training;
    const int length = paper_task_length(&t->task),
              target_length = paper_task_target_length(&t->task);
    m->field[SOURCE] = (wg_field){"source", WG_I32, WG_SHAPE(length), NULL};
    m->field[LENGTH] = (wg_field){"source_lengths", WG_I32, WG_SCALAR, NULL};
    m->field[TARGET_IN] = (wg_field){"target_in", WG_I32, WG_SHAPE(target_length), NULL};
    m->field[TARGET_OUT] = (wg_field){"target_out", WG_I32, WG_SHAPE(target_length), NULL};
    m->pairs = (wg_examples){.fields = m->field,
                             .n_fields = FIELDS,
                             .count = t->updates * t->batch,
                             .read = read_pair,
                             .context = m,
                             .batch = t->batch};
    const wg_trainer_options options = {
        .model = model,
        .context = &m->net,
        .train = &m->pairs,
        .optimizer = {.beta2 = 0.98, .eps = 1e-9},
        .schedule = t->schedule,
        .after = {t->updates, 'u'},
        .report = {t->points ? t->updates / t->points : 0, 'u'},
        .listener = {note, m},
        .seed = m->seed,
        .threads = 1, /* trainings run beside each other */
    };
    wg_status status = wg_trainer_create(&m->trainer, &options, error);
    if (status == WG_OK) {
        status = wg_trainer_run(m->trainer, NULL);
        if (status == WG_ENONFINITE) /* it diverged: a result, too */
            status = WG_OK;
        if (status != WG_OK)
            wgi_error_set(error, status, "%s", wg_trainer_message(m->trainer));
    }
    if (status == WG_OK && m->keeping != WG_OK)
        status = wgi_error_set(error, m->keeping, "out of memory for checkpoints");
    return status;
}

/* The network with the sizes that its task gives it. */
static wg_transformer_config net_of(const paper_training *t)
{
    wg_transformer_config net = t->net;
    net.source_vocabulary = net.target_vocabulary = paper_task_vocabulary(&t->task);
    net.dtype = WG_F32;
    return net;
}

wg_status paper_model_train(paper_model *m, const paper_training *training, uint64_t seed,
                            double *loss, wg_error *error)
{
    *m = (paper_model){.training = training, .seed = seed, .loss = loss, .net = net_of(training)};
    return train(m, error);
}

void paper_model_free(paper_model *m)
{
    paper_checkpoints_free(&m->kept);
    wg_trainer_free(m->trainer);
    *m = (paper_model){0};
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* Scores of the parameters in the store. */
typedef struct exam {
    wg_graph *graph;
    wg_transformer_inputs in;
    wg_value *score[PAPER_SCORES];
} exam;

static exam exam_of(const wg_transformer_config *net, const paper_task *t)
{
    const wg_cross_entropy_attrs plain = {.use_ignore = true, .ignore = WG_NO_TARGET};
    exam e = {.graph = wg_graph_new()};
    e.in = wg_transformer_inputs_new(e.graph, TEST_ROWS, paper_task_length(t),
                                     paper_task_target_length(t));
    wg_transformer m = wg_transformer_begin(e.graph, net, WG_MODE_INFERENCE);
    wg_value *memory = wg_transformer_encode(&m, e.in.source, e.in.source_lengths);
    wg_value *states = wg_transformer_decode(&m, e.in.target_in, memory, e.in.source_lengths);
    wg_value *logits = wg_transformer_logits(&m, states), *target = e.in.target_out;
    wg_value *right = wg_equal(wg_argmax(logits, -1, WG_DROP), wg_cast(target, WG_I64)),
             *padding = wg_less(target, wg_scalar_like(target, 0));
    wg_value *exact = wg_all(wg_logical_or(right, padding), WG_AXES(1), WG_DROP);
    e.score[PAPER_NLL] = wg_output(wg_cross_entropy(logits, target, NULL, &plain), "nll");
    e.score[PAPER_ACCURACY] = wg_output(wg_accuracy(logits, target, &plain), "accuracy");
    e.score[PAPER_EXACT] =
        wg_output(wg_mean(wg_cast(exact, WG_F32), WG_ALL_AXES, WG_DROP), "exact");
    return e;
}

static void fill_exam(wg_plan *p, const exam *e, const paper_task *t)
{
    const int length = paper_task_length(t), target_length = paper_task_target_length(t);
    int32_t *source = wg_plan_data(p, e->in.source),
            *lengths = wg_plan_data(p, e->in.source_lengths),
            *in = wg_plan_data(p, e->in.target_in), *out = wg_plan_data(p, e->in.target_out);
    for (int i = 0; i < TEST_ROWS; i++)
        paper_task_pair(t, PAPER_TEST_STREAM, (uint64_t)i, source + i * length, &lengths[i],
                        in + i * target_length, out + i * target_length);
}

wg_status paper_model_score(paper_model *m, const paper_task *t, double *scores, wg_error *error)
{
    exam e = exam_of(&m->net, t);
    wg_plan *p = NULL;
    wg_status status =
        paper_plan(&p, e.graph,
                   &(wg_plan_options){.store = wg_trainer_store(m->trainer), .threads = 1}, error);
    if (status == WG_OK) {
        fill_exam(p, &e, t);
        status = paper_plan_run(p, error);
    }
    for (int i = 0; status == WG_OK && i < PAPER_SCORES; i++)
        scores[i] = wg_plan_scalar(p, e.score[i]);
    wg_plan_free(p);
    wg_graph_free(e.graph);
    return status;
}

int64_t paper_model_size(const paper_training *training)
{
    const wg_transformer_config net = net_of(training);
    exam e = exam_of(&net, &training->task);
    int64_t size = 0;
    for (size_t i = 0; i < wg_graph_node_count(e.graph); i++) {
        const wg_node *n = wg_graph_node(e.graph, i);
        if (n->op->flags & WG_OP_PARAMETER)
            size += wg_value_count(n->out[0]);
    }
    wg_graph_free(e.graph);
    return size;
}

/* ---- translations ---------------------------------------------------------------------------- */

wg_status paper_model_search(const paper_model *m, wg_search **out, wg_error *error)
{
    return wg_search_create(out,
                            &(wg_search_model){.config = &m->net,
                                               .store = wg_trainer_store(m->trainer),
                                               .bos = PAPER_BEGIN,
                                               .eos = PAPER_END,
                                               .pad = PAPER_PADDING,
                                               .unk = -1,
                                               .threads = 1},
                            error);
}
