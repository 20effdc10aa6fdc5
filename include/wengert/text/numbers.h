/* The built-in corpus: English number phrases and their German translations, 0 to 999,999.  In
 * German the units come before the tens: "three hundred forty-two" is
 * "dreihundertzweiundvierzig". */
#ifndef WG_TEXT_NUMBERS_H
#define WG_TEXT_NUMBERS_H

#include "wengert/graph/shape.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WG_NUMBERS = 1000000,         /**< how many there are */
    WG_NUMBERS_HELD_OUT = 100032, /**< how many of them are held out */
    WG_NUMBER_TEXT = 160          /**< bytes that any phrase fits in */
};

/** The phrase for number in [0, WG_NUMBERS), into `text` of WG_NUMBER_TEXT bytes. */
WG_API void wg_number_english(int32_t number, char *text);
/** The same in German, one word. */
WG_API void wg_number_german(int32_t number, char *text);

/** `count` lines a side of distinct numbers drawn by seed, as many of each count of digits as long
 * as there are any.  `held_out` draws from WG_NUMBERS_HELD_OUT numbers, about one in ten from 100 on,
 * that the other setting never draws, whatever the seeds.  The texts are the caller's to free.
 * WG_EINVAL: there are not so many; WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_numbers_corpus(size_t count, bool held_out, uint64_t seed,
                                               char **english, char **german);

#ifdef __cplusplus
}
#endif
#endif
