// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/replay/gossip_replay.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/units.h"
#include "core/run/bind/bound_rank.h"
#include "core/run/interpreter/offer_answerer.h"

namespace trainyard::run {
namespace {

using base::Result;
using plan::Answer;
using plan::StepPosition;

constexpr std::uint32_t kGeneration = 1;

std::string text_of(const StepPosition& place) {
  return fmt::format("op {} of step {}", place.ops, place.step);
}

base::Problem impossible(const char* id, const Answer& event, const std::string& why) {
  return {id,
          base::ProblemCode::bad_input,
          fmt::format("rank {}, {}", event.rank, text_of(event.place)),
          why,
          "an order that is possible for these ranks",
          "The order file is damaged, or belongs to another experiment."};
}

}  // namespace

struct GossipReplay::State {
  struct Rank {
    BoundRank rank;
    Gate gate;
    RankProgress rank_progress;
    std::unique_ptr<Interpreter> interpreter;
    std::unique_ptr<OfferAnswerer> answering;  // null for an active rank
    bool ended = false;

    StepPosition place() const { return interpreter->place(); }
    int number() const { return rank.plan.rank; }
  };

  GossipReplayParts parts;
  std::vector<std::unique_ptr<Rank>> ranks;
  bool over = false;

  explicit State(GossipReplayParts p) : parts(std::move(p)) {}

