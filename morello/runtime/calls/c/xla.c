/* What XLA calls for a kernel: checks, then the native function. XLA does so without
   the GIL, from any thread, and from several at a time.

   XLA's foreign functions have an interface of C (xla/ffi/api/c_api.h of jaxlib): a
   function takes a call frame, and answers with null or an error, which XLA makes. The
   structures are those of version 0.3, as far as they are read. */

#include "table.h"

void *memcpy(void *to, const void *from, size_t bytes);

enum { MAJOR = 0, MINOR = 3 };
enum { ASKS_FOR_METADATA = 1 };
enum { INVALID_ARGUMENT = 3, RESOURCE_EXHAUSTED = 8 }; /* XLA_FFI_Error_Code */

typedef struct Extension {
  size_t size;
  int type;
  struct Extension *next;
} Extension;

typedef struct {
  size_t size;
  Extension *extension;
  int major, minor;
} Version;

typedef struct {
  size_t size;
  Version version;
  uint32_t traits;
} Metadata;

typedef struct {
  Extension extension;
  Metadata *metadata;
} MetadataExtension;

typedef struct Error Error;

typedef struct {
  size_t size;
  Extension *extension;
  const char *message;
  int code;
} ErrorArguments;

typedef struct {
  size_t size;
  Extension *extension;
  Version version;
  const void *internal;
  Error *(*error)(ErrorArguments *arguments);
} Api;

typedef struct {
  size_t size;
  Extension *extension;
  int dtype;
  void *data;
  word rank;
  const word *sizes;
} XlaBuffer;

typedef struct {
  size_t size;
  Extension *extension;
  word count;
  void *types;
  XlaBuffer **buffers; /* the interface has no other kind */
} XlaBuffers;

typedef struct {
  size_t size;
  Extension *extension;
  const Api *api;
  void *context;
  int stage;
  XlaBuffers arguments, results;
} Frame;

/* An argument or a result of a kernel that XLA calls. */
typedef struct {
  word dtype; /* XLA_FFI_DataType */
  word count;
  const word *shapes;  /* for each its rank and sizes, or ANY_SIZE */
  const char *message; /* where another is given */
  word result, itemsize; /* of a former value: the result that is added to it */
} Handled;

/* A kernel that XLA calls. */
typedef struct {
  Table *table;
  int (*run)(Table *table, word *words); /* of call.c */
  word arguments, results;
  const char *message;   /* where other numbers of them are given */
  const char *sizes;     /* where a call says others */
  const char *no_memory; /* where there is none for the workspace */
  Handled handled[];     /* arguments, then results */
} Handler;

static Error *refuse(const Frame *frame, const char *message, int code) {
  enum { SIZE = offsetof(ErrorArguments, code) + sizeof code };
  ErrorArguments arguments = {SIZE, NULL, message, code};
  return frame->api->error(&arguments);
}

/* Whether XLA asks about the function instead of calling it; it is answered. */
static bool is_question(const Frame *frame) {
  for (Extension *each = frame->extension; each; each = each->next) {
    if (each->type != ASKS_FOR_METADATA) continue;
    Metadata *metadata = ((MetadataExtension *)each)->metadata;
    metadata->version.major = MAJOR;
    metadata->version.minor = MINOR;
    metadata->traits = 0;
    return true;
  }
  return false;
}

/* Whether an array has a shape. The sizes that the call says are stored: 0 before. */
static bool has_shape(const XlaBuffer *buffer, const word *shape, word *said) {
  if (buffer->rank != shape[0]) return false;
  for (word i = 0; i < buffer->rank; i++) {
    word wanted = shape[i + 1];
    if (wanted <= ANY_SIZE) {
      word *own = said + (ANY_SIZE - wanted);
      wanted = *own ? *own : buffer->sizes[i];
      *own = wanted;
    }
    if (buffer->sizes[i] != wanted) return false;
  }
  return true;
}

static bool is_wanted(const XlaBuffer *buffer, const Handled *wanted, word *said) {
  const word *shape = wanted->shapes;
  if (buffer->dtype != wanted->dtype) return false;
  for (word left = wanted->count; left; left--, shape += 1 + shape[0])
    if (has_shape(buffer, shape, said)) return true;
  return false;
}

/* The first of the arguments, or of the results, that is not wanted; else null. */
static const Handled *unwanted(const XlaBuffers *given, const Handled *wanted,
                               word *said) {
  for (word i = 0; i < given->count; i++)
    if (!is_wanted(given->buffers[i], &wanted[i], said)) return &wanted[i];
  return NULL;
}

static word bytes_of(const XlaBuffer *buffer, word itemsize) {
  word bytes = itemsize;
  for (word i = 0; i < buffer->rank; i++) bytes *= buffer->sizes[i];
  return bytes;
}

/* Runs a kernel. Its arguments are the inputs, then the former values of the outputs
   that are added to; its results are the outputs. */
Error *handle(const Handler *handler, Frame *frame) {
  const XlaBuffers *given = &frame->arguments, *results = &frame->results;
  if (is_question(frame)) return NULL;
  if (given->count != handler->arguments || results->count != handler->results)
    return refuse(frame, handler->message, INVALID_ARGUMENT);
  word said[MOST_SIZES] = {0};
  const Handled *wrong = unwanted(given, handler->handled, said);
  if (!wrong) wrong = unwanted(results, handler->handled + given->count, said);
  if (wrong) return refuse(frame, wrong->message, INVALID_ARGUMENT);
  Table *table = handler->table;
  word words[table->arguments], inputs = table->arrays - results->count;
  if (!take_sizes(table, said, words))
    return refuse(frame, handler->sizes, INVALID_ARGUMENT);
  for (word i = 0; i < given->count; i++) {
    void *from = given->buffers[i]->data;
    if (i < inputs) {
      words[i] = (word)from;
      continue;
    }
    const Handled *former = &handler->handled[i];
    void *to = results->buffers[former->result]->data; /* XLA may have put it there */
    if (from != to) memcpy(to, from, bytes_of(given->buffers[i], former->itemsize));
  }
  for (word i = 0; i < results->count; i++)
    words[inputs + i] = (word)results->buffers[i]->data;
  if (handler->run(table, words))
    return refuse(frame, handler->no_memory, RESOURCE_EXHAUSTED);
  return NULL;
}

/* The sizes of the structures that Python fills in. */
const word *sizes(void) {
  static const word bytes[] = {sizeof(Handler), sizeof(Handled)};
  return bytes;
}
