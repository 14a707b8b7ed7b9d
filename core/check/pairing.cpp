// SPDX-License-Identifier: GPL-3.0-or-later
// Proves pairwise averaging, in which each rank trains at its own speed. Freedom from deadlock and
// the preserved mean (plan/pairing.h) follow from these facts, proved rank by rank. A rank is
// active or passive, never both. Both ends of a pair agree on the pairing, and the graph is
// connected. A passive rank waits for no other rank within its step, and first takes an atomic copy
// of its parameters, from which it computes. An active rank offers all its parameters once, and
// computes its step from the average it receives. Both ends of an average get one half of each.
#include <algorithm>
#include <set>
#include <utility>

#include "core/check/proofs.h"

namespace trainyard::check {
namespace {

using plan::Access;
using plan::Op;
using plan::OpKind;
using plan::Pairing;
using plan::Program;
using plan::RankPlan;

const Pairing* pairing_of(const RankPlan& rank, std::int32_t active) {
  const auto at = std::find_if(rank.pairs.begin(), rank.pairs.end(),
                               [&](const Pairing& pairing) { return pairing.active == active; });
  return at == rank.pairs.end() ? nullptr : &*at;
}

std::string of_rank(std::int32_t rank) { return "rank " + std::to_string(rank); }
bool passes(OpKind kind) {
  return kind == OpKind::forward || kind == OpKind::recompute || kind == OpKind::backward_input ||
         kind == OpKind::backward_weight;
}

class Examination {
 public:
  Examination(const Scope& scope, Findings& findings) : scope_(scope), findings_(findings) {}

  void run() {
    for (const RankPlan& rank : scope_.ranks)
      if (!has_role(rank)) return;
    for (const RankPlan& rank : scope_.ranks)
      if (!agree(rank)) return;
    if (!joined()) return;
    for (const RankPlan& rank : scope_.ranks)
      for (const Program& program : rank.programs)
        if (plan::purpose(program.name) == plan::Purpose::training &&
            !(rank.answers() ? never_waits(rank, program) : asks_once(rank, program)))
          return;
    for (const RankPlan& rank : scope_.ranks)
      if (rank.answers() && !answers_all(rank)) return;
  }

 private:
  bool report(const Spot& spot, const std::string& what, std::string accepted,
              std::string advice = "") {
    findings_.add(Proof::pairing, spot, what, std::move(accepted), std::move(advice));
    return false;
  }

  bool is_there(std::int32_t rank) const {
    return rank >= 0 && static_cast<std::size_t>(rank) < scope_.ranks.size();
  }

  // Checks a rank's role. An active rank has one pairing, its own. A passive rank has the pairings
  // of others, each once, and is in all of them.
  bool has_role(const RankPlan& rank) {
    const Spot spot{rank.rank, "", -1};
    if (rank.pairs.empty())
      return report(spot, "has nobody to average with, as others do", "a neighbour");
    std::set<std::int32_t> askers;
    for (const Pairing& pairing : rank.pairs) {
      const std::set<std::int32_t> asked(pairing.passive.begin(), pairing.passive.end());
      const bool there =
          is_there(pairing.active) &&
          std::all_of(asked.begin(), asked.end(), [&](std::int32_t one) { return is_there(one); });
      if (!there || asked.empty() || asked.size() != pairing.passive.size() ||
          !askers.insert(pairing.active).second)
        return report(spot, "is paired with ranks that are not there, or repeat, or with none",
                      "different ranks of the plan");
      if (asked.contains(pairing.active))
        return report(spot, of_rank(pairing.active) + " would ask itself", "other ranks");
      if (pairing.active != rank.rank && !asked.contains(rank.rank))
        return report(spot, of_rank(pairing.active) + " never asks it", "pairs of its own");
    }
    if (askers.contains(rank.rank) && rank.pairs.size() > 1)
      return report(spot,
                    "both asks and answers, so that ranks may wait for each other in a circle",
                    "one of them", "Give neighbours different halves.");
    return true;
  }

  // Both ends of a pair must have the same pairing.
  bool agree(const RankPlan& rank) {
    for (const Pairing& pairing : rank.pairs) {
      std::vector<std::int32_t> others{pairing.active};
      if (!rank.answers()) others = pairing.passive;
      for (const std::int32_t other : others) {
        const Pairing* there = pairing_of(scope_.rank(other), pairing.active);
        if (there == nullptr)
          return report({other, "", -1},
                        "knows nothing of " + of_rank(rank.rank) + ", with which it is paired",
                        "both ends of a pair alike");
        if (*there != pairing)
          return report({other, "", -1},
                        "has other partners, or another seed, for " + of_rank(pairing.active) +
                            " than " + of_rank(rank.rank) + " has",
                        "both ends of a pair alike");
      }
    }
    return true;
  }

  bool joined() {
    std::set<std::int32_t> reached{0};
    for (std::vector<std::int32_t> open{0}; !open.empty();) {
      const RankPlan& rank = scope_.rank(open.back());
      open.pop_back();
      const auto reach = [&](std::int32_t other) {
        if (reached.insert(other).second) open.push_back(other);
      };
      for (const Pairing& pairing : rank.pairs) {
        reach(pairing.active);
        if (!rank.answers()) std::for_each(pairing.passive.begin(), pairing.passive.end(), reach);
      }
    }
    for (const RankPlan& rank : scope_.ranks)
      if (!reached.contains(rank.rank))
        return report({rank.rank, "", -1}, "never hears of rank 0, however long it goes on",
                      "one graph", "Join all ranks, by whatever neighbours.");
    return true;
  }

