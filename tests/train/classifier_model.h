/* A classifier of three classes for tests of trainers. */
#ifndef WG_TESTS_TRAIN_CLASSIFIER_MODEL_H
#define WG_TESTS_TRAIN_CLASSIFIER_MODEL_H

#include "wengert/models/layers.h"
#include "wengert/ops/ops.h"
#include "wengert/train/trainer.h"

enum { HIDDEN = 10, CLASSES = 3 };

static inline wg_value *classifier(void *context, const wg_model_step *step)
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

/* The same in f16 without dropout, with parameters in f32 and a loss so small that all gradients
 * are 0 in f16. */
static const double faint = 1e-9;
static inline wg_value *narrow_classifier(void *context, const wg_model_step *step)
{
    (void)context;
    wg_scope_parameter_dtype(step->graph, WG_F32);
    wg_value *x = wg_cast(wg_step_input(step, "x"), WG_F16);
    wg_value *h = wg_dense("hidden", x, HIDDEN, WG_ACTIVATION_RELU);
    wg_value *logits = wg_cast(wg_dense("logits", h, CLASSES, WG_ACTIVATION_NONE), WG_F32);
    wg_value *loss = wg_cross_entropy(logits, wg_step_input(step, "label"), NULL, NULL);
    wg_step_metric(step, "entropy", loss, WG_LESS_IS_BETTER);
    return wg_scale(loss, faint);
}

#endif
