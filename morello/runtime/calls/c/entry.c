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
  word powers[2]; /* how often `bytes` is multiplied by each size that a call says */
} Memory;

/* The sizes that a call may say. */
typedef struct {
  word least, step, greatest;
} Range;

/* Bytes that no process can address. */
#define TOO_MANY ((word)1 << 56)

enum { OK, UNSUPPORTED, NULL_POINTER, MISALIGNED, OVERLAP, SHORT_ROW = 6, SIZE };

/* Whether rows share bytes of arrays that cover each other: they may lie in each
   other's gaps where both are equally far apart. */
static bool rows_meet(const Memory *one, const Memory *other, word apart,
                      word other_apart, word distance) {
  if (!one->row || !other->row || apart != other_apart) return true;
  word offset = distance % apart;
  if (offset < 0) offset += apart;
  return offset < one->row || offset + other->row > apart;
}

/* 0, or the status that the checked function returns; `numbers` are a size for each
   range, then the elements from row to row of each array of which a call says them. */
int check_entry(int (*supported)(void), const Memory *memories, word count,
                char *const *starts, const Range *ranges, word range_count,
                const word *numbers) {
  word apart[count], bytes[count];
  const word *rows = numbers + range_count;
  if (!supported()) return UNSUPPORTED;
  for (word n = 0; n < range_count; n++) {
    const Range *range = &ranges[n];
    if (numbers[n] < range->least || numbers[n] > range->greatest) return SIZE;
    if ((numbers[n] - range->least) % range->step) return SIZE;
  }
  for (word i = 0; i < count; i++) {
    if (!starts[i]) return NULL_POINTER;
    if ((uintptr_t)starts[i] & (memories[i].alignment - 1)) return MISALIGNED;
  }
  for (word i = 0; i < count; i++) {
    const Memory *memory = &memories[i];
    apart[i] = memory->apart;
    bytes[i] = memory->bytes;
    for (word n = 0; n < range_count; n++)
      for (word times = 0; times < memory->powers[n]; times++) bytes[i] *= numbers[n];
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
