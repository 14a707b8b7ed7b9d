// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/spans/payload_kind.h"

#include <QObject>
#include <algorithm>
#include <map>
#include <string_view>

#include "core/plan/buffer_names.h"

namespace trainyard::ui {
namespace {

using plan::OpKind;

bool sends(OpKind kind) {
  return kind == OpKind::send || kind == OpKind::push || kind == OpKind::offer;
}
bool arrives(OpKind kind) {
  return kind == OpKind::pull || kind == OpKind::turn || kind == OpKind::agree;
}
bool is_reduction(OpKind collective) {
  return collective == OpKind::all_reduce || collective == OpKind::reduce_scatter ||
         collective == OpKind::reduce;
}

// Returns the kind of the collective that a send belongs to. The program's postconditions list the
// collective; a collective that is not listed is an all-reduce.
OpKind collective_of(const plan::Program& program, const plan::Op& op) {
  if (op.kind != OpKind::send) return op.kind;
  const auto at = std::ranges::find_if(program.wanted, [&](const plan::Wanted& wanted) {
    return wanted.group == op.group && wanted.bucket == op.bucket;
  });
  return at == program.wanted.end() ? OpKind::all_reduce : at->kind;
}

PayloadKind of_parameters(OpKind collective) {
  if (collective == OpKind::all_gather) return PayloadKind::gathered_parameters;
  return is_reduction(collective) ? PayloadKind::averaged_parameters : PayloadKind::parameters;
}

PayloadKind of_gradients(OpKind collective) {
  if (collective == OpKind::all_reduce) return PayloadKind::summed_gradients;
  return collective == OpKind::reduce_scatter ? PayloadKind::scattered_gradients
                                              : PayloadKind::gradients;
}

// Returns the kind of a buffer: "act" for "act.s3@1".
std::string_view kind_of_buffer(std::string_view name) {
  return plan::base_name(name).substr(0, name.find('.'));
}

enum class Holds : std::uint8_t {
  outputs,
  output_gradients,
  parameters,
  gradients,
  encoded,
  samples,
  rows,
  statistics,
  turns
};

const std::map<std::string_view, Holds>& all_buffers() {
  using enum Holds;
  static const std::map<std::string_view, Holds> all{{"act", outputs},
                                                     {"pre", outputs},
                                                     {"grad", output_gradients},
                                                     {"partial", output_gradients},
                                                     {"pre_grad", output_gradients},
                                                     {"params", parameters},
                                                     {"shard", parameters},
                                                     {"halves", parameters},
                                                     {"mean", parameters},
                                                     {"mixed", parameters},
                                                     {"inbox", parameters},
                                                     {"reply", parameters},
                                                     {"centre", parameters},
                                                     {"handed", parameters},
                                                     {"grads", gradients},
                                                     {"grad_shard", gradients},
                                                     {"micro_grads", gradients},
                                                     {"packed", gradients},
                                                     {"encoded", encoded},
                                                     {"guess", encoded},
                                                     {"basis", encoded},
                                                     {"input", samples},
                                                     {"labels", samples},
                                                     {"sample_numbers", samples},
                                                     {"rows", rows},
                                                     {"statistics", statistics},
                                                     {"running", statistics},
                                                     {"local_norms", statistics},
                                                     {"reduced_norms", statistics},
                                                     {"sums", statistics},
                                                     {"gradient_sums", statistics},
                                                     {"summaries", statistics},
                                                     {"spread", statistics},
                                                     {"metrics", statistics},
                                                     {"loss_scale", statistics},
                                                     {"squared_errors", statistics},
                                                     {"wish", turns},
                                                     {"turn", turns}};
  return all;
}

PayloadKind payload_in(Holds holds, OpKind collective) {
  switch (holds) {
    case Holds::outputs:
      return is_reduction(collective) ? PayloadKind::partial_sums : PayloadKind::activations;
    case Holds::output_gradients:
      return is_reduction(collective) ? PayloadKind::partial_gradient_sums
                                      : PayloadKind::activation_gradients;
    case Holds::parameters: return of_parameters(collective);
    case Holds::gradients: return of_gradients(collective);
    case Holds::encoded: return PayloadKind::compressed_gradients;
    case Holds::samples: return PayloadKind::samples;
    case Holds::rows: return PayloadKind::table_rows;
    case Holds::statistics: return PayloadKind::statistics;
    case Holds::turns: return PayloadKind::turns;
  }
  return PayloadKind::other;
}

}  // namespace

OpPayload payload_of(const plan::RankPlan& rank, const plan::Program& program, const plan::Op& op) {
  const bool comes = arrives(op.kind), pairs = op.kind == OpKind::offer || op.kind == OpKind::agree;
  const auto& carried = comes ? op.writes : op.reads;
  if ((!sends(op.kind) && !comes) || carried.empty() ||
      (op.peer < 0 && !(pairs && !rank.pairs.empty())))
    return {};
  const auto at =
      all_buffers().find(kind_of_buffer(rank.buffers[carried.front().buffer.index()].name));
  return {at == all_buffers().end() ? PayloadKind::other
                                    : payload_in(at->second, collective_of(program, op)),
          op.peer, comes, pairs};
}

QString as_text(PayloadKind payload) {
  switch (payload) {
    case PayloadKind::activations: return QObject::tr("activations");
    case PayloadKind::activation_gradients: return QObject::tr("gradients of activations");
    case PayloadKind::partial_sums: return QObject::tr("partial sums of outputs");
    case PayloadKind::partial_gradient_sums: return QObject::tr("partial sums of gradients");
    case PayloadKind::parameters: return QObject::tr("parameters");
    case PayloadKind::gathered_parameters: return QObject::tr("all-gathered parameters");
    case PayloadKind::averaged_parameters: return QObject::tr("averaged parameters");
    case PayloadKind::gradients: return QObject::tr("gradients");
    case PayloadKind::summed_gradients: return QObject::tr("all-reduced gradients");
    case PayloadKind::scattered_gradients: return QObject::tr("reduce-scattered gradients");
    case PayloadKind::compressed_gradients: return QObject::tr("compressed gradients");
    case PayloadKind::samples: return QObject::tr("samples");
    case PayloadKind::table_rows: return QObject::tr("row indices");
    case PayloadKind::statistics: return QObject::tr("statistics");
    case PayloadKind::turns: return QObject::tr("work assignments");
    case PayloadKind::other: break;
  }
  return QObject::tr("other data");
}

}  // namespace trainyard::ui
