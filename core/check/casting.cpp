// SPDX-License-Identifier: GPL-3.0-or-later
// Checks each program for correct casts, in the order of its ops. A CAST writes the same number of
// elements as it reads, in another dtype. An op that reads cast values must read the full output of
// one CAST of this program. Between that CAST and the read, no op may write the CAST's output or
// source. So the reader uses the current source, and later checks treat the read as a read of the
// source. If the loss is scaled, every read of the scale comes before SCALE changes it, and updates
// use a factor that removes the scale.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/check/proofs.h"
#include "core/plan/overlap.h"

namespace trainyard::check {
namespace {

using plan::Access;
using plan::Op;
using plan::OpKind;
using plan::Program;
using plan::RankPlan;

bool casts(const Program& program) {
  return std::any_of(program.ops.begin(), program.ops.end(),
                     [](const Op& op) { return op.kind == OpKind::cast; });
}
// Output span and source span of a CAST op.
struct CastSpans {
  Access output, source;
};

class Casts {
 public:
  // Returns the source of the CAST whose output is `read`; null if the output or the source was
  // written after the CAST.
  const Access* source_of(const Access& read) const {
    const auto at = std::find_if(made_.begin(), made_.end(),
                                 [&](const CastSpans& made) { return made.output == read; });
    return at == made_.end() ? nullptr : &at->source;
  }

  void pass(const Op& op) {
    for (const Access& write : op.writes)
      std::erase_if(made_, [&](const CastSpans& made) {
        return overlap(made.output, write) || overlap(made.source, write);
      });
    if (op.kind == OpKind::cast) made_.push_back({op.writes.front(), op.reads.front()});
  }

 private:
  std::vector<CastSpans> made_;
};

// Returns the buffers that a CAST writes.
std::vector<bool> made_buffers(const RankPlan& rank) {
  std::vector<bool> made(rank.buffers.size(), false);
  for (const Program& program : rank.programs)
    for (const Op& op : program.ops)
      if (op.kind == OpKind::cast && !op.writes.empty())
        made[op.writes.front().buffer.index()] = true;
  return made;
}

class Casting {
 public:
  Casting(const RankPlan& rank, Findings& findings)
      : rank_(rank), made_(made_buffers(rank)), findings_(findings) {}

  void judge(const Program& program) {
    Casts casts;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const Op& op = program.ops[i];
      location_ = {rank_.rank, program.name, static_cast<int>(i)};
      if (op.kind == OpKind::cast ? !has_equal_spans(op) : !reads_valid_casts(op, casts)) return;
      casts.pass(op);
    }
  }

 private:
  bool report(const std::string& what, const std::string& accepted, const std::string& advice) {
    findings_.add(Proof::casting, location_, what, accepted, advice);
    return false;
  }

  bool has_equal_spans(const Op& op) {
    const bool fits = op.reads.size() == 1 && op.writes.size() == 1 &&
                      op.reads.front().count == op.writes.front().count &&
                      op.reads.front().buffer != op.writes.front().buffer;
    return fits ||
           report("the op casts spans of different lengths, or in place",
                  "a CAST that reads one span and writes a span of equal length in another buffer",
                  "");
  }

  bool reads_valid_casts(const Op& op, const Casts& casts) {
    for (const Access& read : op.reads)
      if (made_[read.buffer.index()] && casts.source_of(read) == nullptr)
        return report(
            fmt::format("the op reads {}, which is not the cast of the current values",
                        range_text(rank_, read)),
            "the output of one CAST",
            "Add a CAST before the op, and another one after every change of the source.");
    for (const Access& write : op.writes)
      if (made_[write.buffer.index()])
        return report(
            fmt::format("the op writes {}, which holds cast values", range_text(rank_, write)),
            "only CAST writes there", "Write the result of the op to another buffer.");
    return true;
  }

  const RankPlan& rank_;
  std::vector<bool> made_;
  Findings& findings_;
  FindingLocation location_;
};

// Checks loss scaling in one program of a rank that has a loss scale.
class Scaling {
 public:
  Scaling(const RankPlan& rank, const Program& program, Findings& findings)
      : rank_(rank), program_(program), findings_(findings), scale_(rank.buffer("loss_scale")) {}

  void judge() {
    bool changed = false, found = false;
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      const Op& op = program_.ops[i];
      const bool reads = std::any_of(op.reads.begin(), op.reads.end(),
                                     [&](const Access& read) { return read.buffer == scale_; });
      if (op.kind == OpKind::scale) changed = true;
      else if (reads && changed && !plan::communicates(op.kind))
        return report(i, "the op runs after SCALE, so it reads the loss scale of the next step");
      else if (op.kind == OpKind::clip && !reads)
        return report(i, "the op clips scaled gradients but does not read the loss scale");
      else if (op.kind == OpKind::clip) found = true;
      else if (op.kind == OpKind::update && !found)
        return report(i, "the update uses gradients that are still scaled");
    }
  }

 private:
  void report(std::size_t op, const std::string& what) {
    findings_.add(
        Proof::casting, FindingLocation{rank_.rank, program_.name, static_cast<int>(op)}, what,
        "LOSS and CLIP that read the same loss scale, before any update and before SCALE", "");
  }

  const RankPlan& rank_;
  const Program& program_;
  Findings& findings_;
  plan::BufferId scale_;
};

// Replaces every read of a cast value by a read of its source, and removes reads of the scale.
void remove_casts(RankPlan& rank) {
  const std::vector<bool> made = made_buffers(rank);
  const plan::BufferId scale = rank.buffer("loss_scale");
  for (Program& program : rank.programs) {
    Casts casts;
    for (Op& op : program.ops) {
      for (Access& read : op.reads)
        if (const Access* source = made[read.buffer.index()] ? casts.source_of(read) : nullptr)
          read = *source;
      casts.pass(op);
      if (scale.valid() && !plan::communicates(op.kind))
        std::erase_if(op.reads, [&](const Access& read) { return read.buffer == scale; });
    }
  }
}

}  // namespace

bool has_casting(const Scope& scope) {
  return std::any_of(scope.ranks.begin(), scope.ranks.end(), [](const RankPlan& rank) {
    return std::any_of(rank.programs.begin(), rank.programs.end(), casts);
  });
}

void prove_casting(const Scope& scope, Findings& findings) {
  for (const RankPlan& rank : scope.ranks) {
    Casting casting(rank, findings);
    for (const Program& program : rank.programs) {
      casting.judge(program);
      if (rank.buffer("loss_scale").valid()) Scaling(rank, program, findings).judge();
    }
  }
}

Scope without_casts(Scope scope) {
  for (RankPlan& rank : scope.ranks) remove_casts(rank);
  return scope;
}

}  // namespace trainyard::check
