; Made by build.py of the C beside it: change that.

%struct.Process = type { [4 x i64], i64, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, i64, i64, [16 x %struct.Type] }
%struct.Type = type { ptr, ptr, i64, ptr, ptr, ptr, ptr }
%struct.View = type { ptr, i64, ptr, ptr, i64, [8 x i64] }
%struct.Argument = type { ptr, ptr, %struct.Buffer }
%struct.Buffer = type { ptr, ptr, i64, i64, i32, i32, ptr, ptr, ptr, ptr, ptr }
%struct.Size = type { i64, i64, i64 }

@process = internal global %struct.Process { [4 x i64] [i64 1024, i64 56, i64 192, i64 96], i64 0, ptr null, ptr null, ptr null, ptr null, ptr null, ptr null, ptr null, ptr null, ptr null, i64 0, i64 0, [16 x %struct.Type] zeroinitializer }, align 8

define ptr @call(ptr noundef %self, ptr noundef %args, i64 noundef %count, ptr noundef %names) {
entry:
  %view.i.i = alloca %struct.View, align 8
  %said.i = alloca [2 x i64], align 16
  %call.i = tail call ptr @PyTuple_GetItem(ptr noundef %self, i64 noundef 0)
  %0 = load i64, ptr getelementptr inbounds nuw (i8, ptr @process, i64 32), align 8
  %add.ptr.i.i.i = getelementptr inbounds i8, ptr %call.i, i64 %0
  %1 = load ptr, ptr %add.ptr.i.i.i, align 8
  %arrays1 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %2 = load i64, ptr %arrays1, align 8
  %tobool.not.i = icmp eq ptr %names, null
  br i1 %tobool.not.i, label %if.then.i, label %if.end.i

if.then.i:
  %cmp.i = icmp eq i64 %count, %2
  br i1 %cmp.i, label %if.then, label %if.end26

if.end.i:
  %sub.i = add i64 %2, -1
  %cmp2.i = icmp eq i64 %count, %sub.i
  br i1 %cmp2.i, label %land.lhs.true.i, label %if.end26

land.lhs.true.i:
  %call.i50 = tail call i64 @PyTuple_Size(ptr noundef nonnull %names)
  %cmp3.i = icmp eq i64 %call.i50, 1
  br i1 %cmp3.i, label %are_all.exit, label %if.end26

are_all.exit:
  %call4.i = tail call ptr @PyTuple_GetItem(ptr noundef nonnull %names, i64 noundef 0)
  %3 = load ptr, ptr getelementptr inbounds nuw (i8, ptr @process, i64 72), align 8
  %cmp5.i = icmp eq ptr %call4.i, %3
  br i1 %cmp5.i, label %if.then, label %if.end26

if.then:
  %4 = tail call ptr @llvm.stacksave.p0()
  %vla = alloca %struct.Argument, i64 %2, align 16
  %arguments = getelementptr inbounds nuw i8, ptr %1, i64 32
  %5 = load i64, ptr %arguments, align 8
  %vla3 = alloca i64, i64 %5, align 16
  %cmp64 = icmp sgt i64 %2, 0
  br i1 %cmp64, label %for.body, label %for.cond.cleanup

for.cond.cleanup:
  %6 = load i64, ptr %arrays1, align 8
  %sub.i52 = add i64 %6, -1
  %rows1.i = getelementptr inbounds nuw i8, ptr %1, i64 24
  %7 = load i64, ptr %rows1.i, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %said.i)
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 16 dereferenceable(16) %said.i, i8 0, i64 16, i1 false)
  %cmp.not80.i = icmp slt i64 %sub.i52, 0
  br i1 %cmp.not80.i, label %for.end.i, label %for.body.lr.ph.i

for.body.lr.ph.i:
  %add.ptr.i = getelementptr inbounds i64, ptr %vla3, i64 %7
  %entries.i = getelementptr inbounds nuw i8, ptr %1, i64 192
  %rank3.i.i.i = getelementptr inbounds nuw i8, ptr %view.i.i, i64 8
  %sizes4.i.i.i = getelementptr inbounds nuw i8, ptr %view.i.i, i64 16
  %strides5.i.i.i = getelementptr inbounds nuw i8, ptr %view.i.i, i64 24
  %unit.i.i.i = getelementptr inbounds nuw i8, ptr %view.i.i, i64 32
  br label %for.body.i

for.body.i:
  %rows.082.i = phi ptr [ %add.ptr.i, %for.body.lr.ph.i ], [ %rows.2.i, %for.inc.i ]
  %i.081.i = phi i64 [ 0, %for.body.lr.ph.i ], [ %inc.i, %for.inc.i ]
  %arrayidx.i = getelementptr inbounds ptr, ptr %entries.i, i64 %i.081.i
  %8 = load ptr, ptr %arrayidx.i, align 8
  %arrayidx3.i = getelementptr inbounds ptr, ptr %args, i64 %i.081.i
  %9 = load ptr, ptr %arrayidx3.i, align 8
  %cmp4.i = icmp eq i64 %i.081.i, %sub.i52
  %arrayidx5.i = getelementptr inbounds %struct.Argument, ptr %vla, i64 %i.081.i
  call void @llvm.lifetime.start.p0(ptr nonnull %view.i.i)
  %10 = load i64, ptr getelementptr inbounds nuw (i8, ptr @process, i64 32), align 8
  %11 = getelementptr i8, ptr %9, i64 %10
  %add.ptr.i.i.i.i = getelementptr i8, ptr %11, i64 -8
  %12 = load ptr, ptr %add.ptr.i.i.i.i, align 8
  %13 = load ptr, ptr getelementptr inbounds nuw (i8, ptr @process, i64 40), align 8
  %cmp.i.i = icmp eq ptr %12, %13
  br i1 %cmp.i.i, label %cond.true.i.i, label %cond.false.i.i

cond.true.i.i:
  %14 = load ptr, ptr %11, align 8
  store ptr %14, ptr %view.i.i, align 8
  %rank.i.i.i = getelementptr inbounds nuw i8, ptr %11, i64 8
  %15 = load i32, ptr %rank.i.i.i, align 8
  %conv.i.i.i = sext i32 %15 to i64
  store i64 %conv.i.i.i, ptr %rank3.i.i.i, align 8
  %sizes.i.i.i = getelementptr inbounds nuw i8, ptr %11, i64 16
  %16 = load ptr, ptr %sizes.i.i.i, align 8
  store ptr %16, ptr %sizes4.i.i.i, align 8
  %strides.i.i.i = getelementptr inbounds nuw i8, ptr %11, i64 24
  %17 = load ptr, ptr %strides.i.i.i, align 8
  store ptr %17, ptr %strides5.i.i.i, align 8
  store i64 1, ptr %unit.i.i.i, align 8
  %dtype.i.i.i = getelementptr inbounds nuw i8, ptr %11, i64 40
  %18 = load ptr, ptr %dtype.i.i.i, align 8
  %19 = load ptr, ptr %8, align 8
  %cmp.i.i.i = icmp eq ptr %18, %19
  br i1 %cmp.i.i.i, label %land.rhs.i.i.i, label %cleanup11.i

