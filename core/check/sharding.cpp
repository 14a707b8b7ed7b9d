// SPDX-License-Identifier: GPL-3.0-or-later
// Proves sharded parameters, of which each rank updates only a shard, by symbolic execution. The
// persistent parameters of a rank are in buffer "shard", or in "params" if there is no such buffer.
// An element of another buffer holds a parameter (from before the step, or after an update) or a
// gradient. A gradient is a set of terms, each from a segment in a micro-step of a rank. Passes
// must read parameters from before the step, and every rank must hold the same element at the same
// position of a segment. The gradient of a segment belongs to these parameters.
//
// An update must read the gradient of the elements that it writes. That gradient must contain the
// term of every rank once. At the end all persistent parameters on all ranks must be updated. On a
// mesh this holds separately for each part of the model, among the ranks that exchange its
// parameters and gradients: one rank of every replica.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>

#include "core/base/units.h"
#include "core/check/buckets.h"
#include "core/check/proofs.h"
#include "core/check/replicas.h"
#include "core/check/shard_values.h"
#include "core/check/weighted_sums.h"
#include "core/collective/algorithm.h"

namespace trainyard::check {
namespace {

using At = plan::DryRun::At;
using plan::Access;
using plan::Op;
using plan::OpKind;

// Symbolic execution of one program, on all ranks.
class Sharding {
 public:
  Sharding(const Scope& scope, std::string program, Findings& findings)
      : scope_(scope),
        program_(std::move(program)),
        findings_(findings),
        replicas_(scope, program_) {
    for (const plan::RankPlan& rank : scope.ranks) {
      auto& contents = contents_.emplace_back();
      for (const plan::Buffer& buffer : rank.buffers)
        contents.emplace_back(std::max<std::int64_t>(buffer.elements, 1),
                              Value{values_.number({}), 0});
      const plan::BufferId shard = rank.buffer("shard"),
                           persistent = shard.valid() ? shard : rank.buffer("params");
      const std::int32_t group = gathering_group(rank);
      share(rank);
      persistent_.push_back(
          {persistent, shard.valid() && group >= 0
                           ? scope.groups[static_cast<std::size_t>(group)].position(rank.rank)
                           : kAllPositions});
      set(rank.rank, all_of(rank, persistent),
          {values_.number({ShardValue::before, persistent_.back().position}), 0});
    }
    for (const plan::RankPlan& rank : scope.ranks) learn_parts(rank);
  }

  bool step(const plan::DryRun::Event& event) {
    if (!event.completes) return true;
    const Op& op = scope_.op(event.at);
    if (plan::communicates(op.kind))
      return plan::coarse(op.kind) ? whole(event, op) : receive(event, op);
    switch (op.kind) {
      case OpKind::forward:
      case OpKind::partial:
      case OpKind::recompute:
      case OpKind::backward_input: return computes(event.at, op);
      case OpKind::backward_weight: return learns(event.at, op);
      case OpKind::mix: return mixes(event.at, op);
      case OpKind::update: return updates(event.at, op);
      default: return overwrites(event.at, op);
    }
  }

  // Checks at the end of a training program that all persistent parameters are updated.
  void finish() {
    if (plan::purpose(program_) != plan::Purpose::training) return;
    for (const plan::RankPlan& rank : scope_.ranks) {
      const PersistentBuffer& persistent = persistent_[static_cast<std::size_t>(rank.rank)];
      for (const Piece& piece : of(rank.rank, all_of(rank, persistent.buffer)))
        if (const ShardValue& value = values_[piece.value.source];
            value.kind != ShardValue::after || value.position != persistent.position ||
            piece.value.shift != 0)
          return findings_.add(
              Proof::sharding, FindingLocation{rank.rank, program_, -1},
              fmt::format("the program ends with {} not updated in this step",
                          range_text(rank, {persistent.buffer, piece.first, piece.count})),
              "an update of all parameters on all ranks",
              "Update every shard, and gather the shards of other ranks.");
    }
  }

 private:
  struct PersistentBuffer {
    plan::BufferId buffer;
    std::int32_t position = kAllPositions;
  };

  // Identifies a segment: a rank that represents all ranks that exchange parameters and gradients
  // with it, and the index of the segment
  using Of = std::pair<std::int32_t, std::int32_t>;

