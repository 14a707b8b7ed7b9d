// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "core/plan/parse_words.h"

namespace trainyard::plan {
namespace {

// Parses a plan line by line; text.h has the grammar.
class Parser : private WordReader {
 public:
  using WordReader::WordReader;

  base::Result<Plan> run() {
    const bool read = next_line() && head() && schedule_line() && body();
    if (!read) return base::fail(problem());
    return from_ranks(std::move(groups_), schedule_, std::move(ranks_));
  }

 private:
  // index of each lane, buffer or program, by its name
  using Numbers = std::unordered_map<std::string_view, std::int32_t>;

  bool group_number(std::int32_t& value) {
    const Word at = take();
    if (!at.text.starts_with('g')) return fail_at_word(at, "a group, such as g0");
    return number(at, at.text.substr(1), value);
  }

  // Reads a name and gives it the next number. Fails if the name exists already.
  bool new_name(Numbers& known, std::string& name) {
    const Word at = take();
    if (!is_name(at.text)) return fail_at_word(at, "a name");
    if (!known.emplace(at.text, static_cast<std::int32_t>(known.size())).second)
      return fail(at, fmt::format("the name {} is used already", quoted(at.text)),
                  "distinct names");
    name = at.text;
    return true;
  }
  static std::int32_t number_in(const Numbers& known, std::string_view name) {
    const auto at = known.find(name);
    return at == known.end() ? -1 : at->second;
  }

  bool head() { return expect("plan") && expect("1") && ended() && next_line(); }

  bool schedule_line() {
    if (!expect("schedule") || !expect("steps") || !number(schedule_.steps) || !expect("full") ||
        !number(schedule_.full_steps_per_epoch))
      return false;
    if (take_if("tail") && !tails()) return false;
    if (take_if("evaluate") && !number(schedule_.evaluate_every_steps)) return false;
    if (take_if("average") && !number(schedule_.average_every_steps)) return false;
    if (take_if("local") && !number(schedule_.local_steps)) return false;
    return ended() && next_line();
  }

  // Parses the numbers after "tail". Without numbers, there is one tail program with one step.
  bool tails() {
    while (more() && peek().text != "evaluate" && peek().text != "average" &&
           peek().text != "local")
      if (!number(schedule_.tails.emplace_back())) return false;
    if (schedule_.tails.empty()) schedule_.tails = {1};
    return true;
  }

  bool body() {
    for (; more(); next_line())
      if (!line() || !ended()) return false;
    return true;
  }

  bool line() {
    if (take_if("group")) return group_line();
    if (take_if("rank")) return rank_line();
    if (ranks_.empty()) return fail_at_word(peek(), "group, rank");
    if (take_if("rule")) return rule_line();
    if (take_if("pair")) return pair_line();
    if (take_if("lane")) return before_programs() && lane_line();
    if (take_if("buffer")) return before_programs() && buffer_line();
    if (take_if("program")) return program_line();
    if (rank().programs.empty())
      return fail_at_word(peek(), "rule, pair, lane, buffer, program, rank");
    if (take_if("bucket")) return wanted_line();
    return op_line();
  }

  RankPlan& rank() { return ranks_.back(); }
  bool before_programs() {
    return rank().programs.empty() || fail(first(), "the line is after a program of the rank",
                                           "lanes and buffers before programs");
  }

  bool group_line() {
    const Word at = take();
    if (at.text != "g" + std::to_string(groups_.size()) + ":" || !ranks_.empty())
      return fail_at_word(at, "groups before ranks, numbered from 0, such as g0:");
    Group group;
    while (more())
      if (!number(group.ranks.emplace_back())) return false;
    groups_.push_back(std::move(group));
    return true;
  }

  bool rank_line() {
    const Word at = peek();
    std::int32_t value = -1;
    if (!number(value)) return false;
    if (value != static_cast<std::int32_t>(ranks_.size()))
      return fail_at_word(at, fmt::format("rank {}", ranks_.size()));
    ranks_.emplace_back().rank = value;
    lanes_.clear();
    buffers_.clear();
    programs_.clear();
    return true;
  }

  bool rule_line() {
    if (rank().rule || !rank().lanes.empty() || !rank().buffers.empty() || !rank().programs.empty())
      return fail(first(), "the arrival rule is not the first line after the rank line",
                  "one arrival rule, before all other lines of the rank");
    ArrivalRule rule;
    if (!number(rule.gradients_per_update) || !expect("of") || !number(rule.workers)) return false;
    if (take_if("in") && !(rule.answers_after_update = expect("step"))) return false;
    if (take_if("bound") && !number(rule.clock_bound)) return false;
    rank().rule = rule;
    return true;
  }

