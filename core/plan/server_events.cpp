// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/server_events.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/plan/merged.h"

namespace trainyard::plan {
namespace {

constexpr std::size_t kServedBytes = 56;
constexpr unsigned kFlags = 4;
// maximum absolute value of a number in an event; low enough that adding 1 never overflows
constexpr std::int64_t kFurthest = std::int64_t{1} << 62;

std::array<std::int64_t, 5> numbers_of(const ServerEvent& event) {
  return {event.step, event.version, event.staleness, event.done, event.time_ns};
}

}  // namespace

void append(const ServerEvent& event, std::string& bytes) {
  std::array<char, kServedBytes> record{};
  record[0] = static_cast<char>(event.kind);
  const std::array<bool, kFlags> flags{event.dropped, event.completes, event.evaluates, event.last};
  for (unsigned i = 0; i < kFlags; ++i) record[1 + i] = flags[i] ? 1 : 0;
  std::memcpy(&record[8], &event.server, 4);
  std::memcpy(&record[12], &event.worker, 4);
  const auto numbers = numbers_of(event);
  std::memcpy(&record[16], numbers.data(), sizeof numbers);
  bytes.append(record.data(), record.size());
}

base::Result<std::vector<ServerEvent>> served_of(std::span<const std::byte> bytes) {
  if (bytes.size() % kServedBytes != 0)
    return base::fail(damaged_order("order_truncated", "the last event is truncated"));
  std::vector<ServerEvent> events;
  for (std::size_t at = 0; at < bytes.size(); at += kServedBytes) {
    const auto record = bytes.subspan(at, kServedBytes);
    const auto is_flag = [](std::byte flag) { return std::to_integer<int>(flag) <= 1; };
    if (std::to_integer<int>(record[0]) > static_cast<int>(ServerEvent::Kind::leaves) ||
        !std::all_of(record.begin() + 1, record.begin() + 1 + kFlags, is_flag))
      return base::fail(damaged_order(
          "unknown_event", fmt::format("event {} is of an unknown kind", events.size())));
    ServerEvent& event = events.emplace_back();
    event.kind = static_cast<ServerEvent::Kind>(record[0]);
    bool* const flags[] = {&event.dropped, &event.completes, &event.evaluates, &event.last};
    for (unsigned i = 0; i < kFlags; ++i) *flags[i] = record[1 + i] != std::byte{0};
    std::memcpy(&event.server, &record[8], 4);
    std::memcpy(&event.worker, &record[12], 4);
    std::int64_t* const numbers[] = {&event.step, &event.version, &event.staleness, &event.done,
                                     &event.time_ns};
    for (std::size_t i = 0; i < 5; ++i) {
      std::memcpy(numbers[i], &record[16 + 8 * i], 8);
      if (*numbers[i] > kFurthest || *numbers[i] < -kFurthest)
        return base::fail(
            damaged_order("event_out_of_range",
                          fmt::format("event {} has a number out of range", events.size() - 1)));
    }
  }
  return events;
}

base::Result<RecordedOrder> RecordedOrder::make(std::vector<std::vector<ServerEvent>> servers,
                                                int workers) {
  RecordedOrder order;
  for (std::size_t s = 0; s < servers.size(); ++s)
    for (const ServerEvent& event : servers[s])
      if (event.server != static_cast<std::int32_t>(s) || event.worker < 0 ||
          event.worker >= workers)
        return base::fail(damaged_order(
            "unknown_rank",
            fmt::format("an event of server {} and worker {} refers to a rank that does "
                        "not exist",
                        event.server, event.worker)));
  order.between_ = std::vector<std::vector<Between>>(static_cast<std::size_t>(workers),
                                                     std::vector<Between>(servers.size()));
  order.servers_ = MergedLogs<ServerEvent>(std::move(servers));
  return order;
}

// True if the event is possible after all events returned so far. A gradient can be taken once all
// servers gave the worker the parameters from which it was computed. A worker can join once all
// servers saw its predecessor leave.
bool RecordedOrder::possible(const ServerEvent& event) const {
  const auto& worker = between_[static_cast<std::size_t>(event.worker)];
  const Between& own = worker[static_cast<std::size_t>(event.server)];
  const auto given = [&](const Between& other) {
    return other.left > own.left || (other.left == own.left && other.given > own.taken);
  };
  const auto gone = [&](const Between& other) { return other.left >= own.left; };
  if (event.kind == ServerEvent::Kind::takes)
    return std::all_of(worker.begin(), worker.end(), given);
  return event.kind != ServerEvent::Kind::joins || std::all_of(worker.begin(), worker.end(), gone);
}

void RecordedOrder::count(const ServerEvent& event) {
  Between& between =
      between_[static_cast<std::size_t>(event.worker)][static_cast<std::size_t>(event.server)];
  switch (event.kind) {
    case ServerEvent::Kind::joins: break;
    case ServerEvent::Kind::takes: ++between.taken; break;
    case ServerEvent::Kind::gives: between.given += event.last ? 0 : 1; break;
    case ServerEvent::Kind::leaves: between = {between.left + 1, 0, 0}; break;
  }
}

base::Result<std::optional<ServerEvent>> RecordedOrder::next() {
  const ServerEvent* const event =
      servers_.take([this](const ServerEvent& one) { return possible(one); });
  if (event == nullptr) return std::nullopt;
  count(*event);
  return *event;
}

bool RecordedOrder::over() const {
  return servers_.over([this](const ServerEvent& one) { return possible(one); });
}

}  // namespace trainyard::plan
