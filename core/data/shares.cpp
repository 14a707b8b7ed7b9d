// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/shares.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace trainyard::data {

std::pair<std::int64_t, std::int64_t> slice(std::int64_t samples, std::int64_t ranks,
                                            std::int64_t rank) {
  const std::int64_t share = samples / ranks,
                     longer = samples % ranks;  // The first `longer` ranks have one sample more.
  return {rank * share + std::min(rank, longer), share + (rank < longer ? 1 : 0)};
}

std::pair<std::int64_t, std::int64_t> slice(std::int64_t samples, std::int64_t ranks,
                                            std::int64_t rank, std::int64_t without) {
  if (without < 0) return slice(samples, ranks, rank);
  return rank == without ? std::pair<std::int64_t, std::int64_t>{0, 0}
                         : slice(samples, ranks - 1, rank - (rank > without ? 1 : 0));
}

Shares::Shares(std::int64_t samples, std::int64_t batch_per_rank, std::int64_t ranks,
               std::int64_t without, std::vector<std::int64_t> owned)
    : samples_(samples),
      batch_(batch_per_rank),
      ranks_(ranks),
      without_(without),
      owned_(std::move(owned)) {
  const auto batches = [](std::int64_t of, std::int64_t batch) { return (of + batch - 1) / batch; };
  steps_ = owned_.empty() ? batches(samples_, batch_ * consumers())
                          : batches(*std::max_element(owned_.begin(), owned_.end()), batch_);
}

Shares Shares::even(std::int64_t samples, std::int64_t batch_per_rank, std::int64_t ranks,
                    std::int64_t without) {
  return {samples, batch_per_rank, ranks, without, {}};
}

Shares Shares::owned(std::vector<std::int64_t> owned, std::int64_t batch_per_rank) {
  const std::int64_t samples = std::accumulate(owned.begin(), owned.end(), std::int64_t{0});
  const std::int64_t ranks = std::ssize(owned);
  return {samples, batch_per_rank, ranks, kNone, std::move(owned)};
}

std::int64_t Shares::global_samples(std::int64_t step) const {
  if (owned_.empty())
    return std::min(batch_ * consumers(), samples_ - in_epoch(step) * batch_ * consumers());
  std::int64_t sum = 0;
  for (std::int64_t rank = 0; rank < ranks_; ++rank) sum += samples(step, rank);
  return sum;
}

std::int64_t Shares::samples(std::int64_t step, std::int64_t rank) const {
  if (owned_.empty()) return slice(global_samples(step), ranks_, rank, without_).second;
  return std::clamp<std::int64_t>(owned_[static_cast<std::size_t>(rank)] - in_epoch(step) * batch_,
                                  0, batch_);
}

std::int64_t Shares::first(std::int64_t step, std::int64_t rank) const {
  if (owned_.empty())
    return in_epoch(step) * batch_ * consumers() +
           slice(global_samples(step), ranks_, rank, without_).first;
  return std::min(owned_[static_cast<std::size_t>(rank)], in_epoch(step) * batch_);
}

// The number of samples of a rank changes after its last full batch, and again when it has no
// samples left.
std::int64_t Shares::samples_between(std::int64_t first_step, std::int64_t end_step) const {
  const auto from_start = [&](std::int64_t steps) {
    std::int64_t samples = steps / steps_ * samples_;
    for (std::int64_t step = 0; step < steps % steps_; ++step) samples += global_samples(step);
    return samples;
  };
  return from_start(end_step) - from_start(first_step);
}

std::vector<StepRange> Shares::stretches() const {
  std::set<std::int64_t> starts{0};
  if (owned_.empty()) starts.insert(samples_ / (batch_ * consumers()));
  for (const std::int64_t count : owned_)
    starts.insert({count / batch_, (count + batch_ - 1) / batch_});
  std::vector<StepRange> list;
  for (auto at = starts.begin(); at != starts.end() && *at < steps_; ++at) {
    const auto next = std::next(at);
    list.push_back({*at, (next == starts.end() ? steps_ : std::min(*next, steps_)) - *at});
  }
  return list;
}

}  // namespace trainyard::data
