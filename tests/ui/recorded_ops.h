// SPDX-License-Identifier: GPL-3.0-or-later
// Handwritten histories of ops: a plan of two compute and two communication lanes, and the times of
// its ops.
#pragma once

#include <string>
#include <vector>

#include "core/telemetry/history.h"
#include "ui/model/spans/span_store.h"

namespace trainyard::ui::test {

// Numbers of the ops of the plan below.
enum PlannedOp : int {
  kLoad,
  kForward,
  kBackward,
  kSend,
  kReduce,
  kUpdate,
  kSecondSend,
  kThirdSend
};

inline std::string planned(int rank, const std::string& more = {}) {
  const std::string peer = std::to_string(1 - rank % 2);
  return "rank " + std::to_string(rank) +
         "\nlane input input\nlane compute compute\nlane send.g0 send g0\nlane recv.g0 recv g0\n"
         "program train samples 8 of 16\nLOAD.m0 @input\nF.s0.m0 @compute\nB.s0.m0 "
         "@compute\nSEND.b0.t0.c0>r" +
         peer + " @send.g0 group g0\nRED.b0.t0.c1<r" + peer +
         " @recv.g0 group g0\nUPD.s0 @compute\nSEND.b0.t0.c1>r" + peer +
         " @send.g0 group g0\nSEND.b0.t0.c2>r" + peer + " @send.g0 group g0\n" + more;
}

// Nanoseconds since the start of the recording.
struct Ran {
  int op = kForward;
  std::int64_t begin = 0, ready = 0, end = 0;
  int step = 0;
  double bytes = 0;
  std::int64_t held = 0;  // delay before the end
};
inline Ran ran(int op, std::int64_t begin, std::int64_t end, int step = 0) {
  return {op, begin, begin, end, step, 0, 0};
}

class RecordedOps {
 public:
  explicit RecordedOps(int ranks = 1, const base::Json& experiment = base::Json::object()) {
    json(telemetry::FrameType::header,
         {{"ranks", ranks}, {"run", "by hand"}, {"experiment", experiment}});
    json(telemetry::FrameType::state, {{"state", "running"}, {"time_ns", kStart}});
    for (int rank = 0; rank < ranks; ++rank) plan(rank, planned(rank));
  }
  void plan(int rank, const std::string& text) {
    take(telemetry::FrameType::plan, rank, text.data(), text.size());
  }
  void add(int rank, const std::vector<Ran>& ops) {
    std::vector<telemetry::Event> events;
    for (const Ran& one : ops)
      events.push_back({kStart + one.begin,
                        kStart + one.ready,
                        kStart + one.end,
                        one.bytes,
                        one.step,
                        static_cast<std::uint16_t>(one.op),
                        0,
                        telemetry::EventKind::op,
                        {},
                        static_cast<float>(static_cast<double>(one.held) * 1e-9)});
    take(telemetry::FrameType::events, rank, events.data(),
         events.size() * sizeof(telemetry::Event));
    store_.read(history_);
  }
  // Reports a step at its end.
  void end_step(int rank, int step, std::int64_t end, std::int64_t took) {
    const telemetry::Event event{kStart + end,
                                 kStart + end,
                                 kStart + end,
                                 static_cast<double>(took) * 1e-9,
                                 step,
                                 static_cast<std::uint16_t>(telemetry::Metric::step_seconds),
                                 0,
                                 telemetry::EventKind::metric};
    take(telemetry::FrameType::events, rank, &event, sizeof event);
  }
  void add_fault(int rank, const char* kind, std::int64_t at) {
    json(telemetry::FrameType::state,
         {{"state", "running"},
          {"time_ns", kStart + at},
          {"fault", {{"kind", kind}, {"rank", rank}, {"text", "somehow"}}}});
  }
  const telemetry::History& history() const { return history_; }
  SpanStore& store() { return store_; }

 private:
  static constexpr std::int64_t kStart = 5'000'000'000;
  void json(telemetry::FrameType type, const base::Json& json) {
    const std::string text = json.dump();
    take(type, -1, text.data(), text.size());
  }
  void take(telemetry::FrameType type, int rank, const void* bytes, std::size_t size) {
    static_cast<void>(history_.take({type, rank, {static_cast<const std::byte*>(bytes), size}}));
  }
  telemetry::History history_;
  SpanStore store_;
};

}  // namespace trainyard::ui::test
