// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/sweep/sweep.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>

#include "core/experiment/bipartition.h"
#include "core/experiment/imposed.h"
#include "core/experiment/placement.h"

namespace trainyard::session {
namespace {

using base::Problem;
using base::ProblemCode;
using collective::Algorithm;

constexpr std::int64_t kMaxWarmUpSteps = 10;

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream list(text);
  for (std::string word; std::getline(list, word, ',');) {
    std::erase(word, ' ');
    words.push_back(word);
  }
  return words;
}

Problem no_ranks(const std::string& found) {
  return {"bad_ranks",
          ProblemCode::bad_usage,
          "ranks",
          fmt::format("\"{}\" is not a list of numbers of ranks", found),
          "whole numbers from 1, separated by commas, for example 1,2,4",
          "Correct the list."};
}

Problem no_algorithms(const std::string& found) {
  std::string known;
  for (const auto& [algorithm, name] : base::Names<Algorithm>::table)
    known += std::string(name) + ", ";
  return {"bad_algorithms",
          ProblemCode::bad_usage,
          "algorithms",
          fmt::format("\"{}\" is not a list of algorithms", found),
          known + "separated by commas, or \"all\" for all of them",
          "Correct the list."};
}

SweepVariant variant_of(const experiment::Experiment& whole, std::int64_t ranks,
                        Algorithm algorithm, const SweepRequest& request) {
  SweepVariant one;
  one.ranks = ranks;
  one.algorithm = algorithm;
  const auto possible = experiment::variant(whole, one.wanted(request.scaling, request.steps));
  if (possible) return one;
  one.state = VariantState::left_out;
  one.reason = possible.error().what;
  return one;
}

std::string gossip_text(const experiment::StrategySpec& strategy) {
  if (strategy.kind != experiment::StrategyKind::gossip) return "";
  std::string note =
      "gossip averages with neighbors and does not all-reduce gradients; the algorithm only "
      "computes the average over all ranks, which is evaluated on held-out samples";
  if (experiment::is_asynchronous_gossip(strategy))
    note += "; the time of asynchronous gossip is not simulated";
  return note;
}

bool is_finished(VariantState state) {
  return state == VariantState::done || state == VariantState::failed ||
         state == VariantState::canceled;
}

double rate(const SweepVariant& variant) {
  return static_cast<double>(variant.step_samples) / variant.median_step_seconds;
}

bool has_rate(const SweepVariant& variant) {
  return variant.state == VariantState::done && variant.median_step_seconds > 0 &&
         variant.step_samples > 0;
}

Scaled scaled_against(const SweepVariant& one, const SweepVariant& base_variant,
                      std::int64_t steps) {
  const auto each_step = [steps](std::int64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(steps);
  };
  Scaled figures;
  figures.samples_per_second = rate(one);
  figures.speed_up = rate(one) / rate(base_variant);
  figures.efficiency =
      figures.speed_up * static_cast<double>(base_variant.ranks) / static_cast<double>(one.ranks);
  figures.step_bytes = each_step(one.sent_bytes);
  figures.busiest_step_bytes = each_step(one.busiest_sent_bytes);
  if (one.formula_sent_bytes < 0) return figures;
  figures.formula_step_bytes = each_step(one.formula_sent_bytes);
  figures.formula_busiest_step_bytes = each_step(one.formula_busiest_sent_bytes);
  figures.equals_formula = one.sent_bytes == one.formula_sent_bytes &&
                           one.busiest_sent_bytes == one.formula_busiest_sent_bytes;
  return figures;
}

}  // namespace

base::Result<std::vector<std::int64_t>> read_ranks(const std::string& text) {
  std::set<std::int64_t> ranks;
  for (const std::string& word : words_of(text)) {
    std::int64_t count = 0;
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), count);
    if (parsed.ec != std::errc{} || parsed.ptr != word.data() + word.size() || count < 1)
      return base::fail(no_ranks(word));
    ranks.insert(count);
  }
  if (ranks.empty()) return base::fail(no_ranks(text));
  return std::vector<std::int64_t>(ranks.begin(), ranks.end());
}

