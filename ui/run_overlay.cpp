// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run_overlay.h"

#include <QCoreApplication>
#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <set>

#include "core/experiment/imposed.h"
#include "ui/model/runs/failure.h"
#include "ui/model/runs/recorded_run.h"
#include "ui/model/text/fault_text.h"
#include "ui/model/topology/topology_text.h"

namespace trainyard::ui {
namespace {

using telemetry::Metric;
using telemetry::Series;

constexpr double kWindowSeconds = 1;
// Number of intervals without a point after which a series counts as ended. The interval is that of
// its last two points.
constexpr double kMissed = 2;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The most recent points of a series, by index, and the time between the first and the last. They
// cover at least one second.
struct Recent {
  std::size_t first, last;
  double seconds;
};

// Returns the recent points of a series. Returns nullopt if it has fewer than two points, or if it
// has ended: its last point is older than 1 s and than twice the time between its last two points.
std::optional<Recent> recent(const Series* series, double now) {
  if (series == nullptr || series->seconds.size() < 2) return {};
  const std::vector<double>& at = series->seconds;
  Recent found{at.size() - 2, at.size() - 1, 0};
  if (now - at.back() > std::max(kWindowSeconds, kMissed * (at.back() - at[found.first])))
    return {};
  while (found.first > 0 && at.back() - at[found.first] < kWindowSeconds) --found.first;
  found.seconds = at.back() - at[found.first];
  return found.seconds > 0 ? std::optional(found) : std::nullopt;
}

// Rate in bytes per second at which one rank sends to another, in total and by payload kind.
struct PairRate {
  double total = 0;
  std::map<PayloadKind, double> payload = {};
};
PairRate rate_of(const telemetry::History& history, const telemetry::SeriesKey& sent, double now,
                 const TrafficMeter* payload) {
  const Series* totals = history.find(sent);
  const auto span = recent(totals, now);
  if (!span) return {};
  PairRate rate{(totals->values[span->last] - totals->values[span->first]) / span->seconds};
  if (payload != nullptr)
    rate.payload = payload->sent(sent.rank, sent.index, totals->seconds[span->first],
                                 totals->seconds[span->last]);
  for (auto& [kind, bytes] : rate.payload) bytes /= span->seconds;
  return rate;
}

// Returns the fraction of the time of recent steps in which the rank computed; negative if unknown.
// The time includes delays of a slowed or paced rank.
double utilization_of(const telemetry::History& history, int rank, double now) {
  const Series* compute = history.find({Metric::compute_seconds, rank, 0});
  const auto span = recent(compute, now);
  if (!span) return -1;
  const auto at = [&](std::size_t point) {
    return compute->values.begin() + static_cast<std::ptrdiff_t>(point);
  };
  // Excludes the step that ends at the first point, because it began before the time span.
  const double computed = std::accumulate(at(span->first) + 1, compute->values.end(), 0.0);
  return std::clamp(computed / span->seconds, 0.0, 1.0);
}

// True if the rank waits because of the pace (run.seconds_per_step). This excludes a paused rank,
// whose state is "paused".
bool held(const session::Status& status, const session::RankStatus& rank) {
  return status.seconds_per_step > 0 && rank.state == "running" && rank.step >= status.horizon &&
         rank.step < status.steps;
}

QString overlay_text(const char* source) { return QCoreApplication::translate("overlay", source); }

// Returns the coordinator's status of a rank; null if the rank is unknown.
const session::RankStatus* status_of(const session::Status* status, int rank) {
  if (status == nullptr) return nullptr;
  const auto found = std::ranges::find(status->ranks, rank, &session::RankStatus::rank);
  return found == status->ranks.end() ? nullptr : &*found;
}

// True if the rank neither sends nor receives.
bool is_absent(const session::RankStatus* rank) {
  return rank != nullptr && (rank->state == "lost" || rank->state == "returning");
}

// Returns the ranks whose failure ended the run. There are several if they failed to start. A live
// coordinator reports the failure before the recording contains it.
std::set<int> failed_ranks(const telemetry::History& history, const session::Status* status) {
  const auto problem = status && status->problem ? status->problem : failure_of_run(history);
  return problem ? ranks_in_problem(*problem) : std::set<int>();
}

// True if the rank was lost during the run and has not rejoined.
bool was_lost(const telemetry::History& history, int rank) {
  bool lost = false;
  for (const telemetry::Fault& fault : history.faults())
    if (fault.rank == rank && (fault.kind == "lost" || fault.kind == "back"))
      lost = fault.kind == "lost";
  return lost;
}

// True if the recording says that the other ranks continue without the rank. The recording may be
// newer than the coordinator's status.
bool continues_without(const telemetry::History& history, int rank) {
  if (was_lost(history, rank)) return true;
  const auto experiment = recorded_experiment(history);
  return experiment && is_loss_allowed(*experiment, rank);
}

Absence absence_of(const telemetry::History& history, const DeviceOverlay& device, bool ended) {
  if (device.state == "stalled") return Absence::stalled;
  if (device.state == "suspected") return Absence::suspected;
  if (device.state == "returning") return Absence::returning;
  if (device.state != "lost") return Absence::none;
  return (ended ? was_lost(history, device.rank) : continues_without(history, device.rank))
             ? Absence::lost
             : Absence::none;
}

// Marks a rank that failed or is gone. A rank that is gone did not fail if it was stopped on
// request, or if the other ranks continue without it.
void mark(DeviceOverlay& device, const telemetry::History& history, const std::set<int>& failed) {
  device.absence =
      failed.contains(device.rank) ? Absence::none : absence_of(history, device, !failed.empty());
  if (device.absence != Absence::none) {
    device.utilization = -1;
    if (device.absence == Absence::lost) device.state = overlay_text("failed");
    if (device.absence == Absence::suspected) device.state = overlay_text("no contact");
    if (device.absence == Absence::returning) device.state = overlay_text("rejoining");
    return;
  }
  device.failed = failed.empty() ? device.state == "lost" : failed.contains(device.rank);
  if (device.failed) device.state = overlay_text("failed");
  else if (!failed.empty() && device.state == "lost") device.state = overlay_text("stopped");
}

// Returns the number of training steps of the parameters that were evaluated last; 0 if none were.
qint64 measured_step(const telemetry::History& history) {
  return history.held_out_loss().empty() ? 0 : history.held_out_loss().back().step + 1;
}

// `share`: share of the traffic of the pair that takes the link.
void add(LinkOverlay& link, const PairRate& rate, double share, bool forward) {
  (forward ? link.bytes_per_second_forward : link.bytes_per_second_backward) += rate.total * share;
  for (const auto& [kind, bytes] : rate.payload) {
    auto at = std::ranges::find(link.payload, kind, &PayloadRate::payload);
    if (at == link.payload.end()) at = link.payload.insert(at, PayloadRate{kind});
    (forward ? at->forward : at->backward) += bytes * share;
  }
}

void sort_descending(std::vector<PayloadRate>& payload) {
  std::ranges::stable_sort(payload, std::ranges::greater(), &PayloadRate::total);
}

}  // namespace

RunOverlay::RunOverlay(const topology::Topology& topology, Clock clock)
    : traffic_(topology), clock_(clock ? std::move(clock) : steady_seconds) {}

DeviceOverlay RunOverlay::device(const telemetry::History& history, const session::Status* status,
                                 int rank, std::optional<double> now) const {
  DeviceOverlay device;
  device.rank = rank;
  device.role = drawn_device(rank).role;
  const Series* steps = history.find({Metric::step_seconds, rank, 0});
  if (const Series* versions = history.find({Metric::version, rank, 0});
      versions && device.role == topology::Role::parameter_server)
    steps = versions;
  if (steps && !steps->steps.empty()) device.step = steps->steps.back() + 1;
  if (now) device.utilization = utilization_of(history, rank, *now);
  if (const session::RankStatus* one = status_of(status, rank)) {
    device.state = held(*status, *one) ? overlay_text("held") : QString::fromStdString(one->state);
    device.step = one->step;
  }
  device.step_is_position = device.role == topology::Role::evaluator ||
                            (history.steps_apart() && (device.role == topology::Role::worker ||
                                                       device.role == topology::Role::chief));
  // Shows the step of the last evaluation. The position that an evaluator records is the step up to
  // which it may evaluate.
  if (device.role == topology::Role::evaluator) device.step = measured_step(history);
  return device;
}

// Returns the current time of the run. It advances even while no data arrives, for example when all
// ranks wait for a slow one.
double RunOverlay::now(const telemetry::History& history) {
  double latest = 0;
  for (const auto& [key, series] : history.series())
    if (!series.seconds.empty()) latest = std::max(latest, series.seconds.back());
  if (latest != latest_) latest_ = latest, heard_ = clock_();
  return latest_ + clock_() - heard_;
}

void RunOverlay::add_traffic(Overlay& overlay, const telemetry::History& history,
                             const session::Status* status, double now,
                             const TrafficMeter* payload) {
  const auto away = [&](int rank) { return is_absent(status_of(status, rank)); };
  const auto cut = [&](const Crossing& one) {
    const auto part =
        one.link ? overlay.link_fractions.find(*one.link) : overlay.link_fractions.end();
    return part != overlay.link_fractions.end() && part->second == 0;
  };
  traffic_.visit(history,
                 [&](const telemetry::SeriesKey& sent, const std::vector<Crossing>& route) {
                   if (away(sent.rank) || away(sent.index) || std::ranges::any_of(route, cut))
                     return;
                   const PairRate rate = rate_of(history, sent, now, payload);
                   for (const Crossing& one : rate.total > 0 ? route : std::vector<Crossing>()) {
                     if (one.link) add(overlay.links[*one.link], rate, one.share, one.forward);
                     else add(overlay.buses[one.host], rate, one.share, true);
                   }
                 });
  for (auto& [name, link] : overlay.links) sort_descending(link.payload);
  for (auto& [host, bus] : overlay.buses) sort_descending(bus.payload);
}

int RunOverlay::ranks(const telemetry::History& history) const {
  return std::min(history.ranks(), static_cast<int>(traffic_.ranks().size()));
}

Overlay RunOverlay::failures(const telemetry::History& history) const {
  Overlay overlay;
  overlay.ended = true;
  const std::set<int> failed = failed_ranks(history, nullptr);
  for (int rank = 0; rank < ranks(history); ++rank)
    if (failed.contains(rank))
      mark(overlay.devices[name_of(rank)] = device(history, nullptr, rank, {}), history, failed);
  return overlay;
}

Overlay RunOverlay::overlay(const telemetry::History& history, const session::Status* status,
                            bool moving, const TrafficMeter* payload) {
  Overlay overlay;
  const experiment::RunSpec run = recorded_run(history);
  overlay.link_speeds = QString::fromStdString(experiment::link_speeds_line(run));
  const std::set<int> failed = failed_ranks(history, status);
  const std::optional<double> now = moving ? std::optional(this->now(history)) : std::nullopt;
  for (int rank = 0; rank < ranks(history); ++rank) {
    DeviceOverlay& shown = overlay.devices[name_of(rank)] = device(history, status, rank, now);
    mark(shown, history, failed);
    if (const session::RankStatus* one = status_of(status, rank))
      shown.imposed =
          imposed_marks(one->slow_down, one->jitter, run.devices == experiment::DeviceSpeed::paced);
  }
  if (status != nullptr && failed.empty())
    for (const session::LinkBandwidth& harmed : status->links)
      if (const auto& drawn = traffic_.topology().links;
          harmed.link >= 0 && static_cast<std::size_t>(harmed.link) < drawn.size()) {
        const auto names = link_names(traffic_.topology());
        overlay.link_fractions[names[static_cast<std::size_t>(harmed.link)]] = harmed.part;
      }
  if (now) add_traffic(overlay, history, status, *now, payload);
  return overlay;
}

Overlay RunOverlay::on(const topology::Topology& drawing, Overlay measured,
                       bool trains_drawing) const {
  measured.trains_drawing = trains_drawing;
  std::map<std::string, DeviceOverlay> kept;
  for (const topology::Host& host : drawing.hosts)
    for (const topology::Device& device : host.devices)
      if (const auto at = measured.devices.find(device.name);
          at != measured.devices.end() && drawn_device(at->second.rank).kind == device.kind &&
          topology::runs(device))
        kept.insert(*at);
  measured.devices = std::move(kept);
  return measured;
}

}  // namespace trainyard::ui
