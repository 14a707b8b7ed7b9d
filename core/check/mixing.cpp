// SPDX-License-Identifier: GPL-3.0-or-later
// Proves gossip averaging by symbolic execution: after neighbors exchange parameters, every
// parameter is a weighted sum of the ranks' parameters, minus the update of the rank. All weights
// form one mixing matrix. A symbolic value is a rank's parameter from before the step, or a
// weighted sum of such values; all other writes are unknown. At the end all parameters of a rank
// must hold the same weighted sum, which is the rank's row of the matrix. The rows of all ranks
// must form a symmetric, doubly stochastic matrix, in integers, whose graph is connected. Passes
// must read the rank's parameters from before the step. In the mean over all ranks, every rank's
// term must have weight 1/n.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>

#include "core/base/units.h"
#include "core/check/buckets.h"
#include "core/check/proofs.h"
#include "core/check/weighted_sums.h"

namespace trainyard::check {
namespace {

using At = plan::DryRun::At;
using plan::Access;
using plan::Op;
using plan::OpKind;

constexpr const char* kAccepted =
    "weighted sums of the parameters from before the step, with one symmetric, doubly stochastic "
    "mixing matrix";

bool passes(OpKind kind) {
  return kind == OpKind::forward || kind == OpKind::recompute || kind == OpKind::backward_input ||
         kind == OpKind::backward_weight;
}

// Symbolic execution of one program on all ranks. At least one rank has a MIX op, which averages
// its parameters with those of neighbors.
class Execution {
 public:
  Execution(const Scope& scope, std::string program, Findings& findings)
      : scope_(scope),
        program_(std::move(program)),
        findings_(findings),
        ranks_(static_cast<int>(scope.ranks.size())) {}

  bool begin() {
    for (const plan::RankPlan& rank : scope_.ranks) {
      const int number = rank.program(program_);
      if (number < 0 || !mixes(rank.programs[static_cast<std::size_t>(number)]))
        return report({rank.rank, "", -1},
                      "the rank has no MIX op, which averages parameters with neighbors, but other "
                      "ranks have one");
      const plan::BufferId parameters =
          parameters_of(rank.programs[static_cast<std::size_t>(number)]);
      parameters_.push_back(parameters);
      for (std::size_t b = 0; b < rank.buffers.size(); ++b) {
        const bool own = b == parameters.index();
        contents_[{rank.rank, static_cast<std::int32_t>(b)}] = std::make_unique<Contents>(
            rank.buffers[b].elements, Value{own ? rank.rank : unknown(), 0});
      }
    }
    return true;
  }

  // Executes an event of the rehearsal. Returns false after a finding, because further findings
  // would only be its consequences.
  bool step(const plan::DryRun::Event& event) {
    if (!event.completes) return true;
    const Op& op = scope_.op(event.at);
    if (op.kind == OpKind::recv && is_mixing_transfer(scope_.program(event.at), op))
      return receive(event, op);
    if (plan::communicates(op.kind)) return true;
    if (passes(op.kind) && !reads_old(event.at, op)) return false;
    if (op.kind == OpKind::mix) return mix(event.at, op);
    if (op.kind == OpKind::update) return update(event.at, op);
    for (const Access& write : op.writes)
      at(event.at.rank, write).set(write.first, write.count, {unknown(), 0});
    return true;
  }

  void finish() {
    std::vector<Row> rows;
    for (const plan::RankPlan& rank : scope_.ranks) {
      const auto row = row_of(rank);
      if (!row) return;
      rows.push_back(*row);
    }
    check_row_sums(rows);
  }

 private:
  bool report(const FindingLocation& location, const std::string& what, std::string advice = "") {
    findings_.add(Proof::mixing, location, what, kAccepted, std::move(advice));
    return false;
  }
  bool report(const At& at, const std::string& what, std::string advice = "") {
    findings_.add(Proof::mixing, at, what, kAccepted, std::move(advice));
    return false;
  }

  int unknown() const { return ranks_; }
  bool is_sum(const Value& value) const { return value.source > ranks_; }
  bool is_old(const Value& value) const { return value.source < ranks_; }
  const Row& sum(const Value& value) const {
    return sums_[static_cast<std::size_t>(value.source - ranks_ - 1)];
  }

