// SPDX-License-Identifier: GPL-3.0-or-later
// Micro-steps: a rank's own gradient, before any other rank's is added, is the sum over all micro-steps of the step, each once. In the
// order of the compute lane, every element of a gradient is followed: what writes it without reading it replaces what was there, what
// reads it too adds. An update or a norm reads nothing but what holds every micro-step that samples of the rank were loaded for, or where
// what is learnt are columns, that any were loaded for. Programs of one have nothing to prove.
#include <algorithm>
#include <set>

#include "core/check/cells.h"
#include "core/check/proofs.h"

namespace trainyard::check {
namespace {

using plan::Op;
using plan::OpKind;
using plan::Program;
using plan::RankPlan;

bool uses_gradient(OpKind kind) { return kind == OpKind::update || kind == OpKind::norm; }

bool accumulates(const RankPlan& rank) {
  const auto later = [](const Op& op) { return op.micro > 0; };
  return std::any_of(rank.programs.begin(), rank.programs.end(), [&](const Program& p) { return std::any_of(p.ops.begin(), p.ops.end(), later); });
}

// Whether a rank loads samples of its own, and not but columns of those of others.
bool brings_own(const Op& load) {
  return !load.columns.any() || std::all_of(load.writes.begin(), load.writes.end(), [](const plan::Access& write) { return write.count > 0; });
}

// What one element holds.
struct Sum {
  std::set<std::int32_t> micros;
  bool columns = false;  // of the samples of all ranks
  bool old = true;       // from before the program
  bool twice = false;    // a micro-step was added again
};

class MicroSteps {
 public:
  MicroSteps(const RankPlan& rank, int program, Cells& cells, Findings& findings)
      : rank_(rank), program_(rank.programs[static_cast<std::size_t>(program)]), number_(program), cells_(cells), findings_(findings) {
    for (const Op& op : program_.ops) {
      if (op.kind == OpKind::load && op.micro >= 0) all_.insert(op.micro);
      if (op.kind == OpKind::load && op.micro >= 0 && brings_own(op)) own_.insert(op.micro);
      if (op.kind == OpKind::backward_weight) add_gradients(op);
    }
  }

  void run() {
    if (all_.size() < 2) return;
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      const Op& op = program_.ops[i];
      const OpSpans& spans = cells_.of(number_, static_cast<int>(i));
      if (op.kind == OpKind::backward_weight || op.kind == OpKind::zero) write(op, spans);
      if (uses_gradient(op.kind) && !reads_all(static_cast<int>(i), spans)) return;
    }
  }

 private:
  using Place = std::pair<std::size_t, std::size_t>;  // buffer and cell

  // What a backward pass writes and an update or norm reads.
  void add_gradients(const Op& writer) {
    for (const plan::Access& write : writer.writes)
      for (const Op& op : program_.ops)
        if (uses_gradient(op.kind) && std::any_of(op.reads.begin(), op.reads.end(), [&](const plan::Access& read) { return read.buffer == write.buffer; }))
          gradients_.insert(write.buffer.index());
  }

  void write(const Op& op, const OpSpans& spans) {
    std::set<Place> read;
    for (const Span& span : spans.reads)
      for (std::size_t c = span.first; c < span.last; ++c) read.insert({span.buffer, c});
    for (const Span& span : spans.writes)
      for (std::size_t c = span.first; c < span.last && gradients_.contains(span.buffer); ++c) {
        Sum& sum = sums_[{span.buffer, c}];
        if (!read.contains({span.buffer, c})) sum = {{}, op.columns.any(), false, false};
        if (op.kind == OpKind::zero) sum.micros = own_;
        else sum.twice |= !sum.micros.insert(op.micro).second;
      }
  }

  bool reads_all(int op, const OpSpans& spans) {
    for (const Span& span : spans.reads)
      for (std::size_t c = span.first; c < span.last && gradients_.contains(span.buffer); ++c) {
        const Sum& sum = sums_[{span.buffer, c}];
        if (!sum.old && !sum.twice && sum.micros == wanted(sum)) continue;
        findings_.add(Proof::meaning, Spot{rank_.rank, program_.name, op}, "reads " + range_text(rank_, cells_.range(span.buffer, c)) + in_words(sum),
                      "the sum over all micro-steps of the step, each once",
                      "Let the first backward pass overwrite the gradient, and each later one add to it.");
        return false;
      }
    return true;
  }

  std::string in_words(const Sum& sum) const {
    if (sum.old) return ", which still holds what was there before the step";
    if (sum.twice) return ", to which a micro-step was added twice";
    return ", which holds " + std::to_string(sum.micros.size()) + " of " + std::to_string(wanted(sum).size()) + " micro-steps";
  }
  const std::set<std::int32_t>& wanted(const Sum& sum) const { return sum.columns ? all_ : own_; }

  const RankPlan& rank_;
  const Program& program_;
  int number_;
  Cells& cells_;
  Findings& findings_;
  std::set<std::int32_t> all_, own_;  // micro-steps: with samples, with such of the rank itself
  std::set<std::size_t> gradients_;   // buffers
  std::map<Place, Sum> sums_;
};

}  // namespace

void prove_micro_steps(const Scope& scope, Findings& findings) {
  for (const RankPlan& rank : scope.ranks) {
    if (!accumulates(rank)) continue;
    Cells cells(rank);
    for (std::size_t p = 0; p < rank.programs.size(); ++p) MicroSteps(rank, static_cast<int>(p), cells, findings).run();
  }
}

}  // namespace trainyard::check
