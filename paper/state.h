/* Pieces of work that are done: their numbers in a text file of a folder, so that an experiment
 * that was stopped goes on where it was.  A line is a key and its numbers; the first line says
 * whose they are.  A line that was cut off does not count. */
#ifndef WG_PAPER_STATE_H
#define WG_PAPER_STATE_H

#include "files/lock.h"
#include "wengert/graph/error.h"

#include <stdbool.h>
#include <stdio.h>

#define PAPER_STATE_FILE "results.txt"

typedef struct paper_state {
    char *path, *text; /* of the file as it was when it was opened */
    FILE *log;         /* NULL: nothing is kept */
    wgi_lock lock;
} paper_state;

/* Opens or makes the state in the folder; NULL: nothing is kept.  WG_EINVAL: the folder has the
 * results of something else; WG_EIO, WG_ENOMEM, WG_EDATA.  Close it in any case. */
wg_status paper_state_open(paper_state *s, const char *folder, const char *heading,
                           wg_error *error);
void paper_state_close(paper_state *s);

/* The n numbers of that key, if the state has exactly so many. */
bool paper_state_find(const paper_state *s, const char *key, double *values, int n);
/* Keeps them: they survive the end of the program.  The key has neither blanks nor line breaks. */
wg_status paper_state_add(paper_state *s, const char *key, const double *values, int n,
                          wg_error *error);

#endif
