// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/stepper/step_text.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <numeric>

#include "core/base/units.h"
#include "core/plan/text.h"
#include "ui/model/text/count_text.h"

namespace trainyard::ui {
namespace {

using collective::Algorithm;
using collective::Collective;
using collective::Effect;
using collective::Move;
using collective::PartialSum;

// Maximum number of members of a sum that are listed individually.
constexpr std::size_t kMaxNamed = 8;
constexpr std::int64_t kFewBytes = 10'000;  // byte counts up to this one are shown exactly
constexpr int kMaxNumbers = 4;
constexpr int kAllDigits = 17;  // decimal digits that distinguish any two doubles

QString text(const char* source, int n = -1) {
  return QCoreApplication::translate("stepper", source, nullptr, n);
}

QString joined(const std::vector<int>& ranks, const QString& between) {
  QStringList names;
  for (const int rank : ranks) names << QString::number(rank);
  return names.join(between);
}

QString rank_of(const Stepper& stepper, int position) {
  return QString::number(named_rank(stepper, position));
}

const PartialSum& held(const std::vector<std::vector<PartialSum>>& cells, int rank, int chunk) {
  return cells[static_cast<std::size_t>(rank)][static_cast<std::size_t>(chunk)];
}

// Returns the values that a rank holds of the chunks that the step moved, such as "12 (0+2)",
// separated by "; ".
QString numbers(const Stepper& stepper, const std::vector<std::vector<PartialSum>>& cells,
                int rank) {
  const Move& move = *stepper.move();
  QStringList list;
  for (int chunk = move.chunk; chunk < move.chunk + move.chunks; ++chunk)
    list << held_text(held(cells, rank, chunk), stepper.steps().exercise);
  if (list.size() > kMaxNumbers) list = list.mid(0, kMaxNumbers) << "…";
  return list.join("; ");
}

QString moved(const Stepper& stepper) {
  const Move& move = *stepper.move();
  return text("Rank %1 sends %2 to rank %3")
      .arg(rank_of(stepper, move.from), chunks_text(move.chunk, move.chunks),
           rank_of(stepper, move.to));
}

// Describes a step that adds received data to a sum. Until all summands are included, the partial
// sum is in a scratch buffer and is shown beside the value.
QString summed(const Stepper& stepper) {
  const Move& move = *stepper.move();
  if (move.ends)
    return text("%1, which now has all summands: %2.")
        .arg(moved(stepper), numbers(stepper, stepper.state().held, move.to));
  return text("%1, which adds it to its scratch buffer in rank order: %2.")
      .arg(moved(stepper), numbers(stepper, stepper.state().scratch_sums, move.to));
}

QString start_text(Collective collective) {
  switch (collective) {
    case Collective::all_gather:
    case Collective::gather:
      return text("Every rank holds one chunk. Press Next step, or the key Right.");
    case Collective::broadcast:
    case Collective::scatter:
      return text("Only the root holds data. Press Next step, or the key Right.");
    default: return text("Every rank holds its local values. Press Next step, or the key Right.");
  }
}

QString end_text(Collective collective) {
  switch (collective) {
    case Collective::all_reduce: return text("Done: every rank holds the full sum.");
    case Collective::reduce_scatter: return text("Done: every rank holds its chunk of the sum.");
    case Collective::reduce: return text("Done: the root holds the full sum.");
    case Collective::scatter: return text("Done: every rank holds its chunk.");
    case Collective::gather: return text("Done: the root holds all chunks.");
    case Collective::all_gather:
    case Collective::broadcast: return text("Done: every rank holds all chunks.");
  }
  return {};
}

QString done_text(const Stepper& stepper) {
  const Move& move = *stepper.move();
  switch (move.effect) {
    case Effect::replaces:
      return text("%1, which stores it: %2.")
          .arg(moved(stepper), numbers(stepper, stepper.state().held, move.to));
    case Effect::adds:
      return text("%1, which adds it to its local value: %2.")
          .arg(moved(stepper), numbers(stepper, stepper.state().held, move.to));
    case Effect::sums: return summed(stepper);
    case Effect::copies_from_scratch:
      return text(
                 "Rank %1 copies the sum from its scratch buffer to %2, which its peers have now "
                 "read: %3.")
          .arg(rank_of(stepper, move.to), chunks_text(move.chunk, move.chunks),
               numbers(stepper, stepper.state().held, move.to));
  }
  return {};
}

}  // namespace

QString collective_text(Collective collective) {
  switch (collective) {
    case Collective::all_reduce: return text("all-reduce");
    case Collective::reduce_scatter: return text("reduce-scatter");
    case Collective::all_gather: return text("all-gather");
    case Collective::broadcast: return text("broadcast");
    case Collective::reduce: return text("reduce");
    case Collective::scatter: return text("scatter");
    case Collective::gather: return text("gather");
  }
  return {};
}

QString algorithm_text(Collective collective, Algorithm algorithm) {
  const bool tree = collective == Collective::broadcast || collective == Collective::reduce;
  if (tree && algorithm == Algorithm::binary_tree) return text("binomial tree");
  if (tree || collective == Collective::scatter || collective == Collective::gather)
    return text("direct");
  const std::string_view name = base::name_of(algorithm);
  return QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
}

int named_rank(const Stepper& stepper, int position) {
  return position < stepper.steps().members() ? stepper.steps().exercise.rank(position) : position;
}

QString value_text(double value) { return QString::number(value, 'g', 6); }

QString members_text(const std::vector<int>& members, const collective::Exercise& exercise) {
  const auto all = static_cast<std::size_t>(exercise.members());
  if (members.size() > kMaxNamed)
    return members.size() == all ? text("all %1 ranks").arg(all)
                                 : text("%1 of %2 ranks").arg(members.size()).arg(all);
  std::vector<int> ranks(members.size());
  std::ranges::transform(members, ranks.begin(), [&](int member) { return exercise.rank(member); });
  return joined(ranks, "+");
}

QString held_text(const PartialSum& held, const collective::Exercise& exercise) {
  return held.of.empty() ? text("empty")
                         : value_text(held.value) + " (" + members_text(held.of, exercise) + ")";
}

QString chunks_text(int chunk, int chunks) {
  return chunks == 1 ? text("chunk %1").arg(chunk)
                     : text("chunks %1 to %2").arg(chunk).arg(chunk + chunks - 1);
}

QString program_line_text(const QString& token) {
  const auto op = plan::parse_token(token.toStdString());
  if (!op) return {};
  const QString what = chunks_text(op->chunk, op->chunks);
  switch (op->kind) {
    case plan::OpKind::send: return text("send %1 to rank %2").arg(what).arg(op->peer);
    case plan::OpKind::recv: return text("store %1 from rank %2").arg(what).arg(op->peer);
    case plan::OpKind::recv_reduce: return text("add %1 from rank %2").arg(what).arg(op->peer);
    case plan::OpKind::reduce_many:
      if (op->summands.empty()) return text("add up %1 of all ranks").arg(what);
      return text("add up %1 of ranks %2")
          .arg(what, joined({op->summands.begin(), op->summands.end()}, ", "));
    case plan::OpKind::copy: return text("copy the sum of %1 from the scratch buffer").arg(what);
    default: return {};
  }
}

QString bytes_text(std::int64_t bytes) {
  return bytes < kFewBytes ? QString::number(bytes) + " B"
                           : QString::fromStdString(base::format_bytes(static_cast<double>(bytes)));
}

QString bytes_so_far(std::int64_t bytes, std::int64_t of) {
  return of < kFewBytes ? text("%1 of %2 B").arg(bytes).arg(of)
                        : text("%1 of %2").arg(bytes_text(bytes), bytes_text(of));
}

QString place_text(const Stepper& stepper) {
  const auto& steps = stepper.steps();
  if (stepper.problem()) return {};
  if (steps.count() == 0) return text("No steps: a single rank sends no data");
  if (stepper.step() == 0)
    return text("Start: %1, %2")
        .arg(text("%n round(s)", plural(steps.rounds)), text("%n step(s)", plural(steps.count())));
  return text("Round %1 of %2, step %3 of %4")
      .arg(stepper.move()->round + 1)
      .arg(steps.rounds)
      .arg(stepper.step())
      .arg(steps.count());
}

QString sentence(const Stepper& stepper) {
  if (stepper.problem()) return QString::fromStdString(base::to_string(*stepper.problem()));
  const auto& steps = stepper.steps();
  const Collective collective = steps.exercise.collective;
  if (steps.count() == 0) return end_text(collective);
  if (stepper.step() == 0) return start_text(collective);
  if (stepper.step() < steps.count()) return done_text(stepper);
  const QString known = verdict(stepper).text;
  return done_text(stepper) + " " + end_text(collective) +
         (known.isEmpty() ? QString() : " " + known);
}

QString agreement_text(const Stepper& stepper, int position, int chunk) {
  switch (stepper.agreement(position, chunk)) {
    case Stepper::Agreement::unknown: return {};
    case Stepper::Agreement::same: return text("same as in the run");
    case Stepper::Agreement::other:
      return text("in the run: %1")
          .arg(QString::number(stepper.after(position, chunk), 'g', kAllDigits));
  }
  return {};
}

Verdict verdict(const Stepper& stepper) {
  const auto& steps = stepper.steps();
  int same = 0, other = 0;
  for (int position = 0; position < steps.members(); ++position)
    for (int chunk = 0; chunk < steps.chunks(); ++chunk) {
      same += stepper.agreement(position, chunk) == Stepper::Agreement::same ? 1 : 0;
      other += stepper.agreement(position, chunk) == Stepper::Agreement::other ? 1 : 0;
    }
  if (other > 0)
    return {text("%1 of %2 values differ from the run.").arg(other).arg(same + other), false};
  if (same == 1) return {text("The value equals that of the run, bit for bit."), true};
  return {
      same > 0 ? text("All %1 values equal those of the run, bit for bit.").arg(same) : QString(),
      true};
}

QString traffic_text(const Stepper& stepper) {
  const auto& steps = stepper.steps();
  if (stepper.problem()) return {};
  const auto formula = collective::total_formula(steps.exercise);
  const std::int64_t sent =
      std::accumulate(stepper.state().sent.begin(), stepper.state().sent.end(), std::int64_t{0});
  const QString root = formula.text.find('c') == std::string::npos
                           ? QString()
                           : text(", c = %1, the root's chunk")
                                 .arg(bytes_text(steps.exercise.bytes() - formula.bytes));
  return text("Total sent: %1. Formula: %2 = %3 (n = %4, S = %5%6).")
      .arg(bytes_so_far(sent, std::accumulate(steps.total_sent.begin(), steps.total_sent.end(),
                                              std::int64_t{0})),
           QString::fromStdString(formula.text), bytes_text(formula.bytes),
           QString::number(steps.members()), bytes_text(steps.exercise.bytes()), root);
}

}  // namespace trainyard::ui
