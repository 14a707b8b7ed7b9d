// SPDX-License-Identifier: GPL-3.0-or-later
// Peer: MPI_Allreduce of floats with the library's defaults, timed like `trainyard-cli bench
// allreduce`: ranks synchronize before every repeat, and a repeat lasts from the first begin to the
// last end. Arguments: bytes repeats in_place(0|1). Prints median and minimum in seconds.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

// Rewrites the buffer before each repeat, as a backward pass does.
static double once(float* own, float* sum, int elements, int in_place, int rewrite) {
  if (rewrite) memset(in_place ? sum : own, 0, (size_t)elements * 4);
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime(), end, first, last;
  MPI_Allreduce(in_place ? MPI_IN_PLACE : own, sum, elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  end = MPI_Wtime();
  MPI_Allreduce(&begin, &first, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return last - first;
}

static int wrong(const float* sum, int elements, int ranks) {
  for (int i = 0; i < elements; ++i)
    if (sum[i] != (float)(ranks * (i % 1009) + ranks * (ranks - 1) / 2)) return 1;
  return 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 4) return MPI_Abort(MPI_COMM_WORLD, 2);
  const int elements = (int)(atoll(argv[1]) / 4), repeats = atoi(argv[2]), in_place = atoi(argv[3]);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  float* own = aligned_alloc(4096, ((size_t)elements * 4 + 4095) / 4096 * 4096);
  float* sum = aligned_alloc(4096, ((size_t)elements * 4 + 4095) / 4096 * 4096);
  double* seconds = malloc((size_t)repeats * sizeof(double));
  for (int i = 0; i < elements; ++i) own[i] = sum[i] = (float)(i % 1009 + rank);
  once(own, sum, elements, in_place, 0);
  if (wrong(sum, elements, ranks)) return MPI_Abort(MPI_COMM_WORLD, 3);
  memset(own, 0, (size_t)elements * 4);
  memset(sum, 0, (size_t)elements * 4);
  for (int i = 0; i < 3; ++i) once(own, sum, elements, in_place, 1);
  for (int i = 0; i < repeats; ++i) seconds[i] = once(own, sum, elements, in_place, 1);
  qsort(seconds, (size_t)repeats, sizeof(double), ascending);
  if (rank == 0) printf("%.9f %.9f\n", repeats % 2 ? seconds[repeats / 2] : (seconds[repeats / 2 - 1] + seconds[repeats / 2]) / 2, seconds[0]);
  MPI_Finalize();
  return 0;
}
