// SPDX-License-Identifier: GPL-3.0-or-later
// Comparison of the all-reduce algorithms for an experiment: the cost of each algorithm for the
// largest bucket, and the algorithm's flows between ranks. If layers are sharded, the largest
// all-reduce inside these layers is used instead of a bucket. Pure.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/collective/cost.h"
#include "core/experiment/resolve.h"

namespace trainyard::ui {

// Logical topology of a collective, such as a ring, tree or torus: the bytes that each rank sends
// to each other rank, over all rounds.
struct LogicalTopology {
  std::vector<std::string> devices = {};  // names of the participating devices, by position
  std::vector<collective::Flow> flows =
      {};  // flows between positions in `devices`; empty: nothing to draw
  // True while the mouse is on an algorithm in the table of algorithms. If it is false, live data
  // of a run hides the logical topology.
  bool pointed = false;

  bool operator==(const LogicalTopology&) const = default;
};

struct AlgorithmOffers {
  std::optional<base::Problem> problem = {};  // reason why no comparison is available
  int ranks = 0;                              // number of participating ranks; 0: no collective
  std::int64_t bucket_bytes = 0;              // size of the largest bucket
  bool gathers = false;  // true if the collective is an all-gather, which sums nothing
  // True if the collective is inside sharded layers: it sums their outputs, or the gradients at
  // their inputs, instead of gradients of weights.
  bool inside_layers = false;
  std::vector<collective::Offer> offers = {};  // by algorithm; empty for one rank
  collective::Choice automatic = {};           // choice of `auto`
  std::vector<std::string> devices = {};       // names of devices, by position
  std::map<collective::Algorithm, std::vector<collective::Flow>> flows =
      {};  // flows by algorithm; none for algorithms with more than kMaxArrows flows

  LogicalTopology picture(collective::Algorithm algorithm) const;
};

inline constexpr std::size_t kMaxArrows = 20'000;  // maximum number; more arrows are unreadable

// Comparison that several views share instead of copying it, because traffic between many ranks
// takes much memory.
using AlgorithmOffersPtr = std::shared_ptr<const AlgorithmOffers>;

// Returns the comparison for an experiment, or the reason why there is none. If `stop` is
// requested, soon returns a problem with code `canceled`.
AlgorithmOffersPtr compare_algorithms(const base::Result<experiment::Resolved>& experiment,
                                      const std::stop_token& stop = {});

}  // namespace trainyard::ui
