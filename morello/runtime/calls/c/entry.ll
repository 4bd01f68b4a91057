; Made by build.py of the C beside it: change that.

%struct.Memory = type { i64, i64, i64, i64, i64, i64, i64 }

define range(i32 0, 7) i32 @check_entry(ptr noundef readonly captures(none) %memories, i64 noundef %count, ptr noundef readonly captures(none) %starts, ptr noundef readonly captures(none) %rows) {
entry:
  %vla = alloca i64, i64 %count, align 16
  %vla1 = alloca i64, i64 %count, align 16
  %cmp.not164 = icmp sgt i64 %count, 0
  br i1 %cmp.not164, label %for.body, label %cleanup85

for.cond:
  %inc = add nuw nsw i64 %i.0165, 1
  %exitcond.not = icmp eq i64 %inc, %count
  br i1 %exitcond.not, label %for.body11, label %for.body

for.body:
  %i.0165 = phi i64 [ %inc, %for.cond ], [ 0, %entry ]
  %arrayidx = getelementptr inbounds nuw ptr, ptr %starts, i64 %i.0165
  %0 = load ptr, ptr %arrayidx, align 8
  %tobool.not = icmp eq ptr %0, null
  br i1 %tobool.not, label %cleanup85, label %if.end

if.end:
  %1 = ptrtoint ptr %0 to i64
  %arrayidx3 = getelementptr inbounds nuw %struct.Memory, ptr %memories, i64 %i.0165
  %alignment = getelementptr inbounds nuw i8, ptr %arrayidx3, i64 8
  %2 = load i64, ptr %alignment, align 8
  %sub = add i64 %2, -1
  %and = and i64 %sub, %1
  %tobool4.not = icmp eq i64 %and, 0
  br i1 %tobool4.not, label %for.cond, label %cleanup85

for.body11:
  %rows.addr.0168 = phi ptr [ %rows.addr.1.ph, %for.inc41 ], [ %rows, %for.cond ]
  %i7.0167 = phi i64 [ %inc42, %for.inc41 ], [ 0, %for.cond ]
  %arrayidx12 = getelementptr inbounds nuw %struct.Memory, ptr %memories, i64 %i7.0167
  %apart = getelementptr inbounds nuw i8, ptr %arrayidx12, i64 24
  %3 = load i64, ptr %apart, align 8
  %arrayidx13 = getelementptr inbounds nuw i64, ptr %vla, i64 %i7.0167
  store i64 %3, ptr %arrayidx13, align 8
  %4 = load i64, ptr %arrayidx12, align 8
  %arrayidx14 = getelementptr inbounds nuw i64, ptr %vla1, i64 %i7.0167
  store i64 %4, ptr %arrayidx14, align 8
  %row = getelementptr inbounds nuw i8, ptr %arrayidx12, i64 16
  %5 = load i64, ptr %row, align 8
  %tobool15.not = icmp ne i64 %5, 0
  %tobool17.not = icmp eq i64 %3, 0
  %or.cond = select i1 %tobool15.not, i1 %tobool17.not, i1 false
  br i1 %or.cond, label %if.end19, label %for.inc41

if.end19:
  %incdec.ptr = getelementptr inbounds nuw i8, ptr %rows.addr.0168, i64 8
  %6 = load i64, ptr %rows.addr.0168, align 8
  %itemsize = getelementptr inbounds nuw i8, ptr %arrayidx12, i64 32
  %7 = load i64, ptr %itemsize, align 8
  %div23 = sdiv i64 %5, %7
  %cmp24 = icmp slt i64 %6, %div23
  br i1 %cmp24, label %cleanup85, label %lor.lhs.false25

lor.lhs.false25:
  %other_rows = getelementptr inbounds nuw i8, ptr %arrayidx12, i64 40
  %div = sdiv i64 72057594037927936, %7
  %8 = load i64, ptr %other_rows, align 8
  %add = add i64 %8, 1
  %div21 = sdiv i64 %div, %add
  %cmp26 = icmp sgt i64 %6, %div21
  br i1 %cmp26, label %cleanup85, label %if.end28

if.end28:
  %mul = mul i64 %7, %6
  store i64 %mul, ptr %arrayidx13, align 8
  %mul32 = mul i64 %8, %mul
  %add34 = add i64 %mul32, %5
  store i64 %add34, ptr %arrayidx14, align 8
  br label %for.inc41

for.inc41:
  %rows.addr.1.ph = phi ptr [ %incdec.ptr, %if.end28 ], [ %rows.addr.0168, %for.body11 ]
  %inc42 = add nuw nsw i64 %i7.0167, 1
  %exitcond177.not = icmp eq i64 %inc42, %count
  br i1 %exitcond177.not, label %for.cond51.preheader, label %for.body11

for.cond51.preheader:
  %i46.0173 = phi i64 [ %inc81, %for.inc80 ], [ 0, %for.inc41 ]
  %arrayidx52 = getelementptr inbounds nuw %struct.Memory, ptr %memories, i64 %i46.0173
  %is_written = getelementptr inbounds nuw i8, ptr %arrayidx52, i64 48
  %9 = load i64, ptr %is_written, align 8
  %tobool53 = icmp eq i64 %9, 0
  %cmp54169 = icmp eq i64 %i46.0173, 0
  %.not170 = or i1 %tobool53, %cmp54169
  br i1 %.not170, label %for.inc80, label %for.body56.lr.ph

for.body56.lr.ph:
  %arrayidx57 = getelementptr inbounds nuw ptr, ptr %starts, i64 %i46.0173
  %10 = load ptr, ptr %arrayidx57, align 8
  %arrayidx63 = getelementptr inbounds nuw i64, ptr %vla1, i64 %i46.0173
  %arrayidx69 = getelementptr inbounds nuw i64, ptr %vla, i64 %i46.0173
  %sub.ptr.rhs.cast = ptrtoint ptr %10 to i64
  %row.i = getelementptr inbounds nuw i8, ptr %arrayidx52, i64 16
  br label %for.body56

for.body56:
  %j.0171 = phi i64 [ 0, %for.body56.lr.ph ], [ %inc76, %for.inc75 ]
  %arrayidx58 = getelementptr inbounds nuw ptr, ptr %starts, i64 %j.0171
  %11 = load ptr, ptr %arrayidx58, align 8
  %arrayidx59 = getelementptr inbounds nuw i64, ptr %vla1, i64 %j.0171
  %12 = load i64, ptr %arrayidx59, align 8
  %add.ptr = getelementptr inbounds i8, ptr %11, i64 %12
  %cmp60 = icmp ult ptr %10, %add.ptr
  br i1 %cmp60, label %land.lhs.true, label %for.inc75

land.lhs.true:
  %13 = load i64, ptr %arrayidx63, align 8
  %add.ptr64 = getelementptr inbounds i8, ptr %10, i64 %13
  %cmp65 = icmp ult ptr %11, %add.ptr64
  br i1 %cmp65, label %land.lhs.true66, label %for.inc75

land.lhs.true66:
  %14 = load i64, ptr %arrayidx69, align 8
  %sub.ptr.lhs.cast = ptrtoint ptr %11 to i64
  %sub.ptr.sub = sub i64 %sub.ptr.lhs.cast, %sub.ptr.rhs.cast
  %15 = load i64, ptr %row.i, align 8
  %tobool.not.i = icmp eq i64 %15, 0
  br i1 %tobool.not.i, label %cleanup85, label %lor.lhs.false.i

lor.lhs.false.i:
  %arrayidx70 = getelementptr inbounds nuw i64, ptr %vla, i64 %j.0171
  %16 = load i64, ptr %arrayidx70, align 8
  %arrayidx68 = getelementptr inbounds nuw %struct.Memory, ptr %memories, i64 %j.0171
  %row1.i = getelementptr inbounds nuw i8, ptr %arrayidx68, i64 16
  %17 = load i64, ptr %row1.i, align 8
  %tobool2.not.i = icmp ne i64 %17, 0
  %cmp.not.i = icmp eq i64 %14, %16
  %or.cond.i = and i1 %cmp.not.i, %tobool2.not.i
  br i1 %or.cond.i, label %if.end.i, label %cleanup85

if.end.i:
  %rem.i = srem i64 %sub.ptr.sub, %14
  %cmp4.i = icmp slt i64 %rem.i, 0
  %add.i = select i1 %cmp4.i, i64 %14, i64 0
  %spec.select.i = add i64 %add.i, %rem.i
  %cmp8.i = icmp slt i64 %spec.select.i, %15
  %add10.i = add i64 %spec.select.i, %17
  %cmp11.i = icmp sgt i64 %add10.i, %14
  %or.cond160 = select i1 %cmp8.i, i1 true, i1 %cmp11.i
  br i1 %or.cond160, label %cleanup85, label %for.inc75

for.inc75:
  %inc76 = add nuw nsw i64 %j.0171, 1
  %cmp54.not = icmp samesign ult i64 %inc76, %i46.0173
  br i1 %cmp54.not, label %for.body56, label %for.inc80

for.inc80:
  %inc81 = add nuw nsw i64 %i46.0173, 1
  %exitcond178.not = icmp eq i64 %inc81, %count
  br i1 %exitcond178.not, label %cleanup85, label %for.cond51.preheader

cleanup85:
  %retval.8 = phi i32 [ 0, %entry ], [ 0, %for.inc80 ], [ 4, %land.lhs.true66 ], [ 6, %lor.lhs.false25 ], [ 4, %if.end.i ], [ 4, %lor.lhs.false.i ], [ 6, %if.end19 ], [ 3, %if.end ], [ 2, %for.body ]
  ret i32 %retval.8
}
