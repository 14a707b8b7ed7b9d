// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/span_text.h"

#include <algorithm>
#include <cmath>

#include "ui/model/spans/bucket_spans.h"
#include "ui/model/spans/step_times.h"
#include "ui/model/text/count_text.h"
#include "ui/timeline/timeline_colors.h"
#include "ui/timeline/timeline_text.h"

namespace trainyard::ui {
namespace {

QString bytes_text(double bytes) {
  return std::isfinite(bytes) ? grouped(std::llround(std::clamp(bytes, -9e15, 9e15)))
                              : QString::number(bytes);
}

QString place_text(const SpanStore& store, const SpanAddress& place, const OpSpan& span) {
  const RankNames& names = store.names(place.rank);
  const std::size_t program = span.program;
  const QString of = program < names.programs.size()
                         ? QString::fromStdString(names.programs[program].name)
                         : timeline_text("program %1").arg(program);
  return timeline_text("rank %1, %2, step %3 (%4)")
      .arg(QString::number(place.rank),
           QString::fromStdString(names.lanes[static_cast<std::size_t>(place.lane)]),
           grouped(span.step), of);
}

QString begin_text(const telemetry::History& history, int rank, const OpSpan& span) {
  const QString run = timeline_text("begins at %1 of the run").arg(exact_time(span.begin));
  const auto step = step_of_rank(history, rank, span.step);
  return step ? run + timeline_text(", at %1 of the step").arg(exact_time(span.begin - step->begin))
              : run;
}

// Describes the duration of an op. For a send, this includes when the peer consumed the bytes, but
// not when the peer became ready: a sender cannot measure that.
QString duration_text(const OpSpan& span) {
  const QString took = exact_time(span.end - span.begin);
  if (span.kind == SpanKind::send && span.ready == span.begin)
    return timeline_text("takes %1, from posted to consumed by the peer").arg(took);
  if (span.kind == SpanKind::collective)
    return timeline_text("takes %1; the engine does not report wait and transfer times").arg(took);
  if (span.held > 0)
    return timeline_text("takes %1: computes for %2, delayed for %3 (slowed or paced rank)")
        .arg(took, exact_time(span.done() - span.ready), exact_time(span.held));
  if (!communicates(span.kind)) return timeline_text("takes %1").arg(took);
  return timeline_text("takes %1: waits %2 for the peer, transfers for %3")
      .arg(took, exact_time(span.ready - span.begin), exact_time(span.end - span.ready));
}

// Describes how long a rank was in each state during the collective of a bucket. States that took
// no time are omitted.
SpanText bucket_text(const SpanStore& store, const telemetry::History& history,
                     const SpanAddress& place, const OpSpan& piece) {
  const BucketSpan bucket = bucket_at(store, place.rank, *track_at(store, place), place.number);
  OpSpan whole = piece;
  whole.begin = bucket.range.begin, whole.end = bucket.range.end;
  SpanText words{title_of(store.names(place.rank), place.lane, piece), {}};
  words.lines << timeline_text("collective on %1").arg(place_text(store, place, piece))
              << begin_text(history, place.rank, whole);
  QStringList parts;
  const auto part = [&](const QString& text, Nanoseconds time) {
    if (time > 0) parts << text.arg(exact_time(time));
  };
  part(timeline_text("waits %1 for peers"), bucket.waiting);
  part(timeline_text("transfers and reduces for %1"), bucket.transfer);
  part(timeline_text("only sends for %1"), bucket.sending);
  part(timeline_text("idle for %1"), bucket.nothing);
  words.lines << timeline_text("takes %1, until %2 of the run: %3")
                     .arg(exact_time(bucket.range.width()), exact_time(bucket.range.end),
                          parts.join(", "));
  words.lines
      << timeline_text("overlapping compute of the rank: %1").arg(exact_time(bucket.computing))
      << timeline_text("%1 bytes sent and received").arg(bytes_text(bucket.bytes));
  return words;
}

}  // namespace

QString title_of(const RankNames& names, int lane, const OpSpan& span) {
  const NamedBucket* bucket =
      names.is_bucket_lane(lane) ? names.bucket(span.program, span.op) : nullptr;
  return QString::fromStdString(bucket ? bucket->token : names.token(span.program, span.op));
}

QString exact_time(Nanoseconds time) {
  static constexpr std::pair<Nanoseconds, const char*> kUnits[] = {
      {1'000'000'000, "s"}, {1'000'000, "ms"}, {1000, "µs"}};
  const Nanoseconds size = std::abs(time);
  for (const auto& [unit, name] : kUnits) {
    if (size < unit) continue;
    const auto digits = static_cast<int>(std::lround(std::log10(static_cast<double>(unit))));
    const QString rest = QString::number(size % unit).rightJustified(digits, '0');
    return (time < 0 ? "-" : "") + grouped(size / unit) + "." + rest + " " +
           QString::fromUtf8(name);
  }
  return QString::number(time) + " ns";
}

QString percent(double share) {
  if (share > 0 && share < 0.01) return "<1 %";
  return QString::number(static_cast<int>(std::lround(100 * share))) + " %";
}

SpanText span_text(const SpanStore& store, const telemetry::History& history,
                   const SpanAddress& place) {
  const OpSpan* span = span_at(store, place);
  if (!span) return {};
  if (store.names(place.rank).is_bucket_lane(place.lane))
    return bucket_text(store, history, place, *span);
  SpanText words{title_of(store.names(place.rank), place.lane, *span), {}};
  if (span->ops > 1)
    words.title += timeline_text(" and %n more concurrent op(s)", plural(span->ops - 1));
  words.lines
      << timeline_text("%1 on %2").arg(span_kind_text(span->kind), place_text(store, place, *span))
      << begin_text(history, place.rank, *span) << duration_text(*span);
  if (span->kind == SpanKind::collective)
    words.lines << timeline_text(
                       "sends at least %1 bytes, computed by formula: the engine does not report "
                       "its messages")
                       .arg(bytes_text(span->bytes));
  else if (communicates(span->kind) || span->kind == SpanKind::offload)
    words.lines << timeline_text("%1 bytes").arg(bytes_text(span->bytes));
  return words;
}

SpanText span_text(const SpanStore& store, const SpanAddress& first, const SpanPiece& merged) {
  const SpanTrack* track = track_at(store, first);
  if (!track) return {};
  const OpSpan &from = (*track)[merged.first], &to = (*track)[merged.first + merged.spans - 1];
  const RankNames& names = store.names(first.rank);
  const bool buckets = names.is_bucket_lane(first.lane);  // a bucket may have several pieces
  SpanText words{buckets ? timeline_text("Buckets too dense to distinguish at this zoom")
                         : timeline_text("%n op(s) too dense to distinguish at this zoom",
                                         plural(static_cast<std::int64_t>(merged.spans))),
                 {}};
  words.lines
      << timeline_text("%1 to %2")
             .arg(title_of(names, first.lane, from), title_of(names, first.lane, to))
      << place_text(store, first, from)
      << timeline_text("from %1 to %2 of the run").arg(exact_time(from.begin), exact_time(to.end));
  for (std::size_t kind = 0; kind < kSpanKinds; ++kind)
    if (merged.times.busy[kind] > 0)
      words.lines << timeline_text("%1: %2").arg(span_kind_text(static_cast<SpanKind>(kind)),
                                                 exact_time(merged.times.busy[kind]));
  if (merged.times.held > 0)
    words.lines << timeline_text("%1: %2").arg(held_text(), exact_time(merged.times.held));
  if (merged.times.waiting > 0)
    words.lines << timeline_text("%1: %2").arg(waiting_text(), exact_time(merged.times.waiting));
  words.lines << timeline_text("zoom in to distinguish them");
  return words;
}

}  // namespace trainyard::ui
