// SPDX-License-Identifier: GPL-3.0-or-later
// Row normalization, with one team (thread block) per row. Every pass recomputes the statistics of
// its row (mean and 1 / deviation). Only the weight gradient stores those of all rows while it sums
// columns.
#pragma once

#include "backends/cuda/module/kernels/map.h"
#include "backends/cuda/module/kernels/sums.h"

namespace trainyard::cuda {

using compute::RowNorm;

// Position of a row element in the registers of a thread: the group of four elements, and the index
// in that group.
struct Slot {
  int four, place;
};

// A row that is too long for registers, so every pass reads it from memory again. `visit` calls
// visit(slot, c) for each column c of the thread; this kind of row does not use the slot.
template <class W>
struct LooseRow {
  const Tensor& tensor;
  std::int64_t columns, first;

  ON_DEVICE LooseRow(const Tensor& all, std::int64_t row)
      : tensor(all), columns(channels_of(all)), first(row * columns) {}
  ON_DEVICE void read(const Team&) {}
  template <class Visit>
  ON_DEVICE void visit(const Team& team, const Visit& visit) const {
    for (std::int64_t c = team.rank; c < columns; c += team.size) visit(Slot{}, c);
  }
  ON_DEVICE W get(Slot, std::int64_t c) const { return cuda::get<W>(tensor, first + c); }
  ON_DEVICE void put(Slot, std::int64_t c, W value) { cuda::put(tensor, first + c, value); }
};

// Row that a small team (thread block) keeps in registers, so that each number is read only once,
// four adjacent numbers at a time.
inline constexpr std::int64_t kKeptColumns = 1024;
inline constexpr int kKeptFours =
    static_cast<int>(kKeptColumns / kNeighbors / kSmallTeam);  // per thread

template <class W>
bool keeps(const Tensor& tensor) {
  return Vector4<W>::fit(tensor) && channels_of(tensor) % kNeighbors == 0 &&
         channels_of(tensor) <= kKeptColumns;
}

template <class W>
struct KeptRow {
  const Tensor& tensor;
  std::int64_t fours, first;
  Vector4<W> kept[kKeptFours];

