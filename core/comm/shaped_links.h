// SPDX-License-Identifier: GPL-3.0-or-later
// Drawn links that the ranks of this machine share: the state of LinkShares in shared memory, a
// lock, and the real clock. All ranks that use a link share its capacity. Processes share a memfd
// that the launcher creates; threads share the object.
//
// No thread runs between two calls: LinkShares (link_shares.h) computes what has happened since the
// last one. A call holds the lock for about a microsecond. If a rank dies while it holds the lock,
// the next caller repairs the state. If a rank is suspended while it holds the lock, calls that
// wait too long return a Problem that names it.
#pragma once

#include <functional>
#include <memory>

#include "core/base/clock.h"
#include "core/comm/link_shares.h"
#include "core/comm/memory_map.h"

namespace trainyard::comm {

// Creates a sealed memfd for one generation of ranks. The descriptor is close-on-exec; the caller
// closes it.
base::Result<int> create_shaped_links(const DrawnLinks& drawn, int channels);

class ShapedLinks {
 public:
  using Clock = std::function<std::int64_t()>;  // returns nanoseconds

  // Opens a file that create_shaped_links created; any other file is a Problem. `fd` may be closed
  // afterwards.
  static base::Result<std::shared_ptr<ShapedLinks>> open(int fd,
                                                         Clock clock = base::now_nanoseconds);
  // Creates links for ranks that are threads of this process.
  static base::Result<std::shared_ptr<ShapedLinks>> make(const DrawnLinks& drawn, int channels,
                                                         Clock clock = base::now_nanoseconds);

  int ranks() const { return shares_.ranks(); }
  int channels() const { return shares_.channels(); }
  bool holds(const LaneName& lane) const;  // true if these links have the lane

  // Adds a message; called by the sender. Returns a Problem if the lane is full.
  base::Result<void> post(const LaneName& lane, std::size_t bytes);

  // State of the oldest unreleased message of a lane, for the receiver.
  struct MessageState {
    bool arrived = false;            // the message has arrived
    std::int64_t look_again_ns = 0;  // time to check again if the message has not arrived
  };
  base::Result<MessageState> oldest(const LaneName& lane);
  base::Result<void> release(const LaneName& lane);  // releases an arrived message

  // Sets the capacity of both directions of an edge to a fraction (0 to 1) of the drawn one. The
  // caller need not be a rank; Problems name it rank -1.
  base::Result<void> set_fraction(int edge, double part);

  // Drops all messages in transit on the lane. Called by rank `by`.
  base::Result<void> forget(const LaneName& lane, int by);

  std::int64_t now_ns() const { return clock_(); }

 private:
  struct Header;
  ShapedLinks(MemoryMap memory, Clock clock);
  static base::Result<void> format(std::span<std::byte> memory, const DrawnLinks& drawn,
                                   int channels, std::int64_t origin_ns);
  friend base::Result<int> create_shaped_links(const DrawnLinks& drawn, int channels);
  base::Result<void> lock(int rank);
  void unlock();
  Picoseconds now() const;

  MemoryMap memory_;
  Header* header_;
  LinkShares shares_;
  Clock clock_;
};

}  // namespace trainyard::comm
