; Made by build.py of the C beside it: change that.

%struct.ErrorArguments = type { i64, ptr, ptr, i32 }
%struct.Handled = type { i64, i64, ptr, ptr, i64, i64 }
%struct.Size = type { i64, i64, i64 }

@sizes.bytes = internal constant [2 x i64] [i64 56, i64 48], align 16

define ptr @handle(ptr noundef captures(address) %handler, ptr noundef readonly captures(none) %frame) {
entry:
  %arguments.i143 = alloca %struct.ErrorArguments, align 8
  %arguments.i131 = alloca %struct.ErrorArguments, align 8
  %arguments.i122 = alloca %struct.ErrorArguments, align 8
  %arguments.i = alloca %struct.ErrorArguments, align 8
  %said = alloca [2 x i64], align 16
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
  br label %cleanup74

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
  %extension.i121 = getelementptr inbounds nuw i8, ptr %arguments.i, i64 8
  store ptr null, ptr %extension.i121, align 8
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
  br label %cleanup74

if.end8:
  call void @llvm.lifetime.start.p0(ptr nonnull %said)
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 16 dereferenceable(16) %said, i8 0, i64 16, i1 false)
  %handled = getelementptr inbounds nuw i8, ptr %handler, i64 56
  %call10 = call fastcc ptr @unwanted(ptr noundef nonnull %arguments, ptr noundef nonnull %handled, ptr noundef %said)
  %tobool.not = icmp eq ptr %call10, null
  br i1 %tobool.not, label %if.end17, label %if.then19

if.end17:
  %add.ptr = getelementptr inbounds %struct.Handled, ptr %handled, i64 %2
  %call16 = call fastcc ptr @unwanted(ptr noundef nonnull %results1, ptr noundef nonnull %add.ptr, ptr noundef %said)
  %tobool18.not = icmp eq ptr %call16, null
  br i1 %tobool18.not, label %if.end22, label %if.then19

if.then19:
  %wrong.0153 = phi ptr [ %call16, %if.end17 ], [ %call10, %if.end8 ]
  %message20 = getelementptr inbounds nuw i8, ptr %wrong.0153, i64 24
  %10 = load ptr, ptr %message20, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %arguments.i122)
  store i64 28, ptr %arguments.i122, align 8
  %extension.i123 = getelementptr inbounds nuw i8, ptr %arguments.i122, i64 8
  store ptr null, ptr %extension.i123, align 8
  %message1.i124 = getelementptr inbounds nuw i8, ptr %arguments.i122, i64 16
  store ptr %10, ptr %message1.i124, align 8
  %code2.i125 = getelementptr inbounds nuw i8, ptr %arguments.i122, i64 24
  store i32 3, ptr %code2.i125, align 8
  %11 = getelementptr inbounds nuw i8, ptr %arguments.i122, i64 28
  store i32 0, ptr %11, align 4
  %api.i126 = getelementptr inbounds nuw i8, ptr %frame, i64 16
  %12 = load ptr, ptr %api.i126, align 8
  %error.i127 = getelementptr inbounds nuw i8, ptr %12, i64 48
  %13 = load ptr, ptr %error.i127, align 8
  %call.i128 = call ptr %13(ptr noundef nonnull %arguments.i122)
  call void @llvm.lifetime.end.p0(ptr nonnull %arguments.i122)
  br label %cleanup72

if.end22:
  %14 = load ptr, ptr %handler, align 8
  %arguments24 = getelementptr inbounds nuw i8, ptr %14, i64 32
  %15 = load i64, ptr %arguments24, align 8
  %16 = tail call ptr @llvm.stacksave.p0()
  %vla = alloca i64, i64 %15, align 16
  %arrays = getelementptr inbounds nuw i8, ptr %14, i64 16
  %17 = load i64, ptr %arrays, align 8
  %18 = load i64, ptr %count3, align 8
  %sub = sub i64 %17, %18
  %sizes.i = getelementptr inbounds nuw i8, ptr %14, i64 80
  %varying.i = getelementptr inbounds nuw i8, ptr %14, i64 72
  %19 = load i64, ptr %varying.i, align 8
  %cmp33.i = icmp slt i64 %19, 1
  br i1 %cmp33.i, label %take_sizes.exit, label %for.body.lr.ph.i

