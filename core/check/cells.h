// SPDX-License-Identifier: GPL-3.0-or-later
// A rank's buffers, divided into cells: a cell ends wherever any access starts or ends. Every
// access therefore treats all elements of a cell alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/plan/plan.h"

namespace trainyard::check {

struct Cell {
  std::int32_t write_lane = -1;
  std::int64_t write = -1;  // sequence number of the last write, on `write_lane`
  // by lane: sequence number of the lane's last read of the cell since the last write by any lane;
  // -1 if there is none
  std::vector<std::int64_t> reads;
};
struct Span {
  std::size_t buffer, first, last;  // half-open range of cells [first, last)
};
struct OpSpans {
  std::vector<Span> reads, writes;
};

class Cells {
 public:
  explicit Cells(const plan::RankPlan& rank);

  const OpSpans& of(int program, int op) const {
    return spans_[static_cast<std::size_t>(program)][static_cast<std::size_t>(op)];
  }
  Cell& cell(std::size_t buffer, std::size_t number) { return cells_[buffer][number]; }
  // returns the elements of cell number `number` of a buffer
  plan::Access range(std::size_t buffer, std::size_t number) const;

 private:
  std::vector<Span> spans(const std::vector<plan::Access>& accesses) const;

  std::vector<std::vector<std::int64_t>> cuts_;  // cell boundaries, by buffer
  std::vector<std::vector<Cell>> cells_;         // cells by buffer
  std::vector<std::vector<OpSpans>> spans_;      // spans of ops, by program and op
};

}  // namespace trainyard::check
