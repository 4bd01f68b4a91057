; Made by build.py of the C beside it: change that.

%struct.ErrorArguments = type { i64, ptr, ptr, i32 }
%struct.Handled = type { i64, i64, ptr, ptr, i64, i64 }

@sizes.bytes = internal constant [2 x i64] [i64 48, i64 48], align 16

define ptr @handle(ptr noundef readonly captures(address) %handler, ptr noundef readonly captures(none) %frame) {
entry:
  %arguments.i113 = alloca %struct.ErrorArguments, align 8
  %arguments.i106 = alloca %struct.ErrorArguments, align 8
  %arguments.i = alloca %struct.ErrorArguments, align 8
  %arguments = getelementptr inbounds nuw i8, ptr %frame, i64 40
  %results1 = getelementptr inbounds nuw i8, ptr %frame, i64 80
  %extension.i = getelementptr inbounds nuw i8, ptr %frame, i64 8
  %each.012.i = load ptr, ptr %extension.i, align 8
  %tobool.not13.not.i = icmp eq ptr %each.012.i, null
  br i1 %tobool.not13.not.i, label %if.end, label %for.body.i

for.body.i:
  %each.014.i = phi ptr [ %each.0.i, %for.inc.i ], [ %each.012.i, %entry ]
  %type.i = getelementptr inbounds nuw i8, ptr %each.014.i, i64 8
  %0 = load i32, ptr %type.i, align 8
  %cmp.not.i = icmp eq i32 %0, 1
  br i1 %cmp.not.i, label %is_question.exit, label %for.inc.i

for.inc.i:
  %next.i = getelementptr inbounds nuw i8, ptr %each.014.i, i64 16
  %each.0.i = load ptr, ptr %next.i, align 8
  %tobool.not.not.i = icmp eq ptr %each.0.i, null
  br i1 %tobool.not.not.i, label %if.end, label %for.body.i

is_question.exit:
  %metadata1.i = getelementptr inbounds nuw i8, ptr %each.014.i, i64 24
  %1 = load ptr, ptr %metadata1.i, align 8
  %major.i = getelementptr inbounds nuw i8, ptr %1, i64 24
  store i32 0, ptr %major.i, align 8
  %minor.i = getelementptr inbounds nuw i8, ptr %1, i64 28
  store i32 3, ptr %minor.i, align 4
  %traits.i = getelementptr inbounds nuw i8, ptr %1, i64 32
  store i32 0, ptr %traits.i, align 8
  br label %cleanup63

if.end:
  %count = getelementptr inbounds nuw i8, ptr %frame, i64 56
  %2 = load i64, ptr %count, align 8
  %arguments2 = getelementptr inbounds nuw i8, ptr %handler, i64 16
  %3 = load i64, ptr %arguments2, align 8
  %cmp.not = icmp eq i64 %2, %3
  br i1 %cmp.not, label %lor.lhs.false, label %if.then6

lor.lhs.false:
  %count3 = getelementptr inbounds nuw i8, ptr %frame, i64 96
  %4 = load i64, ptr %count3, align 8
  %results4 = getelementptr inbounds nuw i8, ptr %handler, i64 24
  %5 = load i64, ptr %results4, align 8
  %cmp5.not = icmp eq i64 %4, %5
  br i1 %cmp5.not, label %if.end8, label %if.then6

if.then6:
  %message = getelementptr inbounds nuw i8, ptr %handler, i64 32
  %6 = load ptr, ptr %message, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %arguments.i)
  store i64 28, ptr %arguments.i, align 8
  %extension.i105 = getelementptr inbounds nuw i8, ptr %arguments.i, i64 8
  store ptr null, ptr %extension.i105, align 8
  %message1.i = getelementptr inbounds nuw i8, ptr %arguments.i, i64 16
  store ptr %6, ptr %message1.i, align 8
  %code2.i = getelementptr inbounds nuw i8, ptr %arguments.i, i64 24
  store i32 3, ptr %code2.i, align 8
  %7 = getelementptr inbounds nuw i8, ptr %arguments.i, i64 28
  store i32 0, ptr %7, align 4
  %api.i = getelementptr inbounds nuw i8, ptr %frame, i64 16
  %8 = load ptr, ptr %api.i, align 8
  %error.i = getelementptr inbounds nuw i8, ptr %8, i64 48
  %9 = load ptr, ptr %error.i, align 8
  %call.i = call ptr %9(ptr noundef nonnull %arguments.i)
  call void @llvm.lifetime.end.p0(ptr nonnull %arguments.i)
  br label %cleanup63

