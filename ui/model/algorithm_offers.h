// SPDX-License-Identifier: GPL-3.0-or-later
// The all-reduce algorithms of an experiment beside each other: what each costs for the largest
// bucket on the drawing, or the most that is summed inside of layers, and who sends to whom in it.
// Pure.
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

// The logical ring, tree or torus: who sends how many bytes to whom, over all rounds.
struct LogicalPicture {
  std::vector<std::string> devices = {};     // of those who reduce: position -> name
  std::vector<collective::Flow> flows = {};  // between positions; none: there is nothing to draw
  bool pointed = false;  // somebody looks at it now; else it is kept beside other things

  bool operator==(const LogicalPicture&) const = default;
};

struct AlgorithmOffers {
  std::optional<base::Problem> problem = {};  // why nothing can be said
  int ranks = 0;                              // that reduce it; none where nothing is
  std::int64_t bucket_bytes = 0;              // of the largest one
  bool gathers = false;                       // nothing is added up on the way
  bool inside_layers = false;  // outputs of layers in parts are summed, or gradients at their
                               // inputs; else those of weights
  std::vector<collective::Offer> offers = {};  // none for one rank
  collective::Choice automatic = {};           // what `auto` is
  std::vector<std::string> devices = {};       // position -> name
  std::map<collective::Algorithm, std::vector<collective::Flow>> flows =
      {};  // without those of more than kMostArrows

  LogicalPicture picture(collective::Algorithm algorithm) const;
};

inline constexpr std::size_t kMostArrows = 20'000;  // more are a blot

// Shared, as a drawing of many ranks has many flows.
using KnownOffers = std::shared_ptr<const AlgorithmOffers>;

// Of an experiment, or why there is none. `problem` has the code `cancelled` soon after it is asked
// to stop.
KnownOffers known_offers(const base::Result<experiment::Resolved>& experiment,
                         const std::stop_token& stop = {});

}  // namespace trainyard::ui
