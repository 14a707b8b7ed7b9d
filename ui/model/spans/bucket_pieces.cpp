// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/spans/bucket_pieces.h"

#include <algorithm>
#include <utility>

namespace trainyard::ui {
namespace {

enum Doing : int { nothing, sending, waiting, transfer };

// Change, at a point of time, of the counts of active transfers, waiting receives and active sends
// of a rank.
struct Change {
  Nanoseconds at = 0;
  int transfers = 0, waits = 0, sends = 0;
};

std::vector<Change> changes_of(const std::vector<OpSpan>& ops) {
  std::vector<Change> changes;
  for (const OpSpan& op : ops) {
    if (op.kind == SpanKind::send) {
      changes.push_back({op.begin, 0, 0, 1}), changes.push_back({op.end, 0, 0, -1});
    } else {
      changes.push_back({op.begin, 0, 1, 0}), changes.push_back({op.ready, 1, -1, 0}),
          changes.push_back({op.end, -1, 0, 0});
    }
  }
  std::ranges::stable_sort(changes, {}, &Change::at);
  return changes;
}

Doing doing(const Change& under_way) {
  if (under_way.transfers > 0) return transfer;
  if (under_way.waits > 0) return waiting;
  return under_way.sends > 0 ? sending : nothing;
}

// Builds the pieces from the states of the rank. If a state equals the one before, the last piece
// is extended. A transfer that follows a wait is added to the piece of the wait.
class Pieces {
 public:
  explicit Pieces(const OpSpan& prototype) : prototype_(prototype) {}

  void add(Nanoseconds begin, Nanoseconds end, Doing doing) {
    if (doing == nothing || begin == end) return;
    const SpanKind kind = doing == sending ? SpanKind::send : SpanKind::receive;
    const bool goes_on =
        !pieces_.empty() && pieces_.back().end == begin && pieces_.back().kind == kind;
    if (goes_on && doing == last_ && doing != waiting) {
      pieces_.back().end = end;
    } else if (goes_on && last_ == waiting) {
      pieces_.back().end = end;
      if (doing == waiting) pieces_.back().ready = end;
    } else {
      OpSpan piece = prototype_;
      piece.begin = begin, piece.end = end, piece.kind = kind;
      piece.ready = doing == waiting ? end : begin;
      pieces_.push_back(piece);
    }
    last_ = doing;
  }
  std::vector<OpSpan> take() { return std::move(pieces_); }

 private:
  OpSpan prototype_;
  std::vector<OpSpan> pieces_;
  Doing last_ = nothing;
};

}  // namespace

std::vector<OpSpan> pieces_of_bucket(const std::vector<OpSpan>& ops, std::uint16_t first) {
  if (ops.empty()) return {};
  OpSpan prototype = ops.front();
  prototype.op = first, prototype.ops = 1, prototype.bytes = 0;
  Pieces pieces(prototype);
  Change under_way;
  for (const Change& change : changes_of(ops)) {
    pieces.add(under_way.at, change.at, doing(under_way));
    under_way = {change.at, under_way.transfers + change.transfers, under_way.waits + change.waits,
                 under_way.sends + change.sends};
  }
  std::vector<OpSpan> all = pieces.take();
  if (all.empty())
    all.push_back(prototype),
        all.back().begin = all.back().ready = all.back().end =
            ops.front().begin;  // the collective's duration was below the clock's resolution
  for (const OpSpan& op : ops) all.back().bytes += op.bytes;
  return all;
}

}  // namespace trainyard::ui
