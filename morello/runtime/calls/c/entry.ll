; Made by build.py of the C beside it: change that.

%struct.Range = type { i64, i64, i64 }
%struct.Memory = type { i64, i64, i64, i64, i64, i64, i64, [2 x i64] }

define range(i32 0, 8) i32 @check_entry(ptr noundef readonly captures(none) %memories, i64 noundef %count, ptr noundef readonly captures(none) %starts, ptr noundef readonly captures(none) %ranges, i64 noundef %range_count, ptr noundef readonly captures(none) %numbers) {
entry:
  %vla = alloca i64, i64 %count, align 16
  %vla1 = alloca i64, i64 %count, align 16
  %add.ptr = getelementptr inbounds i64, ptr %numbers, i64 %range_count
  %cmp.not238 = icmp sgt i64 %range_count, 0
  br i1 %cmp.not238, label %for.body, label %for.cond12.preheader

for.cond:
  %inc = add nuw nsw i64 %n.0239, 1
  %exitcond.not = icmp eq i64 %inc, %range_count
  br i1 %exitcond.not, label %for.cond12.preheader, label %for.body

for.cond12.preheader:
  %cmp13.not240 = icmp sgt i64 %count, 0
  br i1 %cmp13.not240, label %for.body15, label %cleanup133

for.body:
  %n.0239 = phi i64 [ %inc, %for.cond ], [ 0, %entry ]
  %arrayidx = getelementptr inbounds nuw %struct.Range, ptr %ranges, i64 %n.0239
  %arrayidx2 = getelementptr inbounds nuw i64, ptr %numbers, i64 %n.0239
  %0 = load i64, ptr %arrayidx2, align 8
  %1 = load i64, ptr %arrayidx, align 8
  %cmp3 = icmp slt i64 %0, %1
  br i1 %cmp3, label %cleanup133, label %lor.lhs.false

lor.lhs.false:
  %greatest = getelementptr inbounds nuw i8, ptr %arrayidx, i64 16
  %2 = load i64, ptr %greatest, align 8
  %cmp5 = icmp sgt i64 %0, %2
  br i1 %cmp5, label %cleanup133, label %if.end

if.end:
  %sub = sub i64 %0, %1
  %step = getelementptr inbounds nuw i8, ptr %arrayidx, i64 8
  %3 = load i64, ptr %step, align 8
  %rem = srem i64 %sub, %3
  %tobool.not = icmp eq i64 %rem, 0
  br i1 %tobool.not, label %for.cond, label %cleanup133

for.cond12:
  %inc27 = add nuw nsw i64 %i.0241, 1
  %exitcond263.not = icmp eq i64 %inc27, %count
  br i1 %exitcond263.not, label %for.body35, label %for.body15

for.body15:
  %i.0241 = phi i64 [ %inc27, %for.cond12 ], [ 0, %for.cond12.preheader ]
  %arrayidx16 = getelementptr inbounds nuw ptr, ptr %starts, i64 %i.0241
  %4 = load ptr, ptr %arrayidx16, align 8
  %tobool17.not = icmp eq ptr %4, null
  br i1 %tobool17.not, label %cleanup133, label %if.end19

if.end19:
  %5 = ptrtoint ptr %4 to i64
  %arrayidx21 = getelementptr inbounds nuw %struct.Memory, ptr %memories, i64 %i.0241
  %alignment = getelementptr inbounds nuw i8, ptr %arrayidx21, i64 8
  %6 = load i64, ptr %alignment, align 8
  %sub22 = add i64 %6, -1
  %and = and i64 %sub22, %5
  %tobool23.not = icmp eq i64 %and, 0
  br i1 %tobool23.not, label %for.cond12, label %cleanup133

for.body35:
  %rows.0248 = phi ptr [ %rows.1.ph, %for.inc88 ], [ %add.ptr, %for.cond12 ]
  %i31.0247 = phi i64 [ %inc89, %for.inc88 ], [ 0, %for.cond12 ]
  %arrayidx36 = getelementptr inbounds nuw %struct.Memory, ptr %memories, i64 %i31.0247
  %apart = getelementptr inbounds nuw i8, ptr %arrayidx36, i64 24
  %7 = load i64, ptr %apart, align 8
  %arrayidx37 = getelementptr inbounds nuw i64, ptr %vla, i64 %i31.0247
  store i64 %7, ptr %arrayidx37, align 8
  %8 = load i64, ptr %arrayidx36, align 8
  %arrayidx38 = getelementptr inbounds nuw i64, ptr %vla1, i64 %i31.0247
  store i64 %8, ptr %arrayidx38, align 8
  br i1 %cmp.not238, label %for.cond44.preheader.lr.ph, label %for.cond.cleanup42

for.cond44.preheader.lr.ph:
  %powers = getelementptr inbounds nuw i8, ptr %arrayidx36, i64 56
  br label %for.cond44.preheader

for.cond44.preheader:
  %arrayidx38.promoted = phi i64 [ %8, %for.cond44.preheader.lr.ph ], [ %arrayidx38.promoted269, %for.cond.cleanup47 ]
  %n39.0245 = phi i64 [ 0, %for.cond44.preheader.lr.ph ], [ %inc56, %for.cond.cleanup47 ]
  %arrayidx45 = getelementptr inbounds nuw i64, ptr %powers, i64 %n39.0245
  %9 = load i64, ptr %arrayidx45, align 8
  %cmp46242 = icmp sgt i64 %9, 0
  br i1 %cmp46242, label %for.body48.lr.ph, label %for.cond.cleanup47

for.body48.lr.ph:
  %arrayidx49 = getelementptr inbounds nuw i64, ptr %numbers, i64 %n39.0245
  %10 = load i64, ptr %arrayidx49, align 8
  br label %for.body48

for.cond.cleanup42:
  %row = getelementptr inbounds nuw i8, ptr %arrayidx36, i64 16
  %11 = load i64, ptr %row, align 8
  %tobool59.not = icmp ne i64 %11, 0
  %tobool62.not = icmp eq i64 %7, 0
  %or.cond = select i1 %tobool59.not, i1 %tobool62.not, i1 false
  br i1 %or.cond, label %if.end64, label %for.inc88

for.cond44.for.cond.cleanup47_crit_edge:
  store i64 %mul, ptr %arrayidx38, align 8
  br label %for.cond.cleanup47

for.cond.cleanup47:
  %arrayidx38.promoted269 = phi i64 [ %mul, %for.cond44.for.cond.cleanup47_crit_edge ], [ %arrayidx38.promoted, %for.cond44.preheader ]
  %inc56 = add nuw nsw i64 %n39.0245, 1
  %exitcond265.not = icmp eq i64 %inc56, %range_count
  br i1 %exitcond265.not, label %for.cond.cleanup42, label %for.cond44.preheader

for.body48:
  %12 = phi i64 [ %arrayidx38.promoted, %for.body48.lr.ph ], [ %mul, %for.body48 ]
  %times.0243 = phi i64 [ 0, %for.body48.lr.ph ], [ %inc52, %for.body48 ]
  %mul = mul i64 %12, %10
  %inc52 = add nuw nsw i64 %times.0243, 1
  %exitcond264.not = icmp eq i64 %inc52, %9
  br i1 %exitcond264.not, label %for.cond44.for.cond.cleanup47_crit_edge, label %for.body48

if.end64:
  %incdec.ptr = getelementptr inbounds nuw i8, ptr %rows.0248, i64 8
  %13 = load i64, ptr %rows.0248, align 8
  %itemsize = getelementptr inbounds nuw i8, ptr %arrayidx36, i64 32
  %14 = load i64, ptr %itemsize, align 8
  %div68 = sdiv i64 %11, %14
  %cmp69 = icmp slt i64 %13, %div68
  br i1 %cmp69, label %cleanup133, label %lor.lhs.false70

lor.lhs.false70:
  %other_rows = getelementptr inbounds nuw i8, ptr %arrayidx36, i64 40
  %div = sdiv i64 72057594037927936, %14
  %15 = load i64, ptr %other_rows, align 8
  %add = add i64 %15, 1
  %div66 = sdiv i64 %div, %add
  %cmp71 = icmp sgt i64 %13, %div66
  br i1 %cmp71, label %cleanup133, label %if.end73

if.end73:
  %mul74 = mul i64 %14, %13
  store i64 %mul74, ptr %arrayidx37, align 8
  %mul78 = mul i64 %15, %mul74
  %add80 = add i64 %mul78, %11
  store i64 %add80, ptr %arrayidx38, align 8
  br label %for.inc88

for.inc88:
  %rows.1.ph = phi ptr [ %incdec.ptr, %if.end73 ], [ %rows.0248, %for.cond.cleanup42 ]
  %inc89 = add nuw nsw i64 %i31.0247, 1
  %exitcond266.not = icmp eq i64 %inc89, %count
  br i1 %exitcond266.not, label %for.cond98.preheader, label %for.body35

for.cond98.preheader:
  %i93.0259 = phi i64 [ %inc129, %for.inc128 ], [ 0, %for.inc88 ]
  %arrayidx99 = getelementptr inbounds nuw %struct.Memory, ptr %memories, i64 %i93.0259
  %is_written = getelementptr inbounds nuw i8, ptr %arrayidx99, i64 48
  %16 = load i64, ptr %is_written, align 8
  %tobool100 = icmp eq i64 %16, 0
  %cmp101255 = icmp eq i64 %i93.0259, 0
  %.not256 = or i1 %tobool100, %cmp101255
  br i1 %.not256, label %for.inc128, label %for.body103.lr.ph

for.body103.lr.ph:
  %arrayidx104 = getelementptr inbounds nuw ptr, ptr %starts, i64 %i93.0259
  %17 = load ptr, ptr %arrayidx104, align 8
  %arrayidx111 = getelementptr inbounds nuw i64, ptr %vla1, i64 %i93.0259
  %arrayidx117 = getelementptr inbounds nuw i64, ptr %vla, i64 %i93.0259
  %sub.ptr.rhs.cast = ptrtoint ptr %17 to i64
  %row.i = getelementptr inbounds nuw i8, ptr %arrayidx99, i64 16
  br label %for.body103

for.body103:
  %j.0257 = phi i64 [ 0, %for.body103.lr.ph ], [ %inc124, %for.inc123 ]
  %arrayidx105 = getelementptr inbounds nuw ptr, ptr %starts, i64 %j.0257
  %18 = load ptr, ptr %arrayidx105, align 8
  %arrayidx106 = getelementptr inbounds nuw i64, ptr %vla1, i64 %j.0257
  %19 = load i64, ptr %arrayidx106, align 8
  %add.ptr107 = getelementptr inbounds i8, ptr %18, i64 %19
  %cmp108 = icmp ult ptr %17, %add.ptr107
  br i1 %cmp108, label %land.lhs.true, label %for.inc123

land.lhs.true:
  %20 = load i64, ptr %arrayidx111, align 8
  %add.ptr112 = getelementptr inbounds i8, ptr %17, i64 %20
  %cmp113 = icmp ult ptr %18, %add.ptr112
  br i1 %cmp113, label %land.lhs.true114, label %for.inc123

land.lhs.true114:
  %21 = load i64, ptr %arrayidx117, align 8
  %sub.ptr.lhs.cast = ptrtoint ptr %18 to i64
  %sub.ptr.sub = sub i64 %sub.ptr.lhs.cast, %sub.ptr.rhs.cast
  %22 = load i64, ptr %row.i, align 8
  %tobool.not.i = icmp eq i64 %22, 0
  br i1 %tobool.not.i, label %cleanup133, label %lor.lhs.false.i

lor.lhs.false.i:
  %arrayidx118 = getelementptr inbounds nuw i64, ptr %vla, i64 %j.0257
  %23 = load i64, ptr %arrayidx118, align 8
  %arrayidx116 = getelementptr inbounds nuw %struct.Memory, ptr %memories, i64 %j.0257
  %row1.i = getelementptr inbounds nuw i8, ptr %arrayidx116, i64 16
  %24 = load i64, ptr %row1.i, align 8
  %tobool2.not.i = icmp ne i64 %24, 0
  %cmp.not.i = icmp eq i64 %21, %23
  %or.cond.i = and i1 %cmp.not.i, %tobool2.not.i
  br i1 %or.cond.i, label %if.end.i, label %cleanup133

if.end.i:
  %rem.i = srem i64 %sub.ptr.sub, %21
  %cmp4.i = icmp slt i64 %rem.i, 0
  %add.i = select i1 %cmp4.i, i64 %21, i64 0
  %spec.select.i = add i64 %add.i, %rem.i
  %cmp8.i = icmp slt i64 %spec.select.i, %22
  %add10.i = add i64 %spec.select.i, %24
  %cmp11.i = icmp sgt i64 %add10.i, %21
  %or.cond234 = select i1 %cmp8.i, i1 true, i1 %cmp11.i
  br i1 %or.cond234, label %cleanup133, label %for.inc123

for.inc123:
  %inc124 = add nuw nsw i64 %j.0257, 1
  %cmp101.not = icmp samesign ult i64 %inc124, %i93.0259
  br i1 %cmp101.not, label %for.body103, label %for.inc128

for.inc128:
  %inc129 = add nuw nsw i64 %i93.0259, 1
  %exitcond267.not = icmp eq i64 %inc129, %count
  br i1 %exitcond267.not, label %cleanup133, label %for.cond98.preheader

cleanup133:
  %retval.11 = phi i32 [ 4, %land.lhs.true114 ], [ 6, %if.end64 ], [ 0, %for.inc128 ], [ 3, %if.end19 ], [ 0, %for.cond12.preheader ], [ 4, %if.end.i ], [ 4, %lor.lhs.false.i ], [ 6, %lor.lhs.false70 ], [ 2, %for.body15 ], [ 7, %for.body ], [ 7, %lor.lhs.false ], [ 7, %if.end ]
  ret i32 %retval.11
}
