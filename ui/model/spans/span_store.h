// SPDX-License-Identifier: GPL-3.0-or-later
// All ops of a run by rank and lane, sorted for a timeline. The store reads the ops from a history.
// Full collectives are added to separate lanes once all of their chunk ops are known
// (bucket_pieces.h). Ops of one lane that overlap, such as the sends of one round, are on separate
// tracks. A lane has at most eight tracks; further overlapping ops are joined on the last one. The
// number of stored ops of each rank is limited: the oldest are dropped and counted.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/telemetry/history.h"
#include "ui/model/spans/span_track.h"

namespace trainyard::ui {

// The ops of one lane of a rank.
class SpanLane {
 public:
  static constexpr std::size_t kTracks = 8;

  void add(const OpSpan& span);
  void add_together(const std::vector<OpSpan>& spans);  // adds spans to one track
  const std::vector<std::unique_ptr<SpanTrack>>& tracks() const {
    return tracks_;
  }  // the tracks' addresses do not change
  // Returns a single track with all ops of the lane. Overlapping ops are joined on it.
  const SpanTrack& joined() const { return joined_ ? *joined_ : *tracks_.front(); }
  bool empty() const { return tracks_.empty(); }
  std::size_t size() const;   // number of spans on all tracks
  SpanTrack* oldest() const;  // track with the oldest first block; null if none can be dropped
  void forget_joined(Nanoseconds before);  // drops joined spans that ended before that time

 private:
  SpanTrack& track_for(const OpSpan& span);
  std::vector<std::unique_ptr<SpanTrack>> tracks_;
  std::unique_ptr<SpanTrack> joined_;  // null if there is only one track
};

class SpanStore {
 public:
  // maximum number of spans, over all ranks
  static constexpr std::size_t kSpans = std::size_t{1} << 18;

  explicit SpanStore(std::size_t kept = kSpans) : kept_(kept) {}

  // Reads the ops that were added to the history since the last call. No op is missed if this is
  // called after each frame that the history reads. Otherwise the history may already have dropped
  // some ops.
  void read(const telemetry::History& history);

  int ranks() const { return static_cast<int>(ranks_.size()); }
  const RankNames& names(int rank) const { return ranks_[static_cast<std::size_t>(rank)].names; }
  int lanes(int rank) const {
    return static_cast<int>(ranks_[static_cast<std::size_t>(rank)].lanes.size());
  }
  const SpanLane& lane(int rank, int lane) const {
    return ranks_[static_cast<std::size_t>(rank)].lanes[static_cast<std::size_t>(lane)];
  }

  std::uint64_t taken() const { return taken_; }      // number of ops since the start
  std::uint64_t lacking() const { return lacking_; }  // number of ops that were lost or dropped
  std::optional<TimeRange> extent() const {
    return extent_;
  }  // from the first begin to the last end of all ops read
  bool held_back() const {
    return held_back_;
  }  // true if any op was held back, because its rank was slowed or paced
  Nanoseconds latest(int rank) const { return ranks_[static_cast<std::size_t>(rank)].latest; }

 private:
  struct Rank {
    RankNames names;
    bool named = false;
    std::vector<SpanLane> lanes{1};
    std::map<std::pair<int, int>, std::vector<OpSpan>>
        open;  // ops of incomplete collectives, by (program, bucket)
    std::size_t spans = 0;
    Nanoseconds latest = 0;
  };

  void name(Rank& rank, const std::string& plan_text);
  void take(Rank& rank, const telemetry::OpRecord& record);
  void collect_bucket_op(Rank& rank, const NamedOp& named, const OpSpan& span);
  void forget(Rank& rank);

  std::size_t kept_;
  std::vector<Rank> ranks_;
  std::uint64_t read_ = 0;  // number of ops that were read from the history
  std::uint64_t taken_ = 0, lacking_ = 0;
  std::optional<TimeRange> extent_;
  bool held_back_ = false;
};

}  // namespace trainyard::ui
