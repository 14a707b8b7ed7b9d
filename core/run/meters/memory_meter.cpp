// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/meters/memory_meter.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "core/base/clock.h"

namespace trainyard::run {
namespace {

using telemetry::Metric;

// nanoseconds between two reports; reading /proc takes only microseconds, so the cost is negligible
constexpr std::int64_t kPeriod = 500'000'000;
// limits the time spent on measuring to 1 / kMost of the total time, even for many pages
constexpr std::int64_t kMost = 500;

}  // namespace

std::int64_t resident_bytes() {
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 128> text{};
  const ssize_t length = ::read(file, text.data(), text.size());
  ::close(file);
  std::int64_t total = 0, resident = 0;
  const char* end = text.data() + (length > 0 ? length : 0);
  const auto after = std::from_chars(text.data(), end, total);
  if (after.ptr != end) std::from_chars(after.ptr + 1, end, resident);
  return resident * ::sysconf(_SC_PAGESIZE);
}

MemoryMeter::MemoryMeter(telemetry::EventRing* events, const BoundPlan& bound, bool is_own_process)
    : events_(events), bound_(bound), own_process_(is_own_process) {}

void MemoryMeter::report_if_due(std::int64_t step, std::int64_t now_ns) {
  if (now_ns >= next_ns_) tell(step, now_ns);
}

void MemoryMeter::tell(std::int64_t step, std::int64_t now_ns) {
  if (events_ == nullptr) return;
  const std::int64_t begin = base::now_nanoseconds();
  if (own_process_)
    metric(Metric::memory_bytes, step, now_ns, static_cast<double>(resident_bytes()));
  std::array<std::int64_t, kMemoryParts> parts{};
  for (const MemorySpan& one : bound_.memory)
    parts[static_cast<std::size_t>(one.part)] +=
        one.begin == nullptr ? one.bytes : resident_of(one.begin, one.bytes);
  for (std::size_t part = 0; part < kMemoryParts; ++part)
    if (parts[part] > 0 || is_on_device(static_cast<MemoryPurpose>(part)))
      metric(Metric::buffer_bytes, step, now_ns, static_cast<double>(parts[part]),
             static_cast<int>(part));
  tell_device(step, now_ns);
  next_ns_ = begin + std::max(kPeriod, kMost * (base::now_nanoseconds() - begin));
}

void MemoryMeter::tell_device(std::int64_t step, std::int64_t now_ns) {
  const auto use = bound_.device != nullptr ? bound_.device->use() : std::nullopt;
  if (!use) return;
  metric(Metric::device_busy, step, now_ns, use->busy);
  metric(Metric::device_memory_bytes, step, now_ns, static_cast<double>(use->memory_bytes));
  metric(Metric::device_watts, step, now_ns, use->watts);
  metric(Metric::device_received_bytes_per_second, step, now_ns,
         use->bus.received_bytes_per_second);
  metric(Metric::device_sent_bytes_per_second, step, now_ns, use->bus.sent_bytes_per_second);
  if (!use->links) return;
  metric(Metric::device_links_received_bytes_per_second, step, now_ns,
         use->links->received_bytes_per_second);
  metric(Metric::device_links_sent_bytes_per_second, step, now_ns,
         use->links->sent_bytes_per_second);
}

void MemoryMeter::metric(Metric metric, std::int64_t step, std::int64_t now_ns, double value,
                         int index) {
  events_->write({now_ns, now_ns, now_ns, value, static_cast<std::int32_t>(step),
                  static_cast<std::uint16_t>(metric), static_cast<std::uint16_t>(index),
                  telemetry::EventKind::metric});
}

}  // namespace trainyard::run
