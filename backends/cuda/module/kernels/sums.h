// SPDX-License-Identifier: GPL-3.0-or-later
// Sums over many numbers, in fp64 and in a fixed order. Teams (thread blocks) compute partial sums;
// the last team to finish adds them. Results are deterministic.
#pragma once

#include <algorithm>

#include "backends/cuda/module/numbers.h"

namespace trainyard::cuda {

// Results of V sums that are computed in one pass.
template <int V>
struct Sums {
  double value[V] = {};
};

inline constexpr std::int64_t kMaxSumTeams = 1024,
                              // Number of values that a team (thread block) sums, until the maximum
                              // number of teams is reached.
    kOfSumTeam = 1024;
constexpr std::int64_t sum_teams(std::int64_t count) {
  return std::clamp<std::int64_t>(parts(count, kOfSumTeam), 1, kMaxSumTeams);
}
constexpr std::int64_t bytes_of_sums(int sums) {
  return (1 + kMaxSumTeams * sums) * static_cast<std::int64_t>(sizeof(double));
}

// Computes sums of value(i) over i in [0, count), and calls finish(sums) once. value(i) is called
// once per i; a thread loads `Ahead` values before it adds them. `memory` has bytes_of_sums(V)
// bytes, which nothing else may use. It begins with the number of finished teams, which is 0 before
// and after the kernel.
template <int V, int Ahead = 4, class Value, class Finish>
void sum_all(Stream& stream, std::int64_t count, double* memory, Value value, Finish finish) {
  const std::int64_t teams = sum_teams(count);
  for_teams(stream, teams, 0, [=] ON_DEVICE(const Team& team, std::int64_t at) {
    Sums<V> own;
    const std::int64_t stride = teams * team.size;
    std::int64_t i = at * team.size + team.rank;
    for (; i + (Ahead - 1) * stride < count; i += Ahead * stride) {
      Sums<V> some[Ahead];
      for (int a = 0; a < Ahead; ++a) some[a] = value(i + a * stride);
      for (int a = 0; a < Ahead; ++a)
        for (int v = 0; v < V; ++v) own.value[v] += some[a].value[v];
    }
    for (; i < count; i += stride) {
      const Sums<V> one = value(i);
      for (int v = 0; v < V; ++v) own.value[v] += one.value[v];
    }
    double* const of_teams = memory + 1;
    for (int v = 0; v < V; ++v) {
      const double all = team.sum(own.value[v]);
      if (team.rank == 0) of_teams[v * teams + at] = all;
    }
    if (!team.is_last(*reinterpret_cast<std::uint32_t*>(memory), teams)) return;
    Sums<V> all;
    for (int v = 0; v < V; ++v) {
      double part = 0;
      for (std::int64_t t = team.rank; t < teams; t += team.size)
        part += load_uncached(of_teams[v * teams + t]);
      all.value[v] = team.sum(part);
    }
    if (team.rank == 0) finish(all);
  });
}

inline constexpr std::int64_t kSumColumns = 32, kSumLanes = 8, kMaxSumParts = 256, kMinSumRows = 64;

constexpr std::int64_t rows_of_part(std::int64_t rows) {
  return std::max(kMinSumRows, parts(rows, kMaxSumParts));
}
constexpr std::int64_t bytes_of_column_sums(std::int64_t rows, std::int64_t columns, int sums) {
  return parts(rows, rows_of_part(rows)) * columns * sums *
         static_cast<std::int64_t>(sizeof(double));
}

// Returns the sum of a column, by adding the partial sums of all lanes.
ON_DEVICE inline double sum_of_lanes(const double* first) {
  double sum = 0;
  for (std::int64_t lane = 0; lane < kSumLanes; ++lane) sum += first[lane * kSumColumns];
  return sum;
}

// Sums value(row, column) over all rows. Calls store(column, sums) for each column, also if there
// are no rows. `memory` has bytes_of_column_sums bytes. A team (thread block) processes some
// columns of some rows, so that adjacent threads read adjacent numbers. A thread loads `Ahead`
// values before it adds them.
template <int V, int Ahead = 4, class Value, class Store>
void sum_columns(Stream& stream, std::int64_t rows, std::int64_t columns, double* memory,
                 Value value, Store store) {
  const std::int64_t height = rows_of_part(rows), row_parts = parts(rows, height),
                     column_parts = parts(columns, kSumColumns);
  constexpr std::int64_t together = kSumColumns * kSumLanes;
  for_teams(
      stream, row_parts * column_parts, together * V * static_cast<std::int64_t>(sizeof(double)),
      [=] ON_DEVICE(const Team& team, std::int64_t at) {
        double* const of_lanes = shared<double>(team);
        const std::int64_t part = at / column_parts, first_column = at % column_parts * kSumColumns;
        const std::int64_t end = (part + 1) * height < rows ? (part + 1) * height : rows;
        for (std::int64_t k = team.rank; k < together; k += team.size) {
          const std::int64_t column = first_column + k % kSumColumns;
          Sums<V> own;
          std::int64_t row = part * height + k / kSumColumns;
          for (; column < columns && row + (Ahead - 1) * kSumLanes < end;
               row += Ahead * kSumLanes) {
            Sums<V> some[Ahead];
            for (int a = 0; a < Ahead; ++a) some[a] = value(row + a * kSumLanes, column);
            for (int a = 0; a < Ahead; ++a)
              for (int v = 0; v < V; ++v) own.value[v] += some[a].value[v];
          }
          for (; column < columns && row < end; row += kSumLanes) {
            const Sums<V> one = value(row, column);
            for (int v = 0; v < V; ++v) own.value[v] += one.value[v];
          }
          for (int v = 0; v < V; ++v) of_lanes[v * together + k] = own.value[v];
        }
        team.sync();
        for (std::int64_t k = team.rank; k < kSumColumns; k += team.size)
          for (int v = 0; v < V && first_column + k < columns; ++v)
            memory[(v * row_parts + part) * columns + first_column + k] =
                sum_of_lanes(of_lanes + v * together + k);
      });
  for_teams(stream, column_parts, together * V * static_cast<std::int64_t>(sizeof(double)),
            [=] ON_DEVICE(const Team& team, std::int64_t at) {
              double* const of_lanes = shared<double>(team);
              const std::int64_t first_column = at * kSumColumns;
              for (std::int64_t k = team.rank; k < together; k += team.size) {
                const std::int64_t column = first_column + k % kSumColumns;
                for (int v = 0; v < V; ++v) {
                  double own = 0;
                  for (std::int64_t part = k / kSumColumns; column < columns && part < row_parts;
                       part += kSumLanes)
                    own += memory[(v * row_parts + part) * columns + column];
                  of_lanes[v * together + k] = own;
                }
              }
              team.sync();
              for (std::int64_t k = team.rank; k < kSumColumns && first_column + k < columns;
                   k += team.size) {
                Sums<V> all;
                for (int v = 0; v < V; ++v)
                  all.value[v] = sum_of_lanes(of_lanes + v * together + k);
                store(first_column + k, all);
              }
            });
}

// Writes the sum of squares of both tensors, either of which may be empty, to fp64 [1]. Does
// nothing if `sum` is empty.
template <class W>
void square(Stream& stream, const Tensor& one, const Tensor& other, const Tensor& sum,
            double* memory) {
  if (sum.empty()) return;
  const std::int64_t ones = one.empty() ? 0 : one.elements(),
                     others = other.empty() ? 0 : other.elements();
  sum_all<1>(
      stream, ones + others, memory,
      [=] ON_DEVICE(std::int64_t i) {
        const double x = i < ones ? get<W>(one, i) : get<W>(other, i - ones);
        return Sums<1>{{x * x}};
      },
      [=] ON_DEVICE(const Sums<1>& all) { *as<double>(sum) = all.value[0]; });
}

}  // namespace trainyard::cuda