for.body.lr.ph.i:
  %rows.i = getelementptr inbounds nuw i8, ptr %14, i64 24
  br label %for.body.i129

for.body.i129:
  %i.034.i = phi i64 [ 0, %for.body.lr.ph.i ], [ %inc.i, %if.end.i ]
  %arrayidx.i = getelementptr inbounds nuw %struct.Size, ptr %sizes.i, i64 %i.034.i
  %arrayidx1.i = getelementptr inbounds nuw i64, ptr %said, i64 %i.034.i
  %20 = load i64, ptr %arrayidx1.i, align 8
  %21 = load i64, ptr %arrayidx.i, align 8
  %cmp2.i = icmp slt i64 %20, %21
  br i1 %cmp2.i, label %if.then28, label %lor.lhs.false.i

lor.lhs.false.i:
  %greatest.i = getelementptr inbounds nuw i8, ptr %arrayidx.i, i64 8
  %22 = load i64, ptr %greatest.i, align 8
  %cmp4.i = icmp sgt i64 %20, %22
  br i1 %cmp4.i, label %if.then28, label %lor.lhs.false5.i

lor.lhs.false5.i:
  %sub.i = sub i64 %20, %21
  %step.i = getelementptr inbounds nuw i8, ptr %arrayidx.i, i64 16
  %23 = load i64, ptr %step.i, align 8
  %rem.i = srem i64 %sub.i, %23
  %tobool.not.i = icmp eq i64 %rem.i, 0
  br i1 %tobool.not.i, label %if.end.i, label %if.then28

if.end.i:
  %24 = load i64, ptr %rows.i, align 8
  %sub10.i = sub i64 %24, %19
  %25 = getelementptr i64, ptr %vla, i64 %sub10.i
  %arrayidx11.i = getelementptr i64, ptr %25, i64 %i.034.i
  store i64 %20, ptr %arrayidx11.i, align 8
  %inc.i = add nuw nsw i64 %i.034.i, 1
  %cmp.not.i130 = icmp slt i64 %inc.i, %19
  br i1 %cmp.not.i130, label %for.body.i129, label %take_sizes.exit

take_sizes.exit:
  %26 = load i64, ptr %count, align 8
  %cmp32156 = icmp sgt i64 %26, 0
  br i1 %cmp32156, label %for.body.lr.ph, label %for.cond51.preheader

for.body.lr.ph:
  %buffers = getelementptr inbounds nuw i8, ptr %frame, i64 72
  %buffers39 = getelementptr inbounds nuw i8, ptr %frame, i64 112
  br label %for.body

if.then28:
  %sizes = getelementptr inbounds nuw i8, ptr %handler, i64 40
  %27 = load ptr, ptr %sizes, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %arguments.i131)
  store i64 28, ptr %arguments.i131, align 8
  %extension.i132 = getelementptr inbounds nuw i8, ptr %arguments.i131, i64 8
  store ptr null, ptr %extension.i132, align 8
  %message1.i133 = getelementptr inbounds nuw i8, ptr %arguments.i131, i64 16
  store ptr %27, ptr %message1.i133, align 8
  %code2.i134 = getelementptr inbounds nuw i8, ptr %arguments.i131, i64 24
  store i32 3, ptr %code2.i134, align 8
  %28 = getelementptr inbounds nuw i8, ptr %arguments.i131, i64 28
  store i32 0, ptr %28, align 4
  %api.i135 = getelementptr inbounds nuw i8, ptr %frame, i64 16
  %29 = load ptr, ptr %api.i135, align 8
  %error.i136 = getelementptr inbounds nuw i8, ptr %29, i64 48
  %30 = load ptr, ptr %error.i136, align 8
  %call.i137 = call ptr %30(ptr noundef nonnull %arguments.i131)
  call void @llvm.lifetime.end.p0(ptr nonnull %arguments.i131)
  br label %cleanup69

for.cond51.preheader.loopexit:
  %.pre161 = load i64, ptr %count3, align 8
  br label %for.cond51.preheader

for.cond51.preheader:
  %31 = phi i64 [ %.pre161, %for.cond51.preheader.loopexit ], [ %18, %take_sizes.exit ]
  %cmp53158 = icmp sgt i64 %31, 0
  br i1 %cmp53158, label %for.body55.lr.ph, label %for.cond.cleanup54

