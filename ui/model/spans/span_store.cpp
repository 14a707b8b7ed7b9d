// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/spans/span_store.h"

#include <algorithm>
#include <cmath>

#include "ui/model/spans/bucket_pieces.h"

namespace trainyard::ui {
namespace {

constexpr double kMaxSeconds =
    4e9;  // limits invalid values in a recording, so that differences do not overflow

Nanoseconds nanoseconds(double seconds) {
  return std::llround(std::clamp(seconds, -kMaxSeconds, kMaxSeconds) * 1e9);
}

}  // namespace

// Returns the first track on which the span overlaps no other span. If there is no such track,
// returns the last one, on which overlapping spans are joined.
SpanTrack& SpanLane::track_for(const OpSpan& span) {
  const auto free =
      std::ranges::find_if(tracks_, [&](const auto& track) { return track->takes(span); });
  if (free != tracks_.end()) return **free;
  if (tracks_.size() == kTracks) return *tracks_.back();
  if (tracks_.size() == 1) joined_ = std::make_unique<SpanTrack>(*tracks_.front());
  return *tracks_.emplace_back(std::make_unique<SpanTrack>());
}

void SpanLane::add(const OpSpan& span) {
  track_for(span).join(span);
  if (joined_) joined_->join(span);
}

// Adds all spans to one track: the one on which the first span fits.
void SpanLane::add_together(const std::vector<OpSpan>& spans) {
  if (spans.empty()) return;
  SpanTrack& track = track_for(spans.front());
  for (const OpSpan& span : spans) {
    track.join(span);
    if (joined_) joined_->join(span);
  }
}

std::size_t SpanLane::size() const {
  std::size_t all = 0;
  for (const auto& track : tracks_) all += track->size();
  return all;
}

SpanTrack* SpanLane::oldest() const {
  SpanTrack* found = nullptr;
  for (const auto& track : tracks_)
    if (track->may_forget() &&
        (!found || (*track)[track->first()].end < (*found)[found->first()].end))
      found = track.get();
  return found;
}

void SpanLane::forget_joined(Nanoseconds before) {
  while (joined_ && joined_->may_forget() &&
         (*joined_)[joined_->first() + SpanTrack::kBlock - 1].end <= before)
    joined_->drop_block();
}

void SpanStore::read(const telemetry::History& history) {
  ranks_.resize(std::max(ranks_.size(), static_cast<std::size_t>(std::max(history.ranks(), 0))));
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    if (!ranks_[rank].named) name(ranks_[rank], history.plan_text(static_cast<int>(rank)));
  const std::uint64_t forgotten = history.evicted_ops();
  if (read_ < forgotten)
    lacking_ += forgotten - read_, taken_ += forgotten - read_, read_ = forgotten;
  for (; read_ < forgotten + history.ops().size(); ++read_) {
    const telemetry::OpRecord& record = history.ops()[read_ - forgotten];
    if (record.rank >= 0 && static_cast<std::size_t>(record.rank) < ranks_.size())
      take(ranks_[static_cast<std::size_t>(record.rank)], record);
  }
}

// Sets the names of a rank's ops from the text of the rank's plan. If the text cannot be parsed,
// ops are named by their indices.
void SpanStore::name(Rank& rank, const std::string& plan_text) {
  if (plan_text.empty()) return;
  rank.named = true;
  if (auto names = names_from_plan(plan_text)) rank.names = std::move(*names);
  rank.lanes.resize(rank.names.lanes.size());
}

void SpanStore::take(Rank& rank, const telemetry::OpRecord& record) {
  const NamedOp* named = rank.names.find(record.program, record.op);
  OpSpan span;
  span.begin = nanoseconds(record.begin);
  span.end = std::max(span.begin, nanoseconds(record.end));
  span.ready = std::clamp(nanoseconds(record.ready), span.begin, span.end);
  span.held = record.imposed > 0 ? std::min(nanoseconds(record.imposed), span.end - span.ready) : 0;
  held_back_ = held_back_ || span.held > 0;
  span.bytes = record.bytes;
  span.step = record.step;
  span.program = static_cast<std::uint16_t>(record.program);
  span.op = static_cast<std::uint16_t>(record.op);
  span.kind = named ? named->kind : SpanKind::other;
  SpanLane& lane = rank.lanes[static_cast<std::size_t>(named ? named->lane : 0)];
  const std::size_t before = lane.size();
  lane.add(span);
  rank.spans += lane.size() - before;
  if (named && named->bucket >= 0) collect_bucket_op(rank, *named, span);
  rank.latest = std::max(rank.latest, span.end);
  extent_ = extent_
                ? TimeRange{std::min(extent_->begin, span.begin), std::max(extent_->end, span.end)}
                : TimeRange{span.begin, span.end};
  ++taken_;
  forget(rank);
}

// Collects the op spans of a collective. The collective is shown when all of its ops are known. If
// the event of one of its ops was lost, it is never shown.
void SpanStore::collect_bucket_op(Rank& rank, const NamedOp& named, const OpSpan& span) {
  const NamedBucket& bucket = *rank.names.bucket(span.program, span.op);
  std::vector<OpSpan>& ops = rank.open[{span.program, named.bucket}];
  if (!ops.empty() && ops.front().step != span.step) ops.clear();
  ops.push_back(span);
  if (ops.size() < bucket.ops) return;
  SpanLane& lane = rank.lanes[static_cast<std::size_t>(bucket.lane)];
  const std::size_t before = lane.size();
  lane.add_together(pieces_of_bucket(ops, bucket.first));
  rank.spans += lane.size() - before;
  ops.clear();
}

// If the rank has more spans than its limit, drops the oldest 16 spans of one track. It is the
// track whose first span ended earliest, over all lanes.
void SpanStore::forget(Rank& rank) {
  if (rank.spans <= std::max(kept_ / ranks_.size(), 4 * SpanTrack::kBlock)) return;
  SpanTrack* oldest = nullptr;
  bool of_ops = true;
  for (std::size_t l = 0; l < rank.lanes.size(); ++l)
    if (SpanTrack* track = rank.lanes[l].oldest();
        track && (!oldest || (*track)[track->first()].end < (*oldest)[oldest->first()].end))
      oldest = track, of_ops = !rank.names.is_bucket_lane(static_cast<int>(l));
  if (!oldest) return;
  for (std::size_t i = 0; of_ops && i < SpanTrack::kBlock; ++i)
    lacking_ += (*oldest)[oldest->first() + i].ops;
  const Nanoseconds until = (*oldest)[oldest->first() + SpanTrack::kBlock - 1].end;
  oldest->drop_block();
  rank.spans -= SpanTrack::kBlock;
  for (SpanLane& lane : rank.lanes) lane.forget_joined(until);
}

}  // namespace trainyard::ui