land.rhs.i.i.i:
  %flags.i.i.i = getelementptr inbounds nuw i8, ptr %11, i64 48
  %20 = load i32, ptr %flags.i.i.i, align 8
  %conv8.i.i.i = sext i32 %20 to i64
  %flags9.i.i.i = getelementptr inbounds nuw i8, ptr %8, i64 8
  %21 = load i64, ptr %flags9.i.i.i, align 8
  %and.i.i.i = and i64 %21, %conv8.i.i.i
  %cmp11.i.i.i = icmp eq i64 %and.i.i.i, %21
  br label %cond.end.i.i

cond.false.i.i:
  %22 = load ptr, ptr getelementptr inbounds nuw (i8, ptr @process, i64 80), align 8
  %tobool.not.i.i = icmp eq ptr %22, null
  br i1 %tobool.not.i.i, label %cleanup11.i, label %land.rhs.i.i

land.rhs.i.i:
  %buffer.i.i = getelementptr inbounds nuw i8, ptr %arrayidx5.i, i64 16
  %call3.i.i = call zeroext i1 %22(ptr noundef nonnull @process, ptr noundef nonnull %9, ptr noundef %8, i1 noundef zeroext %cmp4.i, ptr noundef nonnull %view.i.i, ptr noundef nonnull %buffer.i.i)
  %.pre.i.i = load ptr, ptr %view.i.i, align 8
  br label %cond.end.i.i

cond.end.i.i:
  %23 = phi ptr [ %.pre.i.i, %land.rhs.i.i ], [ %14, %land.rhs.i.i.i ]
  %cond.i.i = phi i1 [ %call3.i.i, %land.rhs.i.i ], [ %cmp11.i.i.i, %land.rhs.i.i.i ]
  %tobool8.i.i = icmp ne ptr %23, null
  %or.cond.i.i = select i1 %cond.i.i, i1 %tobool8.i.i, i1 false
  br i1 %or.cond.i.i, label %lor.lhs.false9.i.i, label %cleanup11.i

lor.lhs.false9.i.i:
  %count.i.i.i = getelementptr inbounds nuw i8, ptr %8, i64 88
  %24 = load i64, ptr %count.i.i.i, align 8
  %tobool.not32.not.i.i.i = icmp eq i64 %24, 0
  br i1 %tobool.not32.not.i.i.i, label %cleanup11.i, label %for.body.lr.ph.i.i.i

for.body.lr.ph.i.i.i:
  %forms.i.i.i = getelementptr inbounds nuw i8, ptr %8, i64 96
  %row_bytes.i.i.i = getelementptr inbounds nuw i8, ptr %8, i64 32
  %itemsize.i.i.i = getelementptr inbounds nuw i8, ptr %8, i64 48
  %25 = load i64, ptr %rank3.i.i.i, align 8
  %26 = load ptr, ptr %sizes4.i.i.i, align 8
  %27 = load ptr, ptr %strides5.i.i.i, align 8
  %28 = load i64, ptr %unit.i.i.i, align 8
  %cmp374.i.i.i.i = icmp slt i64 %25, 1
  %29 = load i64, ptr %row_bytes.i.i.i, align 8
  br label %for.body.i.i.i

for.body.i.i.i:
  %left.035.i.i.i = phi i64 [ %24, %for.body.lr.ph.i.i.i ], [ %dec.i.i.i, %if.end.i.i.i ]
  %form.033.i.i.i = phi ptr [ %forms.i.i.i, %for.body.lr.ph.i.i.i ], [ %add.ptr.i.i.i53, %if.end.i.i.i ]
  %30 = load i64, ptr %form.033.i.i.i, align 8
  %add.ptr.i.i39.i.i = getelementptr inbounds nuw i8, ptr %form.033.i.i.i, i64 8
  %add.ptr1.i.i.i.i = getelementptr inbounds i64, ptr %add.ptr.i.i39.i.i, i64 %30
  %cmp.not.i.i.i.i = icmp eq i64 %25, %30
  br i1 %cmp.not.i.i.i.i, label %for.cond.preheader.i.i.i.i, label %if.end.i.i.i

for.cond.preheader.i.i.i.i:
  %31 = load i64, ptr %itemsize.i.i.i, align 8
  br i1 %cmp374.i.i.i.i, label %if.then.i.i.i, label %for.body.i.i.i.i

for.body.i.i.i.i:
  %row.2.i = phi i64 [ %row.3.i, %if.end32.i.i.i.i ], [ %29, %for.cond.preheader.i.i.i.i ]
  %gapless.1.i.i = phi i64 [ %mul33.i.i.i.i, %if.end32.i.i.i.i ], [ %31, %for.cond.preheader.i.i.i.i ]
  %i.075.i.i.i.i = phi i64 [ %dec76.i.i.i.i, %if.end32.i.i.i.i ], [ %25, %for.cond.preheader.i.i.i.i ]
  %dec76.i.i.i.i = add nsw i64 %i.075.i.i.i.i, -1
  %arrayidx5.i.i.i.i = getelementptr inbounds i64, ptr %26, i64 %dec76.i.i.i.i
  %32 = load i64, ptr %arrayidx5.i.i.i.i, align 8
  %arrayidx6.i.i.i.i = getelementptr i64, ptr %form.033.i.i.i, i64 %i.075.i.i.i.i
  %33 = load i64, ptr %arrayidx6.i.i.i.i, align 8
  %arrayidx8.i.i.i.i = getelementptr inbounds i64, ptr %27, i64 %dec76.i.i.i.i
  %34 = load i64, ptr %arrayidx8.i.i.i.i, align 8
  %mul.i.i.i.i = mul i64 %34, %28
  %cmp9.i.i.i.i = icmp slt i64 %33, 0
  br i1 %cmp9.i.i.i.i, label %if.then10.i.i.i.i, label %if.end12.i.i.i.i

if.then10.i.i.i.i:
  %sub.i.i.i.i = xor i64 %33, -1
  %add.ptr11.i.i.i.i = getelementptr inbounds nuw i64, ptr %said.i, i64 %sub.i.i.i.i
  %35 = load i64, ptr %add.ptr11.i.i.i.i, align 8
  %tobool.not.i.i.i.i = icmp eq i64 %35, 0
  %..i.i.i.i = select i1 %tobool.not.i.i.i.i, i64 %32, i64 %35
  store i64 %..i.i.i.i, ptr %add.ptr11.i.i.i.i, align 8
  br label %if.end12.i.i.i.i

if.end12.i.i.i.i:
  %wanted.0.i.i.i.i = phi i64 [ %..i.i.i.i, %if.then10.i.i.i.i ], [ %33, %for.body.i.i.i.i ]
  %cmp13.not.i.i.i.i = icmp eq i64 %32, %wanted.0.i.i.i.i
  br i1 %cmp13.not.i.i.i.i, label %if.end15.i.i.i.i, label %if.end.i.i.i

