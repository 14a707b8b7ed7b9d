// SPDX-License-Identifier: GPL-3.0-or-later
// Proves by symbolic execution that offloading does not change results. Every op writes distinct
// values; OUT and IN copy values between the device and host memory or disk. The home of values is
// the buffer in which they stay between steps. If the home is on the device, every op except OUT
// and IN must read the values that it would read without offloading. If the home is in host memory
// or on disk, as for moments, values are fetched before an update and written back after it. The
// update must then read the values that are in the home. A segment always uses the same range of
// the home, and two segments never share one. At the end everything is written back.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "core/check/proofs.h"

namespace trainyard::check {
namespace {

using plan::Access;
using plan::Op;
using plan::OpKind;

bool is_offload_op(OpKind kind) { return kind == OpKind::offload || kind == OpKind::fetch; }
bool has_offload_ops(const plan::RankPlan& rank) {
  return std::any_of(rank.programs.begin(), rank.programs.end(), [](const plan::Program& program) {
    return std::any_of(program.ops.begin(), program.ops.end(),
                       [](const Op& op) { return is_offload_op(op.kind); });
  });
}

// Range [first, end) of a buffer that holds one symbolic value: element e of the buffer holds
// element e - base of value `id`.
struct CopiedPiece {
  std::int64_t first = 0, end = 0, id = 0, base = 0;
  bool operator==(const CopiedPiece&) const = default;
};

class CopiedContents {
 public:
  explicit CopiedContents(std::int64_t elements = 0, std::int64_t id = 0)
      : pieces_{{0, elements, id, 0}} {}

  // Returns the pieces of a span, each with one value. Their offsets are relative to the start of
  // the span. Adjacent pieces of one value are joined.
  std::vector<CopiedPiece> of(const Access& span) const {
    std::vector<CopiedPiece> list;
    for (const CopiedPiece& piece : pieces_) {
      const std::int64_t first = std::max(piece.first, span.first),
                         end = std::min(piece.end, span.first + span.count);
      if (first >= end) continue;
      const CopiedPiece part{first - span.first, end - span.first, piece.id,
                             piece.base - span.first};
      if (!list.empty() && list.back().id == part.id && list.back().base == part.base)
        list.back().end = part.end;
      else list.push_back(part);
    }
    return list;
  }

  void put(const Access& span, const std::vector<CopiedPiece>& parts) {
    std::vector<CopiedPiece> left;
    for (const CopiedPiece& piece : pieces_) {
      if (piece.first < std::min(piece.end, span.first))
        left.push_back({piece.first, std::min(piece.end, span.first), piece.id, piece.base});
      const std::int64_t after = std::max(piece.first, span.first + span.count);
      if (after < piece.end) left.push_back({after, piece.end, piece.id, piece.base});
    }
    for (const CopiedPiece& part : parts)
      left.push_back(
          {part.first + span.first, part.end + span.first, part.id, part.base + span.first});
    std::sort(left.begin(), left.end(),
              [](const CopiedPiece& a, const CopiedPiece& b) { return a.first < b.first; });
    pieces_ = std::move(left);
  }

 private:
  std::vector<CopiedPiece> pieces_;  // pieces in order, without gaps
};

// Symbolic execution of one rank.
class Offloading {
 public:
  Offloading(const plan::RankPlan& rank, Findings& findings)
      : rank_(rank),
        findings_(findings),
        is_followed_(rank.buffers.size()),
        persistent_(rank.buffers.size()) {
    for (const plan::Program& program : rank.programs) find_followed(program);
    for (std::size_t b = 0; b < rank.buffers.size(); ++b) {
      actual_.emplace_back(rank.buffers[b].elements, -1 - static_cast<std::int64_t>(b));
      without_.push_back(actual_.back());
    }
  }

  // Executes one op symbolically. Returns false after a finding.
  bool step(const Op& op, const FindingLocation& location) {
    location_ = location;
    if (is_offload_op(op.kind)) return move(op);
    for (const Access& read : op.reads)
      if (is_followed_[read.buffer.index()] && !reads(op, read)) return false;
    for (const Access& write : op.writes)
      if (is_followed_[write.buffer.index()] && !writes(op, write)) return false;
    return true;
  }

