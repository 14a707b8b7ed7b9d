// SPDX-License-Identifier: GPL-3.0-or-later
// Measures of how ranks use the times in a set T, such as a part of a timeline. They are computed
// from recorded ops. |X| is the total length of a set of times X.
//
//   compute         C = times in T at which an op of the compute lane ran
//   communication   M = times in T at which a send or receive was posted and not done
//   efficiency      |C| / |T|. The mean over n ranks is the scaling efficiency T1 / (n * Tn). This
//                   assumes that a step on one device takes as long as the compute of all ranks
//                   together: T1 = sum over ranks of |C|
//   overlap         |M and C| / |M|: fraction of communication hidden behind compute.
//                   Waiting for a peer counts as communication, as in "communication
//                   computation overlap" of Holistic Trace Analysis (Meta, 2023)
//   waiting         times in T at which a receive of any group was posted and no data for it
//                   had arrived
#pragma once

#include <optional>
#include <vector>

#include "ui/model/spans/span_store.h"

namespace trainyard::ui {

using Times = std::vector<TimeRange>;  // disjoint, in order

struct RankFigures {
  Nanoseconds looked_at = 0, compute = 0, communication = 0, hidden = 0, waiting = 0;
  // False if an engine such as NCCL executes the collectives, because an engine does not report
  // waiting.
  bool waiting_known = true;
  double efficiency() const;              // compute efficiency; 0 if T is empty
  std::optional<double> overlap() const;  // nothing if there was no communication
  double share_of_communication() const;  // |M| / |T|
  double share_of_waiting() const;
};

// Returns the measures of one rank within the times `looked_at`, which are the set T.
RankFigures figures_of(const SpanStore& store, int rank, const Times& looked_at);

// Measures of all ranks. Each is the mean of the ranks' fractions, except for `overlap`: it is
// computed from the sums of all ranks' communication.
struct TimelineFigures {
  int ranks = 0;
  double efficiency = 0, communication = 0;
  std::optional<double> waiting;  // nothing if it is unknown for a rank
  int least_efficient = -1;       // rank with the lowest efficiency
  double min_efficiency = 0;
  std::optional<double> overlap;
};
TimelineFigures average_over_ranks(const std::vector<RankFigures>& ranks);

}  // namespace trainyard::ui
