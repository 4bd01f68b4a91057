/* Arrays of other libraries, read as their type says: by DLPack's exchange table, by
   Python's buffer protocol, or by __array_interface__. */

#include "table.h"

static bool is_aligned(const Entry *entry, const void *data) {
  return !((uintptr_t)data & (entry->itemsize - 1));
}

/* Whether a call returned False; errors are dropped. */
static bool is_false(const Process *process, Object *answer) {
  if (!answer) {
    PyErr_Clear();
    return false;
  }
  Py_DecRef(answer);
  return answer == process->falsehood;
}

/* Whether elements are what memory holds, and no gradient is wanted of them. */
static bool is_plain(const Process *process, const Type *type, Object *object) {
  if (!type->gradient) return true;
  if (!is_false(process, PyObject_GetAttr(object, type->gradient)) &&
      !is_false(process, PyObject_Vectorcall(type->is_recording, NULL, 0, NULL)))
    return false;
  Object *sign = PyObject_VectorcallMethod(type->is_negated, &object, 1, NULL);
  return is_false(process, sign);
}

static bool view_of_dlpack(const Process *process, const Type *type, Object *object,
                           const Entry *entry, View *view) {
  Tensor tensor;
  if (type->describe(object, &tensor)) {
    PyErr_Clear();
    return false;
  }
  if (tensor.device != CPU || tensor.dtype != entry->dlpack || !tensor.strides)
    return false;
  view->data = tensor.data + tensor.offset;
  view->rank = tensor.rank;
  view->sizes = tensor.sizes;
  view->strides = tensor.strides;
  view->unit = entry->itemsize;
  return is_aligned(entry, view->data) && is_plain(process, type, object);
}

/* The buffer has an owner afterwards if it is to be released. */
static bool view_of_buffer(Object *object, const Entry *entry, View *view,
                           Buffer *buffer) {
  if (PyObject_GetBuffer(object, buffer, RECORDS_OF_READERS)) {
    buffer->owner = NULL;
    PyErr_Clear();
    return false;
  }
  const char *format = buffer->format;
  if (!format || !buffer->strides) return false;
  if (*format == '=') format++;
  if (!*format || format[1] || (uint8_t)*format != entry->format) return false;
  view->data = buffer->data;
  view->rank = buffer->rank;
  view->sizes = buffer->sizes;
  view->strides = buffer->strides;
  view->unit = 1;
  return is_aligned(entry, view->data);
}

/* The indices of the tuple of names. */
enum { WHOLE, DATA, TYPESTR, SHAPE, STRIDES, MASK, NONE };

static Object *value_of(Object *dict, const Type *type, word name) {
  return PyDict_GetItemWithError(dict, PyTuple_GetItem(type->names, name));
}

/* Reads integers of a tuple; whether there are so many, and nothing else. */
static bool read_words(const Process *process, Object *tuple, word count, word *words) {
  if (PyTuple_Size(tuple) != count) return false;
  for (word i = 0; i < count; i++) {
    Object *number = PyTuple_GetItem(tuple, i);
    if (type_of(process, number) != process->integer) return false;
    words[i] = PyLong_AsLongLong(number);
  }
  return true;
}

static bool read_address(const Process *process, const Type *type, Object *dict,
                         const Entry *entry, bool writes, View *view) {
  Object *pair = value_of(dict, type, DATA);
  if (!pair || PyTuple_Size(pair) != 2) return false;
  if (writes && PyTuple_GetItem(pair, 1) != process->falsehood) return false;
  Object *number = PyTuple_GetItem(pair, 0);
  if (type_of(process, number) != process->integer) return false;
  view->data = PyLong_AsVoidPtr(number);
  return is_aligned(entry, view->data);
}

static bool is_of_type(const Type *type, Object *dict, const Entry *entry) {
  Object *typestr = value_of(dict, type, TYPESTR);
  if (!typestr || PyUnicode_GetLength(typestr) != 3) return false;
  const char *text = PyUnicode_AsUTF8(typestr);
  uint32_t letters;
  if (!text) return false;
  __builtin_memcpy(&letters, text, sizeof letters);
  return letters == entry->typestr;
}

static bool read_interface(const Process *process, const Type *type, Object *dict,
                           const Entry *entry, bool writes, View *view) {
  if (value_of(dict, type, MASK)) return false;
  if (!read_address(process, type, dict, entry, writes, view)) return false;
  if (!is_of_type(type, dict, entry)) return false;
  Object *sizes = value_of(dict, type, SHAPE), *strides = value_of(dict, type, STRIDES);
  view->rank = sizes ? PyTuple_Size(sizes) : -1;
  if (view->rank < 0 || view->rank > MOST_AXES) return false;
  word *size = view->room, *stride = size + MOST_AXES, step = entry->itemsize;
  view->sizes = size;
  view->strides = stride;
  view->unit = 1;
  if (!read_words(process, sizes, view->rank, size)) return false;
  if (strides && strides != PyTuple_GetItem(type->names, NONE))
    return read_words(process, strides, view->rank, stride);
  for (word i = view->rank - 1; i >= 0; i--) {
    stride[i] = step;
    step *= size[i];
  }
  return true;
}

static bool view_of_interface(const Process *process, const Type *type, Object *object,
                              const Entry *entry, bool writes, View *view) {
  Object *dict = PyObject_GetAttr(object, PyTuple_GetItem(type->names, WHOLE));
  bool fits = dict && read_interface(process, type, dict, entry, writes, view);
  PyErr_Clear();
  if (dict) Py_DecRef(dict);
  return fits;
}

bool view_of_other(const Process *process, Object *object, const Entry *entry,
                          bool writes, View *view, Buffer *buffer) {
  Object *kind = type_of(process, object);
  const Type *type = process->type, *end = type + process->types;
  while (type < end && type->type != kind) type++;
  if (type == end || type->may_write < writes) return false;
  if (type->describe) return view_of_dlpack(process, type, object, entry, view);
  if (!type->names) return view_of_buffer(object, entry, view, buffer);
  return view_of_interface(process, type, object, entry, writes, view);
}
