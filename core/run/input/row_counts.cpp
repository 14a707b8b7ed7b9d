// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/input/row_counts.h"

#include <algorithm>
#include <limits>
#include <map>

#include "core/run/bind/bind_named.h"
#include "core/run/input/named_rows.h"

namespace trainyard::run {
namespace {

struct Counted {
  explicit Counted(RoundInput samples) : input(std::move(samples)) {}
  RoundInput input;
  RowNames names{input};
  std::map<int, NamedRows> tables = {};  // tables by share
};

const plan::Program* turn_of(const plan::RankPlan& rank) {
  const int turn = rank.program("turn");
  return turn < 0 ? nullptr : &rank.programs[static_cast<std::size_t>(turn)];
}

}  // namespace

bool names_rows(const plan::Plan& plan) {
  const plan::RankPlan first = plan.rank_plan(0);
  const plan::Program* turn = turn_of(first);
  return turn != nullptr && std::ranges::any_of(turn->ops, &plan::Op::named);
}

RowCount row_counts(const plan::Plan& plan, const model::Model& model,
                    std::shared_ptr<const data::Dataset> dataset, const data::Sampler& sampler) {
  if (!names_rows(plan)) return {};
  const auto workers = std::make_shared<std::vector<std::unique_ptr<Counted>>>();
  for (int rank = 0; rank < plan.ranks; ++rank) {
    const plan::RankPlan worker = plan.rank_plan(rank);
    if (turn_of(worker) == nullptr) break;
    workers->push_back(std::make_unique<Counted>(
        RoundInput(dataset, sampler, rank, std::numeric_limits<std::int64_t>::max())));
    for (const plan::Op& op : turn_of(worker)->ops)
      if (op.named) workers->back()->tables[op.bucket] = table_of(op, worker, model);
  }
  return [workers](int worker, std::int64_t step, int share) {
    Counted& counted = *(*workers)[static_cast<std::size_t>(worker)];
    return std::ssize(counted.names.of(step, counted.tables.at(share)));
  };
}

}  // namespace trainyard::run
