// SPDX-License-Identifier: GPL-3.0-or-later
// Connection of a rank to the coordinator while it trains. Its thread sends events, raises the
// horizon, and forwards an abort to everything that may be waiting.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/comm/transport.h"
#include "core/run/control/gate.h"
#include "core/run/control/order_log.h"
#include "core/run/control/slowness.h"
#include "core/session/checkpoint/part_writer.h"
#include "core/session/rank/evaluator.h"
#include "core/session/rank/heartbeat_sender.h"
#include "core/telemetry/event_ring.h"
#include "core/telemetry/values_box.h"

namespace trainyard::session {

struct RankLinkParts {
  int rank = 0;
  run::Gate* gate = nullptr;
  const HeartbeatSender* heartbeat_sender = nullptr;  // Source of the rank's progress.
  telemetry::EventRing* events = nullptr;
  comm::Transport* transport = nullptr;    // Null: a single rank.
  run::SlowdownModel* slowness = nullptr;  // Null: never slowed down.
  // Engine that executes the collectives; null if the transport is used.
  comm::Collectives* engine = nullptr;
  telemetry::ChunkValueQueue* values = nullptr;  // Null: no values of chunks are recorded.
  // Log of the order in which this rank handled messages. Null if results do not depend on this
  // order (`run::keeps_order`).
  run::OrderLog* order = nullptr;
  SavedQueue* saved = nullptr;        // Null: the rank saves nothing while it trains.
  LatestCommit* committed = nullptr;  // Null: the rank reads no checkpoints.
};

class RankLink {
 public:
  // `client` must outlive the link, which uses it exclusively until `close`.
  RankLink(RankLinkParts parts, ControlClient& client);
  ~RankLink();
  RankLink(const RankLink&) = delete;
  RankLink& operator=(const RankLink&) = delete;

  // Ends the thread, and sends the remaining events.
  void close();
  // Sends a log line; called from the rank's thread.
  void say(std::string level, std::string text);
  // Returns why the coordinator (or its silence) stopped this rank; nothing if it did not.
  std::optional<base::Problem> abort_reason() const;
  // Waits up to a second for an abort from the coordinator. A rank that only knows that a peer is
  // gone reports the coordinator's reason instead.
  void await_abort() const;

 private:
  void serve();
  void take(const Message& message);
  void stop_everything(const base::Problem& reason);
  bool ship_events();
  bool ship_values();
  bool ship_order();
  bool ship_saved();
  bool ship_content(const SavedPart& part);
  bool has_shipped_saved() const;
  bool ship_log();

  RankLinkParts parts_;
  ControlClient& client_;
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  std::optional<base::Problem> abort_reason_;
  std::int64_t reported_step_ = -1;
  std::vector<telemetry::Event> batch_;  // Events that are being sent.
  std::optional<Samples> samples_;       // Message that is being sent.
  Order order_;                          // Message that is being sent.
  std::deque<SavedPart> saved_;          // Checkpoint parts that are being sent.
  std::atomic<bool> ships_saved_{false};
  // Bytes of the content of the first part that were sent, and those that the coordinator has.
  std::int64_t sent_bytes_ = 0, received_bytes_ = 0;
  std::vector<Log> log_;  // Log lines that are being sent; guarded by the mutex.
  std::thread thread_;    // Not joinable after `close`.
};

}  // namespace trainyard::session
