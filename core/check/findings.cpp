// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/core.h>

#include "core/base/units.h"
#include "core/check/proofs.h"

namespace trainyard::check {
namespace {

constexpr int kMaxFindingsPerProof = 10;

std::string where(const Scope& scope, const FindingLocation& location) {
  if (location.rank < 0) return "plan";
  if (location.program.empty()) return fmt::format("rank {}", location.rank);
  const std::string text = fmt::format("rank {}, program {}", location.rank, location.program);
  if (location.op < 0) return text;
  const plan::RankPlan& rank = scope.rank(location.rank);
  const plan::Program& program =
      rank.programs[static_cast<std::size_t>(rank.program(location.program))];
  const auto op = static_cast<std::size_t>(location.op);
  return op < program.ops.size() ? fmt::format("{}, op {}", text, plan::token(program.ops[op]))
                                 : text;
}

}  // namespace

bool Findings::full(Proof proof) const {
  const auto at = counts_.find(proof);
  return at != counts_.end() && at->second >= kMaxFindingsPerProof;
}

void Findings::add(Proof proof, const FindingLocation& location, const std::string& what,
                   std::string accepted, std::string advice) {
  const bool room = !full(proof);
  ++counts_[proof];
  if (!room) return;
  base::Problem problem{fmt::format("proof_{}", name(proof)),
                        base::ProblemCode::bad_input,
                        where(scope_, location),
                        fmt::format("{}: {}", name(proof), what),
                        std::move(accepted),
                        std::move(advice)};
  const bool has_op = location.rank >= 0 && location.op >= 0;
  list_.push_back({proof, std::move(problem), location.program,
                   has_op ? std::optional(plan::Mark{location.rank, location.op}) : std::nullopt});
}

void Findings::add(Proof proof, const plan::DryRun::At& at, const std::string& what,
                   std::string accepted, std::string advice) {
  add(proof, FindingLocation{at.rank, scope_.program(at).name, scope_.run.place(at).op}, what,
      std::move(accepted), std::move(advice));
}

std::vector<Finding> Findings::take() {
  for (const auto& [proof, count] : counts_) {
    if (count <= kMaxFindingsPerProof) continue;
    for (auto last = list_.rbegin(); last != list_.rend(); ++last)
      if (last->proof == proof) {
        last->problem.what += fmt::format(
            " (and {} more {} omitted)",
            base::counted(count - kMaxFindingsPerProof, fmt::format("finding of {}", name(proof)),
                          fmt::format("findings of {}", name(proof))),
            count - kMaxFindingsPerProof == 1 ? "is" : "are");
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
