/* Time series from the metrics.jsonl of a model folder. */
#ifndef WG_CLI_METRICS_H
#define WG_CLI_METRICS_H

#include <stddef.h>

/* A time series: value[i] after update[i]. */
typedef struct series {
    double *update, *value;
    size_t n, update_room, value_room;
} series;

/* Reads the values of `key` from the records of that kind ("train", "valid") that have it.  Returns
 * an exit code; complains.  Call series_free even after a failure. */
int series_read(series *s, const char *folder, const char *kind, const char *key);
void series_free(series *s);

#endif
