/* Options that a command does not have: the one that was probably meant. */
#include "cli/cli.h"
#include "graph/nearest.h"

#include <string.h>

enum { LONGEST = 80 }; /* of a name that is looked at; longer ones are left to argp */

/* What is looked for in a command's tables, and what was found. */
typedef struct search {
    const char *name; /* of a long option, perhaps cut; NULL: by its letter */
    int letter;
    const struct argp_option *match; /* with its argument, also where an alias was found */
    bool exact;
    const char *nearest;
    size_t distance;
} search;

static bool is_end(const struct argp_option *o)
{
    return !o->name && !o->key && !o->doc && !o->group;
}

static void compare(search *s, const struct argp_option *o, const struct argp_option *real)
{
    if (!s->name) {
        s->match = o->key == s->letter ? real : s->match;
        return;
    }
    const bool exact = o->name && strcmp(o->name, s->name) == 0;
    if (!o->name || s->exact)
        return;
    if (exact || strncmp(o->name, s->name, strlen(s->name)) == 0) {
        s->match = real;
        s->exact = exact;
    }
    size_t distance = wgi_name_distance(s->name, o->name);
    if (distance < s->distance) {
        s->distance = distance;
        s->nearest = o->name;
    }
}

static void look(search *s, const struct argp *a)
{
    const struct argp_option *real = NULL;
    for (const struct argp_option *o = a->options; o && !is_end(o); o++) {
        real = o->flags & OPTION_ALIAS ? real : o;
        if (!(o->flags & OPTION_DOC))
            compare(s, o, real);
    }
    for (const struct argp_child *c = a->children; c && c->argp; c++)
        look(s, c->argp);
}

/* Does the next word belong to it? */
static bool takes_word(const struct argp_option *o)
{
    return o && o->arg && !(o->flags & OPTION_ARG_OPTIONAL);
}

/* The same of letters after one dash, of which the last may have an argument. */
static bool letters_take_word(const struct argp *argp, const char *letters)
{
    for (; *letters; letters++) {
        search s = {.letter = (unsigned char)*letters};
        look(&s, argp);
        if (takes_word(s.match))
            return letters[1] == '\0';
    }
    return false;
}

static bool is_of_argp(const char *name)
{
    return strcmp(name, "help") == 0 || strcmp(name, "usage") == 0 || strcmp(name, "version") == 0;
}

int check_option_names(const struct argp *argp, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        char name[LONGEST + 1];
        const char *word = argv[i];
        if (word[0] != '-' || word[1] != '-') {
            i += word[0] == '-' && letters_take_word(argp, word + 1);
            continue;
        }
        size_t length = strcspn(word + 2, "=");
        if (length > LONGEST)
            return EXIT_OK;
        memcpy(name, word + 2, length);
        name[length] = '\0';
        search s = {.name = name, .distance = SIZE_MAX};
        look(&s, argp);
        if (is_of_argp(name) || (!s.match && !s.nearest))
            return EXIT_OK; /* argp deals with these */
        if (!s.match) {
            fprintf(stderr,
                    "%s: unrecognized option '--%s'; did you mean '--%s'?\n"
                    "Try `%s --help' or `%s --usage' for more information.\n",
                    argv[0], name, s.nearest, argv[0], argv[0]);
            return EXIT_USAGE;
        }
        i += takes_word(s.match) && word[2 + length] != '=';
    }
    return EXIT_OK;
}
