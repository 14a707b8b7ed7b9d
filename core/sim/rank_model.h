// SPDX-License-Identifier: GPL-3.0-or-later
// Timing model of a rank's plan: how long each op occupies the device, and its messages.
//
// The time of an op is the longer of its arithmetic (flops / peak speed) and its memory traffic
// (bytes read and written / memory bandwidth): the roofline model (Williams, Waterman and Patterson
// 2009). Input and compute ops also take the launch cost. A receive reads the message, and reads
// and writes its chunk. Sends and collectives of an engine do not occupy the device. Times of a
// straggler's compute ops are multiplied by its slow-down and its mean jitter. An offload or fetch
// takes the time of the slower of the bus to the host and the disk (if used), plus the latencies of
// both.
#pragma once

#include <map>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/sim/time.h"
#include "core/topology/network.h"

namespace trainyard::sim {

// Connection between a device and its host's memory. For a GPU it is the host's bus. A CPU computes
// in host memory, so for a CPU a copy is one read and one write of that memory.
struct HostLink {
  double bytes_per_second = 0, latency_seconds = 0;
};
HostLink host_link(const topology::Device& device, const topology::Host& host);

// Assumed disk, because drawings do not describe disks: a solid-state disk with sustained writes.
inline constexpr HostLink kDisk{1e9, 100e-6};

struct OpModel {
  plan::OpKind kind = plan::OpKind::load;
  plan::LaneId lane;
  Picoseconds takes = 0;
  // Fields of messages, set only for sends and receives.
  int channel = -1, bucket = -1, round = -1, chunk = -1;
  std::vector<int> peers;
  // Number of the lane (Wire::lane) of messages to or from the first peer, and from the others.
  int first_lane = -1;
  std::vector<int> other_lanes = {};
  int message_lane(std::size_t peer) const {
    return peer == 0 ? first_lane : other_lanes[peer - 1];
  }
  std::int64_t bytes = 0;         // size of one message, or of the buffer of an engine's collective
  std::vector<int> members = {};  // members of an engine's collective
  int element_bytes = 1;
  // For a collective that an engine such as NCCL runs: bytes that the rank sends, computed by
  // formula.
  std::int64_t engine_bytes = 0;
  // For ops that transfer only some rows of a table: bytes of a row, and maximum number of rows.
  // `bytes` is then the size of that many rows.
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
  std::int64_t memory_bytes = 0;  // size of the rank's memory with the same layout as in a real run

  int program(std::string_view name) const;  // -1 if not found
};

// Fails if a collective is neither expanded nor assigned to an engine, if a peer is not in the
// plan, or if there are more ops than the op number of an event can hold.
base::Result<RankModel> model_rank(const plan::RankPlan& rank, const plan::Plan& plan,
                                   const topology::Device& device, const HostLink& to_host,
                                   Picoseconds launch);

}  // namespace trainyard::sim
