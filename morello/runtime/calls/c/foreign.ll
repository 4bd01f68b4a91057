; Made by build.py of the C beside it: change that.

%struct.Tensor = type { ptr, i32, i32, i32, i32, ptr, ptr, i64 }

define zeroext i1 @view_of_other(ptr noundef readonly captures(address) %process, ptr noundef %object, ptr noundef readonly captures(none) %entry1, i1 noundef zeroext %writes, ptr noundef %view, ptr noundef %buffer) {
entry:
  %object.addr.i.i = alloca ptr, align 8
  %tensor.i = alloca %struct.Tensor, align 8
  %header.i = getelementptr inbounds nuw i8, ptr %process, i64 32
  %0 = load i64, ptr %header.i, align 8
  %1 = getelementptr i8, ptr %object, i64 %0
  %add.ptr.i.i = getelementptr i8, ptr %1, i64 -8
  %2 = load ptr, ptr %add.ptr.i.i, align 8
  %type2 = getelementptr inbounds nuw i8, ptr %process, i64 128
  %types = getelementptr inbounds nuw i8, ptr %process, i64 120
  %3 = load i64, ptr %types, align 8
  %add.ptr.idx = mul nsw i64 %3, 56
  %add.ptr = getelementptr inbounds i8, ptr %type2, i64 %add.ptr.idx
  %cmp64 = icmp sgt i64 %3, 0
  br i1 %cmp64, label %land.rhs, label %while.end

land.rhs:
  %type.065 = phi ptr [ %incdec.ptr, %while.body ], [ %type2, %entry ]
  %4 = load ptr, ptr %type.065, align 8
  %cmp4.not = icmp eq ptr %4, %2
  br i1 %cmp4.not, label %while.end, label %while.body

while.body:
  %incdec.ptr = getelementptr inbounds nuw i8, ptr %type.065, i64 56
  %cmp = icmp ult ptr %incdec.ptr, %add.ptr
  br i1 %cmp, label %land.rhs, label %while.end

while.end:
  %type.0.lcssa = phi ptr [ %type2, %entry ], [ %incdec.ptr, %while.body ], [ %type.065, %land.rhs ]
  %cmp5 = icmp eq ptr %type.0.lcssa, %add.ptr
  br i1 %cmp5, label %cleanup, label %lor.lhs.false

lor.lhs.false:
  %may_write = getelementptr inbounds nuw i8, ptr %type.0.lcssa, i64 16
  %5 = load i64, ptr %may_write, align 8
  %conv = zext i1 %writes to i64
  %cmp6 = icmp slt i64 %5, %conv
  br i1 %cmp6, label %cleanup, label %if.end

if.end:
  %describe = getelementptr inbounds nuw i8, ptr %type.0.lcssa, i64 8
  %6 = load ptr, ptr %describe, align 8
  %tobool.not = icmp eq ptr %6, null
  br i1 %tobool.not, label %if.end10, label %if.then8

if.then8:
  call void @llvm.lifetime.start.p0(ptr nonnull %tensor.i)
  %call.i = call i32 %6(ptr noundef %object, ptr noundef nonnull %tensor.i)
  %tobool.not.i = icmp eq i32 %call.i, 0
  br i1 %tobool.not.i, label %if.end.i, label %if.then.i

if.then.i:
  call void @PyErr_Clear()
  br label %view_of_dlpack.exit

if.end.i:
  %device.i = getelementptr inbounds nuw i8, ptr %tensor.i, i64 8
  %7 = load i32, ptr %device.i, align 8
  %cmp.not.i = icmp eq i32 %7, 1
  br i1 %cmp.not.i, label %lor.lhs.false.i, label %view_of_dlpack.exit

lor.lhs.false.i:
  %dtype.i = getelementptr inbounds nuw i8, ptr %tensor.i, i64 20
  %8 = load i32, ptr %dtype.i, align 4
  %conv.i = zext i32 %8 to i64
  %dlpack.i = getelementptr inbounds nuw i8, ptr %entry1, i64 64
  %9 = load i64, ptr %dlpack.i, align 8
  %cmp2.i = icmp eq i64 %9, %conv.i
  %strides.i = getelementptr inbounds nuw i8, ptr %tensor.i, i64 32
  %10 = load ptr, ptr %strides.i, align 8
  %tobool5.i = icmp ne ptr %10, null
  %or.cond.i = select i1 %cmp2.i, i1 %tobool5.i, i1 false
  br i1 %or.cond.i, label %if.end7.i, label %view_of_dlpack.exit

if.end7.i:
  %11 = load ptr, ptr %tensor.i, align 8
  %offset.i = getelementptr inbounds nuw i8, ptr %tensor.i, i64 40
  %12 = load i64, ptr %offset.i, align 8
  %add.ptr.i = getelementptr inbounds nuw i8, ptr %11, i64 %12
  store ptr %add.ptr.i, ptr %view, align 8
  %rank.i = getelementptr inbounds nuw i8, ptr %tensor.i, i64 16
  %13 = load i32, ptr %rank.i, align 8
  %conv9.i = sext i32 %13 to i64
  %rank10.i = getelementptr inbounds nuw i8, ptr %view, i64 8
  store i64 %conv9.i, ptr %rank10.i, align 8
  %sizes.i = getelementptr inbounds nuw i8, ptr %tensor.i, i64 24
  %14 = load ptr, ptr %sizes.i, align 8
  %sizes11.i = getelementptr inbounds nuw i8, ptr %view, i64 16
  store ptr %14, ptr %sizes11.i, align 8
  %strides13.i = getelementptr inbounds nuw i8, ptr %view, i64 24
  store ptr %10, ptr %strides13.i, align 8
  %itemsize.i = getelementptr inbounds nuw i8, ptr %entry1, i64 48
  %15 = load i64, ptr %itemsize.i, align 8
  %unit.i = getelementptr inbounds nuw i8, ptr %view, i64 32
  store i64 %15, ptr %unit.i, align 8
  %16 = ptrtoint ptr %add.ptr.i to i64
  %sub.i.i = add i64 %15, -1
  %and.i.i = and i64 %sub.i.i, %16
  %tobool.not.i.i = icmp eq i64 %and.i.i, 0
  br i1 %tobool.not.i.i, label %land.rhs.i, label %view_of_dlpack.exit

land.rhs.i:
  call void @llvm.lifetime.start.p0(ptr nonnull %object.addr.i.i)
  store ptr %object, ptr %object.addr.i.i, align 8
  %gradient.i.i = getelementptr inbounds nuw i8, ptr %type.0.lcssa, i64 24
  %17 = load ptr, ptr %gradient.i.i, align 8
  %tobool.not.i28.i = icmp eq ptr %17, null
  br i1 %tobool.not.i28.i, label %is_plain.exit.i, label %if.end.i.i

if.end.i.i:
  %call.i.i = call ptr @PyObject_GetAttr(ptr noundef %object, ptr noundef nonnull %17)
  %tobool.not.i.i.i = icmp eq ptr %call.i.i, null
  br i1 %tobool.not.i.i.i, label %is_false.exit.thread.i.i, label %is_false.exit.i.i

is_false.exit.thread.i.i:
  call void @PyErr_Clear()
  br label %land.lhs.true.i.i

is_false.exit.i.i:
  call void @Py_DecRef(ptr noundef nonnull %call.i.i)
  %falsehood.i.i.i = getelementptr inbounds nuw i8, ptr %process, i64 56
  %18 = load ptr, ptr %falsehood.i.i.i, align 8
  %cmp.i.i.i = icmp eq ptr %call.i.i, %18
  br i1 %cmp.i.i.i, label %if.end6.i.i, label %land.lhs.true.i.i

land.lhs.true.i.i:
  %is_recording.i.i = getelementptr inbounds nuw i8, ptr %type.0.lcssa, i64 40
  %19 = load ptr, ptr %is_recording.i.i, align 8
  %call3.i.i = call ptr @PyObject_Vectorcall(ptr noundef %19, ptr noundef null, i64 noundef 0, ptr noundef null)
  %tobool.not.i14.i.i = icmp eq ptr %call3.i.i, null
  br i1 %tobool.not.i14.i.i, label %is_false.exit20.thread.i.i, label %is_false.exit20.i.i

is_false.exit20.thread.i.i:
  call void @PyErr_Clear()
  br label %is_plain.exit.i

is_false.exit20.i.i:
  call void @Py_DecRef(ptr noundef nonnull %call3.i.i)
  %falsehood.i16.i.i = getelementptr inbounds nuw i8, ptr %process, i64 56
  %20 = load ptr, ptr %falsehood.i16.i.i, align 8
  %cmp.i17.i.i = icmp eq ptr %call3.i.i, %20
  br i1 %cmp.i17.i.i, label %if.end6.i.i, label %is_plain.exit.i

if.end6.i.i:
  %is_negated.i.i = getelementptr inbounds nuw i8, ptr %type.0.lcssa, i64 32
  %21 = load ptr, ptr %is_negated.i.i, align 8
  %call7.i.i = call ptr @PyObject_VectorcallMethod(ptr noundef %21, ptr noundef nonnull %object.addr.i.i, i64 noundef 1, ptr noundef null)
  %tobool.not.i21.i.i = icmp eq ptr %call7.i.i, null
  br i1 %tobool.not.i21.i.i, label %if.then.i26.i.i, label %if.end.i22.i.i

if.then.i26.i.i:
  call void @PyErr_Clear()
  br label %is_plain.exit.i

if.end.i22.i.i:
  call void @Py_DecRef(ptr noundef nonnull %call7.i.i)
  %falsehood.i23.i.i = getelementptr inbounds nuw i8, ptr %process, i64 56
  %22 = load ptr, ptr %falsehood.i23.i.i, align 8
  %cmp.i24.i.i = icmp eq ptr %call7.i.i, %22
  br label %is_plain.exit.i

is_plain.exit.i:
  %retval.0.i.i = phi i1 [ false, %is_false.exit20.thread.i.i ], [ true, %land.rhs.i ], [ false, %is_false.exit20.i.i ], [ %cmp.i24.i.i, %if.end.i22.i.i ], [ false, %if.then.i26.i.i ]
  call void @llvm.lifetime.end.p0(ptr nonnull %object.addr.i.i)
  br label %view_of_dlpack.exit

view_of_dlpack.exit:
  %retval.0.i = phi i1 [ false, %if.then.i ], [ false, %if.end.i ], [ false, %lor.lhs.false.i ], [ false, %if.end7.i ], [ %retval.0.i.i, %is_plain.exit.i ]
  call void @llvm.lifetime.end.p0(ptr nonnull %tensor.i)
  br label %cleanup

if.end10:
  %names = getelementptr inbounds nuw i8, ptr %type.0.lcssa, i64 48
  %23 = load ptr, ptr %names, align 8
  %tobool11.not = icmp eq ptr %23, null
  br i1 %tobool11.not, label %if.then12, label %if.end14

if.then12:
  %call.i41 = tail call i32 @PyObject_GetBuffer(ptr noundef %object, ptr noundef %buffer, i32 noundef 28)
  %tobool.not.i42 = icmp eq i32 %call.i41, 0
  br i1 %tobool.not.i42, label %if.end.i44, label %if.then.i43

if.then.i43:
  %owner.i = getelementptr inbounds nuw i8, ptr %buffer, i64 8
  store ptr null, ptr %owner.i, align 8
  tail call void @PyErr_Clear()
  br label %cleanup

if.end.i44:
  %format2.i = getelementptr inbounds nuw i8, ptr %buffer, i64 40
  %24 = load ptr, ptr %format2.i, align 8
  %tobool3.not.i = icmp eq ptr %24, null
  br i1 %tobool3.not.i, label %cleanup, label %lor.lhs.false.i45

lor.lhs.false.i45:
  %strides.i46 = getelementptr inbounds nuw i8, ptr %buffer, i64 56
  %25 = load ptr, ptr %strides.i46, align 8
  %tobool4.not.i = icmp eq ptr %25, null
  br i1 %tobool4.not.i, label %cleanup, label %if.end6.i

if.end6.i:
  %26 = load i8, ptr %24, align 1
  %cmp.i = icmp eq i8 %26, 61
  %spec.select.idx.i = zext i1 %cmp.i to i64
  %spec.select.i = getelementptr inbounds nuw i8, ptr %24, i64 %spec.select.idx.i
  %27 = load i8, ptr %spec.select.i, align 1
  %tobool10.not.i = icmp eq i8 %27, 0
  br i1 %tobool10.not.i, label %cleanup, label %lor.lhs.false11.i

lor.lhs.false11.i:
  %arrayidx.i = getelementptr inbounds nuw i8, ptr %spec.select.i, i64 1
  %28 = load i8, ptr %arrayidx.i, align 1
  %tobool13.not.i = icmp eq i8 %28, 0
  br i1 %tobool13.not.i, label %lor.lhs.false14.i, label %cleanup

lor.lhs.false14.i:
  %conv15.i = zext i8 %27 to i64
  %format16.i = getelementptr inbounds nuw i8, ptr %entry1, i64 72
  %29 = load i64, ptr %format16.i, align 8
  %cmp17.not.i = icmp eq i64 %29, %conv15.i
  br i1 %cmp17.not.i, label %if.end20.i, label %cleanup

if.end20.i:
  %30 = load ptr, ptr %buffer, align 8
  store ptr %30, ptr %view, align 8
  %rank.i47 = getelementptr inbounds nuw i8, ptr %buffer, i64 36
  %31 = load i32, ptr %rank.i47, align 4
  %conv22.i = sext i32 %31 to i64
  %rank23.i = getelementptr inbounds nuw i8, ptr %view, i64 8
  store i64 %conv22.i, ptr %rank23.i, align 8
  %sizes.i48 = getelementptr inbounds nuw i8, ptr %buffer, i64 48
  %32 = load ptr, ptr %sizes.i48, align 8
  %sizes24.i = getelementptr inbounds nuw i8, ptr %view, i64 16
  store ptr %32, ptr %sizes24.i, align 8
  %33 = load ptr, ptr %strides.i46, align 8
  %strides26.i = getelementptr inbounds nuw i8, ptr %view, i64 24
  store ptr %33, ptr %strides26.i, align 8
  %unit.i49 = getelementptr inbounds nuw i8, ptr %view, i64 32
  store i64 1, ptr %unit.i49, align 8
  %34 = ptrtoint ptr %30 to i64
  %itemsize.i.i = getelementptr inbounds nuw i8, ptr %entry1, i64 48
  %35 = load i64, ptr %itemsize.i.i, align 8
  %sub.i.i50 = add i64 %35, -1
  %and.i.i51 = and i64 %sub.i.i50, %34
  %tobool.not.i.i52 = icmp eq i64 %and.i.i51, 0
  br label %cleanup

if.end14:
  %call.i53 = tail call ptr @PyTuple_GetItem(ptr noundef nonnull %23, i64 noundef 0)
  %call2.i = tail call ptr @PyObject_GetAttr(ptr noundef %object, ptr noundef %call.i53)
  %tobool.not.i54 = icmp eq ptr %call2.i, null
  br i1 %tobool.not.i54, label %land.end.i, label %land.rhs.i55

land.rhs.i55:
  %36 = load ptr, ptr %names, align 8
  %call.i.i.i = tail call ptr @PyTuple_GetItem(ptr noundef %36, i64 noundef 5)
  %call1.i.i.i = tail call ptr @PyDict_GetItemWithError(ptr noundef nonnull %call2.i, ptr noundef %call.i.i.i)
  %tobool.not.i.i56 = icmp eq ptr %call1.i.i.i, null
  br i1 %tobool.not.i.i56, label %if.end.i.i59, label %if.then.i57

if.end.i.i59:
  %37 = load ptr, ptr %names, align 8
  %call.i.i.i.i = tail call ptr @PyTuple_GetItem(ptr noundef %37, i64 noundef 1)
  %call1.i.i.i.i = tail call ptr @PyDict_GetItemWithError(ptr noundef nonnull %call2.i, ptr noundef %call.i.i.i.i)
  %tobool.not.i.i.i60 = icmp eq ptr %call1.i.i.i.i, null
  br i1 %tobool.not.i.i.i60, label %if.then.i57, label %lor.lhs.false.i.i.i

lor.lhs.false.i.i.i:
  %call2.i.i.i = tail call i64 @PyTuple_Size(ptr noundef nonnull %call1.i.i.i.i)
  %cmp.not.i.i.i = icmp eq i64 %call2.i.i.i, 2
  br i1 %cmp.not.i.i.i, label %if.end.i.i.i, label %if.then.i57

if.end.i.i.i:
  br i1 %writes, label %land.lhs.true.i.i.i, label %if.end6.i.i.i

land.lhs.true.i.i.i:
  %call3.i.i.i = tail call ptr @PyTuple_GetItem(ptr noundef nonnull %call1.i.i.i.i, i64 noundef 1)
  %falsehood.i.i.i63 = getelementptr inbounds nuw i8, ptr %process, i64 56
  %38 = load ptr, ptr %falsehood.i.i.i63, align 8
  %cmp4.not.i.i.i = icmp eq ptr %call3.i.i.i, %38
  br i1 %cmp4.not.i.i.i, label %if.end6.i.i.i, label %if.then.i57

if.end6.i.i.i:
  %call7.i.i.i = tail call ptr @PyTuple_GetItem(ptr noundef nonnull %call1.i.i.i.i, i64 noundef 0)
  %39 = load i64, ptr %header.i, align 8
  %40 = getelementptr i8, ptr %call7.i.i.i, i64 %39
  %add.ptr.i.i.i.i.i = getelementptr i8, ptr %40, i64 -8
  %41 = load ptr, ptr %add.ptr.i.i.i.i.i, align 8
  %integer.i.i.i = getelementptr inbounds nuw i8, ptr %process, i64 48
  %42 = load ptr, ptr %integer.i.i.i, align 8
  %cmp9.not.i.i.i = icmp eq ptr %41, %42
  br i1 %cmp9.not.i.i.i, label %read_address.exit.i.i, label %if.then.i57

read_address.exit.i.i:
  %call12.i.i.i = tail call ptr @PyLong_AsVoidPtr(ptr noundef nonnull %call7.i.i.i)
  store ptr %call12.i.i.i, ptr %view, align 8
  %43 = ptrtoint ptr %call12.i.i.i to i64
  %itemsize.i.i.i.i = getelementptr inbounds nuw i8, ptr %entry1, i64 48
  %44 = load i64, ptr %itemsize.i.i.i.i, align 8
  %sub.i.i.i.i = add i64 %44, -1
  %and.i.i.i.i = and i64 %sub.i.i.i.i, %43
  %tobool.not.i.i.i.i = icmp eq i64 %and.i.i.i.i, 0
  br i1 %tobool.not.i.i.i.i, label %if.end4.i.i, label %if.then.i57

if.end4.i.i:
  %45 = load ptr, ptr %names, align 8
  %call.i.i74.i.i = tail call ptr @PyTuple_GetItem(ptr noundef %45, i64 noundef 2)
  %call1.i.i75.i.i = tail call ptr @PyDict_GetItemWithError(ptr noundef nonnull %call2.i, ptr noundef %call.i.i74.i.i)
  %tobool.not.i76.i.i = icmp eq ptr %call1.i.i75.i.i, null
  br i1 %tobool.not.i76.i.i, label %if.then.i57, label %lor.lhs.false.i77.i.i

lor.lhs.false.i77.i.i:
  %call2.i78.i.i = tail call i64 @PyUnicode_GetLength(ptr noundef nonnull %call1.i.i75.i.i)
  %cmp.not.i79.i.i = icmp eq i64 %call2.i78.i.i, 3
  br i1 %cmp.not.i79.i.i, label %if.end.i81.i.i, label %if.then.i57

if.end.i81.i.i:
  %call3.i82.i.i = tail call ptr @PyUnicode_AsUTF8(ptr noundef nonnull %call1.i.i75.i.i)
  %tobool4.not.i.i.i = icmp eq ptr %call3.i82.i.i, null
  br i1 %tobool4.not.i.i.i, label %if.then.i57, label %is_of_type.exit.i.i

is_of_type.exit.i.i:
  %letters.0.copyload.i.i.i = load i32, ptr %call3.i82.i.i, align 1
  %conv.i.i.i = zext i32 %letters.0.copyload.i.i.i to i64
  %typestr7.i.i.i = getelementptr inbounds nuw i8, ptr %entry1, i64 80
  %46 = load i64, ptr %typestr7.i.i.i, align 8
  %cmp8.i.i.i = icmp eq i64 %46, %conv.i.i.i
  br i1 %cmp8.i.i.i, label %if.end7.i.i, label %if.then.i57

if.end7.i.i:
  %47 = load ptr, ptr %names, align 8
  %call.i85.i.i = tail call ptr @PyTuple_GetItem(ptr noundef %47, i64 noundef 3)
  %call1.i86.i.i = tail call ptr @PyDict_GetItemWithError(ptr noundef nonnull %call2.i, ptr noundef %call.i85.i.i)
  %48 = load ptr, ptr %names, align 8
  %call.i88.i.i = tail call ptr @PyTuple_GetItem(ptr noundef %48, i64 noundef 4)
  %call1.i89.i.i = tail call ptr @PyDict_GetItemWithError(ptr noundef nonnull %call2.i, ptr noundef %call.i88.i.i)
  %tobool10.not.i.i = icmp eq ptr %call1.i86.i.i, null
  br i1 %tobool10.not.i.i, label %cond.end.thread.i.i, label %cond.end.i.i

cond.end.thread.i.i:
  %rank93.i.i = getelementptr inbounds nuw i8, ptr %view, i64 8
  store i64 -1, ptr %rank93.i.i, align 8
  br label %if.then.i57

cond.end.i.i:
  %call11.i.i = tail call i64 @PyTuple_Size(ptr noundef nonnull %call1.i86.i.i)
  %rank.i.i = getelementptr inbounds nuw i8, ptr %view, i64 8
  store i64 %call11.i.i, ptr %rank.i.i, align 8
  %or.cond.i.i = icmp ugt i64 %call11.i.i, 4
  br i1 %or.cond.i.i, label %if.then.i57, label %if.end16.i.i

if.end16.i.i:
  %room.i.i = getelementptr inbounds nuw i8, ptr %view, i64 40
  %add.ptr.i.i61 = getelementptr inbounds nuw i8, ptr %view, i64 72
  %49 = load i64, ptr %itemsize.i.i.i.i, align 8
  %sizes17.i.i = getelementptr inbounds nuw i8, ptr %view, i64 16
  store ptr %room.i.i, ptr %sizes17.i.i, align 8
  %strides18.i.i = getelementptr inbounds nuw i8, ptr %view, i64 24
  store ptr %add.ptr.i.i61, ptr %strides18.i.i, align 8
  %unit.i.i = getelementptr inbounds nuw i8, ptr %view, i64 32
  store i64 1, ptr %unit.i.i, align 8
  %call20.i.i = tail call fastcc zeroext i1 @read_words(ptr noundef nonnull readonly %process, ptr noundef nonnull %call1.i86.i.i, i64 noundef %call11.i.i, ptr noundef nonnull %room.i.i)
  br i1 %call20.i.i, label %if.end22.i.i, label %if.then.i57

if.end22.i.i:
  %tobool23.not.i.i = icmp eq ptr %call1.i89.i.i, null
  br i1 %tobool23.not.i.i, label %if.end29.i.i, label %land.lhs.true.i.i62

land.lhs.true.i.i62:
  %50 = load ptr, ptr %names, align 8
  %call24.i.i = tail call ptr @PyTuple_GetItem(ptr noundef %50, i64 noundef 6)
  %cmp25.not.i.i = icmp eq ptr %call1.i89.i.i, %call24.i.i
  br i1 %cmp25.not.i.i, label %if.end29.i.i, label %if.then26.i.i

if.then26.i.i:
  %51 = load i64, ptr %rank.i.i, align 8
  %call28.i.i = tail call fastcc zeroext i1 @read_words(ptr noundef nonnull readonly %process, ptr noundef nonnull %call1.i89.i.i, i64 noundef %51, ptr noundef nonnull %add.ptr.i.i61)
  br label %if.then.i57

if.end29.i.i:
  %52 = load i64, ptr %rank.i.i, align 8
  %i.097.i.i = add i64 %52, -1
  %cmp3198.i.i = icmp sgt i64 %i.097.i.i, -1
  br i1 %cmp3198.i.i, label %for.body.i.i, label %if.then.i57

for.body.i.i:
  %i.0100.i.i = phi i64 [ %i.0.i.i, %for.body.i.i ], [ %i.097.i.i, %if.end29.i.i ]
  %step.099.i.i = phi i64 [ %mul.i.i, %for.body.i.i ], [ %49, %if.end29.i.i ]
  %arrayidx.i.i = getelementptr inbounds nuw i64, ptr %add.ptr.i.i61, i64 %i.0100.i.i
  store i64 %step.099.i.i, ptr %arrayidx.i.i, align 8
  %arrayidx32.i.i = getelementptr inbounds nuw i64, ptr %room.i.i, i64 %i.0100.i.i
  %53 = load i64, ptr %arrayidx32.i.i, align 8
  %mul.i.i = mul i64 %53, %step.099.i.i
  %i.0.i.i = add nsw i64 %i.0100.i.i, -1
  %cmp31.not.i.i = icmp eq i64 %i.0100.i.i, 0
  br i1 %cmp31.not.i.i, label %if.then.i57, label %for.body.i.i

land.end.i:
  tail call void @PyErr_Clear()
  br label %cleanup

if.then.i57:
  %.ph.i = phi i1 [ false, %land.rhs.i55 ], [ true, %if.end29.i.i ], [ false, %lor.lhs.false.i77.i.i ], [ false, %if.end4.i.i ], [ false, %lor.lhs.false.i.i.i ], [ false, %if.end.i.i59 ], [ false, %land.lhs.true.i.i.i ], [ false, %if.end6.i.i.i ], [ false, %cond.end.thread.i.i ], [ false, %if.end.i81.i.i ], [ false, %if.end16.i.i ], [ %call28.i.i, %if.then26.i.i ], [ false, %cond.end.i.i ], [ false, %read_address.exit.i.i ], [ false, %is_of_type.exit.i.i ], [ true, %for.body.i.i ]
  tail call void @PyErr_Clear()
  tail call void @Py_DecRef(ptr noundef nonnull %call2.i)
  br label %cleanup

cleanup:
  %retval.0 = phi i1 [ false, %while.end ], [ %retval.0.i, %view_of_dlpack.exit ], [ false, %if.end6.i ], [ false, %lor.lhs.false ], [ false, %if.then.i43 ], [ false, %if.end.i44 ], [ %tobool.not.i.i52, %if.end20.i ], [ false, %lor.lhs.false.i45 ], [ false, %lor.lhs.false14.i ], [ false, %lor.lhs.false11.i ], [ %.ph.i, %if.then.i57 ], [ false, %land.end.i ]
  ret i1 %retval.0
}

