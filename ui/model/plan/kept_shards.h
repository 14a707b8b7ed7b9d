// SPDX-License-Identifier: GPL-3.0-or-later
// Model state that each rank of an fsdp experiment keeps between steps. Pure.
#pragma once

#include <QString>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::ui {

// Model state that a rank keeps. Of each sharded kind of state (parameters, gradients, moments), it
// keeps the shard with index `part` of `parts` shards. It keeps the other kinds in full.
struct KeptShard {
  int part = 0, parts = 1;
  // True if parameters or gradients are sharded. Moments are always sharded if there are any.
  bool parameters = false, gradients = false;
  bool moments = true;  // true if the optimizer has moments
  bool operator==(const KeptShard&) const = default;
};

// Returns the kept state of each rank. Empty if nothing is sharded.
std::vector<KeptShard> kept_shards(const experiment::Resolved& experiment);

QString kept_text(const KeptShard& kept);  // "keeps 1/4 of parameters, gradients and moments"

}  // namespace trainyard::ui
