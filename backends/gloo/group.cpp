// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/gloo/group.h"

#include <gloo/transport/context.h>

#include <stdexcept>

#include "core/base/hex.h"

namespace trainyard::gloo {
namespace {

constexpr std::chrono::milliseconds kConnectTimeout{
    6000};  // Gloo waits five times this long for a peer to connect.
// Time limit of a call. It is practically unlimited, because a straggler may take long. If a peer
// hangs, the coordinator detects it and ends the call by `give_up`.
constexpr std::chrono::hours kCallTimeout{24 * 365};

std::vector<char> from_hex(const std::string& text) {
  const auto bytes = base::from_hex(text);
  if (!bytes) throw std::runtime_error("an address is not hexadecimal");
  return {bytes->begin(), bytes->end()};
}

// Gloo context that is connected by exchanging addresses, after `listen` and before the first call.
// It uses none of Gloo's stores.
class Context final : public ::gloo::Context {
 public:
  Context(const std::shared_ptr<::gloo::transport::Device>& device, int position, int members)
      : ::gloo::Context(position, members) {
    device_ = device;
    transportContext_ = device->createContext(position, members);
    transportContext_->setTimeout(kConnectTimeout);
    for (int peer = 0; peer < members; ++peer)
      if (peer != position) transportContext_->createPair(peer);
    setTimeout(kCallTimeout);
  }
};

}  // namespace

Group::Group(const std::shared_ptr<::gloo::transport::Device>& device, std::vector<int> ranks,
             int position)
    : ranks_(std::move(ranks)),
      position_(position),
      context_(std::make_shared<Context>(device, position, size())) {}

std::vector<std::string> Group::addresses() const {
  std::vector<std::string> all;
  all.reserve(ranks_.size());
  for (int peer = 0; peer < size(); ++peer)
    all.push_back(peer == position_ ? ""
                                    : base::to_hex(context_->getPair(peer)->address().bytes()));
  return all;
}

void Group::connect(const std::vector<std::string>& addresses) {
  for (int peer = 0; peer < size(); ++peer)
    if (peer != position_)
      context_->getPair(peer)->connect(from_hex(addresses.at(static_cast<std::size_t>(peer))));
}

// Aborts all connections of the context. Gloo does so when a wait times out, so this waits for data
// that never arrives.
void Group::give_up() {
  try {
    context_->createUnboundBuffer(nullptr, 0)->waitRecv(std::chrono::milliseconds(1));
  } catch (const std::exception&) {  // expected: the wait timed out
  }
}

// Returns the ranks whose connection is broken. Receiving from a peer throws an exception if its
// connection is broken.
std::vector<int> Group::lost() {
  constexpr std::uint64_t unused_slot = ~std::uint64_t{0};
  std::vector<int> ranks;
  const auto nothing = context_->createUnboundBuffer(nullptr, 0);
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == position_) continue;
    try {
      context_->getPair(peer)->recv(nothing.get(), unused_slot, 0, 0);
    } catch (const std::exception&) {
      ranks.push_back(rank(peer));
    }
  }
  return ranks;
}

}  // namespace trainyard::gloo
