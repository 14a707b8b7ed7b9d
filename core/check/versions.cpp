// SPDX-License-Identifier: GPL-3.0-or-later
// Proves weight versions by symbolic execution of a program in which an update follows every
// micro-batch (UPD.s2.m0). The version of a segment's parameters is the number of their updates so
// far in the step. STASH copies a version. Backward and recomputation of a micro-batch must use the
// version of its forward pass. A segment is updated once per micro-batch, in order, after that
// micro-batch's RATE op (RATE.m0), which writes the learning rate. If replicas process different
// micro-batches with the same number, each loss states its replica's fraction of the update's
// samples (LOSS.m0 weights 4/8). These fractions must add up to 1.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/base/units.h"
#include "core/check/cells.h"
#include "core/check/proofs.h"

namespace trainyard::check {
namespace {

using plan::Op;
using plan::OpKind;
using plan::Program;

bool updates_each(const Program& program) {
  return std::any_of(program.ops.begin(), program.ops.end(),
                     [](const Op& op) { return op.kind == OpKind::update && op.micro >= 0; });
}

bool is_backward_op(OpKind kind) {
  return kind == OpKind::backward_input || kind == OpKind::backward_weight ||
         kind == OpKind::recompute;
}

// Weight version that a cell of the parameters or of the stash holds.
struct Version {
  // first parameter of the cell; -1: nothing was stashed in this program
  std::int64_t element = -1;
  std::int32_t updates = 0;
  bool operator==(const Version&) const = default;
};
using Versions = std::vector<Version>;

// Symbolic execution of one program, on one rank. All relevant ops are on its compute lane.
class VersionTracker {
 public:
  VersionTracker(const plan::RankPlan& rank, int program, const Cells& cells, Findings& findings)
      : rank_(rank),
        number_(program),
        cells_(cells),
        findings_(findings),
        parameters_(rank.buffer("params")),
        stash_(rank.buffer("stash")) {}

  void run() {
    std::set<std::int32_t> micros;
    for (std::size_t i = 0; i < program().ops.size(); ++i) {
      op_ = static_cast<int>(i);
      if (const Op& op = program().ops[i];
          op.micro >= 0 && (op.kind == OpKind::forward || op.kind == OpKind::rate))
        micros.insert(op.micro);
      if (!step(program().ops[i])) return;
    }
    op_ = -1;
    for (const auto& [segment, next] : next_)
      if (std::cmp_not_equal(next, micros.size())) {
        report(
            fmt::format("the program updates segment {} with gradients of only {} of {}", segment,
                        next, base::counted(std::ssize(micros), "micro-batch", "micro-batches")),
            "every micro-batch, once", "Let an update follow every backward pass.");
        return;
      }
  }

 private:
  const Program& program() const { return rank_.programs[static_cast<std::size_t>(number_)]; }

  bool report(const std::string& what, const std::string& accepted, const std::string& advice) {
    findings_.add(Proof::versions, FindingLocation{rank_.rank, program().name, op_}, what, accepted,
                  advice);
    return false;
  }

  bool step(const Op& op) {
    if (op.kind == OpKind::rate && op.micro >= 0) return counted_ = op.micro, true;
    if (op.kind == OpKind::update) return update(op);
    if (op.kind == OpKind::stash) return stash(op);
    if (op.micro < 0) return true;
    if (op.kind == OpKind::forward || op.kind == OpKind::partial) go_forward(op);
    return !is_backward_op(op.kind) || uses_forward_version(op);
  }

  // Records the weight version of a forward pass. If a layer is split, PART reads the parameters;
  // the activation after it reads none.
  void go_forward(const Op& op) {
    if (Versions versions = read_by(op); !versions.empty())
      forward_[{op.segment, op.micro}] = std::move(versions);
  }

  bool update(const Op& op) {
    if (op.micro != next_[op.segment]++ || op.micro != counted_)
      return report(
          "the update is out of order, or no RATE op counted its micro-batch before it",
          "one update per micro-batch, in order, each after the RATE op of its micro-batch",
          "Let each update follow the backward pass of its micro-batch.");
    for (const Span& span : spans().writes)
      if (is(span, parameters_))
        for (std::size_t c = span.first; c < span.last; ++c) ++updates_[c];
    return true;
  }

  bool stash(const Op& op) {
    const Versions versions = op.reads.size() == 1 ? read_by(op) : Versions();
    const bool fits = op.writes.size() == 1 && is(spans().writes.front(), stash_) &&
                      spans().writes.front().last - spans().writes.front().first == versions.size();
    if (!fits || versions.empty())
      return report("the op does not copy the full parameters of a segment to the stash",
                    "a copy of all parameters of a segment to a span of equal length in the stash",
                    "Copy all parameters of the segment.");
    for (std::size_t i = 0; i < versions.size(); ++i)
      stashed_[spans().writes.front().first + i] = versions[i];
    return true;
  }

