/* Calls from Python. The GIL is held while arguments are checked, and released while
   the native function runs. Nothing of an argument is kept after a call. */

#include "table.h"

/* What every call runs, at a cost of nanoseconds. */
#define INLINE static inline __attribute__((always_inline))

static Process process = {
    .sizes = {sizeof(Process), sizeof(Type), sizeof(Table), sizeof(Entry)}};

/* Workspaces: memory that a native function writes, one for each call that runs. */

void *aligned_alloc(size_t alignment, size_t bytes);
void free(void *memory);
int madvise(void *memory, size_t bytes, int advice);

enum { PAGE = 4096, HUGE_PAGES = 14 };

__attribute__((noinline)) static void *new_workspace(const Table *table) {
  void *memory = aligned_alloc(table->workspace_alignment, table->workspace_bytes);
  if (memory && table->workspace_alignment > PAGE)
    madvise(memory, table->workspace_bytes, HUGE_PAGES);
  return memory;
}

/* A workspace that no other call uses; null where there is no memory. */
INLINE void *take(Table *table) {
  for (int i = 0; i < SLOTS; i++) {
    if (!__atomic_load_n(&table->slots[i], __ATOMIC_RELAXED)) continue;
    void *memory = __atomic_exchange_n(&table->slots[i], NULL, __ATOMIC_ACQUIRE);
    if (memory) return memory;
  }
  return new_workspace(table);
}

