// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/packed_metrics.h"

#include <cstring>
#include <map>
#include <tuple>

#include "core/telemetry/compressed.h"

namespace trainyard::telemetry {
namespace {

// The table has these columns:
//   Sizes[1]
//   ValueColumn[columns]    one for each metric, rank and index, in order of first use
//   uint16[events]          number of the event's ValueColumn
//   uint32[events]          step minus the step of the rank's previous event, modulo 2^32
//   uint64[events]          time minus the time of the rank's previous event, modulo 2^64
//   double[values] ...      for each ValueColumn that has values of its own
struct Sizes {
  std::uint32_t events = 0, columns = 0;
};

struct ValueColumn {
  std::int32_t rank = 0;
  std::uint16_t metric = 0, index = 0;
  std::uint32_t values = 0;
  // Number of the ValueColumn that has the same values; the own number if there is none before.
  std::uint32_t same_as = 0;
};
static_assert(sizeof(ValueColumn) == 16);

// Last step and time of a rank, as unsigned numbers, because differences may overflow.
struct Previous {
  std::uint32_t step = 0;
  std::uint64_t time = 0;
};

struct Columns {
  std::vector<ValueColumn> columns;
  std::vector<std::vector<double>> values;
  std::vector<std::uint16_t> order;
  std::vector<std::uint32_t> steps;
  std::vector<std::uint64_t> times;
};

Columns columns_of(std::span<const RankEvent> events) {
  Columns table;
  std::map<std::tuple<int, int, int>, std::uint16_t> numbers;
  std::map<std::int32_t, Previous> previous;
  for (const auto& [rank, event] : events) {
    const auto [at, fresh] = numbers.try_emplace({rank, event.subject, event.index},
                                                 static_cast<std::uint16_t>(table.columns.size()));
    if (fresh) {
      table.columns.push_back({rank, event.subject, event.index, 0, at->second});
      table.values.emplace_back();
    }
    Previous& last = previous[rank];
    const Previous now{static_cast<std::uint32_t>(event.step),
                       static_cast<std::uint64_t>(event.begin_ns)};
    table.order.push_back(at->second);
    table.values[at->second].push_back(event.value);
    table.steps.push_back(now.step - last.step);
    table.times.push_back(now.time - last.time);
    last = now;
  }
  return table;
}

bool are_same_bytes(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

// Finds columns with equal values, among the columns of the same metric and index.
void find_equal_columns(Columns& table) {
  std::map<std::pair<int, int>, std::vector<std::uint32_t>> known;
  for (std::uint32_t c = 0; c < table.columns.size(); ++c) {
    ValueColumn& column = table.columns[c];
    column.values = static_cast<std::uint32_t>(table.values[c].size());
    std::vector<std::uint32_t>& alike = known[{column.metric, column.index}];
    for (const std::uint32_t other : alike)
      if (are_same_bytes(table.values[c], table.values[other])) {
        column.same_as = other;
        break;
      }
    if (column.same_as == c) alike.push_back(c);
  }
}

base::Problem inconsistent() {
  return {"bad_recording",
          base::ProblemCode::bad_input,
          "recording",
          "a table of metrics is inconsistent",
          "",
          ""};
}

base::Result<Columns> read_columns(std::span<const std::byte> payload) {
  auto reader = ColumnReader::open(payload);
  if (!reader) return base::fail(reader.error());
  const auto sizes = reader->take<Sizes>(1);
  if (!sizes) return base::fail(sizes.error());
  const std::size_t events = sizes->front().events;
  auto columns = reader->take<ValueColumn>(sizes->front().columns);
  if (!columns) return base::fail(columns.error());
  auto order = reader->take<std::uint16_t>(events);
  if (!order) return base::fail(order.error());
  auto steps = reader->take<std::uint32_t>(events);
  if (!steps) return base::fail(steps.error());
  auto times = reader->take<std::uint64_t>(events);
  if (!times) return base::fail(times.error());
  Columns table{std::move(*columns), {}, std::move(*order), std::move(*steps), std::move(*times)};
  table.values.resize(table.columns.size());
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const ValueColumn& column = table.columns[c];
    if (column.same_as > c) return base::fail(inconsistent());
    if (column.same_as < c) continue;
    auto values = reader->take<double>(column.values);
    if (!values) return base::fail(values.error());
    table.values[c] = std::move(*values);
  }
  return table;
}

}  // namespace

std::vector<std::byte> pack_metrics(std::span<const RankEvent> events) {
  Columns table = columns_of(events);
  find_equal_columns(table);
  const Sizes sizes{static_cast<std::uint32_t>(events.size()),
                    static_cast<std::uint32_t>(table.columns.size())};
  ColumnWriter writer;
  writer.append(std::span(&sizes, 1));
  writer.append(std::span<const ValueColumn>(table.columns));
  writer.append(std::span<const std::uint16_t>(table.order));
  writer.append(std::span<const std::uint32_t>(table.steps));
  writer.append(std::span<const std::uint64_t>(table.times));
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    if (table.columns[c].same_as == c) writer.append(std::span<const double>(table.values[c]));
  return writer.compressed();
}

base::Result<std::vector<RankEvent>> unpack_metrics(std::span<const std::byte> payload) {
  const auto table = read_columns(payload);
  if (!table) return base::fail(table.error());
  std::vector<RankEvent> events;
  events.reserve(table->order.size());
  std::vector<std::size_t> used(table->columns.size());
  std::map<std::int32_t, Previous> previous;
  for (std::size_t i = 0; i < table->order.size(); ++i) {
    const std::size_t c = table->order[i];
    if (c >= table->columns.size()) return base::fail(inconsistent());
    const ValueColumn& column = table->columns[c];
    const std::vector<double>& values = table->values[column.same_as];
    if (used[c] >= values.size()) return base::fail(inconsistent());
    Previous& last = previous[column.rank];
    last.step += table->steps[i];
    last.time += table->times[i];
    const auto time = static_cast<std::int64_t>(last.time);
    events.push_back({column.rank,
                      {time, time, time, values[used[c]++], static_cast<std::int32_t>(last.step),
                       column.metric, column.index}});
  }
  return events;
}

}  // namespace trainyard::telemetry
