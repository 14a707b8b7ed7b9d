// SPDX-License-Identifier: GPL-3.0-or-later
// Where the time of ranks went, over any times, from the ops they recorded. |X| is the length of a
// set of times, T those looked at.
//
//   compute         C = the times in T at which an op of the compute lane ran
//   communication   M = the times in T at which a send or a receive was under way: posted, and not done
//   efficiency      |C| / |T|. Its mean over ranks is the scaling efficiency if one device took for a step just the compute of all
//                   ranks together: T1 / (n Tn) with T1 = sum over ranks of |C|
//   overlap         |M and C| / |M|: the part of communication that hides behind compute. As "communication computation overlap" of
//                   Holistic Trace Analysis (Meta, 2023) has it, waiting for a peer is communication too
//   waiting         times in T at which a receive was posted and nothing it could take was there; summed over groups
#pragma once

#include <optional>
#include <vector>

#include "ui/model/span_store.h"

namespace trainyard::ui {

using Times = std::vector<TimeRange>;  // apart from each other, in order

struct RankFigures {
  Nanoseconds looked_at = 0, compute = 0, communication = 0, hidden = 0, waiting = 0;
  bool waiting_known = true;              // not of collectives that an engine took whole
  double efficiency() const;              // of compute; 0 where nothing is looked at
  std::optional<double> overlap() const;  // nothing where nothing was sent
  double share_of_communication() const;  // |M| / |T|
  double share_of_waiting() const;
};

// What of one rank's ops lies in `looked_at`.
RankFigures figures_of(const SpanStore& store, int rank, const Times& looked_at);

// Over all ranks: means of the shares; overlap is of all communication together.
struct TimelineFigures {
  int ranks = 0;
  double efficiency = 0, communication = 0;
  std::optional<double> waiting;  // nothing where a rank does not know it
  int least_efficient = -1;       // the rank
  double least_efficiency = 0;
  std::optional<double> overlap;
};
TimelineFigures over_ranks(const std::vector<RankFigures>& ranks);

}  // namespace trainyard::ui
