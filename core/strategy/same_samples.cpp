// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/same_samples.h"

#include "core/plan/plan.h"

namespace trainyard::strategy {

std::vector<ProgramSize> training_of(const experiment::Resolved& e) {
  const data::Shares shares = e.shares();
  std::vector<ProgramSize> list;
  for (const data::Stretch& stretch : shares.stretches())
    list.push_back({list.empty() ? "train" : plan::Schedule::tail_name(list.size() - 1), shares.global_samples(stretch.first_step)});
  return list;
}

std::vector<ProgramSize> evaluation_of(const experiment::Resolved& e) {
  const std::int64_t batch = e.document.training.batch_per_rank, held_out = e.data.held_out_samples;
  std::vector<ProgramSize> list;
  if (held_out >= batch) list.push_back({"evaluate", batch, held_out / batch});
  if (held_out % batch > 0) list.push_back({"evaluate_tail", held_out % batch});
  return list;
}

std::int32_t micro_batches_of(const experiment::Resolved& e, std::int64_t samples) {
  const std::int64_t batch = e.document.training.batch_per_rank;
  return static_cast<std::int32_t>((samples + batch - 1) / batch);
}

}  // namespace trainyard::strategy
