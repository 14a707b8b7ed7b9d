// SPDX-License-Identifier: GPL-3.0-or-later
// Proves by symbolic execution that ranks with different layers pass the right values. Each cell
// (range of elements) of a buffer holds values of one micro-batch. These values are samples, the
// output of a segment, sums of its batch norm, or the gradient of its output with the terms that
// later segments have added so far. F writes an output, LOSS and B write terms of a gradient, and a
// broadcast copies values to the receiver. The name of a buffer defines what it holds (act.s1,
// grad.s1, ...). An op may read only values of its own micro-batch, and only gradients that contain
// all terms. Every segment processes every micro-batch of its replica once forward and once
// backward. Usually one rank processes all micro-batches of its segment; the callers of a remote
// segment process them together.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/base/units.h"
#include "core/check/buckets.h"
#include "core/check/cells.h"
#include "core/check/proofs.h"
#include "core/check/replicas.h"

namespace trainyard::check {
namespace {

using At = plan::DryRun::At;
using plan::Access;
using plan::Op;
using plan::OpKind;

constexpr std::int32_t kLoss = -1;  // marks the term of a gradient that LOSS adds

bool is_pass(OpKind kind) {
  return kind == OpKind::forward || kind == OpKind::partial || kind == OpKind::recompute ||
         kind == OpKind::loss || kind == OpKind::backward_input || kind == OpKind::backward_weight;
}

enum class Role { other, samples, output, sums, gradient };

// Role and segment of a buffer, according to its name.
struct Use {
  Role role = Role::other;
  std::int32_t segment = -1;
};

Use use_of(const std::string& name) {
  if (name == "input" || name == "labels" || name == "sample_numbers") return {Role::samples, -1};
  for (const auto& [prefix, role] :
       {std::pair{"act.s", Role::output}, {"sums.s", Role::sums}, {"grad.s", Role::gradient}})
    if (name.starts_with(prefix))
      return {role, std::stoi(name.substr(std::string_view(prefix).size()))};
  return {};
}

// Symbolic value of a cell: what it holds, and of which micro-batch.
struct Held {
  Use use;
  std::int32_t micro = -1;       // micro-batch; -1: no value of this step
  std::set<std::int32_t> parts;  // terms of a gradient: segments, and kLoss
  // columns of the layer that the value contains or is computed from; empty: all columns
  plan::Columns columns = {};
};

// Symbolic execution of one program, on all ranks.
class Passing {
 public:
  Passing(const Scope& scope, std::string program, Findings& findings)
      : scope_(scope),
        program_(std::move(program)),
        findings_(findings),
        replicas_(scope, program_) {
    for (const plan::RankPlan& rank : scope.ranks) {
      cells_.emplace_back(rank);
      auto& uses = uses_.emplace_back();
      for (const plan::Buffer& buffer : rank.buffers) uses.push_back(use_of(buffer.name));
      if (const int number = rank.program(program_); number >= 0)
        learn_parts(rank, rank.programs[static_cast<std::size_t>(number)]);
    }
    for (const plan::RankPlan& rank : scope.ranks)
      last_micro_of_replica_[replicas_.of(rank.rank)] =
          std::max(last_micro_of(rank.rank), last_micros_[rank.rank]);
  }

  bool step(const plan::DryRun::Event& event) {
    if (!event.completes) return true;
    const Op& op = scope_.op(event.at);
    if (op.kind == OpKind::load) return take_in(event.at, op);
    if (is_pass(op.kind)) return pass(event.at, op);
    if (plan::communicates(op.kind) && is_of_broadcast(scope_.program(event.at), op))
      return hand_on(event, op);
    return true;
  }

  // Checks at the end of the program that every segment has processed all micro-batches.
  void finish() {
    for (const auto& [pass, micros] : taken_)
      if (const auto all = static_cast<std::size_t>(last_micro_of(pass.rank)) + 1;
          taken_together(pass) < all)
        return findings_.add(
            Proof::passing, FindingLocation{pass.rank, program_, -1},
            fmt::format(
                "the {} pass of segment {} processes only {} of {}",
                pass.kind == OpKind::forward || pass.kind == OpKind::partial ? "forward"
                                                                             : "backward",
                pass.segment, micros.size(),
                base::counted(static_cast<std::int64_t>(all), "micro-batch", "micro-batches")),
            "every micro-batch, once",
            "Let the schedule process every micro-batch in every stage.");
  }

