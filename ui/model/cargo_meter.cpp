// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/cargo_meter.h"

#include <algorithm>
#include <cmath>

#include "ui/model/op_names.h"

namespace trainyard::ui {
namespace {

constexpr double kGrain = 1.0 / 256;  // seconds: of messages that end within it the sum is kept
constexpr double kKept = 60;          // seconds

}  // namespace

// A text that cannot be read names nothing.
void CargoMeter::name(Rank& rank, const std::string& plan_text) {
  if (plan_text.empty()) return;
  rank.named = true;
  const auto known = rank_from_plan(plan_text);
  if (!known) return;
  if (!known->pairs.empty()) rank.pairing = known->pairs.front();
  for (const plan::Program& program : known->programs) {
    auto& ops = rank.programs.emplace_back();
    for (const plan::Op& op : program.ops) ops.push_back(cargo_of(*known, program, op));
  }
}

void CargoMeter::read(const telemetry::History& history) {
  ranks_.resize(std::max(ranks_.size(), static_cast<std::size_t>(std::max(history.ranks(), 0))));
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    if (!ranks_[rank].named) name(ranks_[rank], history.plan_text(static_cast<int>(rank)));
  const std::uint64_t forgotten = history.forgotten_ops();
  for (read_ = std::max(read_, forgotten); read_ < forgotten + history.ops().size(); ++read_) take(history.ops()[read_ - forgotten]);
}

void CargoMeter::take(const telemetry::OpRecord& record) {
  const auto at = [](const auto& list, int i) { return i >= 0 && static_cast<std::size_t>(i) < list.size() ? &list[static_cast<std::size_t>(i)] : nullptr; };
  const Rank* rank = at(ranks_, record.rank);
  const auto* ops = rank != nullptr ? at(rank->programs, record.program) : nullptr;
  const OpCargo* op = ops != nullptr ? at(*ops, record.op) : nullptr;
  if (op == nullptr || !(record.bytes > 0) || !std::isfinite(record.end)) return;
  const int peer = op->pairs && rank->pairing ? rank->pairing->partner(record.step) : op->peer;
  if (peer < 0) return;
  auto& sent = sent_[op->arrives ? std::pair(peer, record.rank) : std::pair(record.rank, peer)][op->cargo];
  const double until = std::max(std::round(record.end / kGrain) * kGrain, sent.empty() ? 0 : sent.back().until);
  if (sent.empty() || sent.back().until < until) sent.push_back({until, 0});
  sent.back().bytes += record.bytes;
  while (sent.front().until < until - kKept) sent.pop_front();
}

std::map<Cargo, double> CargoMeter::sent(int from, int to, double since, double until) const {
  std::map<Cargo, double> bytes;
  const auto pair = sent_.find({from, to});
  if (pair == sent_.end()) return bytes;
  for (const auto& [cargo, all] : pair->second)
    for (auto at = all.rbegin(); at != all.rend() && at->until > since + kGrain / 2; ++at)
      if (at->until <= until + kGrain / 2) bytes[cargo] += at->bytes;
  return bytes;
}

}  // namespace trainyard::ui
