// SPDX-License-Identifier: GPL-3.0-or-later
// The drawn links as one piece of memory that the ranks of this machine share - processes over a
// memfd that the launcher makes, threads as they are - with a lock and the real clock, so that
// ranks that share a link share its capacity.
//
// Between two calls nothing runs and nobody need be awake: core/comm/link_shares.h reckons what has
// happened since. A call takes the lock for about a microsecond. Whoever comes after a rank that
// died while it held the lock mends what that left; one that is stopped keeps it, and calls that
// have waited for long are Problems that name it.
#pragma once

#include <functional>
#include <memory>

#include "core/base/clock.h"
#include "core/comm/link_shares.h"
#include "core/comm/memory_map.h"

namespace trainyard::comm {

// A sealed memfd for one generation. It closes on exec; the caller closes it.
base::Result<int> create_shaped_links(const DrawnLinks& drawn, int channels);

class ShapedLinks {
 public:
  using Clock = std::function<std::int64_t()>;  // nanoseconds

  // `fd` may be closed afterwards. A file that create_shaped_links did not make is a Problem.
  static base::Result<std::shared_ptr<ShapedLinks>> open(int fd,
                                                         Clock clock = base::now_nanoseconds);
  // For ranks that are threads of this process.
  static base::Result<std::shared_ptr<ShapedLinks>> make(const DrawnLinks& drawn, int channels,
                                                         Clock clock = base::now_nanoseconds);

  int ranks() const { return shares_.ranks(); }
  int channels() const { return shares_.channels(); }
  bool holds(const LaneName& lane) const;  // whether it is one of these links' lanes

  // By the sender. A Problem when the lane holds more messages than it can.
  base::Result<void> post(const LaneName& lane, std::size_t bytes);

  // By the receiver.
  struct Sight {
    bool arrived = false;            // the oldest message that is not released
    std::int64_t look_again_ns = 0;  // if not: when it is worth to look again
  };
  base::Result<Sight> oldest(const LaneName& lane);
  base::Result<void> release(const LaneName& lane);  // one that has arrived

  // From now on both ways of an edge carry this part, 0 to 1, of what they are drawn with. By who
  // holds no lane: it is told as rank -1.
  base::Result<void> set_part(int edge, double part);

  // Nothing of what was posted there is on its way any more. By rank `by`.
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
