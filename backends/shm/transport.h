// SPDX-License-Identifier: GPL-3.0-or-later
// Transport between processes of one host. One memfd contains mailboxes and an arena per rank,
// which peers read in place. The memfd has no name, so a crash leaves no file behind.
//
// Messages posted from the rank's arena are never copied. Messages of up to `kMaxStagedBytes` from
// other memory are copied once, to a staging slot. Longer messages from other memory are refused
// with a Problem that advises to place them in the arena.
//
// Part of an arena may be in device memory that the devices of all peers can access. A receiver
// reads a message there through its own mapping of that device memory; only its device can do so.
//
// A rank maps peers' arenas read-only. Offsets and lengths from peers are checked against the
// peer's arena before use. If a peer's process ends without leaving, a waiting rank detects that
// within about 0.1 s. It then aborts the group with a Problem that names the peer, unless the other
// ranks may continue without that peer. None of this protects against a malicious process: any
// holder of the memfd can write the mailboxes.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backends/shm/limits.h"
#include "core/comm/futex_event.h"
#include "core/comm/mailbox_transport.h"

namespace trainyard::shm {

// Creates a sealed memfd for one rank per entry of `arena_bytes` (at least one), for one generation
// of ranks. Returns its descriptor, which the caller closes. The descriptor has the close-on-exec
// flag: a launcher passes it on with posix_spawn_file_actions_adddup2, or clears the flag.
base::Result<int> create(const std::vector<std::size_t>& arena_bytes, int channels);

// Part of an arena in device memory: the bytes of the arena from offset `from` to its end. If
// `memory` is empty, these bytes are in the memfd.
struct DeviceArena {
  std::size_t from = 0;
  std::span<std::byte> memory;
};

class Transport : public comm::MailboxTransport {
 public:
  using MailboxTransport::MailboxTransport;
  // Sets the device memory of all ranks, including this one. `arenas` has one entry per rank. Call
  // this function before any post. Returns a Problem if the size of an entry is wrong.
  virtual base::Result<void> set_device_arenas(std::vector<DeviceArena> arenas) = 0;
};

// Opens the transport of this process as `rank`, once per rank. `fd` may be closed afterwards.
// Returns a Problem if the file was not made by `create`. `patience`: how long calls spin before
// they sleep; nullopt: chosen from the number of ranks on this machine. `takes_place`: true if this
// process replaces one that left or died, after its peers have reset their lanes to that rank.
base::Result<std::unique_ptr<Transport>> open(int fd, int rank,
                                              std::optional<comm::SpinPolicy> patience = {},
                                              bool takes_place = false);

// Makes the transports of all ranks fail with `reason` immediately. Called by the coordinator,
// which has no transport itself.
base::Result<void> abort_all(int fd, const base::Problem& reason);

}  // namespace trainyard::shm
