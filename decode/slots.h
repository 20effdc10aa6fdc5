/* Slots: places in a pool of keys and values, counted by the hypotheses that read them. */
#ifndef WG_PRIVATE_DECODE_SLOTS_H
#define WG_PRIVATE_DECODE_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Slot 0 is never taken: rows without a hypothesis write there. */
typedef struct wgi_slots {
    int32_t *free;       /* [count] a stack: the first n_free are free */
    uint32_t *n_holders; /* [count] hypotheses that read the slot      */
    int64_t count, n_free;
} wgi_slots;

bool wgi_slots_create(wgi_slots *s, int64_t count); /* all free; false without memory       */
void wgi_slots_reset(wgi_slots *s);                 /* all free again                       */
void wgi_slots_clear(wgi_slots *s);                 /* frees the memory                     */
int32_t wgi_slots_take(wgi_slots *s);               /* with one holder; -1 if none is free  */
void wgi_slots_hold(wgi_slots *s, const int32_t *slots, size_t n); /* one more holder each  */
void wgi_slots_drop(wgi_slots *s, const int32_t *slots, size_t n); /* one fewer             */

#endif
