#include "cli/progress.h"

#include <time.h>
#include <unistd.h>

enum { BAR = 24 };

progress progress_on(FILE *file, bool quiet)
{
    return (progress){.file = file, .quiet = quiet, .terminal = !quiet && isatty(fileno(file))};
}

void progress_end(progress *p)
{
    if (p->drawn)
        fputs("\r\033[K", p->file);
    p->drawn = false;
    fflush(p->file);
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
    char left[32], bar[BAR + 1];
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    double now = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    if (now < p->next)
        return;
    p->next = now + 0.2;
    clock_text(e->seconds_left, left, sizeof left);
    for (int i = 0; i < BAR; i++)
        bar[i] = i < e->done * BAR ? '#' : '.';
    bar[BAR] = '\0';
    fprintf(p->file,
            "\r[%s] %3.0f %%  epoch %lld, update %lld  cost %.3f  %.0f words/s  ETA %s\033[K", bar,
            100 * e->done, (long long)e->epoch, (long long)e->update, e->cost, e->words_per_second,
            left);
    fflush(p->file);
    p->drawn = true;
}

void progress_tell(void *context, const wg_event *event)
{
    progress *p = context;
    if (event->kind == WG_EVENT_UPDATE) {
        if (p->terminal)
            draw(p, event);
        return;
    }
    if (p->quiet || !event->text)
        return;
    progress_end(p);
    fprintf(p->file, "%s\n", event->text);
}
