// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/verdict.h"

#include <QCoreApplication>

#include "core/sim/verdict.h"
#include "core/strategy/strategy.h"

namespace trainyard::ui {
namespace {

constexpr std::int64_t kSteps = 3;  // the first fills the pipeline

// The same training on one device: the same global batch, so that both learn the same.
experiment::Resolved on_one_device(experiment::Resolved experiment) {
  experiment.document.strategy.kind = experiment::StrategyKind::one_device;
  experiment.document.training.batch_per_rank = experiment.global_batch;
  experiment.ranks.resize(1);
  experiment.hosts.resize(1);
  return experiment;
}

}  // namespace

base::Result<QString> verdict_of(const experiment::Resolved& experiment, const plan::Plan& expanded) {
  const auto alone = strategy::make_plan(on_one_device(experiment));
  if (!alone) return base::fail(alone.error());
  sim::Options options;
  options.steps = kSteps;
  return sim::judge(expanded, *alone, topology::Network(experiment.document.topology), options).map([](const sim::Verdict& verdict) {
    return QCoreApplication::translate("verdict", "As drawn: %1.").arg(QString::fromStdString(verdict.sentence));
  });
}

}  // namespace trainyard::ui