if.end8:
  %handled = getelementptr inbounds nuw i8, ptr %handler, i64 48
  %call9 = tail call fastcc ptr @unwanted(ptr noundef nonnull %arguments, ptr noundef nonnull %handled)
  %tobool.not = icmp eq ptr %call9, null
  br i1 %tobool.not, label %if.end15, label %if.then17

if.end15:
  %add.ptr = getelementptr inbounds %struct.Handled, ptr %handled, i64 %2
  %call14 = tail call fastcc ptr @unwanted(ptr noundef nonnull %results1, ptr noundef nonnull %add.ptr)
  %tobool16.not = icmp eq ptr %call14, null
  br i1 %tobool16.not, label %if.end20, label %if.then17

if.then17:
  %wrong.0123 = phi ptr [ %call14, %if.end15 ], [ %call9, %if.end8 ]
  %message18 = getelementptr inbounds nuw i8, ptr %wrong.0123, i64 24
  %10 = load ptr, ptr %message18, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %arguments.i106)
  store i64 28, ptr %arguments.i106, align 8
  %extension.i107 = getelementptr inbounds nuw i8, ptr %arguments.i106, i64 8
  store ptr null, ptr %extension.i107, align 8
  %message1.i108 = getelementptr inbounds nuw i8, ptr %arguments.i106, i64 16
  store ptr %10, ptr %message1.i108, align 8
  %code2.i109 = getelementptr inbounds nuw i8, ptr %arguments.i106, i64 24
  store i32 3, ptr %code2.i109, align 8
  %11 = getelementptr inbounds nuw i8, ptr %arguments.i106, i64 28
  store i32 0, ptr %11, align 4
  %api.i110 = getelementptr inbounds nuw i8, ptr %frame, i64 16
  %12 = load ptr, ptr %api.i110, align 8
  %error.i111 = getelementptr inbounds nuw i8, ptr %12, i64 48
  %13 = load ptr, ptr %error.i111, align 8
  %call.i112 = call ptr %13(ptr noundef nonnull %arguments.i106)
  call void @llvm.lifetime.end.p0(ptr nonnull %arguments.i106)
  br label %cleanup63

if.end20:
  %14 = load ptr, ptr %handler, align 8
  %arguments22 = getelementptr inbounds nuw i8, ptr %14, i64 32
  %15 = load i64, ptr %arguments22, align 8
  %16 = tail call ptr @llvm.stacksave.p0()
  %vla = alloca i64, i64 %15, align 16
  %arrays = getelementptr inbounds nuw i8, ptr %14, i64 16
  %17 = load i64, ptr %arrays, align 8
  %18 = load i64, ptr %count3, align 8
  %sub = sub i64 %17, %18
  %19 = load i64, ptr %count, align 8
  %cmp25125 = icmp sgt i64 %19, 0
  br i1 %cmp25125, label %for.body.lr.ph, label %for.cond41.preheader

for.body.lr.ph:
  %buffers = getelementptr inbounds nuw i8, ptr %frame, i64 72
  %buffers32 = getelementptr inbounds nuw i8, ptr %frame, i64 112
  br label %for.body

for.cond41.preheader.loopexit:
  %.pre130 = load i64, ptr %count3, align 8
  br label %for.cond41.preheader

for.cond41.preheader:
  %20 = phi i64 [ %.pre130, %for.cond41.preheader.loopexit ], [ %18, %if.end20 ]
  %cmp43127 = icmp sgt i64 %20, 0
  br i1 %cmp43127, label %for.body45.lr.ph, label %for.cond.cleanup44

for.body45.lr.ph:
  %buffers46 = getelementptr inbounds nuw i8, ptr %frame, i64 112
  %21 = load ptr, ptr %buffers46, align 8
  %22 = getelementptr i64, ptr %vla, i64 %sub
  br label %for.body45

for.body:
  %23 = phi i64 [ %19, %for.body.lr.ph ], [ %33, %cleanup ]
  %i.0126 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %cleanup ]
  %24 = load ptr, ptr %buffers, align 8
  %arrayidx = getelementptr inbounds nuw ptr, ptr %24, i64 %i.0126
  %25 = load ptr, ptr %arrayidx, align 8
  %data = getelementptr inbounds nuw i8, ptr %25, i64 24
  %26 = load ptr, ptr %data, align 8
  %cmp26 = icmp slt i64 %i.0126, %sub
  br i1 %cmp26, label %if.then27, label %if.end29

if.then27:
  %27 = ptrtoint ptr %26 to i64
  %arrayidx28 = getelementptr inbounds nuw i64, ptr %vla, i64 %i.0126
  store i64 %27, ptr %arrayidx28, align 8
  br label %cleanup

