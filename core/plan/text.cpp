// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/text.h"

#include "core/base/hash.h"

namespace trainyard::plan {
namespace {

void append_field(std::string& text, const char* prefix, std::int32_t value) {
  if (value >= 0) text += prefix + std::to_string(value);
}

std::string access_text(const RankPlan& plan, const Access& access) {
  const Buffer& buffer = plan.buffers[access.buffer.index()];
  if (access.first == 0 && access.count == buffer.elements) return buffer.name;
  return buffer.name + "[" + std::to_string(access.first) + ":" +
         std::to_string(access.first + access.count) + "]";
}

std::string dependency_text(const RankPlan& plan, const Dependency& dependency) {
  std::string text =
      plan.lanes[dependency.lane.index()].name + ":" +
      (dependency.sequence == Dependency::end ? "end" : std::to_string(dependency.sequence));
  return dependency.steps_back > 0 ? text + "@-" + std::to_string(dependency.steps_back) : text;
}

std::string row_text(std::int64_t row) { return row == 1 ? "" : " row " + std::to_string(row); }

std::string columns_text(const Columns& columns) {
  if (!columns.any()) return "";
  return " columns " + std::to_string(columns.first) + ":" +
         std::to_string(columns.first + columns.count) + "/" + std::to_string(columns.of);
}

std::string weights_text(const Weights& weights) {
  if (weights.numerators.empty()) return "";
  if (weights.by_samples) return " weights samples";
  std::string text = " weights ";
  for (std::size_t i = 0; i < weights.numerators.size(); ++i)
    text += (i > 0 ? ":" : "") + std::to_string(weights.numerators[i]);
  return text + "/" + std::to_string(weights.denominator);
}

std::string op_line(const RankPlan& plan, const Op& op) {
  std::string line = token(op) + " @" + plan.lanes[op.lane.index()].name;
  if (op.group >= 0) line += " group g" + std::to_string(op.group);
  line += columns_text(op.columns) + row_text(op.row) + (op.named ? " named" : "") +
          weights_text(op.weights);
  if (!op.reads.empty()) line += " reads";
  for (const Access& read : op.reads) line += " " + access_text(plan, read);
  if (!op.writes.empty()) line += " writes";
  for (const Access& write : op.writes) line += " " + access_text(plan, write);
  if (op.flops > 0) line += " flops " + std::to_string(op.flops);
  if (!op.after.empty()) line += " after";
  for (const Dependency& dependency : op.after) line += " " + dependency_text(plan, dependency);
  return line + "\n";
}

std::string buffer_line(const Buffer& buffer) {
  const std::string place =
      buffer.place == MemoryKind::device ? "" : " " + std::string(word(buffer.place));
  return "buffer " + buffer.name + " " + std::string(base::name_of(buffer.dtype)) + " " +
         std::to_string(buffer.elements) + (buffer.shared ? " shared" : "") + place + "\n";
}

std::string rule_text(const ArrivalRule& rule) {
  std::string text =
      "rule " + std::to_string(rule.gradients_per_update) + " of " + std::to_string(rule.workers);
  if (rule.answers_after_update) text += " in step";
  if (rule.clock_bound >= 0) text += " bound " + std::to_string(rule.clock_bound);
  return text + "\n";
}

std::string gossip_pair_text(const GossipPair& pair) {
  std::string text = "pair " + std::to_string(pair.active) + " with";
  for (const std::int32_t rank : pair.passive) text += " " + std::to_string(rank);
  return text + " seed " + std::to_string(pair.seed) + "\n";
}

Op coarse_op(const Wanted& wanted) {
  Op op;
  op.kind = wanted.kind;
  op.bucket = wanted.bucket;
  op.peer = wanted.root;
  return op;
}

// Returns the part of the schedule's text that lists the tails (steps at the end of an epoch with
// fewer samples). A single tail of one step is written as the word "tail" without a number.
std::string tails_text(const Schedule& schedule) {
  if (schedule.tails.empty()) return "";
  std::string text = " tail";
  for (const std::int64_t steps : schedule.tails)
    if (schedule.tails.size() > 1 || steps != 1) text += " " + std::to_string(steps);
  return text;
}

std::string header_text(const Plan& plan) {
  const Schedule& s = plan.schedule;
  std::string text = "plan 1\nschedule steps " + std::to_string(s.steps) + " full " +
                     std::to_string(s.full_steps_per_epoch) + tails_text(s);
  if (s.evaluate_every_steps > 0) text += " evaluate " + std::to_string(s.evaluate_every_steps);
  if (s.average_every_steps > 0) text += " average " + std::to_string(s.average_every_steps);
  if (s.local_steps > 0) text += " local " + std::to_string(s.local_steps);
  text += "\n";
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    text += "group g" + std::to_string(g) + ":";
    for (const std::int32_t rank : plan.groups[g].ranks) text += " " + std::to_string(rank);
    text += "\n";
  }
  return text;
}

}  // namespace

