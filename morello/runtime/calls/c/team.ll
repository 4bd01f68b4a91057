; Made by build.py of the C beside it: change that.

@callers = internal global [64 x i64] zeroinitializer, align 16
@tried = internal global [64 x i64] zeroinitializer, align 16

define i64 @join(ptr noundef captures(none) %process, ptr noundef readonly captures(none) %table) {
entry:
  %busy1 = getelementptr inbounds nuw i8, ptr %process, i64 112
  %threads2 = getelementptr inbounds nuw i8, ptr %table, i64 56
  %0 = load i64, ptr %threads2, align 8
  %1 = atomicrmw add ptr %busy1, i64 %0 monotonic, align 8
  %cmp = icmp eq i64 %1, 0
  br i1 %cmp, label %land.lhs.true, label %lor.rhs

lor.rhs:
  %add = add i64 %1, %0
  %processors = getelementptr inbounds nuw i8, ptr %table, i64 64
  %2 = load i64, ptr %processors, align 8
  %cmp3.not = icmp sgt i64 %add, %2
  br i1 %cmp3.not, label %if.end, label %land.lhs.true

land.lhs.true:
  %call = tail call fastcc zeroext i1 @startable(i64 noundef %0)
  br i1 %call, label %cleanup, label %if.end

if.end:
  %sub = add i64 %0, -1
  %3 = atomicrmw sub ptr %busy1, i64 %sub monotonic, align 8
  br label %cleanup

cleanup:
  %retval.0 = phi i64 [ 1, %if.end ], [ %0, %land.lhs.true ]
  ret i64 %retval.0
}

declare void @llvm.lifetime.start.p0(ptr captures(none))

define internal fastcc noundef zeroext i1 @startable(i64 noundef %threads) {
entry:
  %gate = alloca [64 x i8], align 16
  %call = tail call i64 @pthread_self()
  %shr = lshr i64 %call, 12
  %rem = and i64 %shr, 63
  %arrayidx = getelementptr inbounds nuw i64, ptr @callers, i64 %rem
  %0 = load atomic i64, ptr %arrayidx monotonic, align 8
  %cmp = icmp eq i64 %0, %call
  br i1 %cmp, label %land.lhs.true, label %if.end

land.lhs.true:
  %arrayidx1 = getelementptr inbounds nuw i64, ptr @tried, i64 %rem
  %1 = load atomic i64, ptr %arrayidx1 monotonic, align 8
  %cmp3.not = icmp slt i64 %1, %threads
  br i1 %cmp3.not, label %if.end, label %cleanup28

if.end:
  call void @llvm.lifetime.start.p0(ptr nonnull %gate)
  %sub = add i64 %threads, -1
  %2 = tail call ptr @llvm.stacksave.p0()
  %vla = alloca i64, i64 %sub, align 16
  %call4 = call i32 @pthread_mutex_init(ptr noundef nonnull %gate, ptr noundef null)
  %call6 = call i32 @pthread_mutex_lock(ptr noundef nonnull %gate)
  %cmp745 = icmp slt i64 %sub, 1
  br i1 %cmp745, label %for.cond.cleanup.thread, label %land.rhs

for.cond.cleanup.thread:
  %call1256 = call i32 @pthread_mutex_unlock(ptr noundef nonnull %gate)
  %call1867 = call i32 @pthread_mutex_destroy(ptr noundef nonnull %gate)
  br label %if.end21

land.rhs:
  %started.046 = phi i64 [ %inc, %while.body ], [ 0, %if.end ]
  %arrayidx8 = getelementptr inbounds nuw i64, ptr %vla, i64 %started.046
  %call10 = call i32 @pthread_create(ptr noundef nonnull %arrayidx8, ptr noundef null, ptr noundef nonnull @pass, ptr noundef nonnull %gate)
  %tobool.not = icmp eq i32 %call10, 0
  br i1 %tobool.not, label %while.body, label %while.end

while.body:
  %inc = add nuw nsw i64 %started.046, 1
  %exitcond.not = icmp eq i64 %inc, %sub
  br i1 %exitcond.not, label %while.end.thread59, label %land.rhs

while.end.thread59:
  %call1262 = call i32 @pthread_mutex_unlock(ptr noundef nonnull %gate)
  br label %for.body.preheader

while.end:
  %call12 = call i32 @pthread_mutex_unlock(ptr noundef nonnull %gate)
  %cmp1351.not = icmp eq i64 %started.046, 0
  br i1 %cmp1351.not, label %for.cond.cleanup.thread70, label %for.body.preheader

for.cond.cleanup.thread70:
  %call1872 = call i32 @pthread_mutex_destroy(ptr noundef nonnull %gate)
  br label %cleanup

for.body.preheader:
  %started.0.lcssa64 = phi i64 [ %sub, %while.end.thread59 ], [ %started.046, %while.end ]
  br label %for.body

for.cond.cleanup:
  %call18 = call i32 @pthread_mutex_destroy(ptr noundef nonnull %gate)
  br i1 %tobool.not, label %if.end21, label %cleanup

for.body:
  %i.052 = phi i64 [ %inc16, %for.body ], [ 0, %for.body.preheader ]
  %arrayidx14 = getelementptr inbounds nuw i64, ptr %vla, i64 %i.052
  %3 = load i64, ptr %arrayidx14, align 8
  %call15 = call i32 @pthread_join(i64 noundef %3, ptr noundef null)
  %inc16 = add nuw nsw i64 %i.052, 1
  %exitcond53.not = icmp eq i64 %inc16, %started.0.lcssa64
  br i1 %exitcond53.not, label %for.cond.cleanup, label %for.body

if.end21:
  %arrayidx22 = getelementptr inbounds nuw i64, ptr @tried, i64 %rem
  store atomic i64 %threads, ptr %arrayidx22 monotonic, align 8
  store atomic i64 %call, ptr %arrayidx monotonic, align 8
  br label %cleanup

cleanup:
  %cmp7.lcssa5868 = phi i1 [ false, %for.cond.cleanup ], [ true, %if.end21 ], [ false, %for.cond.cleanup.thread70 ]
  call void @llvm.stackrestore.p0(ptr %2)
  call void @llvm.lifetime.end.p0(ptr nonnull %gate)
  br label %cleanup28

cleanup28:
  %retval.1 = phi i1 [ %cmp7.lcssa5868, %cleanup ], [ true, %land.lhs.true ]
  ret i1 %retval.1
}

