// SPDX-License-Identifier: GPL-3.0-or-later
// Proves gradient accumulation: a rank's local gradient is the sum over all micro-steps of the
// step, each once, before gradients of other ranks are added. The check follows every element of a
// gradient in the order of the compute lane. An op that only writes the element replaces its value;
// an op that also reads it adds to it. An update or norm must read the sum over every micro-step in
// which the rank processed samples. If a rank loads only some feature columns, of the samples of
// all ranks, the sum must be over every micro-step in which any rank loaded samples. An update of
// one micro-step (UPD.s0.m1) must read exactly the gradient of that micro-step. If several segments
// share parameters, the gradient must contain one term of each. A program with one micro-step and
// no shared parameters needs no check.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/units.h"
#include "core/check/cells.h"
#include "core/check/proofs.h"
#include "core/plan/overlap.h"

namespace trainyard::check {
namespace {

using plan::Op;
using plan::OpKind;
using plan::Program;
using plan::RankPlan;

bool uses_gradient(OpKind kind) { return kind == OpKind::update || kind == OpKind::norm; }

// True if two segments compute the gradient of the same parameters in a micro-step.
bool shares_parameters(const Program& program) {
  std::map<std::int64_t, const Op*> by_first;  // ops that write the gradient, by its first element
  const auto learns = [](const Op& op) {
    return op.kind == OpKind::backward_weight && op.micro == 0 && !op.writes.empty();
  };
  for (const Op& op : program.ops) {
    if (!learns(op)) continue;
    const auto [at, fresh] = by_first.emplace(op.writes.front().first, &op);
    if (!fresh && at->second->segment != op.segment &&
        overlap(at->second->writes.front(), op.writes.front()))
      return true;
  }
  return false;
}

bool accumulates(const Program& program) {
  return shares_parameters(program) || std::any_of(program.ops.begin(), program.ops.end(),
                                                   [](const Op& op) { return op.micro > 0; });
}

// True if the rank loads the samples of all ranks, but only some feature columns of each sample.
bool has_columns(const Program& program) {
  return std::any_of(program.ops.begin(), program.ops.end(),
                     [](const Op& op) { return op.kind == OpKind::load && op.columns.any(); });
}

// True if the rank processes its own samples in the micro-step. False if it only processes columns
// of other ranks' samples.
bool processes_own_samples(const Op& op, bool has_columns) {
  const bool passes = op.kind == OpKind::forward || (op.kind == OpKind::partial && !has_columns);
  return passes && op.micro >= 0 && !op.writes.empty() && op.writes.front().count > 0;
}

using SegmentTerm =
    std::pair<std::int32_t, std::int32_t>;  // term of a gradient: {micro-step, segment}

// Symbolic value of one element of a gradient: the terms that it sums.
struct Sum {
  std::set<SegmentTerm> parts;
  bool columns = false;  // true if the terms cover samples of all ranks
  bool old = true;       // true if the value is from before the program
  bool twice = false;    // true if a term was added twice
};

class MicroSteps {
 public:
  MicroSteps(const RankPlan& rank, int program, Cells& cells, Findings& findings)
      : rank_(rank),
        program_(rank.programs[static_cast<std::size_t>(program)]),
        number_(program),
        cells_(cells),
        findings_(findings) {
    for (const Op& op : program_.ops) {
      if (op.kind == OpKind::load && op.micro >= 0) all_.insert(op.micro);
      if (processes_own_samples(op, has_columns(program_))) own_.insert(op.micro);
      if (op.kind == OpKind::backward_weight) add_gradients(op);
      updates_each_ = updates_each_ || (op.kind == OpKind::update && op.micro >= 0);
    }
  }

  void run() {
    collect_gradient_writers();
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      const Op& op = program_.ops[i];
      const OpSpans& spans = cells_.of(number_, static_cast<int>(i));
      if (op.kind == OpKind::backward_weight || op.kind == OpKind::zero) write(op, spans);
      if (uses_gradient(op.kind) && !reads_full_gradient(static_cast<int>(i), spans)) return;
    }
  }

 private:
  using CellKey = std::pair<std::size_t, std::size_t>;  // buffer and cell

  // Collects the buffers that a backward pass writes and that an update or norm reads.
  void add_gradients(const Op& writer) {
    for (const plan::Access& write : writer.writes)
      for (const Op& op : program_.ops)
        if (uses_gradient(op.kind) &&
            std::any_of(op.reads.begin(), op.reads.end(),
                        [&](const plan::Access& read) { return read.buffer == write.buffer; }))
          gradients_.insert(write.buffer.index());
  }

