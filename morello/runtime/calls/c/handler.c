/* A function that calls another with data of its own: each copy of this code that is
   loaded is one. */

typedef void *Handle(void *data, void *frame);

static Handle *handle;
static void *data;

void attach(Handle *own_handle, void *own_data) {
  handle = own_handle;
  data = own_data;
}

void *handler(void *frame) { return handle(data, frame); }
