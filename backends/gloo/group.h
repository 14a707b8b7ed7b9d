// SPDX-License-Identifier: GPL-3.0-or-later
// Group of ranks as a Gloo context, with a connection between every pair. Connecting takes two
// steps, so that the caller can exchange the addresses itself. Gloo throws exceptions; the files in
// this folder catch all of them.
#pragma once

#include <gloo/context.h>
#include <gloo/transport/device.h>

#include <memory>
#include <string>
#include <vector>

namespace trainyard::gloo {

class Group {
 public:
  // Listens on a port for each peer. Throws exceptions of Gloo.
  Group(const std::shared_ptr<::gloo::transport::Device>& device, std::vector<int> ranks,
        int position);

  int position() const { return position_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  int rank(int position) const { return ranks_[static_cast<std::size_t>(position)]; }

  // Returns this member's addresses in hexadecimal, one for each peer position: the peer connects
  // to that address. The entry at this member's position is empty.
  std::vector<std::string> addresses() const;
  // Connects to the peers at their addresses. Blocks until all are connected. Throws exceptions of
  // Gloo.
  void connect(const std::vector<std::string>& addresses);

  const std::shared_ptr<::gloo::Context>& context() const { return context_; }
  // Ends all waits for peers. May be called from any thread. Later calls fail.
  void give_up();
  // Returns the ranks whose connection is lost. Call this function only after a failed call,
  // because it may break the remaining connections.
  std::vector<int> lost();

 private:
  std::vector<int> ranks_;
  int position_;
  std::shared_ptr<::gloo::Context> context_;
};

}  // namespace trainyard::gloo
