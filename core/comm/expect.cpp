// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/comm/expect.h"

#include <fmt/core.h>

#include <string>

namespace trainyard::comm {

using base::Problem;
using base::ProblemCode;
using base::Result;
using std::chrono::microseconds;
using std::chrono::steady_clock;

namespace {

std::string link(int self, int peer) {
  return fmt::format("rank {}, link with rank {}", self, peer);
}

Problem late(const Transport& transport, int peer, int channel, const std::string& what,
             microseconds limit) {
  return {
      "message_timeout",
      ProblemCode::unavailable,
      link(transport.rank(), peer),
      fmt::format("{} within {} ms on channel {}", what, limit.count() / 1000, channel),
      "",
      fmt::format("See the log of rank {}: it hangs, or is slower than the limit allows.", peer)};
}

// Calls `attempt` until it returns a value or a Problem, or until `limit` has passed. An empty or
// false Result means that the operation is not ready yet.
template <class Attempt>
auto attempt_until(Transport& transport, microseconds limit, Attempt attempt) {
  const auto end = steady_clock::now() + limit;
  for (;;) {
    auto result = attempt();
    const auto left = std::chrono::duration_cast<microseconds>(end - steady_clock::now());
    if (!result || *result || left.count() <= 0) return result;
    transport.wait(left);
  }
}

Result<void> succeed_or(const Result<bool>& result, const Problem& otherwise) {
  if (!result) return base::fail(result.error());
  if (!*result) return base::fail(otherwise);
  return {};
}

}  // namespace

std::string to_string(const Tag& tag) {
  return fmt::format("generation {}, step {}, op {}", tag.generation, tag.step, tag.op);
}

Result<void> check(const Message& message, const Tag& tag, int self, int peer) {
  if (message.tag == tag) return {};
  return base::fail({"wrong_message", ProblemCode::failed, link(self, peer),
                     fmt::format("received a message of {}", to_string(message.tag)),
                     to_string(tag), "A message was lost, repeated or sent out of order."});
}

Result<void> check(const Message& message, const Expected& expected, int self, int peer) {
  if (auto ok = check(message, expected.tag, self, peer); !ok) return ok;
  if (message.bytes.size() != expected.bytes)
    return base::fail({"wrong_message", ProblemCode::failed, link(self, peer),
                       fmt::format("the message of {} has {} bytes", to_string(message.tag),
                                   message.bytes.size()),
                       fmt::format("{} bytes", expected.bytes),
                       "The message was truncated, or the two ranks run different plans."});
  return {};
}

Result<std::optional<Message>> receive_of(Transport& transport, int peer, int channel,
                                          const Tag& tag) {
  auto message = transport.receive(peer, channel);
  if (message && *message)
    if (auto ok = check(**message, tag, transport.rank(), peer); !ok) return base::fail(ok.error());
  return message;
}

Result<std::optional<Message>> receive_expected(Transport& transport, int peer, int channel,
                                                const Expected& expected) {
  auto message = transport.receive(peer, channel);
  if (message && *message)
    if (auto ok = check(**message, expected, transport.rank(), peer); !ok)
      return base::fail(ok.error());
  return message;
}

Result<Message> await_expected(Transport& transport, int peer, int channel,
                               const Expected& expected, microseconds limit) {
  auto message = attempt_until(
      transport, limit, [&] { return receive_expected(transport, peer, channel, expected); });
  if (!message) return base::fail(message.error());
  if (!*message)
    return base::fail(late(transport, peer, channel,
                           fmt::format("no message with {} arrived", to_string(expected.tag)),
                           limit));
  return **message;
}

Result<void> await_consumed(Transport& transport, int peer, int channel, std::uint64_t count,
                            microseconds limit) {
  const auto enough = [&] {
    return transport.consumed(peer, channel).map([&](std::uint64_t consumed) {
      return consumed >= count;
    });
  };
  return succeed_or(
      attempt_until(transport, limit, enough),
      late(transport, peer, channel, fmt::format("message {} was not consumed", count), limit));
}

Result<void> await_post(Transport& transport, int peer, int channel, Tag tag,
                        std::span<const std::byte> bytes, microseconds limit) {
  const auto posted = [&] { return transport.post(peer, channel, tag, bytes); };
  return succeed_or(
      attempt_until(transport, limit, posted),
      late(transport, peer, channel,
           fmt::format("there was no room for a message of {}", to_string(tag)), limit));
}

}  // namespace trainyard::comm