  void finish() {
    for (std::size_t b = 0; b < rank_.buffers.size(); ++b) {
      const Access all{plan::BufferId(b), 0, rank_.buffers[b].elements};
      if (!persistent_[b] || actual_[b].of(all) == without_[b].of(all)) continue;
      location_ = {rank_.rank, "", -1};
      report(fmt::format("changes of {} are not all written back", rank_.buffers[b].name),
             "Let OUT follow every update.");
      return;
    }
  }

 private:
  // Finds the buffers that OUT or IN use. If a buffer in host memory or on disk is read before
  // anything is offloaded to it, it holds persistent values.
  void find_followed(const plan::Program& program) {
    std::vector<bool> offloaded(rank_.buffers.size(), false);
    for (const Op& op : program.ops) {
      if (!is_offload_op(op.kind)) continue;
      for (const auto* accesses : {&op.reads, &op.writes})
        for (const Access& access : *accesses) is_followed_[access.buffer.index()] = true;
      for (const Access& write : op.writes)
        offloaded[write.buffer.index()] =
            offloaded[write.buffer.index()] || op.kind == OpKind::offload;
      for (const Access& read : op.reads)
        if (op.kind == OpKind::fetch && !offloaded[read.buffer.index()])
          persistent_[read.buffer.index()] = true;
    }
  }

  bool report(const std::string& what, const std::string& advice) {
    findings_.add(Proof::offloading, location_, what, "the same values as without offloading",
                  advice);
    return false;
  }

  bool move(const Op& op) {
    for (std::size_t i = 0; i < op.reads.size(); ++i) {
      const Access &from = op.reads[i], &to = op.writes[i];
      actual_[to.buffer.index()].put(to, actual_[from.buffer.index()].of(from));
      if (op.kind == OpKind::fetch && persistent_[from.buffer.index()])
        home_of_[{to.buffer.index(), to.first}] = from;
    }
    return true;
  }

  // Returns the home of a span on the device, which is the span that the op would access without
  // offloading. Null if the span was not fetched as one unit.
  const Access* home(const Access& span) const {
    const auto at = home_of_.find({span.buffer.index(), span.first});
    return at == home_of_.end() || at->second.count != span.count ? nullptr : &at->second;
  }
  bool holds_fetched(std::size_t buffer) const {
    return std::any_of(home_of_.begin(), home_of_.end(),
                       [&](const auto& entry) { return entry.first.first == buffer; });
  }

  bool reads(const Op& op, const Access& span) {
    const Access* home = this->home(span);
    if (home == nullptr && holds_fetched(span.buffer.index()))
      return report(
          fmt::format("the op reads {}, but no IN fetched that span", range_text(rank_, span)),
          "Add an IN that fetches the span before the op.");
    const Access& place = home == nullptr ? span : *home;
    if (actual_[span.buffer.index()].of(span) != without_[place.buffer.index()].of(place))
      return report(
          fmt::format("the op reads {}, which does not hold the values that were offloaded last",
                      range_text(rank_, span)),
          "Offload values after they are written, and fetch them before the op that reads "
          "them.");
    return home == nullptr || belongs_to_segment(op, *home);
  }

  bool belongs_to_segment(const Op& op, const Access& home) {
    const auto known = of_segment_.try_emplace({op.segment, home.buffer.index()}, home.first).first;
    const auto owner = owner_.try_emplace({home.buffer.index(), home.first}, op.segment).first;
    if (known->second == home.first && owner->second == op.segment) return true;
    return report(fmt::format("the op accesses {}, but each segment must always use the same range "
                              "of offloaded memory, and two segments must not share a range",
                              range_text(rank_, home)),
                  "Fetch the values of the op's segment.");
  }

  bool writes(const Op&, const Access& span) {
    const Access* home = this->home(span);
    if (home == nullptr && holds_fetched(span.buffer.index()))
      return report(
          fmt::format("the op writes {}, but no IN fetched that span", range_text(rank_, span)),
          "Add an IN that fetches the span before the op changes it.");
    const Access& place = home == nullptr ? span : *home;
    const std::vector<CopiedPiece> fresh{{0, span.count, ++values_, 0}};
    actual_[span.buffer.index()].put(span, fresh);
    without_[place.buffer.index()].put(place, fresh);
    return true;
  }

