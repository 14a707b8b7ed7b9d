// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run_overlay.h"

#include <QCoreApplication>
#include <algorithm>
#include <set>

#include "core/experiment/imposed.h"
#include "ui/model/failure.h"
#include "ui/model/fault_words.h"
#include "ui/model/recorded.h"
#include "ui/model/topology_words.h"

namespace trainyard::ui {
namespace {

using telemetry::Metric;
using telemetry::Series;

constexpr double kWindowSeconds = 1;

// The first of the last points that span a second; at least one interval, where there are two points.
std::size_t window_begin(const Series& series) {
  const std::size_t last = series.seconds.size() - 1;
  std::size_t first = last;
  while (first > 0 && series.seconds[last] - series.seconds[first] < kWindowSeconds) --first;
  return first;
}

// Growth of a total by second.
double rate_of(const Series* totals) {
  if (totals == nullptr || totals->values.size() < 2) return 0;
  const std::size_t first = window_begin(*totals);
  const double seconds = totals->seconds.back() - totals->seconds[first];
  return seconds > 0 ? (totals->values.back() - totals->values[first]) / seconds : 0;
}

double recent_sum(const Series& series, std::size_t points) {
  double sum = 0;
  for (std::size_t i = series.values.size() - std::min(points, series.values.size()); i < series.values.size(); ++i) sum += series.values[i];
  return sum;
}

// Compute time as a share of the time from step to step, what a rank is held included, over the last second; negative when it is not known.
double utilisation_of(const telemetry::History& history, int rank) {
  const Series* compute = history.find({Metric::compute_seconds, rank, 0});
  if (compute == nullptr || compute->values.size() < 2) return -1;
  const std::size_t first = window_begin(*compute);  // the step that ends there began before
  const double seconds = compute->seconds.back() - compute->seconds[first];
  return seconds > 0 ? std::clamp(recent_sum(*compute, compute->values.size() - 1 - first) / seconds, 0.0, 1.0) : -1;
}

// The pace dial lets it go no further yet. A pause is told by the rank's own state.
bool held(const session::Status& status, const session::RankStatus& rank) {
  return status.seconds_per_step > 0 && rank.state == "running" && rank.step >= status.horizon && rank.step < status.steps;
}

QString text(const char* source) { return QCoreApplication::translate("overlay", source); }

// Null where nothing is known of it.
const session::RankStatus* status_of(const session::Status* status, int rank) {
  if (status == nullptr) return nullptr;
  const auto found = std::ranges::find(status->ranks, rank, &session::RankStatus::rank);
  return found == status->ranks.end() ? nullptr : &*found;
}

// Several where they did not start. The coordinator tells it sooner than the recording, if it still answers.
std::set<int> failed_ranks(const telemetry::History& history, const session::Status* status) {
  const auto problem = status && status->problem ? status->problem : problem_of(history);
  return problem ? ranks_of(*problem) : std::set<int>();
}

// Of the last thing that befell it.
bool was_lost(const telemetry::History& history, int rank) {
  bool lost = false;
  for (const telemetry::Fault& fault : history.faults())
    if (fault.rank == rank && (fault.kind == "lost" || fault.kind == "back")) lost = fault.kind == "lost";
  return lost;
}

// The recording comes a little later than the word of the coordinator.
bool is_spared(const telemetry::History& history, int rank) {
  if (was_lost(history, rank)) return true;
  const auto experiment = recorded_experiment(history);
  return experiment && may_be_lost(*experiment, rank);
}

Absence absence_of(const telemetry::History& history, const DeviceOverlay& device, bool ended) {
  if (device.state == "stalled") return Absence::stalled;
  if (device.state == "returning") return Absence::returning;
  if (device.state != "lost") return Absence::none;
  return (ended ? was_lost(history, device.rank) : is_spared(history, device.rank)) ? Absence::lost : Absence::none;
}

// Those that were told to stop are lost too, but are not what failed; nor are those that the others did without.
void mark(DeviceOverlay& device, const telemetry::History& history, const std::set<int>& failed) {
  device.absence = failed.contains(device.rank) ? Absence::none : absence_of(history, device, !failed.empty());
  if (device.absence != Absence::none) {
    device.utilisation = -1;
    return;
  }
  device.failed = failed.empty() ? device.state == "lost" : failed.contains(device.rank);
  if (!failed.empty() && device.failed) device.state = text("failed");
  else if (!failed.empty() && device.state == "lost") device.state = text("stopped");
}

// How many steps the parameters had that were measured last; 0: none were.
qint64 measured_step(const telemetry::History& history) { return history.held_out_loss().empty() ? 0 : history.held_out_loss().back().step + 1; }

void add(LinkOverlay& link, double rate, bool forward) { (forward ? link.bytes_per_second_forward : link.bytes_per_second_backward) += rate; }

}  // namespace

RunOverlay::RunOverlay(const topology::Topology& topology) : traffic_(topology) {}

DeviceOverlay RunOverlay::device(const telemetry::History& history, const session::Status* status, int rank, bool moving) const {
  DeviceOverlay device;
  device.rank = rank;
  device.role = drawn_device(rank).role;
  const Series* steps = history.find({Metric::step_seconds, rank, 0});
  if (const Series* versions = history.find({Metric::version, rank, 0}); versions && device.role == topology::Role::parameter_server) steps = versions;
  if (steps && !steps->steps.empty()) device.step = steps->steps.back() + 1;
  if (moving) device.utilisation = utilisation_of(history, rank);
  if (const session::RankStatus* one = status_of(status, rank)) {
    device.state = held(*status, *one) ? text("held") : QString::fromStdString(one->state);
    device.step = one->step;
  }
  device.at_step =
      device.role == topology::Role::evaluator || (history.steps_apart() && (device.role == topology::Role::worker || device.role == topology::Role::chief));
  if (device.role == topology::Role::evaluator) device.step = measured_step(history);  // it does none: it waits where all may go
  return device;
}

void RunOverlay::add_traffic(Overlay& overlay, const telemetry::History& history) {
  traffic_.visit(history, [&](const telemetry::SeriesKey& sent, const std::vector<Crossing>& route) {
    const double rate = rate_of(history.find(sent));
    for (const Crossing& one : rate > 0 ? route : std::vector<Crossing>()) {
      if (one.link) add(overlay.links[*one.link], rate, one.forward);
      else add(overlay.buses[one.host], rate, true);
    }
  });
}

int RunOverlay::ranks(const telemetry::History& history) const { return std::min(history.ranks(), static_cast<int>(traffic_.ranks().size())); }

Overlay RunOverlay::failures(const telemetry::History& history) const {
  Overlay overlay;
  overlay.ended = true;
  const std::set<int> failed = failed_ranks(history, nullptr);
  for (int rank = 0; rank < ranks(history); ++rank)
    if (failed.contains(rank)) mark(overlay.devices[name_of(rank)] = device(history, nullptr, rank, false), history, failed);
  return overlay;
}

Overlay RunOverlay::overlay(const telemetry::History& history, const session::Status* status, bool moving) {
  Overlay overlay;
  const experiment::RunSpec run = recorded_run(history);
  overlay.link_speeds = QString::fromStdString(experiment::link_speeds_said(run));
  const std::set<int> failed = failed_ranks(history, status);
  for (int rank = 0; rank < ranks(history); ++rank) {
    DeviceOverlay& shown = overlay.devices[name_of(rank)] = device(history, status, rank, moving);
    mark(shown, history, failed);
    if (const session::RankStatus* one = status_of(status, rank))
      shown.imposed = imposed_marks(one->slow_down, one->jitter, run.devices == experiment::DeviceSpeed::paced);
  }
  if (moving) add_traffic(overlay, history);
  if (status != nullptr && failed.empty())
    for (const session::LinkPart& harmed : status->links)
      if (const auto& drawn = traffic_.topology().links; harmed.link >= 0 && static_cast<std::size_t>(harmed.link) < drawn.size()) {
        const LinkName name{drawn[static_cast<std::size_t>(harmed.link)].from, drawn[static_cast<std::size_t>(harmed.link)].to};
        overlay.link_parts[name] = harmed.part;
        if (harmed.part == 0) overlay.links.erase(name);  // what crossed it last crosses no more
      }
  return overlay;
}

Overlay RunOverlay::on(const topology::Topology& drawing, Overlay measured, bool as_drawn) const {
  measured.as_drawn = as_drawn;
  std::map<std::string, DeviceOverlay> kept;
  for (const topology::Host& host : drawing.hosts)
    for (const topology::Device& device : host.devices)
      if (const auto at = measured.devices.find(device.name);
          at != measured.devices.end() && drawn_device(at->second.rank).kind == device.kind && topology::runs(device))
        kept.insert(*at);
  measured.devices = std::move(kept);
  return measured;
}

}  // namespace trainyard::ui
