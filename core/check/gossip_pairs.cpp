// SPDX-License-Identifier: GPL-3.0-or-later
// Proves pairwise averaging (asynchronous gossip), in which each rank trains at its own speed.
// Freedom from deadlock and preservation of the mean (plan/gossip_pair.h) follow from these facts,
// checked rank by rank. A rank is active or passive, never both. Both ranks of a pair list that
// pair, and the graph of all pairs is connected. A passive rank waits for no other rank within its
// step; its first op takes an atomic copy of its parameters, which the step reads. An active rank
// offers all its parameters once, and computes its step from the average that it receives. Both
// ranks of an average get one half of each rank's values.
#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/units.h"
#include "core/check/proofs.h"

namespace trainyard::check {
namespace {

using plan::Access;
using plan::GossipPair;
using plan::Op;
using plan::OpKind;
using plan::Program;
using plan::RankPlan;

const GossipPair* gossip_pair_of(const RankPlan& rank, std::int32_t active) {
  const auto at = std::find_if(rank.pairs.begin(), rank.pairs.end(),
                               [&](const GossipPair& pair) { return pair.active == active; });
  return at == rank.pairs.end() ? nullptr : &*at;
}

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
  bool report(const FindingLocation& location, const std::string& what, std::string accepted,
              std::string advice = "") {
    findings_.add(Proof::gossip_pairs, location, what, std::move(accepted), std::move(advice));
    return false;
  }

  bool is_valid_rank(std::int32_t rank) const {
    return rank >= 0 && static_cast<std::size_t>(rank) < scope_.ranks.size();
  }

  // Checks a rank's role. An active rank has exactly one pair, of which it is the active rank. A
  // passive rank has the pair of each active neighbor once, and each of these pairs includes the
  // passive rank.
  bool has_role(const RankPlan& rank) {
    const FindingLocation location{rank.rank, "", -1};
    if (rank.pairs.empty())
      return report(location, "the rank has no pairs, but other ranks have pairs",
                    "at least one neighbor");
    std::set<std::int32_t> askers;
    for (const GossipPair& pair : rank.pairs) {
      const std::set<std::int32_t> asked(pair.passive.begin(), pair.passive.end());
      const bool there = is_valid_rank(pair.active) &&
                         std::all_of(asked.begin(), asked.end(),
                                     [&](std::int32_t one) { return is_valid_rank(one); });
      if (!there || asked.empty() || asked.size() != pair.passive.size() ||
          !askers.insert(pair.active).second)
        return report(
            location,
            "a pair of the rank is empty, or lists a rank twice or a rank that does not exist",
            "distinct ranks of the plan");
      if (asked.contains(pair.active))
        return report(location, fmt::format("rank {} is paired with itself", pair.active),
                      "other ranks");
      if (pair.active != rank.rank && !asked.contains(rank.rank))
        return report(location,
                      fmt::format("the rank has a pair of rank {} that does not include this rank",
                                  pair.active),
                      "pairs that include the rank");
    }
    if (askers.contains(rank.rank) && rank.pairs.size() > 1)
      return report(
          location,
          "the rank is both active and passive, so ranks can wait for each other in a cycle",
          "either active or passive", "Use a bipartition: neighbors have different roles.");
    return true;
  }

