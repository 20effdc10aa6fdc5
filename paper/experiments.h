/* The experiments, each in a file or two of its own. */
#ifndef WG_PAPER_EXPERIMENTS_H
#define WG_PAPER_EXPERIMENTS_H

#include "paper/run.h"

wg_status paper_table1(paper_run *r);
wg_status paper_scale(paper_run *r);
wg_status paper_additive(paper_run *r);
wg_status paper_positions(paper_run *r);
wg_status paper_warmup(paper_run *r);
wg_status paper_heads(paper_run *r);
wg_status paper_size(paper_run *r);
wg_status paper_dropout(paper_run *r);
wg_status paper_smoothing(paper_run *r);
wg_status paper_norm(paper_run *r);
wg_status paper_averaging(paper_run *r);
wg_status paper_beam(paper_run *r);
wg_status paper_visualise(paper_run *r);
wg_status paper_parsing(paper_run *r);
wg_status paper_lm(paper_run *r);

#endif