  ON_DEVICE KeptRow(const Tensor& all, std::int64_t row)
      : tensor(all), fours(channels_of(all) / kNeighbors), first(row * fours) {}
  IN_REGISTERS void read(const Team& team) {
    unrolled<kKeptFours>([&](int four) {
      const std::int64_t at = four * team.size + team.rank;
      if (at < fours) kept[four].load(tensor, first + at);
    });
  }
  template <class Visit>
  IN_REGISTERS void visit(const Team& team, const Visit& visit) const {
    unrolled<kKeptFours>([&](int four) {
      const std::int64_t at = four * team.size + team.rank;
      if (at < fours)
        unrolled<kNeighbors>([&](int place) { visit(Slot{four, place}, at * kNeighbors + place); });
    });
  }
  IN_REGISTERS W get(Slot slot, std::int64_t) const {
    return kept[slot.four].get(tensor.dtype, slot.place);
  }
  IN_REGISTERS void put(Slot slot, std::int64_t c, W value) {
    kept[slot.four].put(tensor.dtype, slot.place, value);
    if (slot.place == kNeighbors - 1) kept[slot.four].store(tensor, first + c / kNeighbors);
  }
};

// Mean and 1 / sqrt(variance + epsilon) of a row, computed in two passes.
struct RowStatistics {
  double mean, inverse_deviation;
};

template <class W, class Row>
IN_REGISTERS RowStatistics statistics_of(const Team& team, const Row& row, std::int64_t columns,
                                         RowNorm norm, double epsilon) {
  double sum = 0, squares = 0;
  if (norm == RowNorm::layer)
    row.visit(team,
              [&](Slot slot, std::int64_t c) { sum += static_cast<double>(row.get(slot, c)); });
  const double mean = norm == RowNorm::layer ? team.sum(sum) / static_cast<double>(columns) : 0;
  row.visit(team, [&](Slot slot, std::int64_t c) {
    const double centered = static_cast<double>(row.get(slot, c)) - mean;
    squares += centered * centered;
  });
  return {mean, 1 / std::sqrt(team.sum(squares) / static_cast<double>(columns) + epsilon)};
}

template <class W>
ON_DEVICE W normalized(W value, const RowStatistics& of) {
  return (value - static_cast<W>(of.mean)) * static_cast<W>(of.inverse_deviation);
}

template <class W, class Row>
IN_REGISTERS void normalize(const Team& team, const compute::RowNormForward& op, std::int64_t at) {
  Row input(op.input, at), output(op.output, at);
  input.read(team);
  const RowStatistics of =
      statistics_of<W>(team, input, channels_of(op.input), op.norm, op.epsilon);
  input.visit(team, [&](Slot slot, std::int64_t c) {
    const W shift = op.bias.empty() ? W{0} : get<W>(op.bias, c);
    output.put(slot, c, get<W>(op.weight, c) * normalized(input.get(slot, c), of) + shift);
  });
}

template <class W>
void run(Stream& stream, const compute::RowNormForward& op) {
  const std::int64_t rows = op.input.elements() / channels_of(op.input);
  if (keeps<W>(op.input) && keeps<W>(op.output))
    for_teams<kSmallTeam>(stream, rows, 0, [=] ON_DEVICE(const Team& team, std::int64_t row) {
      normalize<W, KeptRow<W>>(team, op, row);
    });
  else
    for_teams(stream, rows, 0, [=] ON_DEVICE(const Team& team, std::int64_t row) {
      normalize<W, LooseRow<W>>(team, op, row);
    });
}

inline std::int64_t scratch_bytes(const compute::RowNormBackwardWeight& op) {
  const std::int64_t columns = channels_of(op.input), rows = op.input.elements() / columns;
  return rows * static_cast<std::int64_t>(sizeof(RowStatistics)) + bytes_of_sums(1) +
         bytes_of_column_sums(rows, columns, 2);
}

template <class W, class Row>
IN_REGISTERS RowStatistics statistics_of(const Team& team, const compute::RowNormBackwardWeight& op,
                                         std::int64_t at) {
  Row input(op.input, at);
  input.read(team);
  return statistics_of<W>(team, input, channels_of(op.input), op.norm, op.epsilon);
}

template <class W>
void make_statistics(Stream& stream, const compute::RowNormBackwardWeight& op, std::int64_t rows,
                     RowStatistics* statistics) {
  if (keeps<W>(op.input))
    for_teams<kSmallTeam>(stream, rows, 0, [=] ON_DEVICE(const Team& team, std::int64_t row) {
      const RowStatistics of = statistics_of<W, KeptRow<W>>(team, op, row);
      if (team.rank == 0) statistics[row] = of;
    });
  else
    for_teams(stream, rows, 0, [=] ON_DEVICE(const Team& team, std::int64_t row) {
      const RowStatistics of = statistics_of<W, LooseRow<W>>(team, op, row);
      if (team.rank == 0) statistics[row] = of;
    });
}

template <class W>
void run(Stream& stream, const compute::RowNormBackwardWeight& op, std::byte* scratch) {
  const std::int64_t columns = channels_of(op.input), rows = op.input.elements() / columns;
  auto* const statistics = reinterpret_cast<RowStatistics*>(scratch);
  auto* const memory =
      reinterpret_cast<double*>(statistics + rows);  // scratch of the norm, then of the column sums
  make_statistics<W>(stream, op, rows, statistics);
  sum_columns<2>(
      stream, rows, columns, memory + bytes_of_sums(1) / 8,
      [=] ON_DEVICE(std::int64_t row, std::int64_t c) {
        const double gradient = get<W>(op.output_gradient, row * columns + c);
        return Sums<2>{{gradient * static_cast<double>(normalized(
                                       get<W>(op.input, row * columns + c), statistics[row])),
                        gradient}};
      },
      [=] ON_DEVICE(std::int64_t c, const Sums<2>& all) {
        put(op.weight_gradient, c, static_cast<W>(all.value[0]));
        if (!op.bias_gradient.empty()) put(op.bias_gradient, c, static_cast<W>(all.value[1]));
      });
  square<W>(stream, op.weight_gradient, op.bias_gradient, op.squared_norm, memory);
}

template <class W, class Row>
IN_REGISTERS void differentiate(const Team& team, const compute::RowNormBackwardInput& op,
                                std::int64_t at) {
  const std::int64_t columns = channels_of(op.input);
  Row input(op.input, at), gradient(op.output_gradient, at), made(op.input_gradient, at);
  input.read(team), gradient.read(team);
  const RowStatistics of = statistics_of<W>(team, input, columns, op.norm, op.epsilon);
  double sum = 0, along = 0;
  input.visit(team, [&](Slot slot, std::int64_t c) {
    const double scaled = get<W>(op.weight, c) * gradient.get(slot, c);
    sum += scaled;
    along += scaled * static_cast<double>(normalized(input.get(slot, c), of));
  });
  const auto mean =
      static_cast<W>(op.norm == RowNorm::layer ? team.sum(sum) / static_cast<double>(columns) : 0);
  const auto mean_along = static_cast<W>(team.sum(along) / static_cast<double>(columns));
  input.visit(team, [&](Slot slot, std::int64_t c) {
    const W scaled = get<W>(op.weight, c) * gradient.get(slot, c);
    made.put(slot, c,
             (scaled - mean - normalized(input.get(slot, c), of) * mean_along) *
                 static_cast<W>(of.inverse_deviation));
  });
}

template <class W>
void run(Stream& stream, const compute::RowNormBackwardInput& op) {
  const std::int64_t rows = op.input.elements() / channels_of(op.input);
  if (keeps<W>(op.input) && keeps<W>(op.output_gradient) && keeps<W>(op.input_gradient))
    for_teams<kSmallTeam>(stream, rows, 0, [=] ON_DEVICE(const Team& team, std::int64_t row) {
      differentiate<W, KeptRow<W>>(team, op, row);
    });
  else
    for_teams(stream, rows, 0, [=] ON_DEVICE(const Team& team, std::int64_t row) {
      differentiate<W, LooseRow<W>>(team, op, row);
    });
}

}  // namespace trainyard::cuda
