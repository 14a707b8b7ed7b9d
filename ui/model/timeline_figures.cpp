// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/timeline_figures.h"

#include <algorithm>
#include <numeric>

namespace trainyard::ui {
namespace {

using Times = std::vector<TimeRange>;  // apart from each other, in order

double share(Nanoseconds part, Nanoseconds whole) { return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0; }

Nanoseconds length(const Times& times) {
  return std::accumulate(times.begin(), times.end(), Nanoseconds{0}, [](Nanoseconds sum, const TimeRange& one) { return sum + one.width(); });
}

Times under_way(const SpanTrack& track, const TimeRange& range) {
  Times times;
  for (std::size_t i = track.first_ending_after(range.begin, track.end()); i < track.end() && track[i].begin < range.end; ++i)
    times.push_back({std::max(track[i].begin, range.begin), std::min(track[i].end, range.end)});
  return times;
}

Times either(const Times& a, const Times& b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  Times both, all;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all), [](const TimeRange& x, const TimeRange& y) { return x.begin < y.begin; });
  for (const TimeRange& one : all) {
    if (!both.empty() && one.begin <= both.back().end) both.back().end = std::max(both.back().end, one.end);
    else both.push_back(one);
  }
  return both;
}

Nanoseconds length_of_both(const Times& a, const Times& b) {
  Nanoseconds sum = 0;
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    sum += std::max<Nanoseconds>(0, std::min(x->end, y->end) - std::max(x->begin, y->begin));
    ++(x->end < y->end ? x : y);
  }
  return sum;
}

double mean(const std::vector<RankFigures>& ranks, double (RankFigures::*share)() const) {
  return std::accumulate(ranks.begin(), ranks.end(), 0.0, [share](double sum, const RankFigures& one) { return sum + (one.*share)(); }) /
         static_cast<double>(ranks.size());
}

}  // namespace

double RankFigures::efficiency() const { return share(compute, range); }
double RankFigures::share_of_communication() const { return share(communication, range); }
double RankFigures::share_of_waiting() const { return share(waiting, range); }
std::optional<double> RankFigures::overlap() const { return communication > 0 ? std::optional(share(hidden, communication)) : std::nullopt; }

RankFigures figures_of(const SpanStore& store, int rank, const TimeRange& range) {
  Times compute, communication;
  RankFigures figures;
  figures.range = std::max<Nanoseconds>(range.width(), 0);
  for (int l = 0; l < store.lanes(rank); ++l) {
    const SpanLane& lane = store.lane(rank, l);
    if (lane.empty() || store.names(rank).of_buckets(l)) continue;  // those are of the ops beside them
    const SpanTrack& track = lane.joined();
    const SpanKind kind = track[track.first()].kind;
    if (computes(kind)) compute = either(compute, under_way(track, range));
    if (communicates(kind)) communication = either(communication, under_way(track, range));
    if (kind == SpanKind::collective) figures.waiting_known = false;
    if (kind == SpanKind::receive) figures.waiting += track.times_within(range, track.end()).waiting;
  }
  figures.compute = length(compute);
  figures.communication = length(communication);
  figures.hidden = length_of_both(compute, communication);
  return figures;
}

TimelineFigures over_ranks(const std::vector<RankFigures>& ranks) {
  TimelineFigures all;
  all.ranks = static_cast<int>(ranks.size());
  if (ranks.empty()) return all;
  all.efficiency = mean(ranks, &RankFigures::efficiency);
  all.communication = mean(ranks, &RankFigures::share_of_communication);
  if (std::ranges::all_of(ranks, &RankFigures::waiting_known)) all.waiting = mean(ranks, &RankFigures::share_of_waiting);
  const auto least = std::ranges::min_element(ranks, {}, &RankFigures::efficiency);
  all.least_efficient = static_cast<int>(least - ranks.begin());
  all.least_efficiency = least->efficiency();
  RankFigures together;
  for (const RankFigures& one : ranks) together.communication += one.communication, together.hidden += one.hidden;
  all.overlap = together.overlap();
  return all;
}

}  // namespace trainyard::ui
