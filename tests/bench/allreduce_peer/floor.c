// SPDX-License-Identifier: GPL-3.0-or-later
// Lower bound of an all-reduce of floats through memory that all ranks map, on this machine. Each
// rank is pinned to a core. It sums its share from all buffers, waits for the others, and copies
// their shares; nothing is recorded, checked or planned. Timed like mpi.c. Arguments: bytes repeats
// ranks. Prints median and minimum in seconds.
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kMostRanks = 16, kMostRepeats = 4096 };

typedef struct {
  _Alignas(128) atomic_int arrived;
  _Alignas(128) atomic_int met;
  _Alignas(128) double begin[kMostRepeats][kMostRanks];
  double end[kMostRepeats][kMostRanks];
} Shared;

static void meet(Shared* shared, int ranks, int* times) {
  const int now = ++*times;
  if (atomic_fetch_add(&shared->arrived, 1) == now * ranks - 1) atomic_store(&shared->met, now);
  while (atomic_load_explicit(&shared->met, memory_order_acquire) < now) {
  }
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void add(float* restrict sum, const float* restrict other, long count) {
  for (long i = 0; i < count; ++i) sum[i] += other[i];
}

static void reduce(Shared* shared, float** buffers, long elements, int rank, int ranks, int* met) {
  const long first = elements * rank / ranks, end = elements * (rank + 1) / ranks;
  for (int other = 0; other < ranks; ++other)
    if (other != rank) add(buffers[rank] + first, buffers[other] + first, end - first);
  meet(shared, ranks, met);
  for (int step = 1; step < ranks; ++step) {
    const int other = (rank + step) % ranks;
    const long from = elements * other / ranks, to = elements * (other + 1) / ranks;
    memcpy(buffers[rank] + from, buffers[other] + from, (size_t)(to - from) * 4);
  }
  meet(shared, ranks, met);
}

static void run(Shared* shared, float** buffers, long elements, int repeats, int rank, int ranks) {
  int met = 0;
  for (int repeat = -3; repeat < repeats; ++repeat) {
    memset(buffers[rank], 0, (size_t)elements * 4);
    meet(shared, ranks, &met);
    const double begin = now();
    reduce(shared, buffers, elements, rank, ranks, &met);
    if (repeat >= 0) shared->begin[repeat][rank] = begin, shared->end[repeat][rank] = now();
  }
}

static void stay_on_core(int number) {
  cpu_set_t all, one;
  sched_getaffinity(0, sizeof all, &all);
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &all) && number-- == 0) {
      CPU_ZERO(&one);
      CPU_SET(core, &one);
      sched_setaffinity(0, sizeof one, &one);
      return;
    }
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const long elements = atol(argv[1]) / 4;
  const int repeats = atoi(argv[2]) < kMostRepeats ? atoi(argv[2]) : kMostRepeats, ranks = atoi(argv[3]);
  if (elements < 1 || repeats < 1 || ranks < 1 || ranks > kMostRanks) return 2;
  Shared* shared = mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const size_t each = ((size_t)elements * 4 + 4095) / 4096 * 4096;
  char* arena = mmap(NULL, each * (size_t)ranks, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED || arena == MAP_FAILED) return 3;
  float* buffers[kMostRanks];
  for (int rank = 0; rank < ranks; ++rank) buffers[rank] = (float*)(arena + each * (size_t)rank);
  for (int rank = 1; rank < ranks; ++rank)
    if (fork() == 0) {
      stay_on_core(rank);
      run(shared, buffers, elements, repeats, rank, ranks);
      _exit(0);
    }
  stay_on_core(0);
  run(shared, buffers, elements, repeats, 0, ranks);
  while (wait(NULL) > 0) {
  }
  static double seconds[kMostRepeats];
  for (int repeat = 0; repeat < repeats; ++repeat) {
    double first = shared->begin[repeat][0], last = shared->end[repeat][0];
    for (int rank = 1; rank < ranks; ++rank) {
      if (shared->begin[repeat][rank] < first) first = shared->begin[repeat][rank];
      if (shared->end[repeat][rank] > last) last = shared->end[repeat][rank];
    }
    seconds[repeat] = last - first;
  }
  qsort(seconds, (size_t)repeats, sizeof(double), ascending);
  printf("%.9f %.9f\n", repeats % 2 ? seconds[repeats / 2] : (seconds[repeats / 2 - 1] + seconds[repeats / 2]) / 2, seconds[0]);
  return 0;
}
