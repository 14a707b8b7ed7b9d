// SPDX-License-Identifier: GPL-3.0-or-later
// Proves by symbolic execution that collectives compute the intended sums. Local ops of a rank
// write its contribution, a leaf, into the spans of its buckets. A receive replaces the receiver's
// values by the sender's values, or adds the sender's values to them. At the end every element of a
// bucket must be the result of its collective. After an all-reduce this is a tree that contains
// every member exactly once and is equal on all members. Updates and norms read no other values of
// a reduced buffer. A leaf identifies the rank of a value, but not its step. A value that is
// encoded before it is sent gets its leaf when its rank encodes it (coding.h).
//
// If parameters are averaged, the parameters of a step are the weighted sum, over ranks, of the
// parameters after the previous step. Forward, backward and update read only these averaged
// parameters. An updated parameter becomes the rank's contribution when it is multiplied by the
// rank's weight.
//
// Three kinds of values get their leaf (the symbol of a rank's contribution) only when an op writes
// them: sums of synchronized batch norm
// (statistics.h), rows that are exchanged during the passes (vertical.h), and partial results of
// layers (layers.h).
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/base/units.h"
#include "core/check/buckets.h"
#include "core/check/coding.h"
#include "core/check/expressions.h"
#include "core/check/layers.h"
#include "core/check/proofs.h"
#include "core/check/replicas.h"
#include "core/check/statistics.h"
#include "core/check/vertical.h"

namespace trainyard::check {
namespace {

using At = plan::DryRun::At;
using plan::Access;
using plan::Op;
using plan::OpKind;

constexpr const char* kAccepted =
    "a sum that contains each member once and is added in the same order on all ranks";
constexpr const char* kAwaitParts = "Let the op wait for the partial results of all ranks.";

bool updates(OpKind kind) { return kind == OpKind::update || kind == OpKind::norm; }
bool codes(OpKind kind) { return kind == OpKind::encode || kind == OpKind::decode; }
bool uses_sum(OpKind kind) { return updates(kind) || codes(kind) || kind == OpKind::mix; }
bool passes(OpKind kind) {
  return kind == OpKind::forward || kind == OpKind::recompute || kind == OpKind::backward_input ||
         kind == OpKind::backward_weight;
}

// Symbolic execution of one program, on all ranks.
class Execution {
 public:
  Execution(const Scope& scope, std::string program, Findings& findings)
      : scope_(scope),
        program_(std::move(program)),
        elsewhere_(elsewhere(scope, program_)),
        findings_(findings),
        expressions_(scope.ranks.size() + 1),
        no_rank_(expressions_.leaf(static_cast<std::int32_t>(scope.ranks.size()))),
        buckets_(buckets_of(scope, program_)),
        coding_(scope, program_, buckets_),
        statistics_(scope, program_),
        vertical_(scope, program_, buckets_),
        layers_(scope, program_, buckets_),
        replicas_(scope, program_) {
    for (auto& [key, bucket] : buckets_)
      for (auto& [rank, home] : bucket.homes)
        home.cells.assign(bucket.cuts.size(), before(bucket, rank));
  }

  bool check_flaws() {
    auto flaw = first_flaw(scope_, program_, buckets_);
    if (!flaw) flaw = vertical_.first_flaw();
    if (!flaw) flaw = layers_.first_flaw();
    return !flaw || report(flaw->rank, -1, flaw->what);
  }

  // Executes an event of the rehearsal that belongs to this program. Returns false after a finding,
  // because further findings would only be its consequences.
  bool step(const plan::DryRun::Event& event) {
    const Op& op = scope_.op(event.at);
    if (!event.completes) return true;
    if (!plan::communicates(op.kind)) return local(event.at, op);
    if (is_mixing_transfer(scope_.program(event.at), op)) return true;
    if (elsewhere_.proves(scope_.rank(event.at.rank), collective_of(scope_.program(event.at), op),
                          span_of(op)))
      return forwards_sums(event.at, op);
    return plan::coarse(op.kind) ? whole(event) : receive(event, op);
  }

