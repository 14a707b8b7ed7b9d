// SPDX-License-Identifier: GPL-3.0-or-later
// An executed op as shown on a timeline, and sums of times by kind of op. Times are nanoseconds
// since the first timestamp of the recording.
#pragma once

#include <array>
#include <cstdint>

#include "ui/model/spans/op_names.h"

namespace trainyard::ui {

using Nanoseconds = std::int64_t;

struct TimeRange {
  Nanoseconds begin = 0, end = 0;
  Nanoseconds width() const { return end - begin; }
  bool operator==(const TimeRange&) const = default;
};

// Invariant: begin <= ready <= done() <= end. From `begin` to `ready` the op waited for its peer.
// For a send, `ready` equals `begin`, because only the peer could report the wait. From `done()` to
// `end` the op was held back, because its rank is slowed down or paced.
struct OpSpan {
  Nanoseconds begin = 0, ready = 0, end = 0;
  Nanoseconds held = 0;
  double bytes = 0;  // payload that the op sent or received
  std::int32_t step = 0;
  std::uint16_t program = 0, op = 0;
  // Number of overlapping ops that are joined in this span. If several ops are joined, program, op,
  // step and kind are those of the first op, `ready` is the earliest, `bytes` is the sum, and
  // `held` is that of the op that ends last.
  std::uint32_t ops = 1;
  SpanKind kind = SpanKind::other;

  Nanoseconds done() const { return end - held; }
  bool operator==(const OpSpan&) const = default;
};

// Sums of nanoseconds by kind of op. Time of waiting for a peer and time of being held back are
// summed separately.
struct SpanTimes {
  std::array<Nanoseconds, kSpanKinds> busy{};
  Nanoseconds waiting = 0, held = 0;

  Nanoseconds& of(SpanKind kind) { return busy[static_cast<std::size_t>(kind)]; }
  Nanoseconds of(SpanKind kind) const { return busy[static_cast<std::size_t>(kind)]; }
  Nanoseconds total() const;
  // Adds the times of a span, but only of its part before `until`.
  void add(const OpSpan& span, Nanoseconds until);
  SpanTimes operator-(const SpanTimes& earlier) const;
  bool operator==(const SpanTimes&) const = default;
};

}  // namespace trainyard::ui