 private:
  struct Pass {
    std::int32_t rank = 0;
    OpKind kind = OpKind::forward;
    std::int32_t segment = 0;
    bool operator<(const Pass& other) const {
      return std::tie(rank, kind, segment) < std::tie(other.rank, other.kind, other.segment);
    }
  };

  // Returns how many micro-batches a segment processed in this direction on all ranks of the
  // replica. Ranks that processed the same micro-batches hold parts of one layer, so their
  // micro-batches count once. Ranks that processed disjoint micro-batches are callers of a remote
  // segment, so their counts are added. If two ranks have only some micro-batches in common, one of
  // them left some out, and the smaller count is returned.
  std::size_t taken_together(const Pass& pass) const {
    std::set<std::int32_t> all = taken_.at(pass);
    const std::set<std::int32_t> own = all;
    for (const auto& [other, micros] : taken_) {
      if (other.kind != pass.kind || other.segment != pass.segment ||
          replicas_.of(other.rank) != replicas_.of(pass.rank))
        continue;
      const bool apart = std::none_of(micros.begin(), micros.end(),
                                      [&](std::int32_t micro) { return own.contains(micro); });
      if (apart) all.insert(micros.begin(), micros.end());
      else if (micros != own) return std::min(micros.size(), own.size());
    }
    return all.size();
  }

  const Use& use(std::int32_t rank, plan::BufferId buffer) const {
    return uses_[static_cast<std::size_t>(rank)][buffer.index()];
  }
  const OpSpans& spans(const At& at) const {
    const auto& place = scope_.run.place(at);
    return cells_[static_cast<std::size_t>(at.rank)].of(scope_.run.program(at.rank, place),
                                                        place.op);
  }
  Held& held(std::int32_t rank, std::size_t buffer, std::size_t cell) {
    return held_[{rank, buffer, cell}];
  }
  std::int32_t last_micro_of(std::int32_t rank) {
    return last_micro_of_replica_[replicas_.of(rank)];
  }

  bool report(const At& at, const std::string& what, const std::string& advice) {
    findings_.add(Proof::passing, at, what,
                  "complete values of the micro-batch that the op processes", advice);
    return false;
  }
  std::string name(const At& at, const Span& span) const {
    return range_text(scope_.rank(at.rank),
                      cells_[static_cast<std::size_t>(at.rank)].range(span.buffer, span.first));
  }

  // True for kinds of ops that a replica runs even in micro-batches in which it has no samples.
  static bool without_samples(const Op& op) {
    if (op.kind == OpKind::rate || op.kind == OpKind::stash || op.kind == OpKind::update)
      return true;
    const auto is_empty = [](const Access& write) { return write.count == 0; };
    return op.kind == OpKind::zero ||
           (op.kind == OpKind::load && std::all_of(op.writes.begin(), op.writes.end(), is_empty));
  }

  // Collects, for each gradient, the segments that add terms to it.
  void learn_parts(const plan::RankPlan& rank, const plan::Program& program) {
    for (const Op& op : program.ops) {
      if (!without_samples(op))
        last_micros_[rank.rank] = std::max(last_micros_[rank.rank], op.micro);
      if (op.kind != OpKind::loss && op.kind != OpKind::backward_input) continue;
      for (const Access& write : op.writes)
        if (const Use& use = this->use(rank.rank, write.buffer);
            use.role == Role::gradient && use.segment != op.segment)
          parts_[use.segment].insert(op.kind == OpKind::loss ? kLoss : op.segment);
    }
  }

  bool take_in(const At& at, const Op& op) {
    for (const Span& span : spans(at).writes)
      for (std::size_t c = span.first; c < span.last; ++c)
        held(at.rank, span.buffer, c) = {{Role::samples, -1}, op.micro, {}};
    return true;
  }

  bool pass(const At& at, const Op& op) {
    std::set<std::pair<std::size_t, std::size_t>> read;
    for (const Span& span : spans(at).reads) {
      for (std::size_t c = span.first; c < span.last; ++c) read.insert({span.buffer, c});
      if (!reads_expected_value(at, op, span)) return false;
    }
    for (const Span& span : spans(at).writes)
      for (std::size_t c = span.first; c < span.last; ++c)
        if (!write(at, op, span, c, read.contains({span.buffer, c}))) return false;
    const OpKind way = op.kind == OpKind::loss ? OpKind::forward : op.kind;
    return op.kind == OpKind::loss || op.kind == OpKind::recompute ||
           taken_[{at.rank, way, op.segment}].insert(op.micro).second ||
           report(at, "the segment processes a micro-batch twice",
                  "Process every micro-batch once.");
  }