  void finish() {
    for (const auto& [key, bucket] : buckets_)
      for (const auto& [rank, home] : bucket.homes) {
        if (vertical_.is_exchanged(bucket)) {
          if (!rows_were_read(bucket, rank)) return;
          continue;
        }
        if (!check_final_values(bucket, rank)) return;
        if (coding_.is_coded(bucket) && !coding_.is_read(bucket, rank)) {
          report(rank, last_op(rank, bucket),
                 fmt::format("bucket {} is not decoded completely", bucket.number));
          return;
        }
      }
  }

 private:
  bool report(const At& at, const std::string& what, std::string advice) {
    findings_.add(Proof::meaning, at, what, kAccepted, std::move(advice));
    return false;
  }
  bool report(std::int32_t rank, int op, const std::string& what) {
    findings_.add(Proof::meaning, FindingLocation{rank, program_, op}, what, kAccepted, "");
    return false;
  }

  // True if ranks must sum their norms for clipping, because no rank has the full gradient.
  bool sums_norms() const { return elsewhere_.broadcasts || elsewhere_.shards || layers_.split(); }

  // Returns the symbolic value that the bucket has on this rank before the program starts.
  int before(const Bucket& bucket, std::int32_t rank) {
    if (statistics_.is_summed(bucket)) return expressions_.nothing();
    if (layers_.is_summed(bucket))
      return reduces(bucket.wanted) ? expressions_.nothing() : no_rank_;
    if (vertical_.is_exchanged(bucket))
      return reduces(bucket.wanted) ? expressions_.nothing() : no_rank_;
    if (!bucket.is_weighted) return coding_.is_coded(bucket) ? no_rank_ : expressions_.leaf(rank);
    std::vector<int> leaves;
    for (const std::int32_t member : members(bucket)) leaves.push_back(expressions_.leaf(member));
    return *expressions_.sum(leaves);
  }

  // Checks that an op sends sums to other ranks only after they are complete.
  bool forwards_sums(const At& at, const Op& op) {
    const bool hands_on =
        op.kind == OpKind::send || (op.kind == OpKind::broadcast && op.peer == at.rank);
    for (const Overlap& o :
         hands_on ? overlaps(buckets_, at.rank, op.reads.front()) : std::vector<Overlap>{})
      for (std::size_t c = o.first; c < o.last && layers_.is_summed(*o.bucket); ++c)
        if (!is_complete(*o.bucket, at.rank, c))
          return report(at,
                        fmt::format("the op sends {}", describe_incomplete(*o.bucket, at.rank, c)),
                        kAwaitParts);
    return true;
  }

  // True if layers are split over ranks. If there are several replicas, they then sum their
  // gradients.
  bool knows_replicas() const {
    return !elsewhere_.shards && (layers_.split() || elsewhere_.broadcasts);
  }

  // Checks that the gradient that an update reads is summed over all replicas.
  bool is_of_all_replicas(const At& at, const Op& op) {
    if (op.kind != OpKind::update || !knows_replicas()) return true;
    const auto found = overlaps(buckets_, at.rank, op.reads.front());
    const auto flaw = replicas_.flaw(
        at.rank, op.segment, found.empty() ? std::vector{at.rank} : members(*found.front().bucket));
    return !flaw ||
           report(at, *flaw,
                  "Sum the gradients of all replicas, with the gradient of each replica once.");
  }

  bool local(const At& at, const Op& op) {
    if (!is_of_all_replicas(at, op)) return false;
    for (const Access& access : op.reads) {
      if (updates(op.kind) && !reads_decoded(at, access)) return false;
      // MIX with equal input and output span only scales the rank's local value, so it does not
      // read a sum
      const bool adds = op.kind == OpKind::mix && access == op.writes.front();
      if (((uses_sum(op.kind) && !adds) || (sums_norms() && op.kind == OpKind::clip)) &&
          !reads_sum(at, access))
        return false;
      if (passes(op.kind) && !reads_average(at, access)) return false;
      if (!reads_layer(at, op, access)) return false;
    }
    if (!reads_statistics(at, op) || !reads_rows(at, op)) return false;
    statistics_.write(at.rank, op);
    vertical_.write(at.rank, op);
    if (op.kind == OpKind::encode) coding_.encode(at.rank, op);
    if (op.kind == OpKind::decode) coding_.decode(at.rank, op);
    for (const Access& access : op.writes)
      if (!writes(at, op, access)) return false;
    return true;
  }

