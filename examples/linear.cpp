/* A linear layer as language models call it, for one token or a few, on the program's own
   threads: C = (A Bᵀ) · scale + add, where A and C are bf16 and so is B, which has a row
   for each column of C, and where rows are padded.

       morello save 'compose:1x512x2048:bf16,bf16,f32,f32,bf16:graph=t[m,n]=sum(a[m,k]*b[n,k]);y[m,n]=t*s[n]+c[n]:x0=ld2112:x1=ld2112:v1=ld2112' \
           -o linear.o -o linear.h --name linear
       c++ -O2 -std=c++17 -I. -Iexamples examples/linear.cpp linear.o -o linear -pthread
       ./linear

   The kernel computes a slice of the columns of C. In this layout a slice of B and of C
   is no copy: it starts at another row of B and at another column of C. So one kernel
   serves every thread, and every number of columns that is a multiple of its own. The
   header says the sizes; the same file does for others. */

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "linear.h"
#include "pool.h"

/* A matrix of rows that are `stride` elements apart. */
template <typename T> struct Matrix {
    T *data;
    size_t rows, columns, stride;

    T *row(size_t i) const { return data + i * stride; }
};

using Bf16 = uint16_t;

enum : size_t { SLICE = linear_X2_ELEMENTS };

/* C = (A Bᵀ) · scale + add; false where the kernel is for other sizes. */
static bool linear_layer(const Matrix<const Bf16> &a, const Matrix<const Bf16> &b,
                         float scale, const float *add, Pool &pool,
                         const Matrix<Bf16> &c)
{
    if (a.stride != linear_X0_LEADING_DIMENSION ||
        b.stride != linear_X1_LEADING_DIMENSION ||
        c.stride != linear_V1_LEADING_DIMENSION || c.columns % SLICE != 0 ||
        (a.rows - 1) * a.stride + a.columns != linear_X0_ELEMENTS ||
        (SLICE - 1) * b.stride + b.columns != linear_X1_ELEMENTS)
        return false;
    const std::vector<float> scales(SLICE, scale), nothing(SLICE);
    std::vector<char> refused(c.columns / SLICE);
    pool.run(int(refused.size()), [&](int i) {
        const size_t first = i * SLICE;
        const float *bias = add == nullptr ? nothing.data() : add + first;
        refused[i] = linear_malloc(a.data, b.row(first), scales.data(), bias,
                                   c.data + first) != linear_OK;
    });
    for (char one : refused)
        if (one)
            return false;
    return true;
}

static float as_float(Bf16 value)
{
    const uint32_t bits = uint32_t(value) << 16;
    float found;
    std::memcpy(&found, &bits, sizeof found);
    return found;
}

/* Of a number that bf16 has. */
static Bf16 as_bf16(float value)
{
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return Bf16(bits >> 16);
}

/* Integers from -4 to 4 that do not repeat from row to row. */
static float number(size_t i)
{
    return float(i * 2654435761u % 2147483647u % 9) - 4;
}

int main()
{
    const size_t rows = 1 + (linear_X0_ELEMENTS - 1) / linear_X0_LEADING_DIMENSION;
    const size_t inner =
        linear_X0_ELEMENTS - (rows - 1) * linear_X0_LEADING_DIMENSION;
    const size_t columns = linear_V1_LEADING_DIMENSION / SLICE * SLICE;
    const float scale = 0.25f;
    /* Padding is NaN: a kernel that reads it gives NaN, one that writes it is seen. */
    const Bf16 nan = 0x7fff;
    std::vector<Bf16> a(rows * linear_X0_LEADING_DIMENSION, nan);
    std::vector<Bf16> b(columns * linear_X1_LEADING_DIMENSION, nan);
    std::vector<Bf16> c(rows * linear_V1_LEADING_DIMENSION, nan);
    std::vector<float> add(columns);
    const Matrix<const Bf16> lhs{a.data(), rows, inner, linear_X0_LEADING_DIMENSION};
    const Matrix<const Bf16> rhs{b.data(), columns, inner,
                                 linear_X1_LEADING_DIMENSION};
    const Matrix<Bf16> out{c.data(), rows, columns, linear_V1_LEADING_DIMENSION};

    if (!linear_supported()) {
        std::fputs("this CPU cannot run the kernel\n", stderr);
        return 1;
    }
    for (size_t m = 0; m < rows; m++)
        for (size_t k = 0; k < inner; k++)
            a[m * lhs.stride + k] = as_bf16(number(m * inner + k));
    for (size_t n = 0; n < columns; n++) {
        add[n] = number(n + 77);
        for (size_t k = 0; k < inner; k++)
            b[n * rhs.stride + k] = as_bf16(number(n * inner + k + 5));
    }
    for (int threads = 1; threads <= 2; threads++) {
        Pool pool(threads);
        double best = 1e9;
        for (int run = 0; run < 20; run++) {
            const auto start = std::chrono::steady_clock::now();
            if (!linear_layer(lhs, rhs, scale, add.data(), pool, out)) {
                std::fputs("wrong: the kernel is for other sizes\n", stderr);
                return 1;
            }
            const std::chrono::duration<double> time =
                std::chrono::steady_clock::now() - start;
            best = std::fmin(best, time.count());
        }
        for (size_t m = 0; m < rows; m++)
            for (size_t n = 0; n < out.stride; n++) {
                double sum = 0;
                for (size_t k = 0; n < columns && k < inner; k++)
                    sum += double(as_float(lhs.row(m)[k])) * as_float(rhs.row(n)[k]);
                const Bf16 found = out.row(m)[n];
                const double wanted = n < columns ? sum * scale + add[n] : 0;
                /* bf16 has 8 bits: half of the last is at most 2^-8 of the number. */
                const double error = std::fabs(as_float(found) - wanted);
                if (n < columns ? !(error <= std::fabs(wanted) / 256) : found != nan) {
                    std::fprintf(stderr, "wrong: row %zu, column %zu\n", m, n);
                    return 1;
                }
            }
        std::printf("right; %d threads, %.1f GB/s\n", threads,
                    2e-9 * double(columns * inner) / best);
    }
    return 0;
}
