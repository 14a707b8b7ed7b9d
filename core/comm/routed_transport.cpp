// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/comm/routed_transport.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

namespace trainyard::comm {

using base::Result;
using std::chrono::microseconds;

Result<std::unique_ptr<Transport>> RoutedTransport::make(
    std::vector<std::unique_ptr<Transport>> parts, std::vector<int> route) {
  const auto wrong = [](const std::string& what) {
    return base::fail(
        {"bad_route", base::ProblemCode::bad_usage, "routed transport", what, "", ""});
  };
  if (parts.empty())
    return wrong("a routed transport needs at least one inner transport, but has none");
  for (const auto& part : parts)
    if (part->rank() != parts.front()->rank() || part->ranks() != parts.front()->ranks())
      return wrong("the inner transports belong to different ranks or groups");
  if (route.size() != static_cast<std::size_t>(parts.front()->ranks()))
    return wrong("the route does not name one inner transport per rank");
  const auto named = [&](int part) { return part >= 0 && part < static_cast<int>(parts.size()); };
  if (!std::all_of(route.begin(), route.end(), named))
    return wrong("the route names an inner transport that does not exist");
  return std::unique_ptr<Transport>(new RoutedTransport(std::move(parts), std::move(route)));
}

// Destroys the transports without an arena first, because such a transport may send from the arena
// of another transport until it is destroyed.
RoutedTransport::~RoutedTransport() {
  for (auto& part : parts_)
    if (part->arena().empty()) part.reset();
}

std::span<std::byte> RoutedTransport::arena() {
  for (const auto& part : parts_)
    if (!part->arena().empty()) return part->arena();
  return {};
}

Result<Transport*> RoutedTransport::part_of(int peer) const {
  if (auto ok = state(); !ok) return base::fail(ok.error());
  if (peer >= 0 && peer < ranks())
    return parts_[static_cast<std::size_t>(route_[static_cast<std::size_t>(peer)])].get();
  return base::fail({"unknown_rank", base::ProblemCode::bad_usage, fmt::format("rank {}", rank()),
                     fmt::format("there is no peer {}", peer), "", ""});
}

Result<bool> RoutedTransport::post(int peer, int channel, Tag tag,
                                   std::span<const std::byte> bytes) {
  return part_of(peer).and_then(
      [&](Transport* part) { return part->post(peer, channel, tag, bytes); });
}

Result<std::uint64_t> RoutedTransport::consumed(int peer, int channel) {
  return part_of(peer).and_then([&](Transport* part) { return part->consumed(peer, channel); });
}

Result<std::optional<Message>> RoutedTransport::receive(int peer, int channel) {
  return part_of(peer).and_then([&](Transport* part) { return part->receive(peer, channel); });
}

Result<void> RoutedTransport::release(int peer, int channel) {
  return part_of(peer).and_then([&](Transport* part) { return part->release(peer, channel); });
}

// A thread cannot wait for two kinds of transports in one system call. So the parts wait in turn,
// in growing slices of time. A new message is seen immediately by the part that waits, and within a
// slice by the others.
bool RoutedTransport::wait(microseconds limit) {
  const bool changed = parts_.size() == 1 ? parts_.front()->wait(limit) : wait_in_turn(limit);
  spread_abort();
  return changed;
}

bool RoutedTransport::wait_in_turn(microseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (microseconds slice{50};; slice = std::min(slice * 2, microseconds(1000))) {
    for (const auto& part : parts_) {
      const auto left =
          std::chrono::duration_cast<microseconds>(end - std::chrono::steady_clock::now());
      if (part->wait(std::clamp(left, microseconds(0), slice))) return true;
      if (left.count() <= 0) return false;
    }
  }
}

void RoutedTransport::wake() {
  for (const auto& part : parts_) part->wake();
}

void RoutedTransport::abort(const base::Problem& reason) {
  for (const auto& part : parts_) part->abort(reason);
}

void RoutedTransport::spread_abort() {
  if (auto ok = state(); !ok) abort(ok.error());
}

Result<void> RoutedTransport::state() const {
  for (const auto& part : parts_)
    if (auto ok = part->state(); !ok) return ok;
  return {};
}

// Calls all transports, because a transport that does not carry messages to the peer may still
// monitor the peer.
void RoutedTransport::allow_loss(int peer) {
  for (const auto& part : parts_) part->allow_loss(peer);
}

bool RoutedTransport::has_lost(int peer) const {
  return peer >= 0 && peer < ranks() &&
         parts_[static_cast<std::size_t>(route_[static_cast<std::size_t>(peer)])]->has_lost(peer);
}

// Calls all transports, because the peer's replacement must be able to join each of them.
Result<void> RoutedTransport::reconnect(int peer, std::uint32_t generation) {
  return part_of(peer).and_then([&](Transport* served) {
    // ignores errors: a transport to which the peer never connected has nothing to reset
    for (const auto& part : parts_)
      if (part.get() != served) static_cast<void>(part->reconnect(peer, generation));
    return served->reconnect(peer, generation);
  });
}

Traffic RoutedTransport::traffic(int peer) const {
  if (peer < 0 || peer >= ranks()) return {};
  return parts_[static_cast<std::size_t>(route_[static_cast<std::size_t>(peer)])]->traffic(peer);
}

}  // namespace trainyard::comm
