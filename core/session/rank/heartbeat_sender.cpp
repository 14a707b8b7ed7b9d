// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/rank/heartbeat_sender.h"

#include "core/plan/text.h"

namespace trainyard::session {
namespace {

constexpr std::chrono::milliseconds kPeriod{200};
constexpr std::chrono::milliseconds kLook{10};  // Interval at which the stop flag is checked.

}  // namespace

HeartbeatSender::HeartbeatSender(std::unique_ptr<ControlClient> client, std::vector<Hello> hellos)
    : client_(std::move(client)),
      hellos_(std::move(hellos)),
      thread_([this] { send_heartbeat(); }) {}

HeartbeatSender::~HeartbeatSender() {
  stop_.store(true);
  thread_.join();
}

// A heartbeat that cannot be sent is skipped. The coordinator reacts only if heartbeats are missing
// for a longer time.
void HeartbeatSender::send_heartbeat() {
  for (const Hello& hello : hellos_)
    if (!client_->send(hello)) return;
  while (!stop_.load()) {
    for (const Hello& hello : hellos_) static_cast<void>(client_->send(progress_of(hello.rank)));
    for (auto waited = std::chrono::milliseconds{0}; waited < kPeriod && !stop_.load();
         waited += kLook)
      std::this_thread::sleep_for(kLook);
  }
}

Progress HeartbeatSender::progress_of(std::int32_t rank) const {
  const run::RankProgress& at = rank_progress_;
  Progress progress{rank, at.step.load(), at.ops_done.load(), "", at.waits_for.load()};
  const plan::RankPlan* plan = plan_.load();
  const auto [program, op] = at.op.load();
  if (plan != nullptr && program >= 0 && op >= 0)
    progress.op = plan::token(
        plan->programs[static_cast<std::size_t>(program)].ops[static_cast<std::size_t>(op)]);
  return progress;
}

}  // namespace trainyard::session
