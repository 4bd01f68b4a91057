; Made by build.py of the C beside it: change that.

%struct.Memory = type { i64, i64, i64, i64, i64, i64, i64 }

define range(i32 0, 7) i32 @check_entry(ptr noundef readonly captures(none) %memories, i64 noundef %count, ptr noundef readonly captures(none) %starts, ptr noundef readonly captures(none) %rows) {
entry:
  %vla = alloca i64, i64 %count, align 16
  %vla1 = alloca i64, i64 %count, align 16
  %cmp.not150 = icmp sgt i64 %count, 0
  br i1 %cmp.not150, label %for.body, label %cleanup76

for.cond:
  %inc = add nuw nsw i64 %i.0151, 1
  %exitcond.not = icmp eq i64 %inc, %count
  br i1 %exitcond.not, label %for.body11, label %for.body

for.body:
  %i.0151 = phi i64 [ %inc, %for.cond ], [ 0, %entry ]
  %arrayidx = getelementptr inbounds nuw ptr, ptr %starts, i64 %i.0151
  %0 = load ptr, ptr %arrayidx, align 8
  %tobool.not = icmp eq ptr %0, null
  br i1 %tobool.not, label %cleanup76, label %if.end

if.end:
  %1 = ptrtoint ptr %0 to i64
  %arrayidx3 = getelementptr inbounds nuw %struct.Memory, ptr %memories, i64 %i.0151
  %alignment = getelementptr inbounds nuw i8, ptr %arrayidx3, i64 8
  %2 = load i64, ptr %alignment, align 8
  %sub = add i64 %2, -1
  %and = and i64 %sub, %1
  %tobool4.not = icmp eq i64 %and, 0
  br i1 %tobool4.not, label %for.cond, label %cleanup76

for.body11:
  %i7.0154 = phi i64 [ %inc33, %for.inc32 ], [ 0, %for.cond ]
  %rows.addr.0153 = phi ptr [ %rows.addr.1.ph, %for.inc32 ], [ %rows, %for.cond ]
  %arrayidx12 = getelementptr inbounds nuw %struct.Memory, ptr %memories, i64 %i7.0154
  %apart = getelementptr inbounds nuw i8, ptr %arrayidx12, i64 24
  %3 = load i64, ptr %apart, align 8
  %arrayidx13 = getelementptr inbounds nuw i64, ptr %vla, i64 %i7.0154
  store i64 %3, ptr %arrayidx13, align 8
  %4 = load i64, ptr %arrayidx12, align 8
  %arrayidx14 = getelementptr inbounds nuw i64, ptr %vla1, i64 %i7.0154
  store i64 %4, ptr %arrayidx14, align 8
  %row = getelementptr inbounds nuw i8, ptr %arrayidx12, i64 16
  %5 = load i64, ptr %row, align 8
  %tobool15.not = icmp ne i64 %5, 0
  %tobool17.not = icmp eq i64 %3, 0
  %or.cond = select i1 %tobool15.not, i1 %tobool17.not, i1 false
  br i1 %or.cond, label %if.end19, label %for.inc32

if.end19:
  %6 = load i64, ptr %rows.addr.0153, align 8
  %itemsize = getelementptr inbounds nuw i8, ptr %arrayidx12, i64 32
  %7 = load i64, ptr %itemsize, align 8
  %mul = mul i64 %7, %6
  store i64 %mul, ptr %arrayidx13, align 8
  %cmp23 = icmp slt i64 %mul, %5
  br i1 %cmp23, label %cleanup76, label %if.end25

if.end25:
  %incdec.ptr = getelementptr inbounds nuw i8, ptr %rows.addr.0153, i64 8
  %other_rows = getelementptr inbounds nuw i8, ptr %arrayidx12, i64 40
  %8 = load i64, ptr %other_rows, align 8
  %mul27 = mul i64 %8, %mul
  %add = add i64 %mul27, %5
  store i64 %add, ptr %arrayidx14, align 8
  br label %for.inc32

for.inc32:
  %rows.addr.1.ph = phi ptr [ %incdec.ptr, %if.end25 ], [ %rows.addr.0153, %for.body11 ]
  %inc33 = add nuw nsw i64 %i7.0154, 1
  %exitcond163.not = icmp eq i64 %inc33, %count
  br i1 %exitcond163.not, label %for.cond42.preheader, label %for.body11

for.cond42.preheader:
  %i37.0159 = phi i64 [ %inc72, %for.inc71 ], [ 0, %for.inc32 ]
  %arrayidx43 = getelementptr inbounds nuw %struct.Memory, ptr %memories, i64 %i37.0159
  %is_written = getelementptr inbounds nuw i8, ptr %arrayidx43, i64 48
  %9 = load i64, ptr %is_written, align 8
  %tobool44 = icmp eq i64 %9, 0
  %cmp45155 = icmp eq i64 %i37.0159, 0
  %.not156 = or i1 %tobool44, %cmp45155
  br i1 %.not156, label %for.inc71, label %for.body47.lr.ph

for.body47.lr.ph:
  %arrayidx48 = getelementptr inbounds nuw ptr, ptr %starts, i64 %i37.0159
  %10 = load ptr, ptr %arrayidx48, align 8
  %arrayidx54 = getelementptr inbounds nuw i64, ptr %vla1, i64 %i37.0159
  %arrayidx60 = getelementptr inbounds nuw i64, ptr %vla, i64 %i37.0159
  %sub.ptr.rhs.cast = ptrtoint ptr %10 to i64
  %row.i = getelementptr inbounds nuw i8, ptr %arrayidx43, i64 16
  br label %for.body47

for.body47:
  %j.0157 = phi i64 [ 0, %for.body47.lr.ph ], [ %inc67, %for.inc66 ]
  %arrayidx49 = getelementptr inbounds nuw ptr, ptr %starts, i64 %j.0157
  %11 = load ptr, ptr %arrayidx49, align 8
  %arrayidx50 = getelementptr inbounds nuw i64, ptr %vla1, i64 %j.0157
  %12 = load i64, ptr %arrayidx50, align 8
  %add.ptr = getelementptr inbounds i8, ptr %11, i64 %12
  %cmp51 = icmp ult ptr %10, %add.ptr
  br i1 %cmp51, label %land.lhs.true, label %for.inc66

land.lhs.true:
  %13 = load i64, ptr %arrayidx54, align 8
  %add.ptr55 = getelementptr inbounds i8, ptr %10, i64 %13
  %cmp56 = icmp ult ptr %11, %add.ptr55
  br i1 %cmp56, label %land.lhs.true57, label %for.inc66

land.lhs.true57:
  %14 = load i64, ptr %arrayidx60, align 8
  %sub.ptr.lhs.cast = ptrtoint ptr %11 to i64
  %sub.ptr.sub = sub i64 %sub.ptr.lhs.cast, %sub.ptr.rhs.cast
  %15 = load i64, ptr %row.i, align 8
  %tobool.not.i = icmp eq i64 %15, 0
  br i1 %tobool.not.i, label %cleanup76, label %lor.lhs.false.i

lor.lhs.false.i:
  %arrayidx61 = getelementptr inbounds nuw i64, ptr %vla, i64 %j.0157
  %16 = load i64, ptr %arrayidx61, align 8
  %arrayidx59 = getelementptr inbounds nuw %struct.Memory, ptr %memories, i64 %j.0157
  %row1.i = getelementptr inbounds nuw i8, ptr %arrayidx59, i64 16
  %17 = load i64, ptr %row1.i, align 8
  %tobool2.not.i = icmp ne i64 %17, 0
  %cmp.not.i = icmp eq i64 %14, %16
  %or.cond.i = and i1 %cmp.not.i, %tobool2.not.i
  br i1 %or.cond.i, label %if.end.i, label %cleanup76

if.end.i:
  %rem.i = srem i64 %sub.ptr.sub, %14
  %cmp4.i = icmp slt i64 %rem.i, 0
  %add.i = select i1 %cmp4.i, i64 %14, i64 0
  %spec.select.i = add i64 %add.i, %rem.i
  %cmp8.i = icmp slt i64 %spec.select.i, %15
  %add10.i = add i64 %spec.select.i, %17
  %cmp11.i = icmp sgt i64 %add10.i, %14
  %or.cond146 = select i1 %cmp8.i, i1 true, i1 %cmp11.i
  br i1 %or.cond146, label %cleanup76, label %for.inc66

for.inc66:
  %inc67 = add nuw nsw i64 %j.0157, 1
  %cmp45.not = icmp samesign ult i64 %inc67, %i37.0159
  br i1 %cmp45.not, label %for.body47, label %for.inc71

for.inc71:
  %inc72 = add nuw nsw i64 %i37.0159, 1
  %exitcond164.not = icmp eq i64 %inc72, %count
  br i1 %exitcond164.not, label %cleanup76, label %for.cond42.preheader

cleanup76:
  %retval.7 = phi i32 [ 0, %entry ], [ 4, %land.lhs.true57 ], [ 6, %if.end19 ], [ 0, %for.inc71 ], [ 4, %if.end.i ], [ 4, %lor.lhs.false.i ], [ 2, %for.body ], [ 3, %if.end ]
  ret i32 %retval.7
}
