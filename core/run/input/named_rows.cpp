// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/input/named_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "core/base/units.h"
#include "core/compute/row_number.h"

namespace trainyard::run {
namespace {

base::Problem no_list(const char* id, const std::string& what, const std::string& accepted) {
  return {id,
          base::ProblemCode::failed,
          "list of requested rows",
          what,
          accepted,
          "The message was truncated, or the two ranks run different plans."};
}

}  // namespace

void RowList::write(std::span<const std::int32_t> numbers, bool wants_all) {
  memory_[0] = static_cast<std::int32_t>(numbers.size());
  memory_[1] = wants_all ? 1 : 0;
  std::copy(numbers.begin(), numbers.end(), memory_ + plan::kListHead);
}

base::Result<void> RowList::take(std::span<const std::byte> message, const NamedRows& table) {
  const std::size_t bytes = message.size(), entry = sizeof(std::int32_t);
  if (bytes < entry || bytes % entry != 0 ||
      bytes / entry - 1 > static_cast<std::size_t>(table.most))
    return base::fail(no_list(
        "bad_row_list_size",
        fmt::format("the list has {}", base::counted(static_cast<std::int64_t>(bytes), "byte")),
        fmt::format("a header and 0 to {} row numbers, of 4 bytes each", table.most)));
  std::memcpy(memory_ + 1, message.data(), bytes);
  memory_[0] = static_cast<std::int32_t>(bytes / entry - 1);
  std::int64_t last = -1;
  for (const std::int32_t number : numbers()) {
    if (number <= last || number >= table.rows)
      return base::fail(no_list("bad_row_number",
                                fmt::format("row {} follows row {}", number, last),
                                fmt::format("ascending row numbers below {}", table.rows)));
    last = number;
  }
  return {};
}

void gather_rows(compute::Compute& compute, std::int64_t row_bytes,
                 std::span<const std::int32_t> numbers, const std::byte* table, std::byte* packed) {
  for (std::size_t i = 0; i < numbers.size(); ++i)
    compute.copy(packed + static_cast<std::int64_t>(i) * row_bytes, table + numbers[i] * row_bytes,
                 row_bytes);
}

void scatter_rows(compute::Compute& compute, std::int64_t row_bytes,
                  std::span<const std::int32_t> numbers, const std::byte* packed,
                  std::byte* table) {
  for (std::size_t i = 0; i < numbers.size(); ++i)
    compute.copy(table + numbers[i] * row_bytes, packed + static_cast<std::int64_t>(i) * row_bytes,
                 row_bytes);
}

void pack_rows(compute::Compute& compute, const BoundOp& op) {
  const auto numbers = RowList(op.named.list).numbers();
  gather_rows(compute, op.named.row_bytes, numbers, op.own, op.data);
  *op.named.packed_rows = static_cast<std::int32_t>(numbers.size());
}

std::int64_t bytes_carried(const BoundOp& op) {
  const NamedRows& named = op.named;
  if (named.packed_rows != nullptr) return *named.packed_rows * named.row_bytes;
  if (named.list == nullptr) return op.bytes;
  const RowList list(named.list);
  if (named.is_list) return std::ssize(list.message());
  return list.wants_all() ? op.bytes : std::ssize(list.numbers()) * named.row_bytes;
}

void RowNames::take(std::int64_t step) {
  step_ = step;
  samples_ = 0;
  columns_.clear();
  for (int micro = 0;; ++micro) {
    const data::Batch& batch = input_.take(step, micro);
    columns_.insert(columns_.end(), batch.features.begin(), batch.features.end());
    samples_ += static_cast<std::size_t>(batch.samples);
    if (input_.is_last_micro_step()) return;
  }
}

std::span<const std::int32_t> RowNames::of(std::int64_t step, const NamedRows& table) {
  if (step != step_) take(step);
  numbers_.clear();
  const std::size_t width = samples_ > 0 ? columns_.size() / samples_ : 0;
  for (std::size_t sample = 0; sample < samples_; ++sample)
    for (std::int64_t slot = 0; slot < table.slot_count; ++slot) {
      const std::int64_t row =
          compute::row_number(columns_[sample * width + static_cast<std::size_t>(slot)],
                              table.first + table.rows) -
          table.first;
      if (row >= 0) numbers_.push_back(static_cast<std::int32_t>(row));
    }
  std::sort(numbers_.begin(), numbers_.end());
  numbers_.erase(std::unique(numbers_.begin(), numbers_.end()), numbers_.end());
  return numbers_;
}

}  // namespace trainyard::run