/* Puts a workspace back for other calls; it is freed where all slots are full. */
INLINE void give(Table *table, void *memory) {
  for (int i = 0; i < SLOTS; i++) {
    void *none = NULL;
    if (__atomic_load_n(&table->slots[i], __ATOMIC_RELAXED)) continue;
    if (__atomic_compare_exchange_n(&table->slots[i], &none, memory, false,
                                    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
      return;
  }
  free(memory);
}

/* Runs the native function on its arrays, then its workspace, then the sizes of the
   call, then distances of rows. The workspace is filled in here. */
INLINE void run_with(Table *table, word *arguments, void *workspace) {
  if (workspace) arguments[table->arrays] = (word)workspace;
  if (table->threads > 1)
    process.run(&process, table, arguments);
  else
    spread(table, arguments);
  if (workspace) give(table, workspace);
}

static char *data_of(Object *array) {
  return ((Array *)at(array, process.header))->data;
}

static bool view_of_numpy(Object *object, const Entry *entry, View *view) {
  const Array *array = at(object, process.header);
  view->data = array->data;
  view->rank = array->rank;
  view->sizes = array->sizes;
  view->strides = array->strides;
  view->unit = 1;
  return array->dtype == entry->dtype && (array->flags & entry->flags) == entry->flags;
}

/* Whether an array has one form: its rank, sizes and strides. The distance of its rows
   is stored where it may be any, and the sizes that the call says: 0 before that.
   `bytes` becomes those of an array without gaps. */
static bool has_form(const View *view, const word *form, word *row, word *said,
                     word *bytes) {
  word rank = form[0];
  const word *sizes = form + 1, *strides = sizes + rank;
  if (view->rank != rank) return false;
  for (word i = rank; i-- > 0;) { /* strides follow from sizes further in */
    word size = view->sizes[i], wanted = sizes[i], stride = view->strides[i] * view->unit;
    if (wanted <= ANY_SIZE) {
      word *own = said + (ANY_SIZE - wanted);
      wanted = *own ? *own : size;
      *own = wanted;
    }
    if (size != wanted) return false;
    if (size > 1) { /* the stride of another says nothing */
      if (strides[i] == ANY_ROW)
        *row = stride;
      else if (stride != (strides[i] == GAPLESS ? *bytes : strides[i]))
        return false;
    }
    *bytes *= size;
  }
  return true;
}

/* Whether an array has one of the forms of a parameter, with rows that do not overlap.
   `row` becomes the bytes from row to row. */
static bool fits(const View *view, const Entry *entry, word *row, word *said,
                 word *bytes) {
  const word *form = entry->forms;
  for (word left = entry->count; left; left--) {
    *row = entry->row_bytes;
    *bytes = entry->itemsize;
    if (has_form(view, form, row, said, bytes))
      return !entry->any_row ||
             (*row >= entry->row_bytes && *row % entry->itemsize == 0);
    form += 1 + 2 * form[0];
  }
  return false;
}

/* A call whose arrays were checked. */
typedef struct {
  Table *table;
  Object *result;
  word words[];
} Bound;

/* What a parameter is given. */
typedef struct {
  char *start, *end;
  Buffer buffer; /* has an owner if it is to be released */
} Argument;

static Table *table_of(Object *self) {
  return (Table *)data_of(PyTuple_GetItem(self, 0));
}

/* Whether an object is what a parameter takes; its memory, and the row's elements. */
static bool check(Object *object, const Entry *entry, bool writes,
                  Argument *argument, word *row, word *said) {
  View view;
  word gapless;
  bool known =
      type_of(&process, object) == process.array
          ? view_of_numpy(object, entry, &view)
          : process.view && process.view(&process, object, entry, writes, &view,
                                         &argument->buffer);
  if (!known || !view.data || !fits(&view, entry, row, said, &gapless)) return false;
  word bytes = entry->any_row  ? entry->other_rows * *row + entry->row_bytes
               : entry->varies ? gapless
                               : entry->bytes;
  argument->start = view.data;
  argument->end = view.data + bytes;
  return true;
}

/* Whether the arguments are one for each array, the output last or by the name out. */
static bool are_all(const Table *table, word count, Object *names) {
  if (!names) return count == table->arrays;
  return count == table->arrays - 1 && PyTuple_Size(names) == 1 &&
         PyTuple_GetItem(names, 0) == process.out;
}

/* Whether all arguments fit, and the output shares no byte with an input. */
static bool check_all(const Table *table, Object *const *args, Argument *arguments,
                      word *words) {
  word last = table->arrays - 1, *rows = words + table->rows;
  word said[MOST_SIZES] = {0};
  for (word i = 0; i <= last; i++) {
    const Entry *entry = table->entries[i];
    word row;
    if (!check(args[i], entry, i == last, &arguments[i], &row, said)) return false;
    words[i] = (word)arguments[i].start;
    if (entry->any_row) *rows++ = row / entry->itemsize;
  }
  if (!take_sizes(table, said, words)) return false;
  const Argument *out = &arguments[last];
  for (const Argument *input = arguments; input < out; input++)
    if (input->start < out->end && out->start < input->end) return false;
  return true;
}

/* Runs the native function without the GIL; a new reference to the result. */
static Object *run_without_lock(Table *table, word *words, Object *result) {
  void *workspace = table->workspace_bytes ? take(table) : NULL;
  if (table->workspace_bytes && !workspace) return PyErr_NoMemory();
  void *state = PyEval_SaveThread();
  run_with(table, words, workspace);
  PyEval_RestoreThread(state);
  Py_IncRef(result);
  return result;
}

/* What Python calls (METH_FASTCALL | METH_KEYWORDS). Arguments that do not fit are for
   the slow way, which allows more and words the refusals. */
Object *call(Object *self, Object *const *args, word count, Object *names) {
  Table *table = table_of(self);
  word arrays = table->arrays;
  if (are_all(table, count, names)) {
    Argument arguments[arrays];
    word words[table->arguments];
    for (word i = 0; i < arrays; i++) arguments[i].buffer.owner = NULL;
    bool fit = check_all(table, args, arguments, words);
    Object *result = fit ? run_without_lock(table, words, args[arrays - 1]) : NULL;
    for (word i = 0; i < arrays; i++)
      if (arguments[i].buffer.owner) PyBuffer_Release(&arguments[i].buffer);
    if (fit) return result;
  }
  return PyObject_Vectorcall(PyTuple_GetItem(self, 1), args, count, names);
}

/* Runs on arrays that were checked before (METH_NOARGS). */
Object *bound(Object *self, Object *nothing) {
  Bound *checked = (Bound *)data_of(PyTuple_GetItem(self, 0));
  Table *table = checked->table;
  if (!table->workspace_bytes)
    return run_without_lock(table, checked->words, checked->result);
  word words[table->arguments]; /* others may be called with a workspace of theirs */
  for (word i = 0; i < table->arguments; i++) words[i] = checked->words[i];
  return run_without_lock(table, words, checked->result);
}

/* Runs on numbers of Python, one for each array, that others have checked
   (METH_FASTCALL). */
Object *call_on_addresses(Object *self, Object *const *args, word count) {
  Table *table = table_of(self);
  word words[table->arguments];
  for (word i = 0; i < table->arrays; i++) words[i] = (word)PyLong_AsVoidPtr(args[i]);
  for (word i = 0; i < table->varying; i++)
    words[table->rows - table->varying + i] =
        (word)PyLong_AsVoidPtr(args[table->arrays + i]);
  return run_without_lock(table, words, process.none);
}

/* For ctypes, without the GIL: 0, or 1 where there is no memory. */
int run(Table *table, word *words) {
  void *workspace = table->workspace_bytes ? take(table) : NULL;
  if (table->workspace_bytes && !workspace) return 1;
  run_with(table, words, workspace);
  return 0;
}

/* The data of the process, for Python to fill in. */
Process *the_process(void) { return &process; }
