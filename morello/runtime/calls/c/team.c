/* Native functions on the processors that other calls leave.

   A function that would need more threads than are left runs on the thread that calls
   it: more threads than processors make each of them slower. OpenMP does that where no
   level of parallelism may be active. */

#include "table.h"

uint64_t pthread_self(void);
int pthread_create(uint64_t *id, const void *how, void *(*run)(void *), void *data);
int pthread_join(uint64_t id, void **result);
int pthread_mutex_init(void *mutex, const void *how);
int pthread_mutex_lock(void *mutex);
int pthread_mutex_unlock(void *mutex);
int pthread_mutex_destroy(void *mutex);

enum { MUTEX_BYTES = 64, CALLERS = 64 };

/* Threads that have started as many others; two that share a place try in turns. */
static uint64_t callers[CALLERS];
static word tried[CALLERS];

static void *pass(void *gate) {
  pthread_mutex_lock(gate);
  pthread_mutex_unlock(gate);
  return NULL;
}

/* Whether so many threads can be made, all at once. OpenMP ends the process where they
   cannot (a limit of the system or of a container), so each caller tries it once. */
static bool startable(word threads) {
  uint64_t self = pthread_self();
  word place = (self >> 12) % CALLERS;
  if (__atomic_load_n(&callers[place], __ATOMIC_RELAXED) == self &&
      __atomic_load_n(&tried[place], __ATOMIC_RELAXED) >= threads)
    return true;
  _Alignas(16) char gate[MUTEX_BYTES];
  word others = threads - 1, started = 0;
  uint64_t ids[others];
  pthread_mutex_init(gate, NULL);
  pthread_mutex_lock(gate);
  while (started < others && !pthread_create(&ids[started], NULL, pass, gate))
    started++;
  pthread_mutex_unlock(gate);
  for (word i = 0; i < started; i++) pthread_join(ids[i], NULL);
  pthread_mutex_destroy(gate);
  if (started < others) return false;
  __atomic_store_n(&tried[place], threads, __ATOMIC_RELAXED);
  __atomic_store_n(&callers[place], self, __ATOMIC_RELAXED);
  return true;
}

/* The threads that a call may have: all that it wants, or 1. */
word join(Process *process, const Table *table) {
  word *busy = &process->busy, threads = table->threads;
  word others = __atomic_fetch_add(busy, threads, __ATOMIC_RELAXED);
  bool fits = others == 0 || others + threads <= table->processors;
  if (fits && startable(threads)) return threads;
  __atomic_fetch_sub(busy, threads - 1, __ATOMIC_RELAXED);
  return 1;
}

void run_in_team(Process *process, Table *table, const word *arguments) {
  word taken = join(process, table);
  if (taken > 1) {
    spread(table, arguments);
  } else {
    int levels = process->levels();
    process->set_levels(0);
    spread(table, arguments);
    process->set_levels(levels);
  }
  __atomic_fetch_sub(&process->busy, taken, __ATOMIC_RELAXED);
}
