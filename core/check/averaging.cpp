// SPDX-License-Identifier: GPL-3.0-or-later
// Proves by symbolic execution that ranks with local parameters average correctly in a
// synchronizing step. Let x_i be the result of the step's update on rank i, and c the value of
// buffer "centre" before the step. Every parameter of every rank must end as one weighted sum of
// these values, with integer weights and for the same element. Without a center, the sum is the
// mean of all x_i, or their mean weighted by samples. With a center, x_i moves toward c by one
// fraction that is equal on all ranks. c moves by n times that fraction toward the mean of all x_i,
// and not beyond that mean. This file assumes that every sum over ranks is complete when an op
// reads it, with each rank's term once; meaning.cpp proves this.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
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
    "the mean of the parameters of all ranks after the step, or (elastic rule) the parameters of "
    "each rank after a move toward a center that itself moves toward the mean";
constexpr int kUnknown = -1;

// Symbolic execution of one program, on all ranks. Sources of values are numbered: first the
// parameters x_i of each rank i, then the center c, then the x_i multiplied by the rank's fraction
// of samples, whose sum over all ranks is 1, then weighted sums of these. rows_[k] has the
// coefficients of source k.
class Execution {
 public:
  Execution(const Scope& scope, std::string program, Findings& findings)
      : scope_(scope),
        program_(std::move(program)),
        findings_(findings),
        ranks_(static_cast<int>(scope.ranks.size())),
        buckets_(buckets_of(scope, program_)) {
    for (int i = 0; i <= 2 * ranks_; ++i) {
      rows_.push_back(nothing());
      rows_.back().numerators[static_cast<std::size_t>(i)] = 1;
    }
    for (const plan::RankPlan& rank : scope.ranks)
      for (std::size_t b = 0; b < rank.buffers.size(); ++b) {
        const bool center = b == rank.buffer("centre").index() && rank.buffer("centre").valid();
        contents_[{rank.rank, static_cast<std::int32_t>(b)}] = std::make_unique<Contents>(
            rank.buffers[b].elements, Value{center ? ranks_ : kUnknown, 0});
      }
  }

  void step(const plan::DryRun::Event& event) {
    const Op& op = scope_.op(event.at);
    if (!event.completes || plan::communicates(op.kind)) return;
    if (op.kind == OpKind::mix) return mix(event.at, op);
    const bool updates = op.kind == OpKind::update;
    for (const Access& write : op.writes)
      at(event.at.rank, write.buffer)
          .set(write.first, write.count,
               {updates && &write == op.writes.data() ? event.at.rank : kUnknown, 0});
  }

  void finish() {
    std::vector<Row> rows, centers;
    for (const plan::RankPlan& rank : scope_.ranks) {
      const auto parameters = row_of(rank, "params"), center = row_of(rank, "centre");
      if (!parameters || !center) return;
      rows.push_back(*parameters);
      if (rank.buffer("centre").valid()) centers.push_back(*center);
    }
    if (centers.empty()) return are_means(rows);
    if (std::ssize(centers) < ranks_)
      return report(0, "rank 0 has a center, but another rank has none");
    move_to_center(rows, centers);
  }

 private:
  void report(std::int32_t rank, const std::string& what, std::string advice = "") {
    findings_.add(Proof::averaging, FindingLocation{rank, program_, -1}, what, kAccepted,
                  std::move(advice));
  }

  Row nothing() const {
    return {std::vector<std::int64_t>(2 * static_cast<std::size_t>(ranks_) + 1, 0), 1};
  }
  Contents& at(std::int32_t rank, plan::BufferId buffer) {
    return *contents_.at({rank, buffer.value});
  }

  // Returns the spans that an access refers to, with their ranks: the access itself, or, if it
  // reads a summed bucket, the span of the bucket on each member.
  std::vector<std::pair<std::int32_t, Access>> parts(std::int32_t rank, const Access& access) {
    for (auto& [key, bucket] : buckets_) {
      const Bucket::Home* home = bucket.home_in(rank, access.buffer);
      if (home == nullptr || access.first < home->first || access.first + access.count > home->end)
        continue;
      std::vector<std::pair<std::int32_t, Access>> list;
      for (const auto& [member, of_member] : bucket.homes)
        list.push_back(
            {member,
             {of_member.buffer, of_member.first + access.first - home->first, access.count}});
      return list;
    }
    return {{rank, access}};
  }

