// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/tpu.h"

#include <fmt/core.h>

#include "core/base/units.h"
#include "core/collective/formation.h"
#include "core/experiment/fields.h"
#include "core/experiment/rank_duties.h"

namespace trainyard::experiment {
namespace {

using base::Problem;
using base::ProblemCode;
using base::Problems;
using collective::Algorithm;

std::string describe(const topology::Device& device) {
  return fmt::format("{} ({})", device.name, base::name_of(device.kind));
}

Problem not_all_tpus(const topology::Device& first, std::int64_t others) {
  const std::string more =
      others == 0 ? " is not a TPU"
                  : fmt::format(" and {} are not TPUs", base::counted(others, "other"));
  return {"workers_not_tpus",
          ProblemCode::bad_input,
          "strategy.kind",
          fmt::format("tpu needs TPUs, but {}{}", describe(first), more),
          "only workers of kind tpu",
          "Drag TPUs from the palette onto the host and set the other devices idle. Or set the "
          "kind of the other devices to tpu, which is emulated. Or set strategy.kind to mirrored "
          "and training.multiplies to bfloat16."};
}

Problem not_the_torus(Algorithm algorithm, std::string_view reason) {
  return {"algorithm_not_torus",
          ProblemCode::bad_input,
          "strategy.algorithm",
          fmt::format("tpu does not support {}: {}", base::name_of(algorithm), reason),
          "torus, auto",
          "Set strategy.algorithm to torus, or strategy.kind to mirrored."};
}

Problem not_our_engine(Engine engine) {
  return {"engine_lacks_operation",
          ProblemCode::bad_input,
          "strategy.engine",
          fmt::format(
              "{} chooses its own algorithm, but tpu reduces along the rows and columns of a torus",
              base::name_of(engine)),
          "own",
          "Set strategy.engine to own, or strategy.kind to mirrored."};
}

}  // namespace

Problems non_tpu_problems(const topology::Topology& topology) {
  const topology::Device* first = nullptr;
  std::int64_t count = 0;
  for (const topology::Host& host : topology.hosts)
    for (const topology::Device& device : host.devices) {
      if (!topology::works(device) || device.kind == topology::DeviceKind::tpu) continue;
      if (count++ == 0) first = &device;
    }
  return first == nullptr ? Problems{} : Problems{not_all_tpus(*first, count - 1)};
}

Problems torus_problems(const StrategySpec& strategy) {
  const auto only = required_all_reduce(strategy.kind);
  if (!only) return {};
  Problems problems;
  if (strategy.engine != Engine::own) problems.push_back(not_our_engine(strategy.engine));
  if (strategy.algorithm != only->algorithm && strategy.algorithm != Algorithm::automatic)
    problems.push_back(not_the_torus(strategy.algorithm, only->reason));
  return problems;
}

std::string torus_text(const std::vector<int>& hosts) {
  const collective::Formation formation = collective::formation(hosts);
  const std::string columns = base::format_count(formation.columns);
  if (formation.rows() == 1)
    return fmt::format(
        "torus: tpu reduces gradients along the row of a 1 x {} torus, which is a "
        "ring",
        columns);
  return fmt::format("torus: tpu reduces gradients along the rows and columns of a {} x {} torus",
                     base::format_count(formation.rows()), columns);
}

}  // namespace trainyard::experiment