if.end15.i.i.i.i:
  %cmp16.i.i.i.i = icmp sgt i64 %32, 1
  br i1 %cmp16.i.i.i.i, label %if.then17.i.i.i.i, label %if.end32.i.i.i.i

if.then17.i.i.i.i:
  %arrayidx18.i.i.i.i = getelementptr inbounds i64, ptr %add.ptr1.i.i.i.i, i64 %dec76.i.i.i.i
  %36 = load i64, ptr %arrayidx18.i.i.i.i, align 8
  switch i64 %36, label %cond.end26.i.i.i.i [
    i64 -1, label %if.end32.i.i.i.i
    i64 -2, label %cond.true23.i.i.i.i
  ]

cond.true23.i.i.i.i:
  br label %cond.end26.i.i.i.i

cond.end26.i.i.i.i:
  %cond27.i.i.i.i = phi i64 [ %gapless.1.i.i, %cond.true23.i.i.i.i ], [ %36, %if.then17.i.i.i.i ]
  %cmp28.not.i.i.i.i = icmp eq i64 %mul.i.i.i.i, %cond27.i.i.i.i
  br i1 %cmp28.not.i.i.i.i, label %if.end32.i.i.i.i, label %if.end.i.i.i

if.end32.i.i.i.i:
  %row.3.i = phi i64 [ %row.2.i, %cond.end26.i.i.i.i ], [ %row.2.i, %if.end15.i.i.i.i ], [ %mul.i.i.i.i, %if.then17.i.i.i.i ]
  %mul33.i.i.i.i = mul i64 %32, %gapless.1.i.i
  %cmp3.i.i.i.i = icmp samesign ult i64 %i.075.i.i.i.i, 2
  br i1 %cmp3.i.i.i.i, label %if.then.i.i.i, label %for.body.i.i.i.i

if.then.i.i.i:
  %row.4.i = phi i64 [ %row.3.i, %if.end32.i.i.i.i ], [ %29, %for.cond.preheader.i.i.i.i ]
  %gapless.2.i.i = phi i64 [ %mul33.i.i.i.i, %if.end32.i.i.i.i ], [ %31, %for.cond.preheader.i.i.i.i ]
  %any_row.i.i.i = getelementptr inbounds nuw i8, ptr %8, i64 24
  %37 = load i64, ptr %any_row.i.i.i, align 8
  %tobool2.not.i.i.i = icmp eq i64 %37, 0
  br i1 %tobool2.not.i.i.i, label %cond.false13.i.i, label %lor.rhs.i.i.i

lor.rhs.i.i.i:
  %cmp.not.i.i.i = icmp slt i64 %row.4.i, %29
  br i1 %cmp.not.i.i.i, label %cleanup11.i, label %fits.exit.i.i

if.end.i.i.i:
  %.idx.i.i.i = shl i64 %30, 4
  %38 = getelementptr i8, ptr %form.033.i.i.i, i64 %.idx.i.i.i
  %add.ptr.i.i.i53 = getelementptr i8, ptr %38, i64 8
  %dec.i.i.i = add i64 %left.035.i.i.i, -1
  %tobool.not.not.i.i.i = icmp eq i64 %dec.i.i.i, 0
  br i1 %tobool.not.not.i.i.i, label %cleanup11.i, label %for.body.i.i.i

fits.exit.i.i:
  %rem.i.i.i = srem i64 %row.4.i, %31
  %cmp5.i.i.i = icmp eq i64 %rem.i.i.i, 0
  br i1 %cmp5.i.i.i, label %cond.true12.i.i, label %cleanup11.i

cond.true12.i.i:
  %other_rows.i.i = getelementptr inbounds nuw i8, ptr %8, i64 40
  %39 = load i64, ptr %other_rows.i.i, align 8
  %mul.i.i = mul i64 %39, %row.4.i
  %add.i.i = add i64 %mul.i.i, %29
  br label %if.end.i54

cond.false13.i.i:
  %varies.i.i = getelementptr inbounds nuw i8, ptr %8, i64 56
  %40 = load i64, ptr %varies.i.i, align 8
  %tobool14.not.i.i = icmp eq i64 %40, 0
  br i1 %tobool14.not.i.i, label %cond.false16.i.i, label %if.end.i54

cond.false16.i.i:
  %bytes17.i.i = getelementptr inbounds nuw i8, ptr %8, i64 16
  %41 = load i64, ptr %bytes17.i.i, align 8
  br label %if.end.i54

if.end.i54:
  %cond21.i.i = phi i64 [ %add.i.i, %cond.true12.i.i ], [ %41, %cond.false16.i.i ], [ %gapless.2.i.i, %cond.false13.i.i ]
  store ptr %23, ptr %arrayidx5.i, align 16
  %add.ptr.i.i = getelementptr inbounds i8, ptr %23, i64 %cond21.i.i
  %end.i.i = getelementptr inbounds nuw i8, ptr %arrayidx5.i, i64 8
  store ptr %add.ptr.i.i, ptr %end.i.i, align 8
  call void @llvm.lifetime.end.p0(ptr nonnull %view.i.i)
  %42 = ptrtoint ptr %23 to i64
  %arrayidx7.i = getelementptr inbounds i64, ptr %vla3, i64 %i.081.i
  store i64 %42, ptr %arrayidx7.i, align 8
  %43 = load i64, ptr %any_row.i.i.i, align 8
  %tobool.not.i55 = icmp eq i64 %43, 0
  br i1 %tobool.not.i55, label %for.inc.i, label %if.then8.i

if.then8.i:
  %44 = load i64, ptr %itemsize.i.i.i, align 8
  %div.i = sdiv i64 %row.4.i, %44
  %incdec.ptr.i = getelementptr inbounds nuw i8, ptr %rows.082.i, i64 8
  store i64 %div.i, ptr %rows.082.i, align 8
  br label %for.inc.i

for.inc.i:
  %rows.2.i = phi ptr [ %rows.082.i, %if.end.i54 ], [ %incdec.ptr.i, %if.then8.i ]
  %inc.i = add i64 %i.081.i, 1
  %cmp.not.i = icmp sgt i64 %inc.i, %sub.i52
  br i1 %cmp.not.i, label %for.end.i, label %for.body.i

cleanup11.i:
  call void @llvm.lifetime.end.p0(ptr nonnull %view.i.i)
  br label %check_all.exit.thread

for.end.i:
  %sizes.i.i = getelementptr inbounds nuw i8, ptr %1, i64 80
  %varying.i.i = getelementptr inbounds nuw i8, ptr %1, i64 72
  %45 = load i64, ptr %varying.i.i, align 8
  %cmp33.i.i = icmp slt i64 %45, 1
  br i1 %cmp33.i.i, label %if.end16.i, label %for.body.i.i