for.body55.lr.ph:
  %buffers56 = getelementptr inbounds nuw i8, ptr %frame, i64 112
  %32 = load ptr, ptr %buffers56, align 8
  %33 = getelementptr i64, ptr %vla, i64 %sub
  br label %for.body55

for.body:
  %34 = phi i64 [ %26, %for.body.lr.ph ], [ %47, %cleanup ]
  %i.0157 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %cleanup ]
  %35 = load ptr, ptr %buffers, align 8
  %arrayidx = getelementptr inbounds nuw ptr, ptr %35, i64 %i.0157
  %36 = load ptr, ptr %arrayidx, align 8
  %data = getelementptr inbounds nuw i8, ptr %36, i64 24
  %37 = load ptr, ptr %data, align 8
  %cmp33 = icmp slt i64 %i.0157, %sub
  br i1 %cmp33, label %if.then34, label %if.end36

if.then34:
  %38 = ptrtoint ptr %37 to i64
  %arrayidx35 = getelementptr inbounds nuw i64, ptr %vla, i64 %i.0157
  store i64 %38, ptr %arrayidx35, align 8
  br label %cleanup

if.end36:
  %arrayidx38 = getelementptr inbounds nuw %struct.Handled, ptr %handled, i64 %i.0157
  %39 = load ptr, ptr %buffers39, align 8
  %result = getelementptr inbounds nuw i8, ptr %arrayidx38, i64 32
  %40 = load i64, ptr %result, align 8
  %arrayidx40 = getelementptr inbounds ptr, ptr %39, i64 %40
  %41 = load ptr, ptr %arrayidx40, align 8
  %data41 = getelementptr inbounds nuw i8, ptr %41, i64 24
  %42 = load ptr, ptr %data41, align 8
  %cmp42.not = icmp eq ptr %37, %42
  br i1 %cmp42.not, label %cleanup, label %if.then43

if.then43:
  %itemsize = getelementptr inbounds nuw i8, ptr %arrayidx38, i64 40
  %43 = load i64, ptr %itemsize, align 8
  %rank.i = getelementptr inbounds nuw i8, ptr %36, i64 32
  %44 = load i64, ptr %rank.i, align 8
  %cmp5.i = icmp sgt i64 %44, 0
  br i1 %cmp5.i, label %for.body.lr.ph.i138, label %bytes_of.exit

for.body.lr.ph.i138:
  %sizes.i139 = getelementptr inbounds nuw i8, ptr %36, i64 40
  %45 = load ptr, ptr %sizes.i139, align 8
  br label %for.body.i140

for.body.i140:
  %i.07.i = phi i64 [ 0, %for.body.lr.ph.i138 ], [ %inc.i142, %for.body.i140 ]
  %bytes.06.i = phi i64 [ %43, %for.body.lr.ph.i138 ], [ %mul.i, %for.body.i140 ]
  %arrayidx.i141 = getelementptr inbounds nuw i64, ptr %45, i64 %i.07.i
  %46 = load i64, ptr %arrayidx.i141, align 8
  %mul.i = mul i64 %46, %bytes.06.i
  %inc.i142 = add nuw nsw i64 %i.07.i, 1
  %exitcond.not.i = icmp eq i64 %inc.i142, %44
  br i1 %exitcond.not.i, label %bytes_of.exit, label %for.body.i140

bytes_of.exit:
  %bytes.0.lcssa.i = phi i64 [ %43, %if.then43 ], [ %mul.i, %for.body.i140 ]
  %call47 = tail call ptr @memcpy(ptr noundef %42, ptr noundef %37, i64 noundef %bytes.0.lcssa.i)
  %.pre = load i64, ptr %count, align 8
  br label %cleanup

cleanup:
  %47 = phi i64 [ %34, %if.end36 ], [ %.pre, %bytes_of.exit ], [ %34, %if.then34 ]
  %inc = add nuw nsw i64 %i.0157, 1
  %cmp32 = icmp slt i64 %inc, %47
  br i1 %cmp32, label %for.body, label %for.cond51.preheader.loopexit

