// SPDX-License-Identifier: GPL-3.0-or-later
// X axis of simulated time. A run is simulated in the background when the user first selects this
// axis. The run's points are not shown until its simulation is complete.
#include <QApplication>
#include <QComboBox>
#include <QThreadPool>
#include <algorithm>

#include "core/base/fields.h"
#include "ui/charts/run_charts.h"

namespace trainyard::ui {

void RunCharts::request_simulation(Shown& shown) {
  shown.progress.request_simulation(axis_->currentIndex() == static_cast<int>(XAxis::simulated));
  if (shown.progress.lacks_simulated())
    restart_lines(shown, {std::begin(kChartKinds), std::end(kChartKinds)});
}

// Starts the simulation, once, as soon as the recording contains the experiment.
void RunCharts::simulate(Shown& shown) {
  if (shown.simulation_requested) return;
  const auto recorded = base::value_at(shown.run->history().header(), "experiment");
  if (!recorded) return;
  shown.simulation_requested = true;
  QThreadPool::globalInstance()->start([charts = QPointer<RunCharts>(this), run = shown.run,
                                        recorded = *recorded,
                                        stop = no_longer_simulated_.get_token()] {
    const auto time = simulated_time(recorded, stop);
    if (stop.stop_requested()) return;
    QMetaObject::invokeMethod(qApp, [charts, run, time] {
      if (charts && run) charts->take_simulated(run, time);
    });
  });
}

void RunCharts::take_simulated(const Run* run, const base::Result<SimulatedTime>& time) {
  for (const auto& shown : runs_) {
    if (shown->run != run) continue;
    if (time) shown->progress.set_simulated(*time);
    else shown->not_simulated = QString::fromStdString(time.error().what);
  }
  request_read();
}

// Returns the reason why simulated time cannot be shown. Empty if simulated time is not requested,
// or if it is available.
QString RunCharts::why_not_simulated() const {
  const auto lacking = std::ranges::find_if(
      runs_, [](const auto& shown) { return shown->progress.lacks_simulated(); });
  if (lacking == runs_.end()) return {};
  return (*lacking)->not_simulated.isEmpty()
             ? tr("Simulating the run at the drawn speeds")
             : tr("No simulated time: %1").arg((*lacking)->not_simulated);
}

}  // namespace trainyard::ui