  bool writes(const At& at, const Op& op, const Access& access) {
    if (!codes(op.kind) && !coding_.write(at.rank, access))
      return report(at,
                    fmt::format("the op changes {} after it was encoded",
                                range_text(scope_.rank(at.rank), access)),
                    "Encode a gradient after the last op that writes it.");
    if (op.kind == OpKind::weigh && !is_summed(at, access)) return false;
    for (const Overlap& o : overlaps(buckets_, at.rank, access)) {
      if (layers_.is_summed(*o.bucket)) {
        if (!writes_layer(at, op, access, o)) return false;
        continue;
      }
      if (op.kind == OpKind::weigh && !finds_an_update(at, o)) return false;
      const bool contributes = !o.bucket->is_weighted || op.kind == OpKind::weigh;
      std::fill(o.home->cells.begin() + static_cast<std::ptrdiff_t>(o.first),
                o.home->cells.begin() + static_cast<std::ptrdiff_t>(o.last),
                contributes ? expressions_.leaf(at.rank) : expressions_.nothing());
    }
    return true;
  }

  // Records a write to a layer's partial result. After the partial results are summed over all
  // ranks, an op may change the sum in place if all ranks make the same change.
  bool writes_layer(const At& at, const Op& op, const Access& access, const Overlap& o) {
    if (!layers_.makes(at.rank, op, access))
      return std::find(op.reads.begin(), op.reads.end(), access) != op.reads.end() ||
             report(
                 at,
                 fmt::format("the op overwrites {}, which holds the partial result of each rank",
                             range_text(scope_.rank(at.rank), access)),
                 "Write only partial results to this buffer, and in-place changes of their sum.");
    layers_.write(at.rank, *o.bucket, op.micro);
    std::fill(o.home->cells.begin() + static_cast<std::ptrdiff_t>(o.first),
              o.home->cells.begin() + static_cast<std::ptrdiff_t>(o.last),
              expressions_.leaf(at.rank));
    return true;
  }

  bool reads_layer(const At& at, const Op& op, const Access& access) {
    for (const Overlap& o : overlaps(buckets_, at.rank, access)) {
      if (!layers_.is_summed(*o.bucket)) continue;
      if (!layers_.of_its_micro_step(at.rank, *o.bucket, op.micro))
        return report(at,
                      fmt::format("the op reads {}, which holds values of another micro-step",
                                  range_text(scope_.rank(at.rank), access)),
                      "Let the op wait for the collective of the op's own micro-step.");
      for (std::size_t c = o.first; c < o.last; ++c)
        if (!is_complete(*o.bucket, at.rank, c))
          return report_incomplete(at, *o.bucket, c, kAwaitParts);
    }
    return true;
  }

  bool is_summed(const At& at, const Access& access) {
    std::int64_t covered = 0;
    for (const Overlap& o : overlaps(buckets_, at.rank, access))
      covered += o.bucket->cuts[o.last] - o.bucket->cuts[o.first];
    return covered == access.count ||
           report(at,
                  fmt::format(
                      "the op multiplies {} by the weight of the rank, but no collective sums it",
                      range_text(scope_.rank(at.rank), access)),
                  "Add buckets that contain all parameters.");
  }

  bool finds_an_update(const At& at, const Overlap& o) {
    for (std::size_t c = o.first; c < o.last; ++c)
      if (o.home->cells[c] != expressions_.nothing())
        return report(at,
                      fmt::format("the op multiplies elements of bucket {} by the weight of the "
                                  "rank, but they are not the result of an update",
                                  o.bucket->number),
                      "Multiply each element by the weight once, after its update.");
    return true;
  }

  bool reads_average(const At& at, const Access& access) {
    for (const Overlap& o : overlaps(buckets_, at.rank, access))
      for (std::size_t c = o.first; c < o.last && o.bucket->is_weighted; ++c)
        if (!is_complete(*o.bucket, at.rank, c))
          return report_incomplete(
              at, *o.bucket, c,
              "Read the average before the update of the rank, or after the collective.");
    return true;
  }