  // Puts ranks that exchange parameters or gradients into one group.
  void share(const plan::RankPlan& rank) {
    if (sharing_groups_.empty()) {
      sharing_groups_.resize(scope_.ranks.size());
      std::iota(sharing_groups_.begin(), sharing_groups_.end(), 0);
    }
    for (const plan::Program& program : rank.programs)
      for (const Op& op : program.ops)
        if (plan::communicates(op.kind) && is_exchanged_buffer(rank, span_of(op)))
          for (const std::int32_t member : scope_.groups[static_cast<std::size_t>(op.group)].ranks)
            join(rank.rank, member);
  }
  static bool is_exchanged_buffer(const plan::RankPlan& rank, const Access& span) {
    const std::string& name = rank.buffers[span.buffer.index()].name;
    return name == "params" || name == "grads" || name == "shard" || name == "grad_shard";
  }
  void join(std::int32_t a, std::int32_t b) {
    std::replace(sharing_groups_.begin(), sharing_groups_.end(), std::int32_t{sharing_group(b)},
                 std::int32_t{sharing_group(a)});
  }
  std::int32_t sharing_group(std::int32_t rank) const {
    return sharing_groups_[static_cast<std::size_t>(rank)];
  }
  std::vector<std::int32_t> sharing_with(std::int32_t rank) const {
    std::vector<std::int32_t> ranks;
    for (std::int32_t other = 0; other < static_cast<std::int32_t>(sharing_groups_.size()); ++other)
      if (sharing_group(other) == sharing_group(rank)) ranks.push_back(other);
    return ranks;
  }

  static Access all_of(const plan::RankPlan& rank, plan::BufferId buffer) {
    return {buffer, 0, rank.buffers[buffer.index()].elements};
  }
  Contents& contents(std::int32_t rank, plan::BufferId buffer) {
    return contents_[static_cast<std::size_t>(rank)][buffer.index()];
  }
  std::vector<Piece> of(std::int32_t rank, const Access& span) {
    return contents(rank, span.buffer).of(span.first, span.count);
  }
  void set(std::int32_t rank, const Access& span, const Value& value) {
    if (span.count > 0) contents(rank, span.buffer).set(span.first, span.count, value);
  }
  void set(std::int32_t rank, plan::BufferId buffer, const std::vector<Piece>& pieces) {
    for (const Piece& piece : pieces)
      contents(rank, buffer).set(piece.first, piece.count, piece.value);
  }

  bool report(const At& at, const std::string& what, const std::string& accepted,
              const std::string& advice) {
    findings_.add(Proof::sharding, at, what, accepted, advice);
    return false;
  }
  bool twice(const At& at) {
    return report(at, "the op adds the gradient of a micro-step twice to a sum",
                  "a sum that contains every term of the gradient once",
                  "Reduce every unit once per micro-step.");
  }
  std::string name(const At& at, plan::BufferId buffer, const Piece& piece) const {
    return range_text(scope_.rank(at.rank), {buffer, piece.first, piece.count});
  }

  // Collects, for each parameter that a segment reads, the terms of its gradient.
  void learn_parts(const plan::RankPlan& rank) {
    if (const int number = rank.program(program_); number >= 0)
      for (const Op& op : rank.programs[static_cast<std::size_t>(number)].ops)
        if (op.kind == OpKind::backward_weight)
          parts_[{sharing_group(rank.rank), op.segment}].insert({rank.rank, op.micro, op.segment});
  }

  const Access* parameters_read(std::int32_t rank, const Op& op) const {
    const plan::BufferId parameters = scope_.rank(rank).buffer("params");
    const auto at = std::find_if(op.reads.begin(), op.reads.end(),
                                 [&](const Access& read) { return read.buffer == parameters; });
    return at == op.reads.end() ? nullptr : &*at;
  }

