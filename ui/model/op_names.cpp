// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/op_names.h"

#include "core/plan/text.h"

namespace trainyard::ui {
namespace {

using plan::OpKind;

NamedProgram named(const plan::Program& program) {
  NamedProgram made{program.name, {}};
  made.ops.reserve(program.ops.size());
  for (const plan::Op& op : program.ops) made.ops.push_back({plan::token(op), kind_of(op.kind), op.lane.value + 1});
  return made;
}

// A text of several ranks numbers them from 0: one alone is read as the first.
std::string as_first_rank(const std::string& text) {
  const std::size_t line_end = text.find('\n');
  return "plan 1\nschedule steps 0 full 0\nrank 0" + (line_end == std::string::npos ? std::string() : text.substr(line_end));
}

}  // namespace

SpanKind kind_of(OpKind kind) {
  switch (kind) {
    case OpKind::load: return SpanKind::input;
    case OpKind::statistics:
    case OpKind::partial:
    case OpKind::forward: return SpanKind::forward;
    case OpKind::loss: return SpanKind::loss;
    case OpKind::backward_input:
    case OpKind::backward_weight: return SpanKind::backward;
    case OpKind::update:
    case OpKind::weigh: return SpanKind::update;
    case OpKind::send: return SpanKind::send;
    default: break;
  }
  if (plan::coarse(kind)) return SpanKind::collective;
  return plan::communicates(kind) ? SpanKind::receive : SpanKind::other;
}

bool communicates(SpanKind kind) { return kind == SpanKind::send || kind == SpanKind::receive || kind == SpanKind::collective; }
bool computes(SpanKind kind) { return kind != SpanKind::input && !communicates(kind); }

const NamedOp* RankNames::find(int program, int op) const {
  if (program < 0 || static_cast<std::size_t>(program) >= programs.size()) return nullptr;
  const auto& ops = programs[static_cast<std::size_t>(program)].ops;
  return op >= 0 && static_cast<std::size_t>(op) < ops.size() ? &ops[static_cast<std::size_t>(op)] : nullptr;
}

std::string RankNames::token(int program, int op) const {
  const NamedOp* known = find(program, op);
  return known ? known->token : "op " + std::to_string(program) + "." + std::to_string(op);
}

base::Result<RankNames> names_from_plan(const std::string& text) {
  return plan::parse(as_first_rank(text)).map([](const plan::Plan& plan) {
    RankNames names;
    if (plan.ranks == 0) return names;
    const plan::RankPlan rank = plan.rank_plan(0);
    for (const plan::Lane& lane : rank.lanes) names.lanes.push_back(lane.name);
    for (const plan::Program& program : rank.programs) names.programs.push_back(named(program));
    return names;
  });
}

}  // namespace trainyard::ui
