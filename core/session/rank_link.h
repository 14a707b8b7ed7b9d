// SPDX-License-Identifier: GPL-3.0-or-later
// A rank's line to the coordinator while it trains: a thread that ships events, raises the horizon,
// and carries an abort to everything that could be waiting.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/comm/transport.h"
#include "core/run/gate.h"
#include "core/run/order_log.h"
#include "core/run/slowness.h"
#include "core/session/evaluator.h"
#include "core/session/heart.h"
#include "core/session/part_writer.h"
#include "core/telemetry/event_ring.h"
#include "core/telemetry/values_box.h"

namespace trainyard::session {

struct RankLinkParts {
  int rank = 0;
  run::Gate* gate = nullptr;
  const Heart* heart = nullptr;  // knows where the rank is
  telemetry::EventRing* events = nullptr;
  comm::Transport* transport = nullptr;    // null: a rank alone
  run::Slowness* slowness = nullptr;       // null: it is never slowed down
  comm::Collectives* engine = nullptr;     // in the place of the transport
  telemetry::ValuesBox* values = nullptr;  // null: no values of chunks are put aside
  run::OrderLog* order = nullptr;          // null: it keeps none
  SavedBox* saved = nullptr;               // null: it saves nothing while it trains
  CommittedBox* committed = nullptr;       // null: it reads no checkpoints
};

class RankLink {
 public:
  // Nobody else speaks by `client`, which outlives it, until it is closed.
  RankLink(RankLinkParts parts, ControlClient& client);
  ~RankLink();
  RankLink(const RankLink&) = delete;
  RankLink& operator=(const RankLink&) = delete;

  // Ends the thread, and ships what is left.
  void close();
  // A line of the log, from the rank's own thread.
  void say(std::string level, std::string text);
  // Why the coordinator (or its silence) stopped this rank; nothing when it did not.
  std::optional<base::Problem> abort_reason() const;
  // Gives the coordinator a second to stop this rank: whoever only knows that a peer has gone
  // leaves it to that one to say why.
  void await_abort() const;

 private:
  void serve();
  void take(const Message& message);
  void stop_everything(const base::Problem& reason);
  bool ship_events();
  bool ship_values();
  bool ship_order();
  bool ship_saved();
  bool ship_log();

  RankLinkParts parts_;
  ControlClient& client_;
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  std::optional<base::Problem> abort_reason_;
  std::int64_t reported_step_ = -1;
  std::vector<telemetry::Event> batch_;  // on its way
  std::optional<Samples> samples_;       // likewise
  Order order_;                          // likewise
  std::vector<Saved> saved_;             // likewise
  std::vector<Log> log_;                 // likewise; under the mutex
  std::thread thread_;                   // ended: it is closed
};

}  // namespace trainyard::session