for.body.i.i:
  %i.034.i.i = phi i64 [ %inc.i.i, %if.end.i.i ], [ 0, %for.end.i ]
  %arrayidx.i.i = getelementptr inbounds nuw %struct.Size, ptr %sizes.i.i, i64 %i.034.i.i
  %arrayidx1.i.i = getelementptr inbounds nuw i64, ptr %said.i, i64 %i.034.i.i
  %46 = load i64, ptr %arrayidx1.i.i, align 8
  %47 = load i64, ptr %arrayidx.i.i, align 8
  %cmp2.i.i = icmp slt i64 %46, %47
  br i1 %cmp2.i.i, label %check_all.exit.thread, label %lor.lhs.false.i.i

lor.lhs.false.i.i:
  %greatest.i.i = getelementptr inbounds nuw i8, ptr %arrayidx.i.i, i64 8
  %48 = load i64, ptr %greatest.i.i, align 8
  %cmp4.i.i = icmp sgt i64 %46, %48
  br i1 %cmp4.i.i, label %check_all.exit.thread, label %lor.lhs.false5.i.i

lor.lhs.false5.i.i:
  %sub.i.i = sub i64 %46, %47
  %step.i.i = getelementptr inbounds nuw i8, ptr %arrayidx.i.i, i64 16
  %49 = load i64, ptr %step.i.i, align 8
  %rem.i.i = srem i64 %sub.i.i, %49
  %tobool.not.i67.i = icmp eq i64 %rem.i.i, 0
  br i1 %tobool.not.i67.i, label %if.end.i.i, label %check_all.exit.thread

if.end.i.i:
  %50 = load i64, ptr %rows1.i, align 8
  %sub10.i.i = sub i64 %50, %45
  %51 = getelementptr i64, ptr %vla3, i64 %sub10.i.i
  %arrayidx11.i.i = getelementptr i64, ptr %51, i64 %i.034.i.i
  store i64 %46, ptr %arrayidx11.i.i, align 8
  %inc.i.i = add nuw nsw i64 %i.034.i.i, 1
  %cmp.not.i.i = icmp slt i64 %inc.i.i, %45
  br i1 %cmp.not.i.i, label %for.body.i.i, label %if.end16.i

if.end16.i:
  %arrayidx17.idx.i = mul nsw i64 %sub.i52, 96
  %arrayidx17.i = getelementptr inbounds i8, ptr %vla, i64 %arrayidx17.idx.i
  %cmp19.not.not83.i = icmp sgt i64 %sub.i52, 0
  br i1 %cmp19.not.not83.i, label %for.body21.lr.ph.i, label %cond.true

for.body21.lr.ph.i:
  %end.i = getelementptr inbounds nuw i8, ptr %arrayidx17.i, i64 8
  %52 = load ptr, ptr %end.i, align 8
  br label %for.body21.i

for.body21.i:
  %input.084.i = phi ptr [ %vla, %for.body21.lr.ph.i ], [ %incdec.ptr30.i, %for.inc29.i ]
  %53 = load ptr, ptr %input.084.i, align 8
  %cmp23.i = icmp ult ptr %53, %52
  br i1 %cmp23.i, label %land.lhs.true.i56, label %for.inc29.i

land.lhs.true.i56:
  %54 = load ptr, ptr %arrayidx17.i, align 16
  %end25.i = getelementptr inbounds nuw i8, ptr %input.084.i, i64 8
  %55 = load ptr, ptr %end25.i, align 8
  %cmp26.i = icmp ult ptr %54, %55
  br i1 %cmp26.i, label %check_all.exit.thread, label %for.inc29.i

for.inc29.i:
  %incdec.ptr30.i = getelementptr inbounds nuw i8, ptr %input.084.i, i64 96
  %cmp19.not.not.i = icmp ult ptr %incdec.ptr30.i, %arrayidx17.i
  br i1 %cmp19.not.not.i, label %for.body21.i, label %cond.true

check_all.exit.thread:
  call void @llvm.lifetime.end.p0(ptr nonnull %said.i)
  br label %cond.end

for.body:
  %i.065 = phi i64 [ %inc, %for.body ], [ 0, %if.then ]
  %arrayidx = getelementptr inbounds nuw %struct.Argument, ptr %vla, i64 %i.065
  %owner = getelementptr inbounds nuw i8, ptr %arrayidx, i64 24
  store ptr null, ptr %owner, align 8
  %inc = add nuw nsw i64 %i.065, 1
  %exitcond.not = icmp eq i64 %inc, %2
  br i1 %exitcond.not, label %for.cond.cleanup, label %for.body

cond.true:
  call void @llvm.lifetime.end.p0(ptr nonnull %said.i)
  %56 = getelementptr ptr, ptr %args, i64 %2
  %arrayidx5 = getelementptr i8, ptr %56, i64 -8
  %57 = load ptr, ptr %arrayidx5, align 8
  %call6 = call fastcc ptr @run_without_lock(ptr noundef %1, ptr noundef nonnull %vla3, ptr noundef %57)
  br label %cond.end

cond.end:
  %retval.5.i59 = phi i1 [ true, %cond.true ], [ false, %check_all.exit.thread ]
  %cond = phi ptr [ %call6, %cond.true ], [ null, %check_all.exit.thread ]
  br i1 %cmp64, label %for.body11, label %for.cond.cleanup10

for.cond.cleanup10:
  call void @llvm.stackrestore.p0(ptr %4)
  br i1 %retval.5.i59, label %cleanup29, label %if.end26

for.body11:
  %i7.067 = phi i64 [ %inc19, %for.inc18 ], [ 0, %cond.end ]
  %arrayidx12 = getelementptr inbounds nuw %struct.Argument, ptr %vla, i64 %i7.067
  %owner14 = getelementptr inbounds nuw i8, ptr %arrayidx12, i64 24
  %58 = load ptr, ptr %owner14, align 8
  %tobool.not = icmp eq ptr %58, null
  br i1 %tobool.not, label %for.inc18, label %if.then15

if.then15:
  %buffer13 = getelementptr inbounds nuw i8, ptr %arrayidx12, i64 16
  call void @PyBuffer_Release(ptr noundef nonnull %buffer13)
  br label %for.inc18

for.inc18:
  %inc19 = add nuw nsw i64 %i7.067, 1
  %exitcond72.not = icmp eq i64 %inc19, %2
  br i1 %exitcond72.not, label %for.cond.cleanup10, label %for.body11

if.end26:
  %call27 = call ptr @PyTuple_GetItem(ptr noundef %self, i64 noundef 1)
  %call28 = call ptr @PyObject_Vectorcall(ptr noundef %call27, ptr noundef %args, i64 noundef %count, ptr noundef %names)
  br label %cleanup29

cleanup29:
  %retval.1 = phi ptr [ %call28, %if.end26 ], [ %cond, %for.cond.cleanup10 ]
  ret ptr %retval.1
}

declare void @llvm.lifetime.start.p0(ptr captures(none))

