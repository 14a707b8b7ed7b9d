// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/same_samples.h"

#include "core/experiment/fsdp.h"
#include "core/experiment/mesh.h"
#include "core/experiment/synchronised.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {

std::vector<ProgramSize> training_of(const experiment::Resolved& e, int rank) {
  const data::Shares shares = e.shares();
  std::vector<ProgramSize> list;
  for (const data::Stretch& stretch : shares.stretches())
    list.push_back({list.empty() ? "train" : plan::Schedule::tail_name(list.size() - 1),
                    {shares.samples(stretch.first_step, experiment::share_of(e, rank)), experiment::most_samples(shares, stretch.first_step)},
                    shares.global_samples(stretch.first_step)});
  return list;
}

std::vector<ProgramSize> evaluation_of(const experiment::Resolved& e, int rank) {
  const std::int64_t batch = e.document.training.batch_per_rank, own = e.held_out(rank).second, all = e.data.held_out_samples;
  const experiment::HeldOutRounds rounds =
      experiment::shards_parameters(e) ? experiment::held_out_rounds(e) : experiment::HeldOutRounds{own / batch, own % batch > 0};
  const std::int64_t rest = own - rounds.whole * batch;
  std::vector<ProgramSize> list;
  if (rounds.whole > 0) list.push_back({"evaluate", {batch, batch}, all, rounds.whole});
  if (rounds.rest) list.push_back({"evaluate_tail", {rest, batch}, all});
  return list;
}

std::int32_t micro_batches_of(const experiment::Resolved& e, std::int64_t samples) {
  const std::int64_t batch = e.document.training.batch_per_rank;
  return static_cast<std::int32_t>((samples + batch - 1) / batch);
}

}  // namespace trainyard::strategy
