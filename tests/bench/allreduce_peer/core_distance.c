// SPDX-License-Identifier: GPL-3.0-or-later
// Distance of two cores: the time that a written cache line takes from one to the other. Arguments:
// two cores. Prints the minimum of many tries in nanoseconds, one way.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kTrips = 200, kTries = 2000 };
static _Alignas(128) atomic_int ball;

static void stay_on(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  sched_setaffinity(0, sizeof cores, &cores);
}

static void* return_it(void* core) {
  stay_on(*(int*)core);
  for (int i = 0; i < kTries * kTrips; ++i) {
    while (atomic_load_explicit(&ball, memory_order_acquire) != 2 * i + 1) {}
    atomic_store_explicit(&ball, 2 * i + 2, memory_order_release);
  }
  return NULL;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  int here = atoi(argv[1]), there = atoi(argv[2]), sent = 0;
  pthread_t other;
  pthread_create(&other, NULL, return_it, &there);
  stay_on(here);
  double least = 1e18;
  for (int t = 0; t < kTries; ++t) {
    const double begin = now();
    for (int i = 0; i < kTrips; ++i, sent += 2) {
      atomic_store_explicit(&ball, sent + 1, memory_order_release);
      while (atomic_load_explicit(&ball, memory_order_acquire) != sent + 2) {}
    }
    const double each = (now() - begin) / (2.0 * kTrips);
    if (each < least) least = each;
  }
  pthread_join(other, NULL);
  printf("%.0f\n", least);
  return 0;
}