  bool reads_statistics(const At& at, const Op& op) {
    if (statistics_.lacks_gradient_sums(at.rank, op))
      return report(at, "the op does not read the gradient sums of its batch norm",
                    "Read the sums that the weight gradient op (W) of the segment writes, after "
                    "they are summed over all ranks.");
    const auto wanted = statistics_.wanted(at.rank, op);
    return std::all_of(wanted.begin(), wanted.end(),
                       [&](const Access& sums) { return reads_sums_of_all(at, op, sums); });
  }

  bool reads_sums_of_all(const At& at, const Op& op, const Access& sums) {
    const std::string name = range_text(scope_.rank(at.rank), sums);
    if (std::find(op.reads.begin(), op.reads.end(), sums) == op.reads.end())
      return report(at, fmt::format("the op does not read {}", name),
                    "Normalize by the sums over the samples of all ranks.");
    if (!statistics_.of_its_micro_step(at.rank, op, sums))
      return report(at,
                    fmt::format("the op reads {}, which holds sums of another micro-step", name),
                    "Let the op wait for the sums of the op's own micro-step.");
    std::int64_t covered = 0;
    for (const Overlap& o : overlaps(buckets_, at.rank, sums)) {
      covered += o.bucket->cuts[o.last] - o.bucket->cuts[o.first];
      if (!statistics_.over_all(members(*o.bucket), op.segment))
        return report(
            at,
            fmt::format(
                "the op reads {}, which is summed over a group that lacks some ranks of the "
                "batch norm",
                name),
            "Sum over all ranks that normalize by these sums.");
      for (std::size_t c = o.first; c < o.last; ++c)
        if (!is_complete(*o.bucket, at.rank, c))
          return report_incomplete(
              at, *o.bucket, c,
              "Let the op wait for the collective that sums its batch norm statistics.");
    }
    return covered == sums.count ||
           report(at,
                  fmt::format("the op reads {}, which is computed from samples of one rank only",
                              name),
                  "Sum the statistics over all ranks first.");
  }

  // Checks what the ops of a first layer read if it is split by input columns. F (forward) must
  // read this rank's rows of the output, summed over all columns. W (weight gradient) must read the
  // output gradients of all rows.
  bool reads_rows(const At& at, const Op& op) {
    const auto reading = vertical_.reading(op);
    if (!reading) return true;
    const Bucket* bucket = reading->bucket;
    if (bucket == nullptr || !bucket->homes.contains(at.rank))
      return report(
          at,
          op.kind == OpKind::forward
              ? "the op reads partial products, which are computed only from its rank's columns"
              : "the op reads gradients of its rank's rows, not of all rows",
          "Exchange rows first: reduce-scatter the partial products (output of PART), "
          "and all-gather the gradients of the layer (output of B).");
    const Access rows = rows_wanted(*bucket, at.rank);
    const std::string name = range_text(scope_.rank(at.rank), rows);
    if (std::find(op.reads.begin(), op.reads.end(), rows) == op.reads.end())
      return report(at, fmt::format("the op does not read {}", name),
                    "Let F read the rank's rows of the sum, and W the gradients of all rows.");
    if (!vertical_.of_its_micro_step(at.rank, *bucket, op.micro))
      return report(at,
                    fmt::format("the op reads {}, which holds rows of another micro-step", name),
                    "Let the op wait for the exchange of rows of its own micro-step.");
    const Bucket::Home& home = bucket->homes.at(at.rank);
    for (std::size_t c = bucket->cell(rows.first - home.first),
                     end = bucket->cell(rows.first - home.first + rows.count);
         c < end; ++c)
      if (!is_complete(*bucket, at.rank, c))
        return report_incomplete(at, *bucket, c,
                                 "Let the op wait for the collective that exchanges its rows.");
    vertical_.read(at.rank, *bucket);
    return true;
  }

  // Returns the span that an op of the first layer must read: the rank's rows of the sum (F), or
  // the gathered rows of all ranks (W).
  Access rows_wanted(const Bucket& bucket, std::int32_t rank) const {
    const Bucket::Home& home = bucket.homes.at(rank);
    if (!reduces(bucket.wanted)) return {home.buffer, home.first, home.length()};
    const auto [first, count] = chunk_of(bucket, rank);
    return {home.buffer, home.first + first, count};
  }