  static plan::BufferId parameters_of(const plan::Program& program) {
    const auto at =
        std::find_if(program.wanted.begin(), program.wanted.end(),
                     [](const plan::Wanted& wanted) { return wanted.kind == OpKind::mix; });
    return at->span.buffer;
  }
  plan::BufferId parameters_of(std::int32_t rank) const {
    return parameters_[static_cast<std::size_t>(rank)];
  }
  Contents& at(std::int32_t rank, const Access& access) {
    return *contents_.at({rank, access.buffer.value});
  }
  std::vector<Piece> held(std::int32_t rank, const Access& access) {
    return at(rank, access).of(access.first, access.count);
  }

  bool receive(const plan::DryRun::Event& event, const Op& op) {
    const At& source = scope_.run.sources_of(event).front();
    const Access &from = scope_.op(source).reads.front(), &to = op.writes.front();
    for (const Piece& piece : held(source.rank, from)) {
      const std::int64_t first = piece.first - from.first + to.first;
      at(event.at.rank, to)
          .set(first, piece.count, {piece.value.source, piece.value.shift + piece.first - first});
    }
    return true;
  }

  bool reads_old(const At& where, const Op& op) {
    for (const Access& read : op.reads)
      for (const Piece& piece : held(where.rank, read))
        if (read.buffer == parameters_of(where.rank) && !is_old(piece.value))
          return report(where,
                        fmt::format("the op reads {}, which this step has already updated",
                                    range_text(scope_.rank(where.rank), read)),
                        "Let the update follow the forward and backward passes.");
    return true;
  }

  // Executes the op MIX (weighted sum) piece by piece. A new piece begins wherever the value of an
  // operand changes.
  bool mix(const At& where, const Op& op) {
    std::set<std::int64_t> cuts{0, op.writes.front().count};
    for (const Access& read : op.reads)
      for (const Piece& piece : held(where.rank, read)) cuts.insert(piece.first - read.first);
    for (auto begin = cuts.begin(); std::next(begin) != cuts.end(); ++begin)
      if (!mix(where, op, *begin, *std::next(begin) - *begin)) return false;
    return true;
  }

  bool mix(const At& where, const Op& op, std::int64_t offset, std::int64_t count) {
    Row row{std::vector<std::int64_t>(static_cast<std::size_t>(ranks_), 0), op.weights.denominator};
    std::optional<std::int64_t> element;  // element of the parameters that all operands have
    bool known = true;
    for (std::size_t i = 0; i < op.reads.size(); ++i) {
      const std::int64_t first = op.reads[i].first + offset;
      const Value value = at(where.rank, op.reads[i]).of(first, count).front().value;
      const std::string span = range_text(scope_.rank(where.rank), op.reads[i]);
      known = known && is_old(value);
      if (i < op.summands.size() && value.source != op.summands[i])
        return report(where,
                      fmt::format("the op uses {} as parameters of rank {}, but that span holds {}",
                                  span, op.summands[i], describe(value)),
                      "Let the op wait for the parameters of the neighbor, and read the buffer "
                      "that received them.");
      if (!known) continue;
      if (element.value_or(first + value.shift) != first + value.shift)
        return report(where, "the op sums elements of different parameters",
                      "Let all spans of the op have the same range of elements.");
      element = first + value.shift;
      row.numerators[static_cast<std::size_t>(value.source)] += op.weights.numerators[i];
    }
    const std::int64_t to = op.writes.front().first + offset;
    at(where.rank, op.writes.front())
        .set(to, count,
             known ? Value{entered(std::move(row)), *element - to} : Value{unknown(), 0});
    return true;
  }

  int entered(Row row) {
    row.reduce();
    const auto at = std::find(sums_.begin(), sums_.end(), row);
    const auto number = static_cast<int>(at - sums_.begin());
    if (at == sums_.end()) sums_.push_back(std::move(row));
    return ranks_ + 1 + number;
  }

  std::string describe(const Value& value) const {
    if (is_old(value)) return fmt::format("those of rank {}", value.source);
    return is_sum(value) ? "a weighted sum" : "values that are not parameters of any rank";
  }

