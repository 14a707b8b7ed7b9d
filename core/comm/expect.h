// SPDX-License-Identifier: GPL-3.0-or-later
// Receiving what the plan says must come next: anything else is a Problem that names both sides of
// the difference.
#pragma once

#include "core/comm/transport.h"

namespace trainyard::comm {

std::string to_string(const Tag& tag);  // "generation 1, step 12, op 40"

struct Expected {
  Tag tag;
  std::size_t bytes = 0;
};

base::Result<void> check(const Message& message, const Tag& tag, int self, int peer);
base::Result<void> check(const Message& message, const Expected& expected, int self, int peer);

// The oldest message, whose tag is checked; nothing when none is there yet. How long it may be is
// the caller's to check.
base::Result<std::optional<Message>> receive_of(Transport& transport, int peer, int channel,
                                                const Tag& tag);
// The same of so many bytes.
base::Result<std::optional<Message>> receive_expected(Transport& transport, int peer, int channel,
                                                      const Expected& expected);

// Waits for it, at most `limit`; that nothing came is a Problem (unavailable).
base::Result<Message> await_expected(Transport& transport, int peer, int channel,
                                     const Expected& expected, std::chrono::microseconds limit);

// Waits until `peer` has consumed `count` messages since the start, at most `limit`.
base::Result<void> await_consumed(Transport& transport, int peer, int channel, std::uint64_t count,
                                  std::chrono::microseconds limit);

// Posts, waiting while the channel is full, at most `limit`.
base::Result<void> await_post(Transport& transport, int peer, int channel, Tag tag,
                              std::span<const std::byte> bytes, std::chrono::microseconds limit);

}  // namespace trainyard::comm
