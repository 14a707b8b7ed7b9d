// SPDX-License-Identifier: GPL-3.0-or-later
// Receives the message that must come next according to the plan. Any other message is a Problem
// that shows what was expected and what was received.
#pragma once

#include "core/comm/transport.h"

namespace trainyard::comm {

std::string to_string(const Tag& tag);  // Returns text such as "generation 1, step 12, op 40".

struct Expected {
  Tag tag;
  std::size_t bytes = 0;
};

base::Result<void> check(const Message& message, const Tag& tag, int self, int peer);
base::Result<void> check(const Message& message, const Expected& expected, int self, int peer);

// Returns the oldest message after checking its tag; nothing if none has arrived. The caller checks
// its length.
base::Result<std::optional<Message>> receive_of(Transport& transport, int peer, int channel,
                                                const Tag& tag);
// Like `receive_of`, but also checks that the message has the given length.
base::Result<std::optional<Message>> receive_expected(Transport& transport, int peer, int channel,
                                                      const Expected& expected);

// Waits at most `limit` for the message; a timeout is a Problem (unavailable).
base::Result<Message> await_expected(Transport& transport, int peer, int channel,
                                     const Expected& expected, std::chrono::microseconds limit);

// Waits until `peer` has consumed `count` messages in total, but at most `limit`.
base::Result<void> await_consumed(Transport& transport, int peer, int channel, std::uint64_t count,
                                  std::chrono::microseconds limit);

// Posts a message. Waits while the channel is full, but at most `limit`.
base::Result<void> await_post(Transport& transport, int peer, int channel, Tag tag,
                              std::span<const std::byte> bytes, std::chrono::microseconds limit);

}  // namespace trainyard::comm
