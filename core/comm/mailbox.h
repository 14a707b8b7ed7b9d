// SPDX-License-Identifier: GPL-3.0-or-later
// Mailboxes from the point of view of one rank. It posts and takes descriptors of messages, counts,
// waits, and aborts. The transports within a host (inproc, shm) only add the mapping between
// descriptors and bytes.
//
// Threads: as in transport.h. Values that peers write to the shared block are not trusted:
// impossible counters are a Problem.
//
// A rank that replaces a lost one continues the counters of its lanes. Before it starts, its peers
// have consumed all earlier messages (`reconnect`), and they post nothing until it is present.
#pragma once

#include <memory>
#include <vector>

#include "core/comm/lane_counters.h"
#include "core/comm/mailbox_block.h"

namespace trainyard::comm {

class Mailbox {
 public:
  // Marks the rank as present. If a process was already present as this rank, it must have left and
  // `takes_place` must be true; otherwise this is a Problem.
  static base::Result<std::unique_ptr<Mailbox>> open(MailboxBlock block, int rank,
                                                     SpinPolicy patience, std::int64_t process,
                                                     std::int64_t process_start,
                                                     bool takes_place = false);
  ~Mailbox();  // marks the rank as left
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  int rank() const { return rank_; }
  const MailboxBlock& block() const { return block_; }

  // Returns the slot for the next descriptor to this peer; nothing if the lane is full.
  base::Result<std::optional<std::uint64_t>> free_slot(int peer, int channel);
  // Writes the descriptor to the slot that `free_slot` returned.
  void offer(int peer, int channel, const Descriptor& descriptor);
  base::Result<std::uint64_t> consumed(int peer, int channel);

  struct Arrival {
    Descriptor descriptor;
    std::uint64_t slot = 0;
  };
  base::Result<std::optional<Arrival>> oldest(int peer, int channel);
  base::Result<void> release(int peer, int channel);

  bool wait(std::chrono::microseconds limit) { return listener_.wait(limit); }
  void wake() { listener_.ring(); }
  void abort(const base::Problem& reason) { block_.abort(reason); }
  base::Result<void> state() const;
  Traffic traffic(int peer) const;

  void allow_loss(int peer) { peers_[static_cast<std::size_t>(peer)].is_loss_allowed = true; }
  bool is_loss_allowed(int peer) const {
    return peers_[static_cast<std::size_t>(peer)].is_loss_allowed;
  }
  bool has_lost(int peer) const;
  void reconnect(int peer);

 private:
  // Local state of a lane in one direction; written only by the thread that uses this direction.
  struct Side {
    // number of messages that this rank has posted (if it sends) or released (if it receives)
    std::uint64_t own = 0;
    // number of messages that the peer has released (if this rank sends) or posted (if it
    // receives), at the time of the last read
    std::uint64_t others = 0;
    std::uint64_t first = 0;  // initial value of both counters
    LaneCounters counters;
  };

  struct Peer {
    bool is_loss_allowed = false;
    // value of the peer's `moves` when the connection to its previous process was reset
    std::uint32_t forgotten = 0;
  };

  Mailbox(MailboxBlock block, int rank, SpinPolicy patience);
  void continue_counters();
  base::Result<void> check(int peer, int channel) const;
  Side& out(int peer, int channel) { return out_[index(peer, channel)]; }
  Side& in(int peer, int channel) { return in_[index(peer, channel)]; }
  std::size_t index(int peer, int channel) const {
    return static_cast<std::size_t>(peer) * static_cast<std::size_t>(block_.channels()) +
           static_cast<std::size_t>(channel);
  }
  base::Result<void> read_consumed(int peer, int channel);
  base::Result<void> read_posted(int peer, int channel);
  bool left(int peer) const {
    return Presence::has_left(block_.presence(peer).moves.load(std::memory_order_acquire));
  }
  base::Problem broken(const char* id, int peer, const char* what) const;
  base::Problem gone(int peer, const char* what) const;

  MailboxBlock block_;
  int rank_;
  Listener listener_;
  std::vector<Side> out_, in_;
  std::vector<Peer> peers_;
};

}  // namespace trainyard::comm