  bool computes(const At& at, const Op& op) {
    const Access* read = parameters_read(at.rank, op);
    if (read == nullptr) return overwrites(at, op);
    const std::vector<Piece> pieces = of(at.rank, *read);
    for (const Piece& piece : pieces)
      if (values_[piece.value.source].kind != ShardValue::before)
        return report(at,
                      fmt::format("the op reads {}, which holds {}", name(at, read->buffer, piece),
                                  describe(piece)),
                      "parameters from before the step",
                      "Gather a unit before the passes that use it, into a span that no op changes "
                      "until these passes end.");
    const auto [known, fresh] = computed_by_.try_emplace(Of{sharing_group(at.rank), op.segment},
                                                         moved(pieces, read->first, 0));
    const auto same = [](const Piece& a, const Piece& b) {
      return a.first == b.first && a.count == b.count && a.value == b.value;
    };
    const std::vector<Piece> now = moved(pieces, read->first, 0);
    if (!fresh &&
        !std::equal(now.begin(), now.end(), known->second.begin(), known->second.end(), same))
      return report(
          at,
          fmt::format(
              "the op reads in {} other parameters than an earlier pass of the segment read",
              range_text(scope_.rank(at.rank), *read)),
          "the same parameters on all ranks, forward and backward",
          "Gather the unit of the segment.");
    return overwrites(at, op);
  }

  bool learns(const At& at, const Op& op) {
    const Access& write = op.writes.front();
    const bool adds = std::find(op.reads.begin(), op.reads.end(), write) != op.reads.end();
    const std::vector<Piece> before = adds ? of(at.rank, write) : std::vector<Piece>{};
    if (!overwrites(at, op)) return false;
    for (const Piece& piece :
         moved(computed_by_[{sharing_group(at.rank), op.segment}], 0, write.first)) {
      const ShardValue gradient{ShardValue::gradient,
                                values_[piece.value.source].position,
                                {{at.rank, op.micro, op.segment}}};
      set(at.rank, {write.buffer, piece.first, piece.count},
          {values_.number(gradient), piece.value.shift});
    }
    return !adds || add(at, write, before);
  }

  // Adds the values of the pieces to the values in `to`, element by element. Returns false if a sum
  // would contain the same term twice.
  bool add(const At& at, const Access& to, const std::vector<Piece>& added) {
    std::vector<Piece> sums;
    for (const Piece& more : added)
      for (const Piece& own : of(at.rank, {to.buffer, more.first, more.count})) {
        const bool zero = values_[own.value.source].kind == ShardValue::zero ||
                          values_[more.value.source].kind == ShardValue::zero;
        const auto sum = zero || own.value.shift == more.value.shift
                             ? values_.sum(own.value.source, more.value.source)
                             : values_.number({});
        if (!sum) return twice(at);
        sums.push_back(
            {own.first,
             own.count,
             {*sum, values_[own.value.source].kind == ShardValue::zero ? more.value.shift
                                                                       : own.value.shift}});
      }
    set(at.rank, to.buffer, sums);
    return true;
  }

  bool mixes(const At& at, const Op& op) {
    const Access& write = op.writes.front();
    const bool sums = std::all_of(op.weights.numerators.begin(), op.weights.numerators.end(),
                                  [&](std::int64_t n) { return n == op.weights.denominator; });
    std::vector<std::vector<Piece>> read;
    for (const Access& access : op.reads)
      read.push_back(moved(of(at.rank, access), access.first, write.first));
    if (!overwrites(at, op) || !sums) return true;
    set(at.rank, write.buffer, read.front());
    return std::all_of(read.begin() + 1, read.end(),
                       [&](const auto& more) { return add(at, write, more); });
  }

  bool updates(const At& at, const Op& op) {
    const Access &gradient = op.reads.front(), &to = op.writes.front();
    const PersistentBuffer& persistent = persistent_[static_cast<std::size_t>(at.rank)];
    if (to.buffer != persistent.buffer)
      return report(at,
                    fmt::format("the op updates {}, which is a temporary copy",
                                range_text(scope_.rank(at.rank), to)),
                    "the rank's shard",
                    "Update the persistent parameters. Temporary copies are gathered from them.");
    for (const Piece& piece : of(at.rank, to))
      if (values_[piece.value.source].kind != ShardValue::before)
        return report(at, fmt::format("the op updates {} again", name(at, to.buffer, piece)),
                      "one update per step", "Update every shard once.");
    for (const Piece& piece : moved(of(at.rank, gradient), gradient.first, to.first))
      if (!is_whole(sharing_group(at.rank), piece, persistent.position))
        return report(
            at,
            fmt::format("the op updates {} with {}", name(at, to.buffer, piece), describe(piece)),
            "the gradient of these elements, as a sum that contains the term of every rank once",
            "Reduce every unit over all ranks before the update, and keep the rank's shard.");
    if (const auto flaw = replicas_.flaw(at.rank, op.segment, sharing_with(at.rank)))
      return report(at, *flaw, "a sum of the gradients of all replicas",
                    "Shard every unit over all replicas, or sum the shards over the groups of "
                    "replicas that shard it.");
    overwrites(at, op);
    set(at.rank, to, {values_.number({ShardValue::after, persistent.position}), 0});
    return true;
  }