declare ptr @llvm.stacksave.p0()

declare void @llvm.lifetime.end.p0(ptr captures(none))

define internal fastcc ptr @run_without_lock(ptr noundef %table, ptr noundef %words, ptr noundef %result) {
entry:
  %workspace_bytes = getelementptr inbounds nuw i8, ptr %table, i64 40
  %0 = load i64, ptr %workspace_bytes, align 8
  %tobool.not = icmp eq i64 %0, 0
  br i1 %tobool.not, label %cond.end, label %for.cond.i.preheader

for.cond.i.preheader:
  %slots.i = getelementptr inbounds nuw i8, ptr %table, i64 128
  br label %for.body.i

for.body.i:
  %indvars.iv = phi i64 [ 0, %for.cond.i.preheader ], [ %indvars.iv.next, %for.inc.i ]
  %arrayidx.i = getelementptr inbounds nuw ptr, ptr %slots.i, i64 %indvars.iv
  %1 = load atomic i64, ptr %arrayidx.i monotonic, align 8
  %tobool.not.i = icmp eq i64 %1, 0
  br i1 %tobool.not.i, label %for.inc.i, label %if.end.i

if.end.i:
  %2 = atomicrmw xchg ptr %arrayidx.i, i64 0 acquire, align 8
  %tobool5.not.i = icmp eq i64 %2, 0
  br i1 %tobool5.not.i, label %for.inc.i, label %cond.end.loopexit

for.inc.i:
  %indvars.iv.next = add nuw nsw i64 %indvars.iv, 1
  %exitcond.not = icmp eq i64 %indvars.iv.next, 8
  br i1 %exitcond.not, label %for.end.i, label %for.body.i

for.end.i:
  %call.i = tail call fastcc ptr @new_workspace(ptr noundef nonnull %table)
  br label %cond.end

cond.end.loopexit:
  %3 = inttoptr i64 %2 to ptr
  br label %cond.end

cond.end:
  %cond = phi ptr [ null, %entry ], [ %call.i, %for.end.i ], [ %3, %cond.end.loopexit ]
  %4 = load i64, ptr %workspace_bytes, align 8
  %tobool2 = icmp eq i64 %4, 0
  %tobool3 = icmp ne ptr %cond, null
  %or.cond = select i1 %tobool2, i1 true, i1 %tobool3
  br i1 %or.cond, label %if.end, label %if.then

if.then:
  %call4 = tail call ptr @PyErr_NoMemory()
  br label %cleanup

if.end:
  %call5 = tail call ptr @PyEval_SaveThread()
  %tobool.not.i11 = icmp eq ptr %cond, null
  br i1 %tobool.not.i11, label %if.end.i13, label %if.then.i

if.then.i:
  %5 = ptrtoint ptr %cond to i64
  %arrays.i = getelementptr inbounds nuw i8, ptr %table, i64 16
  %6 = load i64, ptr %arrays.i, align 8
  %arrayidx.i12 = getelementptr inbounds i64, ptr %words, i64 %6
  store i64 %5, ptr %arrayidx.i12, align 8
  br label %if.end.i13

if.end.i13:
  %threads.i = getelementptr inbounds nuw i8, ptr %table, i64 56
  %7 = load i64, ptr %threads.i, align 8
  %cmp.i14 = icmp sgt i64 %7, 1
  br i1 %cmp.i14, label %if.then1.i, label %if.else.i

if.then1.i:
  %8 = load ptr, ptr getelementptr inbounds nuw (i8, ptr @process, i64 88), align 8
  tail call void %8(ptr noundef nonnull @process, ptr noundef nonnull %table, ptr noundef %words)
  br label %if.end2.i

if.else.i:
  %9 = load ptr, ptr %table, align 8
  %arguments.i = getelementptr inbounds nuw i8, ptr %table, i64 32
  %10 = load i64, ptr %arguments.i, align 8
  switch i64 %10, label %sw.default.i [
    i64 1, label %sw.bb.i
    i64 2, label %sw.bb1.i
    i64 3, label %sw.bb4.i
    i64 4, label %sw.bb8.i
    i64 5, label %sw.bb13.i
    i64 6, label %sw.bb19.i
  ]

sw.bb.i:
  %11 = load i64, ptr %words, align 8
  tail call void %9(i64 noundef %11)
  br label %if.end2.i

sw.bb1.i:
  %12 = load i64, ptr %words, align 8
  %arrayidx3.i = getelementptr inbounds nuw i8, ptr %words, i64 8
  %13 = load i64, ptr %arrayidx3.i, align 8
  tail call void %9(i64 noundef %12, i64 noundef %13)
  br label %if.end2.i

sw.bb4.i:
  %14 = load i64, ptr %words, align 8
  %arrayidx6.i = getelementptr inbounds nuw i8, ptr %words, i64 8
  %15 = load i64, ptr %arrayidx6.i, align 8
  %arrayidx7.i = getelementptr inbounds nuw i8, ptr %words, i64 16
  %16 = load i64, ptr %arrayidx7.i, align 8
  tail call void %9(i64 noundef %14, i64 noundef %15, i64 noundef %16)
  br label %if.end2.i

sw.bb8.i:
  %17 = load i64, ptr %words, align 8
  %arrayidx10.i = getelementptr inbounds nuw i8, ptr %words, i64 8
  %18 = load i64, ptr %arrayidx10.i, align 8
  %arrayidx11.i = getelementptr inbounds nuw i8, ptr %words, i64 16
  %19 = load i64, ptr %arrayidx11.i, align 8
  %arrayidx12.i = getelementptr inbounds nuw i8, ptr %words, i64 24
  %20 = load i64, ptr %arrayidx12.i, align 8
  tail call void %9(i64 noundef %17, i64 noundef %18, i64 noundef %19, i64 noundef %20)
  br label %if.end2.i

sw.bb13.i:
  %21 = load i64, ptr %words, align 8
  %arrayidx15.i = getelementptr inbounds nuw i8, ptr %words, i64 8
  %22 = load i64, ptr %arrayidx15.i, align 8
  %arrayidx16.i = getelementptr inbounds nuw i8, ptr %words, i64 16
  %23 = load i64, ptr %arrayidx16.i, align 8
  %arrayidx17.i = getelementptr inbounds nuw i8, ptr %words, i64 24
  %24 = load i64, ptr %arrayidx17.i, align 8
  %arrayidx18.i = getelementptr inbounds nuw i8, ptr %words, i64 32
  %25 = load i64, ptr %arrayidx18.i, align 8
  tail call void %9(i64 noundef %21, i64 noundef %22, i64 noundef %23, i64 noundef %24, i64 noundef %25)
  br label %if.end2.i

sw.bb19.i:
  %26 = load i64, ptr %words, align 8
  %arrayidx21.i = getelementptr inbounds nuw i8, ptr %words, i64 8
  %27 = load i64, ptr %arrayidx21.i, align 8
  %arrayidx22.i = getelementptr inbounds nuw i8, ptr %words, i64 16
  %28 = load i64, ptr %arrayidx22.i, align 8
  %arrayidx23.i = getelementptr inbounds nuw i8, ptr %words, i64 24
  %29 = load i64, ptr %arrayidx23.i, align 8
  %arrayidx24.i = getelementptr inbounds nuw i8, ptr %words, i64 32
  %30 = load i64, ptr %arrayidx24.i, align 8
  %arrayidx25.i = getelementptr inbounds nuw i8, ptr %words, i64 40
  %31 = load i64, ptr %arrayidx25.i, align 8
  tail call void %9(i64 noundef %26, i64 noundef %27, i64 noundef %28, i64 noundef %29, i64 noundef %30, i64 noundef %31)
  br label %if.end2.i

sw.default.i:
  %spread.i = getelementptr inbounds nuw i8, ptr %table, i64 8
  %32 = load ptr, ptr %spread.i, align 8
  tail call void %32(ptr noundef %9, ptr noundef %words)
  br label %if.end2.i

if.end2.i:
  br i1 %tobool.not.i11, label %run_with.exit, label %for.cond.i15.preheader

for.cond.i15.preheader:
  %slots.i21 = getelementptr inbounds nuw i8, ptr %table, i64 128
  %33 = ptrtoint ptr %cond to i64
  br label %for.body.i20

for.body.i20:
  %indvars.iv37 = phi i64 [ 0, %for.cond.i15.preheader ], [ %indvars.iv.next38, %for.inc.i25 ]
  %arrayidx.i23 = getelementptr inbounds nuw ptr, ptr %slots.i21, i64 %indvars.iv37
  %34 = load atomic i64, ptr %arrayidx.i23 monotonic, align 8
  %tobool.not.i24 = icmp eq i64 %34, 0
  br i1 %tobool.not.i24, label %if.end.i27, label %for.inc.i25

if.end.i27:
  %35 = cmpxchg ptr %arrayidx.i23, i64 0, i64 %33 release monotonic, align 8
  %36 = extractvalue { i64, i1 } %35, 1
  br i1 %36, label %run_with.exit, label %for.inc.i25

for.inc.i25:
  %indvars.iv.next38 = add nuw nsw i64 %indvars.iv37, 1
  %exitcond40.not = icmp eq i64 %indvars.iv.next38, 8
  br i1 %exitcond40.not, label %for.end.i19, label %for.body.i20

for.end.i19:
  tail call void @free(ptr noundef nonnull %cond)
  br label %run_with.exit

run_with.exit:
  tail call void @PyEval_RestoreThread(ptr noundef %call5)
  tail call void @Py_IncRef(ptr noundef %result)
  br label %cleanup

cleanup:
  %retval.0 = phi ptr [ %result, %run_with.exit ], [ %call4, %if.then ]
  ret ptr %retval.0
}

