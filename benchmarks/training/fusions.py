"""Graphs of different kinds whose parts may take turns, or not: `FUSIONS`.

What is between the parts fits L1, or L2 alone, or neither, so that either is right for
some of them.
"""

_BIAS = "t[m,n]=sum(a[m,k]*w[k,n]);y[m,n]=relu(t+c[n])"
_GATE = "t[m,n]=sum(a[m,k]*w[k,n]);y[m,n]=t*sigmoid(t)"
_TIMES = "t[m,n]=sum(a[m,k]*w[k,n]);y[m,n]=t*r[m,n]"
_CELL = "t[m,n]=sum(a[m,k]*w[k,n]);y[m,n]=tanh(t+u[m,n]+c[n])"
_TWO = "t[m,n]=sum(a[m,k]*w[k,n]);u[m,n]=sum(a[m,k]*v[k,n]);y[m,n]=silu(t)*u"
_SCORES = (
    "t[m,n]=sum(a[m,k]*w[k,n]);x[m]=max(t[m,n]);e[m,n]=exp(t-x);s[m]=sum(e[m,n]);"
    "y[m,n]=e/s"
)
_NORM = (
    "s[m]=sum(a[m,k]*a[m,k]);b[m,k]=a*rsqrt(s[m]+0.001)*g[k];y[m,n]=sum(b[m,k]*w[k,n])"
)
_THEN_NORM = "t[m,n]=sum(a[m,k]*w[k,n]);s[m]=sum(t[m,n]*t[m,n]);y[m,n]=t*rsqrt(s+0.001)"
_COLUMNS = "s[n]=sum(x[m,n]);y[m,n]=x-s[n]*0.01"
_CONV = (
    "t[n,f,u,v]=sum(w[f,c,i,j]*x[n,c,pad(u+i,1,1),pad(v+j,1,1)]);"
    "y[n,f,u,v]=relu(t+b[f])"
)


def _graphs(text: str, *sizes: str) -> tuple[str, ...]:
    return tuple(f"compose:{one}:f32:graph={text}" for one in sizes)


def _named(name: str, *sizes: str) -> tuple[str, ...]:
    return tuple(f"{name}:{one}:f32" for one in sizes)


FUSIONS = (
    *_named("gelu_matmul", "16x32x32", "48x64x128", "16x512x2048", "150x256x256"),
    *_named("gelu_matmul", "300x96x640", "512x32x512", "8x256x512"),
    *_named("gelu_matmul", "1000x16x300", "400x24x1500", "1x500x700"),
    *_named("residual_matmul", "16x32x48", "64x128x128", "300x300x300", "512x64x1024"),
    *_named("residual_matmul", "32x1500x128", "1x600x900"),
    *_named("residual_matmul", "4x800x400", "1x300x1200", "10x400x900"),
    *_named("residual_matmul", "1000x16x600", "256x40x2000", "1x1200x600"),
    *_graphs(_BIAS, "32x64x64", "400x400x32", "128x128x800", "700x700x16"),
    *_graphs(_BIAS, "1000x1000x8", "300x2000x16", "2000x64x8"),
    *_graphs(_BIAS, "1500x30x12", "600x200x24", "64x2000x100"),
    *_graphs(_GATE, "300x64x300"),
    *_graphs(_GATE, "64x256x128", "512x640x48", "20x900x40", "1500x200x10"),
    *_graphs(_TIMES, "24x56x40", "300x800x64", "600x300x24", "200x3000x20"),
    *_graphs(_TIMES, "1500x20x100"),
    *_graphs(_CELL, "8x128x128", "64x800x200", "500x900x20"),
    *_graphs(_TWO, "16x512x256", "40x96x64"),
    *_graphs(_SCORES, "20x100x64", "100x1000x256", "400x60x32"),
    *_graphs(_NORM, "16x128x256", "128x512x384"),
    *_graphs(_THEN_NORM, "16x96x64", "200x512x128"),
    *_graphs(_COLUMNS, "64x64", "500x500", "30x20000", "100x3000", "2000x40"),
    *_graphs(_COLUMNS, "200x1000", "1000x200", "40x8000", "4000x24", "300x64"),
    *_named("chain", "16x16x16x16", "48x48x48x48", "128x64x128x32", "256x256x64x64"),
    *_named("chain", "400x32x400x32", "32x512x32x256", "600x16x600x16", "600x8x900x8"),
    *_named("chain", "1200x200x1200x100", "2000x128x1500x64", "2500x110x1500x48"),
    *_named("chain", "3000x64x3000x64"),
    *_named("attention", "16x16x16x16", "48x48x64x64", "128x128x32x32", "1x300x64x64"),
    *_named("attention", "300x300x64x64", "700x100x32x32"),
    *_named("softmax", "16x64", "200x200", "2x30000", "1000x30"),
    *_named("log_softmax", "64x64", "16x9000"),
    *_named("layer_norm", "16x128", "300x300", "4x40000", "900x60"),
    *_named("rms_norm", "40x640", "4x30000", "2x60000"),
    *_graphs(_CONV, "1x8x14x14x16x3x3", "1x24x20x20x32x3x3", "1x16x40x40x16x3x3"),
    *_graphs(_CONV, "1x8x112x112x48x3x3", "1x4x100x100x64x3x3", "1x32x56x56x64x3x3"),
    *_graphs(_CONV, "1x1x224x224x32x3x3", "1x2x112x112x64x3x3", "1x3x160x160x32x3x3"),
    *_graphs(_CONV, "1x6x80x80x24x3x3", "1x16x24x24x64x3x3", "1x2x64x64x32x3x3"),
    *_graphs(_CONV, "1x12x20x20x24x3x3", "1x8x30x30x8x3x3", "1x32x10x10x32x3x3"),
    *_graphs(_CONV, "1x48x28x28x24x3x3", "1x64x14x14x64x3x3", "1x128x7x7x128x3x3"),
)
"""The graphs, as text."""
