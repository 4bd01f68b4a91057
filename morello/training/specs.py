"""The Specs whose programs make the data set: of every kind, small and large.

A call of each takes at most some 20 ms. Sizes are drawn from those of real layers, and
from between them. None is a Spec of `benchmarks.models`, whose layers are held out.
"""

from morello.machine import Target
from morello.spec import Spec, parse_spec

PRODUCTS = (
    "matmul:32x32x32:f32",
    "matmul:48x48x48:f32",
    "matmul:96x96x96:f32",
    "matmul:128x128x128:f32",
    "matmul:200x200x200:f32",
    "matmul:256x256x256:f32",
    "matmul:384x384x384:f32",
    "matmul:512x512x512:f32",
    "matmul:9x640x2560:f32",
    "matmul:17x512x1536:f32",
    "matmul:24x512x1024:f32",
    "matmul:32x1024x1024:f32",
    "matmul:40x768x2304:f32",
    "matmul:64x256x1024:f32",
    "matmul:64x512x512:f32",
    "matmul:64x1024x320:f32",
    "matmul:80x320x1280:f32",
    "matmul:100x768x768:f32",
    "matmul:100x1024x512:f32",
    "matmul:196x768x384:f32",
    "matmul:256x64x1024:f32",
    "matmul:400x96x400:f32",
    "matmul:784x128x256:f32",
    "matmul:1000x300x30:f32",
    "matmul:1500x24x400:f32",
    "matmul:2048x48x24:f32",
    "matmul:1x768x768:f32",
    "matmul:1x1024x4096:f32",
    "matmul:1x3000x500:f32",
    "matmul:2x1536x512:f32",
    "matmul:4x2048x1024:f32",
    "matmul:1000x1000x1:f32",
    "matmul:8x64x64x64:f32",
    "matmul:12x100x64x100:f32",
    "matmul:64x64x512:f32:rhs=[0,2,1]",
    "matmul:160x240x320:f32:rhs=[0,2,1]",
    "matmul:1x1024x1024:f32:rhs=[0,2,1]",
    "matmul:31x33x35:f32",
    "matmul:57x111x203:f32",
    "matmul_accum:120x120x120:f32",
    "matmul:96x512x512:bf16,bf16,f32",
    "matmul:200x200x200:bf16,bf16,f32",
    "matmul:1x1024x2048:bf16,bf16,f32",
    "matmul:128x256x512:u8,s8,s32",
    "matmul:300x300x300:u8,s8,s32",
    "matmul:1x1024x1024:u8,s8,s32",
    "matmul:128x128x256:u8,s8,s16",
)
MAPS = (
    "move:512x512:f32",
    "move:300x700:f32:dst=[1,0]",
    "move:512x1024:f32:dst=[1,0]",
    "move:384x640:bf16,f32",
    "max:600x900:f32",
    "max:600x900:f32:src=[1,0]",
    "min:64x4096:f32",
    "sum:512x768:f32",
    "sum:40x100:f32:src=[1,0]",
    "mean:64x40x30:f32:axis=0,2",
    "exp:64x1024:f32",
    "gelu:128x2048:f32",
    "tanh:33x777:f32",
    "add:256x1024:f32",
    "mul:100x3000:f32:rhs=[1,0]",
)
GRAPHS = (
    "softmax:16x200:f32",
    "softmax:64x768:f32",
    "softmax:8x5000:f32",
    "softmax:4x60000:f32",
    "softmax:400x49:f32",
    "log_softmax:32x1000:f32",
    "layer_norm:50x512:f32",
    "layer_norm:100x1280:f32",
    "layer_norm:8x4096:f32",
    "rms_norm:20x2560:f32",
    "rms_norm:128x1024:f32",
    "gelu_matmul:32x256x1024:f32",
    "gelu_matmul:64x512x512:f32",
    "gelu_matmul:100x384x768:f32",
    "gelu_matmul:200x64x256:f32",
    "gelu_matmul:1x1024x1024:f32",
    "residual_matmul:24x512x512:f32",
    "residual_matmul:96x256x320:f32",
    "residual_matmul:200x200x200:f32",
    "residual_matmul:8x1024x256:f32",
    "chain:32x32x32x32:f32",
    "chain:96x96x96x96:f32",
    "chain:200x64x200x64:f32",
    "chain:64x512x64x512:f32",
    "attention:64x64x32x32:f32",
    "attention:4x100x100x64x64:f32",
    "attention:200x200x64x64:f32",
    "attention:8x49x49x32x32:f32",
    "attention:1x600x64x64:f32",
    "attention:500x500x80x80:f32",
    "conv:1x16x28x28x32x3x3:f32:pad=1",
    "conv:1x32x20x20x64x3x3:f32:pad=1:layout=nhwc",
    "conv:1x24x30x30x48x3x3:f32:pad=1:stride=2",
    "conv:1x96x14x14x96x3x3:f32:pad=1",
    "conv:1x48x28x28x96x1x1:f32",
    "conv:1x48x28x28x48x3x3:f32:pad=1:groups=48",
    "conv:1x3x64x64x32x7x7:f32:pad=3:stride=2:layout=nhwc",
    "compose:64x512:f32:graph=y[m]=sum(a[m,k]*b[m,k])",
    "compose:100x768:f32:graph=y[m,n]=silu(a[m,n])*b[m,n]",
    "compose:48x256x256:f32:graph=t[m,n]=sum(a[m,k]*w[k,n]);y[m,n]=relu(t+c[n])",
    "compose:64x384x128:f32:graph=t[m,n]=sum(a[m,k]*w[k,n]);y[m,n]=t*r[m,n]",
    "compose:40x512x640:f32:graph=t[m,n]=sum(a[m,k]*w[k,n]);y[m,n]=t*sigmoid(t)",
)
TEXTS = (*PRODUCTS, *MAPS, *GRAPHS)


def specs(texts: tuple[str, ...], target: Target) -> dict[str, Spec]:
    """The Specs by their text, within what a target has.

    Raises:
        SpecError: a text is refused.
    """
    return {text: parse_spec(text, target.limits) for text in texts}