  // Executes an update op, which subtracts the rank's update from a weighted sum, element by
  // element.
  bool update(const At& where, const Op& op) {
    for (const Access& write : op.writes) {
      if (write.buffer != parameters_of(where.rank)) {
        at(where.rank, write).set(write.first, write.count, {unknown(), 0});
        continue;
      }
      const auto origin = std::find_if(op.reads.begin(), op.reads.end(), [&](const Access& read) {
        return holds_sums(where.rank, read);
      });
      if (origin == op.reads.end() || origin->count != write.count)
        return report(where, "the update does not start from a weighted sum over neighbors",
                      "Let the update follow MIX, and read its output.");
      for (const Piece& piece : held(where.rank, *origin)) {
        const std::int64_t to = piece.first - origin->first + write.first;
        if (piece.first + piece.value.shift != to)
          return report(where, "the update reads the weighted sum of other elements than it writes",
                        "Let MIX and the update use the same range of elements.");
        at(where.rank, write).set(to, piece.count, {piece.value.source, 0});
      }
    }
    return true;
  }
  bool holds_sums(std::int32_t rank, const Access& access) {
    const auto pieces = held(rank, access);
    return access.count > 0 && std::all_of(pieces.begin(), pieces.end(),
                                           [&](const Piece& piece) { return is_sum(piece.value); });
  }

  // Returns the weighted sum that all parameters of a rank hold; nothing if parameters hold
  // different sums.
  std::optional<Row> row_of(const plan::RankPlan& rank) {
    const plan::BufferId parameters = parameters_of(rank.rank);
    const Access all{parameters, 0, rank.buffers[parameters.index()].elements};
    std::optional<Value> first;
    for (const Piece& piece : held(rank.rank, all)) {
      const std::string span = range_text(rank, {parameters, piece.first, piece.count});
      if (!is_sum(piece.value))
        return report(
                   {rank.rank, program_, -1},
                   fmt::format("the program ends without averaging {} with the neighbors", span)),
               std::nullopt;
      if (first.value_or(piece.value).source != piece.value.source)
        return report({rank.rank, program_, -1},
                      fmt::format("the weighted sum in {} has other weights than the weighted sum "
                                  "in the parameters before it",
                                  span)),
               std::nullopt;
      first = piece.value;
    }
    if (!first) return Row{};
    return sum(*first);
  }

  void check_row_sums(const std::vector<Row>& rows) {
    for (int i = 0; i < ranks_; ++i) {
      const Row& row = rows[static_cast<std::size_t>(i)];
      if (const auto total =
              std::accumulate(row.numerators.begin(), row.numerators.end(), std::int64_t{0});
          total != row.denominator)
        return void(report(
            {i, program_, -1},
            fmt::format("the weights of the rank sum to {}", fraction(total, row.denominator)),
            "Let the weights of every rank sum to 1."));
      for (int j = 0; j < ranks_; ++j) {
        const Row& other = rows[static_cast<std::size_t>(j)];
        const std::int64_t own = row.numerators[static_cast<std::size_t>(j)],
                           back = other.numerators[static_cast<std::size_t>(i)];
        if (own < 0)
          return void(report({i, program_, -1}, fmt::format("rank {} has a negative weight", j)));
        if (!same_fraction(own, row.denominator, back, other.denominator))
          return void(report({i, program_, -1},
                             fmt::format("rank {} has weight {} in the average of rank {}, but "
                                         "rank {} has weight {} in the average of rank {}",
                                         j, fraction(own, row.denominator), i, i,
                                         fraction(back, other.denominator), j),
                             "Use the same weight in both directions."));
      }
    }
    if (const int lost = first_unreached(rows); lost >= 0)
      report({lost, program_, -1}, "the rank is not connected with rank 0",
             "Connect all ranks of the graph.");
  }

  int first_unreached(const std::vector<Row>& rows) const {
    std::set<int> reached{0};
    for (std::vector<int> open{0}; !open.empty();) {
      const int i = open.back();
      open.pop_back();
      for (int j = 0; j < ranks_; ++j)
        if (rows[static_cast<std::size_t>(i)].numerators[static_cast<std::size_t>(j)] > 0 &&
            reached.insert(j).second)
          open.push_back(j);
    }
    for (int i = 0; i < ranks_; ++i)
      if (!reached.contains(i)) return i;
    return -1;
  }

