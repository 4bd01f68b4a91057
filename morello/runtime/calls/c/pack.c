/* Weights into the layout of a kernel that is linked into C programs. A program calls it
   once for each operand that has a layout of its own, when it loads its weights. */

#include "python.h"

/* A logical dimension. */
typedef struct {
  word size;
  word stride; /* elements from one index to the next where the weights are row-major */
} Dim;

/* A loop over a physical dimension; the outermost comes first. */
typedef struct {
  word extent, stride; /* the latter of the packed array */
  word dim, step;      /* how far a trip goes along a logical dimension */
  word half;           /* even elements come first, so many; 0 for the plain order */
} Loop;

#define INLINE static inline __attribute__((always_inline))

INLINE word index_of(const Loop *loop, word trip) {
  if (!loop->half) return trip * loop->step;
  return (trip < loop->half ? 2 * trip : 2 * (trip - loop->half) + 1) * loop->step;
}

/* One run of the innermost loop over elements that are so many bytes: those of the
   weights from an index along a dimension on, or zeros where there are none. */
INLINE void run(const Loop *loop, const char *from, char *to, word left, word stride,
                word bytes) {
  for (word trip = 0; trip < loop->extent; trip++) {
    word index = index_of(loop, trip);
    char *place = to + trip * loop->stride * bytes;
    if (index < left)
      __builtin_memcpy(place, from + index * stride * bytes, bytes);
    else
      __builtin_memset(place, 0, bytes);
  }
}

/* Every element of the packed array is written once. `strides` are the elements from one
   index to the next along each logical dimension, or null where the weights are
   row-major. */
void pack(const Dim *dims, word rank, const Loop *loops, word count, word bytes,
          const char *from, const word *strides, char *to) {
  word trips[count], at[rank];
  for (word i = 0; i < count; i++) trips[i] = 0;
  const Loop *inner = &loops[count - 1];
  for (word next = 0; next >= 0;) {
    word place = 0, start = 0, along = inner->dim;
    for (word i = 0; i < rank; i++) at[i] = 0;
    for (word i = 0; i < count - 1; i++) {
      place += trips[i] * loops[i].stride;
      at[loops[i].dim] += index_of(&loops[i], trips[i]);
    }
    word left = dims[along].size - at[along];
    for (word i = 0; i < rank; i++) {
      start += at[i] * (strides ? strides[i] : dims[i].stride);
      if (at[i] >= dims[i].size) left = 0;
    }
    const char *source = from + start * bytes;
    char *target = to + place * bytes;
    word stride = strides ? strides[along] : dims[along].stride;
    switch (bytes) {
      case 1: run(inner, source, target, left, stride, 1); break;
      case 2: run(inner, source, target, left, stride, 2); break;
      case 4: run(inner, source, target, left, stride, 4); break;
      default: run(inner, source, target, left, stride, 8);
    }
    next = count - 2;
    while (next >= 0 && ++trips[next] == loops[next].extent) trips[next--] = 0;
  }
}