if.end29:
  %arrayidx31 = getelementptr inbounds nuw %struct.Handled, ptr %handled, i64 %i.0126
  %28 = load ptr, ptr %buffers32, align 8
  %result = getelementptr inbounds nuw i8, ptr %arrayidx31, i64 32
  %29 = load i64, ptr %result, align 8
  %arrayidx33 = getelementptr inbounds ptr, ptr %28, i64 %29
  %30 = load ptr, ptr %arrayidx33, align 8
  %data34 = getelementptr inbounds nuw i8, ptr %30, i64 24
  %31 = load ptr, ptr %data34, align 8
  %cmp35.not = icmp eq ptr %26, %31
  br i1 %cmp35.not, label %cleanup, label %if.then36

if.then36:
  %bytes = getelementptr inbounds nuw i8, ptr %arrayidx31, i64 40
  %32 = load i64, ptr %bytes, align 8
  %call37 = tail call ptr @memcpy(ptr noundef %31, ptr noundef %26, i64 noundef %32)
  %.pre = load i64, ptr %count, align 8
  br label %cleanup

cleanup:
  %33 = phi i64 [ %23, %if.end29 ], [ %.pre, %if.then36 ], [ %23, %if.then27 ]
  %inc = add nuw nsw i64 %i.0126, 1
  %cmp25 = icmp slt i64 %inc, %33
  br i1 %cmp25, label %for.body, label %for.cond41.preheader.loopexit

for.cond.cleanup44:
  %run = getelementptr inbounds nuw i8, ptr %handler, i64 8
  %34 = load ptr, ptr %run, align 8
  %call54 = call i32 %34(ptr noundef %14, ptr noundef nonnull %vla)
  %tobool55.not = icmp eq i32 %call54, 0
  br i1 %tobool55.not, label %cleanup59, label %if.then56

for.body45:
  %i40.0128 = phi i64 [ 0, %for.body45.lr.ph ], [ %inc51, %for.body45 ]
  %arrayidx47 = getelementptr inbounds nuw ptr, ptr %21, i64 %i40.0128
  %35 = load ptr, ptr %arrayidx47, align 8
  %data48 = getelementptr inbounds nuw i8, ptr %35, i64 24
  %36 = load ptr, ptr %data48, align 8
  %37 = ptrtoint ptr %36 to i64
  %arrayidx49 = getelementptr i64, ptr %22, i64 %i40.0128
  store i64 %37, ptr %arrayidx49, align 8
  %inc51 = add nuw nsw i64 %i40.0128, 1
  %exitcond.not = icmp eq i64 %inc51, %20
  br i1 %exitcond.not, label %for.cond.cleanup44, label %for.body45

if.then56:
  %no_memory = getelementptr inbounds nuw i8, ptr %handler, i64 40
  %38 = load ptr, ptr %no_memory, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %arguments.i113)
  store i64 28, ptr %arguments.i113, align 8
  %extension.i114 = getelementptr inbounds nuw i8, ptr %arguments.i113, i64 8
  store ptr null, ptr %extension.i114, align 8
  %message1.i115 = getelementptr inbounds nuw i8, ptr %arguments.i113, i64 16
  store ptr %38, ptr %message1.i115, align 8
  %code2.i116 = getelementptr inbounds nuw i8, ptr %arguments.i113, i64 24
  store i32 8, ptr %code2.i116, align 8
  %39 = getelementptr inbounds nuw i8, ptr %arguments.i113, i64 28
  store i32 0, ptr %39, align 4
  %api.i117 = getelementptr inbounds nuw i8, ptr %frame, i64 16
  %40 = load ptr, ptr %api.i117, align 8
  %error.i118 = getelementptr inbounds nuw i8, ptr %40, i64 48
  %41 = load ptr, ptr %error.i118, align 8
  %call.i119 = call ptr %41(ptr noundef nonnull %arguments.i113)
  call void @llvm.lifetime.end.p0(ptr nonnull %arguments.i113)
  br label %cleanup59

cleanup59:
  %retval.0 = phi ptr [ %call.i119, %if.then56 ], [ null, %for.cond.cleanup44 ]
  call void @llvm.stackrestore.p0(ptr %16)
  br label %cleanup63

cleanup63:
  %retval.2 = phi ptr [ null, %is_question.exit ], [ %call.i, %if.then6 ], [ %call.i112, %if.then17 ], [ %retval.0, %cleanup59 ]
  ret ptr %retval.2
}

declare void @llvm.lifetime.start.p0(ptr captures(none))

