/* Python's stable ABI, NumPy's array and DLPack's tensor, as far as calls need them.

   Declared here so that no header of Python is needed, and the LLVM IR is the same
   wherever it is made. */

#ifndef MORELLO_PYTHON_H
#define MORELLO_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int64_t word;
typedef struct Object Object; /* Python's PyObject */

/* Python's Py_buffer, part of the stable ABI since 3.11. */
typedef struct {
  char *data;
  Object *owner;
  word bytes, itemsize;
  int read_only, rank;
  const char *format;
  const word *sizes, *strides, *suboffsets;
  void *internal;
} Buffer;

enum { RECORDS_OF_READERS = 0x1C }; /* PyBUF_RECORDS_RO */

Object *PyTuple_GetItem(Object *tuple, word index);
word PyTuple_Size(Object *tuple);
Object *PyDict_GetItemWithError(Object *dict, Object *key);
word PyLong_AsLongLong(Object *number);
void *PyLong_AsVoidPtr(Object *number);
word PyUnicode_GetLength(Object *text);
const char *PyUnicode_AsUTF8(Object *text);
Object *PyObject_GetAttr(Object *object, Object *name);
Object *PyObject_Vectorcall(Object *function, Object *const *args, word count,
                            Object *names);
Object *PyObject_VectorcallMethod(Object *name, Object *const *args, word count,
                                  Object *names);
int PyObject_GetBuffer(Object *object, Buffer *buffer, int flags);
void PyBuffer_Release(Buffer *buffer);
void Py_IncRef(Object *object);
void Py_DecRef(Object *object);
void PyErr_Clear(void);
Object *PyErr_NoMemory(void);
void *PyEval_SaveThread(void);
void PyEval_RestoreThread(void *state);

/* NumPy's PyArrayObject after Python's header; array_layout.py checks it. */
typedef struct {
  char *data;
  int rank;
  const word *sizes, *strides;
  Object *base, *dtype;
  int flags;
} Array;

/* DLPack's DLTensor. */
typedef struct {
  char *data;
  int32_t device, device_id, rank;
  uint32_t dtype; /* code, bits and lanes */
  const word *sizes, *strides;
  uint64_t offset;
} Tensor;

enum { CPU = 1 };

#endif