  Result<void> add_rank(int number);
  static Result<bool> go_on(Rank& rank);
  InterpreterParts interpreter_parts(Rank& rank);
  Result<void> receive_answer(Rank& rank, const Answer& event);
  Result<void> begin_step(Rank& rank) const;
  Result<std::size_t> pair_of(const Answer& event);
  Result<void> answer(const Answer& event);
  Result<void> end(const Answer& event);
  Result<void> meet(std::int64_t last_step);
  Result<void> together(const char* program, std::int64_t step);
  Rank& at(int rank) { return *ranks[static_cast<std::size_t>(rank)]; }
};

GossipReplay::GossipReplay(std::unique_ptr<State> state) : state_(std::move(state)) {}
GossipReplay::~GossipReplay() = default;

Result<std::unique_ptr<GossipReplay>> GossipReplay::make(GossipReplayParts parts) {
  auto state = std::make_unique<State>(std::move(parts));
  for (int rank = 0; rank < state->parts.plan->ranks; ++rank)
    if (const auto ok = state->add_rank(rank); !ok) return base::fail(ok.error());
  return std::unique_ptr<GossipReplay>(new GossipReplay(std::move(state)));
}

compute::Tensor GossipReplay::parameters(int rank) const {
  return state_->at(rank).rank.bound.parameters;
}
bool GossipReplay::over() const { return state_->over; }

std::int64_t GossipReplay::steps() const {
  std::int64_t steps = 0;
  for (const auto& rank : state_->ranks) steps += rank->place().step - state_->parts.first_step;
  return steps;
}

Result<void> GossipReplay::follow(const Answer& event) {
  const auto there = [&](int rank) {
    return rank >= 0 && static_cast<std::size_t>(rank) < state_->ranks.size();
  };
  if (!there(event.rank) || !state_->at(event.rank).answering)
    return base::fail(impossible("unknown_rank", event, "there is no such passive rank"));
  if (state_->at(event.rank).ended)
    return base::fail(impossible("event_after_end", event, "the rank has an event after its end"));
  return event.kind == Answer::Kind::ends ? state_->end(event) : state_->answer(event);
}

// Setup
// ------------------------------------------------------------------------------------------

Result<void> GossipReplay::State::add_rank(int number) {
  const auto n = static_cast<std::size_t>(number);
  Rank& rank = *ranks.emplace_back(std::make_unique<Rank>());
  rank.rank.plan = parts.plan->rank_plan(number);
  rank.rank.shared = parts.transports[n]->arena();
  compute::Compute* const compute = parts.computes[n].get();
  if (auto ok = bind(rank.rank, {&parts.plan->groups, parts.model, parts.recipe, compute,
                                 &parts.offload_directory});
      !ok)
    return ok;
  parts.initialize(rank.rank.plan, rank.rank.bound);
  rank.gate.open(parts.plan->schedule.steps, true);
  rank.interpreter = std::make_unique<Interpreter>(interpreter_parts(rank));
  rank.interpreter->open(parts.first_step);
  if (!rank.rank.plan.answers()) return {};
  rank.answering = std::make_unique<OfferAnswerer>(OfferAnswererParts{
      &rank.rank.plan, &rank.rank.at(rank.rank.program("answer")), parts.transports[n].get(),
      compute, kGeneration, parts.first_step, parts.plan->schedule.steps});
  return {};
}

// Runs the rank until it needs data from another rank. Returns false if nothing could run.
Result<bool> GossipReplay::State::go_on(Rank& rank) {
  for (bool any = false;; any = true) {
    const auto moved = rank.interpreter->progress();
    if (!moved) return base::fail(moved.error());
    if (!*moved) return any;
  }
}

InterpreterParts GossipReplay::State::interpreter_parts(Rank& rank) {
  const auto number = static_cast<std::size_t>(rank.number());
  return {.plan = &rank.rank.plan,
          .schedule = parts.plan->schedule,
          .bound = &rank.rank.bound,
          .model = parts.model,
          .recipe = parts.recipe,
          .compute = parts.computes[number].get(),
          .transport = parts.transports[number].get(),
          .dataset = parts.dataset,
          .sampler = parts.sampler,
          .held_out = parts.held_out(rank.number()),
          .generation = kGeneration,
          .record_ops = false,
          .gate = &rank.gate,
          .rank_progress = &rank.rank_progress,
          .is_own_process = false,
          .share = parts.share(rank.number())};
}

// Steps of ranks
// ------------------------------------------------------------------------------------------

Result<void> GossipReplay::State::begin_step(Rank& rank) const {
  const std::int64_t step = rank.place().step;
  return rank.interpreter->admit(parts.plan->schedule.program(step), step);
}

// Runs a passive rank op by op until it reaches the position of the event. A passive rank never
// waits for other ranks.
Result<void> GossipReplay::State::receive_answer(Rank& rank, const Answer& event) {
  const StepPosition end{parts.plan->schedule.steps, 0};
  if (event.place > end)
    return base::fail(
        impossible("step_out_of_range", event,
                   fmt::format("the run has only {}", base::counted(end.step, "step"))));
  while (rank.place() < event.place) {
    if (rank.interpreter->complete())
      if (auto ok = begin_step(rank); !ok) return ok;
    const auto moved = rank.interpreter->progress();
    if (!moved) return base::fail(moved.error());
    if (!*moved)
      return base::fail(impossible("event_too_early", event,
                                   fmt::format("the rank waits at {}", text_of(rank.place()))));
  }
  if (rank.place() != event.place)
    return base::fail(impossible(
        "event_too_late", event,
        fmt::format("the rank has already passed the position of this event and is at {}",
                    text_of(rank.place()))));
  return {};
}

// Returns the index of the pair of active and passive rank that the event refers to. The plan
// defines the partner of the active rank in each step.
Result<std::size_t> GossipReplay::State::pair_of(const Answer& event) {
  const auto& pairs = at(event.rank).rank.plan.pairs;
  const auto pair = std::ranges::find(pairs, event.active, &plan::GossipPair::active);
  if (pair == pairs.end())
    return base::fail(
        impossible("not_a_neighbor", event,
                   fmt::format("rank {} is not an active neighbor of the rank", event.active)));
  const bool asks = at(event.active).place() == StepPosition{event.step, 0} &&
                    event.step < parts.plan->schedule.steps &&
                    pair->partner(event.step) == event.rank;
  if (!asks)
    return base::fail(
        impossible("not_offered", event,
                   fmt::format("rank {} did not offer parameters to the rank in step {}",
                               event.active, event.step)));
  return static_cast<std::size_t>(pair - pairs.begin());
}

// Replays an answer of a passive rank, together with the complete step of the active rank that gets
// it.
Result<void> GossipReplay::State::answer(const Answer& event) {
  const auto pair = pair_of(event);
  if (!pair) return base::fail(pair.error());
  Rank &passive = at(event.rank), &active = at(event.active);
  if (auto ok = receive_answer(passive, event).and_then([&] { return begin_step(active); }); !ok)
    return ok;
  if (const auto offered = go_on(active); !offered) return base::fail(offered.error());
  const auto answered = passive.answering->answer(*pair, [](const AnsweredOffer&) {});
  if (!answered) return base::fail(answered.error());
  if (!*answered) return base::fail(impossible("no_offer", event, "there is no offer to answer"));
  return go_on(active).map([](bool) {});
}

// End of the run
// ------------------------------------------------------------------------------------------

Result<void> GossipReplay::State::end(const Answer& event) {
  Rank& rank = at(event.rank);
  if (event.place.ops > 0)
    return base::fail(
        impossible("ends_within_step", event, "the log of the rank ends within a step"));
  if (auto ok = receive_answer(rank, event); !ok) return ok;
  rank.ended = true;
  const bool all =
      std::ranges::all_of(ranks, [](const auto& one) { return !one->answering || one->ended; });
  return all ? meet(event.place.step - 1) : Result<void>{};
}

// Averages the parameters of all ranks. Does nothing if a rank is not at the end of the run: the
// log of a killed run may contain the end of all passive ranks, but lack their answers to some
// offers.
Result<void> GossipReplay::State::meet(std::int64_t last_step) {
  const StepPosition end{last_step + 1, 0};
  if (!std::ranges::all_of(ranks, [&](const auto& rank) { return rank->place() == end; }))
    return {};
  over = true;
  return together("average", last_step).and_then([&] { return together("end", last_step); });
}

// Runs a program on all ranks. Each rank in turn runs as far as possible, until all ranks have
// completed the program.
Result<void> GossipReplay::State::together(const char* program, std::int64_t step) {
  for (const auto& rank : ranks)
    if (auto ok = rank->interpreter->admit(program, step); !ok) return ok;
  for (bool any = true; any;) {
    any = false;
    for (const auto& rank : ranks) {
      const auto moved = go_on(*rank);
      if (!moved) return base::fail(moved.error());
      any = any || *moved;
    }
  }
  return {};
}

}  // namespace trainyard::run
