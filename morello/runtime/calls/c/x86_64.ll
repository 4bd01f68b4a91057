; Made by build.py of the C beside it: change that.

%struct.Question = type { i32, i32, i32, i32 }

define range(i32 0, -1) i32 @check_cpu(ptr noundef captures(none) %kept, ptr noundef readonly captures(none) %needs) {
entry:
  %0 = load atomic i32, ptr %kept monotonic, align 4
  %tobool.not = icmp eq i32 %0, 0
  br i1 %tobool.not, label %for.cond.i.preheader, label %if.end

for.cond.i.preheader:
  %count.i = getelementptr inbounds nuw i8, ptr %needs, i64 4
  %1 = load i32, ptr %count.i, align 4
  %cmp.i24.not = icmp eq i32 %1, 0
  br i1 %cmp.i24.not, label %for.end.i, label %for.body.i.lr.ph

for.body.i.lr.ph:
  %questions.i = getelementptr inbounds nuw i8, ptr %needs, i64 8
  br label %for.body.i

for.cond.i:
  %inc.i = add nuw nsw i64 %i.0.i25, 1
  %2 = load i32, ptr %count.i, align 4
  %conv.i = zext i32 %2 to i64
  %cmp.i = icmp samesign ult i64 %inc.i, %conv.i
  br i1 %cmp.i, label %for.body.i, label %for.end.i

for.body.i:
  %i.0.i25 = phi i64 [ 0, %for.body.i.lr.ph ], [ %inc.i, %for.cond.i ]
  %arrayidx.i = getelementptr inbounds nuw %struct.Question, ptr %questions.i, i64 %i.0.i25
  %3 = load i32, ptr %arrayidx.i, align 4
  %subleaf3.i = getelementptr inbounds nuw i8, ptr %arrayidx.i, i64 4
  %4 = load i32, ptr %subleaf3.i, align 4
  %mask4.i = getelementptr inbounds nuw i8, ptr %arrayidx.i, i64 12
  %5 = load i32, ptr %mask4.i, align 4
  %and.i = and i32 %3, -2147483648
  %6 = tail call { i32, i32, i32, i32 } asm sideeffect "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx},~{dirflag},~{fpsr},~{flags}"(i32 %and.i, i32 0)
  %asmresult.i13 = extractvalue { i32, i32, i32, i32 } %6, 0
  %cmp5.i = icmp ult i32 %asmresult.i13, %3
  br i1 %cmp5.i, label %has_all.exit.thread20, label %if.end.i

if.end.i:
  %cmp7.i = icmp eq i32 %3, 7
  %tobool.i = icmp ne i32 %4, 0
  %or.cond.i = select i1 %cmp7.i, i1 %tobool.i, i1 false
  br i1 %or.cond.i, label %land.lhs.true9.i, label %if.end14.i

land.lhs.true9.i:
  %7 = tail call { i32, i32, i32, i32 } asm sideeffect "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx},~{dirflag},~{fpsr},~{flags}"(i32 7, i32 0)
  %asmresult.i4 = extractvalue { i32, i32, i32, i32 } %7, 0
  %cmp11.i = icmp ult i32 %asmresult.i4, %4
  br i1 %cmp11.i, label %has_all.exit.thread20, label %if.end14.i

if.end14.i:
  %number.i = getelementptr inbounds nuw i8, ptr %arrayidx.i, i64 8
  %8 = load i32, ptr %number.i, align 4
  %9 = tail call { i32, i32, i32, i32 } asm sideeffect "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx},~{dirflag},~{fpsr},~{flags}"(i32 %3, i32 %4)
  %asmresult1.i5 = extractvalue { i32, i32, i32, i32 } %9, 1
  switch i32 %8, label %cond.false6.i [
    i32 0, label %cond.true.i
    i32 1, label %ask.exit
    i32 2, label %switch.edge.i
  ]

cond.true.i:
  %asmresult.i8 = extractvalue { i32, i32, i32, i32 } %9, 0
  br label %ask.exit

switch.edge.i:
  %asmresult2.i6 = extractvalue { i32, i32, i32, i32 } %9, 2
  br label %ask.exit

cond.false6.i:
  %asmresult3.i7 = extractvalue { i32, i32, i32, i32 } %9, 3
  br label %ask.exit

ask.exit:
  %cond13.i = phi i32 [ %asmresult.i8, %cond.true.i ], [ %asmresult3.i7, %cond.false6.i ], [ %asmresult1.i5, %if.end14.i ], [ %asmresult2.i6, %switch.edge.i ]
  %and16.i = and i32 %cond13.i, %5
  %cmp17.not.i = icmp eq i32 %and16.i, %5
  br i1 %cmp17.not.i, label %for.cond.i, label %has_all.exit.thread20

for.end.i:
  %10 = load i32, ptr %needs, align 4
  %tobool26.not.i = icmp eq i32 %10, 0
  br i1 %tobool26.not.i, label %has_all.exit.thread, label %if.end28.i

if.end28.i:
  %11 = tail call { i32, i32 } asm sideeffect "xgetbv", "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}"(i32 0)
  %asmresult.i = extractvalue { i32, i32 } %11, 0
  %12 = load i32, ptr %needs, align 4
  %and31.i = and i32 %asmresult.i, %12
  %cmp33.not.i = icmp eq i32 %and31.i, %12
  br i1 %cmp33.not.i, label %if.end36.i, label %has_all.exit.thread20

if.end36.i:
  %and38.i = and i32 %12, 262144
  %tobool39.not.i = icmp eq i32 %and38.i, 0
  br i1 %tobool39.not.i, label %has_all.exit.thread, label %has_all.exit

has_all.exit:
  %13 = tail call i64 asm sideeffect "syscall", "={ax},{ax},{di},{si},~{rcx},~{r11},~{memory},~{dirflag},~{fpsr},~{flags}"(i64 158, i64 4131, i64 18)
  %.fr = freeze i64 %13
  %cmp.i15 = icmp eq i64 %.fr, 0
  br i1 %cmp.i15, label %has_all.exit.thread, label %has_all.exit.thread20

has_all.exit.thread:
  br label %has_all.exit.thread20

has_all.exit.thread20:
  %14 = phi i32 [ 2, %has_all.exit.thread ], [ 1, %has_all.exit ], [ 1, %if.end28.i ], [ 1, %ask.exit ], [ 1, %for.body.i ], [ 1, %land.lhs.true9.i ]
  store atomic i32 %14, ptr %kept monotonic, align 4
  br label %if.end

if.end:
  %answer.0 = phi i32 [ %0, %entry ], [ %14, %has_all.exit.thread20 ]
  %sub = add i32 %answer.0, -1
  ret i32 %sub
}
