// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/stepper/recorded_values.h"

#include <algorithm>
#include <limits>
#include <map>

#include "core/collective/chunk_spans.h"
#include "core/compute/numbers.h"

namespace trainyard::ui {
namespace {

using telemetry::ChunkValues;

const ChunkValues* find(const telemetry::History& history, const RunBucket& bucket, int step,
                        int rank) {
  const auto at = history.chunk_values().find({bucket.group, bucket.number, step, rank});
  return at == history.chunk_values().end() ? nullptr : &at->second;
}

bool belongs_to(const ChunkValues& values, const RunBucket& bucket) {
  return values.elements == bucket.elements && values.dtype == bucket.dtype;
}

// Finds the recorded values of a bucket that are inside a chunk. Returns the index of the first
// one, and one past the last.
std::pair<std::size_t, std::size_t> within(const ChunkValues& values,
                                           const collective::ChunkSpan& chunk) {
  const auto number = [&](std::int64_t place) {
    return static_cast<std::size_t>(std::ranges::lower_bound(values.places, place) -
                                    values.places.begin());
  };
  return {number(chunk.first), number(chunk.first + chunk.count)};
}

// Copies one recorded value of each chunk, as before and after the collective. Returns false if a
// nonempty chunk has no recorded value.
bool take_element(const ChunkValues& values, const std::vector<collective::ChunkSpan>& chunks,
                  int element, std::vector<double>& before, std::vector<double>& after) {
  const std::int64_t size = base::size_of(values.dtype);
  for (const collective::ChunkSpan& chunk : chunks) {
    const auto [first, end] = within(values, chunk);
    const std::size_t at = first + static_cast<std::size_t>(element);
    if (chunk.count > 0 && at >= end) return false;
    const std::int64_t offset = static_cast<std::int64_t>(at) * size;
    before.push_back(
        chunk.count > 0 ? compute::number_at(values.dtype, values.before.data() + offset) : 0);
    after.push_back(chunk.count > 0 ? compute::number_at(values.dtype, values.after.data() + offset)
                                    : 0);
  }
  return true;
}

}  // namespace

std::vector<int> recorded_steps(const telemetry::History& history, const RunBucket& bucket) {
  std::map<int, std::size_t> members;  // number of members with values, by step
  const auto& all = history.chunk_values();
  constexpr int least = std::numeric_limits<int>::min();
  for (auto at = all.lower_bound({bucket.group, bucket.number, least, least});
       at != all.end() && at->first.group == bucket.group && at->first.bucket == bucket.number;
       ++at)
    if ((at->first.step == telemetry::kBeforeSteps) == bucket.before_steps &&
        std::ranges::count(bucket.ranks, at->first.rank) > 0 && belongs_to(at->second, bucket))
      ++members[at->first.step];
  std::vector<int> steps;
  for (const auto& [step, count] : members)
    if (count == bucket.ranks.size()) steps.push_back(step);
  return steps;
}

int recorded_elements(const telemetry::History& history, const RunBucket& bucket,
                      const collective::Exercise& exercise, int step) {
  const ChunkValues* values =
      bucket.ranks.empty() ? nullptr : find(history, bucket, step, bucket.ranks.front());
  if (values == nullptr) return 0;
  std::size_t least = values->places.size();
  for (const collective::ChunkSpan& chunk : collective::chunk_spans(exercise)) {
    const auto [first, end] = within(*values, chunk);
    if (chunk.count > 0) least = std::min(least, end - first);
  }
  return static_cast<int>(least);
}

std::optional<RecordedValues> recorded_values(const telemetry::History& history,
                                              const RunBucket& bucket,
                                              const collective::Exercise& exercise, int step,
                                              int element) {
  if (compute::adding_in(bucket.dtype) == nullptr || element < 0) return {};
  const auto chunks = collective::chunk_spans(exercise);
  RecordedValues result{bucket.dtype, {}, {}};
  for (const int rank : bucket.ranks) {
    const ChunkValues* values = find(history, bucket, step, rank);
    if (values == nullptr || !belongs_to(*values, bucket)) return {};
    if (!take_element(*values, chunks, element, result.before.emplace_back(),
                      result.after.emplace_back()))
      return {};
  }
  return result;
}

}  // namespace trainyard::ui