for.cond.cleanup54:
  %run = getelementptr inbounds nuw i8, ptr %handler, i64 8
  %48 = load ptr, ptr %run, align 8
  %call64 = call i32 %48(ptr noundef %14, ptr noundef nonnull %vla)
  %tobool65.not = icmp eq i32 %call64, 0
  br i1 %tobool65.not, label %cleanup69, label %if.then66

for.body55:
  %i50.0159 = phi i64 [ 0, %for.body55.lr.ph ], [ %inc61, %for.body55 ]
  %arrayidx57 = getelementptr inbounds nuw ptr, ptr %32, i64 %i50.0159
  %49 = load ptr, ptr %arrayidx57, align 8
  %data58 = getelementptr inbounds nuw i8, ptr %49, i64 24
  %50 = load ptr, ptr %data58, align 8
  %51 = ptrtoint ptr %50 to i64
  %arrayidx59 = getelementptr i64, ptr %33, i64 %i50.0159
  store i64 %51, ptr %arrayidx59, align 8
  %inc61 = add nuw nsw i64 %i50.0159, 1
  %exitcond.not = icmp eq i64 %inc61, %31
  br i1 %exitcond.not, label %for.cond.cleanup54, label %for.body55

if.then66:
  %no_memory = getelementptr inbounds nuw i8, ptr %handler, i64 48
  %52 = load ptr, ptr %no_memory, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %arguments.i143)
  store i64 28, ptr %arguments.i143, align 8
  %extension.i144 = getelementptr inbounds nuw i8, ptr %arguments.i143, i64 8
  store ptr null, ptr %extension.i144, align 8
  %message1.i145 = getelementptr inbounds nuw i8, ptr %arguments.i143, i64 16
  store ptr %52, ptr %message1.i145, align 8
  %code2.i146 = getelementptr inbounds nuw i8, ptr %arguments.i143, i64 24
  store i32 8, ptr %code2.i146, align 8
  %53 = getelementptr inbounds nuw i8, ptr %arguments.i143, i64 28
  store i32 0, ptr %53, align 4
  %api.i147 = getelementptr inbounds nuw i8, ptr %frame, i64 16
  %54 = load ptr, ptr %api.i147, align 8
  %error.i148 = getelementptr inbounds nuw i8, ptr %54, i64 48
  %55 = load ptr, ptr %error.i148, align 8
  %call.i149 = call ptr %55(ptr noundef nonnull %arguments.i143)
  call void @llvm.lifetime.end.p0(ptr nonnull %arguments.i143)
  br label %cleanup69

cleanup69:
  %retval.0 = phi ptr [ %call.i149, %if.then66 ], [ %call.i137, %if.then28 ], [ null, %for.cond.cleanup54 ]
  call void @llvm.stackrestore.p0(ptr %16)
  br label %cleanup72

cleanup72:
  %retval.1 = phi ptr [ %call.i128, %if.then19 ], [ %retval.0, %cleanup69 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %said)
  br label %cleanup74

cleanup74:
  %retval.2 = phi ptr [ %retval.1, %cleanup72 ], [ %call.i, %if.then6 ], [ null, %is_question.exit ]
  ret ptr %retval.2
}

declare void @llvm.lifetime.start.p0(ptr captures(none))

declare void @llvm.memset.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg)

define internal fastcc noundef ptr @unwanted(ptr noundef readonly captures(none) %given, ptr noundef readonly captures(ret: address, provenance) %wanted, ptr noundef nonnull captures(none) %said) {
entry:
  %count = getelementptr inbounds nuw i8, ptr %given, i64 16
  %0 = load i64, ptr %count, align 8
  %cmp13 = icmp sgt i64 %0, 0
  br i1 %cmp13, label %for.body.lr.ph, label %cleanup

for.body.lr.ph:
  %buffers = getelementptr inbounds nuw i8, ptr %given, i64 32
  br label %for.body

for.body:
  %i.014 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.inc ]
  %1 = load ptr, ptr %buffers, align 8
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
  %sizes.i.i = getelementptr inbounds nuw i8, ptr %2, i64 40
  br label %for.body.i