  // Executes the op MIX (weighted sum) piece by piece. A new piece begins wherever the value of an
  // operand changes.
  void mix(const At& where, const Op& op) {
    const Access& write = op.writes.front();
    std::set<std::int64_t> cuts{0, write.count};
    for (const Access& read : op.reads)
      for (const auto& [rank, part] : parts(where.rank, read))
        for (const Piece& piece : at(rank, part.buffer).of(part.first, part.count))
          cuts.insert(piece.first - part.first);
    std::vector<std::pair<std::int64_t, Value>> made;
    for (const std::int64_t offset : cuts)
      if (offset < write.count) made.emplace_back(offset, sum(where.rank, op, offset));
    for (std::size_t i = 0; i < made.size(); ++i) {
      const std::int64_t end = i + 1 < made.size() ? made[i + 1].first : write.count;
      at(where.rank, write.buffer)
          .set(write.first + made[i].first, end - made[i].first, made[i].second);
    }
  }

  // Returns the weighted sum that a MIX op computes for the elements at one offset in its operands.
  Value sum(std::int32_t rank, const Op& op, std::int64_t offset) {
    Row row = nothing();
    std::optional<std::int64_t> element;  // element of the parameters that all operands have
    for (std::size_t i = 0; i < op.reads.size(); ++i)
      for (const auto& [member, part] : parts(rank, op.reads[i])) {
        const std::int64_t place = part.first + offset;
        const Value& value = at(member, part.buffer).at(place);
        if (value.source == kUnknown ||
            element.value_or(place + value.shift) != place + value.shift)
          return {kUnknown, 0};
        element = place + value.shift;
        const auto source = weighed(value.source, op);
        if (!source || !row.add(rows_[static_cast<std::size_t>(*source)], op.weights.numerators[i],
                                op.weights.denominator))
          return {kUnknown, 0};
      }
    return {entered(std::move(row)), *element - (op.writes.front().first + offset)};
  }

  // Returns the source that an op reads if it reads `source`: an op that weights by samples reads
  // x_i multiplied by the fraction of rank i. Returns nothing if it weights another value.
  std::optional<int> weighed(int source, const Op& op) const {
    if (!op.weights.by_samples) return source;
    return source < ranks_ ? std::optional(ranks_ + 1 + source) : std::nullopt;
  }

  int entered(Row row) {
    const auto known = std::find(rows_.begin(), rows_.end(), row);
    if (known != rows_.end()) return static_cast<int>(known - rows_.begin());
    rows_.push_back(std::move(row));
    return static_cast<int>(rows_.size()) - 1;
  }

  // Returns the weighted sum that all elements of a buffer hold, where each element is a sum of
  // elements at the same offset. Returns nothing if the elements hold different sums. For a missing
  // buffer all coefficients are zero.
  std::optional<Row> row_of(const plan::RankPlan& rank, const char* buffer) {
    const plan::BufferId id = rank.buffer(buffer);
    if (!id.valid()) return nothing();
    std::optional<int> one;
    for (const Piece& piece : at(rank.rank, id).of(0, rank.buffers[id.index()].elements)) {
      const std::string span = range_text(rank, {id, piece.first, piece.count});
      if (piece.value.source == kUnknown || piece.value.shift != 0)
        return report(rank.rank,
                      fmt::format(
                          "the program ends with {} not set to a weighted sum of the parameters",
                          span),
                      "Update, then reduce, then mix, for all parameters."),
               std::nullopt;
      if (one.value_or(piece.value.source) != piece.value.source)
        return report(rank.rank, fmt::format("the weighted sum in {} has other weights than the "
                                             "weighted sum in the parameters before it",
                                             span)),
               std::nullopt;
      one = piece.value.source;
    }
    return one ? rows_[static_cast<std::size_t>(*one)] : nothing();
  }

