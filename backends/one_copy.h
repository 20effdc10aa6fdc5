/* The same bits from one thread as from many.
 *
 * A compiler that knows which function is called makes a copy of it at each call, and two copies
 * may sum a row in other orders.  A loop that is run in two ways, by a plain call or in a parallel
 * region, hides its function from the compiler, so that both ways call the same machine code.
 */
#ifndef WG_BACKENDS_ONE_COPY_H
#define WG_BACKENDS_ONE_COPY_H

/* `function` is a pointer in a variable. */
#define WGI_ONE_COPY(function) __asm__("" : "+r"(function))

#endif