declare void @llvm.lifetime.start.p0(ptr captures(none))

declare void @llvm.lifetime.end.p0(ptr captures(none))

declare void @PyErr_Clear()

declare ptr @PyObject_GetAttr(ptr noundef, ptr noundef)

declare ptr @PyObject_Vectorcall(ptr noundef, ptr noundef, i64 noundef, ptr noundef)

declare ptr @PyObject_VectorcallMethod(ptr noundef, ptr noundef, i64 noundef, ptr noundef)

declare void @Py_DecRef(ptr noundef)

declare i32 @PyObject_GetBuffer(ptr noundef, ptr noundef, i32 noundef)

declare ptr @PyTuple_GetItem(ptr noundef, i64 noundef)

declare i64 @PyTuple_Size(ptr noundef)

define internal fastcc noundef zeroext i1 @read_words(ptr noundef readonly captures(none) %process, ptr noundef %tuple, i64 noundef %count, ptr noundef writeonly captures(none) %words) {
entry:
  %call = tail call i64 @PyTuple_Size(ptr noundef %tuple)
  %cmp.not = icmp eq i64 %call, %count
  br i1 %cmp.not, label %for.cond.preheader, label %return

for.cond.preheader:
  %cmp118 = icmp slt i64 %count, 1
  br i1 %cmp118, label %return, label %for.body.lr.ph

for.body.lr.ph:
  %header.i = getelementptr inbounds nuw i8, ptr %process, i64 32
  %integer = getelementptr inbounds nuw i8, ptr %process, i64 48
  br label %for.body

for.body:
  %i.019 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %if.end6 ]
  %call2 = tail call ptr @PyTuple_GetItem(ptr noundef %tuple, i64 noundef %i.019)
  %0 = load i64, ptr %header.i, align 8
  %1 = getelementptr i8, ptr %call2, i64 %0
  %add.ptr.i.i = getelementptr i8, ptr %1, i64 -8
  %2 = load ptr, ptr %add.ptr.i.i, align 8
  %3 = load ptr, ptr %integer, align 8
  %cmp4.not = icmp eq ptr %2, %3
  br i1 %cmp4.not, label %if.end6, label %return

if.end6:
  %call7 = tail call i64 @PyLong_AsLongLong(ptr noundef nonnull %call2)
  %arrayidx = getelementptr inbounds nuw i64, ptr %words, i64 %i.019
  store i64 %call7, ptr %arrayidx, align 8
  %inc = add nuw nsw i64 %i.019, 1
  %exitcond.not = icmp eq i64 %inc, %count
  br i1 %exitcond.not, label %return, label %for.body

return:
  %retval.3 = phi i1 [ false, %entry ], [ true, %for.cond.preheader ], [ %cmp4.not, %if.end6 ], [ %cmp4.not, %for.body ]
  ret i1 %retval.3
}

declare ptr @PyDict_GetItemWithError(ptr noundef, ptr noundef)

declare ptr @PyLong_AsVoidPtr(ptr noundef)

declare i64 @PyUnicode_GetLength(ptr noundef)

declare ptr @PyUnicode_AsUTF8(ptr noundef)

declare i64 @PyLong_AsLongLong(ptr noundef)