  // Collects, for each cell of a gradient, the segments that write it.
  void collect_gradient_writers() {
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      if (program_.ops[i].kind != OpKind::backward_weight) continue;
      for (const Span& span : cells_.of(number_, static_cast<int>(i)).writes)
        for (std::size_t c = span.first; c < span.last && gradients_.contains(span.buffer); ++c)
          gradient_writers_[{span.buffer, c}].insert(program_.ops[i].segment);
    }
  }

  void write(const Op& op, const OpSpans& spans) {
    std::set<CellKey> read;
    for (const Span& span : spans.reads)
      for (std::size_t c = span.first; c < span.last; ++c) read.insert({span.buffer, c});
    for (const Span& span : spans.writes)
      for (std::size_t c = span.first; c < span.last && gradients_.contains(span.buffer); ++c) {
        const CellKey place{span.buffer, c};
        Sum& sum = sums_[place];
        if (!read.contains(place)) sum = {{}, op.columns.any(), false, false};
        if (op.kind == OpKind::zero)
          sum.parts = all_gradient_terms(updates_each_ ? std::set{op.micro} : own_, place);
        else sum.twice |= !sum.parts.insert({op.micro, op.segment}).second;
      }
  }

  bool reads_full_gradient(int op, const OpSpans& spans) {
    for (const Span& span : spans.reads)
      for (std::size_t c = span.first; c < span.last && gradients_.contains(span.buffer); ++c) {
        const Sum& sum = sums_[{span.buffer, c}];
        const std::int32_t micro = program_.ops[static_cast<std::size_t>(op)].micro;
        const std::set<SegmentTerm> wanted = all_gradient_terms(micro >= 0    ? std::set{micro}
                                                                : sum.columns ? all_
                                                                              : own_,
                                                                {span.buffer, c});
        if (!sum.old && !sum.twice && sum.parts == wanted) continue;
        findings_.add(Proof::meaning, FindingLocation{rank_.rank, program_.name, op},
                      fmt::format("the op reads the gradient {}, which {}",
                                  range_text(rank_, cells_.range(span.buffer, c)),
                                  describe(sum, wanted.size())),
                      micro >= 0 ? fmt::format("the gradient of micro-step {}, which contains one "
                                               "term of each segment that shares the parameters",
                                               micro)
                                 : "a sum that contains each micro-step of the step once, with one "
                                   "term of each segment that shares the parameters",
                      micro >= 0 ? "Let the backward pass of each micro-step overwrite the "
                                   "gradient, and let the update of that micro-step follow it."
                                 : "Let the first backward pass overwrite the gradient, and each "
                                   "later one add to it.");
        return false;
      }
    return true;
  }

  static std::string describe(const Sum& sum, std::size_t wanted) {
    if (sum.old) return "still holds the value from before the step";
    if (sum.twice) return "contains a micro-step twice";
    return fmt::format("holds {} of {} of the micro-steps", sum.parts.size(),
                       base::counted(static_cast<std::int64_t>(wanted), "term"));
  }

  std::set<SegmentTerm> all_gradient_terms(const std::set<std::int32_t>& micros,
                                           const CellKey& place) const {
    std::set<SegmentTerm> parts;
    const auto writers = gradient_writers_.find(place);
    for (const std::int32_t micro : micros)
      for (const std::int32_t segment :
           writers != gradient_writers_.end() ? writers->second : std::set<std::int32_t>{-1})
        parts.insert({micro, segment});
    return parts;
  }

  const RankPlan& rank_;
  const Program& program_;
  int number_;
  Cells& cells_;
  Findings& findings_;
  bool updates_each_ = false;  // true if an update follows each micro-step
  // micro-steps in which any rank loads samples (`all_`), and in which this rank processes samples
  // (`own_`)
  std::set<std::int32_t> all_, own_;
  std::set<std::size_t> gradients_;  // indices of gradient buffers
  // segments that write a gradient, by cell of the gradient
  std::map<CellKey, std::set<std::int32_t>> gradient_writers_;
  std::map<CellKey, Sum> sums_;
};

}  // namespace

void prove_micro_steps(const Scope& scope, Findings& findings) {
  for (const RankPlan& rank : scope.ranks) {
    if (std::none_of(rank.programs.begin(), rank.programs.end(), accumulates)) continue;
    Cells cells(rank);
    for (std::size_t p = 0; p < rank.programs.size(); ++p)
      if (accumulates(rank.programs[p]))
        MicroSteps(rank, static_cast<int>(p), cells, findings).run();
  }
}

}  // namespace trainyard::check
