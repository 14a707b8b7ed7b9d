// SPDX-License-Identifier: GPL-3.0-or-later
// A message of every type, empty and full, and their words, by which tests compare them.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "core/session/protocol/control.h"

namespace trainyard::conformance {

inline base::Problem sample_problem() {
  return {"made_by_test", base::ProblemCode::refused, "rank 2 AR.b3", "does not answer",
          "an answer",    "Look at its log."};
}

inline std::vector<telemetry::Event> sample_events(std::size_t count) {
  std::vector<telemetry::Event> events(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto time = static_cast<std::int64_t>(i) * 1'000'000'007;
    events[i] = {time,
                 time + 5,
                 time + 9,
                 static_cast<double>(i) / 3,
                 static_cast<std::int32_t>(i),
                 static_cast<std::uint16_t>(i),
                 static_cast<std::uint16_t>(i * 7),
                 i % 2 == 0 ? telemetry::EventKind::op : telemetry::EventKind::metric,
                 {}};
  }
  return events;
}

inline session::Status sample_status() {
  session::Status status{11,
                         session::RunState::paused,
                         -1,
                         500,
                         100,
                         0.25,
                         {},
                         sample_problem(),
                         "/a run/with spaces"};
  for (std::int32_t rank = 0; rank < 100; ++rank)
    status.ranks.push_back({rank, "waiting", 40 + rank, "B.s2.m0", rank - 1, 4'000'000 + rank});
  status.links = {{0, 0}, {3, 0.25}};
  return status;
}

// Samples with at least one message of each type; those with text or lists are also empty and with
// many elements.
inline std::vector<session::Message> sample_messages() {
  using namespace session;
  return {Hello{},
          Hello{3, "secret", "0.1.0", 1'234'567},
          Assign{},
          Assign{std::string(300'000, '{'), 4, ~std::uint64_t{7}, "/runs/1"},
          Planned{},
          Planned{1, "0123456789abcdef", "ipc:///tmp/x"},
          Start{},
          Start{std::vector<std::string>(5'000, "tcp://127.0.0.1:5555"), "00"},
          Horizon{},
          Horizon{std::int64_t{1} << 40, true, true, 2},
          Progress{},
          Progress{7, 12, ~std::uint64_t{0}, "AR.b3", 2},
          Events{},
          Events{2, 9, sample_events(1)},
          Log{},
          Events{0, 0, sample_events(16'384)},
          Failed{},
          Log{1, -5, "warning", std::string("a\0b\n", 4)},
          Finished{},
          Failed{1, 99, "PUSH.s1>r5", sample_problem()},
          Abort{},
          Finished{5, 1'000, "ff", 1'000'000'000'000, 17, {{1, 2, 3, 4}, {}, {5, 6, 7, 8}}},
          Ask{},
          Abort{sample_problem()},
          Status{},
          Ask{~std::uint64_t{0}, Command::set_pace, 1e-3},
          Slow{},
          Ask{5, Command::slow, 0, {3, 2.5, 0.25}},
          Ask{6, Command::restart, 0, {}, 2},
          Ask{7, Command::link, 0, {}, -1, {2, 0.5}},
          Slow{2, 7, 0.5},
          sample_status(),
          Samples{},
          Samples{3, std::string(100'000, '\0')},
          Order{},
          Order{4, std::string(560, 'o')},
          Gone{},
          Gone{2, 3},
          Saved{},
          Saved{3, 200, true, "server-0-00.safetensors", "00", 77, 5, "full"},
          Committed{},
          Committed{400, true},
          SavedPiece{},
          SavedPiece{3, "model-00.safetensors", 1 << 20, std::string(100'000, 'w')},
          PieceReceived{},
          PieceReceived{3, "model-00.safetensors", 1 << 20}};
}

// Every field of a message as text.
class Words {
 public:
  std::string text() const { return out_.str(); }

  template <class T>
  void add(const T& value) {
    if constexpr (std::is_enum_v<T>) out_ << static_cast<int>(value) << '|';
    else out_ << value << '|';
  }
  void add(const base::Problem& x) { all(x.id, x.code, x.where, x.what, x.accepted, x.advice); }
  void add(const session::Hello& x) { all(x.rank, x.token, x.software, x.process); }
  void add(const session::Assign& x) { all(x.resolved, x.generation, x.run_key, x.run_directory); }
  void add(const session::Planned& x) { all(x.rank, x.plan_hash, x.endpoint); }
  void add(const session::Start& x) { all(x.endpoints, x.plan_hash); }
  void add(const session::Horizon& x) { all(x.step, x.last, x.single, x.chief); }
  void add(const session::Progress& x) { all(x.rank, x.step, x.ops_done, x.op, x.waits_for); }
  void add(const session::Events& x) { all(x.rank, x.dropped, x.events); }
  void add(const telemetry::Event& x) {
    all(x.begin_ns, x.ready_ns, x.end_ns, x.value, x.step, x.subject, x.index, x.kind);
  }
  void add(const session::Samples& x) { all(x.rank, x.values); }
  void add(const session::Order& x) { all(x.rank, x.events); }
  void add(const session::Saved& x) {
    all(x.rank, x.step, x.state, x.file, x.xxh64, x.bytes, x.version, x.problem);
  }
  void add(const session::Committed& x) { all(x.step, x.last); }
  void add(const session::SavedPiece& x) { all(x.rank, x.file, x.offset, x.bytes); }
  void add(const session::PieceReceived& x) { all(x.rank, x.file, x.bytes); }
  void add(const session::Gone& x) { all(x.rank, x.generation); }
  void add(const session::Log& x) { all(x.rank, x.time_ns, x.level, x.text); }
  void add(const session::Failed& x) { all(x.rank, x.step, x.op, x.problem); }
  void add(const session::RankTraffic& x) {
    all(x.sent_payload_bytes, x.sent_header_bytes, x.received_payload_bytes,
        x.received_header_bytes);
  }
  void add(const session::Finished& x) {
    all(x.rank, x.steps, x.parameters_xxh64, x.peak_memory_bytes, x.first_step_done_ns, x.peers);
  }
  void add(const session::Abort& x) { all(x.reason); }
  void add(const session::Slow& x) { all(x.rank, x.slow_down, x.jitter); }
  void add(const session::Ask& x) {
    all(x.id, x.command, x.seconds_per_step, x.slow, x.rank, x.link);
  }
  void add(const session::LinkBandwidth& x) { all(x.link, x.part); }
  void add(const session::RankStatus& x) {
    all(x.rank, x.state, x.step, x.op, x.waits_for, x.process, x.slow_down, x.jitter);
  }
  void add(const session::Status& x) {
    all(x.answers, x.state, x.step, x.steps, x.horizon, x.seconds_per_step, x.ranks, x.problem,
        x.run_directory, x.links);
  }

  template <class T>
  void add(const std::vector<T>& list) {
    out_ << list.size() << ':';
    for (const T& element : list) add(element);
  }
  template <class T>
  void add(const std::optional<T>& value) {
    out_ << value.has_value() << ':';
    if (value) add(*value);
  }

 private:
  template <class... T>
  void all(const T&... values) {
    (add(values), ...);
  }

  std::ostringstream out_;
};

inline std::string words(const session::Message& message) {
  Words words;
  words.add(message.index());
  std::visit([&words](const auto& body) { words.add(body); }, message);
  return words.text();
}

}  // namespace trainyard::conformance
