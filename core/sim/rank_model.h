// SPDX-License-Identifier: GPL-3.0-or-later
// A rank's plan cut down to what the clock needs: how long each op keeps the device, and what it
// sends to whom.
//
// An op takes the longer of its arithmetic, flops / peak speed, and its memory traffic, the bytes
// it reads and writes / memory bandwidth: the roofline (Williams, Waterman and Patterson 2009).
// Input and compute ops also take the launch cost. A receive reads what arrived and reads and
// writes its chunk; a send keeps the device for no time, nor does a collective that an engine takes
// whole. Compute ops of a straggler take its slow-down times longer, and the mean of its jitter.
// What is put aside, or comes back, crosses to the host, and to the disk besides where it goes
// there: the slower of the two, and the latencies of both.
#pragma once

#include <map>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/sim/time.h"
#include "core/topology/network.h"

namespace trainyard::sim {

// Between a device and the memory of its host: the host's bus; of a CPU, whose memory that is, one
// read and one write there.
struct HostLink {
  double bytes_per_second = 0, latency_seconds = 0;
};
HostLink host_link(const topology::Device& device, const topology::Host& host);

// Drawings say nothing of disks: about what a solid-state disk does, whose writes do not only go to
// its cache.
inline constexpr HostLink kDisk{1e9, 100e-6};

struct OpModel {
  plan::OpKind kind = plan::OpKind::load;
  plan::LaneId lane;
  Picoseconds takes = 0;
  // Sends and receives.
  int channel = -1, bucket = -1, round = -1, chunk = -1;
  std::vector<int> peers;
  std::int64_t bytes = 0;         // of one message, or of a whole collective's buffer
  std::vector<int> members = {};  // of a whole collective, as is:
  int element_bytes = 1;
  std::int64_t engine_bytes = 0;              // sent for it, by formula
  std::int64_t row_bytes = 0, most_rows = 0;  // of what carries named rows of a table: of one, and
                                              // how many that are at most. `bytes` are those of all
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
  std::int64_t memory_bytes = 0;  // arenas, by the layout that real ranks use

  int program(std::string_view name) const;  // -1 when there is none
};

// Refuses a collective that is neither expanded nor handed to an engine, a peer that the plan does
// not have, and more ops than an event can name.
base::Result<RankModel> model_rank(const plan::RankPlan& rank, const plan::Plan& plan,
                                   const topology::Device& device, const HostLink& to_host,
                                   Picoseconds launch);

}  // namespace trainyard::sim