declare void @PyBuffer_Release(ptr noundef)

declare void @llvm.stackrestore.p0(ptr)

declare ptr @PyObject_Vectorcall(ptr noundef, ptr noundef, i64 noundef, ptr noundef)

declare ptr @PyTuple_GetItem(ptr noundef, i64 noundef)

define ptr @bound(ptr noundef %self, ptr noundef readnone captures(none) %nothing) {
entry:
  %call = tail call ptr @PyTuple_GetItem(ptr noundef %self, i64 noundef 0)
  %0 = load i64, ptr getelementptr inbounds nuw (i8, ptr @process, i64 32), align 8
  %add.ptr.i.i = getelementptr inbounds i8, ptr %call, i64 %0
  %1 = load ptr, ptr %add.ptr.i.i, align 8
  %2 = load ptr, ptr %1, align 8
  %workspace_bytes = getelementptr inbounds nuw i8, ptr %2, i64 40
  %3 = load i64, ptr %workspace_bytes, align 8
  %tobool.not = icmp eq i64 %3, 0
  br i1 %tobool.not, label %if.then, label %if.end

if.then:
  %words = getelementptr inbounds nuw i8, ptr %1, i64 16
  %result = getelementptr inbounds nuw i8, ptr %1, i64 8
  %4 = load ptr, ptr %result, align 8
  %call3 = tail call fastcc ptr @run_without_lock(ptr noundef nonnull %2, ptr noundef nonnull %words, ptr noundef %4)
  br label %cleanup

if.end:
  %arguments = getelementptr inbounds nuw i8, ptr %2, i64 32
  %5 = load i64, ptr %arguments, align 8
  %6 = tail call ptr @llvm.stacksave.p0()
  %vla = alloca i64, i64 %5, align 16
  %7 = load i64, ptr %arguments, align 8
  %cmp21 = icmp sgt i64 %7, 0
  br i1 %cmp21, label %for.body.lr.ph, label %for.cond.cleanup

for.body.lr.ph:
  %words5 = getelementptr inbounds nuw i8, ptr %1, i64 16
  br label %for.body

for.cond.cleanup:
  %result7 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %8 = load ptr, ptr %result7, align 8
  %call8 = call fastcc ptr @run_without_lock(ptr noundef nonnull %2, ptr noundef nonnull %vla, ptr noundef %8)
  call void @llvm.stackrestore.p0(ptr %6)
  br label %cleanup

for.body:
  %i.022 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.body ]
  %arrayidx = getelementptr inbounds nuw i64, ptr %words5, i64 %i.022
  %9 = load i64, ptr %arrayidx, align 8
  %arrayidx6 = getelementptr inbounds nuw i64, ptr %vla, i64 %i.022
  store i64 %9, ptr %arrayidx6, align 8
  %inc = add nuw nsw i64 %i.022, 1
  %cmp = icmp slt i64 %inc, %7
  br i1 %cmp, label %for.body, label %for.cond.cleanup

cleanup:
  %retval.0 = phi ptr [ %call8, %for.cond.cleanup ], [ %call3, %if.then ]
  ret ptr %retval.0
}

