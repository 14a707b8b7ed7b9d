// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/spans/traffic_meter.h"

#include <algorithm>
#include <cmath>

namespace trainyard::ui {
namespace {

constexpr double kResolutionSeconds =
    1.0 / 256;  // seconds; messages that end within this interval are summed
constexpr double kRetentionSeconds = 60;  // messages older than this number of seconds are dropped

}  // namespace

void TrafficMeter::read(const telemetry::History& history, const SpanStore& names) {
  const std::uint64_t forgotten = history.evicted_ops();
  for (read_ = std::max(read_, forgotten); read_ < forgotten + history.ops().size(); ++read_) {
    const telemetry::OpRecord& record = history.ops()[read_ - forgotten];
    if (record.rank >= 0 && record.rank < names.ranks()) take(record, names.names(record.rank));
  }
}

void TrafficMeter::take(const telemetry::OpRecord& record, const RankNames& names) {
  const NamedOp* named = names.find(record.program, record.op);
  if (named == nullptr || !(record.bytes > 0) || !std::isfinite(record.end)) return;
  const OpPayload& op = named->payload;
  const int peer =
      op.pairs && names.gossip_pair ? names.gossip_pair->partner(record.step) : op.peer;
  if (peer < 0) return;
  auto& sent =
      sent_[op.arrives ? std::pair(peer, record.rank) : std::pair(record.rank, peer)][op.payload];
  const double until = std::max(std::round(record.end / kResolutionSeconds) * kResolutionSeconds,
                                sent.empty() ? 0 : sent.back().until);
  if (sent.empty() || sent.back().until < until) sent.push_back({until, 0});
  sent.back().bytes += record.bytes;
  while (sent.front().until < until - kRetentionSeconds) sent.pop_front();
}

std::map<PayloadKind, double> TrafficMeter::sent(int from, int to, double since,
                                                 double until) const {
  std::map<PayloadKind, double> bytes;
  const auto pair = sent_.find({from, to});
  if (pair == sent_.end()) return bytes;
  for (const auto& [payload, all] : pair->second)
    for (auto at = all.rbegin(); at != all.rend() && at->until > since + kResolutionSeconds / 2;
         ++at)
      if (at->until <= until + kResolutionSeconds / 2) bytes[payload] += at->bytes;
  return bytes;
}

}  // namespace trainyard::ui
