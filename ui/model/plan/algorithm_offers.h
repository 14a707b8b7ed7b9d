// SPDX-License-Identifier: GPL-3.0-or-later
// Comparison of the all-reduce algorithms for an experiment: the cost of each for the largest
// bucket, and its flows between ranks. If layers are sharded, the largest sum inside these layers
// is used instead of a bucket. Pure.
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

// Logical topology (ring, tree, torus) of a collective: bytes sent between ranks, over all rounds.
struct LogicalTopology {
  std::vector<std::string> devices = {};     // names of the participating devices, by position
  std::vector<collective::Flow> flows = {};  // between positions; empty: nothing to draw
  // True while the mouse is on the algorithm. Otherwise live data of a run hides the picture.
  bool pointed = false;

  bool operator==(const LogicalTopology&) const = default;
};

struct AlgorithmOffers {
  std::optional<base::Problem> problem = {};  // reason why no comparison is available
  int ranks = 0;                              // number of participating ranks; 0: no collective
  std::int64_t bucket_bytes = 0;              // size of the largest bucket
  bool gathers = false;                       // the collective is an all-gather: nothing is summed
  // The collective sums outputs of sharded layers (or gradients at their inputs), and no gradients
  // of weights.
  bool inside_layers = false;
  std::vector<collective::Offer> offers = {};  // empty for one rank
  collective::Choice automatic = {};           // choice of `auto`
  std::vector<std::string> devices = {};       // names of devices, by position
  std::map<collective::Algorithm, std::vector<collective::Flow>> flows =
      {};  // flows by algorithm; none for algorithms with more than kMaxArrows flows

  LogicalTopology picture(collective::Algorithm algorithm) const;
};

inline constexpr std::size_t kMaxArrows = 20'000;  // more arrows are unreadable

// Shared, because a drawing of many ranks has many flows.
using AlgorithmOffersPtr = std::shared_ptr<const AlgorithmOffers>;

// Returns the comparison for an experiment, or the reason why there is none. Soon after `stop` is
// requested, it returns a problem with code `canceled`.
AlgorithmOffersPtr compare_algorithms(const base::Result<experiment::Resolved>& experiment,
                                      const std::stop_token& stop = {});

}  // namespace trainyard::ui
