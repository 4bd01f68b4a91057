/* A vector times a matrix, from C: runs the kernel, checks it, times it.

       morello save matmul:1x2048x16384:bf16,bf16,f32 -o vecmat.o -o vecmat.h --name vecmat
       cc -O2 -I. examples/vecmat.c vecmat.o -o vecmat
       ./vecmat

   The same file does for operands of f32 and for other sizes: the header says what they
   are. This one is a layer of the language model Gemma for one token. */

#define _POSIX_C_SOURCE 200112L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vecmat.h"

enum { K = vecmat_LHS_ELEMENTS, N = vecmat_OUT_ELEMENTS };

/* A number as float or as bf16, which is the upper half of a float: both begin with
   the last bytes of a float on x86. Small integers are exact in either. */
static void store(void *place, size_t size, float value)
{
    memcpy(place, (const char *)&value + sizeof value - size, size);
}

/* Integers from -4 to 4 that do not repeat from row to row. */
static int number(size_t i)
{
    return (int)(i * 2654435761u % 2147483647u % 9) - 4;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* How many elements of out are not the exact product. */
static int errors(const vecmat_out_t *out)
{
    static int sum[N];
    int wrong = 0;
    size_t k, n;
    for (k = 0; k < K; k++)
        for (n = 0; n < N; n++)
            sum[n] += number(k) * number(k * N + n);
    for (n = 0; n < N; n++)
        wrong += out[n] != (vecmat_out_t)sum[n];
    return wrong;
}

int main(void)
{
    vecmat_lhs_t *lhs = malloc(sizeof *lhs * K);
    vecmat_rhs_t *rhs = malloc(sizeof *rhs * vecmat_RHS_ELEMENTS);
    vecmat_out_t *out = malloc(sizeof *out * N);
    double best = 1e9;
    size_t i;
    int run, status = vecmat_OK;

    if (!vecmat_supported()) {
        fputs("this CPU cannot run the kernel\n", stderr);
        return 1;
    }
    if (!lhs || !rhs || !out)
        return 1;
    for (i = 0; i < K; i++)
        store(&lhs[i], sizeof lhs[i], (float)number(i));
    for (i = 0; i < vecmat_RHS_ELEMENTS; i++)
        store(&rhs[i], sizeof rhs[i], (float)number(i));

    for (run = 0; run < 20 && status == vecmat_OK; run++) {
        double start = seconds(), time;
        status = vecmat_malloc(lhs, rhs, out);
        time = seconds() - start;
        best = time < best ? time : best;
    }
    if (status != vecmat_OK || errors(out)) {
        fprintf(stderr, "wrong: status %d\n", status);
        return 1;
    }
    printf("exact; %.1f GB/s\n", 1e-9 * sizeof *rhs * vecmat_RHS_ELEMENTS / best);
    free(lhs);
    free(rhs);
    free(out);
    return 0;
}
