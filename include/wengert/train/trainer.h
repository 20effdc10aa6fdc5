/* Training of any model: batches, one plan per shape of a batch, updates, validation,
 * checkpoints.
 *
 * A model is a function that builds the loss of a batch:
 *
 *     static wg_value *classifier(void *context, const wg_model_step *step)
 *     {
 *         wg_value *h = wg_dense("hidden", wg_step_input(step, "x"), 64, WG_ACTIVATION_RELU);
 *         wg_value *logits = wg_dense("logits", h, 10, WG_ACTIVATION_NONE);
 *         return wg_cross_entropy(logits, wg_step_input(step, "label"), NULL, NULL);
 *     }
 *
 *     wg_trainer *t;
 *     wg_trainer_options o = {.model = classifier, .train = &digits, .valid = &others,
 *                             .schedule = {WG_SCHEDULE_COSINE, .rate = 1e-3, .warmup = 100},
 *                             .after = {10, 'e'}, .validate = {1, 'e'}, .folder = "digits"};
 *     if (wg_trainer_create(&t, &o, &error) != WG_OK)
 *         return fail(error.text);
 *     if (wg_trainer_run(t, NULL) != WG_OK)
 *         return fail(wg_trainer_message(t));
 *     wg_trainer_free(t);
 *
 * The folder (wengert/train/folder.h) holds the whole state of a run.  A trainer created on a
 * folder with a progress.json resumes that run, and keeps other trainers out of the folder until
 * it is freed.  On the same machine with the same number of threads, the final parameters are
 * bit for bit those of an uninterrupted run. */
#ifndef WG_TRAIN_TRAINER_H
#define WG_TRAIN_TRAINER_H

#include "wengert/backends/backend.h"
#include "wengert/backends/store.h"
#include "wengert/distributed/ranks.h"
#include "wengert/files/picture.h"
#include "wengert/models/optimizer.h"
#include "wengert/models/transformer.h"
#include "wengert/train/checkpoint.h"
#include "wengert/train/schedule.h"
#include "wengert/train/source.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A training run. */
typedef struct wg_trainer wg_trainer;

/* ---- the model ------------------------------------------------------------------------------- */

/** What a model is built for: one shape of batches, for training or for validation. */
typedef struct wg_model_step {
    wg_graph *graph;         /**< to build in; the inputs of the batch are there */
    wg_value *const *inputs; /**< [n_inputs] in the order of the fields */
    size_t n_inputs;         /**< length of `inputs` */
    wg_mode mode;            /**< WG_MODE_TRAINING, or WG_MODE_INFERENCE for validation */
    /** A float scalar: the sum of the weights of all batches of the update, for a loss that is
     * divided by it (wg_loss_scale). */
    wg_value *total;
    struct wgi_step_graph *own; /**< the trainer's */
} wg_model_step;

/** The input of that name; without one, an error of the graph that lists those that there are. */
WG_API wg_value *(wg_step_input)(const char *at, const wg_model_step *step, const char *name);
#define wg_step_input(...) wg_step_input(WG_HERE, __VA_ARGS__)

/** Which values of a metric are better. */
typedef enum wg_better {
    WG_LESS_IS_BETTER = 0, /**< losses, errors */
    WG_MORE_IS_BETTER      /**< accuracies, scores */
} wg_better;

/** Reports a scalar by that name, beside the loss: "accuracy".  Of several batches it is a mean
 * with their weights, as the loss is.  A name is shorter than 24 characters, and a file name: it
 * has letters, digits, '-' and '_'.  At most 7 metrics. */
WG_API void wg_step_metric(const wg_model_step *step, const char *name, wg_value *value,
                           wg_better better);

/** What the losses of a model are divided by. */
typedef enum wg_loss_scale {
    /** They are means over their batch.  The trainer weighs the batches of an update, and those of
     * the validation data, by wg_batch_size.weight. */
    WG_LOSS_OF_BATCH = 0,
    /** Losses are sums over their batch, divided by wg_model_step.total: so they add up over an
     * update.  For validation `total` is 1, and the trainer divides the sums by all weights.  A
     * metric that is divided by `total` is such a sum, too; others are means over their batch. */
    WG_LOSS_OF_UPDATE
} wg_loss_scale;

/* ---- options --------------------------------------------------------------------------------- */

/** An optimizer and its numbers.  Zero means the default in every field; numbers that the optimizer
 * does not have must be 0. */