declare void @llvm.lifetime.end.p0(ptr captures(none))

define void @run_in_team(ptr noundef captures(none) %process, ptr noundef readonly captures(none) %table, ptr noundef %arguments) {
entry:
  %call = tail call i64 @join(ptr noundef %process, ptr noundef %table)
  %cmp = icmp sgt i64 %call, 1
  br i1 %cmp, label %if.then, label %if.else

if.then:
  %0 = load ptr, ptr %table, align 8
  %arguments.i = getelementptr inbounds nuw i8, ptr %table, i64 32
  %1 = load i64, ptr %arguments.i, align 8
  switch i64 %1, label %sw.default.i [
    i64 1, label %sw.bb.i
    i64 2, label %sw.bb1.i
    i64 3, label %sw.bb4.i
    i64 4, label %sw.bb8.i
    i64 5, label %sw.bb13.i
    i64 6, label %sw.bb19.i
  ]

sw.bb.i:
  %2 = load i64, ptr %arguments, align 8
  tail call void %0(i64 noundef %2)
  br label %if.end

sw.bb1.i:
  %3 = load i64, ptr %arguments, align 8
  %arrayidx3.i = getelementptr inbounds nuw i8, ptr %arguments, i64 8
  %4 = load i64, ptr %arrayidx3.i, align 8
  tail call void %0(i64 noundef %3, i64 noundef %4)
  br label %if.end

sw.bb4.i:
  %5 = load i64, ptr %arguments, align 8
  %arrayidx6.i = getelementptr inbounds nuw i8, ptr %arguments, i64 8
  %6 = load i64, ptr %arrayidx6.i, align 8
  %arrayidx7.i = getelementptr inbounds nuw i8, ptr %arguments, i64 16
  %7 = load i64, ptr %arrayidx7.i, align 8
  tail call void %0(i64 noundef %5, i64 noundef %6, i64 noundef %7)
  br label %if.end

sw.bb8.i:
  %8 = load i64, ptr %arguments, align 8
  %arrayidx10.i = getelementptr inbounds nuw i8, ptr %arguments, i64 8
  %9 = load i64, ptr %arrayidx10.i, align 8
  %arrayidx11.i = getelementptr inbounds nuw i8, ptr %arguments, i64 16
  %10 = load i64, ptr %arrayidx11.i, align 8
  %arrayidx12.i = getelementptr inbounds nuw i8, ptr %arguments, i64 24
  %11 = load i64, ptr %arrayidx12.i, align 8
  tail call void %0(i64 noundef %8, i64 noundef %9, i64 noundef %10, i64 noundef %11)
  br label %if.end

sw.bb13.i:
  %12 = load i64, ptr %arguments, align 8
  %arrayidx15.i = getelementptr inbounds nuw i8, ptr %arguments, i64 8
  %13 = load i64, ptr %arrayidx15.i, align 8
  %arrayidx16.i = getelementptr inbounds nuw i8, ptr %arguments, i64 16
  %14 = load i64, ptr %arrayidx16.i, align 8
  %arrayidx17.i = getelementptr inbounds nuw i8, ptr %arguments, i64 24
  %15 = load i64, ptr %arrayidx17.i, align 8
  %arrayidx18.i = getelementptr inbounds nuw i8, ptr %arguments, i64 32
  %16 = load i64, ptr %arrayidx18.i, align 8
  tail call void %0(i64 noundef %12, i64 noundef %13, i64 noundef %14, i64 noundef %15, i64 noundef %16)
  br label %if.end

sw.bb19.i:
  %17 = load i64, ptr %arguments, align 8
  %arrayidx21.i = getelementptr inbounds nuw i8, ptr %arguments, i64 8
  %18 = load i64, ptr %arrayidx21.i, align 8
  %arrayidx22.i = getelementptr inbounds nuw i8, ptr %arguments, i64 16
  %19 = load i64, ptr %arrayidx22.i, align 8
  %arrayidx23.i = getelementptr inbounds nuw i8, ptr %arguments, i64 24
  %20 = load i64, ptr %arrayidx23.i, align 8
  %arrayidx24.i = getelementptr inbounds nuw i8, ptr %arguments, i64 32
  %21 = load i64, ptr %arrayidx24.i, align 8
  %arrayidx25.i = getelementptr inbounds nuw i8, ptr %arguments, i64 40
  %22 = load i64, ptr %arrayidx25.i, align 8
  tail call void %0(i64 noundef %17, i64 noundef %18, i64 noundef %19, i64 noundef %20, i64 noundef %21, i64 noundef %22)
  br label %if.end

sw.default.i:
  %spread.i = getelementptr inbounds nuw i8, ptr %table, i64 8
  %23 = load ptr, ptr %spread.i, align 8
  tail call void %23(ptr noundef %0, ptr noundef %arguments)
  br label %if.end

if.else:
  %levels1 = getelementptr inbounds nuw i8, ptr %process, i64 96
  %24 = load ptr, ptr %levels1, align 8
  %call2 = tail call i32 %24()
  %set_levels = getelementptr inbounds nuw i8, ptr %process, i64 104
  %25 = load ptr, ptr %set_levels, align 8
  tail call void %25(i32 noundef 0)
  %26 = load ptr, ptr %table, align 8
  %arguments.i12 = getelementptr inbounds nuw i8, ptr %table, i64 32
  %27 = load i64, ptr %arguments.i12, align 8
  switch i64 %27, label %sw.default.i34 [
    i64 1, label %sw.bb.i33
    i64 2, label %sw.bb1.i31
    i64 3, label %sw.bb4.i28
    i64 4, label %sw.bb8.i24
    i64 5, label %sw.bb13.i19
    i64 6, label %sw.bb19.i13
  ]

sw.bb.i33:
  %28 = load i64, ptr %arguments, align 8
  tail call void %26(i64 noundef %28)
  br label %spread.exit36

sw.bb1.i31:
  %29 = load i64, ptr %arguments, align 8
  %arrayidx3.i32 = getelementptr inbounds nuw i8, ptr %arguments, i64 8
  %30 = load i64, ptr %arrayidx3.i32, align 8
  tail call void %26(i64 noundef %29, i64 noundef %30)
  br label %spread.exit36

sw.bb4.i28:
  %31 = load i64, ptr %arguments, align 8
  %arrayidx6.i29 = getelementptr inbounds nuw i8, ptr %arguments, i64 8
  %32 = load i64, ptr %arrayidx6.i29, align 8
  %arrayidx7.i30 = getelementptr inbounds nuw i8, ptr %arguments, i64 16
  %33 = load i64, ptr %arrayidx7.i30, align 8
  tail call void %26(i64 noundef %31, i64 noundef %32, i64 noundef %33)
  br label %spread.exit36

sw.bb8.i24:
  %34 = load i64, ptr %arguments, align 8
  %arrayidx10.i25 = getelementptr inbounds nuw i8, ptr %arguments, i64 8
  %35 = load i64, ptr %arrayidx10.i25, align 8
  %arrayidx11.i26 = getelementptr inbounds nuw i8, ptr %arguments, i64 16
  %36 = load i64, ptr %arrayidx11.i26, align 8
  %arrayidx12.i27 = getelementptr inbounds nuw i8, ptr %arguments, i64 24
  %37 = load i64, ptr %arrayidx12.i27, align 8
  tail call void %26(i64 noundef %34, i64 noundef %35, i64 noundef %36, i64 noundef %37)
  br label %spread.exit36

sw.bb13.i19:
  %38 = load i64, ptr %arguments, align 8
  %arrayidx15.i20 = getelementptr inbounds nuw i8, ptr %arguments, i64 8
  %39 = load i64, ptr %arrayidx15.i20, align 8
  %arrayidx16.i21 = getelementptr inbounds nuw i8, ptr %arguments, i64 16
  %40 = load i64, ptr %arrayidx16.i21, align 8
  %arrayidx17.i22 = getelementptr inbounds nuw i8, ptr %arguments, i64 24
  %41 = load i64, ptr %arrayidx17.i22, align 8
  %arrayidx18.i23 = getelementptr inbounds nuw i8, ptr %arguments, i64 32
  %42 = load i64, ptr %arrayidx18.i23, align 8
  tail call void %26(i64 noundef %38, i64 noundef %39, i64 noundef %40, i64 noundef %41, i64 noundef %42)
  br label %spread.exit36

sw.bb19.i13:
  %43 = load i64, ptr %arguments, align 8
  %arrayidx21.i14 = getelementptr inbounds nuw i8, ptr %arguments, i64 8
  %44 = load i64, ptr %arrayidx21.i14, align 8
  %arrayidx22.i15 = getelementptr inbounds nuw i8, ptr %arguments, i64 16
  %45 = load i64, ptr %arrayidx22.i15, align 8
  %arrayidx23.i16 = getelementptr inbounds nuw i8, ptr %arguments, i64 24
  %46 = load i64, ptr %arrayidx23.i16, align 8
  %arrayidx24.i17 = getelementptr inbounds nuw i8, ptr %arguments, i64 32
  %47 = load i64, ptr %arrayidx24.i17, align 8
  %arrayidx25.i18 = getelementptr inbounds nuw i8, ptr %arguments, i64 40
  %48 = load i64, ptr %arrayidx25.i18, align 8
  tail call void %26(i64 noundef %43, i64 noundef %44, i64 noundef %45, i64 noundef %46, i64 noundef %47, i64 noundef %48)
  br label %spread.exit36

sw.default.i34:
  %spread.i35 = getelementptr inbounds nuw i8, ptr %table, i64 8
  %49 = load ptr, ptr %spread.i35, align 8
  tail call void %49(ptr noundef %26, ptr noundef %arguments)
  br label %spread.exit36

spread.exit36:
  %50 = load ptr, ptr %set_levels, align 8
  tail call void %50(i32 noundef %call2)
  br label %if.end

if.end:
  %busy = getelementptr inbounds nuw i8, ptr %process, i64 112
  %51 = atomicrmw sub ptr %busy, i64 %call monotonic, align 8
  ret void
}

declare i64 @pthread_self()

declare ptr @llvm.stacksave.p0()

declare i32 @pthread_mutex_init(ptr noundef, ptr noundef)

declare i32 @pthread_mutex_lock(ptr noundef)

declare i32 @pthread_create(ptr noundef, ptr noundef, ptr noundef, ptr noundef)

define internal noalias noundef ptr @pass(ptr noundef %gate) {
entry:
  %call = tail call i32 @pthread_mutex_lock(ptr noundef %gate)
  %call1 = tail call i32 @pthread_mutex_unlock(ptr noundef %gate)
  ret ptr null
}

declare i32 @pthread_mutex_unlock(ptr noundef)

declare i32 @pthread_join(i64 noundef, ptr noundef)

declare i32 @pthread_mutex_destroy(ptr noundef)

declare void @llvm.stackrestore.p0(ptr)
