/* The data that calls read. glue.py has the same structures, and compares their sizes
   when the code is loaded. */

#ifndef MORELLO_TABLE_H
#define MORELLO_TABLE_H

#include "python.h"

enum { SLOTS = 8, TYPES = 16, MOST_ARGUMENTS = 6, MOST_AXES = 4, MOST_SIZES = 2 };
enum { ANY_ROW = -1, GAPLESS = -2 }; /* in place of a stride */
enum { ANY_SIZE = -1 };              /* in place of a size; less by one: of the next */

typedef struct Process Process;
typedef struct Table Table;
typedef struct Entry Entry;

/* The elements of an array. `unit` is the bytes that strides count. */
typedef struct {
  char *data;
  word rank;
  const word *sizes, *strides;
  word unit;
  word room[2 * MOST_AXES]; /* for sizes and strides that are nowhere else */
} View;

/* A type of another library whose arrays are read at a call. */
typedef struct {
  Object *type;
  int (*describe)(Object *array, Tensor *tensor); /* or null */
  word may_write;
  Object *gradient;     /* name of the attribute: a gradient is wanted; or null */
  Object *is_negated;   /* name of the method: elements are to be negated */
  Object *is_recording; /* function: gradients are recorded */
  Object *names;        /* by which its __array_interface__ is read; or null */
} Type;

/* One for a process, in call.c. */
struct Process {
  word sizes[4]; /* of Process, Type, Table, Entry */
  word header;   /* bytes that every object begins with; the last word is its type */
  Object *array, *integer, *falsehood, *none; /* numpy.ndarray, int, False, None */
  Object *out;                                /* the interned string "out" */
  /* view_of_other of foreign.c, where a type is known. */
  bool (*view)(const Process *process, Object *object, const Entry *entry, bool writes,
               View *view, Buffer *buffer);
  /* run_in_team of team.c, where a function has threads. */
  void (*run)(Process *process, Table *table, const word *arguments);
  int (*levels)(void); /* OpenMP's */
  void (*set_levels)(int most);
  word busy; /* threads in native functions that have threads */
  word types;
  Type type[TYPES];
};

/* The limits of a size that a call says. */
typedef struct {
  word least, greatest, step;
} Size;

/* One for each native function. */
struct Table {
  void *native;
  /* For more than MOST_ARGUMENTS: calls the native function. */
  void (*spread)(void *native, const word *arguments);
  word arrays, rows, arguments; /* rows: index of the first distance of rows */
  word workspace_bytes, workspace_alignment;
  word threads, processors;
  word varying; /* sizes that a call says */
  Size sizes[MOST_SIZES];
  void *slots[SLOTS]; /* workspaces that no call uses now */
  Entry *entries[];
};

/* One for each array of a native function. */
struct Entry {
  Object *dtype;
  word flags; /* of NumPy, which must be set */
  word bytes;
  word any_row; /* rows may be any distance apart */
  word row_bytes, other_rows;
  word itemsize;
  word varies; /* a call says some of its sizes, and there are no gaps */
  word dlpack, format, typestr; /* the element type, as each protocol spells it */
  word count;
  word forms[]; /* for each its rank, sizes and strides in bytes */
};

static inline void *at(const void *object, word offset) {
  return (char *)object + offset;
}

static inline Object *type_of(const Process *process, Object *object) {
  return *(Object **)at(object, process->header - sizeof(word));
}

/* Puts the sizes that a call says among its words; false if it may not say them. */
static inline bool take_sizes(const Table *table, const word *said, word *words) {
  for (word i = 0; i < table->varying; i++) {
    const Size *size = &table->sizes[i];
    if (said[i] < size->least || said[i] > size->greatest ||
        (said[i] - size->least) % size->step)
      return false;
    words[table->rows - table->varying + i] = said[i];
  }
  return true;
}

/* Calls the native function. Pointers and words are passed alike, so that only their
   number matters. */
static inline void spread(const Table *table, const word *a) {
  void *f = table->native;
#define WORDS(...) ((void (*)(__VA_ARGS__))f)
  switch (table->arguments) {
  case 1: WORDS(word)(a[0]); return;
  case 2: WORDS(word, word)(a[0], a[1]); return;
  case 3: WORDS(word, word, word)(a[0], a[1], a[2]); return;
  case 4: WORDS(word, word, word, word)(a[0], a[1], a[2], a[3]); return;
  case 5: WORDS(word, word, word, word, word)(a[0], a[1], a[2], a[3], a[4]); return;
  case 6:
    WORDS(word, word, word, word, word, word)(a[0], a[1], a[2], a[3], a[4], a[5]);
    return;
  default: table->spread(f, a);
  }
}

#endif
