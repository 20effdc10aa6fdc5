#include "cli/progress.h"

#include <math.h>

progress progress_on(FILE *file, bool quiet)
{
    return (progress){.bar = bar_on(file, quiet), .quiet = quiet};
}

void progress_end(progress *p)
{
    bar_erase(&p->bar);
}

/* "1:02:03" or "2:03" */
static void clock_text(double seconds, char *text, size_t size)
{
    long s = seconds > 0 && seconds < 1e9 ? (long)(seconds + 0.5) : 0;
    if (s >= 3600)
        snprintf(text, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(text, size, "%ld:%02ld", s / 60, s % 60);
}

static void draw(progress *p, const wg_event *e)
{
    char piece[6][BAR_PIECE], left[32];
    size_t n = 0;
    bool ends = isfinite(e->seconds_left);
    clock_text(e->seconds_left, left, sizeof left);
    if (ends) {
        snprintf(piece[n++], BAR_PIECE, "%3.0f %%", floor(100 * e->done));
        snprintf(piece[n++], BAR_PIECE, "ETA %s", left);
    }
    snprintf(piece[n++], BAR_PIECE, "cost %.3f", e->loss);
    snprintf(piece[n++], BAR_PIECE, "update %lld", (long long)e->update);
    snprintf(piece[n++], BAR_PIECE, "epoch %lld", (long long)e->epoch);
    snprintf(piece[n++], BAR_PIECE, "%.0f words/s", e->per_second);
    bar_draw(&p->bar, ends ? e->done : (double)NAN, (const char(*)[BAR_PIECE])piece, n);
}

void progress_tell(void *context, const wg_event *event)
{
    progress *p = context;
    if (event->kind == WG_EVENT_UPDATE) {
        if (bar_is_due(&p->bar))
            draw(p, event);
        return;
    }
    if (p->quiet || !event->text)
        return;
    progress_end(p);
    fprintf(p->bar.file, "%s\n", event->text);
}
