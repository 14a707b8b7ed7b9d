// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/verdict.h"

#include <QCoreApplication>

#include "core/sim/verdict.h"
#include "core/strategy/strategy.h"

namespace trainyard::ui {
namespace {

constexpr std::int64_t kSteps = 3;  // the first fills the pipeline

}  // namespace

base::Result<QString> verdict_of(const experiment::Resolved& experiment, const plan::Plan& expanded) {
  const auto alone = strategy::make_plan(experiment::on_one_device(experiment));
  if (!alone) return base::fail(alone.error());
  sim::Options options;
  options.steps = kSteps;
  return sim::judge(expanded, *alone, topology::Network(experiment.document.topology), options).map([](const sim::Verdict& verdict) {
    return QCoreApplication::translate("verdict", "As drawn: %1.").arg(QString::fromStdString(verdict.sentence));
  });
}

}  // namespace trainyard::ui
