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

// Returns the oldest message, or nothing if none has arrived. Checks the tag of the message but not
// its length.
base::Result<std::optional<Message>> receive_of(Transport& transport, int peer, int channel,
                                                const Tag& tag);
// Returns the oldest message, or nothing if none has arrived. Checks the tag and the length of the
// message.
base::Result<std::optional<Message>> receive_expected(Transport& transport, int peer, int channel,
                                                      const Expected& expected);

// Waits for the message, but at most `limit`. A timeout is a Problem (unavailable).
base::Result<Message> await_expected(Transport& transport, int peer, int channel,
                                     const Expected& expected, std::chrono::microseconds limit);

// Waits until `peer` has consumed `count` messages in total, but at most `limit`.
base::Result<void> await_consumed(Transport& transport, int peer, int channel, std::uint64_t count,
                                  std::chrono::microseconds limit);

// Posts a message. If the channel is full, waits for room, but at most `limit`.
base::Result<void> await_post(Transport& transport, int peer, int channel, Tag tag,
                              std::span<const std::byte> bytes, std::chrono::microseconds limit);

}  // namespace trainyard::comm
