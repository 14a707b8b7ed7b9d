// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/rank/rank_link.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/clock.h"
#include "core/session/protocol/timeouts.h"

namespace trainyard::session {
namespace {

constexpr std::chrono::milliseconds kShipPeriod{10};
constexpr std::int64_t kCloseLimit = 2'000'000'000;  // Nanoseconds for the last events to be sent.
// Time in nanoseconds to wait, after a failure of a peer, for the coordinator's abort, which names
// the cause.
constexpr std::int64_t kOthersLimit = 1'000'000'000;
constexpr std::size_t kBatch = 16'384;
// Bytes of a SavedPiece, and maximum number of bytes that the coordinator has not confirmed.
constexpr std::int64_t kPieceBytes = std::int64_t{256} << 10,
                       kMaxUnconfirmedBytes = 8 * kPieceBytes;
// Bytes of events in an Order message; a multiple of the size of both kinds of events.
constexpr std::size_t kOrderBytes = std::size_t{4096} * 224;

}  // namespace

RankLink::RankLink(RankLinkParts parts, ControlClient& client) : parts_(parts), client_(client) {
  batch_.reserve(kBatch);
  thread_ = std::thread([this] { serve(); });
}

RankLink::~RankLink() { close(); }

void RankLink::close() {
  if (!thread_.joinable()) return;
  while (!has_shipped_saved() && !abort_reason()) std::this_thread::sleep_for(kShipPeriod);
  stop_.store(true);
  thread_.join();
  // Gives a slow coordinator some time to receive the last events. Does not wait after an abort.
  const std::int64_t end = base::now_nanoseconds() + (abort_reason() ? 0 : kCloseLimit);
  while (!ship_events() && base::now_nanoseconds() < end) std::this_thread::sleep_for(kShipPeriod);
}

std::optional<base::Problem> RankLink::abort_reason() const {
  const std::lock_guard lock(mutex_);
  return abort_reason_;
}

void RankLink::await_abort() const {
  const std::int64_t end = base::now_nanoseconds() + kOthersLimit;
  while (!abort_reason() && base::now_nanoseconds() < end) std::this_thread::sleep_for(kShipPeriod);
}

void RankLink::serve() {
  std::int64_t heard = base::now_nanoseconds(), looked = heard;
  while (!stop_.load()) {
    const auto received = client_.receive(kShipPeriod);
    const std::int64_t now = base::now_nanoseconds();
    if (!received) return stop_everything(received.error());
    if (*received) {
      heard = now;
      take(**received);
    }
    if (now - looked > kOwnPause) heard += now - looked;
    looked = now;
    if (now - heard > kLease)
      return stop_everything({"coordinator_lost", base::ProblemCode::failed,
                              fmt::format("rank {}", parts_.rank),
                              "the rank received nothing from the coordinator for 10 s", "",
                              "The coordinator ended or hangs; start the run again."});
    static_cast<void>(ship_events());
  }
}

void RankLink::take(const Message& message) {
  if (const auto* horizon = std::get_if<Horizon>(&message)) {
    parts_.gate->set_chief(horizon->chief);
    parts_.gate->open(horizon->step, horizon->last, horizon->single);
  }
  if (const auto* slow = std::get_if<Slow>(&message); slow && parts_.slowness != nullptr)
    parts_.slowness->set(slow->slow_down, slow->jitter);
  if (const auto* gone = std::get_if<Gone>(&message))
    parts_.gate->report_failed_peer(gone->rank, gone->generation);
  if (const auto* committed = std::get_if<Committed>(&message);
      committed && parts_.committed != nullptr)
    parts_.committed->put(*committed);
  if (const auto* received = std::get_if<PieceReceived>(&message);
      received && !saved_.empty() && received->file == saved_.front().report.file)
    received_bytes_ = received->bytes;
  if (const auto* abort = std::get_if<Abort>(&message)) stop_everything(abort->reason);
}

void RankLink::stop_everything(const base::Problem& reason) {
  {
    const std::lock_guard lock(mutex_);
    if (!abort_reason_) abort_reason_ = reason;
  }
  parts_.gate->close();
  if (parts_.transport != nullptr) parts_.transport->abort(reason);
  if (parts_.engine != nullptr) parts_.engine->abort(reason);
}

// Sends events before progress, so that the coordinator has a step's events when it learns of the
// step. Returns false if the connection accepts no more messages now. The unsent batch is then kept
// and sent first the next time. Meanwhile the event ring fills up and counts the events that it
// drops.
bool RankLink::ship_events() {
  for (bool full = true; full; batch_.clear()) {
    if (batch_.empty()) parts_.events->read(batch_, kBatch);
    full = batch_.size() == kBatch;
    if (!batch_.empty() && !client_.send(Events{parts_.rank, parts_.events->dropped(), batch_}))
      return false;
  }
  if (!ship_values() || !ship_order() || !ship_saved() || !ship_log()) return false;
  const Progress progress = parts_.heartbeat_sender->progress();
  if (progress.step == reported_step_) return true;
  if (!client_.send(progress)) return false;
  reported_step_ = progress.step;
  return true;
}

bool RankLink::ship_values() {
  if (!samples_ && parts_.values != nullptr) {
    std::vector<std::byte> payload;
    for (const telemetry::ChunkValues& values : parts_.values->take())
      telemetry::append(values, payload);
    if (!payload.empty())
      samples_ = Samples{
          parts_.rank, std::string(reinterpret_cast<const char*>(payload.data()), payload.size())};
  }
  if (samples_ && !client_.send(*samples_)) return false;
  samples_.reset();
  return true;
}

void RankLink::say(std::string level, std::string text) {
  const std::lock_guard lock(mutex_);
  log_.push_back({parts_.rank, base::now_nanoseconds(), std::move(level), std::move(text)});
}

bool RankLink::ship_log() {
  const std::lock_guard lock(mutex_);
  for (; !log_.empty(); log_.erase(log_.begin()))
    if (!client_.send(log_.front())) return false;
  return true;
}

bool RankLink::ship_saved() {
  if (parts_.saved == nullptr) return true;
  ships_saved_.store(true);  // before the queue is empty
  for (SavedPart& part : parts_.saved->take()) saved_.push_back(std::move(part));
  while (!saved_.empty()) {
    const SavedPart& part = saved_.front();
    if (!ship_content(part)) return false;
    if (received_bytes_ < static_cast<std::int64_t>(part.content.size())) return true;
    if (!client_.send(part.report)) return false;
    saved_.pop_front();
    sent_bytes_ = received_bytes_ = 0;
  }
  ships_saved_.store(false);
  return true;
}

// Sends pieces of the content, as many as may be unconfirmed.
bool RankLink::ship_content(const SavedPart& part) {
  const auto end = std::min(static_cast<std::int64_t>(part.content.size()),
                            received_bytes_ + kMaxUnconfirmedBytes);
  while (sent_bytes_ < end) {
    const std::int64_t bytes = std::min(kPieceBytes, end - sent_bytes_);
    if (!client_.send(SavedPiece{parts_.rank, part.report.file, sent_bytes_,
                                 part.content.substr(static_cast<std::size_t>(sent_bytes_),
                                                     static_cast<std::size_t>(bytes))}))
      return false;
    sent_bytes_ += bytes;
  }
  return true;
}

bool RankLink::has_shipped_saved() const {
  return parts_.saved == nullptr || (parts_.saved->empty() && !ships_saved_.load());
}

bool RankLink::ship_order() {
  if (parts_.order == nullptr) return true;
  order_.rank = parts_.rank;
  order_.events += parts_.order->take();
  while (!order_.events.empty()) {
    const Order next{order_.rank, order_.events.substr(0, kOrderBytes)};
    if (!client_.send(next)) return false;
    order_.events.erase(0, next.events.size());
  }
  return true;
}

}  // namespace trainyard::session
