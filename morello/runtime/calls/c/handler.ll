; Made by build.py of the C beside it: change that.

@handle = internal global ptr null, align 8
@data = internal global ptr null, align 8

define void @attach(ptr noundef %own_handle, ptr noundef %own_data) {
entry:
  store ptr %own_handle, ptr @handle, align 8
  store ptr %own_data, ptr @data, align 8
  ret void
}

define ptr @handler(ptr noundef %frame) {
entry:
  %0 = load ptr, ptr @handle, align 8
  %1 = load ptr, ptr @data, align 8
  %call = tail call ptr %0(ptr noundef %1, ptr noundef %frame)
  ret ptr %call
}
