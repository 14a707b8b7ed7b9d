// SPDX-License-Identifier: GPL-3.0-or-later
// One group of ranks as Gloo knows it: a connection between any two of them, made in two steps, so
// that whoever brings addresses from rank to rank need not be Gloo's. Gloo throws; nothing thrown
// leaves this folder.
#pragma once

#include <gloo/context.h>
#include <gloo/transport/device.h>

#include <memory>
#include <string>
#include <vector>

namespace trainyard::gloo {

class Group {
 public:
  // Listens on a port for every peer. Throws.
  Group(const std::shared_ptr<::gloo::transport::Device>& device, std::vector<int> ranks,
        int position);

  int position() const { return position_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  int rank(int position) const { return ranks_[static_cast<std::size_t>(position)]; }

  // Where the peer at each position finds this member; hexadecimal, empty at the own position.
  std::vector<std::string> addresses() const;
  // Where this member finds them. Waits for all. Throws.
  void connect(const std::vector<std::string>& addresses);

  const std::shared_ptr<::gloo::Context>& context() const { return context_; }
  // Ends whatever waits for a peer, in any thread, for good.
  void give_up();
  // After a call has failed: the ranks to which the connection is lost. Asking may upset what
  // connections are left.
  std::vector<int> lost();

 private:
  std::vector<int> ranks_;
  int position_;
  std::shared_ptr<::gloo::Context> context_;
};

}  // namespace trainyard::gloo
