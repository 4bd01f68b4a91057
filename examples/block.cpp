/* A transformer block, served from C++ by kernels of one object:

       morello save layer_norm:8x64:f32 --name norm \
           --also qkv=matmul:32x64x48:f32:rhs=any:out=ld192 \
           --also attend=attention:32x32x16x16:f32:x0=ld192:x1=ld192:x2=ld192:v5=ld64 \
           --also project=residual_matmul:32x64x16:f32:x1=any:x2=ld64:v1=ld64 \
           --also up=gelu_matmul:32x64x64:f32:x1=any:v1=ld256 \
           --also down=residual_matmul:32x256x16:f32:x1=any:x2=ld64:v1=ld64 \
           -o block.o -o block.h
       c++ -O2 -std=c++17 -I. -Iexamples examples/block.cpp block.o -o block -pthread
       ./block

   Each kernel computes a slice of its layer: some rows (norm), some columns (qkv,
   project, up, down) or a head (attend). The program's own pool runs the slices; the
   kernels themselves have no threads. Leading dimensions (ld) put a slice into its
   place in the whole. Weights are packed once, by the functions that the object has for
   it: rhs=any and x1=any left their layout to the search. */

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "block.h"
#include "pool.h"

enum : int {
    TOKENS = 32,
    WIDTH = 64,
    HIDDEN = 256,
    SLICES = 4, /* of each layer; as many heads */
    HEAD = WIDTH / SLICES,
    ROWS = TOKENS / SLICES,
};

static_assert(norm_V4_ELEMENTS == ROWS * WIDTH, "norm is for other sizes");
static_assert(qkv_OUT_LEADING_DIMENSION == 3 * WIDTH, "qkv is for another width");
static_assert(attend_X0_LEADING_DIMENSION == 3 * WIDTH, "attend is for another width");
static_assert(project_V1_LEADING_DIMENSION == WIDTH, "project is for another width");
static_assert(up_V1_LEADING_DIMENSION == HIDDEN, "up is for another width");
static_assert(down_X0_ELEMENTS == TOKENS * HIDDEN, "down is for other sizes");

using Floats = std::vector<float>;

/* The weights as they come, row-major. */
struct Weights {
    Floats scale1, shift1, qkv, out, scale2, shift2, up, bias, down;
};

/* A function of the object that packs: from, strides, to. */
using Pack = void(const float *, const ptrdiff_t *, float *);

/* A matrix of `rows` x `columns`, its slices of columns packed one after the other. */
class Packed {
public:
    Packed(Pack *pack, size_t elements, const Floats &matrix, int columns)
        : elements_(elements), data_(SLICES * elements)
    {
        /* of the dimensions of the operand, the batch of a product left out of x1 */
        const ptrdiff_t strides[] = {0, columns, 1};
        const bool has_batch = pack == qkv_pack_rhs;
        for (int i = 0; i < SLICES; i++)
            pack(matrix.data() + i * columns / SLICES,
                 has_batch ? strides : strides + 1, data_.data() + i * elements);
    }

    const float *operator[](int slice) const
    {
        return data_.data() + slice * elements_;
    }

private:
    size_t elements_;
    Floats data_;
};

class Block {
public:
    Block(const Weights &w, Pool &pool)
        : pool_(pool), w_(w),
          qkv_(qkv_pack_rhs, qkv_RHS_ELEMENTS, w.qkv, 3 * WIDTH),
          out_(project_pack_x1, project_X1_ELEMENTS, w.out, WIDTH),
          up_(up_pack_x1, up_X1_ELEMENTS, w.up, HIDDEN),
          down_(down_pack_x1, down_X1_ELEMENTS, w.down, WIDTH), normed_(TOKENS * WIDTH),
          heads_(TOKENS * 3 * WIDTH), attended_(TOKENS * WIDTH), x_(TOKENS * WIDTH),
          hidden_(TOKENS * HIDDEN)
    {
    }

    /* y = the block of x, both TOKENS x WIDTH; whether every kernel took its call. */
    bool operator()(const float *x, float *y)
    {
        bool ok[SLICES] = {};
        const auto layer = [&](auto run) {
            pool_.run(SLICES, [&](int i) { ok[i] = run(i) == 0; });
            for (bool fine : ok)
                if (!fine)
                    return false;
            return true;
        };
        const auto normalise = [&](const float *from, const Floats &scale,
                                   const Floats &shift) {
            return layer([&](int i) {
                const int row = i * ROWS * WIDTH;
                return norm_malloc(from + row, scale.data(), shift.data(),
                                   &normed_[row]);
            });
        };
        const auto attend_heads = [&](int i) {
            const float *head = &heads_[i * HEAD];
            return attend_malloc(head, head + WIDTH, head + 2 * WIDTH,
                                 &attended_[i * HEAD]);
        };
        return normalise(x, w_.scale1, w_.shift1) && layer([&](int i) {
                   return qkv_malloc(normed_.data(), qkv_[i], &heads_[i * 3 * HEAD]);
               }) && layer(attend_heads) && layer([&](int i) {
                   return project_malloc(attended_.data(), out_[i], x + i * HEAD,
                                         &x_[i * HEAD]);
               }) && normalise(x_.data(), w_.scale2, w_.shift2) && layer([&](int i) {
                   const int column = i * HIDDEN / SLICES;
                   return up_malloc(normed_.data(), up_[i], &w_.bias[column],
                                    &hidden_[column]);
               }) && layer([&](int i) {
                   return down_malloc(hidden_.data(), down_[i], &x_[i * HEAD],
                                      y + i * HEAD);
               });
    }

private:
    Pool &pool_;
    const Weights &w_;
    Packed qkv_, out_, up_, down_;
    Floats normed_, heads_, attended_, x_, hidden_;
};

