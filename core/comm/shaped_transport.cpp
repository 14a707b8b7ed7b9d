// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/comm/shaped_transport.h"

#include <fmt/core.h>
#include <sys/prctl.h>

#include <algorithm>
#include <string>
#include <utility>

namespace trainyard::comm {

using base::Result;
using std::chrono::microseconds;

namespace {

// nanoseconds by which a sleep ends early; a wake-up usually takes less
constexpr std::int64_t kAwakeBefore = 15'000;

// Returns an address that identifies the thread.
const void* this_thread() {
  thread_local const char mark = 0;
  return &mark;
}

// Reduces the timer slack: by default the kernel lets a thread sleep 50 microseconds longer
// (prctl(2), PR_SET_TIMERSLACK).
void sleep_exactly() {
  thread_local const bool applied = ::prctl(PR_SET_TIMERSLACK, 1'000UL, 0, 0, 0) == 0;
  static_cast<void>(applied);
}

}  // namespace

Result<std::unique_ptr<Transport>> ShapedTransport::make(std::unique_ptr<Transport> inner,
                                                         std::shared_ptr<ShapedLinks> links) {
  if (links->ranks() != inner->ranks())
    return base::fail({"bad_size", base::ProblemCode::bad_usage, "shaped transport",
                       fmt::format("the links are for {} ranks", links->ranks()),
                       fmt::format("{} ranks", inner->ranks()), ""});
  return std::unique_ptr<Transport>(new ShapedTransport(std::move(inner), std::move(links)));
}

ShapedTransport::ShapedTransport(std::unique_ptr<Transport> inner,
                                 std::shared_ptr<ShapedLinks> links)
    : inner_(std::move(inner)),
      links_(std::move(links)),
      channels_(links_->channels()),
      held_(static_cast<std::size_t>(links_->ranks()) * static_cast<std::size_t>(channels_)) {}

// Posts a message. If the links do not contain its lane, only the inner transport handles it.
Result<bool> ShapedTransport::post(int peer, int channel, Tag tag,
                                   std::span<const std::byte> bytes) {
  if (inner_->has_lost(peer)) return true;
  const auto posted = inner_->post(peer, channel, tag, bytes);
  if (!posted || !*posted) return posted;
  if (const auto shaped = links_->post({rank(), peer, channel}, bytes.size()); !shaped)
    return base::fail(shaped.error());
  return true;
}

Result<std::optional<Message>> ShapedTransport::receive(int peer, int channel) {
  auto message = inner_->receive(peer, channel);
  if (!message || !*message) return message;
  const auto seen = is_due(peer, channel);
  if (!seen) return base::fail(seen.error());
  if (!*seen) return std::nullopt;
  return message;
}

Result<bool> ShapedTransport::is_due(int peer, int channel) {
  Held& held = this->held(peer, channel);
  if (held.seen) return true;
  const std::int64_t until = held.until_ns.load(std::memory_order_relaxed);
  if (until != kNothing && links_->now_ns() < until) return false;
  const auto message_state = links_->oldest({peer, rank(), channel});
  if (!message_state) return base::fail(message_state.error());
  held.seen = message_state->arrived;
  held.thread.store(this_thread(), std::memory_order_relaxed);
  held.until_ns.store(message_state->arrived ? kNothing : message_state->look_again_ns,
                      std::memory_order_relaxed);
  return held.seen;
}

// Releases a message in the links before it releases it in the transport, so that the links have
// room when the sender learns that it may post again.
Result<void> ShapedTransport::release(int peer, int channel) {
  if (!links_->holds({peer, rank(), channel})) return inner_->release(peer, channel);
  if (auto ok = inner_->state(); !ok) return ok;
  if (!std::exchange(held(peer, channel).seen, false))
    return base::fail({"nothing_to_release", base::ProblemCode::failed,
                       fmt::format("rank {}", rank()),
                       fmt::format("no message of rank {} can be released", peer), "", ""});
  if (auto ok = links_->release({peer, rank(), channel}); !ok) return ok;
  return inner_->release(peer, channel);
}

Result<void> ShapedTransport::reconnect(int peer, std::uint32_t generation) {
  for (int channel = 0; channel < channels_; ++channel) {
    Held& held = this->held(peer, channel);
    held.seen = false, held.until_ns.store(kNothing, std::memory_order_relaxed);
    for (const LaneName& lane : {LaneName{peer, rank(), channel}, LaneName{rank(), peer, channel}})
      if (auto ok = links_->forget(lane, rank()); !ok) return ok;
  }
  return inner_->reconnect(peer, generation);
}

bool ShapedTransport::wait(microseconds limit) {
  const std::int64_t due = first_due();
  if (due == kNothing) return inner_->wait(limit);
  sleep_exactly();
  const std::int64_t now = links_->now_ns();
  const std::int64_t until = std::min(due, now + limit.count() * 1000);
  const microseconds asleep((until - kAwakeBefore - now) / 1000);
  if (asleep.count() > 0 && inner_->wait(asleep)) return true;
  while (links_->now_ns() < until)
    if (inner_->wait(microseconds(0))) return true;
  return forget_due(until);
}

std::int64_t ShapedTransport::first_due() const {
  std::int64_t first = kNothing;
  for (const Held& held : held_)
    if (held.thread.load(std::memory_order_relaxed) == this_thread())
      first = std::min(first, held.until_ns.load(std::memory_order_relaxed));
  return first;
}

// Removes the messages that are due from the messages held back for this thread; returns true if
// there were any. Each due message wakes its thread once, even if the thread does not read it.
bool ShapedTransport::forget_due(std::int64_t now_ns) {
  bool any = false;
  for (Held& held : held_) {
    if (held.thread.load(std::memory_order_relaxed) != this_thread() ||
        held.until_ns.load(std::memory_order_relaxed) > now_ns)
      continue;
    held.until_ns.store(kNothing, std::memory_order_relaxed);
    any = true;
  }
  return any;
}

}  // namespace trainyard::comm