  std::pair<std::int64_t, std::int64_t> chunk_of(const Bucket& bucket, std::int32_t rank) const {
    const plan::Group& group = scope_.groups[static_cast<std::size_t>(bucket.group)];
    return bucket.chunk(group.ranks.size(), static_cast<std::size_t>(group.position(rank)));
  }

  bool rows_were_read(const Bucket& bucket, std::int32_t rank) {
    return rows_wanted(bucket, rank).count == 0 || vertical_.is_read(rank, bucket) ||
           report(rank, last_op(rank, bucket),
                  fmt::format("bucket {} receives rows of other ranks, but no op reads them",
                              bucket.number));
  }

  bool reads_decoded(const At& at, const Access& access) {
    return !coding_.is_gradient(at.rank, access.buffer) || coding_.is_decoded(at.rank, access) ||
           report(at,
                  fmt::format("the op reads {}, which is not decoded completely",
                              range_text(scope_.rank(at.rank), access)),
                  "Decode every bucket of the gradient first.");
  }

  bool reads_sum(const At& at, const Access& access) {
    std::int64_t covered = 0;
    for (const Overlap& o : overlaps(buckets_, at.rank, access)) {
      covered += o.bucket->cuts[o.last] - o.bucket->cuts[o.first];
      for (std::size_t c = o.first; c < o.last; ++c)
        if (!holds_result(*o.bucket, at.rank, c) || !is_complete(*o.bucket, at.rank, c))
          return report_incomplete(
              at, *o.bucket, c,
              "Let the op wait for the collective of the bucket that it reads. Let it read only "
              "elements that hold the result on its rank.");
    }
    const bool reduced = std::any_of(buckets_.begin(), buckets_.end(), [&](auto& entry) {
      return entry.second.home_in(at.rank, access.buffer) != nullptr;
    });
    return !reduced || covered == access.count || (covered == 0 && knows_replicas()) ||
           report(at,
                  fmt::format("the op reads {}, but {} of it {} in no bucket",
                              range_text(scope_.rank(at.rank), access),
                              base::counted(access.count - covered, "element"),
                              access.count - covered == 1 ? "is" : "are"),
                  "Add buckets that contain the full gradient.");
  }

  const std::vector<std::int32_t>& members(const Bucket& bucket) const {
    return scope_.groups[static_cast<std::size_t>(bucket.group)].ranks;
  }

  // True if the rank holds the result of the bucket's collective.
  bool is_complete(const Bucket& bucket, std::int32_t rank, std::size_t cell) const {
    const int value = held(bucket, rank, cell);
    return reduces(bucket.wanted)
               ? expressions_.holds_exactly(value, members(bucket))
               : value != no_rank_ && value == held(bucket, source_of(bucket, cell), cell);
  }
  std::string describe_incomplete(const Bucket& bucket, std::int32_t rank, std::size_t cell) const {
    if (held(bucket, rank, cell) == no_rank_)
      return fmt::format(
          "elements of bucket {} that no rank has {}", bucket.number,
          vertical_.is_exchanged(bucket) || layers_.is_summed(bucket) ? "computed" : "encoded");
    if (!reduces(bucket.wanted))
      return fmt::format("elements of bucket {} that differ from those of rank {}", bucket.number,
                         source_of(bucket, cell));
    return fmt::format("elements of bucket {} that sum contributions of {} of {}", bucket.number,
                       expressions_.count(held(bucket, rank, cell)),
                       base::counted(std::ssize(members(bucket)), "member"));
  }
  bool report_incomplete(const At& at, const Bucket& bucket, std::size_t cell, const char* advice) {
    return report(at, fmt::format("the op reads {}", describe_incomplete(bucket, at.rank, cell)),
                  advice);
  }