  // Checks that both ranks of each pair list the same pair.
  bool agree(const RankPlan& rank) {
    for (const GossipPair& pair : rank.pairs) {
      std::vector<std::int32_t> others{pair.active};
      if (!rank.answers()) others = pair.passive;
      for (const std::int32_t other : others) {
        const GossipPair* there = gossip_pair_of(scope_.rank(other), pair.active);
        if (there == nullptr)
          return report({other, "", -1},
                        fmt::format("rank {} is paired with rank {}, but does not list the pair",
                                    other, rank.rank),
                        "the same pairs on both ranks");
        if (*there != pair)
          return report({other, "", -1},
                        fmt::format("the plans of ranks {} and {} list different partners or "
                                    "different seeds for rank {}",
                                    other, rank.rank, pair.active),
                        "the same pairs on both ranks");
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
      for (const GossipPair& pair : rank.pairs) {
        reach(pair.active);
        if (!rank.answers()) std::for_each(pair.passive.begin(), pair.passive.end(), reach);
      }
    }
    for (const RankPlan& rank : scope_.ranks)
      if (!reached.contains(rank.rank))
        return report({rank.rank, "", -1}, "the rank is not connected with rank 0",
                      "a connected graph", "Connect all ranks of the graph.");
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

  // Checks that the program of a passive rank waits for no other rank. Also checks that its passes
  // read parameters that no other rank can change: the first compute op must copy all parameters,
  // and passes must read the copy.
  bool never_waits(const RankPlan& rank, const Program& program) {
    const Access all = parameters_of(rank);
    plan::BufferId copied;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const Op& op = program.ops[i];
      const FindingLocation location{rank.rank, program.name, static_cast<int>(i)};
      if (plan::communicates(op.kind) || plan::gossips_in_pairs(op.kind))
        return report(location,
                      "the op may wait for another rank, but active ranks may be waiting for this "
                      "passive rank",
                      "no communicating op in the step of a passive rank");
      const bool keeps = op.kind == OpKind::mix && op.reads == std::vector{all} &&
                         op.weights.numerators == std::vector{op.weights.denominator};
      if (keeps && !copied.valid()) copied = op.writes.front().buffer;
      else if (copied.valid() && touches(op.writes, copied))
        return report(location,
                      "the op changes the copied parameters that the passes of the step read",
                      "no change of the copy within a step");
      if (passes(op.kind) && touches(op.reads, all.buffer))
        return report(
            location, "the op reads parameters that ANSWER may change at the same time",
            "the copied parameters",
            "Copy all parameters in the first compute op, and let this op read the copy.");
      if (passes(op.kind) && !copied.valid())
        return report(location, "the op reads parameters that were not copied in this step",
                      "a copy of all parameters, made in one op before the passes");
    }
    return true;
  }

  bool asks_once(const RankPlan& rank, const Program& program) {
    const Access all = parameters_of(rank);
    const Op *offer = nullptr, *agree = nullptr;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const Op& op = program.ops[i];
      const FindingLocation location{rank.rank, program.name, static_cast<int>(i)};
      if (plan::communicates(op.kind))
        return report(location, "the op may wait for a rank that is not the partner",
                      "no communicating ops except OFFER and AGREE");
      if (op.kind == OpKind::offer && std::exchange(offer, &op) != nullptr)
        return report(location, "the step has a second OFFER", "one OFFER per step");
      if (op.kind == OpKind::offer && op.reads.front() != all)
        return report(location, "the op offers only some of the parameters", "all parameters");
      if (op.kind == OpKind::agree && std::exchange(agree, &op) != nullptr)
        return report(location, "the step has a second AGREE", "one AGREE per step");
      if (op.kind == OpKind::agree && op.writes.front().count != all.count)
        return report(location, "the op receives only some of the averaged parameters",
                      "all parameters");
      if (op.kind == OpKind::update && touches(op.writes, all.buffer) &&
          !takes_answer(op, agree, all.buffer))
        return report(location, "the update does not start from the average that AGREE received",
                      "the same elements of the output of AGREE",
                      "Let the update follow AGREE, and read its output.");
    }
    if (offer == nullptr || agree == nullptr)
      return report({rank.rank, program.name, -1},
                    fmt::format("the program has no {}", offer == nullptr ? "OFFER" : "AGREE"),
                    "one OFFER and one AGREE per step");
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

  // Checks that the rank has one answer for each active neighbor, in the order of the pairs.
  bool answers_all(const RankPlan& rank) {
    const int number = rank.program("answer");
    const auto& ops =
        number < 0 ? std::vector<Op>{} : rank.programs[static_cast<std::size_t>(number)].ops;
    if (ops.size() != rank.pairs.size())
      return report({rank.rank, "answer", -1},
                    fmt::format("the program \"answer\" has {} for {}",
                                base::counted(std::ssize(ops), "answer"),
                                base::counted(std::ssize(rank.pairs), "active neighbor")),
                    "one answer per active neighbor");
    const Access all = parameters_of(rank);
    std::set<std::int32_t> replies{all.buffer.value};
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const Op& op = ops[i];
      const FindingLocation location{rank.rank, "answer", static_cast<int>(i)};
      if (op.kind != OpKind::answer || op.peer != rank.pairs[i].active)
        return report(location,
                      fmt::format("the op is not an answer to rank {}", rank.pairs[i].active),
                      fmt::format("ANSWER<r{}", rank.pairs[i].active));
      if (op.weights.numerators != std::vector<std::int64_t>{1, 1} || op.weights.denominator != 2)
        return report(location,
                      "the weights are not one half each, so the mean of all ranks would drift",
                      "weights 1:1/2");
      if (op.reads.front() != all || op.writes.front() != all ||
          op.writes.back().count != all.count)
        return report(
            location, "the op averages only some of the parameters",
            "averages of all parameters, written to the rank's parameters and to the reply");
      if (!replies.insert(op.writes.back().buffer.value).second)
        return report(location, "the reply is in the buffer of the parameters or of another reply",
                      "a separate buffer for each reply");
    }
    return true;
  }

  const Scope& scope_;
  Findings& findings_;
};

}  // namespace

bool has_gossip_pairs(const Scope& scope) {
  return std::any_of(scope.ranks.begin(), scope.ranks.end(),
                     [](const RankPlan& rank) { return !rank.pairs.empty(); });
}

void prove_gossip_pairs(const Scope& scope, Findings& findings) {
  if (has_gossip_pairs(scope)) Examination(scope, findings).run();
}

}  // namespace trainyard::check
