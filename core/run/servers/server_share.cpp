// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/servers/server_share.h"

#include <algorithm>

#include "core/compute/combine.h"
#include "core/run/input/named_rows.h"

namespace trainyard::run {

ServerShare::ServerShare(const ServedShareParts& parts)
    : parts_(parts), queue_(parts.compute->make_queue()), touched_(arrival().ops.size()) {}

const BoundProgram* ServerShare::named() const {
  return parts_.plan->program("named") < 0 ? nullptr : &program("named");
}

// Returns the memory in which the server keeps the parameters that it gave to a worker. The copies
// of all workers are contiguous per share, with shares in order.
std::byte* ServerShare::kept(const BoundOp& takes, int worker) const {
  return parts_.bound->given.data + place_of(takes) * parts_.plan->rule->workers +
         takes.bytes * worker;
}

void ServerShare::keep(const BoundOp& takes, int worker) const {
  parts_.compute->copy(kept(takes, worker), parameters().data + place_of(takes), takes.bytes);
}

void ServerShare::keep(int worker) {
  for (std::size_t op = 1; compensates() && op < arrival().ops.size(); ++op)
    keep(arrival().ops[op], worker);
}

void ServerShare::save_given(int worker) {
  for (std::size_t op = 1; compensates() && op < arrival().ops.size(); ++op)
    if (arrival().ops[op].named.list == nullptr) keep(arrival().ops[op], worker);
}

void ServerShare::keep_rows(std::size_t op, int worker, int place) {
  if (!compensates()) return;
  const BoundOp& takes = arrival().ops[op];
  const std::byte* const version =
      parts_.bound->versions[static_cast<std::size_t>(place)].data + place_of(takes);
  for (const std::int32_t number : RowList(takes.named.list_of(worker)).numbers())
    parts_.compute->copy(kept(takes, worker) + number * takes.named.row_bytes,
                         version + number * takes.named.row_bytes, takes.named.row_bytes);
}

const std::byte* ServerShare::compensated(const BoundOp& takes, const std::byte* gradient,
                                          int worker) const {
  std::byte* const made = parts_.bound->compensated.data + place_of(takes);
  parts_.compute->copy(made, gradient, takes.bytes);
  compute::compensate(*parts_.compute, takes.dtype, made, parameters().data + place_of(takes),
                      kept(takes, worker), parts_.delay_compensation, takes.elements);
  return made;
}

void ServerShare::take(std::size_t op, const std::byte* gradient, bool first, int worker) {
  const BoundOp& takes = arrival().ops[op];
  if (compensates()) gradient = compensated(takes, gradient, worker);
  if (first) return parts_.compute->copy(takes.data, gradient, takes.bytes);
  sources_.assign({takes.data, gradient});
  parts_.compute->sum(takes.dtype, takes.data, sources_, takes.elements);
}

void ServerShare::add(std::size_t op, std::span<const std::byte* const> gradients) {
  const BoundOp& takes = arrival().ops[op];
  sources_.assign(gradients.begin(), gradients.end());
  parts_.compute->sum(takes.dtype, takes.data, sources_, takes.elements);
}

// Table rows
// ------------------------------------------------------------------------------------------

std::int64_t ServerShare::bytes_pushed(const BoundOp& takes, int worker) {
  if (takes.named.list == nullptr) return takes.bytes;
  return std::ssize(RowList(takes.named.list_of(worker)).numbers()) * takes.named.row_bytes;
}

std::int64_t ServerShare::bytes_wanted(const BoundOp& gives, int worker) {
  return RowList(gives.named.list_of(worker)).wants_all() ? gives.bytes
                                                          : bytes_pushed(gives, worker);
}

std::span<const std::byte> ServerShare::rows_wanted(const BoundOp& gives, int worker, int place) {
  const std::vector<compute::Tensor>& versions = parts_.bound->versions;
  const std::byte* const table =
      versions[static_cast<std::size_t>(place)].data + (gives.data - versions.front().data);
  const RowList list(gives.named.list_of(worker));
  const auto bytes = static_cast<std::size_t>(bytes_wanted(gives, worker));
  if (list.wants_all()) return {table, bytes};
  gather_rows(*parts_.compute, gives.named.row_bytes, list.numbers(), table,
              gives.named.assign_to_engine(worker));
  return {gives.named.assign_to_engine(worker), bytes};
}

void ServerShare::take_pushed(std::size_t op, const std::byte* pushed, bool first, int worker) {
  const BoundOp& takes = arrival().ops[op];
  if (takes.named.list == nullptr) return take(op, pushed, first, worker);
  if (first) forget_rows(op);
  for (const std::int32_t number : RowList(takes.named.list_of(worker)).numbers()) {
    take_row(takes, number * takes.named.row_bytes, pushed, first, worker);
    pushed += takes.named.row_bytes;
    touched_[op].push_back(number);
  }
}

void ServerShare::add_pushed(std::size_t op, std::span<const std::byte* const> pushed,
                             std::span<const int> workers) {
  if (arrival().ops[op].named.list == nullptr) return add(op, pushed);
  for (std::size_t i = 0; i < pushed.size(); ++i) take_pushed(op, pushed[i], i == 0, workers[i]);
}

void ServerShare::take_row(const BoundOp& takes, std::int64_t at, const std::byte* row, bool first,
                           int worker) {
  const std::int64_t bytes = takes.named.row_bytes, elements = bytes / base::size_of(takes.dtype);
  if (compensates()) {
    std::byte* const made = parts_.bound->compensated.data + place_of(takes) + at;
    parts_.compute->copy(made, row, bytes);
    compute::compensate(*parts_.compute, takes.dtype, made,
                        parameters().data + place_of(takes) + at, kept(takes, worker) + at,
                        parts_.delay_compensation, elements);
    row = made;
  }
  if (first) return parts_.compute->copy(takes.data + at, row, bytes);
  sources_.assign({takes.data + at, row});
  parts_.compute->sum(takes.dtype, takes.data + at, sources_, elements);
}

// Sets the gradient rows that were written for this update back to zero.
void ServerShare::forget_rows(std::size_t op) {
  const BoundOp& takes = arrival().ops[op];
  zeros_.resize(std::max(zeros_.size(), static_cast<std::size_t>(takes.named.row_bytes)));
  for (const std::int32_t number : touched_[op])
    parts_.compute->copy(takes.data + number * takes.named.row_bytes, zeros_.data(),
                         takes.named.row_bytes);
  touched_[op].clear();
}

base::Result<void> ServerShare::scale(double factor) {
  for (const BoundOp& takes : arrival().ops) {
    if (factor == 1 || takes.bucket < 0) continue;
    const compute::Tensor sum{takes.dtype, {takes.elements}, takes.data};
    const auto scales = parts_.compute->prepare(compute::Scale{sum, sum, factor});
    if (!scales) return base::fail(scales.error());
    (*scales)->enqueue(*queue_);
    if (auto ok = compute::finish(*queue_); !ok) return ok;
  }
  return {};
}

double ServerShare::begin_update(std::int64_t version, std::int64_t step,
                                 std::span<const std::int64_t> staleness, int to) {
  to_ = to;
  double rate = parts_.recipe->learning_rate(step);
  if (parts_.divides_by_staleness) {
    double sum = 0;
    for (const std::int64_t one : staleness) sum += static_cast<double>(one);
    rate /= std::max(1.0, sum / static_cast<double>(staleness.size()));
  }
  parts_.bound->rate.as<double>()[0] = rate;
  parts_.bound->rate.as<double>()[1] = static_cast<double>(version);
  return rate;
}

base::Result<void> ServerShare::run_update(std::size_t op) {
  const BoundOp& updates = update().ops[op];
  if (updates.kernels.empty()) return {};
  updates
      .kernels[static_cast<std::size_t>(place_) * static_cast<std::size_t>(places()) +
               static_cast<std::size_t>(to_)]
      ->enqueue(*queue_);
  return compute::finish(*queue_);
}

}  // namespace trainyard::run
