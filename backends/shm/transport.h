// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks as processes of one host, over one memfd: mailboxes, and an arena for each rank that its
// peers read in place. The memfd has no name, so nothing is left behind whatever dies.
//
// Bytes posted from the own arena are never copied. Bytes from elsewhere are copied once, through a
// staging slot of `kMaximumStagedBytes`; longer ones are refused with a Problem: place them in the
// arena.
//
// Part of an arena may lie on a device that the devices of all peers reach: then messages from
// there are in what this rank has of that device, and only devices look at them.
//
// A rank sees peers' arenas read-only. Offsets and lengths of peers are checked against their arena
// before use. A peer whose process has ended without leaving is noticed while waiting (within about
// a tenth of a second) and aborts the group, naming the rank, but where peers may lose it. Not a
// guard against a malicious process: whoever holds the memfd can write the mailboxes.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/comm/bell.h"
#include "core/comm/mailbox_transport.h"

namespace trainyard::shm {

constexpr std::size_t kMaximumStagedBytes = std::size_t{64} << 10;
constexpr int kMaximumRanks = 1024;
constexpr int kMaximumChannels = 64;

// A sealed memfd for arena_bytes.size() ranks (at least one), for one generation. It closes on
// exec: the launcher passes it on with posix_spawn_file_actions_adddup2 or by clearing the flag.
// The caller closes it.
base::Result<int> create(const std::vector<std::size_t>& arena_bytes, int channels);

// Where the bytes of an arena lie from `from` on: `memory` is as long as they are, or empty, and
// then they are in the memfd.
struct OnDevice {
  std::size_t from = 0;
  std::span<std::byte> memory;
};

class Transport : public comm::MailboxTransport {
 public:
  using MailboxTransport::MailboxTransport;
  // By rank, this one too; before anything is posted. A Problem where one is not as long as it
  // should be.
  virtual base::Result<void> lie_on_devices(std::vector<OnDevice> arenas) = 0;
};

// This process as `rank`. Once a rank; `fd` may be closed afterwards. A file that `create` did not
// make is a Problem. `patience` of waits; absent: as many ranks on this machine need.
// `takes_place`: of a process that left or died, where its peers have begun anew with it.
base::Result<std::unique_ptr<Transport>> open(int fd, int rank,
                                              std::optional<comm::Patience> patience = {},
                                              bool takes_place = false);

// For the coordinator, which is no rank: every rank sees `reason` at once.
base::Result<void> abort_all(int fd, const base::Problem& reason);

}  // namespace trainyard::shm
