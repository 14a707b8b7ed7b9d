// SPDX-License-Identifier: GPL-3.0-or-later
// Lower bound of a ring of two ranks over ZeroMQ: the time of its two rounds with this library on
// this machine. Each of two processes sends half of the buffer and receives the other's half,
// twice; nothing is added, copied, recorded or planned. Timed like mpi.c, over a socket file as in
// bench allreduce. Arguments: bytes repeats directory. Prints median and minimum in seconds.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

enum { kMostRepeats = 4096, kWarmUps = 3 };

typedef struct {
  double begin[2][kMostRepeats], end[2][kMostRepeats];
} Shared;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void keep(void* data, void* hint) { (void)data, (void)hint; }

static int cross(void* socket, char* buffer, size_t bytes) {
  zmq_msg_t out, in;
  zmq_msg_init_data(&out, buffer, bytes, keep, NULL);
  zmq_msg_init(&in);
  if (zmq_msg_send(&out, socket, 0) < 0 || zmq_msg_recv(&in, socket, 0) < 0) return 0;
  const int whole = zmq_msg_size(&in) == bytes;
  zmq_msg_close(&in);
  return whole;
}

static int rank(Shared* shared, int self, size_t bytes, int repeats, const char* endpoint) {
  void* context = zmq_ctx_new();
  void* socket = zmq_socket(context, ZMQ_PAIR);
  if ((self == 0 ? zmq_bind(socket, endpoint) : zmq_connect(socket, endpoint)) != 0) return 3;
  char* buffer = calloc(1, bytes);
  for (int repeat = -kWarmUps; repeat < repeats; ++repeat) {
    if (!cross(socket, buffer, 1)) return 3;  // both are here
    const double begin = now();
    if (!cross(socket, buffer, bytes / 2) || !cross(socket, buffer, bytes / 2)) return 3;
    if (repeat >= 0) shared->begin[self][repeat] = begin, shared->end[self][repeat] = now();
  }
  if (!cross(socket, buffer, 1)) return 3;
  zmq_close(socket);
  zmq_ctx_term(context);
  return 0;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const size_t bytes = (size_t)atol(argv[1]);
  const int repeats = atoi(argv[2]) < kMostRepeats ? atoi(argv[2]) : kMostRepeats;
  if (bytes < 2 || repeats < 1) return 2;
  Shared* shared = mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 3;
  char endpoint[128];
  snprintf(endpoint, sizeof endpoint, "ipc://%s/floor-%d", argv[3], (int)getpid());
  const pid_t other = fork();
  if (other == 0) _exit(rank(shared, 1, bytes, repeats, endpoint));
  const int own = rank(shared, 0, bytes, repeats, endpoint);
  int status = 0;
  if (waitpid(other, &status, 0) != other || own != 0 || status != 0) return 3;
  static double seconds[kMostRepeats];
  for (int i = 0; i < repeats; ++i) {
    const double begin = shared->begin[0][i] < shared->begin[1][i] ? shared->begin[0][i] : shared->begin[1][i];
    const double end = shared->end[0][i] > shared->end[1][i] ? shared->end[0][i] : shared->end[1][i];
    seconds[i] = end - begin;
  }
  qsort(seconds, (size_t)repeats, sizeof(double), ascending);
  printf("%.9f %.9f\n", repeats % 2 ? seconds[repeats / 2] : (seconds[repeats / 2 - 1] + seconds[repeats / 2]) / 2, seconds[0]);
  return 0;
}
