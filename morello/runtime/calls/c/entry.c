/* The checks before a kernel that is linked into C programs. They are compiled with
   each kernel, whose arrays are constants there. */

#include "python.h"

/* The memory that an array, or the workspace, covers. */
typedef struct {
  word bytes;     /* gaps included; where rows may be any distance apart: of a row */
  word alignment; /* a power of 2 */
  word row;       /* bytes of a row; 0 where rows have no gaps */
  word apart;     /* bytes from row to row; 0 where a call says it */
  word itemsize, other_rows;
  word is_written;
} Memory;

/* Bytes that no process can address. */
#define TOO_MANY ((word)1 << 56)

enum { OK, SHORT_ROW = 6, NULL_POINTER = 2, MISALIGNED = 3, OVERLAP = 4 };

/* Whether rows share bytes of arrays that cover each other: they may lie in each
   other's gaps where both are equally far apart. */
static bool rows_meet(const Memory *one, const Memory *other, word apart,
                      word other_apart, word distance) {
  if (!one->row || !other->row || apart != other_apart) return true;
  word offset = distance % apart;
  if (offset < 0) offset += apart;
  return offset < one->row || offset + other->row > apart;
}

/* 0, or the status that the checked function returns; `rows` are the elements from row
   to row of each array of which a call says them. */
int check_entry(const Memory *memories, word count, char *const *starts,
                const word *rows) {
  word apart[count], bytes[count];
  for (word i = 0; i < count; i++) {
    if (!starts[i]) return NULL_POINTER;
    if ((uintptr_t)starts[i] & (memories[i].alignment - 1)) return MISALIGNED;
  }
  for (word i = 0; i < count; i++) {
    const Memory *memory = &memories[i];
    apart[i] = memory->apart;
    bytes[i] = memory->bytes;
    if (!memory->row || memory->apart) continue;
    word row = *rows++, size = memory->itemsize;
    word most = TOO_MANY / size / (memory->other_rows + 1);
    if (row < memory->row / size || row > most) return SHORT_ROW;
    apart[i] = row * size;
    bytes[i] = apart[i] * memory->other_rows + memory->row;
  }
  for (word i = 0; i < count; i++)
    for (word j = 0; memories[i].is_written && j < i; j++)
      if (starts[i] < starts[j] + bytes[j] && starts[j] < starts[i] + bytes[i] &&
          rows_meet(&memories[i], &memories[j], apart[i], apart[j],
                    starts[j] - starts[i]))
        return OVERLAP;
  return OK;
}
