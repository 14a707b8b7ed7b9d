// SPDX-License-Identifier: GPL-3.0-or-later
// All ops of a run by rank and lane, sorted, as a timeline wants them, and whole collectives beside
// their chunks (bucket_spans.h), once all ops of them are there; fed from a history by cursor. Ops
// of one lane that are under way together (the sends of one round) lie on tracks of their own;
// beyond eight they are joined on the last one. What a rank holds is bounded: the oldest go first,
// and are counted.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/telemetry/history.h"
#include "ui/model/span_track.h"

namespace trainyard::ui {

// The ops of one lane of a rank.
class SpanLane {
 public:
  static constexpr std::size_t kTracks = 8;

  void add(const OpSpan& span);
  void add_together(const std::vector<OpSpan>& spans);  // one after another, on one track
  const std::vector<std::unique_ptr<SpanTrack>>& tracks() const {
    return tracks_;
  }  // their addresses stay
  // One track for all of them, with what was under way together joined.
  const SpanTrack& joined() const { return joined_ ? *joined_ : *tracks_.front(); }
  bool empty() const { return tracks_.empty(); }
  std::size_t size() const;   // spans on all tracks
  SpanTrack* oldest() const;  // the track whose first block is the oldest; null where none can go
  void forget_joined(Nanoseconds before);  // what ended by then

 private:
  SpanTrack& track_for(const OpSpan& span);
  std::vector<std::unique_ptr<SpanTrack>> tracks_;
  std::unique_ptr<SpanTrack> joined_;  // from the second track on
};

class SpanStore {
 public:
  static constexpr std::size_t kSpans = std::size_t{1} << 20;  // kept, over all ranks

  explicit SpanStore(std::size_t kept = kSpans) : kept_(kept) {}

  // Takes what has come since the last call. Called often enough (after every frame) it misses
  // nothing.
  void read(const telemetry::History& history);

  int ranks() const { return static_cast<int>(ranks_.size()); }
  const RankNames& names(int rank) const { return ranks_[static_cast<std::size_t>(rank)].names; }
  int lanes(int rank) const {
    return static_cast<int>(ranks_[static_cast<std::size_t>(rank)].lanes.size());
  }
  const SpanLane& lane(int rank, int lane) const {
    return ranks_[static_cast<std::size_t>(rank)].lanes[static_cast<std::size_t>(lane)];
  }

  std::uint64_t taken() const { return taken_; }      // ops, since the start
  std::uint64_t lacking() const { return lacking_; }  // of them, that are not held any more
  std::optional<TimeRange> extent() const {
    return extent_;
  }  // from the first begin to the last end of all that was taken
  bool held_back() const {
    return held_back_;
  }  // any of them, because ranks are slowed down or paced
  Nanoseconds latest(int rank) const { return ranks_[static_cast<std::size_t>(rank)].latest; }

 private:
  struct Rank {
    RankNames names;
    bool named = false;
    std::vector<SpanLane> lanes{1};
    std::map<std::pair<int, int>, std::vector<OpSpan>>
        open;  // by program and bucket: ops of a collective that is not over
    std::size_t spans = 0;
    Nanoseconds latest = 0;
  };

  void name(Rank& rank, const std::string& plan_text);
  void take(Rank& rank, const telemetry::OpRecord& record);
  void take_part(Rank& rank, const NamedOp& named, const OpSpan& span);
  void forget(Rank& rank);

  std::size_t kept_;
  std::vector<Rank> ranks_;
  std::uint64_t read_ = 0;  // ops of the history
  std::uint64_t taken_ = 0, lacking_ = 0;
  std::optional<TimeRange> extent_;
  bool held_back_ = false;
};

}  // namespace trainyard::ui
