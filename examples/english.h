/* A small English that a program can speak, knowing how probable each sentence is: for examples of
 * language models.  A verb agrees with its subject even if a noun of another number stands between:
 * "the small dogs near a cow see the fox. " */
#ifndef WG_EXAMPLES_ENGLISH_H
#define WG_EXAMPLES_ENGLISH_H

#include <math.h>
#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct speaker {
    uint64_t random; /* the seed at first */
    double nats;     /* -log of the probability of what was said */
    char text[400];
} speaker;

/* A number in [0, n), each as probable as the others. */
static inline int choose(speaker *s, int n)
{
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    s->nats += log(n);
    return (int)((s->random >> 33) % (unsigned)n);
}

static inline void say(speaker *s, const char *words)
{
    size_t n = strlen(s->text);
    snprintf(s->text + n, sizeof s->text - n, "%s", words);
}

/* "the old dogs"; whether it is a plural */
static inline bool say_noun_phrase(speaker *s)
{
    static const char *const article[2][2] = {{"the", "a"}, {"the", "some"}};
    static const char *const adjective[] = {" ", " old ", " small ", " quiet "};
    static const char *const noun[] = {"dog", "cow",  "bird",  "king",
                                       "cat", "frog", "queen", "bear"};
    bool plural = choose(s, 2);
    say(s, article[plural][choose(s, 2)]);
    say(s, adjective[choose(s, 4)]);
    say(s, noun[choose(s, 8)]);
    say(s, plural ? "s" : "");
    return plural;
}

/* At most 90 letters. */
static inline void say_sentence(speaker *s)
{
    static const char *const verb[] = {" see", " hear", " like", " meet"};
    bool plural = say_noun_phrase(s);
    if (choose(s, 2)) {
        say(s, " near ");
        say_noun_phrase(s);
    }
    say(s, verb[choose(s, 4)]);
    say(s, plural ? " " : "s ");
    say_noun_phrase(s);
    say(s, ". ");
}

/* Whether the text begins with a sentence of the language. */
static inline bool begins_with_sentence(const char *text)
{
#define NOUN " (old |small |quiet )?(dog|cow|bird|king|cat|frog|queen|bear)"
#define ONE "(the|a)" NOUN
#define MANY "(the|some)" NOUN "s"
#define NEAR "( near (" ONE "|" MANY "))?"
#define VERB " (see|hear|like|meet)"
    regex_t sentence;
    const char *grammar = "^(" ONE NEAR VERB "s|" MANY NEAR VERB ") (" ONE "|" MANY ")\\. ";
    if (regcomp(&sentence, grammar, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    bool begins = regexec(&sentence, text, 0, NULL, 0) == 0;
    regfree(&sentence);
    return begins;
}

/* Nats a letter: of the language, which no model can go below, and of letters that are drawn one by
 * one with their frequencies. */
static inline void measure_english(double *language, double *letters)
{
    double nats = 0, n = 0, count[128] = {0};
    for (int i = 0; i < 10000; i++) {
        speaker s = {.random = (uint64_t)i};
        say_sentence(&s);
        nats += s.nats;
        n += (double)strlen(s.text);
        for (const char *c = s.text; *c; c++)
            count[(int)*c]++;
    }
    *language = nats / n;
    *letters = 0;
    for (int c = 0; c < 128; c++)
        *letters -= count[c] > 0 ? count[c] / n * log(count[c] / n) : 0;
}

#endif
