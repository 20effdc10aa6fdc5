/* A listener that asks a run of training to stop at an update. */
#ifndef WG_TESTS_STOPPER_H
#define WG_TESTS_STOPPER_H

#include "wengert/train/trainer.h"

typedef struct stopper {
    int64_t at; /* update */
    volatile int stop;
} stopper;

static inline void stop_at(void *context, const wg_event *e)
{
    stopper *s = context;
    if (e->kind == WG_EVENT_UPDATE && e->update == s->at)
        s->stop = 1;
}

#endif