define internal fastcc noundef ptr @unwanted(ptr noundef readonly captures(none) %given, ptr noundef readonly captures(ret: address, provenance) %wanted) {
entry:
  %count = getelementptr inbounds nuw i8, ptr %given, i64 16
  %0 = load i64, ptr %count, align 8
  %cmp13 = icmp sgt i64 %0, 0
  br i1 %cmp13, label %for.body.lr.ph, label %cleanup

for.body.lr.ph:
  %buffers = getelementptr inbounds nuw i8, ptr %given, i64 32
  %1 = load ptr, ptr %buffers, align 8
  br label %for.body

for.body:
  %i.014 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.inc ]
  %arrayidx = getelementptr inbounds nuw ptr, ptr %1, i64 %i.014
  %2 = load ptr, ptr %arrayidx, align 8
  %arrayidx1 = getelementptr inbounds nuw %struct.Handled, ptr %wanted, i64 %i.014
  %dtype.i = getelementptr inbounds nuw i8, ptr %2, i64 16
  %3 = load i32, ptr %dtype.i, align 8
  %conv.i = sext i32 %3 to i64
  %4 = load i64, ptr %arrayidx1, align 8
  %cmp.not.i = icmp eq i64 %4, %conv.i
  br i1 %cmp.not.i, label %if.end.i, label %cleanup

if.end.i:
  %count.i = getelementptr inbounds nuw i8, ptr %arrayidx1, i64 8
  %5 = load i64, ptr %count.i, align 8
  %tobool.not15.not.i = icmp eq i64 %5, 0
  br i1 %tobool.not15.not.i, label %cleanup, label %for.body.lr.ph.i

for.body.lr.ph.i:
  %shapes.i = getelementptr inbounds nuw i8, ptr %arrayidx1, i64 16
  %6 = load ptr, ptr %shapes.i, align 8
  %rank.i.i = getelementptr inbounds nuw i8, ptr %2, i64 32
  %7 = load i64, ptr %rank.i.i, align 8
  %sizes.i.i = getelementptr inbounds nuw i8, ptr %2, i64 40
  %smax.i.i = tail call i64 @llvm.smax.i64(i64 %7, i64 0)
  br label %for.body.i

for.body.i:
  %left.017.i = phi i64 [ %5, %for.body.lr.ph.i ], [ %dec.i, %for.inc.i ]
  %shape.016.i = phi ptr [ %6, %for.body.lr.ph.i ], [ %add.ptr.i, %for.inc.i ]
  %8 = load i64, ptr %shape.016.i, align 8
  %cmp.not.i.i = icmp eq i64 %7, %8
  br i1 %cmp.not.i.i, label %for.cond.i.i, label %for.inc.i

for.cond.i.i:
  %i.0.i.i = phi i64 [ %add.i.i, %for.body.i.i ], [ 0, %for.body.i ]
  %exitcond.not.i.i = icmp eq i64 %i.0.i.i, %smax.i.i
  br i1 %exitcond.not.i.i, label %for.inc, label %for.body.i.i

for.body.i.i:
  %9 = load ptr, ptr %sizes.i.i, align 8
  %arrayidx3.i.i = getelementptr inbounds nuw i64, ptr %9, i64 %i.0.i.i
  %10 = load i64, ptr %arrayidx3.i.i, align 8
  %add.i.i = add nuw i64 %i.0.i.i, 1
  %arrayidx4.i.i = getelementptr inbounds nuw i64, ptr %shape.016.i, i64 %add.i.i
  %11 = load i64, ptr %arrayidx4.i.i, align 8
  %cmp5.not.i.i = icmp eq i64 %10, %11
  br i1 %cmp5.not.i.i, label %for.cond.i.i, label %for.inc.i

for.inc.i:
  %dec.i = add i64 %left.017.i, -1
  %12 = getelementptr i64, ptr %shape.016.i, i64 %8
  %add.ptr.i = getelementptr i8, ptr %12, i64 8
  %tobool.not.not.i = icmp eq i64 %dec.i, 0
  br i1 %tobool.not.not.i, label %cleanup, label %for.body.i

for.inc:
  %inc = add nuw nsw i64 %i.014, 1
  %exitcond.not = icmp eq i64 %inc, %0
  br i1 %exitcond.not, label %cleanup, label %for.body

cleanup:
  %13 = phi ptr [ null, %entry ], [ %arrayidx1, %for.inc.i ], [ %arrayidx1, %for.body ], [ %arrayidx1, %if.end.i ], [ null, %for.inc ]
  ret ptr %13
}

declare ptr @llvm.stacksave.p0()

declare ptr @memcpy(ptr noundef, ptr noundef, i64 noundef)

declare void @llvm.lifetime.end.p0(ptr captures(none))

declare void @llvm.stackrestore.p0(ptr)

define noundef nonnull ptr @sizes() {
entry:
  ret ptr @sizes.bytes
}

declare i64 @llvm.smax.i64(i64, i64)
