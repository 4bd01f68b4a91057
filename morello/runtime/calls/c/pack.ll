; Made by build.py of the C beside it: change that.

%struct.Loop = type { i64, i64, i64, i64, i64 }
%struct.Dim = type { i64, i64 }

define void @pack(ptr noundef readonly captures(none) %dims, i64 noundef %rank, ptr noundef readonly captures(none) %loops, i64 noundef %count, i64 noundef %bytes, ptr noundef readonly captures(none) %from, ptr noundef readonly captures(address_is_null) %strides, ptr noundef writeonly captures(none) %to) {
entry:
  %vla = alloca i64, i64 %count, align 16
  %vla1 = alloca i64, i64 %rank, align 16
  %cmp246 = icmp sgt i64 %count, 0
  br i1 %cmp246, label %for.body, label %for.cond.cleanup

for.cond.cleanup:
  %sub = add i64 %count, -1
  %arrayidx2 = getelementptr inbounds %struct.Loop, ptr %loops, i64 %sub
  %dim = getelementptr inbounds nuw i8, ptr %arrayidx2, i64 16
  %cmp9248 = icmp sgt i64 %rank, 0
  %cmp19250 = icmp sgt i64 %sub, 0
  %tobool58.not = icmp eq ptr %strides, null
  %sub68 = add i64 %count, -2
  %cmp69267 = icmp sgt i64 %sub68, -1
  %half.i.i145 = getelementptr inbounds nuw i8, ptr %arrayidx2, i64 32
  %step5.i.i154 = getelementptr inbounds nuw i8, ptr %arrayidx2, i64 24
  %stride1.i158 = getelementptr inbounds nuw i8, ptr %arrayidx2, i64 8
  br label %for.body6

for.body:
  %i.0247 = phi i64 [ %inc, %for.body ], [ 0, %entry ]
  %arrayidx = getelementptr inbounds nuw i64, ptr %vla, i64 %i.0247
  store i64 0, ptr %arrayidx, align 8
  %inc = add nuw nsw i64 %i.0247, 1
  %exitcond.not = icmp eq i64 %inc, %count
  br i1 %exitcond.not, label %for.cond.cleanup, label %for.body

for.cond.cleanup5:
  ret void

for.body6:
  %0 = load i64, ptr %dim, align 8
  br i1 %cmp9248, label %for.body11, label %for.cond17.preheader

for.cond17.preheader:
  br i1 %cmp19250, label %for.body21, label %for.cond.cleanup20

for.body11:
  %i7.0249 = phi i64 [ %inc14, %for.body11 ], [ 0, %for.body6 ]
  %arrayidx12 = getelementptr inbounds nuw i64, ptr %vla1, i64 %i7.0249
  store i64 0, ptr %arrayidx12, align 8
  %inc14 = add nuw nsw i64 %i7.0249, 1
  %exitcond274.not = icmp eq i64 %inc14, %rank
  br i1 %exitcond274.not, label %for.cond17.preheader, label %for.body11

for.cond.cleanup20.loopexit:
  %1 = mul i64 %add, %bytes
  br label %for.cond.cleanup20

for.cond.cleanup20:
  %place.0.lcssa = phi i64 [ 0, %for.cond17.preheader ], [ %1, %for.cond.cleanup20.loopexit ]
  %arrayidx33 = getelementptr inbounds %struct.Dim, ptr %dims, i64 %0
  %2 = load i64, ptr %arrayidx33, align 8
  %arrayidx34 = getelementptr inbounds i64, ptr %vla1, i64 %0
  %3 = load i64, ptr %arrayidx34, align 8
  %sub35 = sub i64 %2, %3
  br i1 %cmp9248, label %for.body40, label %for.cond.cleanup39

for.body21:
  %i16.0252 = phi i64 [ %inc31, %index_of.exit ], [ 0, %for.cond17.preheader ]
  %place.0251 = phi i64 [ %add, %index_of.exit ], [ 0, %for.cond17.preheader ]
  %arrayidx22 = getelementptr inbounds nuw i64, ptr %vla, i64 %i16.0252
  %4 = load i64, ptr %arrayidx22, align 8
  %arrayidx23 = getelementptr inbounds nuw %struct.Loop, ptr %loops, i64 %i16.0252
  %stride = getelementptr inbounds nuw i8, ptr %arrayidx23, i64 8
  %5 = load i64, ptr %stride, align 8
  %mul = mul i64 %5, %4
  %add = add i64 %mul, %place.0251
  %half.i = getelementptr inbounds nuw i8, ptr %arrayidx23, i64 32
  %6 = load i64, ptr %half.i, align 8
  %tobool.not.i = icmp eq i64 %6, 0
  br i1 %tobool.not.i, label %index_of.exit, label %if.end.i

if.end.i:
  %cmp.i = icmp slt i64 %4, %6
  %mul2.i = shl i64 %4, 1
  %sub.i = sub i64 %4, %6
  %mul4.i = shl i64 %sub.i, 1
  %add.i = or disjoint i64 %mul4.i, 1
  %cond.i = select i1 %cmp.i, i64 %mul2.i, i64 %add.i
  br label %index_of.exit

index_of.exit:
  %.sink288 = phi i64 [ %cond.i, %if.end.i ], [ %4, %for.body21 ]
  %step.i = getelementptr inbounds nuw i8, ptr %arrayidx23, i64 24
  %7 = load i64, ptr %step.i, align 8
  %mul.i = mul i64 %7, %.sink288
  %dim27 = getelementptr inbounds nuw i8, ptr %arrayidx23, i64 16
  %8 = load i64, ptr %dim27, align 8
  %arrayidx28 = getelementptr inbounds i64, ptr %vla1, i64 %8
  %9 = load i64, ptr %arrayidx28, align 8
  %add29 = add i64 %9, %mul.i
  store i64 %add29, ptr %arrayidx28, align 8
  %inc31 = add nuw nsw i64 %i16.0252, 1
  %exitcond275.not = icmp eq i64 %inc31, %sub
  br i1 %exitcond275.not, label %for.cond.cleanup20.loopexit, label %for.body21

for.cond.cleanup39.loopexit:
  %10 = mul i64 %add46, %bytes
  br label %for.cond.cleanup39

for.cond.cleanup39:
  %start.0.lcssa = phi i64 [ 0, %for.cond.cleanup20 ], [ %10, %for.cond.cleanup39.loopexit ]
  %left.0.lcssa = phi i64 [ %sub35, %for.cond.cleanup20 ], [ %left.1, %for.cond.cleanup39.loopexit ]
  %add.ptr = getelementptr inbounds i8, ptr %from, i64 %start.0.lcssa
  %add.ptr56 = getelementptr inbounds i8, ptr %to, i64 %place.0.lcssa
  %arrayidx60 = getelementptr inbounds i64, ptr %strides, i64 %0
  %stride63 = getelementptr inbounds nuw i8, ptr %arrayidx33, i64 8
  %cond65.in = select i1 %tobool58.not, ptr %stride63, ptr %arrayidx60
  %cond65 = load i64, ptr %cond65.in, align 8
  %11 = load i64, ptr %arrayidx2, align 8
  %cmp.i135265 = icmp sgt i64 %11, 0
  switch i64 %bytes, label %for.cond.i.preheader [
    i64 1, label %for.cond.i207.preheader
    i64 2, label %for.cond.i174.preheader
    i64 4, label %for.cond.i141.preheader
  ]

for.cond.i141.preheader:
  br i1 %cmp.i135265, label %for.body.i144.lr.ph, label %sw.epilog

for.body.i144.lr.ph:
  %mul4.i167 = shl i64 %cond65, 2
  br label %for.body.i144

for.cond.i174.preheader:
  br i1 %cmp.i135265, label %for.body.i177.lr.ph, label %sw.epilog

for.body.i177.lr.ph:
  %mul4.i200 = shl i64 %cond65, 1
  br label %for.body.i177

for.cond.i207.preheader:
  br i1 %cmp.i135265, label %for.body.i210, label %sw.epilog

for.cond.i.preheader:
  br i1 %cmp.i135265, label %for.body.i.lr.ph, label %sw.epilog

for.body.i.lr.ph:
  %mul4.i140 = shl i64 %cond65, 3
  br label %for.body.i

for.body40:
  %i36.0256 = phi i64 [ %inc52, %for.body40 ], [ 0, %for.cond.cleanup20 ]
  %left.0255 = phi i64 [ %left.1, %for.body40 ], [ %sub35, %for.cond.cleanup20 ]
  %start.0254 = phi i64 [ %add46, %for.body40 ], [ 0, %for.cond.cleanup20 ]
  %arrayidx41 = getelementptr inbounds nuw i64, ptr %vla1, i64 %i36.0256
  %12 = load i64, ptr %arrayidx41, align 8
  %arrayidx42 = getelementptr inbounds nuw i64, ptr %strides, i64 %i36.0256
  %arrayidx43 = getelementptr inbounds nuw %struct.Dim, ptr %dims, i64 %i36.0256
  %stride44 = getelementptr inbounds nuw i8, ptr %arrayidx43, i64 8
  %cond.in = select i1 %tobool58.not, ptr %stride44, ptr %arrayidx42
  %cond = load i64, ptr %cond.in, align 8
  %mul45 = mul i64 %cond, %12
  %add46 = add i64 %mul45, %start.0254
  %13 = load i64, ptr %arrayidx43, align 8
  %cmp50.not = icmp slt i64 %12, %13
  %left.1 = select i1 %cmp50.not, i64 %left.0255, i64 0
  %inc52 = add nuw nsw i64 %i36.0256, 1
  %exitcond276.not = icmp eq i64 %inc52, %rank
  br i1 %exitcond276.not, label %for.cond.cleanup39.loopexit, label %for.body40

for.body.i210:
  %trip.0.i208264 = phi i64 [ %inc.i231, %if.end.i230 ], [ 0, %for.cond.i207.preheader ]
  %14 = load i64, ptr %half.i.i145, align 8
  %tobool.not.i.i212 = icmp eq i64 %14, 0
  br i1 %tobool.not.i.i212, label %index_of.exit.i222, label %if.end.i.i213

if.end.i.i213:
  %cmp.i.i214 = icmp slt i64 %trip.0.i208264, %14
  %mul2.i.i215 = shl nuw i64 %trip.0.i208264, 1
  %sub.i.i216 = sub i64 %trip.0.i208264, %14
  %mul4.i.i217 = shl i64 %sub.i.i216, 1
  %add.i.i218 = or disjoint i64 %mul4.i.i217, 1
  %cond.i.i219 = select i1 %cmp.i.i214, i64 %mul2.i.i215, i64 %add.i.i218
  br label %index_of.exit.i222

index_of.exit.i222:
  %cond.i.i219.sink = phi i64 [ %cond.i.i219, %if.end.i.i213 ], [ %trip.0.i208264, %for.body.i210 ]
  %15 = load i64, ptr %step5.i.i154, align 8
  %mul6.i.i221 = mul i64 %15, %cond.i.i219.sink
  %16 = load i64, ptr %stride1.i158, align 8
  %mul.i225 = mul i64 %16, %trip.0.i208264
  %add.ptr.i227 = getelementptr inbounds i8, ptr %add.ptr56, i64 %mul.i225
  %cmp3.i228 = icmp slt i64 %mul6.i.i221, %left.0.lcssa
  br i1 %cmp3.i228, label %if.then.i232, label %if.end.i230

if.then.i232:
  %mul4.i233 = mul i64 %mul6.i.i221, %cond65
  %add.ptr6.i235 = getelementptr inbounds i8, ptr %add.ptr, i64 %mul4.i233
  %17 = load i8, ptr %add.ptr6.i235, align 1
  br label %if.end.i230

if.end.i230:
  %storemerge241 = phi i8 [ %17, %if.then.i232 ], [ 0, %index_of.exit.i222 ]
  store i8 %storemerge241, ptr %add.ptr.i227, align 1
  %inc.i231 = add nuw nsw i64 %trip.0.i208264, 1
  %18 = load i64, ptr %arrayidx2, align 8
  %cmp.i209 = icmp slt i64 %inc.i231, %18
  br i1 %cmp.i209, label %for.body.i210, label %sw.epilog

for.body.i177:
  %trip.0.i175262 = phi i64 [ 0, %for.body.i177.lr.ph ], [ %inc.i198, %if.end.i197 ]
  %19 = load i64, ptr %half.i.i145, align 8
  %tobool.not.i.i179 = icmp eq i64 %19, 0
  br i1 %tobool.not.i.i179, label %if.then.i.i203, label %if.end.i.i180

if.then.i.i203:
  %20 = load i64, ptr %step5.i.i154, align 8
  %mul.i.i205 = mul i64 %20, %trip.0.i175262
  %.pre = shl nuw i64 %trip.0.i175262, 1
  br label %index_of.exit.i189

if.end.i.i180:
  %cmp.i.i181 = icmp slt i64 %trip.0.i175262, %19
  %mul2.i.i182 = shl nuw i64 %trip.0.i175262, 1
  %sub.i.i183 = sub i64 %trip.0.i175262, %19
  %mul4.i.i184 = shl i64 %sub.i.i183, 1
  %add.i.i185 = or disjoint i64 %mul4.i.i184, 1
  %cond.i.i186 = select i1 %cmp.i.i181, i64 %mul2.i.i182, i64 %add.i.i185
  %21 = load i64, ptr %step5.i.i154, align 8
  %mul6.i.i188 = mul i64 %21, %cond.i.i186
  br label %index_of.exit.i189

index_of.exit.i189:
  %mul.i192.pre-phi = phi i64 [ %mul2.i.i182, %if.end.i.i180 ], [ %.pre, %if.then.i.i203 ]
  %retval.0.i.i190 = phi i64 [ %mul6.i.i188, %if.end.i.i180 ], [ %mul.i.i205, %if.then.i.i203 ]
  %22 = load i64, ptr %stride1.i158, align 8
  %mul2.i193 = mul i64 %mul.i192.pre-phi, %22
  %add.ptr.i194 = getelementptr inbounds i8, ptr %add.ptr56, i64 %mul2.i193
  %cmp3.i195 = icmp slt i64 %retval.0.i.i190, %left.0.lcssa
  br i1 %cmp3.i195, label %if.then.i199, label %if.end.i197

if.then.i199:
  %mul5.i201 = mul i64 %mul4.i200, %retval.0.i.i190
  %add.ptr6.i202 = getelementptr inbounds i8, ptr %add.ptr, i64 %mul5.i201
  %23 = load i16, ptr %add.ptr6.i202, align 1
  br label %if.end.i197

if.end.i197:
  %storemerge240 = phi i16 [ %23, %if.then.i199 ], [ 0, %index_of.exit.i189 ]
  store i16 %storemerge240, ptr %add.ptr.i194, align 1
  %inc.i198 = add nuw nsw i64 %trip.0.i175262, 1
  %24 = load i64, ptr %arrayidx2, align 8
  %cmp.i176 = icmp slt i64 %inc.i198, %24
  br i1 %cmp.i176, label %for.body.i177, label %sw.epilog

for.body.i144:
  %trip.0.i142260 = phi i64 [ 0, %for.body.i144.lr.ph ], [ %inc.i165, %if.end.i164 ]
  %25 = load i64, ptr %half.i.i145, align 8
  %tobool.not.i.i146 = icmp eq i64 %25, 0
  br i1 %tobool.not.i.i146, label %index_of.exit.i156, label %if.end.i.i147

if.end.i.i147:
  %cmp.i.i148 = icmp slt i64 %trip.0.i142260, %25
  %mul2.i.i149 = shl nuw i64 %trip.0.i142260, 1
  %sub.i.i150 = sub i64 %trip.0.i142260, %25
  %mul4.i.i151 = shl i64 %sub.i.i150, 1
  %add.i.i152 = or disjoint i64 %mul4.i.i151, 1
  %cond.i.i153 = select i1 %cmp.i.i148, i64 %mul2.i.i149, i64 %add.i.i152
  br label %index_of.exit.i156

index_of.exit.i156:
  %cond.i.i153.sink = phi i64 [ %cond.i.i153, %if.end.i.i147 ], [ %trip.0.i142260, %for.body.i144 ]
  %26 = load i64, ptr %step5.i.i154, align 8
  %mul6.i.i155 = mul i64 %26, %cond.i.i153.sink
  %27 = load i64, ptr %stride1.i158, align 8
  %mul.i159 = shl i64 %trip.0.i142260, 2
  %mul2.i160 = mul i64 %mul.i159, %27
  %add.ptr.i161 = getelementptr inbounds i8, ptr %add.ptr56, i64 %mul2.i160
  %cmp3.i162 = icmp slt i64 %mul6.i.i155, %left.0.lcssa
  br i1 %cmp3.i162, label %if.then.i166, label %if.end.i164

if.then.i166:
  %mul5.i168 = mul i64 %mul4.i167, %mul6.i.i155
  %add.ptr6.i169 = getelementptr inbounds i8, ptr %add.ptr, i64 %mul5.i168
  %28 = load i32, ptr %add.ptr6.i169, align 1
  br label %if.end.i164

if.end.i164:
  %storemerge = phi i32 [ %28, %if.then.i166 ], [ 0, %index_of.exit.i156 ]
  store i32 %storemerge, ptr %add.ptr.i161, align 1
  %inc.i165 = add nuw nsw i64 %trip.0.i142260, 1
  %29 = load i64, ptr %arrayidx2, align 8
  %cmp.i143 = icmp slt i64 %inc.i165, %29
  br i1 %cmp.i143, label %for.body.i144, label %sw.epilog

for.body.i:
  %trip.0.i266 = phi i64 [ 0, %for.body.i.lr.ph ], [ %inc.i, %if.end.i138 ]
  %30 = load i64, ptr %half.i.i145, align 8
  %tobool.not.i.i = icmp eq i64 %30, 0
  br i1 %tobool.not.i.i, label %index_of.exit.i, label %if.end.i.i

if.end.i.i:
  %cmp.i.i = icmp slt i64 %trip.0.i266, %30
  %mul2.i.i = shl nuw i64 %trip.0.i266, 1
  %sub.i.i = sub i64 %trip.0.i266, %30
  %mul4.i.i = shl i64 %sub.i.i, 1
  %add.i.i = or disjoint i64 %mul4.i.i, 1
  %cond.i.i = select i1 %cmp.i.i, i64 %mul2.i.i, i64 %add.i.i
  br label %index_of.exit.i

index_of.exit.i:
  %cond.i.i.sink = phi i64 [ %cond.i.i, %if.end.i.i ], [ %trip.0.i266, %for.body.i ]
  %31 = load i64, ptr %step5.i.i154, align 8
  %mul6.i.i = mul i64 %31, %cond.i.i.sink
  %32 = load i64, ptr %stride1.i158, align 8
  %mul.i136 = shl i64 %trip.0.i266, 3
  %mul2.i137 = mul i64 %mul.i136, %32
  %add.ptr.i = getelementptr inbounds i8, ptr %add.ptr56, i64 %mul2.i137
  %cmp3.i = icmp slt i64 %mul6.i.i, %left.0.lcssa
  br i1 %cmp3.i, label %if.then.i139, label %if.end.i138

if.then.i139:
  %mul5.i = mul i64 %mul4.i140, %mul6.i.i
  %add.ptr6.i = getelementptr inbounds i8, ptr %add.ptr, i64 %mul5.i
  %33 = load i64, ptr %add.ptr6.i, align 1
  br label %if.end.i138

if.end.i138:
  %storemerge242 = phi i64 [ %33, %if.then.i139 ], [ 0, %index_of.exit.i ]
  store i64 %storemerge242, ptr %add.ptr.i, align 1
  %inc.i = add nuw nsw i64 %trip.0.i266, 1
  %34 = load i64, ptr %arrayidx2, align 8
  %cmp.i135 = icmp slt i64 %inc.i, %34
  br i1 %cmp.i135, label %for.body.i, label %sw.epilog

sw.epilog:
  br i1 %cmp69267, label %land.rhs, label %for.cond.cleanup5

land.rhs:
  %next.1268 = phi i64 [ %dec, %while.body ], [ %sub68, %sw.epilog ]
  %arrayidx70 = getelementptr inbounds nuw i64, ptr %vla, i64 %next.1268
  %35 = load i64, ptr %arrayidx70, align 8
  %inc71 = add i64 %35, 1
  store i64 %inc71, ptr %arrayidx70, align 8
  %arrayidx72 = getelementptr inbounds nuw %struct.Loop, ptr %loops, i64 %next.1268
  %36 = load i64, ptr %arrayidx72, align 8
  %cmp73 = icmp eq i64 %inc71, %36
  br i1 %cmp73, label %while.body, label %for.body6

while.body:
  %dec = add nsw i64 %next.1268, -1
  store i64 0, ptr %arrayidx70, align 8
  %cmp69 = icmp sgt i64 %next.1268, 0
  br i1 %cmp69, label %land.rhs, label %for.cond.cleanup5
}