  const plan::RankPlan& rank_;
  Findings& findings_;
  FindingLocation location_;
  std::vector<bool> is_followed_,
      // by buffer: true if OUT or IN uses it (`is_followed_`); true if it is the home of persistent
      // values (`persistent_`)
      persistent_;
  std::vector<CopiedContents> actual_,
      without_;  // by buffer: actual contents, and contents without offloading
  std::map<std::pair<std::size_t, std::int64_t>, Access>
      // home of each fetched span, by its location on the device: buffer and first element
      home_of_;
  // first element that a segment uses in a home (buffer in which values stay between steps), by
  // segment and home
  std::map<std::pair<std::int32_t, std::size_t>, std::int64_t> of_segment_;
  // segment that uses a range of a home, by home and first element
  std::map<std::pair<std::size_t, std::int64_t>, std::int32_t> owner_;
  std::int64_t values_ = 0;
};

// Checks that copies are well-formed: OUT copies from the device and IN to the device, span by
// span. No other op may access buffers in host memory or on disk.
class Copies {
 public:
  Copies(const plan::RankPlan& rank, Findings& findings) : rank_(rank), findings_(findings) {}

  void run() {
    for (const plan::Program& program : rank_.programs)
      for (int i = 0; i < std::ssize(program.ops); ++i)
        inspect(program.ops[static_cast<std::size_t>(i)], {rank_.rank, program.name, i});
  }

 private:
  bool all(const std::vector<Access>& accesses, bool on_device) const {
    return std::all_of(accesses.begin(), accesses.end(), [&](const Access& access) {
      return (rank_.buffers[access.buffer.index()].place == plan::MemoryKind::device) == on_device;
    });
  }

  void inspect(const Op& op, const FindingLocation& location) {
    const bool out = op.kind == OpKind::offload;
    if (!is_offload_op(op.kind)) {
      if (!all(op.reads, true) || !all(op.writes, true))
        findings_.add(Proof::structure, location, "the op accesses an offloaded buffer",
                      "accesses of OUT and IN only", "");
      return;
    }
    const bool alike =
        std::equal(op.reads.begin(), op.reads.end(), op.writes.begin(), op.writes.end(),
                   [&](const Access& a, const Access& b) {
                     return a.count == b.count && rank_.buffers[a.buffer.index()].dtype ==
                                                      rank_.buffers[b.buffer.index()].dtype;
                   });
    if (op.reads.empty() || !alike || !all(op.reads, out) || !all(op.writes, !out))
      findings_.add(Proof::structure, location,
                    "the op does not copy between a buffer on the device and an offloaded buffer",
                    "copies between two spans of equal length and dtype, one on the device and one "
                    "in host memory or on disk",
                    "");
  }

  const plan::RankPlan& rank_;
  Findings& findings_;
};

// Executes a rank's ops in the order of the rehearsal, across steps.
void prove_rank(const Scope& scope, const plan::RankPlan& rank, Findings& findings) {
  Offloading proof(rank, findings);
  const auto step = [&](const plan::DryRun::At& at) {
    const auto& place = scope.run.place(at);
    return at.rank != rank.rank ||
           proof.step(scope.op(at), {at.rank, scope.program(at).name, place.op});
  };
  for (const plan::DryRun::Event& event : scope.run.events) {
    if (!event.completes) continue;
    for (const plan::DryRun::At& source : scope.run.sources_of(event))
      if (!step(source)) return;
    if (!step(event.at)) return;
  }
  proof.finish();
}

// Executes each program alone, in program order, for ranks whose programs start when a message
// arrives.
void prove_programs(const plan::RankPlan& rank, Findings& findings) {
  for (const plan::Program& program : rank.programs) {
    Offloading proof(rank, findings);
    for (int i = 0; i < std::ssize(program.ops); ++i)
      if (!proof.step(program.ops[static_cast<std::size_t>(i)], {rank.rank, program.name, i}))
        return;
  }
}

}  // namespace

bool has_offloading(const Scope& scope) {
  return std::any_of(scope.ranks.begin(), scope.ranks.end(),
                     [](const plan::RankPlan& rank) { return has_offload_ops(rank); });
}

void prove_copies(const Scope& scope, Findings& findings) {
  for (const plan::RankPlan& rank : scope.ranks) Copies(rank, findings).run();
}

void prove_offloading(const Scope& scope, Findings& findings) {
  for (const plan::RankPlan& rank : scope.ranks)
    if (has_offload_ops(rank))
      has_servers(scope) ? prove_programs(rank, findings) : prove_rank(scope, rank, findings);
}

}  // namespace trainyard::check