  const Scope& scope_;
  std::string program_;
  Findings& findings_;
  int ranks_;
  std::vector<plan::BufferId> parameters_;  // buffer of the parameters, by rank
  std::map<std::pair<std::int32_t, std::int32_t>, std::unique_ptr<Contents>>
      contents_;  // contents by rank and buffer
  std::vector<Row> sums_;
};

void prove_program(const Scope& scope, const std::string& program, Findings& findings) {
  const auto wanted = first_instances(scope, program);
  if (std::all_of(wanted.begin(), wanted.end(), [](std::int32_t instance) { return instance < 0; }))
    return;
  Execution execution(scope, program, findings);
  if (!execution.begin()) return;
  for (const plan::DryRun::Event& event : scope.run.events)
    if (scope.run.place(event.at).instance == wanted[static_cast<std::size_t>(event.at.rank)] &&
        !execution.step(event))
      return;
  execution.finish();
}

}  // namespace

void prove_mean(const Scope& scope, const std::string& name, Proof proof, Findings& findings) {
  Buckets buckets = buckets_of(scope, name);
  std::optional<bool> by_samples;  // the first op of all ranks decides for all others
  for (const plan::RankPlan& rank : scope.ranks) {
    const int number = rank.program(name);
    if (number < 0) continue;
    const auto& ops = rank.programs[static_cast<std::size_t>(number)].ops;
    std::int64_t added = 0, whole = 0;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].kind != OpKind::mix) continue;
      for (const Overlap& overlap : overlaps(buckets, rank.rank, ops[i].writes.front())) {
        added += overlap.bucket->cuts[overlap.last] - overlap.bucket->cuts[overlap.first];
        const std::int64_t members =
            std::ssize(scope.groups[static_cast<std::size_t>(overlap.bucket->group)].ranks);
        if (by_samples.value_or(ops[i].weights.by_samples) != ops[i].weights.by_samples)
          return findings.add(proof, FindingLocation{rank.rank, name, static_cast<int>(i)},
                              "some ops weight the ranks of a mean by samples, others equally",
                              "weights by samples in all ops, or in none", "");
        by_samples = ops[i].weights.by_samples;
        if (*by_samples) continue;
        if (ops[i].weights.numerators.size() == 1 &&
            same_fraction(ops[i].weights.numerators.front(), ops[i].weights.denominator, 1,
                          members))
          continue;
        return findings.add(
            proof, FindingLocation{rank.rank, name, static_cast<int>(i)},
            fmt::format("the op contributes to a mean of {} with a weight other than 1/n",
                        base::counted(members, "rank")),
            fmt::format("weight 1/{}", members), "");
      }
    }
    for (const auto& [key, bucket] : buckets)
      if (const auto home = bucket.homes.find(rank.rank); home != bucket.homes.end())
        whole += home->second.length();
    if (added != whole)
      return findings.add(proof, FindingLocation{rank.rank, name, -1},
                          fmt::format("the rank contributes {} of its {} to the mean", added,
                                      base::counted(whole, "element")),
                          "every element, once", "");
  }
}

bool has_mixing(const Scope& scope) {
  return std::any_of(scope.ranks.begin(), scope.ranks.end(), [](const plan::RankPlan& rank) {
    return std::any_of(rank.programs.begin(), rank.programs.end(), mixes);
  });
}

void prove_mixing(const Scope& scope, Findings& findings) {
  std::set<std::string> mixing, averaging;
  for (const plan::RankPlan& rank : scope.ranks)
    for (const plan::Program& program : rank.programs) {
      if (mixes(program)) mixing.insert(program.name);
      if (program.name == "average") averaging.insert(program.name);
    }
  for (const std::string& name : mixing) prove_program(scope, name, findings);
  const Proof proof = has_gossip_pairs(scope) ? Proof::gossip_pairs
                      : mixing.empty()        ? Proof::averaging
                                              : Proof::mixing;
  for (const std::string& name : averaging) prove_mean(scope, name, proof, findings);
}

}  // namespace trainyard::check