typedef struct wg_optimizer {
    int kind;              /**< wg_optimizer_kind */
    double beta1;          /**< decay of the first moment; WG_BETA_ZERO: 0 */
    double beta2;          /**< decay of the second moment; WG_BETA_ZERO: 0 */
    double eps;            /**< as its formula has it */
    double momentum;       /**< SGD, RMSprop; 0: none */
    double weight_decay;   /**< decoupled (AdamW, Lion, LAMB), or added to the gradient; 0: none */
    double clip_norm;      /**< maximum norm of the gradient of all parameters; 0: no clipping */
    bool nesterov;         /**< SGD: Nesterov's momentum */
    double momentum_decay; /**< NAdam */
    double eta_minus;      /**< Rprop: by which a step size shrinks, in (0, 1) */
    double eta_plus;       /**< Rprop: by which it grows, above 1 */
    double step_min;       /**< Rprop: the smallest step size */
    double step_max;       /**< Rprop: the largest */
    /** A rule of one's own in place of `kind`; its numbers are its own, too.  A run is resumed only
     * with a rule of the same name and states. */
    const wg_update_rule *rule;
    const void *rule_context; /**< wg_update.context */
} wg_optimizer;

/** Parameters that are trained in a way of their own. */
typedef struct wg_parameter_group {
    /** Full names, in which '*' stands for any characters: "encoder*" for a scope, "*bias" for
     * all biases (as fnmatch has it).  A parameter belongs to the first group that has its name;
     * others are trained as the optimizer says.  A group without parameters is an error. */
    const char *names;
    double rate;         /**< by which the learning rate is multiplied; 0: 1 */
    double weight_decay; /**< in place of the optimizer's; 0: none */
    bool frozen;         /**< they are not trained at all: they keep their values */
    /** The metric (wg_step_metric) that they minimise in place of the loss; NULL: the loss.  So two
     * networks can be trained against each other: what the one maximises has a minus sign. */
    const char *loss;
    /** They are updated in each update whose number is a multiple of this, and skipped in the
     * others, which do not compute their gradient; 0: 1.  Their steps are counted separately. */
    int64_t every;
} wg_parameter_group;

/** Dynamic scaling of the loss (Micikevicius et al. 2018), for models whose gradients pass through
 * f16, where those below 3e-8 become 0: the loss is multiplied by a scale before it is
 * differentiated, and the gradients of the parameters are divided by it before they are clipped and
 * applied.  An update whose gradients are not finite, as the scale was too large, is skipped:
 * parameters, averages, moments and the optimizer's number of steps stay as they are, and the scale
 * falls.  Reported losses and norms are those without a scale.  Zero means the default in every
 * field but `initial`. */
typedef struct wg_loss_scaling {
    /** The scale at the beginning, such as 65536, from 2^-16 to 2^120; 0: no scaling, and then the
     * other fields must be 0, too.  With powers of two here and in the factors, scaling rounds
     * nothing: where nothing underflows or overflows, parameters have the bits of a run without. */
    double initial;
    double growth;    /**< factor after `interval` updates in a row, above 1; 0: 2 */
    double backoff;   /**< factor after an update that was skipped, below 1; 0: 0.5 */
    int64_t interval; /**< updates in a row that are applied before the scale grows; 0: 2000 */
} wg_loss_scaling;

/** Kinds of events. */
typedef enum wg_event_kind {
    WG_EVENT_NOTE = 0, /**< a remark: sizes, a damaged checkpoint */
    WG_EVENT_UPDATE,   /**< an update was done; no text */
    WG_EVENT_DISPLAY,  /**< progress, at the interval `report` */
    WG_EVENT_VALID,    /**< validation metrics, at the interval `validate` */
    WG_EVENT_SAVED     /**< a checkpoint was written */
} wg_event_kind;

/** The value of a metric. */
typedef struct wg_metric {
    char name[WG_METRIC_NAME]; /**< "loss", "accuracy" */
    double value;              /**< as reported; NaN: it could not be measured */
    wg_better better;          /**< which values are better */
    bool is_best;              /**< of a validation: better than any before */
    int decimals;              /**< with which it is printed; 0: 4 */
} wg_metric;

/** An event of a run.  Texts and arrays are valid only during the call. */
typedef struct wg_event {
    int kind;                    /**< wg_event_kind */
    const char *text;            /**< one line of text, without newline */
    int64_t epoch;               /**< 1, 2, ... */
    int64_t update;              /**< updates done in the whole run */
    int64_t updates_in_epoch;    /**< done in this epoch */
    int64_t of_updates_in_epoch; /**< updates in one epoch */
    double loss;                 /**< mean since the last display */
    double rate;                 /**< learning rate of the last update */
    double gradient_norm;        /**< of the last update, before clipping */
    double loss_scale;           /**< of the next update (wg_loss_scaling); 0: no scaling */
    int64_t skipped_updates;     /**< in the whole run, since their gradients were not finite */
    double per_second;           /**< weight of the batches per second since the last display */
    double done;                 /**< fraction of options.after, 0 to 1 */
    double seconds_left;         /**< NaN: unknown */
    const wg_metric *metrics;    /**< [n_metrics] of the last display or of the validation */
    size_t n_metrics;            /**< length of `metrics` */
} wg_event;