  bool pair_line() {
    if (!rank().lanes.empty() || !rank().buffers.empty() || !rank().programs.empty())
      return fail(first(),
                  "the line of a gossip pair is after lanes, buffers or programs of its rank",
                  "pairs before lanes, buffers and programs");
    GossipPair pair;
    if (!number(pair.active) || !expect("with")) return false;
    do
      if (!number(pair.passive.emplace_back())) return false;
    while (more() && peek().text != "seed");
    if (!expect("seed") || !number(pair.seed)) return false;
    rank().pairs.push_back(std::move(pair));
    return true;
  }

  bool lane_line() {
    Lane lane;
    if (!new_name(lanes_, lane.name)) return false;
    const Word at = take();
    const auto kind = kind_of(at.text, LaneKind::copy);
    if (!kind) return fail_at_word(at, "input, compute, comm, send, recv, copy");
    lane.kind = *kind;
    if (more() && !group_number(lane.group)) return false;
    rank().lanes.push_back(std::move(lane));
    return true;
  }

  bool buffer_line() {
    Buffer buffer;
    if (!new_name(buffers_, buffer.name)) return false;
    const Word at = take();
    const auto* known = std::find_if(std::begin(base::Names<base::DType>::table),
                                     std::end(base::Names<base::DType>::table),
                                     [&](const auto& entry) { return entry.second == at.text; });
    if (known == std::end(base::Names<base::DType>::table))
      return fail_at_word(at, "fp32, fp64, int32, fp16, bf16, byte");
    buffer.dtype = known->first;
    if (!number(buffer.elements)) return false;
    buffer.shared = take_if("shared");
    for (const MemoryKind place : {MemoryKind::host, MemoryKind::disk})
      if (take_if(word(place))) buffer.place = place;
    rank().buffers.push_back(std::move(buffer));
    return true;
  }

  bool program_line() {
    Program program;
    if (!new_name(programs_, program.name) || !expect("samples") || !number(program.samples) ||
        !expect("of") || !number(program.global_samples))
      return false;
    if (take_if("repeats") && !number(program.repeats)) return false;
    rank().programs.push_back(std::move(program));
    return true;
  }

  bool op_token(Op& op) {
    const Word at = take();
    TokenOutcome read = read_token(at.text);
    if (!read.op)
      return fail({at.text, at.column + read.at},
                  fmt::format("{} is not an op: {}", quoted(at.text), read.what),
                  "an op, such as F.s0.m0");
    op = std::move(*read.op);
    return true;
  }

  bool wanted_line() {
    if (!rank().programs.back().ops.empty())
      return fail(first(), "the bucket line is after an op of the program", "buckets before ops");
    const Word at = peek();
    Op op;
    if (!op_token(op)) return false;
    if (!coarse(op.kind) && op.kind != OpKind::mix)
      return fail(at, fmt::format("{} is not a collective", quoted(at.text)),
                  "a collective, such as BCAST.b0<r0");
    Access span;
    if (!expect("group") || !group_number(op.group) || !row(op.row) || !expect("writes") ||
        !access(span))
      return false;
    rank().programs.back().wanted.push_back({op.kind, op.group, op.bucket, op.peer, span, op.row});
    return true;
  }

  bool op_line() {
    Op op;
    if (!op_token(op)) return false;
    if (!lane(op.lane)) return false;
    if (take_if("group") && !group_number(op.group)) return false;
    if (!columns(op.columns) || !row(op.row) || !named(op.named) || !weights(op.weights))
      return false;
    if (!accesses("reads", op.reads) || !accesses("writes", op.writes)) return false;
    if (take_if("flops") && !number(op.flops)) return false;
    if (take_if("after") && !dependencies(op.after)) return false;
    rank().programs.back().ops.push_back(std::move(op));
    return true;
  }

  bool row(std::int64_t& elements) {
    if (!take_if("row")) return true;
    const Word at = peek();
    return number(elements) && (elements > 1 || fail_at_word(at, "a row of 2 or more elements"));
  }

  bool named(bool& is) {
    is = take_if("named");
    return true;
  }

