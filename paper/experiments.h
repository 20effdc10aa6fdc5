/* The experiments, each in a file or two of its own. */
#ifndef WG_PAPER_EXPERIMENTS_H
#define WG_PAPER_EXPERIMENTS_H

#include "paper/run.h"

wg_status paper_table1(paper_run *r);
wg_status paper_scale(paper_run *r);
wg_status paper_positions(paper_run *r);
wg_status paper_warmup(paper_run *r);
wg_status paper_lm(paper_run *r);

#endif
