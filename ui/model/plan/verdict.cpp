// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/plan/verdict.h"

#include <QCoreApplication>

#include "core/base/machine.h"
#include "core/base/units.h"
#include "core/experiment/imposed.h"
#include "core/experiment/placement.h"
#include "core/session/advice/simulation_options.h"
#include "core/strategy/strategy.h"

namespace trainyard::ui {
namespace {

// Number of steps to simulate. It is above 1, because the first step also fills the pipeline.
constexpr std::int64_t kSimulatedSteps = 3;

}  // namespace

base::Result<sim::Verdict> simulate_verdict(const experiment::Resolved& experiment,
                                            const plan::Plan& expanded, const sim::Watch& watch) {
  const experiment::Resolved one_device = experiment::on_one_device(experiment);
  const auto alone = strategy::make_plan(one_device);
  if (!alone) return base::fail(alone.error());
  auto options = session::simulation_options(experiment, expanded);
  if (!options) return base::fail(options.error());
  options->steps = kSimulatedSteps;
  options->watch = watch;
  const topology::Network network(experiment::as_imposed(experiment.document)),
      of_one(experiment::as_imposed(one_device.document));
  return sim::judge(expanded, network, *alone, of_one, *options);
}

base::Result<session::StepCost> cost_of_step(const experiment::Resolved& experiment,
                                             std::stop_token stop) {
  const auto plan = strategy::make_plan(experiment);
  if (!plan) return base::fail(plan.error());
  auto options = session::simulation_options(experiment, *plan);
  if (!options) return base::fail(options.error());
  options->steps = kSimulatedSteps;
  options->watch.stop = std::move(stop);
  return sim::simulate(*plan, topology::Network(experiment::as_imposed(experiment.document)),
                       *options)
      .map([](const sim::Outcome& outcome) {
        return session::StepCost{outcome.median_step_seconds,
                                 outcome.engine.empty() ? outcome.step_wire_bytes() : -1};
      });
}

QString simulation_progress_text(double fraction, double elapsed_seconds) {
  const int percent = static_cast<int>(100 * fraction);
  const auto left = sim::remaining_seconds(fraction, elapsed_seconds);
  return left ? QCoreApplication::translate("verdict", "Simulating: %1 %, about %2 left.")
                    .arg(percent)
                    .arg(QString::fromStdString(base::format_seconds(*left)))
              : QCoreApplication::translate("verdict", "Simulating: %1 %.").arg(percent);
}

base::Result<QString> verdict_of(const experiment::Resolved& experiment, const plan::Plan& expanded,
                                 const sim::Watch& watch) {
  return simulate_verdict(experiment, expanded, watch).map([&](const sim::Verdict& verdict) {
    const experiment::RunSpec& run = experiment.document.run;
    const bool scaled = run.links == experiment::LinkSpeed::imposed && run.link_scale != 1;
    const QString drawn_as =
        scaled ? QCoreApplication::translate("verdict", "With links %1")
                     .arg(QString::fromStdString(experiment::link_speeds_line(run)))
               : QCoreApplication::translate("verdict", "As drawn");
    QString trains_drawing =
        QStringLiteral("%1: %2.").arg(drawn_as, QString::fromStdString(verdict.sentence));
    const auto shared =
        experiment::shared_cores_caveat(experiment.document.topology, run, base::usable_cores());
    if (!shared) return trains_drawing;
    return trains_drawing + " " +
           QCoreApplication::translate("verdict", "In a real run on this machine, %1.")
               .arg(QString::fromStdString(*shared));
  });
}

}  // namespace trainyard::ui
