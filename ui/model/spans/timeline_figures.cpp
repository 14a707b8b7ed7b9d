// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/spans/timeline_figures.h"

#include <algorithm>
#include <numeric>

namespace trainyard::ui {
namespace {

double share(Nanoseconds part, Nanoseconds whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

Nanoseconds length(const Times& times) {
  return std::accumulate(times.begin(), times.end(), Nanoseconds{0},
                         [](Nanoseconds sum, const TimeRange& one) { return sum + one.width(); });
}

// Returns the parts of the spans from their begin to `until`, cut to the range.
Times parts_of(const SpanTrack& track, const TimeRange& range, Nanoseconds OpSpan::*until) {
  Times times;
  for (std::size_t i = track.first_ending_after(range.begin, track.end());
       i < track.end() && track[i].begin < range.end; ++i) {
    const TimeRange part{std::max(track[i].begin, range.begin),
                         std::min(track[i].*until, range.end)};
    if (part.width() > 0) times.push_back(part);
  }
  return times;
}

Times either(const Times& a, const Times& b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  Times joined, all;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all),
             [](const TimeRange& x, const TimeRange& y) { return x.begin < y.begin; });
  for (const TimeRange& one : all) {
    if (!joined.empty() && one.begin <= joined.back().end)
      joined.back().end = std::max(joined.back().end, one.end);
    else joined.push_back(one);
  }
  return joined;
}

Times both(const Times& a, const Times& b) {
  Times common;
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    const TimeRange one{std::max(x->begin, y->begin), std::min(x->end, y->end)};
    if (one.width() > 0) common.push_back(one);
    ++(x->end < y->end ? x : y);
  }
  return common;
}

double mean(const std::vector<RankFigures>& ranks, double (RankFigures::*share)() const) {
  return std::accumulate(
             ranks.begin(), ranks.end(), 0.0,
             [share](double sum, const RankFigures& one) { return sum + (one.*share)(); }) /
         static_cast<double>(ranks.size());
}

}  // namespace

double RankFigures::efficiency() const { return share(compute, looked_at); }
double RankFigures::share_of_communication() const { return share(communication, looked_at); }
double RankFigures::share_of_waiting() const { return share(waiting, looked_at); }
std::optional<double> RankFigures::overlap() const {
  return communication > 0 ? std::optional(share(hidden, communication)) : std::nullopt;
}

RankFigures figures_of(const SpanStore& store, int rank, const Times& looked_at) {
  RankFigures figures;
  figures.looked_at = length(looked_at);
  if (looked_at.empty()) return figures;
  const TimeRange all{looked_at.front().begin, looked_at.back().end};
  Times compute, communication, waiting;
  for (int l = 0; l < store.lanes(rank); ++l) {
    const SpanLane& lane = store.lane(rank, l);
    if (lane.empty() || store.names(rank).is_bucket_lane(l))
      continue;  // skips lanes of full collectives, because they repeat the ops of other lanes
    const SpanTrack& track = lane.joined();
    const SpanKind kind = track[track.first()].kind;
    if (computes(kind)) compute = either(compute, parts_of(track, all, &OpSpan::end));
    if (communicates(kind))
      communication = either(communication, parts_of(track, all, &OpSpan::end));
    if (kind == SpanKind::collective) figures.waiting_known = false;
    if (kind == SpanKind::receive) waiting = either(waiting, parts_of(track, all, &OpSpan::ready));
  }
  compute = both(compute, looked_at);
  communication = both(communication, looked_at);
  figures.compute = length(compute);
  figures.communication = length(communication);
  figures.hidden = length(both(compute, communication));
  figures.waiting = length(both(waiting, looked_at));
  return figures;
}

TimelineFigures average_over_ranks(const std::vector<RankFigures>& ranks) {
  TimelineFigures all;
  all.ranks = static_cast<int>(ranks.size());
  if (ranks.empty()) return all;
  all.efficiency = mean(ranks, &RankFigures::efficiency);
  all.communication = mean(ranks, &RankFigures::share_of_communication);
  if (std::ranges::all_of(ranks, &RankFigures::waiting_known))
    all.waiting = mean(ranks, &RankFigures::share_of_waiting);
  const auto least = std::ranges::min_element(ranks, {}, &RankFigures::efficiency);
  all.least_efficient = static_cast<int>(least - ranks.begin());
  all.min_efficiency = least->efficiency();
  RankFigures together;
  for (const RankFigures& one : ranks)
    together.communication += one.communication, together.hidden += one.hidden;
  all.overlap = together.overlap();
  return all;
}

}  // namespace trainyard::ui