/** A receiver of events. */
typedef struct wg_listener {
    void (*tell)(void *context, const wg_event *event); /**< NULL: nobody */
    void *context;                                      /**< first argument of `tell` */
} wg_listener;

/** A wg_listener.tell whose context is a FILE: writes the text of the event there, if it has one,
 * as a line: `.listener = {wg_print_event, stdout}`.  NULL: nothing is written. */
WG_API void wg_print_event(void *file, const wg_event *event);

/** A run.  Zero means the default in every field but the model, its data and the schedule.  What it
 * points to must stay as it is until the trainer is freed. */
typedef struct wg_trainer_options {
    /* the model */

    /** Builds the model in step->graph and returns its loss, a float scalar; or NULL after an
     * error, which is the graph's.  Called for each shape of a batch, and again for validation; the
     * parameters must have the same names, dtypes and shapes each time, and for validation it may
     * assign to no state that training has. */
    wg_value *(*model)(void *context, const wg_model_step *step);
    void *context;  /**< first argument of `model` */
    wg_value *loss; /**< in place of `model`: the loss in a graph whose inputs are the fields */
    wg_loss_scale scale; /**< what loss and metrics are divided by */
    wg_dtype dtype;      /**< of wg_model_step.total and of the learning rate; 0: f32 */

    /* the data: one of the first two; for validation one of the others, or none */

    const wg_examples *train;      /**< to train on */
    const wg_source *train_source; /**< to train on */
    const wg_examples *valid;      /**< to validate on; same fields; in the given order */
    const wg_source *valid_source; /**< to validate on; its epoch 0 */

    /* updates */

    /** Batches that make one update; 0: 1.  The last update of an epoch has those that are left. */
    int64_t accumulate;
    wg_optimizer optimizer; /**< Adam, unless it says otherwise */
    /** Its updates = 0: those of `after`, so that a run which is resumed with another `after` goes
     *  on by another curve. */
    wg_schedule schedule;
    const wg_parameter_group *groups; /**< [n_groups] parameters with other rates or decays */
    size_t n_groups;                  /**< length of `groups` */
    wg_loss_scaling loss_scaling;     /**< for gradients in f16; by default none */
    /** s: after each update, average = (1 - s) average + s parameters; 0: no average.  Validation
     * and the best model use the average. */
    double average;

    /* the course of the run */

    wg_amount after;     /**< length of the run; 0: until it is stopped */
    wg_amount report;    /**< between lines of progress; 0: none */
    wg_amount validate;  /**< between validations; 0: none */
    wg_amount save;      /**< between checkpoints; 0: only at the end of the run */
    const char *metrics; /**< "accuracy loss": best models by these; NULL: "loss" */
    int64_t patience;    /**< ends after so many validations without a better first metric; 0: no */
    wg_listener listener; /**< of events */

    /* files */

    const char *folder;     /**< of the run; NULL: nothing is written or resumed */
    int64_t keep;           /**< checkpoints of `save` kept for averaging; at least 2 */
    bool overwrite;         /**< start from scratch in a folder that has a run */
    const char *pretrained; /**< file of weights that a new run starts from; NULL: random numbers */

    /* several machines */

    /** Those that train together, NULL: only this process.  `accumulate` is the number of batches
     * of an update over all ranks, and a multiple of theirs; each rank computes its part of them.
     * If both are powers of two, parameters and moments have the bits that one rank computes, so a
     * run may be resumed on another number of ranks.  Only rank 0 writes the folder and tells the
     * listener; all ranks read the same data.  Options and model must be the same on all ranks, and
     * the model may not assign to states.  All ranks call the functions of the trainer together and
     * get the same statuses; what fails on one rank alone in the middle of an update ends all. */
    wg_ranks *ranks;
    wg_reduce_options reduce; /**< how gradients are summed over ranks */
    /** Each rank updates a part of the parameters, has moments of only this part, and fetches the
     * others' (ZeRO-1).  Parameters and moments have the same bits as without.  A checkpoint has
     * all moments, gathered when it is saved, and may be resumed with or without. */
    bool shard_optimizer;

    /* the machine */

    uint64_t seed;                     /**< of initial values, dropout and shuffling */
    const wg_backend *const *backends; /**< [n_backends] preferred ones first; NULL: all built in */
    size_t n_backends;                 /**< length of `backends` */
    int threads;                       /**< up to WG_MAX_THREADS; 0: what the process may use */
    /** Bytes for parameters, states and all plans together (wg_plan_options.memory), the plans
     * themselves included; 0: no limit.  Each plan is made for what is left next to the store;
     * plans of other shapes are freed when what they have of their own would exceed it.  WG_ENOMEM:
     * it is too small, and the message says how little would do for the batch at hand; a batch of a
     * larger shape, which may come later, needs more.  It changes no result, so a resumed run may
     * have another. */
    size_t memory;
    /** Bytes of `memory` that others take, such as the rest of the process. */
    size_t memory_elsewhere;
} wg_trainer_options;

