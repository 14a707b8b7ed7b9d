// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/series_block.h"

#include <algorithm>
#include <cmath>

#include "core/telemetry/compressed.h"

namespace trainyard::telemetry {

bool exceeds(double a, double b) { return std::isnan(a) ? !std::isnan(b) : a > b; }

void SeriesBlock::add(const Event& event) {
  const LoggedValue now{event.begin_ns, event.value, event.step};
  if (count == 0) first = least = greatest = now;
  else if (now.value < last.value) before_resets += last.value;
  if (now.value < least.value) least = now;
  if (exceeds(now.value, greatest.value)) greatest = now;
  last = now;
  sum += now.value;
  ++count;
}

std::vector<LoggedValue> SeriesBlock::points() const {
  std::vector<LoggedValue> points{first, least, greatest, last};
  const auto is_before = [](const LoggedValue& a, const LoggedValue& b) {
    return a.time_ns < b.time_ns;
  };
  std::stable_sort(points.begin(), points.end(), is_before);
  const auto is_same = [](const LoggedValue& a, const LoggedValue& b) {
    return a.time_ns == b.time_ns && a.step == b.step;
  };
  points.erase(std::unique(points.begin(), points.end(), is_same), points.end());
  return points;
}

void SeriesTotals::add(double value) {
  if (count == 0) least = greatest = value;
  else if (value < last) before_resets += last;
  if (value < least) least = value;
  if (exceeds(value, greatest)) greatest = value;
  last = value;
  sum += value;
  sum_of_inverses += 1 / value;
  ++count;
}

void SeriesTotals::add(const SeriesBlock& block) {
  if (block.count == 0) return;
  if (count == 0) least = block.least.value, greatest = block.greatest.value;
  else if (block.first.value < last) before_resets += last;
  least = std::min(least, block.least.value);
  if (exceeds(block.greatest.value, greatest)) greatest = block.greatest.value;
  last = block.last.value;
  sum += block.sum;
  before_resets += block.before_resets;
  count += block.count;
}

std::vector<std::byte> pack_blocks(std::span<const SeriesBlock> blocks) {
  const std::uint64_t count = blocks.size();
  ColumnWriter writer;
  writer.append(std::span(&count, 1));
  writer.append(blocks);
  return writer.compressed();
}

base::Result<std::vector<SeriesBlock>> unpack_blocks(std::span<const std::byte> payload) {
  auto reader = ColumnReader::open(payload);
  if (!reader) return base::fail(reader.error());
  const auto count = reader->take<std::uint64_t>(1);
  if (!count) return base::fail(count.error());
  return reader->take<SeriesBlock>(count->front());
}

}  // namespace trainyard::telemetry
