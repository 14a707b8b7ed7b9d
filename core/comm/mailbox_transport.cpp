// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/comm/mailbox_transport.h"

namespace trainyard::comm {

base::Result<bool> MailboxTransport::post(int peer, int channel, Tag tag,
                                          std::span<const std::byte> bytes) {
  if (has_lost(peer)) return true;
  const auto slot = mailbox_->free_slot(peer, channel);
  if (!slot) return base::fail(slot.error());
  if (!*slot) return false;
  Descriptor descriptor{tag, 0, 0, bytes.size()};
  if (!bytes.empty())
    if (auto ok = place({peer, channel, **slot}, bytes, descriptor); !ok)
      return base::fail(ok.error());
  mailbox_->offer(peer, channel, descriptor);
  return true;
}

base::Result<std::optional<Message>> MailboxTransport::receive(int peer, int channel) {
  const auto arrival = mailbox_->oldest(peer, channel);
  if (!arrival) return base::fail(arrival.error());
  if (!*arrival) return std::nullopt;
  const Descriptor& descriptor = (*arrival)->descriptor;
  if (descriptor.bytes == 0) return Message{descriptor.tag, {}};
  const auto bytes = find({peer, channel, (*arrival)->slot}, descriptor);
  if (!bytes) return base::fail(bytes.error());
  return Message{descriptor.tag, *bytes};
}

}  // namespace trainyard::comm