  bool receive(const plan::DryRun::Event& event, const Op& op) {
    const At& at = event.at;
    Bucket& bucket = buckets_.at({op.group, op.bucket});
    const Access& span = span_of(op);
    const std::int64_t first = span.first - bucket.homes.at(at.rank).first;
    for (const At& source : scope_.run.sources_of(event)) {
      const Op& send = scope_.op(source);
      if (const std::int64_t from = span_of(send).first - bucket.homes.at(source.rank).first;
          from != first)
        return report(
            at,
            fmt::format(
                "the op receives to offset {} of bucket {}, but {} of rank {} sends from offset {}",
                first, op.bucket, plan::token(send), source.rank, from),
            "Use the same range of the bucket on both ranks.");
    }
    Bucket::Home& home = bucket.homes.at(at.rank);
    const bool to_scratch = op.writes.front().buffer != home.buffer;
    for (std::size_t c = bucket.cell(first), last = bucket.cell(first + span.count); c < last;
         ++c) {
      const auto value = received(event, op, bucket, c);
      if (!value && op.kind == OpKind::copy)
        return report(at,
                      "the op copies scratch memory that does not hold the sum of these elements",
                      "Copy the result of the sum back to its own elements.");
      if (!value)
        return report(at, "the op adds a contribution twice to a sum",
                      "Send and add every chunk once.");
      if (to_scratch)
        scratch_[scratch_key(at.rank, op.writes.front(), bucket.cuts[c] - first)] = {&bucket, c,
                                                                                     *value};
      else home.cells[c] = *value;
    }
    return true;
  }

  std::optional<int> received(const plan::DryRun::Event& event, const Op& op, const Bucket& bucket,
                              std::size_t cell) {
    if (op.kind == OpKind::copy) return copied_back(event.at.rank, op, bucket, cell);
    if (op.kind == OpKind::reduce_many)
      return sum_over(bucket, plan::summands(op, scope_.groups), cell);
    const int incoming = held(bucket, scope_.run.sources_of(event).front().rank, cell);
    return op.kind == OpKind::recv ? std::optional(incoming)
                                   : expressions_.add(held(bucket, event.at.rank, cell), incoming);
  }

  // A sum in scratch memory: the bucket's cell for which it is computed, and its symbolic value.
  struct ScratchSum {
    const Bucket* bucket = nullptr;
    std::size_t cell = 0;
    int value = 0;
  };
  using ElementKey = std::tuple<std::int32_t, std::int32_t, std::int64_t>;
  static ElementKey scratch_key(std::int32_t rank, const Access& span, std::int64_t offset) {
    return {rank, span.buffer.value, span.first + offset};
  }
  std::optional<int> copied_back(std::int32_t rank, const Op& op, const Bucket& bucket,
                                 std::size_t cell) const {
    const std::int64_t offset =
        bucket.cuts[cell] - (op.writes.front().first - bucket.homes.at(rank).first);
    const auto at = scratch_.find(scratch_key(rank, op.reads.front(), offset));
    return at == scratch_.end() || at->second.bucket != &bucket || at->second.cell != cell
               ? std::nullopt
               : std::optional(at->second.value);
  }

  static int held(const Bucket& bucket, std::int32_t rank, std::size_t cell) {
    return bucket.homes.at(rank).cells[cell];
  }

  std::optional<int> sum_over(const Bucket& bucket, const std::vector<std::int32_t>& ranks,
                              std::size_t cell) {
    std::vector<int> summands;
    summands.reserve(ranks.size());
    for (const std::int32_t rank : ranks) summands.push_back(held(bucket, rank, cell));
    return expressions_.sum(summands);
  }

  // Executes a collective that is a single op: every member gets its result.
  bool whole(const plan::DryRun::Event& event) {
    Bucket& bucket = buckets_.at({scope_.op(event.at).group, scope_.op(event.at).bucket});
    // if a micro-step has few samples, the op covers only the first part of the bucket
    const Access& span = span_of(scope_.op(event.at));
    const std::int64_t first = span.first - bucket.homes.at(event.at.rank).first;
    for (std::size_t c = bucket.cell(first), last = bucket.cell(first + span.count); c < last;
         ++c) {
      const auto sum = reduces(bucket.wanted)
                           ? sum_over(bucket, members(bucket), c)
                           : held(bucket, source_of(bucket, c, first, span.count), c);
      if (!sum)
        return report(event.at, "the op adds a contribution twice to a sum",
                      "Reduce every bucket once.");
      for (auto& [rank, home] : bucket.homes)
        if (holds_result(bucket, rank, c)) home.cells[c] = *sum;
    }
    return true;
  }

