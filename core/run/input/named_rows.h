// SPDX-License-Identifier: GPL-3.0-or-later
// Named rows: the table rows that a worker needs in a round. The worker sends the servers a list of
// these rows (plan::kListHead). This file builds the list, and copies rows between a table and
// packed memory.
#pragma once

#include <span>
#include <vector>

#include "core/run/bind/bound_plan.h"
#include "core/run/input/round_input.h"

namespace trainyard::run {

// A list of rows in a rank's memory.
class RowList {
 public:
  explicit RowList(std::int32_t* memory) : memory_(memory) {}

  std::span<const std::int32_t> numbers() const {
    return {memory_ + plan::kListHead,
            // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): only ranks with a list get here
            static_cast<std::size_t>(memory_[0])};
  }
  bool wants_all() const { return memory_[1] != 0; }
  void write(std::span<const std::int32_t> numbers, bool wants_all);

  // Returns the bytes of the list that are sent: all elements except the number of rows.
  std::span<const std::byte> message() const {
    return std::as_bytes(std::span(memory_ + 1, numbers().size() + 1));
  }
  // Stores a received list. Returns a Problem if it has too many rows, or rows that are not
  // ascending or not in this table.
  base::Result<void> take(std::span<const std::byte> message, const NamedRows& table);

 private:
  std::int32_t* memory_;
};

// `gather_rows` copies rows of a table to packed memory: packed[i] = table[numbers[i]].
// `scatter_rows` copies them back. `table`: first row of the share.
void gather_rows(compute::Compute& compute, std::int64_t row_bytes,
                 std::span<const std::int32_t> numbers, const std::byte* table, std::byte* packed);
void scatter_rows(compute::Compute& compute, std::int64_t row_bytes,
                  std::span<const std::int32_t> numbers, const std::byte* packed, std::byte* table);

// Runs a `pack` op, which copies the rows of its list to packed memory.
void pack_rows(compute::Compute& compute, const BoundOp& op);

// Returns the number of bytes that an op sends or receives: the bytes of the rows in its list, or
// of all rows of the table if the op has no list.
std::int64_t bytes_carried(const BoundOp& op);

// Determines the table rows that the samples of a round look up.
class RowNames {
 public:
  explicit RowNames(RoundInput& input) : input_(input) {}  // `input` must outlive this object

  // Returns the rows of a share that the samples of `step` look up, ascending and unique, relative
  // to the first row of the share. Numbers that are not rows of the table are skipped. Valid until
  // the next call.
  std::span<const std::int32_t> of(std::int64_t step, const NamedRows& table);

 private:
  void take(std::int64_t step);

  RoundInput& input_;
  std::int64_t step_ = -1;
  std::size_t samples_ = 0;
  std::vector<float> columns_;  // row numbers in all samples of the step
  std::vector<std::int32_t> numbers_;
};

}  // namespace trainyard::run
