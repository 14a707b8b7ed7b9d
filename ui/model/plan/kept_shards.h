// SPDX-License-Identifier: GPL-3.0-or-later
// Model state that a rank of fsdp keeps between steps. Pure.
#pragma once

#include <QString>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::ui {

// State that a rank keeps: shard number `part` of `parts` of each kind that is sharded, and all of
// the other kinds.
struct KeptShard {
  int part = 0, parts = 1;
  // true if this kind is sharded; moments, if there are any, are always sharded
  bool parameters = false, gradients = false;
  bool moments = true;  // true if the optimizer has moments
  bool operator==(const KeptShard&) const = default;
};

// Returns the shards by rank; empty if nothing is sharded.
std::vector<KeptShard> kept_shards(const experiment::Resolved& experiment);

QString kept_text(const KeptShard& kept);  // "keeps 1/4 of parameters, gradients and moments"

}  // namespace trainyard::ui
