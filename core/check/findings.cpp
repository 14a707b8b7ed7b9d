// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/core.h>

#include "core/base/units.h"
#include "core/check/proofs.h"

namespace trainyard::check {
namespace {

constexpr int kMostOfAProof = 10;

std::string where(const Scope& scope, const Spot& spot) {
  if (spot.rank < 0) return "plan";
  if (spot.program.empty()) return fmt::format("rank {}", spot.rank);
  const std::string text = fmt::format("rank {}, program {}", spot.rank, spot.program);
  if (spot.op < 0) return text;
  const plan::RankPlan& rank = scope.rank(spot.rank);
  const plan::Program& program =
      rank.programs[static_cast<std::size_t>(rank.program(spot.program))];
  const auto op = static_cast<std::size_t>(spot.op);
  return op < program.ops.size() ? fmt::format("{}, op {}", text, plan::token(program.ops[op]))
                                 : text;
}

}  // namespace

bool Findings::full(Proof proof) const {
  const auto at = counts_.find(proof);
  return at != counts_.end() && at->second >= kMostOfAProof;
}

void Findings::add(Proof proof, const Spot& spot, const std::string& what, std::string accepted,
                   std::string advice) {
  const bool room = !full(proof);
  ++counts_[proof];
  if (!room) return;
  base::Problem problem{
      fmt::format("proof_{}", name(proof)),     base::ProblemCode::bad_input, where(scope_, spot),
      fmt::format("{}: {}", name(proof), what), std::move(accepted),          std::move(advice)};
  const bool has_op = spot.rank >= 0 && spot.op >= 0;
  list_.push_back({proof, std::move(problem), spot.program,
                   has_op ? std::optional(plan::Mark{spot.rank, spot.op}) : std::nullopt});
}

void Findings::add(Proof proof, const plan::Rehearsal::At& at, const std::string& what,
                   std::string accepted, std::string advice) {
  add(proof, Spot{at.rank, scope_.program(at).name, scope_.run.place(at).op}, what,
      std::move(accepted), std::move(advice));
}

std::vector<Finding> Findings::take() {
  for (const auto& [proof, count] : counts_) {
    if (count <= kMostOfAProof) continue;
    for (auto last = list_.rbegin(); last != list_.rend(); ++last)
      if (last->proof == proof) {
        last->problem.what += fmt::format(
            " (and {} more {} omitted)",
            base::counted(count - kMostOfAProof, fmt::format("finding of {}", name(proof)),
                          fmt::format("findings of {}", name(proof))),
            count - kMostOfAProof == 1 ? "is" : "are");
        break;
      }
  }
  return std::move(list_);
}

std::vector<std::int32_t> first_instances(const Scope& scope, const std::string& program) {
  std::vector<std::int32_t> list;
  for (std::size_t r = 0; r < scope.ranks.size(); ++r) {
    const auto& instances = scope.run.instances[r];
    const auto at = std::find(instances.begin(), instances.end(), scope.ranks[r].program(program));
    list.push_back(at == instances.end() ? -1 : static_cast<std::int32_t>(at - instances.begin()));
  }
  return list;
}

std::string range_text(const plan::RankPlan& rank, const plan::Access& access) {
  return fmt::format("{}[{}:{}]", rank.buffers[access.buffer.index()].name, access.first,
                     access.first + access.count);
}

std::int64_t bytes_of(const plan::RankPlan& rank, const std::vector<plan::Access>& accesses) {
  std::int64_t bytes = 0;
  for (const plan::Access& access : accesses)
    bytes += access.count * base::size_of(rank.buffers[access.buffer.index()].dtype);
  return bytes;
}

}  // namespace trainyard::check
