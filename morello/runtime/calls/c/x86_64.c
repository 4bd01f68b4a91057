/* Whether CPU and system have what a kernel needs, for kernels that are linked into C
   programs. It needs nothing of the CPU but x86-64 itself. */

#include "python.h"

/* A register of an answer of CPUID, and the bits that must be set there. */
typedef struct {
  uint32_t leaf, subleaf, number, mask;
} Question;

typedef struct {
  uint32_t saved; /* registers that the system must save, as bits of XCR0 */
  uint32_t count;
  Question questions[];
} Needs;

enum { EXTENDED = 1u << 31, WITH_SUBLEAVES = 7 };
enum { LACKS = 1, HAS = 2 };

enum { EAX, EBX, ECX, EDX };

/* Tiles (AMX): their bit in XCR0 and its number, and the system call that asks Linux to
   permit them to this process. Those who may use them have asked. */
enum { TILES = 1u << 18, TILE_DATA = 18, ARCH_PRCTL = 158, REQUEST = 0x1023 };

#define INLINE static inline __attribute__((always_inline))

/* A register of the answer. */
INLINE uint32_t ask(uint32_t leaf, uint32_t subleaf, uint32_t number) {
  uint32_t a, b, c, d;
  __asm__ volatile("cpuid"
                   : "=a"(a), "=b"(b), "=c"(c), "=d"(d)
                   : "a"(leaf), "c"(subleaf));
  return number == EAX ? a : number == EBX ? b : number == ECX ? c : d;
}

INLINE bool permits_tiles(void) {
  long answer;
  __asm__ volatile("syscall"
                   : "=a"(answer)
                   : "a"((long)ARCH_PRCTL), "D"((long)REQUEST), "S"((long)TILE_DATA)
                   : "rcx", "r11", "memory");
  return answer == 0;
}

INLINE bool has_all(const Needs *needs) {
  for (word i = 0; i < needs->count; i++) {
    const Question *own = &needs->questions[i];
    uint32_t leaf = own->leaf, subleaf = own->subleaf, mask = own->mask;
    if (ask(leaf & EXTENDED, 0, EAX) < leaf) return false;
    if (leaf == WITH_SUBLEAVES && subleaf && ask(leaf, 0, EAX) < subleaf) return false;
    if ((ask(leaf, subleaf, own->number) & mask) != mask) return false;
  }
  if (!needs->saved) return true;
  uint32_t low, high; /* of XCR0 */
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & needs->saved) != needs->saved) return false;
  return !(needs->saved & TILES) || permits_tiles();
}

/* 1 where all is there and permitted, else 0. The answer is kept, because CPUID takes about a
   microsecond in a virtual machine. */
int check_cpu(int *kept, const Needs *needs) {
  int answer = __atomic_load_n(kept, __ATOMIC_RELAXED);
  if (!answer) {
    answer = has_all(needs) ? HAS : LACKS;
    __atomic_store_n(kept, answer, __ATOMIC_RELAXED);
  }
  return answer - 1;
}
