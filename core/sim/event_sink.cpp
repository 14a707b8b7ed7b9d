// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sim/event_sink.h"

#include "core/base/hash.h"

namespace trainyard::sim {
namespace {

struct Link {
  std::uint64_t before;
  std::int64_t rank;
  telemetry::Event event;
};
static_assert(sizeof(Link) == 16 + sizeof(telemetry::Event));

}  // namespace

void EventSink::op(int rank, int program, int op, std::int64_t step, Picoseconds begin,
                   Picoseconds ready, Picoseconds end, std::int64_t bytes) {
  write(rank, {nanoseconds(begin), nanoseconds(ready), nanoseconds(end), static_cast<double>(bytes),
               static_cast<std::int32_t>(step), static_cast<std::uint16_t>(op),
               static_cast<std::uint16_t>(program), telemetry::EventKind::op});
}

void EventSink::metric(int rank, telemetry::Metric metric, std::int64_t step, Picoseconds now,
                       double value, int index) {
  const std::int64_t at = nanoseconds(now);
  write(rank,
        {at, at, at, value, static_cast<std::int32_t>(step), static_cast<std::uint16_t>(metric),
         static_cast<std::uint16_t>(index), telemetry::EventKind::metric});
}

void EventSink::write(int rank, const telemetry::Event& event) {
  const Link link{fingerprint_, rank, event};
  fingerprint_ = base::xxh64(std::as_bytes(std::span(&link, 1)));
  if (listener_) listener_(rank, event);
}

std::string EventSink::fingerprint() const { return base::hex(fingerprint_); }

}  // namespace trainyard::sim