  std::string describe(const Row& row, int source) const {
    return fraction(row.numerators[static_cast<std::size_t>(source)], row.denominator);
  }
  bool counts(const Row& row, int source, std::int64_t numerator, std::int64_t denominator) const {
    return same_fraction(row.numerators[static_cast<std::size_t>(source)], row.denominator,
                         numerator, denominator);
  }

  // Proves that all ranks end with the mean, or with the mean weighted by samples.
  void are_means(const std::vector<Row>& rows) {
    const auto is_weighted = [&](const Row& row) {
      for (int j = 0; j < ranks_; ++j)
        if (!counts(row, j, 0, 1) || !counts(row, ranks_ + 1 + j, 1, 1)) return false;
      return true;
    };
    if (std::ranges::all_of(rows, is_weighted)) return;
    for (int i = 0; i < ranks_; ++i)
      for (int j = 0; j < ranks_; ++j)
        if (!counts(rows[static_cast<std::size_t>(i)], j, 1, ranks_) ||
            !counts(rows[static_cast<std::size_t>(i)], ranks_ + 1 + j, 0, 1))
          return report(
              i,
              fmt::format("rank {} has weight {}, but in the mean of {} every rank has weight 1/{}",
                          j, describe(rows[static_cast<std::size_t>(i)], j),
                          base::counted(ranks_, "rank"), ranks_));
  }

  // Proves that every rank moves toward the center by one fraction in (0, 1/n], and that the center
  // moves toward the mean by n times that fraction.
  void move_to_center(const std::vector<Row>& rows, const std::vector<Row>& centers) {
    const std::int64_t share = rows.front().numerators[static_cast<std::size_t>(ranks_)],
                       of = rows.front().denominator;
    if (share <= 0 || share > of / ranks_)
      return report(
          0, fmt::format("rank 0 moves by {} of the distance to the center", fraction(share, of)),
          fmt::format("Let ranks move by a fraction above 0 and up to 1/{}.", ranks_));
    for (int i = 0; i < ranks_; ++i) {
      const Row &row = rows[static_cast<std::size_t>(i)],
                &center = centers[static_cast<std::size_t>(i)];
      if (!counts(row, ranks_, share, of))
        return report(i, fmt::format("the rank moves by {} of its distance to the center, but rank "
                                     "0 moves by {} of its distance",
                                     describe(row, ranks_), fraction(share, of)));
      if (!counts(center, ranks_, of - ranks_ * share, of))
        return report(i, fmt::format("the center keeps weight {} of its old value; with {} that "
                                     "each move by {}, the center must keep {}",
                                     describe(center, ranks_), base::counted(ranks_, "rank"),
                                     fraction(share, of), fraction(of - ranks_ * share, of)));
      for (int j = 0; j < ranks_; ++j) {
        if (!counts(row, j, j == i ? of - share : 0, of))
          return report(i, fmt::format("rank {} has weight {} in the parameters of rank {}", j,
                                       describe(row, j), i));
        if (!counts(center, j, share, of))
          return report(i, fmt::format("rank {} has weight {} in the new center; every rank must "
                                       "have weight {} in the center",
                                       j, describe(center, j), fraction(share, of)));
      }
    }
  }

  const Scope& scope_;
  std::string program_;
  Findings& findings_;
  int ranks_;
  Buckets buckets_;
  std::vector<Row> rows_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::unique_ptr<Contents>>
      contents_;  // contents by rank and buffer
};

void prove_program(const Scope& scope, const std::string& program, Findings& findings) {
  const auto wanted = first_instances(scope, program);
  Execution execution(scope, program, findings);
  for (const plan::DryRun::Event& event : scope.run.events)
    if (scope.run.place(event.at).instance == wanted[static_cast<std::size_t>(event.at.rank)])
      execution.step(event);
  execution.finish();
}

}  // namespace

void prove_averaging(const Scope& scope, Findings& findings) {
  for (const std::string& program : scope.schedule.training())
    if (plan::Schedule::is_averaging(program)) prove_program(scope, program, findings);
}

}  // namespace trainyard::check
