// SPDX-License-Identifier: GPL-3.0-or-later
// What a rank of fsdp keeps of the model's state between steps. Pure.
#pragma once

#include <QString>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::ui {

// Of what is shared out, part `part` of so many, of everything else all.
struct KeptShard {
  int part = 0, parts = 1;
  bool parameters = false, gradients = false;  // are shared out; moments are, where there are any
  bool moments = true;                         // the optimizer has some
  bool operator==(const KeptShard&) const = default;
};

// By rank; none where nothing is shared out.
std::vector<KeptShard> kept_shards(const experiment::Resolved& experiment);

QString kept_words(const KeptShard& kept);  // "keeps 1/4 of parameters, gradients and moments"

}  // namespace trainyard::ui