  bool uses_forward_version(const Op& op) {
    const Versions found = read_by(op);
    const auto wanted = forward_.find({op.segment, op.micro});
    if (found.empty() || (wanted != forward_.end() && wanted->second == found)) return true;
    return report(fmt::format("{} uses a different weight version than forward",
                              op.kind == OpKind::recompute ? "recomputation" : "backward"),
                  "the weight version of the forward pass",
                  "Stash the weights before the next update, and read the stash until the backward "
                  "pass of the micro-batch ends.");
  }

  // Returns the versions of the parameters that an op reads, current or stashed.
  Versions read_by(const Op&) const {
    Versions versions;
    for (const Span& span : spans().reads)
      for (std::size_t c = span.first; c < span.last; ++c) {
        if (is(span, parameters_))
          versions.push_back({cells_.range(span.buffer, c).first, count_of(c)});
        if (is(span, stash_)) versions.push_back(stashed_in(c));
      }
    return versions;
  }

  const OpSpans& spans() const { return cells_.of(number_, op_); }
  static bool is(const Span& span, plan::BufferId buffer) {
    return buffer.valid() && span.buffer == buffer.index();
  }
  std::int32_t count_of(std::size_t cell) const {
    const auto at = updates_.find(cell);
    return at == updates_.end() ? 0 : at->second;
  }
  Version stashed_in(std::size_t cell) const {
    const auto at = stashed_.find(cell);
    return at == stashed_.end() ? Version() : at->second;
  }

  const plan::RankPlan& rank_;
  int number_, op_ = 0;
  const Cells& cells_;
  Findings& findings_;
  plan::BufferId parameters_, stash_;
  // number of updates in this step so far, by cell of the parameters
  std::map<std::size_t, std::int32_t> updates_;
  // stashed version, by cell of the stash
  std::map<std::size_t, Version> stashed_;
  // versions that the forward pass used; the key is {segment, micro-batch}
  std::map<std::pair<std::int32_t, std::int32_t>, Versions> forward_;
  std::map<std::int32_t, std::int32_t> next_;  // next micro-batch to update, by segment
  std::int32_t counted_ = -1;
};

// The losses of one micro-batch of one program on all ranks, and the fraction of an update's
// samples that each loss states.
struct UpdateFractions {
  std::vector<FindingLocation> locations;  // locations of losses, one per replica
  std::int64_t samples = 0;
  std::set<std::int64_t> of;
};

void add_parts(const plan::RankPlan& rank, const Program& program,
               std::map<std::pair<std::string, std::int32_t>, UpdateFractions>& parts) {
  const plan::BufferId metrics =
      rank.buffer("metrics");  // if ranks split a layer, only one of them writes metrics
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    const bool tells =
        std::any_of(op.writes.begin(), op.writes.end(),
                    [&](const plan::Access& write) { return write.buffer == metrics; });
    if (op.kind != OpKind::loss || !tells) continue;
    UpdateFractions& of_update = parts[{program.name, op.micro}];
    of_update.locations.push_back({rank.rank, program.name, static_cast<int>(i)});
    of_update.samples += op.weights.numerators.empty() ? 0 : op.weights.numerators.front();
    of_update.of.insert(op.weights.denominator);
  }
}

void prove_parts_of_updates(const Scope& scope, Findings& findings) {
  std::map<std::pair<std::string, std::int32_t>, UpdateFractions> parts;
  for (const plan::RankPlan& rank : scope.ranks)
    for (const Program& program : rank.programs)
      if (updates_each(program)) add_parts(rank, program, parts);
  for (const auto& [number, update] : parts)
    if ((update.locations.size() > 1 || update.samples > 0) &&
        (update.of.size() != 1 || update.samples != *update.of.begin()))
      return findings.add(
          Proof::versions, update.locations.front(),
          "the sample fractions of the losses of all replicas do not add up to 1",
          "fractions that add up to all samples of the update",
          "Weight each loss by its replica's fraction of the samples of the update.");
}

}  // namespace

bool has_versions(const Scope& scope) {
  return std::any_of(scope.ranks.begin(), scope.ranks.end(), [](const plan::RankPlan& rank) {
    return std::any_of(rank.programs.begin(), rank.programs.end(), updates_each);
  });
}

void prove_versions(const Scope& scope, Findings& findings) {
  prove_parts_of_updates(scope, findings);
  for (const plan::RankPlan& rank : scope.ranks) {
    if (std::none_of(rank.programs.begin(), rank.programs.end(), updates_each)) continue;
    const Cells cells(rank);
    for (std::size_t p = 0; p < rank.programs.size(); ++p)
      if (updates_each(rank.programs[p]))
        VersionTracker(rank, static_cast<int>(p), cells, findings).run();
  }
}

}  // namespace trainyard::check
