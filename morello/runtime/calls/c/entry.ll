; Made by build.py of the C beside it: change that.

%struct.Range = type { i64, i64, i64 }
%struct.Memory = type { i64, i64, i64, i64, i64, i64, i64, [2 x i64] }

define range(i32 0, 8) i32 @check_entry(ptr noundef readonly captures(none) %supported, ptr noundef readonly captures(none) %memories, i64 noundef %count, ptr noundef readonly captures(none) %starts, ptr noundef readonly captures(none) %ranges, i64 noundef %range_count, ptr noundef readonly captures(none) %numbers) {
entry:
  %vla = alloca i64, i64 %count, align 16
  %vla1 = alloca i64, i64 %count, align 16
  %add.ptr = getelementptr inbounds i64, ptr %numbers, i64 %range_count
  %call = tail call i32 %supported()
  %tobool.not = icmp eq i32 %call, 0
  br i1 %tobool.not, label %cleanup137, label %for.cond.preheader

for.cond.preheader:
  %cmp.not242 = icmp sgt i64 %range_count, 0
  br i1 %cmp.not242, label %for.body, label %for.cond15.preheader

for.cond:
  %inc = add nuw nsw i64 %n.0243, 1
  %exitcond.not = icmp eq i64 %inc, %range_count
  br i1 %exitcond.not, label %for.cond15.preheader, label %for.body

for.cond15.preheader:
  %cmp16.not244 = icmp sgt i64 %count, 0
  br i1 %cmp16.not244, label %for.body18, label %cleanup137

for.body:
  %n.0243 = phi i64 [ %inc, %for.cond ], [ 0, %for.cond.preheader ]
  %arrayidx = getelementptr inbounds nuw %struct.Range, ptr %ranges, i64 %n.0243
  %arrayidx2 = getelementptr inbounds nuw i64, ptr %numbers, i64 %n.0243
  %0 = load i64, ptr %arrayidx2, align 8
  %1 = load i64, ptr %arrayidx, align 8
  %cmp3 = icmp slt i64 %0, %1
  br i1 %cmp3, label %cleanup137, label %lor.lhs.false

lor.lhs.false:
  %greatest = getelementptr inbounds nuw i8, ptr %arrayidx, i64 16
  %2 = load i64, ptr %greatest, align 8
  %cmp5 = icmp sgt i64 %0, %2
  br i1 %cmp5, label %cleanup137, label %if.end7

if.end7:
  %sub = sub i64 %0, %1
  %step = getelementptr inbounds nuw i8, ptr %arrayidx, i64 8
  %3 = load i64, ptr %step, align 8
  %rem = srem i64 %sub, %3
  %tobool10.not = icmp eq i64 %rem, 0
  br i1 %tobool10.not, label %for.cond, label %cleanup137

for.cond15:
  %inc30 = add nuw nsw i64 %i.0245, 1
  %exitcond267.not = icmp eq i64 %inc30, %count
  br i1 %exitcond267.not, label %for.body38, label %for.body18

for.body18:
  %i.0245 = phi i64 [ %inc30, %for.cond15 ], [ 0, %for.cond15.preheader ]
  %arrayidx19 = getelementptr inbounds nuw ptr, ptr %starts, i64 %i.0245
  %4 = load ptr, ptr %arrayidx19, align 8
  %tobool20.not = icmp eq ptr %4, null
  br i1 %tobool20.not, label %cleanup137, label %if.end22

if.end22:
  %5 = ptrtoint ptr %4 to i64
  %arrayidx24 = getelementptr inbounds nuw %struct.Memory, ptr %memories, i64 %i.0245
  %alignment = getelementptr inbounds nuw i8, ptr %arrayidx24, i64 8
  %6 = load i64, ptr %alignment, align 8
  %sub25 = add i64 %6, -1
  %and = and i64 %sub25, %5
  %tobool26.not = icmp eq i64 %and, 0
  br i1 %tobool26.not, label %for.cond15, label %cleanup137

for.body38:
  %rows.0252 = phi ptr [ %rows.1.ph, %for.inc91 ], [ %add.ptr, %for.cond15 ]
  %i34.0251 = phi i64 [ %inc92, %for.inc91 ], [ 0, %for.cond15 ]
  %arrayidx39 = getelementptr inbounds nuw %struct.Memory, ptr %memories, i64 %i34.0251
  %apart = getelementptr inbounds nuw i8, ptr %arrayidx39, i64 24
  %7 = load i64, ptr %apart, align 8
  %arrayidx40 = getelementptr inbounds nuw i64, ptr %vla, i64 %i34.0251
  store i64 %7, ptr %arrayidx40, align 8
  %8 = load i64, ptr %arrayidx39, align 8
  %arrayidx41 = getelementptr inbounds nuw i64, ptr %vla1, i64 %i34.0251
  store i64 %8, ptr %arrayidx41, align 8
  br i1 %cmp.not242, label %for.cond47.preheader.lr.ph, label %for.cond.cleanup45

for.cond47.preheader.lr.ph:
  %powers = getelementptr inbounds nuw i8, ptr %arrayidx39, i64 56
  br label %for.cond47.preheader

for.cond47.preheader:
  %arrayidx41.promoted = phi i64 [ %8, %for.cond47.preheader.lr.ph ], [ %arrayidx41.promoted273, %for.cond.cleanup50 ]
  %n42.0249 = phi i64 [ 0, %for.cond47.preheader.lr.ph ], [ %inc59, %for.cond.cleanup50 ]
  %arrayidx48 = getelementptr inbounds nuw i64, ptr %powers, i64 %n42.0249
  %9 = load i64, ptr %arrayidx48, align 8
  %cmp49246 = icmp sgt i64 %9, 0
  br i1 %cmp49246, label %for.body51.lr.ph, label %for.cond.cleanup50

for.body51.lr.ph:
  %arrayidx52 = getelementptr inbounds nuw i64, ptr %numbers, i64 %n42.0249
  %10 = load i64, ptr %arrayidx52, align 8
  br label %for.body51

for.cond.cleanup45:
  %row = getelementptr inbounds nuw i8, ptr %arrayidx39, i64 16
  %11 = load i64, ptr %row, align 8
  %tobool62.not = icmp ne i64 %11, 0
  %tobool65.not = icmp eq i64 %7, 0
  %or.cond = select i1 %tobool62.not, i1 %tobool65.not, i1 false
  br i1 %or.cond, label %if.end67, label %for.inc91

for.cond47.for.cond.cleanup50_crit_edge:
  store i64 %mul, ptr %arrayidx41, align 8
  br label %for.cond.cleanup50

for.cond.cleanup50:
  %arrayidx41.promoted273 = phi i64 [ %mul, %for.cond47.for.cond.cleanup50_crit_edge ], [ %arrayidx41.promoted, %for.cond47.preheader ]
  %inc59 = add nuw nsw i64 %n42.0249, 1
  %exitcond269.not = icmp eq i64 %inc59, %range_count
  br i1 %exitcond269.not, label %for.cond.cleanup45, label %for.cond47.preheader

for.body51:
  %12 = phi i64 [ %arrayidx41.promoted, %for.body51.lr.ph ], [ %mul, %for.body51 ]
  %times.0247 = phi i64 [ 0, %for.body51.lr.ph ], [ %inc55, %for.body51 ]
  %mul = mul i64 %12, %10
  %inc55 = add nuw nsw i64 %times.0247, 1
  %exitcond268.not = icmp eq i64 %inc55, %9
  br i1 %exitcond268.not, label %for.cond47.for.cond.cleanup50_crit_edge, label %for.body51

if.end67:
  %incdec.ptr = getelementptr inbounds nuw i8, ptr %rows.0252, i64 8
  %13 = load i64, ptr %rows.0252, align 8
  %itemsize = getelementptr inbounds nuw i8, ptr %arrayidx39, i64 32
  %14 = load i64, ptr %itemsize, align 8
  %div71 = sdiv i64 %11, %14
  %cmp72 = icmp slt i64 %13, %div71
  br i1 %cmp72, label %cleanup137, label %lor.lhs.false73

lor.lhs.false73:
  %other_rows = getelementptr inbounds nuw i8, ptr %arrayidx39, i64 40
  %div = sdiv i64 72057594037927936, %14
  %15 = load i64, ptr %other_rows, align 8
  %add = add i64 %15, 1
  %div69 = sdiv i64 %div, %add
  %cmp74 = icmp sgt i64 %13, %div69
  br i1 %cmp74, label %cleanup137, label %if.end76

if.end76:
  %mul77 = mul i64 %14, %13
  store i64 %mul77, ptr %arrayidx40, align 8
  %mul81 = mul i64 %15, %mul77
  %add83 = add i64 %mul81, %11
  store i64 %add83, ptr %arrayidx41, align 8
  br label %for.inc91

for.inc91:
  %rows.1.ph = phi ptr [ %incdec.ptr, %if.end76 ], [ %rows.0252, %for.cond.cleanup45 ]
  %inc92 = add nuw nsw i64 %i34.0251, 1
  %exitcond270.not = icmp eq i64 %inc92, %count
  br i1 %exitcond270.not, label %for.cond101.preheader, label %for.body38

for.cond101.preheader:
  %i96.0263 = phi i64 [ %inc133, %for.inc132 ], [ 0, %for.inc91 ]
  %arrayidx102 = getelementptr inbounds nuw %struct.Memory, ptr %memories, i64 %i96.0263
  %is_written = getelementptr inbounds nuw i8, ptr %arrayidx102, i64 48
  %16 = load i64, ptr %is_written, align 8
  %tobool103 = icmp eq i64 %16, 0
  %cmp104259 = icmp eq i64 %i96.0263, 0
  %.not260 = or i1 %tobool103, %cmp104259
  br i1 %.not260, label %for.inc132, label %for.body106.lr.ph

for.body106.lr.ph:
  %arrayidx107 = getelementptr inbounds nuw ptr, ptr %starts, i64 %i96.0263
  %17 = load ptr, ptr %arrayidx107, align 8
  %arrayidx114 = getelementptr inbounds nuw i64, ptr %vla1, i64 %i96.0263
  %arrayidx120 = getelementptr inbounds nuw i64, ptr %vla, i64 %i96.0263
  %sub.ptr.rhs.cast = ptrtoint ptr %17 to i64
  %row.i = getelementptr inbounds nuw i8, ptr %arrayidx102, i64 16
  br label %for.body106

for.body106:
  %j.0261 = phi i64 [ 0, %for.body106.lr.ph ], [ %inc128, %for.inc127 ]
  %arrayidx108 = getelementptr inbounds nuw ptr, ptr %starts, i64 %j.0261
  %18 = load ptr, ptr %arrayidx108, align 8
  %arrayidx109 = getelementptr inbounds nuw i64, ptr %vla1, i64 %j.0261
  %19 = load i64, ptr %arrayidx109, align 8
  %add.ptr110 = getelementptr inbounds i8, ptr %18, i64 %19
  %cmp111 = icmp ult ptr %17, %add.ptr110
  br i1 %cmp111, label %land.lhs.true, label %for.inc127

land.lhs.true:
  %20 = load i64, ptr %arrayidx114, align 8
  %add.ptr115 = getelementptr inbounds i8, ptr %17, i64 %20
  %cmp116 = icmp ult ptr %18, %add.ptr115
  br i1 %cmp116, label %land.lhs.true117, label %for.inc127

land.lhs.true117:
  %21 = load i64, ptr %arrayidx120, align 8
  %sub.ptr.lhs.cast = ptrtoint ptr %18 to i64
  %sub.ptr.sub = sub i64 %sub.ptr.lhs.cast, %sub.ptr.rhs.cast
  %22 = load i64, ptr %row.i, align 8
  %tobool.not.i = icmp eq i64 %22, 0
  br i1 %tobool.not.i, label %cleanup137, label %lor.lhs.false.i

lor.lhs.false.i:
  %arrayidx121 = getelementptr inbounds nuw i64, ptr %vla, i64 %j.0261
  %23 = load i64, ptr %arrayidx121, align 8
  %arrayidx119 = getelementptr inbounds nuw %struct.Memory, ptr %memories, i64 %j.0261
  %row1.i = getelementptr inbounds nuw i8, ptr %arrayidx119, i64 16
  %24 = load i64, ptr %row1.i, align 8
  %tobool2.not.i = icmp ne i64 %24, 0
  %cmp.not.i = icmp eq i64 %21, %23
  %or.cond.i = and i1 %cmp.not.i, %tobool2.not.i
  br i1 %or.cond.i, label %if.end.i, label %cleanup137

if.end.i:
  %rem.i = srem i64 %sub.ptr.sub, %21
  %cmp4.i = icmp slt i64 %rem.i, 0
  %add.i = select i1 %cmp4.i, i64 %21, i64 0
  %spec.select.i = add i64 %add.i, %rem.i
  %cmp8.i = icmp slt i64 %spec.select.i, %22
  %add10.i = add i64 %spec.select.i, %24
  %cmp11.i = icmp sgt i64 %add10.i, %21
  %or.cond238 = select i1 %cmp8.i, i1 true, i1 %cmp11.i
  br i1 %or.cond238, label %cleanup137, label %for.inc127

for.inc127:
  %inc128 = add nuw nsw i64 %j.0261, 1
  %cmp104.not = icmp samesign ult i64 %inc128, %i96.0263
  br i1 %cmp104.not, label %for.body106, label %for.inc132

for.inc132:
  %inc133 = add nuw nsw i64 %i96.0263, 1
  %exitcond271.not = icmp eq i64 %inc133, %count
  br i1 %exitcond271.not, label %cleanup137, label %for.cond101.preheader

cleanup137:
  %retval.11 = phi i32 [ 1, %entry ], [ 4, %land.lhs.true117 ], [ 0, %for.inc132 ], [ 6, %if.end67 ], [ 3, %if.end22 ], [ 0, %for.cond15.preheader ], [ 4, %if.end.i ], [ 4, %lor.lhs.false.i ], [ 6, %lor.lhs.false73 ], [ 2, %for.body18 ], [ 7, %for.body ], [ 7, %lor.lhs.false ], [ 7, %if.end7 ]
  ret i32 %retval.11
}
