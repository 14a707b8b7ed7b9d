// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/interpreter/chains.h"

#include <algorithm>

namespace trainyard::run {
namespace {

using plan::OpKind;

std::vector<std::size_t> ops_on(const plan::Program& program, plan::LaneId lane) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < program.ops.size(); ++i)
    if (program.ops[i].lane == lane) all.push_back(i);
  return all;
}

// True if the op waits for ops of other lanes. Dependencies on its own lane are satisfied by the
// order of the lane.
bool depends_on_peers(const plan::Op& op) {
  return std::ranges::any_of(op.after,
                             [&](const plan::Dependency& one) { return one.lane != op.lane; });
}

}  // namespace

bool needs_host(const BoundOp& op) {
  return op.kind == OpKind::pack || op.kind == OpKind::rate || op.weighed;
}
bool leaves_loss(const BoundOp& op) { return op.leaves_loss || op.kind == OpKind::loss; }

std::vector<Links> links_of(const plan::Program& program, const BoundProgram& bound,
                            plan::LaneId lane, std::size_t most) {
  const std::vector<std::size_t> ops = ops_on(program, lane);
  std::vector<Links> all;
  Links open;
  bool has_loss = false;
  const auto close = [&](std::size_t next) {
    if (open.count > 1) all.push_back(open);
    open = {next, 0}, has_loss = false;
  };
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const BoundOp& op = bound.ops[ops[i]];
    if (open.count == most || depends_on_peers(program.ops[ops[i]]) || needs_host(op) ||
        (has_loss && leaves_loss(op)))
      close(i);
    if (needs_host(op)) close(i + 1);
    else ++open.count, has_loss |= leaves_loss(op);
  }
  close(ops.size());
  return all;
}

Chains::Chains(const plan::RankPlan& plan, const BoundPlan& bound, plan::LaneId lane,
               compute::Compute& compute, std::size_t most) {
  for (std::size_t p = 0; p < plan.programs.size(); ++p) {
    const plan::Program& program = plan.programs[p];
    const std::vector<std::size_t> ops = ops_on(program, lane);
    auto& of_op = of_op_.emplace_back(program.ops.size());
    for (const Links& links : links_of(program, bound.programs[p], lane, most)) {
      auto chain = std::make_unique<Chain>();
      std::vector<std::vector<compute::Kernel*>> kernels;
      for (std::size_t i = links.first; i < links.first + links.count; ++i) {
        chain->ops.push_back(&bound.programs[p].ops[ops[i]]);
        auto& of_one = kernels.emplace_back();
        for (const auto& kernel : chain->ops.back()->kernels) of_one.push_back(kernel.get());
      }
      chain->given = compute.chain(std::move(kernels));
      if (chain->given) of_op[ops[links.first]] = std::move(chain);
    }
  }
}

}  // namespace trainyard::run
