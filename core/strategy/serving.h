// SPDX-License-Identifier: GPL-3.0-or-later
// Common part of the plans of workers and parameter servers: the shares of the servers, the arrival
// rule, groups, and ops.
#pragma once

#include <string>
#include <vector>

#include "core/experiment/servers.h"
#include "core/strategy/edit.h"

namespace trainyard::strategy {

struct Serving {
  experiment::Resolved experiment;
  std::vector<experiment::Share> shares;
  plan::ArrivalRule rule;

  int workers() const { return experiment.workers(); }
  int servers() const { return experiment.servers; }
  std::int32_t rank_of(int server) const { return workers() + server; }
  std::int32_t group_of(std::size_t share) const {
    return servers() + static_cast<std::int32_t>(share);
  }

  const model::Segment& table_of(const experiment::Share& share) const {
    return experiment.model.segments[static_cast<std::size_t>(share.table)];
  }
  std::int64_t row_of(const experiment::Share& share) const {
    return share.table < 0 ? 1 : table_of(share).table[1];
  }
  // Returns the maximum number of rows that a round can list: no more rows than the share has, and
  // no more than the samples of the round look up.
  std::int64_t max_named(const experiment::Share& share) const;
};

// Returns the plan of a worker. In addition to a replica's buffers it has "wish" and "turn", for
// requests and work assignments (core/run/control/work_assignment.h). For each share of a table it
// has the list "rows.bN", which servers read, and "packed.bN", the listed rows of the gradient.
// "packed_rows" has the row numbers of these rows, by share.
plan::RankPlan server_worker(const Serving& serving, std::int32_t rank);
// Returns the plan of a server. Buffers: "params.v0" to "params.v2", versions of its contiguous
// shares; "grads", moments and statistics of an update. For each share of a table, the server has
// buffers with room for all workers: "wanted.bN" for row lists, and "handed.bN" for rows to send.
// With delay compensation, it also keeps a copy of the parameters that it sent to each worker.
plan::RankPlan parameter_server_rank(const Serving& serving, int server);

inline plan::LaneId add_lane(plan::RankPlan& rank, plan::LaneKind kind, std::int32_t group) {
  rank.lanes.push_back(
      {(kind == plan::LaneKind::send ? "send.g" : "recv.g") + std::to_string(group), kind, group});
  return plan::LaneId(rank.lanes.size() - 1);
}

inline plan::Op op_of(plan::OpKind kind, plan::LaneId lane, std::int32_t group, std::int32_t bucket,
                      std::int32_t peer) {
  plan::Op op;
  op.kind = kind;
  op.lane = lane;
  op.group = group;
  op.bucket = bucket;
  op.peer = peer;
  return op;
}

}  // namespace trainyard::strategy
