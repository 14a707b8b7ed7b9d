// SPDX-License-Identifier: GPL-3.0-or-later
// Timing model of a rank's plan: how long each op occupies the device, and its messages.
//
// An op takes the longer of its arithmetic, flops / peak speed, and its memory traffic, bytes read
// and written / memory bandwidth: the roofline (Williams, Waterman and Patterson 2009). Input and
// compute ops also take the launch cost. A receive reads the message and reads and writes its
// chunk. Sends and collectives of an engine do not occupy the device. A straggler's compute ops are
// multiplied by its slow-down and its mean jitter. Offloads and fetches take the slower of the bus
// to the host and, if they use it, the disk, plus the latencies of both.
#pragma once

#include <map>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/sim/time.h"
#include "core/topology/network.h"

namespace trainyard::sim {

// Connection between a device and its host's memory: the host's bus; for a CPU, whose memory it is,
// one read and one write.
struct HostLink {
  double bytes_per_second = 0, latency_seconds = 0;
};
HostLink host_link(const topology::Device& device, const topology::Host& host);

// Drawings do not describe disks: assumes a solid-state disk with sustained writes.
inline constexpr HostLink kDisk{1e9, 100e-6};

struct OpModel {
  plan::OpKind kind = plan::OpKind::load;
  plan::LaneId lane;
  Picoseconds takes = 0;
  // Fields of sends and receives.
  int channel = -1, bucket = -1, round = -1, chunk = -1;
  std::vector<int> peers;
  std::int64_t bytes = 0;         // of one message, or of a coarse collective's buffer
  std::vector<int> members = {};  // members of a coarse collective
  int element_bytes = 1;
  std::int64_t engine_bytes = 0;  // bytes sent for it, by formula
  // ops with named table rows: bytes of a row, and maximum number of rows; `bytes` are those of all
  // rows
  std::int64_t row_bytes = 0, max_rows = 0;
};

struct ProgramModel {
  std::int64_t repeats = 1;
  plan::Purpose purpose = plan::Purpose::training;
  std::vector<OpModel> ops;
};

struct RankModel {
  int rank = 0;
  std::vector<plan::Lane> lanes;
  std::map<std::string, int, std::less<>> program_numbers;
  std::vector<ProgramModel> programs;
  std::int64_t memory_bytes = 0;  // arenas, with the layout of real ranks

  int program(std::string_view name) const;  // -1 if not found
};

// Fails for a collective that is neither expanded nor assigned to an engine, a peer that the plan
// does not have, or more ops than an event can number.
base::Result<RankModel> model_rank(const plan::RankPlan& rank, const plan::Plan& plan,
                                   const topology::Device& device, const HostLink& to_host,
                                   Picoseconds launch);

}  // namespace trainyard::sim
