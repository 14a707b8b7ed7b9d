// SPDX-License-Identifier: GPL-3.0-or-later
// An op that ran, as a timeline shows it, and time told apart by what it went to. Times are
// nanoseconds since the first thing that the recording timed.
#pragma once

#include <array>
#include <cstdint>

#include "ui/model/op_names.h"

namespace trainyard::ui {

using Nanoseconds = std::int64_t;

struct TimeRange {
  Nanoseconds begin = 0, end = 0;
  Nanoseconds width() const { return end - begin; }
  bool operator==(const TimeRange&) const = default;
};

// begin <= ready <= done() <= end. From begin to ready it waited for its peer; for a send, of which
// only its peer could tell, they are the same. From done() to the end it was held back, because its
// rank is slowed down or paced.
struct OpSpan {
  Nanoseconds begin = 0, ready = 0, end = 0;
  Nanoseconds held = 0;
  double bytes = 0;  // payload that moved
  std::int32_t step = 0;
  std::uint16_t program = 0, op = 0;
  // More than one: so many ops that were under way together, joined. The numbers above are then
  // those of the first of them, bytes the sum, and `ready` is when the first of them had its peer;
  // `held` is that of the one that ends last.
  std::uint32_t ops = 1;
  SpanKind kind = SpanKind::other;

  Nanoseconds done() const { return end - held; }
  bool operator==(const OpSpan&) const = default;
};

// Nanoseconds by kind, those spent waiting for a peer and those held back apart.
struct SpanTimes {
  std::array<Nanoseconds, kSpanKinds> busy{};
  Nanoseconds waiting = 0, held = 0;

  Nanoseconds& of(SpanKind kind) { return busy[static_cast<std::size_t>(kind)]; }
  Nanoseconds of(SpanKind kind) const { return busy[static_cast<std::size_t>(kind)]; }
  Nanoseconds total() const;
  // Of a span, as far as it lies before `until`.
  void add(const OpSpan& span, Nanoseconds until);
  SpanTimes operator-(const SpanTimes& earlier) const;
  bool operator==(const SpanTimes&) const = default;
};

}  // namespace trainyard::ui