  // True if the piece holds the gradient of the elements at the same offsets, with the terms of all
  // segments that read these parameters.
  bool is_whole(std::int32_t together, const Piece& piece, std::int32_t position) {
    const ShardValue& value = values_[piece.value.source];
    if (value.kind != ShardValue::gradient || value.position != position || piece.value.shift != 0)
      return false;
    std::set<GradientTerm> wanted;
    for (const auto& [of, by] : computed_by_)
      for (const Piece& read : of.first == together ? by : std::vector<Piece>{}) {
        const std::int64_t first = read.first + read.value.shift;
        const bool meets = values_[read.value.source].position == position &&
                           first < piece.first + piece.count && piece.first < first + read.count;
        if (meets) wanted.insert(parts_[of].begin(), parts_[of].end());
      }
    return value.parts == wanted;
  }

  std::string describe(const Piece& piece) const {
    const ShardValue& value = values_[piece.value.source];
    switch (value.kind) {
      case ShardValue::zero: return "zeros";
      case ShardValue::before: return "parameters from before the step";
      case ShardValue::after: return "updated parameters";
      case ShardValue::gradient:
        return fmt::format("a gradient with {}", base::counted(std::ssize(value.parts), "term"));
      default: return "unrelated values";
    }
  }

  // Executes an op whose result this check does not follow, such as zeros or unknown values. Such
  // an op must not write persistent parameters.
  bool overwrites(const At& at, const Op& op) {
    const PersistentBuffer& persistent = persistent_[static_cast<std::size_t>(at.rank)];
    for (const Access& write : op.writes) {
      if (write.buffer == persistent.buffer && op.kind != OpKind::update)
        return report(
            at, fmt::format("the op overwrites {}", range_text(scope_.rank(at.rank), write)),
            "updates as the only ops that write parameters", "Write the result to another buffer.");
      set(at.rank, write,
          {values_.number({op.kind == OpKind::zero ? ShardValue::zero : ShardValue::nothing}), 0});
    }
    return true;
  }

  std::vector<Piece> sent(const At& source, std::int64_t to) {
    const Access& span = span_of(scope_.op(source));
    return moved(of(source.rank, span), span.first, to);
  }

  bool receive(const plan::DryRun::Event& event, const Op& op) {
    if (op.kind == OpKind::send) return true;
    const At& at = event.at;
    const Access& write = op.writes.front();
    if (op.kind == OpKind::copy)
      return set(at.rank, write.buffer,
                 moved(of(at.rank, op.reads.front()), op.reads.front().first, write.first)),
             true;
    const auto sources = scope_.run.sources_of(event);
    if (op.kind == OpKind::recv)
      return set(at.rank, write.buffer, sent(sources.front(), write.first)), true;
    if (op.kind == OpKind::recv_reduce) return add(at, write, sent(sources.front(), write.first));
    const Access& own = op.reads.front();
    set(at.rank, write.buffer, moved(of(at.rank, own), own.first, write.first));
    return std::all_of(sources.begin(), sources.end(),
                       [&](const At& source) { return add(at, write, sent(source, write.first)); });
  }

  // Executes a collective that is a single op, on all members at once. The collective reads the
  // values that each member had before it.
  bool whole(const plan::DryRun::Event& event, const Op& op) {
    const auto others = scope_.run.sources_of(event);
    std::vector<At> members(others.begin(), others.end());
    members.push_back(event.at);
    const plan::Group& group = scope_.groups[static_cast<std::size_t>(op.group)];
    std::sort(members.begin(), members.end(), [&](const At& a, const At& b) {
      return group.position(a.rank) < group.position(b.rank);
    });
    const auto span = [&](const At& member) { return scope_.op(member).writes.front(); };
    std::vector<std::vector<Piece>> previous;
    previous.reserve(members.size());
    for (const At& member : members)
      previous.push_back(moved(of(member.rank, span(member)), span(member).first, 0));
    for (std::size_t p = 0; p < members.size(); ++p) {
      const Access own = span(members[p]);
      if (op.kind == OpKind::all_gather) gather(members[p].rank, own, previous);
      else if (reduces(op.kind) && !sum(members[p], own, previous)) return false;
    }
    return true;
  }