for.body.i:
  %left.017.i = phi i64 [ %5, %for.body.lr.ph.i ], [ %dec.i, %for.inc.i ]
  %shape.016.i = phi ptr [ %6, %for.body.lr.ph.i ], [ %add.ptr.i, %for.inc.i ]
  %7 = load i64, ptr %rank.i.i, align 8
  %8 = load i64, ptr %shape.016.i, align 8
  %cmp.not.i.i = icmp eq i64 %7, %8
  br i1 %cmp.not.i.i, label %for.cond.i.i, label %for.inc.i

for.cond.i.i:
  %i.0.i.i = phi i64 [ %add.i.i, %if.end7.i.i ], [ 0, %for.body.i ]
  %9 = load i64, ptr %rank.i.i, align 8
  %cmp2.not.not.i.i = icmp slt i64 %i.0.i.i, %9
  br i1 %cmp2.not.not.i.i, label %for.body.i.i, label %for.inc

for.body.i.i:
  %add.i.i = add nuw nsw i64 %i.0.i.i, 1
  %arrayidx3.i.i = getelementptr inbounds nuw i64, ptr %shape.016.i, i64 %add.i.i
  %10 = load i64, ptr %arrayidx3.i.i, align 8
  %cmp4.i.i = icmp slt i64 %10, 0
  br i1 %cmp4.i.i, label %if.then5.i.i, label %if.end7.i.i

if.then5.i.i:
  %sub.i.i = xor i64 %10, -1
  %add.ptr.i.i = getelementptr inbounds nuw i64, ptr %said, i64 %sub.i.i
  %11 = load i64, ptr %add.ptr.i.i, align 8
  %tobool.not.i.i = icmp eq i64 %11, 0
  br i1 %tobool.not.i.i, label %cond.false.i.i, label %cond.end.i.i

cond.false.i.i:
  %12 = load ptr, ptr %sizes.i.i, align 8
  %arrayidx6.i.i = getelementptr inbounds nuw i64, ptr %12, i64 %i.0.i.i
  %13 = load i64, ptr %arrayidx6.i.i, align 8
  br label %cond.end.i.i

cond.end.i.i:
  %cond.i.i = phi i64 [ %13, %cond.false.i.i ], [ %11, %if.then5.i.i ]
  store i64 %cond.i.i, ptr %add.ptr.i.i, align 8
  br label %if.end7.i.i

if.end7.i.i:
  %wanted.0.i.i = phi i64 [ %cond.i.i, %cond.end.i.i ], [ %10, %for.body.i.i ]
  %14 = load ptr, ptr %sizes.i.i, align 8
  %arrayidx9.i.i = getelementptr inbounds nuw i64, ptr %14, i64 %i.0.i.i
  %15 = load i64, ptr %arrayidx9.i.i, align 8
  %cmp10.not.i.i = icmp eq i64 %15, %wanted.0.i.i
  br i1 %cmp10.not.i.i, label %for.cond.i.i, label %for.inc.loopexit.i

for.inc.loopexit.i:
  %.pre.i = load i64, ptr %shape.016.i, align 8
  br label %for.inc.i

for.inc.i:
  %16 = phi i64 [ %.pre.i, %for.inc.loopexit.i ], [ %8, %for.body.i ]
  %dec.i = add i64 %left.017.i, -1
  %17 = getelementptr i64, ptr %shape.016.i, i64 %16
  %add.ptr.i = getelementptr i8, ptr %17, i64 8
  %tobool.not.not.i = icmp eq i64 %dec.i, 0
  br i1 %tobool.not.not.i, label %cleanup, label %for.body.i

for.inc:
  %inc = add nuw nsw i64 %i.014, 1
  %18 = load i64, ptr %count, align 8
  %cmp = icmp slt i64 %inc, %18
  br i1 %cmp, label %for.body, label %cleanup

cleanup:
  %19 = phi ptr [ null, %entry ], [ %arrayidx1, %for.inc.i ], [ %arrayidx1, %for.body ], [ %arrayidx1, %if.end.i ], [ null, %for.inc ]
  ret ptr %19
}

declare ptr @llvm.stacksave.p0()

declare ptr @memcpy(ptr noundef, ptr noundef, i64 noundef)

declare void @llvm.lifetime.end.p0(ptr captures(none))

declare void @llvm.stackrestore.p0(ptr)

define noundef nonnull ptr @sizes() {
entry:
  ret ptr @sizes.bytes
}
