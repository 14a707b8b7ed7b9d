// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/bind/loaded_samples.h"

#include <algorithm>

#include "core/plan/buffer_names.h"

namespace trainyard::run {
namespace {

// Returns the access in which the load op writes `buffer`; null if it does not write this buffer.
const plan::Access* written(const plan::RankPlan& rank, const plan::Op& load,
                            std::string_view buffer) {
  const auto at = std::ranges::find_if(load.writes, [&](const plan::Access& access) {
    return plan::base_name(rank.buffers[access.buffer.index()].name) == buffer;
  });
  return at == load.writes.end() ? nullptr : &*at;
}

}  // namespace

std::int64_t loaded_samples(const plan::RankPlan& rank, const plan::Op& load,
                            const model::Model& model) {
  if (const auto* labels = written(rank, load, "labels")) return labels->count / model.labels();
  if (const auto* input = written(rank, load, "input")) return input->count / model.features;
  const auto* numbers = written(rank, load, "sample_numbers");
  return numbers != nullptr ? numbers->count : 0;
}

std::int64_t micro_step_samples(const plan::RankPlan& rank, const model::Model& model) {
  std::int64_t most = 1;
  for (const plan::Program& program : rank.programs)
    for (const plan::Op& op : program.ops)
      if (op.kind == plan::OpKind::load) most = std::max(most, loaded_samples(rank, op, model));
  return most;
}

}  // namespace trainyard::run