define ptr @call_on_addresses(ptr noundef %self, ptr noundef readonly captures(none) %args, i64 noundef %count) {
entry:
  %call.i = tail call ptr @PyTuple_GetItem(ptr noundef %self, i64 noundef 0)
  %0 = load i64, ptr getelementptr inbounds nuw (i8, ptr @process, i64 32), align 8
  %add.ptr.i.i.i = getelementptr inbounds i8, ptr %call.i, i64 %0
  %1 = load ptr, ptr %add.ptr.i.i.i, align 8
  %arguments = getelementptr inbounds nuw i8, ptr %1, i64 32
  %2 = load i64, ptr %arguments, align 8
  %vla = alloca i64, i64 %2, align 16
  %arrays = getelementptr inbounds nuw i8, ptr %1, i64 16
  %3 = load i64, ptr %arrays, align 8
  %cmp31 = icmp sgt i64 %3, 0
  br i1 %cmp31, label %for.body, label %for.cond4.preheader

for.cond4.preheader:
  %varying = getelementptr inbounds nuw i8, ptr %1, i64 72
  %4 = load i64, ptr %varying, align 8
  %cmp533 = icmp sgt i64 %4, 0
  br i1 %cmp533, label %for.body7.lr.ph, label %for.cond.cleanup6

for.body7.lr.ph:
  %rows = getelementptr inbounds nuw i8, ptr %1, i64 24
  br label %for.body7

for.body:
  %i.032 = phi i64 [ %inc, %for.body ], [ 0, %entry ]
  %arrayidx = getelementptr inbounds nuw ptr, ptr %args, i64 %i.032
  %5 = load ptr, ptr %arrayidx, align 8
  %call1 = tail call ptr @PyLong_AsVoidPtr(ptr noundef %5)
  %6 = ptrtoint ptr %call1 to i64
  %arrayidx2 = getelementptr inbounds nuw i64, ptr %vla, i64 %i.032
  store i64 %6, ptr %arrayidx2, align 8
  %inc = add nuw nsw i64 %i.032, 1
  %7 = load i64, ptr %arrays, align 8
  %cmp = icmp slt i64 %inc, %7
  br i1 %cmp, label %for.body, label %for.cond4.preheader

for.cond.cleanup6:
  %8 = load ptr, ptr getelementptr inbounds nuw (i8, ptr @process, i64 64), align 8
  %call17 = call fastcc ptr @run_without_lock(ptr noundef nonnull %1, ptr noundef nonnull %vla, ptr noundef %8)
  ret ptr %call17

for.body7:
  %i3.034 = phi i64 [ 0, %for.body7.lr.ph ], [ %inc15, %for.body7 ]
  %9 = load i64, ptr %arrays, align 8
  %10 = getelementptr ptr, ptr %args, i64 %9
  %arrayidx9 = getelementptr ptr, ptr %10, i64 %i3.034
  %11 = load ptr, ptr %arrayidx9, align 8
  %call10 = tail call ptr @PyLong_AsVoidPtr(ptr noundef %11)
  %12 = ptrtoint ptr %call10 to i64
  %13 = load i64, ptr %rows, align 8
  %14 = load i64, ptr %varying, align 8
  %sub = sub i64 %13, %14
  %15 = getelementptr i64, ptr %vla, i64 %sub
  %arrayidx13 = getelementptr i64, ptr %15, i64 %i3.034
  store i64 %12, ptr %arrayidx13, align 8
  %inc15 = add nuw nsw i64 %i3.034, 1
  %cmp5 = icmp slt i64 %inc15, %14
  br i1 %cmp5, label %for.body7, label %for.cond.cleanup6
}

declare ptr @PyLong_AsVoidPtr(ptr noundef)