/* ---- the run --------------------------------------------------------------------------------- */

/** Creates a trainer: locks the folder, builds the model for the first batch, restores a
 * checkpoint. On failure *out is NULL: WG_EINVAL (options, a model that is in error, a run that
 * was begun with other settings, a folder with weights but without their run), WG_EDATA (the
 * folder's files), WG_EIO (also: another trainer has the folder), WG_ENOMEM, or the status of
 * the source. */
WG_API WG_MUST_USE wg_status wg_trainer_create(wg_trainer **out, const wg_trainer_options *options,
                                               wg_error *error);
/** Frees the trainer; NULL is allowed. */
WG_API void wg_trainer_free(wg_trainer *t);
/** Trains until options.after, until patience ends, or until *stop is nonzero, and saves at the
 * set interval and at the end.  `stop`, which may be NULL, may be set by a signal or another
 * thread.  The run stops after the batch in progress: an update of several batches is begun again
 * when it is resumed, and so is a validation.  Returns WG_OK if it was stopped, and may be
 * called again. WG_ENONFINITE: a loss or a gradient was not finite, or a new parameter or moment
 * could be none; that update was not applied, and nothing was saved after it; the message names
 * the first node with such a number.  With options.loss_scaling a gradient ends the run only at the
 * lowest scale. */
WG_API WG_MUST_USE wg_status wg_trainer_run(wg_trainer *t, const volatile int *stop);
/** The same for so much more: 4 epochs, 100 updates, or less if the run ends before.  Between two
 * calls the arrays of options.train may be filled with other examples, as many as before, such as
 * those that the model has collected itself; but not those of a run with a folder, which is resumed
 * with the data that it started with.  WG_EINVAL: `more` is not such an amount. */
WG_API WG_MUST_USE wg_status wg_trainer_run_for(wg_trainer *t, wg_amount more,
                                                const volatile int *stop);
/** The validation of options.validate, at once: the metrics, "loss" first, in metrics[0..n), which
 * belong to the trainer until the next call; `metrics` and `n` may be NULL.  Neither saved nor
 * compared with the best.  WG_EINVAL: there is no validation data. */
WG_API WG_MUST_USE wg_status wg_trainer_validate(wg_trainer *t, const wg_metric **metrics,
                                                 size_t *n);
/** The value of a metric in the last validation, "loss" or one of the model's; NaN if there was no
 * validation or no such metric. */
WG_API double wg_trainer_metric(wg_trainer *t, const char *name);
/** Why the last run or validation failed; valid as long as t.  Of NULL: that it is NULL. */
WG_API const char *wg_trainer_message(const wg_trainer *t);
/** The graph that the trainer runs, to be drawn, printed, or checked (wg_gradcheck) before the run:
 * for WG_MODE_TRAINING that of an update, the model with its gradient and the optimizer, for the
 * first batch; for WG_MODE_INFERENCE that of validation, the model alone, for the first batch of
 * the validation data, or without any, of the training data.  Loss and metrics are its outputs.
 * The caller frees it.  NULL: wg_trainer_message says why. */
WG_API wg_graph *wg_trainer_graph(wg_trainer *t, wg_mode mode);
/** Draws the model alone, the graph of WG_MODE_INFERENCE, into the file `path`: ".svg", ".png" or
 * ".dot", or ".wg" for its text (wg_picture_save, whose `options` may be NULL).  Trained or not: a
 * picture shows no numbers.  On failure wg_trainer_message says why. */
WG_API WG_MUST_USE wg_status wg_trainer_draw(wg_trainer *t, const char *path,
                                             const wg_picture_options *options);
/** Updates done in the whole run. */
WG_API int64_t wg_trainer_updates(const wg_trainer *t);
/** The parameters and states, which other plans may share; valid as long as t.  Beside those of the
 * model it has states "optimizer/...", "average/..." and "gradient/...". */
WG_API wg_store *wg_trainer_store(const wg_trainer *t);

#ifdef __cplusplus
}
#endif
#endif