  // Returns the member whose chunk contains a cell. Chunks divide `count` elements from `first` on.
  std::int32_t owner(const Bucket& bucket, std::size_t cell, std::int64_t first,
                     std::int64_t count) const {
    const auto& ranks = members(bucket);
    for (std::size_t p = 0; p + 1 < ranks.size(); ++p)
      if (bucket.cuts[cell] - first < bucket.chunk(count, ranks.size(), p + 1).first)
        return ranks[p];
    return ranks.back();
  }
  std::int32_t owner(const Bucket& bucket, std::size_t cell) const {
    return owner(bucket, cell, 0, bucket.homes.begin()->second.length());
  }
  // Returns the member that has the cell's value at the start. Only for collectives that copy
  // without summing.
  std::int32_t source_of(const Bucket& bucket, std::size_t cell, std::int64_t first,
                         std::int64_t count) const {
    return bucket.wanted == OpKind::broadcast || bucket.wanted == OpKind::scatter
               ? bucket.root
               : owner(bucket, cell, first, count);
  }
  std::int32_t source_of(const Bucket& bucket, std::size_t cell) const {
    return source_of(bucket, cell, 0, bucket.homes.begin()->second.length());
  }
  bool holds_result(const Bucket& bucket, std::int32_t rank, std::size_t cell) const {
    switch (bucket.wanted) {
      case OpKind::reduce:
      case OpKind::gather: return rank == bucket.root;
      case OpKind::reduce_scatter:
      case OpKind::scatter: return rank == owner(bucket, cell);
      default: return true;
    }
  }

  bool check_final_values(const Bucket& bucket, std::int32_t rank) {
    const std::int32_t first = bucket.homes.begin()->first;
    for (std::size_t c = 0; c + 1 < bucket.cuts.size(); ++c) {
      if (!holds_result(bucket, rank, c)) continue;
      if (!is_complete(bucket, rank, c))
        return report(rank, last_op(rank, bucket),
                      fmt::format("the rank ends with {}", describe_incomplete(bucket, rank, c)));
      if (bucket.wanted == OpKind::all_reduce && held(bucket, rank, c) != held(bucket, first, c))
        return report(rank, last_op(rank, bucket),
                      fmt::format("the rank sums bucket {} in a different order than rank {}",
                                  bucket.number, first));
    }
    return true;
  }
  int last_op(std::int32_t rank, const Bucket& bucket) const {
    const plan::RankPlan& whole = scope_.rank(rank);
    const auto& ops = whole.programs[static_cast<std::size_t>(whole.program(program_))].ops;
    const auto at = std::find_if(ops.rbegin(), ops.rend(), [&](const Op& op) {
      return plan::communicates(op.kind) && op.group == bucket.group && op.bucket == bucket.number;
    });
    return static_cast<int>(ops.rend() - at) - 1;
  }

  const Scope& scope_;
  std::string program_;
  OtherProofs elsewhere_;
  Findings& findings_;
  Expressions expressions_;
  int no_rank_;  // leaf for values that belong to no rank
  Buckets buckets_;
  Coding coding_;
  Statistics statistics_;
  Vertical vertical_;
  Layers layers_;
  Replicas replicas_;
  std::map<ElementKey, ScratchSum> scratch_;
};

void prove_program(const Scope& scope, const std::string& program, Findings& findings) {
  const auto wanted = first_instances(scope, program);
  Execution execution(scope, program, findings);
  if (std::all_of(wanted.begin(), wanted.end(), [](std::int32_t i) { return i < 0; }) ||
      !execution.check_flaws())
    return;
  for (const plan::DryRun::Event& event : scope.run.events)
    if (scope.run.place(event.at).instance == wanted[static_cast<std::size_t>(event.at.rank)] &&
        !execution.step(event))
      return;
  execution.finish();
}

}  // namespace

void prove_meaning(const Scope& scope, Findings& findings) {
  std::set<std::string> names;
  for (const plan::RankPlan& rank : scope.ranks)
    for (const plan::Program& program : rank.programs) names.insert(program.name);
  for (const std::string& name : names) prove_program(scope, name, findings);
}

}  // namespace trainyard::check