define range(i32 0, 2) i32 @run(ptr noundef %table, ptr noundef %words) {
entry:
  %workspace_bytes = getelementptr inbounds nuw i8, ptr %table, i64 40
  %0 = load i64, ptr %workspace_bytes, align 8
  %tobool.not = icmp eq i64 %0, 0
  br i1 %tobool.not, label %if.end.i10, label %for.cond.i.preheader

for.cond.i.preheader:
  %slots.i = getelementptr inbounds nuw i8, ptr %table, i64 128
  br label %for.body.i

for.body.i:
  %indvars.iv = phi i64 [ 0, %for.cond.i.preheader ], [ %indvars.iv.next, %for.inc.i ]
  %arrayidx.i = getelementptr inbounds nuw ptr, ptr %slots.i, i64 %indvars.iv
  %1 = load atomic i64, ptr %arrayidx.i monotonic, align 8
  %tobool.not.i = icmp eq i64 %1, 0
  br i1 %tobool.not.i, label %for.inc.i, label %if.end.i

if.end.i:
  %2 = atomicrmw xchg ptr %arrayidx.i, i64 0 acquire, align 8
  %tobool5.not.i = icmp eq i64 %2, 0
  br i1 %tobool5.not.i, label %for.inc.i, label %cond.end.loopexit

for.inc.i:
  %indvars.iv.next = add nuw nsw i64 %indvars.iv, 1
  %exitcond.not = icmp eq i64 %indvars.iv.next, 8
  br i1 %exitcond.not, label %for.end.i, label %for.body.i

for.end.i:
  %call.i = tail call fastcc ptr @new_workspace(ptr noundef nonnull %table)
  br label %cond.end

cond.end.loopexit:
  %3 = inttoptr i64 %2 to ptr
  br label %cond.end

cond.end:
  %cond = phi ptr [ %call.i, %for.end.i ], [ %3, %cond.end.loopexit ]
  %4 = load i64, ptr %workspace_bytes, align 8
  %tobool2 = icmp eq i64 %4, 0
  %tobool3 = icmp ne ptr %cond, null
  %or.cond = select i1 %tobool2, i1 true, i1 %tobool3
  br i1 %or.cond, label %if.end, label %cleanup

if.end:
  %tobool.not.i8 = icmp eq ptr %cond, null
  br i1 %tobool.not.i8, label %if.end.i10, label %if.then.i

if.then.i:
  %5 = ptrtoint ptr %cond to i64
  %arrays.i = getelementptr inbounds nuw i8, ptr %table, i64 16
  %6 = load i64, ptr %arrays.i, align 8
  %arrayidx.i9 = getelementptr inbounds i64, ptr %words, i64 %6
  store i64 %5, ptr %arrayidx.i9, align 8
  br label %if.end.i10

if.end.i10:
  %tobool.not.i836 = phi i1 [ true, %if.end ], [ false, %if.then.i ], [ true, %entry ]
  %cond3235 = phi ptr [ null, %if.end ], [ %cond, %if.then.i ], [ null, %entry ]
  %threads.i = getelementptr inbounds nuw i8, ptr %table, i64 56
  %7 = load i64, ptr %threads.i, align 8
  %cmp.i11 = icmp sgt i64 %7, 1
  br i1 %cmp.i11, label %if.then1.i, label %if.else.i

if.then1.i:
  %8 = load ptr, ptr getelementptr inbounds nuw (i8, ptr @process, i64 88), align 8
  tail call void %8(ptr noundef nonnull @process, ptr noundef nonnull %table, ptr noundef %words)
  br label %if.end2.i

if.else.i:
  %9 = load ptr, ptr %table, align 8
  %arguments.i = getelementptr inbounds nuw i8, ptr %table, i64 32
  %10 = load i64, ptr %arguments.i, align 8
  switch i64 %10, label %sw.default.i [
    i64 1, label %sw.bb.i
    i64 2, label %sw.bb1.i
    i64 3, label %sw.bb4.i
    i64 4, label %sw.bb8.i
    i64 5, label %sw.bb13.i
    i64 6, label %sw.bb19.i
  ]

sw.bb.i:
  %11 = load i64, ptr %words, align 8
  tail call void %9(i64 noundef %11)
  br label %if.end2.i

sw.bb1.i:
  %12 = load i64, ptr %words, align 8
  %arrayidx3.i = getelementptr inbounds nuw i8, ptr %words, i64 8
  %13 = load i64, ptr %arrayidx3.i, align 8
  tail call void %9(i64 noundef %12, i64 noundef %13)
  br label %if.end2.i

sw.bb4.i:
  %14 = load i64, ptr %words, align 8
  %arrayidx6.i = getelementptr inbounds nuw i8, ptr %words, i64 8
  %15 = load i64, ptr %arrayidx6.i, align 8
  %arrayidx7.i = getelementptr inbounds nuw i8, ptr %words, i64 16
  %16 = load i64, ptr %arrayidx7.i, align 8
  tail call void %9(i64 noundef %14, i64 noundef %15, i64 noundef %16)
  br label %if.end2.i

sw.bb8.i:
  %17 = load i64, ptr %words, align 8
  %arrayidx10.i = getelementptr inbounds nuw i8, ptr %words, i64 8
  %18 = load i64, ptr %arrayidx10.i, align 8
  %arrayidx11.i = getelementptr inbounds nuw i8, ptr %words, i64 16
  %19 = load i64, ptr %arrayidx11.i, align 8
  %arrayidx12.i = getelementptr inbounds nuw i8, ptr %words, i64 24
  %20 = load i64, ptr %arrayidx12.i, align 8
  tail call void %9(i64 noundef %17, i64 noundef %18, i64 noundef %19, i64 noundef %20)
  br label %if.end2.i

sw.bb13.i:
  %21 = load i64, ptr %words, align 8
  %arrayidx15.i = getelementptr inbounds nuw i8, ptr %words, i64 8
  %22 = load i64, ptr %arrayidx15.i, align 8
  %arrayidx16.i = getelementptr inbounds nuw i8, ptr %words, i64 16
  %23 = load i64, ptr %arrayidx16.i, align 8
  %arrayidx17.i = getelementptr inbounds nuw i8, ptr %words, i64 24
  %24 = load i64, ptr %arrayidx17.i, align 8
  %arrayidx18.i = getelementptr inbounds nuw i8, ptr %words, i64 32
  %25 = load i64, ptr %arrayidx18.i, align 8
  tail call void %9(i64 noundef %21, i64 noundef %22, i64 noundef %23, i64 noundef %24, i64 noundef %25)
  br label %if.end2.i

sw.bb19.i:
  %26 = load i64, ptr %words, align 8
  %arrayidx21.i = getelementptr inbounds nuw i8, ptr %words, i64 8
  %27 = load i64, ptr %arrayidx21.i, align 8
  %arrayidx22.i = getelementptr inbounds nuw i8, ptr %words, i64 16
  %28 = load i64, ptr %arrayidx22.i, align 8
  %arrayidx23.i = getelementptr inbounds nuw i8, ptr %words, i64 24
  %29 = load i64, ptr %arrayidx23.i, align 8
  %arrayidx24.i = getelementptr inbounds nuw i8, ptr %words, i64 32
  %30 = load i64, ptr %arrayidx24.i, align 8
  %arrayidx25.i = getelementptr inbounds nuw i8, ptr %words, i64 40
  %31 = load i64, ptr %arrayidx25.i, align 8
  tail call void %9(i64 noundef %26, i64 noundef %27, i64 noundef %28, i64 noundef %29, i64 noundef %30, i64 noundef %31)
  br label %if.end2.i

sw.default.i:
  %spread.i = getelementptr inbounds nuw i8, ptr %table, i64 8
  %32 = load ptr, ptr %spread.i, align 8
  tail call void %32(ptr noundef %9, ptr noundef %words)
  br label %if.end2.i

if.end2.i:
  br i1 %tobool.not.i836, label %cleanup, label %for.cond.i12.preheader

for.cond.i12.preheader:
  %slots.i18 = getelementptr inbounds nuw i8, ptr %table, i64 128
  %33 = ptrtoint ptr %cond3235 to i64
  br label %for.body.i17

for.body.i17:
  %indvars.iv43 = phi i64 [ 0, %for.cond.i12.preheader ], [ %indvars.iv.next44, %for.inc.i22 ]
  %arrayidx.i20 = getelementptr inbounds nuw ptr, ptr %slots.i18, i64 %indvars.iv43
  %34 = load atomic i64, ptr %arrayidx.i20 monotonic, align 8
  %tobool.not.i21 = icmp eq i64 %34, 0
  br i1 %tobool.not.i21, label %if.end.i24, label %for.inc.i22

if.end.i24:
  %35 = cmpxchg ptr %arrayidx.i20, i64 0, i64 %33 release monotonic, align 8
  %36 = extractvalue { i64, i1 } %35, 1
  br i1 %36, label %cleanup, label %for.inc.i22

for.inc.i22:
  %indvars.iv.next44 = add nuw nsw i64 %indvars.iv43, 1
  %exitcond46.not = icmp eq i64 %indvars.iv.next44, 8
  br i1 %exitcond46.not, label %for.end.i16, label %for.body.i17

for.end.i16:
  tail call void @free(ptr noundef nonnull %cond3235)
  br label %cleanup

cleanup:
  %retval.0 = phi i32 [ 0, %if.end2.i ], [ 1, %cond.end ], [ 0, %for.end.i16 ], [ 0, %if.end.i24 ]
  ret i32 %retval.0
}

define noundef nonnull ptr @the_process() {
entry:
  ret ptr @process
}

declare i64 @PyTuple_Size(ptr noundef)

declare void @llvm.memset.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg)

declare ptr @PyErr_NoMemory()

declare ptr @PyEval_SaveThread()

declare void @PyEval_RestoreThread(ptr noundef)

declare void @Py_IncRef(ptr noundef)

define internal fastcc ptr @new_workspace(ptr noundef readonly captures(none) %table) {
entry:
  %workspace_alignment = getelementptr inbounds nuw i8, ptr %table, i64 48
  %0 = load i64, ptr %workspace_alignment, align 8
  %workspace_bytes = getelementptr inbounds nuw i8, ptr %table, i64 40
  %1 = load i64, ptr %workspace_bytes, align 8
  %call = tail call ptr @aligned_alloc(i64 noundef %0, i64 noundef %1)
  %tobool.not = icmp eq ptr %call, null
  br i1 %tobool.not, label %if.end, label %land.lhs.true

land.lhs.true:
  %2 = load i64, ptr %workspace_alignment, align 8
  %cmp = icmp sgt i64 %2, 4096
  br i1 %cmp, label %if.then, label %if.end

if.then:
  %3 = load i64, ptr %workspace_bytes, align 8
  %call3 = tail call i32 @madvise(ptr noundef nonnull %call, i64 noundef %3, i32 noundef 14)
  br label %if.end

if.end:
  ret ptr %call
}

declare ptr @aligned_alloc(i64 noundef, i64 noundef)

declare i32 @madvise(ptr noundef, i64 noundef, i32 noundef)

declare void @free(ptr noundef)