  bool columns(Columns& columns) {
    if (!take_if("columns")) return true;
    const Word at = take();
    const std::size_t colon = at.text.find(':'), slash = at.text.find('/');
    if (colon == std::string_view::npos || slash == std::string_view::npos || slash < colon)
      return fail_at_word(at, "columns, such as 0:196/784");
    std::int64_t end = 0;
    if (!number(at, at.text.substr(0, colon), columns.first) ||
        !number(at, at.text.substr(colon + 1, slash - colon - 1), end) ||
        !number(at, at.text.substr(slash + 1), columns.of))
      return false;
    columns.count = end - columns.first;
    return (columns.count > 0 && end <= columns.of) ||
           fail_at_word(at, "a range first:end/all with first < end and end at most all");
  }

  static constexpr const char* kWeightsAccepted = "weights, such as 1:1:1/3, or samples";
  bool weights(Weights& weights) {
    if (!take_if("weights")) return true;
    const Word at = take();
    weights.by_samples = at.text == "samples";
    if (weights.by_samples) return weights.numerators = {1}, true;
    const std::size_t slash = at.text.find('/');
    if (slash == std::string_view::npos) return fail_at_word(at, kWeightsAccepted);
    for (std::string_view rest = at.text.substr(0, slash);
         weights.numerators.empty() || !rest.empty();) {
      const std::size_t colon = std::min(rest.find(':'), rest.size());
      const bool negative = rest.starts_with('-');
      std::int64_t& numerator = weights.numerators.emplace_back();
      if (!number(at, rest.substr(negative ? 1 : 0, colon - (negative ? 1 : 0)), numerator))
        return false;
      if (negative) numerator = -numerator;
      if (colon + 1 == rest.size()) return fail_at_word(at, kWeightsAccepted);
      rest = rest.substr(std::min(colon + 1, rest.size()));
    }
    return number(at, at.text.substr(slash + 1), weights.denominator) &&
           (weights.denominator > 0 || fail_at_word(at, "a denominator above 0"));
  }

  bool lane(LaneId& id) {
    const Word at = take();
    if (!at.text.starts_with('@')) return fail_at_word(at, "a lane, such as @compute");
    return lane_named(at, at.text.substr(1), id);
  }
  bool lane_named(const Word& at, std::string_view name, LaneId& id) {
    id = LaneId(number_in(lanes_, name));
    return id.valid() || fail_at_word(at, "a lane of this rank");
  }

  bool accesses(std::string_view keyword, std::vector<Access>& list) {
    if (!take_if(keyword)) return true;
    while (more() && std::find(kReserved.begin(), kReserved.end(), peek().text) == kReserved.end())
      if (!access(list.emplace_back())) return false;
    return true;
  }

  bool access(Access& access) {
    const Word at = take();
    const std::size_t bracket = at.text.find('[');
    access.buffer = BufferId(number_in(buffers_, at.text.substr(0, bracket)));
    if (!access.buffer.valid()) return fail_at_word(at, "a buffer of this rank");
    access.count = rank().buffers[access.buffer.index()].elements;
    return bracket == std::string_view::npos || range(at, at.text.substr(bracket), access);
  }
  bool range(const Word& at, std::string_view text, Access& access) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos || !text.ends_with(']'))
      return fail_at_word(at, "a range, such as grads[100:200]");
    std::int64_t end = 0;
    if (!number(at, text.substr(1, colon - 1), access.first) ||
        !number(at, text.substr(colon + 1, text.size() - colon - 2), end))
      return false;
    access.count = end - access.first;
    return access.count >= 0 || fail_at_word(at, "a range whose end is not before its start");
  }

  bool dependencies(std::vector<Dependency>& list) {
    while (more())
      if (!dependency(list.emplace_back())) return false;
    return true;
  }
  bool dependency(Dependency& dependency) {
    const Word at = take();
    const std::size_t colon = at.text.rfind(':');
    if (colon == std::string_view::npos)
      return fail_at_word(at, "a lane and a sequence, such as compute:5");
    std::string_view count = at.text.substr(colon + 1);
    if (const std::size_t back = count.find("@-"); back != std::string_view::npos) {
      if (!number(at, count.substr(back + 2), dependency.steps_back)) return false;
      count = count.substr(0, back);
    }
    if (count == "end") dependency.sequence = Dependency::end;
    else if (!number(at, count, dependency.sequence)) return false;
    return lane_named(at, at.text.substr(0, colon), dependency.lane);
  }

  Schedule schedule_;
  std::vector<Group> groups_;
  std::vector<RankPlan> ranks_;
  Numbers lanes_, buffers_, programs_;  // names of the current rank
};

}  // namespace

base::Result<Plan> parse(std::string_view text) { return Parser(text).run(); }

}  // namespace trainyard::plan
