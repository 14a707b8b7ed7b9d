// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/same_samples.h"

#include "core/experiment/mesh.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {

std::vector<ProgramSize> training_of(const experiment::Resolved& e, int rank) {
  const data::Shares shares = e.shares();
  std::vector<ProgramSize> list;
  for (const data::Stretch& stretch : shares.stretches())
    list.push_back({list.empty() ? "train" : plan::Schedule::tail_name(list.size() - 1), shares.samples(stretch.first_step, experiment::share_of(e, rank)),
                    shares.global_samples(stretch.first_step)});
  return list;
}

std::vector<ProgramSize> evaluation_of(const experiment::Resolved& e, int rank) {
  const std::int64_t batch = e.document.training.batch_per_rank, own = e.held_out(rank).second, all = e.data.held_out_samples;
  std::vector<ProgramSize> list;
  if (own >= batch) list.push_back({"evaluate", batch, all, own / batch});
  if (own % batch > 0) list.push_back({"evaluate_tail", own % batch, all});
  return list;
}

std::int32_t micro_batches_of(const experiment::Resolved& e, std::int64_t samples) {
  const std::int64_t batch = e.document.training.batch_per_rank;
  return static_cast<std::int32_t>((samples + batch - 1) / batch);
}

}  // namespace trainyard::strategy