  bool reads_expected_value(const At& at, const Op& op, const Span& span) {
    const Use& use = uses_[static_cast<std::size_t>(at.rank)][span.buffer];
    if (use.role == Role::other) return true;
    for (std::size_t c = span.first; c < span.last; ++c) {
      const Held& h = held(at.rank, span.buffer, c);
      if (h.micro != op.micro || h.use.role != use.role || h.use.segment != use.segment)
        return report(at,
                      fmt::format("the op reads {}, which holds {}", name(at, span), describe(h)),
                      "Let the op wait for the values of its micro-batch, and overwrite these "
                      "values only after the op.");
      if (op.kind == OpKind::partial && h.columns.any() && !(h.columns == op.columns))
        return report(
            at,
            fmt::format("the op reads {}, which holds other columns than those that the op needs",
                        name(at, span)),
            "Send columns to the rank that holds the matching rows of the weights.");
      const bool own = use.role == Role::gradient && use.segment == op.segment;
      if (own && h.parts != parts_[use.segment])
        return report(
            at,
            fmt::format("the op reads {}, which holds {} of {}", name(at, span), h.parts.size(),
                        base::counted(std::ssize(parts_[use.segment]), "gradient term")),
            "Let the op wait for the gradients of all readers of the output.");
    }
    return true;
  }

  static std::string describe(const Held& h) {
    if (h.micro < 0) return "no value of this step";
    const char* kind = h.use.role == Role::output     ? "output"
                       : h.use.role == Role::gradient ? "gradient"
                       : h.use.role == Role::sums     ? "batch norm sums"
                                                      : nullptr;
    return kind == nullptr ? fmt::format("the samples of micro-batch {}", h.micro)
                           : fmt::format("the {} of segment {} of micro-batch {}", kind,
                                         h.use.segment, h.micro);
  }

  bool write(const At& at, const Op& op, const Span& span, std::size_t cell, bool was_read) {
    const Use& use = uses_[static_cast<std::size_t>(at.rank)][span.buffer];
    if (use.role == Role::other) return true;
    Held& h = held(at.rank, span.buffer, cell);
    const bool adds = use.role == Role::gradient && use.segment != op.segment;
    if (!adds && use.role == Role::gradient)
      return true;  // converts the gradient after the activation to the one before it
    std::set<std::int32_t> parts = adds && was_read ? h.parts : std::set<std::int32_t>{};
    if (adds && !parts.insert(op.kind == OpKind::loss ? kLoss : op.segment).second)
      return report(at, fmt::format("the op adds a gradient term twice to {}", name(at, span)),
                    "Add every term once.");
    h = {use, op.micro, std::move(parts),
         use.role == Role::output ? columns_of(at, op) : plan::Columns{}};
    return true;
  }

  // Returns the columns of a split layer that the op's output covers or, if the op has no output
  // columns, those of its input. Returns no columns for sums, and for results that cover all
  // columns.
  plan::Columns columns_of(const At& at, const Op& op) {
    if (op.columns.any())
      return op.kind == OpKind::forward || op.kind == OpKind::recompute ? op.columns
                                                                        : plan::Columns{};
    for (const Span& span : spans(at).reads)
      if (const Use& use = uses_[static_cast<std::size_t>(at.rank)][span.buffer];
          use.role == Role::output && use.segment == op.segment - 1)
        return held(at.rank, span.buffer, span.first).columns;
    return {};
  }

  // Executes a transfer: a receive copies what its send reads. A collective that is a single op
  // copies the root's values to all members.
  bool hand_on(const plan::DryRun::Event& event, const Op& op) {
    const auto sources = scope_.run.sources_of(event);
    std::vector<At> members(sources.begin(), sources.end());
    if (plan::coarse(op.kind)) {
      members.push_back(event.at);
      const auto root = std::find_if(members.begin(), members.end(),
                                     [&](const At& member) { return member.rank == op.peer; });
      return std::all_of(members.begin(), members.end(), [&](const At& member) {
        return member.rank == root->rank || copy(member, *root);
      });
    }
    return std::all_of(members.begin(), members.end(),
                       [&](const At& source) { return copy(event.at, source); });
  }