std::string_view word(OpKind kind) {
  switch (kind) {
    case OpKind::load: return "LOAD";
    case OpKind::rows: return "ROWS";
    case OpKind::rate: return "RATE";
    case OpKind::statistics: return "STAT";
    case OpKind::partial: return "PART";
    case OpKind::forward: return "F";
    case OpKind::recompute: return "R";
    case OpKind::softmax: return "SOFTMAX";
    case OpKind::cast: return "CAST";
    case OpKind::scale: return "SCALE";
    case OpKind::stash: return "STASH";
    case OpKind::offload: return "OUT";
    case OpKind::fetch: return "IN";
    case OpKind::loss: return "LOSS";
    case OpKind::backward_input: return "B";
    case OpKind::backward_weight: return "W";
    case OpKind::zero: return "ZERO";
    case OpKind::all_reduce: return "AR";
    case OpKind::reduce_scatter: return "RS";
    case OpKind::all_gather: return "AG";
    case OpKind::broadcast: return "BCAST";
    case OpKind::reduce: return "REDUCE";
    case OpKind::scatter: return "SCATTER";
    case OpKind::gather: return "GATHER";
    case OpKind::encode: return "ENC";
    case OpKind::decode: return "DEC";
    case OpKind::norm: return "NORM";
    case OpKind::clip: return "CLIP";
    case OpKind::update: return "UPD";
    case OpKind::weigh: return "WEIGH";
    case OpKind::mix: return "MIX";
    case OpKind::send: return "SEND";
    case OpKind::recv: return "RECV";
    case OpKind::recv_reduce: return "RED";
    case OpKind::reduce_many: return "SUM";
    case OpKind::copy: return "COPY";
    case OpKind::pack: return "PACK";
    case OpKind::turn: return "TURN";
    case OpKind::push: return "PUSH";
    case OpKind::pull: return "PULL";
    case OpKind::take: return "TAKE";
    case OpKind::give: return "GIVE";
    case OpKind::offer: return "OFFER";
    case OpKind::agree: return "AGREE";
    case OpKind::answer: return "ANSWER";
  }
  return "?";
}

std::string_view word(MemoryKind place) {
  switch (place) {
    case MemoryKind::device: return "device";
    case MemoryKind::host: return "host";
    case MemoryKind::disk: return "disk";
  }
  return "?";
}

std::string_view word(LaneKind kind) {
  switch (kind) {
    case LaneKind::input: return "input";
    case LaneKind::copy: return "copy";
    case LaneKind::compute: return "compute";
    case LaneKind::comm: return "comm";
    case LaneKind::send: return "send";
    case LaneKind::recv: return "recv";
  }
  return "?";
}

std::string token(const Op& op) {
  std::string text(word(op.kind));
  append_field(text, ".s", op.segment);
  append_field(text, ".m", op.micro);
  append_field(text, ".b", op.bucket);
  append_field(text, ".t", op.round);
  append_field(text, ".c", op.chunk);
  if (op.chunk >= 0 && op.chunks > 1) text += "-" + std::to_string(op.chunk + op.chunks - 1);
  append_field(text, names_destination(op.kind) ? ">r" : "<r", op.peer);
  for (std::size_t i = 0; i < op.summands.size(); ++i)
    text += (i == 0 ? "<r" : ",r") + std::to_string(op.summands[i]);
  return text;
}

std::string to_text(const RankPlan& rank) {
  std::string text = "rank " + std::to_string(rank.rank) + "\n";
  if (rank.rule) text += rule_text(*rank.rule);
  for (const GossipPair& pair : rank.pairs) text += gossip_pair_text(pair);
  for (const Lane& lane : rank.lanes) {
    text += "lane " + lane.name + " " + std::string(word(lane.kind));
    text += lane.group >= 0 ? " g" + std::to_string(lane.group) + "\n" : "\n";
  }
  for (const Buffer& buffer : rank.buffers) text += buffer_line(buffer);
  for (const Program& program : rank.programs) {
    text += "program " + program.name + " samples " + std::to_string(program.samples) + " of " +
            std::to_string(program.global_samples);
    text += program.repeats != 1 ? " repeats " + std::to_string(program.repeats) + "\n" : "\n";
    for (const Wanted& wanted : program.wanted)
      text += "bucket " + token(coarse_op(wanted)) + " group g" + std::to_string(wanted.group) +
              row_text(wanted.row) + " writes " + access_text(rank, wanted.span) + "\n";
    for (const Op& op : program.ops) text += op_line(rank, op);
  }
  return text;
}

std::string to_text(const Plan& plan) {
  std::string text = header_text(plan);
  for (std::int32_t rank = 0; rank < plan.ranks; ++rank) text += to_text(plan.rank_plan(rank));
  return text;
}

std::string hash(const Plan& plan) { return base::hex(base::xxh64(to_text(plan))); }

}  // namespace trainyard::plan
