// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/spans/bucket_spans.h"

namespace trainyard::ui {
namespace {

bool same_collective(const OpSpan& a, const OpSpan& b) {
  return a.step == b.step && a.program == b.program && a.op == b.op;
}

Nanoseconds computing_within(const SpanStore& store, int rank, const TimeRange& range) {
  Nanoseconds sum = 0;
  for (int l = 0; l < store.lanes(rank); ++l) {
    const SpanLane& lane = store.lane(rank, l);
    if (lane.empty() || store.names(rank).is_bucket_lane(l)) continue;
    const SpanTrack& track = lane.joined();
    if (track.size() > 0 && computes(track[track.first()].kind))
      sum += track.times_within(range, track.end()).total();
  }
  return sum;
}

}  // namespace

BucketSpan bucket_at(const SpanStore& store, int rank, const SpanTrack& track, std::size_t piece) {
  const OpSpan& one = track[piece];
  BucketSpan bucket;
  bucket.first = piece, bucket.end = piece + 1;
  while (bucket.first > track.first() && same_collective(track[bucket.first - 1], one))
    --bucket.first;
  while (bucket.end < track.end() && same_collective(track[bucket.end], one)) ++bucket.end;
  bucket.range = {track[bucket.first].begin, track[bucket.end - 1].end};
  SpanTimes times;
  for (std::size_t at = bucket.first; at < bucket.end; ++at) {
    times.add(track[at], track[at].end);
    bucket.bytes += track[at].bytes;
  }
  bucket.waiting = times.waiting;
  bucket.transfer = times.of(SpanKind::receive);
  bucket.sending = times.of(SpanKind::send);
  bucket.nothing = bucket.range.width() - times.total();
  bucket.computing = computing_within(store, rank, bucket.range);
  return bucket;
}

}  // namespace trainyard::ui