base::Result<std::vector<Algorithm>> read_algorithms(const std::string& text) {
  const std::vector<std::string> words = words_of(text);
  std::vector<Algorithm> algorithms;
  const auto asked = [&](std::string_view name) {
    return std::ranges::find(words, name) != words.end();
  };
  for (const auto& [algorithm, name] : base::Names<Algorithm>::table)
    if (asked(name) || (asked("all") && algorithm != Algorithm::automatic))
      algorithms.push_back(algorithm);
  for (const std::string& word : words) {
    const bool known = word == "all" ||
                       std::ranges::any_of(base::Names<Algorithm>::table,
                                           [&](const auto& entry) { return entry.second == word; });
    if (!known) return base::fail(no_algorithms(word));
  }
  if (algorithms.empty()) return base::fail(no_algorithms(text));
  return algorithms;
}

std::vector<std::int64_t> default_ranks(std::int64_t drawn) {
  std::vector<std::int64_t> ranks;
  for (std::int64_t count = 1; count < drawn; count *= 2) ranks.push_back(count);
  ranks.push_back(std::max<std::int64_t>(1, drawn));
  return ranks;
}

std::int64_t warm_up_steps(std::int64_t steps) { return std::min(kMaxWarmUpSteps, steps / 5); }

std::optional<Problem> sweep_problem(const experiment::Experiment& whole,
                                     const SweepRequest& request) {
  const std::int64_t most = request.ranks.empty() ? 1 : request.ranks.back();
  if (const auto drawing = topology::validate(whole.topology, "topology"); !drawing.empty())
    return drawing.front();
  const auto tried = experiment::variant(
      whole, {std::max<std::int64_t>(most, 1), Algorithm::automatic, experiment::Scaling::weak, 1});
  return tried ? std::nullopt : std::optional(tried.error());
}

base::Result<Sweep> make_sweep(const experiment::Experiment& whole, const SweepRequest& request) {
  Sweep sweep;
  sweep.name = whole.name;
  sweep.scaling = request.scaling;
  sweep.steps = request.steps;
  sweep.warm_up_steps = warm_up_steps(request.steps);
  sweep.drawn_ranks = experiment::count_workers(whole.topology);
  sweep.speeds = experiment::speeds_line(whole.run);
  sweep.equivalence_caveat = experiment::equivalence_caveats(whole).value_or("");
  sweep.gossip = gossip_text(whole.strategy);
  const auto ranks = request.ranks.empty() ? default_ranks(sweep.drawn_ranks) : request.ranks;
  const auto algorithms =
      request.algorithms.empty() ? std::vector{whole.strategy.algorithm} : request.algorithms;
  if (const auto problem = sweep_problem(whole, request)) return base::fail(*problem);
  for (const std::int64_t count : ranks)
    for (const Algorithm algorithm : algorithms)
      if (count > 1 || algorithm == algorithms.front())
        sweep.variants.push_back(variant_of(whole, count, algorithm, request));
  return sweep;
}

std::optional<std::size_t> baseline(const Sweep& sweep) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < sweep.variants.size(); ++i) {
    const SweepVariant& one = sweep.variants[i];
    if (!has_rate(one)) continue;
    const bool better =
        !best || one.ranks < sweep.variants[*best].ranks ||
        (one.ranks == sweep.variants[*best].ranks && rate(one) > rate(sweep.variants[*best]));
    if (better) best = i;
  }
  return best;
}

std::vector<std::optional<Scaled>> scaled(const Sweep& sweep) {
  std::vector<std::optional<Scaled>> figures(sweep.variants.size());
  const auto against = baseline(sweep);
  for (std::size_t i = 0; against && i < figures.size(); ++i)
    if (has_rate(sweep.variants[i]))
      figures[i] = scaled_against(sweep.variants[i], sweep.variants[*against], sweep.steps);
  return figures;
}

SweepProgress progress(const Sweep& sweep, double now_unix_seconds) {
  SweepProgress so_far;
  double taken = 0;
  for (std::size_t i = 0; i < sweep.variants.size(); ++i) {
    const SweepVariant& one = sweep.variants[i];
    if (one.state != VariantState::left_out) ++so_far.runs;
    if (is_finished(one.state)) ++so_far.over, taken += one.seconds;
    if (one.state == VariantState::running) so_far.running = i;
  }
  if (so_far.over == 0 || sweep.state != SweepState::running) return so_far;
  const double each = taken / static_cast<double>(so_far.over),
               waiting = static_cast<double>(so_far.runs - so_far.over - (so_far.running ? 1 : 0));
  const double under_way =
      so_far.running
          ? std::max(0.0,
                     each - (now_unix_seconds - sweep.variants[*so_far.running].began_unix_seconds))
          : 0;
  so_far.seconds_left = waiting * each + under_way;
  return so_far;
}

}  // namespace trainyard::session