  bool copy(const At& to, const At& sender) {
    const std::int32_t from = sender.rank;
    const Access &place = scope_.op(to).writes.front(), &source = scope_.op(sender).reads.front();
    const Use &here = use(to.rank, place.buffer), &there = use(from, source.buffer);
    if (here.role != there.role || here.segment != there.segment)
      return report(
          to,
          fmt::format("{} receives {} of rank {}", range_text(scope_.rank(to.rank), place),
                      range_text(scope_.rank(from), source), from),
          "Let both ranks name the same output, or the same gradient, in the transfer.");
    const Cells& own = cells_[static_cast<std::size_t>(to.rank)];
    for (const Span& span : spans(to).writes)
      for (std::size_t c = span.first; c < span.last; ++c) {
        const std::int64_t offset = own.range(span.buffer, c).first - place.first;
        held(to.rank, span.buffer, c) =
            held(from, source.buffer.index(),
                 cell_at(from, source.buffer.index(), source.first + offset));
      }
    return true;
  }

  std::size_t cell_at(std::int32_t rank, std::size_t buffer, std::int64_t element) const {
    const Cells& cells = cells_[static_cast<std::size_t>(rank)];
    std::size_t c = 0;
    for (Access range = cells.range(buffer, 0); range.first + range.count <= element;
         range = cells.range(buffer, c))
      ++c;
    return c;
  }

  const Scope& scope_;
  std::string program_;
  Findings& findings_;
  std::vector<Cells> cells_;            // cells by rank
  std::vector<std::vector<Use>> uses_;  // uses of buffers, by rank and buffer
  std::map<std::int32_t, std::set<std::int32_t>> parts_;
  std::map<std::tuple<std::int32_t, std::size_t, std::size_t>, Held>
      held_;                                      // held values, by rank, buffer and cell
  std::map<Pass, std::set<std::int32_t>> taken_;  // micro-batches that each pass processed
  Replicas replicas_;
  std::map<std::int32_t, std::int32_t> last_micros_,
      last_micro_of_replica_;  // index of the last micro-batch, by rank, and by replica
};

void prove_program(const Scope& scope, const std::string& program, Findings& findings) {
  const auto wanted = first_instances(scope, program);
  if (std::all_of(wanted.begin(), wanted.end(), [](std::int32_t i) { return i < 0; })) return;
  Passing passing(scope, program, findings);
  for (const plan::DryRun::Event& event : scope.run.events)
    if (scope.run.place(event.at).instance == wanted[static_cast<std::size_t>(event.at.rank)] &&
        !passing.step(event))
      return;
  passing.finish();
}

std::set<std::string> split_programs(const Scope& scope) {
  std::set<std::string> names;
  for (const plan::RankPlan& rank : scope.ranks)
    for (const plan::Program& program : rank.programs)
      if (splits_layers(scope, program.name)) names.insert(program.name);
  return names;
}

// True if the rank computes the segment or the segment's gradient.
bool has_segment(const plan::Program& program, std::int32_t segment) {
  return std::any_of(program.ops.begin(), program.ops.end(), [segment](const Op& op) {
    return op.segment == segment && (op.kind == OpKind::forward || op.kind == OpKind::partial ||
                                     op.kind == OpKind::backward_weight);
  });
}

// True if the rank receives the output of a segment that other ranks compute.
bool receives_output(const plan::RankPlan& rank, const plan::Program& program) {
  const auto is_received = [&](OpKind kind, std::int32_t root, const Access& span) {
    const Use use = use_of(rank.buffers[span.buffer.index()].name);
    return kind == OpKind::broadcast && root != rank.rank && use.role == Role::output &&
           !has_segment(program, use.segment);
  };
  return std::any_of(program.wanted.begin(), program.wanted.end(),
                     [&](const plan::Wanted& wanted) {
                       return is_received(wanted.kind, wanted.root, wanted.span);
                     }) ||
         std::any_of(program.ops.begin(), program.ops.end(), [&](const Op& op) {
           return !op.writes.empty() && is_received(op.kind, op.peer, op.writes.front());
         });
}

}  // namespace

bool splits_layers(const Scope& scope, const std::string& program) {
  return std::any_of(scope.ranks.begin(), scope.ranks.end(), [&](const plan::RankPlan& rank) {
    const int number = rank.program(program);
    return number >= 0 && receives_output(rank, rank.programs[static_cast<std::size_t>(number)]);
  });
}

bool has_stages(const Scope& scope) { return !split_programs(scope).empty(); }

void prove_passing(const Scope& scope, Findings& findings) {
  for (const std::string& program : split_programs(scope)) prove_program(scope, program, findings);
}

}  // namespace trainyard::check
