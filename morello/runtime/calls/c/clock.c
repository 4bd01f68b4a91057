/* Code whose time says how fast the core is, and how long calls take. */

#include "python.h"

/* Calls a native function again and again, with more pointers than it may take. */
void repeat(void (*native)(void *, void *, void *, void *, void *, void *), word calls,
            void *a, void *b, void *c, void *d, void *e, void *f) {
  for (word i = 0; i < calls; i++) native(a, b, c, d, e, f);
}

#define TIMES_4(STEP) STEP STEP STEP STEP
#define TIMES_16(STEP) TIMES_4(TIMES_4(STEP))
#define TIMES_64(STEP) TIMES_4(TIMES_16(STEP))

/* Additions and exclusive ors, each of the one before: 128 a trip. */
word chain(word trips, word y, word z) {
  word value = y;
  do {
    TIMES_64(value += y; value ^= z;)
  } while (--trips);
  return value;
}

typedef int Lanes __attribute__((vector_size(32)));

#define EACH(STEP) STEP(0) STEP(1) STEP(2) STEP(3)
#define START(i) word number##i = i; Lanes lanes##i = v; lanes##i[i] = 0;
#define ADD(i) number##i += y; lanes##i += v;
#define XOR(i) number##i ^= z; lanes##i ^= w;

/* Four such chains of numbers and four of vectors, side by side: 32 steps a trip. */
word wide(word trips, word y, word z) {
  Lanes v = (Lanes){0} + (int)y, w = (Lanes){0} + (int)z;
  EACH(START)
  do {
    TIMES_16(EACH(ADD) EACH(XOR))
  } while (--trips);
  Lanes lanes = lanes0 + lanes1 + lanes2 + lanes3;
  return number0 + number1 + number2 + number3 + lanes[3];
}