  static bool touches(const std::vector<Access>& accesses, plan::BufferId buffer) {
    return std::any_of(accesses.begin(), accesses.end(),
                       [&](const Access& access) { return access.buffer == buffer; });
  }
  Access parameters_of(const RankPlan& rank) const {
    const plan::BufferId parameters = rank.buffer("params");
    return {parameters, 0, parameters.valid() ? rank.buffers[parameters.index()].elements : 0};
  }

  // Also checks that no other rank changes the parameters its passes read: the first compute op
  // copies them.
  bool never_waits(const RankPlan& rank, const Program& program) {
    const Access all = parameters_of(rank);
    plan::BufferId aside;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const Op& op = program.ops[i];
      const Spot spot{rank.rank, program.name, static_cast<int>(i)};
      if (plan::communicates(op.kind) || plan::pairs_up(op.kind))
        return report(
            spot, "may wait for another rank, though those that it answers may wait for this one",
            "no op that communicates in a step of it");
      const bool keeps = op.kind == OpKind::mix && op.reads == std::vector{all} &&
                         op.weights.numerators == std::vector{op.weights.denominator};
      if (keeps && !aside.valid()) aside = op.writes.front().buffer;
      else if (aside.valid() && touches(op.writes, aside))
        return report(spot, "changes what the passes of the step compute by", "none that does");
      if (passes(op.kind) && touches(op.reads, all.buffer))
        return report(spot, "computes by parameters that an answer may change meanwhile",
                      "what was put aside", "Put all of them aside first, in one op.");
      if (passes(op.kind) && !aside.valid())
        return report(spot, "computes by what was not put aside in this step",
                      "all parameters, in one op before it");
    }
    return true;
  }

  bool asks_once(const RankPlan& rank, const Program& program) {
    const Access all = parameters_of(rank);
    const Op *offer = nullptr, *agree = nullptr;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const Op& op = program.ops[i];
      const Spot spot{rank.rank, program.name, static_cast<int>(i)};
      if (plan::communicates(op.kind))
        return report(spot, "may wait for another rank than its partner", "OFFER and AGREE alone");
      if (op.kind == OpKind::offer && std::exchange(offer, &op) != nullptr)
        return report(spot, "offers a second time in one step", "one offer a step");
      if (op.kind == OpKind::offer && op.reads.front() != all)
        return report(spot, "offers a part of its parameters", "all of them");
      if (op.kind == OpKind::agree && std::exchange(agree, &op) != nullptr)
        return report(spot, "takes a second answer in one step", "one answer a step");
      if (op.kind == OpKind::agree && op.writes.front().count != all.count)
        return report(spot, "takes a part of the answer", "all of it");
      if (op.kind == OpKind::update && touches(op.writes, all.buffer) &&
          !takes_answer(op, agree, all.buffer))
        return report(spot, "takes its step from what is no average of two",
                      "the same elements of what AGREE brings", "Let it read them.");
    }
    if (offer == nullptr || agree == nullptr)
      return report({rank.rank, program.name, -1}, "offers or takes nothing",
                    "one OFFER and one AGREE a step");
    return true;
  }

  static bool takes_answer(const Op& update, const Op* agree, plan::BufferId parameters) {
    if (agree == nullptr || agree->writes.front().first != 0) return false;
    const auto own = std::find_if(update.writes.begin(), update.writes.end(),
                                  [&](const Access& write) { return write.buffer == parameters; });
    return std::find(update.reads.begin(), update.reads.end(),
                     Access{agree->writes.front().buffer, own->first, own->count}) !=
           update.reads.end();
  }

  // Checks that there is one answer for each active neighbor, in the order of the pairs.
  bool answers_all(const RankPlan& rank) {
    const int number = rank.program("answer");
    const auto& ops =
        number < 0 ? std::vector<Op>{} : rank.programs[static_cast<std::size_t>(number)].ops;
    if (ops.size() != rank.pairs.size())
      return report({rank.rank, "answer", -1},
                    "has " + std::to_string(ops.size()) + " answers for " +
                        std::to_string(rank.pairs.size()) + " that may ask",
                    "one for each");
    const Access all = parameters_of(rank);
    std::set<std::int32_t> replies{all.buffer.value};
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const Op& op = ops[i];
      const Spot spot{rank.rank, "answer", static_cast<int>(i)};
      if (op.kind != OpKind::answer || op.peer != rank.pairs[i].active)
        return report(spot, "is no answer to " + of_rank(rank.pairs[i].active),
                      "ANSWER<r" + std::to_string(rank.pairs[i].active));
      if (op.weights.numerators != std::vector<std::int64_t>{1, 1} || op.weights.denominator != 2)
        return report(spot,
                      "averages other than half and half, so that the mean of all would drift",
                      "weights 1:1/2");
      if (op.reads.front() != all || op.writes.front() != all ||
          op.writes.back().count != all.count)
        return report(spot, "averages a part of the parameters",
                      "all of them, to itself and to who asked");
      if (!replies.insert(op.writes.back().buffer.value).second)
        return report(spot,
                      "answers from where another answer may still be read, or from its parameters",
                      "a buffer of its own for each");
    }
    return true;
  }

  const Scope& scope_;
  Findings& findings_;
};

}  // namespace

bool has_pairs(const Scope& scope) {
  return std::any_of(scope.ranks.begin(), scope.ranks.end(),
                     [](const RankPlan& rank) { return !rank.pairs.empty(); });
}

void prove_pairing(const Scope& scope, Findings& findings) {
  if (has_pairs(scope)) Examination(scope, findings).run();
}

}  // namespace trainyard::check