  void gather(std::int32_t rank, const Access& span,
              const std::vector<std::vector<Piece>>& previous) {
    for (std::size_t p = 0; p < previous.size(); ++p) {
      const auto [first, count] =
          collective::part(span.count, static_cast<int>(previous.size()), static_cast<int>(p));
      for (const Piece& piece : previous[p]) {
        const std::int64_t from = std::max(piece.first, first),
                           end = std::min(piece.first + piece.count, first + count);
        if (from < end)
          set(rank, {span.buffer, span.first + from, end - from},
              {piece.value.source, piece.value.shift - span.first});
      }
    }
  }

  // Writes the sum to every member. For a reduce-scatter this is correct too: only the member's
  // shard is defined, so the other elements may have any value.
  bool sum(const At& at, const Access& span, const std::vector<std::vector<Piece>>& previous) {
    set(at.rank, span.buffer, moved(previous.front(), 0, span.first));
    return std::all_of(previous.begin() + 1, previous.end(),
                       [&](const auto& more) { return add(at, span, moved(more, 0, span.first)); });
  }

  const Scope& scope_;
  std::string program_;
  Findings& findings_;
  ValueTable values_;
  std::vector<std::vector<Contents>> contents_;  // contents by rank and buffer
  std::vector<PersistentBuffer> persistent_;     // persistent parameters, by rank
  // by rank: the rank that represents all ranks that share parameters with it
  std::vector<std::int32_t> sharing_groups_;
  // pieces of the parameters that a segment reads, relative to the start of the segment
  std::map<Of, std::vector<Piece>> computed_by_;
  std::map<Of, std::set<GradientTerm>> parts_;
  Replicas replicas_;
};

void prove_program(const Scope& scope, const std::string& program, Findings& findings) {
  const auto wanted = first_instances(scope, program);
  if (std::all_of(wanted.begin(), wanted.end(), [](std::int32_t i) { return i < 0; })) return;
  Sharding sharding(scope, program, findings);
  for (const plan::DryRun::Event& event : scope.run.events)
    if (scope.run.place(event.at).instance == wanted[static_cast<std::size_t>(event.at.rank)] &&
        !sharding.step(event))
      return;
  sharding.finish();
}

}  // namespace

bool shares_parameters(const Scope& scope) {
  const auto has_parameters = [](const plan::RankPlan& rank) {
    return rank.buffer("shard").valid() || rank.buffer("params").valid();
  };
  if (!std::all_of(scope.ranks.begin(), scope.ranks.end(), has_parameters)) return false;
  const auto scatters = [](const plan::RankPlan& rank, const plan::Program& program) {
    return std::any_of(program.wanted.begin(), program.wanted.end(),
                       [&](const plan::Wanted& wanted) {
                         return wanted.kind == OpKind::reduce_scatter &&
                                is_of_gradients(rank, wanted.span);
                       }) ||
           std::any_of(program.ops.begin(), program.ops.end(), [&](const Op& op) {
             return op.kind == OpKind::reduce_scatter && is_of_gradients(rank, op.writes.front());
           });
  };
  return std::any_of(scope.ranks.begin(), scope.ranks.end(), [&](const plan::RankPlan& rank) {
    return std::any_of(rank.programs.begin(), rank.programs.end(),
                       [&](const plan::Program& program) { return scatters(rank, program); });
  });
}

void prove_sharding(const Scope& scope, Findings& findings) {
  if (!shares_parameters(scope)) return;
  std::set<std::string> names;
  for (const plan::RankPlan& rank : scope.ranks)
    for (const plan::Program& program : rank.programs) names.insert(program.name);
  for (const std::string& name : names) prove_program(scope, name, findings);
}

}  // namespace trainyard::check
