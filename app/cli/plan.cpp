// SPDX-License-Identifier: GPL-3.0-or-later
// plan: the ops of every rank, as text that parses back, as a rank x time grid, or as JSON.
#include <fmt/core.h>

#include <cstdio>

#include "app/cli/verbs.h"
#include "core/base/json.h"
#include "core/plan/text.h"
#include "core/strategy/strategy.h"

namespace trainyard::cli {
namespace {

using base::Json;

struct PlanArguments : ExperimentArguments {
  bool expand = false, grid = false;
  int rank = -1;  // -1: all ranks
};

Json accesses(const plan::RankPlan& rank, const std::vector<plan::Access>& list) {
  Json json = Json::array();
  for (const plan::Access& access : list)
    json.push_back({{"buffer", rank.buffers[access.buffer.index()].name},
                    {"first", access.first},
                    {"count", access.count}});
  return json;
}

Json op_json(const plan::RankPlan& rank, const plan::Op& op) {
  Json after = Json::array();
  for (const plan::Dependency& d : op.after) {
    const Json sequence = d.sequence == plan::Dependency::end ? Json("end") : Json(d.sequence);
    after.push_back({{"lane", rank.lanes[d.lane.index()].name},
                     {"sequence", sequence},
                     {"steps_back", d.steps_back}});
  }
  Json json{{"token", plan::token(op)}, {"lane", rank.lanes[op.lane.index()].name}};
  if (op.group >= 0) json["group"] = op.group;
  json["reads"] = accesses(rank, op.reads);
  json["writes"] = accesses(rank, op.writes);
  json["after"] = after;
  json["flops"] = op.flops;
  return json;
}

Json program_json(const plan::RankPlan& rank, const plan::Program& program) {
  Json json{{"name", program.name},
            {"samples", program.samples},
            {"global_samples", program.global_samples},
            {"repeats", program.repeats},
            {"ops", Json::array()}};
  for (const plan::Op& op : program.ops) json["ops"].push_back(op_json(rank, op));
  return json;
}

Json rank_json(const plan::RankPlan& rank) {
  Json json{{"type", "rank"},
            {"rank", rank.rank},
            {"lanes", Json::array()},
            {"buffers", Json::array()},
            {"programs", Json::array()}};
  for (const plan::Lane& lane : rank.lanes) {
    json["lanes"].push_back({{"name", lane.name}, {"kind", plan::word(lane.kind)}});
    if (lane.group >= 0) json["lanes"].back()["group"] = lane.group;
  }
  for (const plan::Buffer& buffer : rank.buffers)
    json["buffers"].push_back({{"name", buffer.name},
                               {"dtype", base::name_of(buffer.dtype)},
                               {"elements", buffer.elements},
                               {"shared", buffer.shared}});
  for (const plan::Program& program : rank.programs)
    json["programs"].push_back(program_json(rank, program));
  return json;
}

Json result_json(const plan::Plan& plan, bool expanded) {
  Json json{{"type", "result"},     {"status", "completed"},    {"ranks", plan.ranks},
            {"expanded", expanded}, {"hash", plan::hash(plan)}, {"groups", Json::array()}};
  for (const plan::Group& group : plan.groups) json["groups"].push_back(group.ranks);
  const plan::Schedule& s = plan.schedule;
  json["schedule"] = {{"steps", s.steps},
                      {"full_steps_per_epoch", s.full_steps_per_epoch},
                      {"tail", !s.tails.empty()},
                      {"tail_steps", s.tails},
                      {"evaluate_every_steps", s.evaluate_every_steps}};
  return json;
}

void print_json_plan(const PlanArguments& arguments, const experiment::Resolved& resolved,
                     const plan::Plan& plan) {
  for (int rank = 0; rank < plan.ranks; ++rank)
    if (arguments.rank < 0 || rank == arguments.rank) print_json(rank_json(plan.rank_plan(rank)));
  Json result = result_json(plan, arguments.expand);
  add_chosen_algorithm(result, resolved);
  print_json(result);
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_grids(const plan::Plan& plan) {
  for (const plan::Program& program : plan.rank_plan(0).programs)
    print("program " + program.name + "\n" + plan::grid(plan, program.name) + "\n");
}

int run_plan(const PlanArguments& arguments) {
  if (arguments.grid && arguments.json)
    return complain({{"conflicting_options", base::ProblemCode::bad_usage, "--grid",
                      "the option cannot be combined with --json", "one of them",
                      "The grid is text for people; --json has the same data."}},
                    true);
  const auto resolved = load_resolved(arguments);
  if (!resolved) return complain(resolved.error(), arguments.json);
  const auto plan =
      arguments.expand ? strategy::make_plan(*resolved) : strategy::coarse_plan(*resolved);
  if (!plan) return complain({plan.error()}, arguments.json);
  if (arguments.rank >= plan->ranks)
    return complain({{"unknown_rank", base::ProblemCode::bad_usage, "--rank",
                      fmt::format("the plan has no rank {}", arguments.rank),
                      fmt::format("0 to {}", plan->ranks - 1),
                      "Choose a rank of the plan, or draw more devices."}},
                    arguments.json);
  if (arguments.json) return print_json_plan(arguments, *resolved, *plan), 0;
  // writes notes to standard error, because standard output must parse as a plan
  if (const std::string chosen = chosen_algorithm(*resolved); !chosen.empty())
    std::fprintf(stderr, "note: %s\n", chosen.c_str());
  if (arguments.grid) print_grids(*plan);
  else
    print(arguments.rank < 0 ? plan::to_text(*plan)
                             : plan::to_text(plan->rank_plan(arguments.rank)));
  return 0;
}

}  // namespace

void add_plan(Verb& program) {
  Verb verb = program.add_verb("plan", "Print the plan of every rank, one line per op");
  PlanArguments& arguments = verb.on_run(run_plan);
  arguments.add_to(verb);
  verb.flag("--expand", arguments.expand,
            "Expand all-reduces into the sends and receives that ranks execute");
  const Option rank =
      verb.option("--rank", arguments.rank, "Print only this rank").range(0, 1'000'000);
  verb.flag("--grid", arguments.grid,
            "Print programs as a grid of ranks and time; cannot be combined with --json")
      .excludes(rank);
  verb.examples(
      "Examples:\n"
      "  trainyard-cli plan resources/experiments/four_devices_mirrored_digits.json --grid\n"
      "  trainyard-cli plan experiment.json --expand --rank 0\n"
      "  trainyard-cli plan experiment.json --set strategy.algorithm=direct --expand --json");
}

}  // namespace trainyard::cli