/* The same in double, as it is defined. */
using Doubles = std::vector<double>;

static Doubles normalised(const Doubles &x, const Floats &scale, const Floats &shift)
{
    Doubles y(x.size());
    for (int t = 0; t < TOKENS; t++) {
        const double *row = &x[t * WIDTH];
        double mean = 0, variance = 0;
        for (int i = 0; i < WIDTH; i++)
            mean += row[i] / WIDTH;
        for (int i = 0; i < WIDTH; i++)
            variance += (row[i] - mean) * (row[i] - mean) / WIDTH;
        for (int i = 0; i < WIDTH; i++)
            y[t * WIDTH + i] =
                (row[i] - mean) / std::sqrt(variance + 1e-5) * scale[i] + shift[i];
    }
    return y;
}

static Doubles product(const Doubles &x, const Floats &w, int inner, int columns)
{
    Doubles y(TOKENS * columns);
    for (int t = 0; t < TOKENS; t++)
        for (int k = 0; k < inner; k++)
            for (int n = 0; n < columns; n++)
                y[t * columns + n] += x[t * inner + k] * w[k * columns + n];
    return y;
}

static Doubles attention(const Doubles &qkv)
{
    Doubles y(TOKENS * WIDTH);
    for (int h = 0; h < SLICES; h++)
        for (int t = 0; t < TOKENS; t++) {
            const double *q = &qkv[t * 3 * WIDTH + h * HEAD];
            double weight[TOKENS], sum = 0;
            for (int s = 0; s < TOKENS; s++) {
                const double *k = &qkv[s * 3 * WIDTH + h * HEAD + WIDTH];
                double score = 0;
                for (int i = 0; i < HEAD; i++)
                    score += q[i] * k[i];
                sum += weight[s] = std::exp(score / std::sqrt(double(HEAD)));
            }
            for (int s = 0; s < TOKENS; s++)
                for (int i = 0; i < HEAD; i++)
                    y[t * WIDTH + h * HEAD + i] +=
                        weight[s] / sum *
                        qkv[s * 3 * WIDTH + h * HEAD + 2 * WIDTH + i];
        }
    return y;
}

static Doubles reference(const Weights &w, const Floats &given)
{
    Doubles x(given.begin(), given.end());
    const Doubles heads = product(normalised(x, w.scale1, w.shift1), w.qkv, WIDTH,
                                  3 * WIDTH);
    const Doubles out = product(attention(heads), w.out, WIDTH, WIDTH);
    for (size_t i = 0; i < x.size(); i++)
        x[i] += out[i];
    Doubles hidden = product(normalised(x, w.scale2, w.shift2), w.up, WIDTH, HIDDEN);
    for (size_t i = 0; i < hidden.size(); i++) {
        const double u = hidden[i] + w.bias[i % HIDDEN];
        const double inner = 0.7978845608028654 * (u + 0.044715 * u * u * u);
        hidden[i] = u * (0.5 + 0.5 * std::tanh(inner));
    }
    const Doubles down = product(hidden, w.down, HIDDEN, WIDTH);
    for (size_t i = 0; i < x.size(); i++)
        x[i] += down[i];
    return x;
}

/* Numbers between -1 and 1 times `scale` that do not repeat. */
static Floats numbers(size_t count, float scale)
{
    static unsigned state = 1;
    Floats found(count);
    for (float &number : found) {
        state = state * 1664525u + 1013904223u;
        number = scale * (float(state >> 8) / 8388608.0f - 1.0f);
    }
    return found;
}

int main()
{
    const Weights w = {
        numbers(WIDTH, 1),           numbers(WIDTH, 1),
        numbers(WIDTH * 3 * WIDTH, 0.2f), numbers(WIDTH * WIDTH, 0.2f),
        numbers(WIDTH, 1),           numbers(WIDTH, 1),
        numbers(WIDTH * HIDDEN, 0.2f), numbers(HIDDEN, 1),
        numbers(HIDDEN * WIDTH, 0.1f),
    };
    const Floats x = numbers(TOKENS * WIDTH, 2);
    const Doubles wanted = reference(w, x);
    Floats y(TOKENS * WIDTH);
    if (!norm_supported()) {
        std::fputs("this CPU cannot run the kernels\n", stderr);
        return 1;
    }
    for (int threads = 1; threads <= 2; threads++) {
        Pool pool(threads);
        Block block(w, pool);
        double best = 1e9, worst = 0;
        for (int run = 0; run < 200; run++) {
            const auto start = std::chrono::steady_clock::now();
            const bool ok = block(x.data(), y.data());
            const std::chrono::duration<double> time =
                std::chrono::steady_clock::now() - start;
            if (!ok) {
                std::fputs("wrong: a kernel refused its call\n", stderr);
                return 1;
            }
            best = std::fmin(best, time.count());
        }
        for (size_t i = 0; i < y.size(); i++)
            worst = std::fmax(worst, std::fabs(y[i] - wanted[i]) /
                                         (1 + std::fabs(wanted[i])));
        if (!(worst < 1e-4)) {
            std::fprintf(stderr, "wrong: error %g\n", worst);
            return 1;
        }
        std::printf("right; %d threads, %.0f us\n", threads, 1e6 * best);
    }
    return 0;
}
